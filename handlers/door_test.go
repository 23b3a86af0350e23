package handlers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/gofiber/fiber/v2"

	"tiffin/models"
	"tiffin/payments"
	"tiffin/razorpay/standin"
	"tiffin/static"
)

// C060: neither addresses nor log lines hold a token, secret, phone, name or signature; an order's link is masked.
func TestNothingPersonalInTheLog(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	b := s.visitor()
	b.get("/?filter=1&q=secretsearch&veg=1")
	b.put("dal-makhani", 2)
	typed := b.review("name", "Ananya Visible")
	b.send(ask{path: "/checkout", form: with(typed, "phone", "98450")}).is(422)
	token := strings.TrimPrefix(b.send(ask{path: "/checkout", form: typed}).is(303).header.Get("Location"), "/pay/")
	slip := s.pay(token, standin.PayParams{})
	b.send(ask{path: "/payments/verify?order=" + token, form: with(slip, "razorpay_signature", strings.Repeat("0", 64))}).is(400)
	b.send(ask{path: "/payments/verify?order=" + token, form: slip}).is(303)
	for _, path := range []string{"/orders/%s", "/orders/%s/status", "/pay/%s", "/orders/%s/nowhere", "/%s", "/pay/%s?state=closed", "/staff/%s"} {
		a := b.get(fmt.Sprintf(path, token))
		for name, values := range a.header {
			if name != "Location" && strings.Contains(fmt.Sprint(values), token) {
				t.Errorf("%s: the token is in %s", path, name)
			}
		}
	}
	b.send(ask{path: "/cart", form: url.Values{"item": {"1"}, "98450 12345": {"x"}}, header: b.htmx()}).is(400)
	log := s.log.String()
	for name, word := range map[string]string{"token": token, "session": b.cookies[guestCookie], "csrf": csrfToken(b.cookies[guestCookie]), "phone": "9845012345", "phone as typed": "98450 12345",
		"name": "Ananya", "email": "ananya@", "address": "Flat 302", "signature": slip.Get("razorpay_signature"), "key secret": keySecret, "webhook secret": webhookSecret, "search": "secretsearch",
		"checkout key": typed.Get("checkout_key")} {
		if strings.Contains(log, word) {
			t.Errorf("the log has the %s", name)
		}
	}
	for _, line := range []string{`"route":"/orders/:token/status"`, `"path":"/orders/…"`, `"route":"/payments/verify"`, `"error":"slip for order`} {
		if !strings.Contains(log, line) {
			t.Errorf("the log lacks %s", line)
		}
	}
	for _, page := range []reply{b.get("/"), b.get("/cart"), b.get("/checkout"), b.get("/orders/" + token)} {
		for n := range page.page.Descendants() {
			for _, name := range []string{"href", "hx-get", "action", "src"} {
				if address := attr(n, name); strings.Contains(address, "9845") || strings.Contains(address, b.cookies[guestCookie]) || strings.Contains(address, csrfToken(b.cookies[guestCookie])) {
					t.Errorf("an address on a page holds something secret: %s", address)
				}
			}
		}
	}
}

// C061: following every link of every page changes no row, and what acts does not answer to GET.
func TestLookingChangesNothing(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	b := s.visitor()
	token := b.paid()
	b.put("naan", 5)
	second := b.place()
	b.get("/checkout")
	kitchen := &kitchen{t: t, store: s.store}
	before := kitchen.rows()
	seen := map[string]bool{}
	next := []string{"/", "/cart", "/checkout", "/orders/" + token, "/orders/" + second, "/pay/" + second, "/checkout?way=pickup&pin="}
	for len(next) > 0 {
		path := next[0]
		next = next[1:]
		path, _, _ = strings.Cut(path, "#")
		if seen[path] || !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "/static/") || len(seen) > 400 {
			continue
		}
		seen[path] = true
		for _, header := range []map[string]string{nil, b.htmx()} {
			a := b.send(ask{path: path, header: header})
			if a.status >= 400 {
				t.Errorf("%s: status %d", path, a.status)
			}
			for n := range a.page.Descendants() {
				next = append(next, attr(n, "href"), attr(n, "hx-get"))
			}
		}
	}
	if len(seen) < 40 {
		t.Errorf("only %d addresses were found", len(seen))
	}
	kitchen.unchanged(before)
	for _, path := range []string{"/payments/verify", "/webhooks/razorpay", "/orders/" + token + "/cancel"} {
		a := b.get(path).is(405)
		a.shows("error", "does not work that way")
		if a.header.Get("Allow") != "POST" {
			t.Errorf("%s allows %q", path, a.header.Get("Allow"))
		}
	}
	kitchen.unchanged(before)
}

