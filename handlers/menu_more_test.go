package handlers

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"mime/multipart"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"tiffin/devdb"
	"tiffin/models"
	"tiffin/razorpay/standin"
)

// slugs are the dishes a page lists, in order.
func (r reply) slugs() (slugs []string) {
	for _, dish := range r.all("dish") {
		slugs = append(slugs, attr(dish, "data-slug"))
	}
	return slugs
}

// dish is a dish as its page has it.
func (k *kitchen) dish(slug string) models.Item {
	k.t.Helper()
	item, _, err := k.store.FindItemBySlug(k.t.Context(), k.outlet.ID, slug)
	must(k.t, err)
	return item
}

// Issue 4: search by Hindi and Hinglish names and with typing errors, without script; the number found is said.
func TestSearchKnowsOtherNames(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	b := s.visitor()
	for query, first := range map[string]string{"biriyani": "biryani", "मसाला डोसा": "masala-dosa", "chai": "masala-chai", "nimbu": "lime-soda", "panner tika": "paneer-tikka", "chole": "chole", "daal makhni": "dal-makhani"} {
		if got := b.get("/?filter=1&q=" + url.QueryEscape(query)).is(200).slugs(); len(got) == 0 || got[0] != first {
			t.Errorf("%s finds %v, want %s first", query, got, first)
		}
	}
	part := b.send(ask{path: "/?filter=1&q=biriyani", header: b.htmx()}).is(200)
	if !strings.Contains(part.body, `<p id="say" hx-swap-oob="innerHTML">2 dishes found</p>`) {
		t.Errorf("the number is not said: %s", part.body[max(0, len(part.body)-300):])
	}
}

// Issue 4: the filter is kept, hides dishes and choices, and the server refuses what it hides.
func TestFilterIsEnforced(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	b := s.visitor()
	all := b.get("/").is(200).slugs()
	jain := b.get("/?filter=1&jain=1&without=milk&without=dust").is(200).slugs()
	if len(jain) == 0 || slices.Contains(jain, "kheer") || slices.Contains(jain, "dal-tadka") || !slices.Contains(jain, "roti") {
		t.Errorf("Jain and no milk: %v", jain)
	}
	if b.cookies[dietCookie] != "jain.no_milk" {
		t.Errorf("remembered %q", b.cookies[dietCookie])
	}
	if again := b.get("/").slugs(); !slices.Equal(again, jain) {
		t.Errorf("after coming back %v", again)
	}

	b.get("/?filter=1&veg=1").is(200)
	egg := url.Values{"item": {s.anyID("paneer-tikka")}, "option": {s.option("paneer-tikka", "Garlic mayonnaise")}, "add": {"1"}}
	dish := b.get("/menu/paneer-tikka").is(200)
	if strings.Contains(dish.body, "Garlic mayonnaise") || !strings.Contains(dish.body, "Mint chutney") {
		t.Error("the dish's page offers what the filter hides")
	}
	b.post("/cart", egg).is(422).shows("dish-form", "your filter leaves out Garlic mayonnaise")
	b.get("/menu/chicken-tikka").is(200).shows("hidden", "leaves this dish out")
	b.post("/cart", url.Values{"item": {s.anyID("chicken-tikka")}, "set": {"1"}}).is(422)
	if n := s.count(`SELECT count(*) FROM cart_lines`); n != 0 {
		t.Errorf("%d lines after refusals", n)
	}
	if got := b.get("/?filter=1").slugs(); len(got) != len(all) || b.cookies[dietCookie] != "" {
		t.Errorf("%d dishes without a filter, want %d", len(got), len(all))
	}
	b.post("/cart", egg).is(303)
	b.cookies[dietCookie] = "veg.no_everything.'--"
	if got := b.get("/").is(200).slugs(); len(got) == 0 || len(got) >= len(all) {
		t.Errorf("%d dishes with a strange cookie", len(got))
	}
}

// Issue 4: outside its window a dish cannot be added, and a bill with it cannot be placed; the page says from when.
func TestWindowIsEnforced(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	b := s.visitor()
	b.put("lemon-rice", 2)
	form := b.review()
	s.exec(`UPDATE menu_windows SET opens_minute = 1140, closes_minute = 1320`) // 7 to 10 in the evening; it is noon
	b.get("/?filter=1&q=lemon+rice").is(200).shows("sold-out", "Not served now").shows("sold-out", "Back at 7 pm")
	b.post("/cart", url.Values{"item": {s.anyID("lemon-rice")}, "set": {"3"}}).is(409)
	b.get("/cart").is(200).shows("cart-line", "Lemon Rice is not served now")
	if placed := b.post("/checkout", form); placed.status == 303 || s.count(`SELECT count(*) FROM orders`) != 0 {
		t.Errorf("placed outside the window: %d", placed.status)
	}
}

