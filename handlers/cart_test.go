package handlers

import (
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/gofiber/fiber/v2"
)

// bought is what the cart holds: "butter-chicken ×2" a line, in order.
func (b *visitor) bought() string {
	b.t.Helper()
	return b.text(`SELECT COALESCE(string_agg(i.slug || ' ×' || l.qty, ', ' ORDER BY l.id), '') FROM sessions s JOIN cart_lines l ON l.cart_id = s.cart_id
		JOIN items i ON i.id = l.item_id WHERE s.id = $1`, b.session().ID)
}

// F1, S2.10, C037, C058, C073: what our pages cannot send is 400, and nothing is written.
func TestCartRefusesWhatOurPagesCannotSend(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	b := s.visitor()
	b.get("/")
	dal := s.id("dal-makhani")
	stepper := url.Values{"item": {dal}, "set": {"1"}}
	b.post("/cart", stepper).is(303)
	for name, form := range map[string]url.Values{
		"a price":              with(stepper, "price", "1"),
		"a price in paise":     with(stepper, "price_paise", "1"),
		"a total":              with(stepper, "total", "100"),
		"a discount":           with(stepper, "discount", "99999"),
		"a fee":                with(stepper, "delivery_fee", "-50"),
		"a tip":                with(stepper, "tip", "-20"),
		"a tax":                with(stepper, "tax", "0"),
		"a state":              with(stepper, "status", "paid"),
		"a right":              with(stepper, "is_staff", "true"),
		"item twice":           {"item": {dal, dal}, "set": {"2"}},
		"set twice":            {"item": {dal}, "set": {"2", "3"}},
		"no item":              {"set": {"2"}},
		"item 0":               with(stepper, "item", "0"),
		"item -1":              with(stepper, "item", "-1"),
		"item +1":              with(stepper, "item", "+1"),
		"item abc":             with(stepper, "item", "abc"),
		"item beyond int64":    with(stepper, "item", "9999999999999999999"),
		"half a dish":          with(stepper, "set", "1.5"),
		"minus one":            with(stepper, "set", "-1"),
		"minus nothing":        with(stepper, "set", "-0"),
		"21":                   with(stepper, "set", "21"),
		"no number":            {"item": {dal}},
		"21 by script":         with(stepper, "qty", "21", "seq", "1"),
		"seq 0":                with(stepper, "qty", "2", "seq", "0"),
		"seq without qty":      with(stepper, "seq", "5"),
		"a note on a stepper":  with(stepper, "note", "x"),
		"another page":         with(stepper, "from", "/evil"),
		"a way on the menu":    with(stepper, "way", "pickup"),
		"an option abc":        with(stepper, "option", "abc"),
		"add 0":                {"item": {dal}, "add": {"0"}},
		"add 21":               {"item": {dal}, "add": {"21"}},
		"add and set":          {"item": {dal}, "add": {"1"}, "set": {"2"}},
		"a group abc":          {"item": {dal}, "add": {"1"}, "option.abc": {"1"}},
		"NUL":                  {"item": {dal}, "add": {"1"}, "note": {"a\x00b"}},
		"broken bytes":         {"item": {dal}, "add": {"1"}, "note": {"\xf9("}},
		"a line break":         {"item": {dal}, "add": {"1"}, "note": {"a\nb"}},
		"a note without end":   {"item": {dal}, "add": {"1"}, "note": {strings.Repeat("n", 3000)}},
		"more fields than any": {"item": {dal}, "add": {"1"}, "option": strings.Split(strings.Repeat("1 ", 300), " ")},
	} {
		if a := b.post("/cart", form); a.status != 400 {
			t.Errorf("%s: status %d, want 400", name, a.status)
		}
		if a := b.tap("/cart", form); a.status != 400 || strings.Contains(a.body, "<html") {
			t.Errorf("%s by htmx: status %d", name, a.status)
		}
	}
	for name, in := range map[string]ask{
		"JSON":                 {path: "/cart", body: `{"item":` + dal + `,"set":2}`, kind: "application/json"},
		"broken JSON (F7)":     {path: "/cart", body: `{"item":`, kind: "application/json"},
		"no content type":      {path: "/cart", body: "item=" + dal + "&set=2"},
		"broken escapes":       {path: "/cart", body: "item=%zz&set=2", kind: fiber.MIMEApplicationForm},
		"semicolons":           {path: "/cart", body: "item=" + dal + ";set=2", kind: fiber.MIMEApplicationForm},
		"a price in the query": {path: "/cart?price=1", form: b.signed(stepper)},
	} {
		in.header = b.htmx()
		if a := b.send(in); a.status != 400 {
			t.Errorf("%s: status %d, want 400", name, a.status)
		}
	}
	if got := b.bought(); got != "dal-makhani ×1" {
		t.Errorf("the cart holds %q", got)
	}
}