// C059, S3: a session's token is ours alone to choose; the cookie is closed to scripts and other sites.
func TestSessionCookie(t *testing.T) {
	t.Parallel()
	s := openShopWith(t, Config{PublicURL: "https://shop.example"})
	for _, chosen := range []string{"attacker-chosen-1", strings.Repeat("A", 26), strings.Repeat("A", 5000), "", "%00"} {
		b := s.visitor()
		b.cookies[guestCookie] = chosen
		a := b.get("/").is(200)
		if b.cookies[guestCookie] == chosen {
			t.Errorf("%.20q was adopted", chosen)
		}
		for _, cookie := range (&http.Response{Header: a.header}).Cookies() {
			if cookie.Name == guestCookie && (!cookie.HttpOnly || !cookie.Secure || cookie.SameSite != http.SameSiteLaxMode || cookie.Path != "/" || cookie.MaxAge != 60*24*3600) {
				t.Errorf("the cookie is %v", cookie)
			}
		}
		if a.header.Get("Strict-Transport-Security") == "" {
			t.Error("https is not asked for again")
		}
	}
	if n := s.count(`SELECT count(*) FROM sessions`); n != 5 {
		t.Errorf("%d sessions", n)
	}
	// Where there is no form to send, no session is opened.
	for _, in := range []ask{{path: "/healthz"}, {path: "/robots.txt"}, {path: static.Path("app.css")}, {path: "/nowhere"}, {method: "HEAD", path: "/"}, {method: "HEAD", path: "/checkout"},
		{path: "/orders/NOSUCHORDER"}, {path: "/webhooks/razorpay", body: "{}"}, {method: "POST", path: "/payments/verify"}} {
		if a := s.visitor().send(in); a.header.Get("Set-Cookie") != "" && in.method != "HEAD" || strings.Contains(a.header.Get("Set-Cookie"), guestCookie) {
			t.Errorf("%s %s: sets %s", in.method, in.path, a.header.Get("Set-Cookie"))
		}
	}
	if n := s.count(`SELECT count(*) FROM sessions`); n != 5 {
		t.Errorf("%d sessions", n)
	}
	for _, path := range []string{"/", "/cart", "/menu/naan", "/checkout", "/healthz"} {
		if a := s.visitor().send(ask{method: "HEAD", path: path}); a.status != 200 || a.body != "" {
			t.Errorf("HEAD %s: status %d, %d bytes", path, a.status, len(a.body))
		}
	}
	plain := openShop(t).visitor()
	if a := plain.get("/"); strings.Contains(strings.ToLower(a.header.Get("Set-Cookie")), "secure") || a.header.Get("Strict-Transport-Security") != "" {
		t.Error("a shop without https asks for it")
	}
	// The token of a session that has ended opens nothing.
	old := plain.cookies[guestCookie]
	must(t, plain.store.EndSession(t.Context(), plain.session().ID))
	plain.get("/")
	if plain.cookies[guestCookie] == old {
		t.Error("an ended session goes on")
	}
}

