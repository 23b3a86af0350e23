package models

import (
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"
)

func TestLoadDemo(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	loads := make(chan bool, 4)
	var group sync.WaitGroup
	for range cap(loads) {
		group.Go(func() {
			loaded, err := s.LoadDemo(t.Context())
			if err != nil {
				t.Error(err)
			}
			loads <- loaded
		})
	}
	group.Wait()
	close(loads)
	var times int
	for loaded := range loads {
		if loaded {
			times++
		}
	}
	if times != 1 {
		t.Fatalf("four processes at once loaded the demo %d times", times)
	}

	outlets, err := s.ListOutlets(t.Context())
	if err != nil || len(outlets) != 1 {
		t.Fatalf("ListOutlets = %d outlets, %v, want one", len(outlets), err)
	}
	outlet := outlets[0]
	list, err := s.PriceList(t.Context(), outlet.ID)
	if err != nil {
		t.Fatal(err)
	}
	menu, err := s.FindMenu(t.Context(), outlet.ID, MenuFilter{})
	if err != nil {
		t.Fatal(err)
	}

	t.Run("every_dish_can_be_bought_unless_it_is_off", func(t *testing.T) {
		var off, limited, dishes int
		for _, c := range menu.Categories {
			for _, item := range c.Items {
				dishes++
				var choice []int64 // the cheapest valid one: the first of each group that must be chosen from
				for _, g := range item.Groups {
					for _, o := range g.Options[:g.MinPick] {
						choice = append(choice, o.ID)
					}
				}
				cart := Cart{OutletID: outlet.ID, Lines: []CartLine{{ItemID: item.ID, OptionIDs: choice, Qty: 1}}}
				q, err := PriceCart(list, cart, Destination{Way: "pickup"})
				if item.SoldOut {
					off++
					if err == nil {
						t.Errorf("%s is sold out and can be bought", item.Name)
					}
					continue
				}
				if err != nil || q.AmountPaise < 3000 || q.AmountPaise > 60000 {
					t.Errorf("%s costs %d paise, %v", item.Name, q.AmountPaise, err)
				}
				if item.DailyLimit != nil {
					limited++
				}
			}
		}
		if len(menu.Categories) != 8 || dishes < 45 || off != 1 || limited < 3 {
			t.Errorf("%d categories, %d dishes, %d off, %d limited", len(menu.Categories), dishes, off, limited)
		}
	})

	t.Run("every_picture_is_drawn_and_every_drawing_used", func(t *testing.T) {
		files, err := filepath.Glob("../static/art/*.svg")
		if err != nil || len(files) == 0 {
			t.Fatalf("pictures: %v, %v", files, err)
		}
		used := map[string]bool{}
		for _, item := range list.Items {
			used[item.Art] = true
			if _, err := os.Stat(filepath.Join("../static/art", item.Art+".svg")); err != nil {
				t.Errorf("%s: %v", item.Name, err)
			}
		}
		for _, file := range files {
			if key := filepath.Base(file[:len(file)-len(".svg")]); !used[key] {
				t.Errorf("no dish shows %s", key)
			}
		}
	})

	t.Run("it_is_open_at_any_hour", func(t *testing.T) {
		schedule, err := s.FindSchedule(t.Context(), outlet.ID)
		if err != nil {
			t.Fatal(err)
		}
		for minute := range 7 * 24 * 60 {
			at := time.Date(2026, 11, 30, 0, minute, 0, 0, India)
			if o := schedule.At(at); !o.Open {
				t.Fatalf("closed (%s) at %s", o.Reason, at)
			}
		}
	})

	t.Run("nearby_places_are_served_and_far_ones_not", func(t *testing.T) {
		cart := Cart{OutletID: outlet.ID, Lines: []CartLine{{ItemID: itemOf(t, menu, "chicken-tikka").ID, Qty: 2}}} // ₹658
		for pin, want := range map[string]Paise{"560038": 0, "560001": 0, "560034": 5900} {
			to, err := s.FindDestination(t.Context(), outlet.ID, "delivery", pin, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			if q, err := PriceCart(list, cart, to); err != nil || q.DeliveryPaise != want {
				t.Errorf("delivery to %s costs %d, %v, want %d", pin, q.DeliveryPaise, err, want)
			}
		}
		for _, pin := range []string{"560066", "110001"} {
			to, err := s.FindDestination(t.Context(), outlet.ID, "delivery", pin, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := PriceCart(list, cart, to); !IsCustomerProblem(err) {
				t.Errorf("delivery to %s: %v, want a refusal", pin, err)
			}
		}
	})

	t.Run("the_tax_number_has_its_check_digit", func(t *testing.T) {
		if got := gstinCheckDigit(outlet.GSTIN[:14]); got != outlet.GSTIN[14] {
			t.Errorf("GSTIN %s should end in %c", outlet.GSTIN, got)
		}
		if got := gstinCheckDigit("27AAPFU0939F1Z"); got != 'V' { // a published example, so that the test itself is right
			t.Errorf("check digit of the published example is %c, want V", got)
		}
	})

	t.Run("a_second_start_changes_nothing", func(t *testing.T) {
		before := mustRead[string](t, s, `SELECT string_agg(i::text, ',' ORDER BY id) FROM items i`)
		if loaded, err := s.LoadDemo(t.Context()); err != nil || loaded {
			t.Fatalf("LoadDemo = %v, %v", loaded, err)
		}
		if after := mustRead[string](t, s, `SELECT string_agg(i::text, ',' ORDER BY id) FROM items i`); after != before {
			t.Error("the menu changed")
		}
	})
}

// gstinCheckDigit computes the fifteenth character: base 36, factors 1 and 2 in turn, the digits of each product added.
func gstinCheckDigit(first14 string) byte {
	const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	sum := 0
	for i, c := range []byte(first14) {
		product := slices.Index([]byte(digits), c) * (1 + i%2)
		sum += product/36 + product%36
	}
	return digits[(36-sum%36)%36]
}

// itemOf finds a dish of a menu by its slug.
func itemOf(t testing.TB, m Menu, slug string) Item {
	t.Helper()
	for _, c := range m.Categories {
		for _, item := range c.Items {
			if item.Slug == slug {
				return item
			}
		}
	}
	t.Fatalf("no dish %s on the menu", slug)
	return Item{}
}
