package handlers

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"tiffin/models"
)

func TestServiceDayEnd(t *testing.T) {
	t.Parallel()
	at := func(text string) time.Time {
		t.Helper()
		when, err := time.Parse(time.RFC3339, text)
		must(t, err)
		return when
	}
	for _, tt := range []struct{ now, want string }{
		{"2026-11-30T19:45:00+05:30", "2026-12-01T04:00:00+05:30"},
		{"2026-11-30T23:59:59+05:30", "2026-12-01T04:00:00+05:30"},
		{"2026-12-01T00:30:00+05:30", "2026-12-01T04:00:00+05:30"}, // past midnight is still the evening before
		{"2026-12-01T03:59:59+05:30", "2026-12-01T04:00:00+05:30"},
		{"2026-12-01T04:00:00+05:30", "2026-12-02T04:00:00+05:30"},
		{"2026-12-31T21:00:00Z", "2027-01-01T04:00:00+05:30"}, // 2.30 am in India
	} {
		if got := serviceDayEnd(at(tt.now)); !got.Equal(at(tt.want)) {
			t.Errorf("serviceDayEnd(%s) = %s, want %s", tt.now, got, tt.want)
		}
	}
}

func TestStaffMenu(t *testing.T) {
	t.Parallel()
	k := openKitchen(t, nil)
	cook := k.staff("cook", "Cook", "kitchen", k.outlet.ID)
	b := k.signedIn(cook)
	dish := func() models.Item {
		t.Helper()
		item, _, err := k.store.FindItemBySlug(k.t.Context(), k.outlet.ID, "samosa")
		must(k.t, err)
		return item
	}
	path := fmt.Sprintf("/staff/menu/%d", dish().ID)

	k.run(t, "lists_every_dish_with_its_switch", func(t *testing.T) {
		page := b.get("/staff/menu").is(200)
		if got, want := int64(len(page.texts("staff-dish"))), k.count(`SELECT count(*) FROM items WHERE archived_at IS NULL`); got != want {
			t.Errorf("%d dishes, want %d", got, want)
		}
		page.says("staff-dish", dish().Name, "On the menu", "Sold out today")
		if len(page.all("", "data-testid", "close-form")) != 0 {
			t.Error("a cook is offered to close the kitchen")
		}
	})

	k.run(t, "sold_out_until_tomorrow", func(t *testing.T) {
		res := b.press(path, "state", "tomorrow").is(200).says("dish-state", "Sold out until")
		if strings.Contains(res.body, "<html") || len(res.texts("staff-dish")) != 1 || len(res.texts("switch-on")) != 1 {
			t.Errorf("answer to a switch:\n%s", res.body)
		}
		now, err := k.store.Now(t.Context())
		must(t, err)
		item := dish()
		if !item.SoldOut || !item.Available || item.EightySixedUntil == nil || !item.EightySixedUntil.Equal(serviceDayEnd(now)) {
			t.Errorf("dish = %+v, want sold out until the service day ends", item)
		}
	})

	k.run(t, "back_on", func(t *testing.T) {
		b.post(path, "state", "on").is(303).leads(fmt.Sprintf("/staff/menu#dish-%d", dish().ID))
		if item := dish(); item.SoldOut {
			t.Errorf("dish = %+v, want on the menu", item)
		}
	})

	k.run(t, "sold_out_until_switched_on", func(t *testing.T) {
		b.press(path, "state", "off").is(200).says("dish-state", "until you switch it on")
		b.press(path, "state", "off").is(200) // again
		if item := dish(); !item.SoldOut || item.Available {
			t.Errorf("dish = %+v, want off", item)
		}
		b.press(path, "state", "on").is(200).says("dish-state", "On the menu")
	})

	k.run(t, "refuses_what_is_no_switch", func(t *testing.T) {
		before := k.rows()
		b.press(path, "state", "maybe").is(400)
		b.press(path).is(400)
		b.press(path, "state", "off", "price", "1").is(400)
		b.press("/staff/menu/999999", "state", "off").is(404)
		b.press("/staff/menu/abc", "state", "off").is(404)
		k.unchanged(before)
	})
	if n := k.count(`SELECT count(*) FROM audit WHERE actor = $1 AND action IN ('eighty_six', 'restore_item')`, models.StaffActor(cook.ID)); n != 5 {
		t.Errorf("%d switches in the audit, want 5", n)
	}
}

func TestCloseKitchen(t *testing.T) {
	t.Parallel()

	t.Run("before_the_first_order", func(t *testing.T) {
		t.Parallel()
		k := openKitchen(t, nil)
		asha := k.staff("asha", "Asha", "manager", k.outlet.ID)
		b := k.signedIn(asha)
		b.get("/staff/menu").is(200).says("close-form", "Yes, close "+k.outlet.Name)
		before := k.rows()
		b.post("/staff/close", "outlet", k.outlet.Slug).is(422).says("error-confirm", "tick this box")
		b.post("/staff/close", "outlet", k.outlet.Slug, "confirm", "maybe").is(400)
		b.post("/staff/close", "confirm", "yes").is(404)
		k.unchanged(before)
		b.post("/staff/close", "outlet", k.outlet.Slug, "confirm", "yes").is(303).leads("/staff/menu?done=closed")
		b.get("/staff/menu?done=closed").is(200).says("notice", "The kitchen is closed")
		if _, err := k.try(basket{}); !errors.Is(err, models.ErrClosed) {
			t.Errorf("placing after closing = %v, want ErrClosed", err)
		}
		b.post("/staff/close", "outlet", k.outlet.Slug, "confirm", "yes").is(409) // again: it is closed already
		if n := k.count(`SELECT count(*) FROM audit WHERE action = 'close_kitchen' AND actor = $1`, models.StaffActor(asha.ID)); n != 1 {
			t.Errorf("%d closings in the audit, want one", n)
		}
	})

	t.Run("money_that_still_comes_goes_back_and_what_is_paid_stays", func(t *testing.T) {
		t.Parallel()
		k := openKitchen(t, nil)
		b := k.signedIn(k.staff("asha", "Asha", "owner", 0))
		paid, paying := k.paid(basket{}), k.place(basket{})
		gatewayOrder := k.open(paying)
		b.post("/staff/close", "outlet", k.outlet.Slug, "confirm", "yes").is(303)
		k.pay(paying, gatewayOrder)
		if n := k.count(`SELECT count(*) FROM payments WHERE order_id = $1 AND disposition = 'refund' AND reason = 'kitchen_closed'`, paying.ID); n != 1 {
			t.Error("money for a closed kitchen was kept")
		}
		if got := k.ticket(paid); got != "queued" {
			t.Errorf("the paid ticket is %s, want queued", got)
		}
		k.intact()
	})

	t.Run("outside_hours_there_is_nothing_to_close", func(t *testing.T) {
		t.Parallel()
		k := openKitchen(t, nil)
		b := k.signedIn(k.staff("asha", "Asha", "owner", 0))
		k.exec(`DELETE FROM outlet_hours`)
		if page := b.get("/staff/menu").is(200); len(page.all("", "data-testid", "close-form")) != 0 {
			t.Error("a kitchen without service can be closed")
		}
		before := k.rows()
		b.post("/staff/close", "outlet", k.outlet.Slug, "confirm", "yes").is(409).says("notice", "nothing to close")
		k.unchanged(before)
	})
}