// C071: 200 requests of 20 customers at once; each sees all of their own cart and order, and only that.
func TestManyCustomersAtOnce(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	type person struct {
		*visitor
		name, token string
		qty         int
	}
	people := make([]person, 20)
	for n := range people {
		p := person{visitor: s.visitor(), name: fmt.Sprintf("Customer%02dName", n), qty: n%5 + 1}
		p.put("dal-makhani", p.qty)
		placed := p.send(ask{path: "/checkout", form: p.review("name", p.name)}).is(303)
		p.token = strings.TrimPrefix(placed.header.Get("Location"), "/pay/")
		people[n] = p
	}
	var requests sync.WaitGroup
	for _, p := range people {
		for _, path := range []string{"/cart", "/checkout", "/orders/" + p.token, "/", "/orders/" + p.token + "/status", "/cart", "/?filter=1&veg=1&q=" + p.name, "/pay/" + p.token, "/checkout", "/"} {
			requests.Add(1)
			go func() {
				defer requests.Done()
				a := p.get(path)
				if a.status != 200 {
					t.Errorf("%s: status %d", path, a.status)
				}
				for _, other := range people {
					if other.name != p.name && (strings.Contains(a.body, other.name) || strings.Contains(a.body, other.token)) {
						t.Errorf("%s shows %s to %s", path, other.name, p.name)
					}
				}
				if mine := strings.Contains(a.body, p.name); !mine && path != "/cart" && path != "/" {
					t.Errorf("%s does not show %s their own", path, p.name)
				}
				if path == "/cart" && words(a.one("qty")) != fmt.Sprint(p.qty) {
					t.Errorf("%s: not the cart of %s", path, p.name)
				}
			}()
		}
	}
	requests.Wait()
}

// C074: 500 requests, many at once, each with words of its own; what was kept is what was sent, byte for byte.
func TestStringsAreNotReused(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	visitors := make([]*visitor, 50)
	for n := range visitors {
		visitors[n] = s.visitor()
		visitors[n].get("/cart").is(200)
	}
	dal := s.id("dal-makhani")
	var requests sync.WaitGroup
	inFlight := make(chan struct{}, 64) // a machine with two cores and the race detector answers no 500 at once within a request's time
	for n, b := range visitors {
		for m := range 10 {
			requests.Add(1)
			go func() {
				defer requests.Done()
				inFlight <- struct{}{}
				defer func() { <-inFlight }()
				word := fmt.Sprintf("word-%02d-%02d", n, m)
				if m%2 == 0 {
					b.post("/cart", url.Values{"item": {dal}, "add": {"1"}, "note": {word}}).is(303)
				} else if a := b.get("/?filter=1&q=" + word).is(200); a.value("q") != word {
					t.Errorf("%s comes back as %s", word, a.value("q"))
				}
			}()
		}
	}
	requests.Wait()
	for n, b := range visitors {
		note := b.cart().Lines[0].Note
		for m := 0; m < 10; m += 2 {
			if word := fmt.Sprintf("word-%02d-%02d", n, m); strings.Count(note, word) != 1 || len(note) != 5*len(word)+4*len("; ") {
				t.Errorf("%s is kept as %q", word, note)
			}
		}
	}
}