// reliability.md, S1 and C5: what was held is served whatever the clock says meanwhile; a hold that has lapsed is judged by the windows again.
func TestWindowEndsWhilePaying(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		wait time.Duration
		want string
	}{
		{"within the hold", 10 * time.Minute, "paid"},
		{"after the hold", 20 * time.Minute, "cancelled"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := openShop(t)
			b := s.visitor()
			b.put("lemon-rice", 2)
			token := b.place()
			b.get("/pay/" + token).is(200)
			s.exec(`UPDATE menu_windows SET closes_minute = 12 * 60 + 1`)
			s.advance(c.wait)
			b.send(ask{path: "/payments/verify?order=" + token, form: s.pay(token, standin.PayParams{})})
			if got := s.text(`SELECT status FROM orders`); got != c.want {
				t.Errorf("the order is %s, want %s", got, c.want)
			}
		})
	}
}

// F31: ordering again rechecks everything, says what could not be had and what costs something else, and twice is once.
func TestOrderAgain(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	b := s.visitor()
	for _, slug := range []string{"dal-makhani", "jalebi", "rasmalai", "samosa", "kulfi", "chole"} {
		b.put(slug, 3)
	}
	order := "/orders/" + b.place()
	s.exec(`UPDATE items SET price_paise = 25900 WHERE slug = 'dal-makhani'`)
	s.exec(`UPDATE items SET available = false WHERE slug = 'kulfi'`)
	s.exec(`UPDATE items SET archived_at = shop_now() WHERE slug = 'chole'`)
	s.exec(`UPDATE items SET daily_limit = 2 WHERE slug = 'samosa'`)
	s.exec(`INSERT INTO menu_windows (item_id, opens_minute, closes_minute) SELECT id, 1140, 1320 FROM items WHERE slug = 'rasmalai'`)

	other := s.visitor() // on another device, by the link
	other.get(order).is(200).one("order-again")
	for range 2 {
		page := other.get(other.post(order+"/again", nil).is(303).header.Get("Location")).is(200)
		page.shows("again", "What can be had of order").shows("again", "Dal Makhani costs ₹259 now, it was ₹249").shows("again", "Malai Kulfi is sold out").
			shows("again", "Amritsari Chole is not on the menu any more").shows("again", "Only 2 of 3 Punjabi Samosa left").shows("again", "Rasmalai is not served now, it is again from")
		lines := map[string]int{}
		for _, l := range other.cart().Lines {
			lines[s.text(`SELECT slug FROM items WHERE id = $1`, l.ItemID)] = l.Qty
		}
		if fmt.Sprint(lines) != "map[dal-makhani:3 jalebi:3 samosa:2]" {
			t.Errorf("in the cart: %v", lines)
		}
	}
	other.get("/cart?again=" + strings.Repeat("a", 26)).is(200).lacks("again")
	other.send(ask{path: order + "/again", form: url.Values{"_csrf": {"wrong"}}}).is(403)
}

// Staff edit a dish in small forms; what cannot be is refused in words and changes nothing; the cook, and staff elsewhere, cannot.
func TestStaffEditADish(t *testing.T) {
	t.Parallel()
	k := openKitchen(t, nil)
	b := k.signedIn(k.staff("owner", "Owner", "owner", 0))
	dal := k.dish("dal-makhani").ID
	at := fmt.Sprintf("/staff/dishes/%d", dal)
	b.get("/staff/menu").is(200).says("edit-dish", "Edit")
	b.get(at).is(200)
	b.post(at+"/facts", "aliases", "Kaali Dal\n मां की दाल ,kaali dal", "jain", "1", "allergen", "milk", "portion", "Serves 2", "calories", "520", "limit", "9", "spice", "1").is(303)
	item := k.dish("dal-makhani")
	if !item.Jain || item.Portion != "Serves 2" || *item.Calories != 520 || *item.Left != 9 || item.Spice != 1 || k.count(`SELECT count(*) FROM item_aliases WHERE item_id = $1`, dal) != 2 {
		t.Errorf("%+v", item)
	}
	b.post(at+"/facts", "calories", "many", "spice", "0").is(422).says("edit-error", "Calories has to be a whole number")
	b.post(at+"/facts", "calories", "0", "spice", "0").is(422).says("edit-error", "does not fit together")
	b.post(at+"/facts", "allergen", "dust", "spice", "0").is(422)
	b.post(at+"/window", "day", "1", "opens", "22:00", "closes", "02:00", "ends", "2026-12-31").is(303)
	if got := k.word(`SELECT concat_ws(' ', weekdays, opens_minute, closes_minute, ends_on) FROM menu_windows WHERE item_id = $1`, dal); got != "2 1320 1560 2026-12-31" {
		t.Errorf("window %s", got)
	}
	b.get(at).is(200).says("has-window", "Mon 22:00 to 02:00, until 2026-12-31")
	b.post(at+"/window", "opens", "10:00").is(422).says("edit-error", "at least one day")
	b.post(at+"/window", "remove", fmt.Sprint(k.count(`SELECT id FROM menu_windows WHERE item_id = $1`, dal))).is(303)
	b.post(at+"/special", "rupees", "199", "starts", "2020-01-01T00:00", "ends", "2099-01-01T00:00").is(303)
	if item := k.dish("dal-makhani"); item.PricePaise != 19900 || item.WasPaise != 24900 || item.NotServed {
		t.Errorf("price %d, was %d", item.PricePaise, item.WasPaise)
	}
	b.post(at+"/special", "rupees", "1", "starts", "2020-01-02T00:00", "ends", "2020-01-01T00:00").is(422)
	roti := k.dish("roti").ID // a part of the thali, so nothing is a part of it
	b.post(fmt.Sprintf("/staff/dishes/%d/part", roti), "part", fmt.Sprint(dal), "qty", "1").is(422)
	b.post(at+"/part", "part", fmt.Sprint(k.dish("roti").ID), "qty", "2").is(303)
	if parts := k.dish("dal-makhani").Parts; len(parts) != 1 || parts[0].Qty != 2 {
		t.Errorf("parts %+v", parts)
	}
	if n := k.count(`SELECT count(*) FROM audit WHERE action = 'edit_dish'`); n != 5 {
		t.Errorf("%d deeds recorded, want 5", n)
	}
	cook := k.signedIn(k.staff("cook", "Cook", "kitchen", k.outlet.ID))
	cook.get(at).is(403)
	cook.post(at+"/facts", "spice", "3").is(403)
}

