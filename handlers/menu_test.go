package handlers

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
)

// F26, ux.md section 6: one outlet goes straight to its menu, several are listed.
func TestFront(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	b := s.visitor()
	page := b.get("/").is(200)
	page.shows("outlet", "Kesar Kitchen").shows("open-state", "Open")
	if n := len(page.all("dish")); n < 40 {
		t.Errorf("%d dishes on the menu", n)
	}
	slug, _ := s.secondOutlet()
	page = b.get("/").is(200)
	if n := len(page.all("outlet-card")); n != 2 {
		t.Errorf("%d outlets listed, want 2", n)
	}
	page.lacks("dish")
	b.get("/outlets/"+slug).is(200).shows("dish", "Plain Dosa")
	b.get("/menu/plain-dosa?outlet="+slug).is(200).shows("dish-form", "Plain Dosa")
	b.get("/menu/plain-dosa?outlet=kesar-kitchen").is(404).shows("error", "nothing at this address")
	s.exec(`UPDATE outlets SET active = false WHERE slug = $1`, slug)
	b.get("/outlets/" + slug).is(404)
	b.get("/").is(200).shows("outlet", "Kesar Kitchen")
}

// C066: htmx asks for a piece, everybody else, and htmx after Back, for the whole page.
func TestFragments(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	b := s.visitor()
	b.get("/")
	piece, back := b.htmx(), b.htmx()
	back["HX-History-Restore-Request"] = "true"
	for _, path := range []string{"/?filter=1&q=paneer", "/menu/butter-chicken", "/checkout?way=pickup&pin="} {
		whole := b.send(ask{path: path}).is(200)
		part := b.send(ask{path: path, header: piece}).is(200)
		restored := b.send(ask{path: path, header: back}).is(200)
		if !strings.HasPrefix(whole.body, "<!doctype html>") || !strings.HasPrefix(restored.body, "<!doctype html>") {
			t.Errorf("%s: not a whole page", path)
		}
		if strings.Contains(part.body, "<html") || part.body == "" {
			t.Errorf("%s: not a fragment", path)
		}
		for _, a := range []reply{whole, part, restored} {
			if !strings.Contains(a.header.Get("Vary"), "HX-Request") {
				t.Errorf("%s: Vary is %q", path, a.header.Get("Vary"))
			}
		}
	}
}

// ux.md section 5: the filter stays on while browsing, and an absent veg means unticked only where the form says so.
func TestFilterIsRemembered(t *testing.T) {
	t.Parallel()
	b := openShop(t).visitor()
	all := len(b.get("/").all("dish"))
	veg := len(b.get("/?filter=1&veg=1&way=pickup").all("dish"))
	if veg == 0 || veg >= all {
		t.Fatalf("%d of %d dishes are vegetarian", veg, all)
	}
	if n := len(b.get("/").all("dish")); n != veg {
		t.Errorf("%d dishes after coming back, want %d", n, veg)
	}
	if b.get("/checkout").status != 200 || b.cookies[wayCookie] != "pickup" {
		t.Errorf("the way is forgotten: %v", b.cookies)
	}
	if n := len(b.get("/?filter=1").all("dish")); n != all {
		t.Errorf("%d dishes after unticking, want %d", n, all)
	}
	found := b.get("/?filter=1&q=" + url.QueryEscape("butter chicken")).is(200)
	if n := len(found.all("dish")); n != 1 || attr(found.one("dish"), "data-slug") != "butter-chicken" {
		t.Errorf("search found %d dishes", n)
	}
}

// F8, ux.md section 6: no page with a bill or a name on it is kept; menu and cart are asked about again.
func TestCaching(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	b := s.visitor()
	b.put("dal-makhani", 1)
	token := b.place()
	for path, want := range map[string]string{"/": "private, no-cache", "/cart": "private, no-cache", "/menu/dal-makhani": "private, no-cache", "/checkout": "no-store",
		"/pay/" + token: "no-store", "/orders/" + token: "no-store", "/orders/" + token + "/status": "no-store", "/orders/NOSUCHORDER": "no-store"} {
		if got := b.get(path).header.Get("Cache-Control"); got != want {
			t.Errorf("%s: Cache-Control %q, want %q", path, got, want)
		}
	}
}

// C073: bytes that are no text are cleaned or refused, never a 500.
func TestNoTextIsNoFault(t *testing.T) {
	t.Parallel()
	b := openShop(t).visitor()
	for path, status := range map[string]int{"/?filter=1&q=%00": 200, "/?q=%C0%80&veg=%ff": 200, "/?q=%zz": 200, "/menu/%00": 404, "/menu/%ff%fe": 404,
		"/menu/%zz": 404, "/outlets/%00": 404, "/menu/naan?outlet=%00": 404, "/orders/%00": 404, "/orders/%ff/status": 404, "/orders/%00/events": 404,
		"/pay/%C0%80": 404, "/static/%00": 404, "/static/../routes.go": 404, "/" + strings.Repeat("a", 3000): 404} {
		if a := b.get(path); a.status != status {
			t.Errorf("%.40s: status %d, want %d", path, a.status, status)
		}
	}
}

// C057: what people write stays text.
func TestTextStaysText(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	b := s.visitor()
	b.get("/")
	dangers := []string{`<img src=x onerror=alert(1)>`, `"><svg/onload=alert(1)>`, `</textarea><script>alert(1)</script>`}
	for _, text := range dangers {
		safe := func(a reply) {
			t.Helper()
			for _, word := range []string{"<img src=x", "<svg/onload", "<script>alert"} {
				if strings.Contains(a.body, word) {
					t.Errorf("%s comes back as markup", word)
				}
			}
		}
		safe(b.get("/?filter=1&q=" + url.QueryEscape(text)).is(200))
		safe(b.post("/cart", url.Values{"item": {b.id("dal-makhani")}, "add": {"1"}, "note": {text}}).is(303))
		safe(b.get("/cart").is(200))
		typed := b.review("name", text, "note", text, "line1", text, "directions", text)
		bad := b.send(ask{path: "/checkout", form: with(typed, "phone", "12345"+text)}).is(422)
		safe(bad)
		if got := bad.value("note"); got != text {
			t.Errorf("the note comes back as %q", got)
		}
		placed := b.send(ask{path: "/checkout", form: typed}).is(303)
		token := strings.TrimPrefix(placed.header.Get("Location"), "/pay/")
		safe(b.get("/pay/" + token).is(200))
		order := b.get("/orders/" + token).is(200)
		safe(order)
		order.shows("order-note", text)
		safe(b.get("/orders/" + token + "/status").is(200))
	}
}

// id is a dish's id as forms send it.
func (s *shop) id(slug string) string { s.t.Helper(); return fmt.Sprint(s.item(slug).ID) }

// with is a copy of a form with some fields set.
func with(form url.Values, changes ...string) url.Values {
	changed := url.Values{}
	for name, values := range form {
		changed[name] = values
	}
	for i := 0; i < len(changes); i += 2 {
		changed.Set(changes[i], changes[i+1])
	}
	return changed
}