// C067: every error has its status and a sentence for people, by page and by toast, and never its own text.
func TestErrorTable(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	network := &net.OpError{Op: "dial", Err: errors.New("connection refused at 10.1.2.3")}
	var current error
	s.app.fiber.Get("/fault", func(*fiber.Ctx) error { return current })
	b := s.visitor()
	for _, c := range []struct {
		err    error
		status int
		says   string
	}{
		{models.ErrBadInput, 400, "not one our pages send"}, {errBadForm, 400, "not one our pages send"}, {payments.ErrBadSignature, 400, "could not verify"},
		{models.ErrSignedOut, 401, "sign in again"}, {models.ErrWrongLogin, 401, "wrong"}, {errForeign, 403, "another site"}, {errForbidden, 403, "not open to your login"},
		{models.ErrNotFound, 404, "nothing at this address"}, {models.ErrKeyReused, 409, "Checkout details have changed"}, {models.ErrBillChanged, 409, "The bill changed"},
		{models.ErrTooLate, 409, "too late"}, {models.ErrBadMove, 409, "moved on"}, {models.ErrClosed, 409, "not taking orders"}, {models.ErrOtherOutlet, 409, "another kitchen"},
		{&models.ErrSoldOut{Name: "Kheer"}, 409, "Kheer is sold out"}, {&models.ErrChoice{Dish: "Thali", Why: models.ChoiceCount, Group: "Drink", Least: 1, Most: 1}, 422, "choose 1"}, {&models.ErrDelivery{Why: "far"}, 422, "do not deliver"},
		{payments.ErrTooLarge, 413, "too large"}, {models.ErrTooManyTries, 429, "Too many tries"}, {payments.ErrNoGateway, 503, "payment service"},
		{context.DeadlineExceeded, 503, "try again in a minute"}, {network, 503, "try again in a minute"}, {errors.New("pq: column s.x"), 500, "went wrong on our side"},
		{fiber.ErrTeapot, 418, "not one our pages send"},
	} {
		current = fmt.Errorf("at 10.1.2.3 by postgres: %w", c.err)
		page := b.get("/fault").is(c.status)
		toast := b.send(ask{path: "/fault", header: b.htmx()}).is(c.status)
		if !strings.Contains(words(page.one("error")), c.says) || !strings.Contains(words(toast.one("error")), c.says) || strings.Contains(toast.body, "<html") {
			t.Errorf("%v says %q", c.err, words(page.one("error")))
		}
		if toast.header.Get("HX-Retarget") != "#toast" || toast.header.Get("HX-Reswap") != "innerHTML" {
			t.Errorf("%v: the toast would land where the form's answer goes", c.err)
		}
		if id := page.header.Get("X-Request-Id"); id == "" || !strings.Contains(words(page.one("request-id")), id) || !strings.Contains(s.log.String(), id) {
			t.Errorf("%v: the number to quote is not on the page and in the log", c.err)
		}
		for _, word := range []string{"10.1.2.3", "postgres", "pq:"} {
			if strings.Contains(page.body+toast.body, word) {
				t.Errorf("%v: the page says %s", c.err, word)
			}
		}
	}
	s.app.fiber.Get("/slow", func(c *fiber.Ctx) error {
		over, cancel := context.WithCancel(c.UserContext())
		cancel()
		c.SetUserContext(over)
		return context.DeadlineExceeded
	})
	b.get("/slow").is(503).shows("error", "try again in a minute") // the page is rendered though the request's time is up
	s.app.fiber.Get("/panic", func(*fiber.Ctx) error { panic("index out of range [3]") })
	b.get("/panic").is(500).shows("error", "went wrong on our side")
	if log := s.log.String(); !strings.Contains(log, "index out of range [3]") || !strings.Contains(log, "door_test.go") {
		t.Error("the panic and its place are not in the log")
	}
	if page := b.get("/panic"); strings.Contains(page.body, "index out of range") {
		t.Error("the page shows the panic")
	}
	b.get("/").is(200)
}

// Static files come compressed as the browser takes them, and may be kept for a year; other names are 404.
func TestStaticFiles(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	b := s.visitor()
	path := static.Path("app.css")
	for accept, coding := range map[string]string{"": "", "gzip, deflate, br": "br", "gzip": "gzip", "br;q=0, gzip;q=0.5": "gzip", "identity": "", "br;q=0": ""} {
		a := b.send(ask{path: path, header: map[string]string{"Accept-Encoding": accept}}).is(200)
		if got := a.header.Get("Content-Encoding"); got != coding || a.header.Get("Cache-Control") != "public, max-age=31536000, immutable" ||
			a.header.Get("Vary") != "Accept-Encoding" || a.header.Get("Content-Type") != "text/css; charset=utf-8" || a.header.Get("Set-Cookie") != "" {
			t.Errorf("%q: %v", accept, a.header)
		}
		body, br, gz, _, _ := static.Open(strings.TrimPrefix(path, static.Prefix))
		if want := map[string][]byte{"": body, "br": br, "gzip": gz}[coding]; a.body != string(want) {
			t.Errorf("%q: %d bytes, want %d", accept, len(a.body), len(want))
		}
	}
	b.get("/static/app.css").is(404)
	b.get("/static/").is(404)
	if a := b.send(ask{path: "/", header: map[string]string{"Accept-Encoding": "gzip, br"}}); a.header.Get("Content-Encoding") != "br" || !strings.Contains(a.header.Get("Vary"), "Accept-Encoding") || !strings.Contains(a.header.Get("Vary"), "HX-Request") {
		t.Errorf("a page comes as %v", a.header)
	}
}