// ux.md section 3: a photo by upload, checked by its bytes, served by content hash.
func TestPhotoUpload(t *testing.T) {
	t.Parallel()
	k := openKitchen(t, nil)
	b := k.signedIn(k.staff("owner", "Owner", "owner", 0))
	at := fmt.Sprintf("/staff/dishes/%d/photo", k.dish("dal-makhani").ID)
	send := func(photo []byte, fields ...string) answer {
		t.Helper()
		var body bytes.Buffer
		w := multipart.NewWriter(&body)
		for i := 0; i < len(fields); i += 2 {
			must(t, w.WriteField(fields[i], fields[i+1]))
		}
		if photo != nil {
			part, err := w.CreateFormFile("photo", "../../etc/passwd.php")
			must(t, err)
			_, err = part.Write(photo)
			must(t, err)
		}
		must(t, w.Close())
		return b.do("POST", at, &body, "Content-Type", w.FormDataContentType(), "Sec-Fetch-Site", "same-origin")
	}
	token := csrfToken(b.cookie(staffCookie))
	m := image.NewRGBA(image.Rect(0, 0, 900, 700))
	for i := range m.Pix {
		m.Pix[i] = byte(i * i >> 8)
	}
	m.Set(1, 1, color.White)
	var photo bytes.Buffer
	must(t, jpeg.Encode(&photo, m, nil))
	photo.Write(make([]byte, 2<<20)) // larger than any other form may be

	send(photo.Bytes(), csrfField, "wrong").is(409)
	send([]byte("<?php"), csrfField, token).is(422).says("edit-error", "not a JPEG, PNG or WebP")
	send(make([]byte, 8<<20+10), csrfField, token).is(422).says("edit-error", "larger than 8 MB")
	if k.count(`SELECT count(*) FROM photos`) != 0 {
		t.Error("a refused upload is stored")
	}
	send(photo.Bytes(), csrfField, token, "focus_x", "10", "focus_y", "50").is(303)
	hash := *k.dish("dal-makhani").Photo
	visitor := k.browser()
	page := visitor.get("/").is(200)
	if !strings.Contains(page.body, `src="/photos/`+hash+`-256.jpg"`) {
		t.Error("the menu does not show the photo")
	}
	for size, side := range map[string]int{"256": 256, "640": 640} {
		r := visitor.get("/photos/" + hash + "-" + size + ".jpg").is(200)
		config, kind, err := image.DecodeConfig(strings.NewReader(r.body))
		if err != nil || kind != "jpeg" || config.Width != side || !strings.Contains(r.header.Get("Cache-Control"), "immutable") || r.header.Get("Content-Type") != "image/jpeg" {
			t.Errorf("%s: %s, %v, %v", size, kind, r.header, err)
		}
	}
	for _, name := range []string{hash + "-300.jpg", hash + ".jpg", strings.Repeat("0", 32) + "-256.jpg", "..%2f..%2fetc-256.jpg", hash + "-256"} {
		visitor.get("/photos/" + name).is(404)
	}
	send(nil, csrfField, token, "remove", "1").is(303)
	if k.dish("dal-makhani").Photo != nil {
		t.Error("the photo is still there")
	}
}

// A page's statements are round trips; the menu's number may fall, and then it falls here.
func TestStatementsOfTheMenu(t *testing.T) {
	t.Parallel()
	database, tap := devdb.Tapped(t, devdb.URL(t))
	s := openShopAt(t, database, Config{PublicURL: publicURL})
	b := s.visitor()
	b.get("/").is(200)
	b.put("samosa", 1)
	for what, c := range map[string]struct {
		path string
		want int
	}{"the menu with a cart": {"/", 25}, "a search": {"/?filter=1&q=paneer", 25}, "a dish": {"/menu/butter-chicken", 14}} {
		tap.Take()
		b.get(c.path).is(200)
		if sent := tap.Take(); len(sent) != c.want {
			t.Errorf("%s sends %d statements, not %d:\n%s", what, len(sent), c.want, strings.Join(sent, "\n"))
		}
	}
}