// ux.md section 6: without seq the button's number counts, with it the script's; a request that was overtaken cannot win.
func TestStepper(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	b := s.visitor()
	b.get("/")
	dal := s.id("dal-makhani")
	for _, step := range []struct {
		name string
		form url.Values
		want string
	}{
		{"without script", url.Values{"item": {dal}, "set": {"2"}, "qty": {"0"}, "seq": {""}}, "dal-makhani ×2"},
		{"with script", url.Values{"item": {dal}, "set": {"1"}, "qty": {"5"}, "seq": {"1000"}}, "dal-makhani ×5"},
		{"overtaken", url.Values{"item": {dal}, "qty": {"3"}, "seq": {"999"}}, "dal-makhani ×5"},
		{"repeated", url.Values{"item": {dal}, "qty": {"4"}, "seq": {"1000"}}, "dal-makhani ×5"},
		{"removed", url.Values{"item": {dal}, "qty": {"0"}, "seq": {"1001"}}, ""},
		{"late after removal", url.Values{"item": {dal}, "qty": {"5"}, "seq": {"1000"}}, ""},
		{"20", url.Values{"item": {dal}, "qty": {"20"}, "seq": {"1002"}}, "dal-makhani ×20"},
	} {
		before := b.cookies[cartCookie]
		a := b.tap("/cart", step.form).is(200)
		if got := b.bought(); got != step.want {
			t.Errorf("%s: the cart holds %q, want %q", step.name, got, step.want)
		}
		if changed := before != b.cookies[cartCookie]; changed != (step.name != "overtaken" && step.name != "repeated" && step.name != "late after removal") {
			t.Errorf("%s: cartv %q after %q", step.name, b.cookies[cartCookie], before)
		}
		if strings.Contains(a.body, "<html") || !strings.Contains(a.body, `hx-swap-oob`) {
			t.Errorf("%s: not an answer out of band", step.name)
		}
	}
	// Without htmx the browser goes back to where the form stood.
	b.post("/cart", url.Values{"item": {dal}, "set": {"1"}}).leadsTo("/")
	b.post("/cart", url.Values{"item": {dal}, "set": {"1"}, "from": {"cart"}}).leadsTo("/cart")
	b.post("/cart", url.Values{"item": {dal}, "set": {"1"}, "from": {"checkout"}}).leadsTo("/checkout")
	a := b.tap("/cart", url.Values{"item": {dal}, "qty": {"2"}, "seq": {"2000"}, "from": {"checkout"}, "way": {"delivery"}, "pin": {"560 038"}}).is(200)
	a.shows("delivery-message", "We deliver to").shows("bill-delivery", "")
	if a.value("review") == "" || a.value("checkout_key") == "" {
		t.Error("the answer on checkout lacks key and review")
	}
}

// The page itself is what is sent: every form of the menu and the cart works as it stands, without script.
func TestFormsOfThePages(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	b := s.visitor()
	menu := b.get("/").is(200)
	for _, dish := range menu.all("dish") {
		if attr(dish, "data-slug") != "naan" {
			continue
		}
		for n := range dish.Descendants() {
			if n.Data == "form" {
				form := menu.fields(n)
				form.Set("set", "3") // the button
				b.send(ask{path: attr(n, "action"), form: form}).leadsTo("/")
			}
		}
	}
	if got := b.bought(); got != "naan ×3" {
		t.Fatalf("the cart holds %q", got)
	}
	dish := b.get("/menu/butter-chicken").is(200)
	form := dish.fields(dish.one("dish-form"))
	b.send(ask{path: "/cart", form: form}).leadsTo("/")
	cart := b.get("/cart").is(200)
	if got := b.bought(); got != "naan ×3, butter-chicken ×1" {
		t.Fatalf("the cart holds %q", got)
	}
	line := cart.all("cart-line")[0]
	form = cart.fields(line)
	form.Set("set", "0")
	b.send(ask{path: "/cart", form: form}).leadsTo("/cart")
	if got := b.bought(); got != "butter-chicken ×1" {
		t.Errorf("the cart holds %q", got)
	}
}