func TestHealth(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	b := s.visitor()
	var behind error
	alive := true
	s.app.deps.Ready = func(context.Context) error { return behind }
	s.app.deps.WorkersAlive = func() bool { return alive }
	b.get("/readyz").is(200)
	behind = errors.New("migration 0007 is missing at db.internal")
	if a := b.get("/readyz").is(503); strings.Contains(a.body, "db.internal") {
		t.Error("readyz names the host")
	}
	behind, alive = nil, false
	b.get("/readyz").is(503)
	alive = true
	must(t, s.store.Close())
	b.get("/readyz").is(503)
	b.get("/healthz").is(200)
	b.get("/").is(503).shows("error", "We cannot answer just now")
}

// Behind a proxy of ours the address is the nearest that is not one; what a client writes itself is never believed.
func TestClientAddress(t *testing.T) {
	t.Parallel()
	app := New(Config{PublicURL: publicURL, TrustedProxies: []string{"10.0.0.0/8", "192.0.2.7", "nonsense"}}, Deps{Log: nil})
	for _, c := range []struct{ from, forwarded, want string }{
		{"203.0.113.9:1234", "", "203.0.113.9"}, {"203.0.113.9:1234", "198.51.100.1", "203.0.113.9"}, {"10.1.1.1:80", "198.51.100.1", "198.51.100.1"},
		{"10.1.1.1:80", "1.2.3.4, 198.51.100.1", "198.51.100.1"}, {"10.1.1.1:80", "1.2.3.4, 198.51.100.1, 192.0.2.7", "198.51.100.1"}, {"10.1.1.1:80", "nonsense", "10.1.1.1"},
		{"10.1.1.1:80", "", "10.1.1.1"}, {"[2001:db8::1]:80", "198.51.100.1", "2001:db8::1"}, {"10.1.1.1:80", "2001:db8::5", "2001:db8::5"},
	} {
		got := ""
		server := fiber.New(fiber.Config{DisableStartupMessage: true})
		server.Get("/", func(c *fiber.Ctx) error {
			addr, err := net.ResolveTCPAddr("tcp", c.Get("X-From"))
			if err != nil {
				return err
			}
			c.Context().SetRemoteAddr(addr)
			got = app.clientAddress(c)
			return nil
		})
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("X-From", c.from)
		r.Header.Set("X-Forwarded-For", c.forwarded)
		_, err := server.Test(r)
		must(t, err)
		if got != c.want {
			t.Errorf("from %s for %q: %s, want %s", c.from, c.forwarded, got, c.want)
		}
	}
}

// Request times are counted by the route's pattern: no token becomes a label, and nonsense is one label.
func TestMetrics(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	b := s.visitor()
	token := b.paid()
	b.get("/orders/" + token)
	b.get("/nowhere/" + token)
	b.send(ask{method: "BREW", path: "/cart"})
	families, err := s.app.deps.Registry.Gather()
	must(t, err)
	labels := map[string]bool{}
	for _, f := range families {
		if f.GetName() != "tiffin_http_request_seconds" {
			continue
		}
		for _, m := range f.GetMetric() {
			var line []string
			for _, l := range m.GetLabel() {
				line = append(line, l.GetValue())
			}
			labels[strings.Join(line, " ")] = true
		}
	}
	for _, want := range []string{"GET /orders/:token 200", "GET unmatched 404", "POST /cart 303", "POST /payments/verify 303", "GET / 200"} {
		if !labels[want] {
			t.Errorf("%q is not counted", want)
		}
	}
	for label := range labels {
		if strings.Contains(label, token) || strings.Contains(label, "BREW") {
			t.Errorf("%q is counted", label)
		}
	}
}
