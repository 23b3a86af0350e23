package handlers

import (
	"strings"
	"testing"
)

// A visitor is answered in the browser's language, or in the one chosen, which is kept; staff and nonsense get English.
func TestPagesSpeakTheVisitorsLanguage(t *testing.T) {
	s := openShop(t)
	for _, c := range []struct{ path, accepts, want string }{
		{"/", "", "en-IN"},
		{"/", "hi-IN,hi;q=0.9,en;q=0.8", "hi"},
		{"/cart", "en-IN,hi;q=0.5", "en-IN"},
		{"/?lang=hi", "en-IN", "hi"},
		{"/?lang=%00%0d%0aSet-Cookie:x", "en-IN", "en-IN"},
		{"/staff/login", "hi", "en-IN"},
	} {
		b := s.visitor()
		got := b.send(ask{path: c.path, header: map[string]string{"Accept-Language": c.accepts}}).is(200)
		if !strings.Contains(got.body, `<html lang="`+c.want+`"`) {
			t.Errorf("%s with %q is not in %q", c.path, c.accepts, c.want)
		}
	}
	b := s.visitor()
	b.send(ask{path: "/?lang=hi"}).is(200)
	if got := b.send(ask{path: "/cart"}).is(200).body; !strings.Contains(got, `<html lang="`+"hi"+`"`) {
		t.Error("the next page is not in Hindi")
	}
	b.send(ask{path: "/?lang=en-IN"}).is(200)
	if got := b.send(ask{path: "/cart"}).is(200).body; !strings.Contains(got, `<html lang="`+"en-IN"+`"`) {
		t.Error("after going back to English the next page is not in it")
	}
}