// F2, C035: the same dish with the same choices is one line, with others another.
func TestLinesByChoice(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	b := s.visitor()
	b.get("/")
	dosa, cheese, ghee := s.id("masala-dosa"), s.option("masala-dosa", "Cheese"), s.option("masala-dosa", "Ghee roast")
	for _, options := range [][]string{{cheese}, {ghee}, {cheese}, {ghee, cheese}, {cheese, ghee}} {
		b.post("/cart", url.Values{"item": {dosa}, "add": {"1"}, "option": options, "note": {""}}).is(303)
	}
	if got := b.bought(); got != "masala-dosa ×2, masala-dosa ×1, masala-dosa ×2" {
		t.Errorf("the cart holds %q", got)
	}
	for _, path := range []string{"/cart", "/checkout"} {
		lines := b.get(path).all("cart-line")
		if len(lines) != 3 || !strings.Contains(words(lines[0]), "Cheese") || strings.Contains(words(lines[0]), "Ghee") {
			t.Errorf("%s does not show the lines with their own choices", path)
		}
	}
}

// C036, C067: choices that do not fit are refused with a reason, and the cart stays.
func TestChoicesThatDoNotFit(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	b := s.visitor()
	b.get("/")
	thali := s.item("thali")
	drink := fmt.Sprintf("option.%d", thali.Groups[0].ID)
	lassi, chai := s.option("thali", "Sweet lassi"), s.option("thali", "Masala chai")
	top := []string{s.option("thali", "Extra ghee"), s.option("thali", "Extra papad"), s.option("thali", "Pickle"), s.option("thali", "Extra sweet")}
	fits := url.Values{"item": {s.id("thali")}, "add": {"1"}, drink: {lassi}, "option": top[:3], "note": {""}}
	for name, form := range map[string]url.Values{
		"no drink":        {"item": fits["item"], "add": {"1"}, "option": top[:1]},
		"two drinks":      {"item": fits["item"], "add": {"1"}, "option": {lassi, chai}},
		"four toppings":   {"item": fits["item"], "add": {"1"}, drink: {lassi}, "option": top},
		"a topping twice": {"item": fits["item"], "add": {"1"}, drink: {lassi}, "option": {top[0], top[0]}},
		"another dish's":  {"item": fits["item"], "add": {"1"}, drink: {lassi}, "option": {s.option("masala-dosa", "Cheese")}},
		"nobody's":        {"item": fits["item"], "add": {"1"}, drink: {lassi}, "option": {"999999"}},
	} {
		page := b.post("/cart", form).is(422)
		if !strings.Contains(words(page.one("dish-form")), "Kesar Thali: ") {
			t.Errorf("%s: no reason beside the form", name)
		}
		tap := b.tap("/cart", form).is(422)
		if !strings.Contains(tap.body, `id="dish-error"`) || strings.Contains(tap.body, "<html") {
			t.Errorf("%s: htmx gets no reason", name)
		}
		if got := b.bought(); got != "" {
			t.Fatalf("%s: the cart holds %q", name, got)
		}
	}
	kept := b.post("/cart", with(with(fits, "note", "no onion – nut allergy 🥜"), drink, "999999")).is(422)
	if kept.value("note") != "no onion – nut allergy 🥜" {
		t.Error("the note is lost")
	}
	b.post("/cart", fits).leadsTo("/")
	if got := b.bought(); got != "thali ×1" {
		t.Errorf("the cart holds %q", got)
	}
}

// F3, F5, C037, C067: sold out, switched off, deleted or unknown is refused each time with its reason.
func TestDishesThatCannotBeHad(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	b := s.visitor()
	b.put("dal-makhani", 1)
	s.exec(`UPDATE items SET available = false WHERE slug = 'naan'`)
	s.exec(`UPDATE items SET archived_at = shop_now() WHERE slug = 'papad'`)
	s.exec(`UPDATE items SET daily_limit = 3 WHERE slug = 'kulfi'`)
	for name, c := range map[string]struct{ id, qty, reason string }{
		"switched off": {s.anyID(`naan`), "1", "Butter Naan is sold out"},
		"86'd":         {s.anyID(`rogan-josh`), "1", "Rogan Josh is sold out"},
		"deleted":      {s.anyID(`papad`), "1", "not found"},
		"unknown":      {"999999", "1", "not found"},
		"too many":     {s.anyID(`kulfi`), "4", "Only 3 portions of Malai Kulfi left"},
	} {
		a := b.tap("/cart", url.Values{"item": {c.id}, "qty": {c.qty}, "seq": {"7"}}).is(409)
		a.shows("error", c.reason)
		if a.header.Get("HX-Retarget") != "#toast" || !strings.Contains(a.body, `id="cart"`) {
			t.Errorf("%s: the sentence has no place, or the cart is not shown as it is", name)
		}
		a = b.tap("/cart", url.Values{"item": {c.id}, "add": {c.qty}}).is(409)
		if !strings.Contains(a.body, c.reason) {
			t.Errorf("%s: the sheet does not say %q", name, c.reason)
		}
		for _, form := range []url.Values{{"item": {c.id}, "set": {c.qty}}, {"item": {c.id}, "add": {c.qty}}, {"item": {c.id}, "set": {c.qty}, "from": {"cart"}}} {
			if page := b.post("/cart", form).is(409); !strings.Contains(page.body, c.reason) {
				t.Errorf("%s: the page does not say %q", name, c.reason)
			}
		}
	}
	if got := b.bought(); got != "dal-makhani ×1" {
		t.Errorf("the cart holds %q", got)
	}
	// What was taken before and is gone now is named where it stands, and can be removed.
	b.put("kulfi", 2)
	s.exec(`UPDATE items SET available = false WHERE slug = 'kulfi'`)
	b.get("/cart").is(200).shows("line-problem", "Sold out")
	b.post("/cart", url.Values{"item": {s.anyID("kulfi")}, "set": {"0"}, "from": {"cart"}}).leadsTo("/cart")
	if got := b.bought(); got != "dal-makhani ×1" {
		t.Errorf("the cart holds %q", got)
	}
}

// anyID is a dish's id whatever its state.
func (s *shop) anyID(slug string) string {
	s.t.Helper()
	return fmt.Sprint(s.count(`SELECT id FROM items WHERE slug = $1`, slug))
}

// A person can run into these limits, so they are told which it is.
func TestLimitsOfACart(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	b := s.visitor()
	b.get("/")
	dal := s.id("dal-makhani")
	b.post("/cart", url.Values{"item": {dal}, "add": {"18"}, "note": {strings.Repeat("a", 150)}}).is(303)
	page := b.post("/cart", url.Values{"item": {dal}, "add": {"3"}}).is(422)
	if !strings.Contains(page.body, "20 of one dish") {
		t.Error("21 pieces are refused without the reason")
	}
	page = b.post("/cart", url.Values{"item": {dal}, "add": {"1"}, "note": {strings.Repeat("b", 150)}}).is(422)
	if !strings.Contains(page.body, "200 characters together") {
		t.Error("notes that are too long together are refused without the reason")
	}
	page = b.post("/cart", url.Values{"item": {dal}, "add": {"1"}, "note": {strings.Repeat("b", 201)}}).is(422)
	if !strings.Contains(page.body, "at most 200 characters") {
		t.Error("a note that is too long is refused without the reason")
	}
	// 50 lines are the most: one dish with ever other choices.
	s.exec(`UPDATE option_groups SET max_pick = 3, min_pick = 0 WHERE item_id = $1`, s.item("masala-dosa").ID)
	s.exec(`INSERT INTO cart_lines (cart_id, outlet_id, item_id, option_ids, qty, note, seq, seen_paise)
		SELECT $1, $2, $3, ARRAY[n]::bigint[], 1, '', 0, 0 FROM generate_series(1000001, 1000049) n`, b.cart().ID, s.outlet.ID, s.item("naan").ID)
	page = b.post("/cart", url.Values{"item": {s.id("raita")}, "add": {"1"}}).is(422)
	if !strings.Contains(page.body, "at most 50 different dishes") {
		t.Error("a 51st line is refused without the reason")
	}
}

// F4, C067: a cart belongs to one outlet.
func TestOneOutletPerCart(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	slug, dosa := s.secondOutlet()
	b := s.visitor()
	b.get("/outlets/" + slug)
	b.post("/cart", url.Values{"item": {fmt.Sprint(dosa)}, "set": {"1"}}).leadsTo("/outlets/" + slug)
	for _, form := range []url.Values{{"item": {s.id("naan")}, "set": {"1"}}, {"item": {s.id("naan")}, "add": {"1"}}} {
		b.tap("/cart", form).is(409)
		page := b.post("/cart", form).is(409)
		if !strings.Contains(page.body, "another kitchen") {
			t.Error("no reason on the page")
		}
	}
	if got := b.bought(); got != "plain-dosa ×1" {
		t.Errorf("the cart holds %q", got)
	}
	b.post("/cart", url.Values{"item": {fmt.Sprint(dosa)}, "set": {"0"}, "from": {"cart"}}).leadsTo("/cart")
	b.post("/cart", url.Values{"item": {s.id("naan")}, "set": {"1"}}).leadsTo("/outlets/kesar-kitchen")
	if got := b.bought(); got != "naan ×1" {
		t.Errorf("the cart holds %q", got)
	}
	s.exec(`UPDATE outlets SET active = false WHERE slug = 'kesar-kitchen'`)
	b.get("/checkout").is(200).shows("closed", "closed")
}

// C039, "parallel taps never lose one": 40 taps at once from a browser whose cart does not exist yet.
func TestParallelTaps(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	b := s.visitor()
	b.get("/")
	dishes := []string{s.id("naan"), s.id("raita"), s.id("dal-makhani"), s.id("samosa")}
	var taps sync.WaitGroup
	for n := range 40 {
		taps.Add(1)
		go func() {
			defer taps.Done()
			if a := b.tap("/cart", url.Values{"item": {dishes[n%4]}, "add": {"1"}, "note": {""}}); a.status != 200 {
				t.Errorf("tap %d: status %d", n, a.status)
			}
		}()
	}
	taps.Wait()
	if n := s.count(`SELECT count(*) FROM carts`); n != 1 {
		t.Errorf("%d carts", n)
	}
	if n := s.count(`SELECT count(*) FROM cart_lines WHERE qty = 10`); n != 4 {
		t.Errorf("%d lines of 10: %s", n, b.bought())
	}
}

// F9: a price that has changed since it was put in is named; the new one counts.
func TestPriceChangedSinceAdded(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	b := s.visitor()
	b.put("dal-makhani", 2)
	s.exec(`UPDATE items SET price_paise = 29900 WHERE slug = 'dal-makhani'`)
	cart := b.get("/cart").is(200)
	if text := words(cart.one("cart-line")); !strings.Contains(text, "Now ₹299 (was ₹249)") {
		t.Errorf("the line says %q", text)
	}
	cart.shows("cart-total", "₹598")
}

// F14, C064: a form of another site does nothing; one of ours that has grown old comes back filled in, with a token that works.
func TestStaleAndForeignForms(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	b := s.visitor()
	b.put("naan", 1)
	chicken := b.get("/menu/butter-chicken").is(200)
	form := chicken.fields(chicken.one("dish-form"))
	form.Set("note", "extra hot 🌶")
	form.Set("add", "3")

	for _, site := range []string{"cross-site", "same-site"} {
		a := b.send(ask{path: "/cart", form: form, header: map[string]string{"Sec-Fetch-Site": site}}).is(403)
		a.shows("error", "another site")
	}
	other := s.visitor()
	other.get("/")
	for name, token := range map[string]string{"none": "", "wrong": strings.Repeat("x", 43), "another session's": csrfToken(other.cookies[guestCookie]), "the session's own": b.cookies[guestCookie]} {
		b.send(ask{path: "/cart", form: url.Values{"item": {s.id("naan")}, "set": {"9"}, csrfField: {token}}}).is(403)
		if got := b.bought(); got != "naan ×1" {
			t.Fatalf("token %s: the cart holds %q", name, got)
		}
	}

	// The session is gone, or another tab has begun another one: the dish comes back as it was filled in.
	b.cookies = map[string]string{}
	again := b.send(ask{path: "/cart", form: form}).is(403)
	again.shows("dish-form", "open for too long")
	if again.value("note") != "extra hot 🌶" || again.value("add") != "3" {
		t.Error("what was typed is lost")
	}
	b.send(ask{path: "/cart", form: again.fields(again.one("dish-form"))}).leadsTo("/")
	if got := b.bought(); got != "butter-chicken ×3" {
		t.Errorf("the cart holds %q", got)
	}

	// By htmx the same: the sheet again, or the cart's own forms with tokens that work.
	b.cookies = map[string]string{}
	sheet := b.send(ask{path: "/cart", form: form, header: map[string]string{"HX-Request": "true"}}).is(403)
	if sheet.header.Get("HX-Retarget") != "#sheet" || sheet.value("note") != "extra hot 🌶" {
		t.Error("the sheet does not come back")
	}
	b.send(ask{path: "/cart", form: sheet.fields(sheet.one("dish-form"))}).leadsTo("/")
	stale := map[string]string{"HX-Request": "true", "X-CSRF-Token": "old"}
	line := b.send(ask{path: "/cart", form: url.Values{"item": {s.id("butter-chicken")}, "qty": {"1"}, "seq": {"5"}, "from": {"cart"}}, header: stale}).is(403)
	line.shows("error", "open for too long")
	fresh := line.fields(line.one("cart-line"))
	fresh.Set("seq", "6")
	fresh.Set("qty", "2")
	b.send(ask{path: "/cart", form: fresh, header: stale}).is(200) // the form's own token is fresh, the page's header is not
	if got := b.bought(); got != "butter-chicken ×2" {
		t.Errorf("the cart holds %q", got)
	}
}
