package handlers

import (
	"net/http"
	"strings"
	"sync"
	"testing"
)

func TestStaffLogin(t *testing.T) {
	t.Parallel()
	k := openKitchen(t, nil)
	asha := k.staff("asha", "Asha", "owner", 0)

	k.run(t, "opens_the_board_under_a_new_token", func(t *testing.T) {
		b := k.browser()
		b.setCookie(staffCookie, "attacker-chosen-1", "/staff")
		b.get("/staff").is(303).leads("/staff/login")
		b.get("/staff/login").is(200)
		guest := b.cookie(guestCookie)
		res := b.post("/staff/login", "login", " Asha ", "password", kitchenPassword).is(303).leads("/staff")
		set := (&http.Response{Header: res.header}).Cookies()
		if len(set) != 1 || set[0].Name != staffCookie || !set[0].HttpOnly || set[0].SameSite != http.SameSiteLaxMode || set[0].MaxAge != 12*60*60 || set[0].Path != "/staff" {
			t.Fatalf("cookies set = %v, want one staff_sid, HttpOnly, Lax, of 12 hours, for /staff", set)
		}
		first := set[0].Value
		if first == "attacker-chosen-1" || len(first) < 26 {
			t.Fatalf("token = %q, want one of ours", first)
		}
		b.get("/staff").is(200)
		b.get("/staff/login").is(303).leads("/staff")
		if b.cookie(guestCookie) != guest {
			t.Error("signing in took the guest session away")
		}

		// A second login, from the page as it was: another token, and the one before opens nothing any more.
		other := k.browser()
		other.setCookie(staffCookie, first, "/staff")
		other.setCookie(guestCookie, guest, "/")
		other.get("/staff").is(200)
		other.setToken(csrfToken(guest))
		other.post("/staff/login", "login", "asha", "password", kitchenPassword).is(303)
		if second := other.cookie(staffCookie); second == first || second == "" {
			t.Errorf("token after a second login = %q, was %q", second, first)
		}
		other.get("/staff").is(200)
		b.get("/staff").is(303).leads("/staff/login")
	})

	k.run(t, "wrong_password_and_unknown_login_look_the_same", func(t *testing.T) {
		b := k.browser()
		b.get("/staff/login").is(200)
		wrong := b.post("/staff/login", "login", "asha", "password", "not her password").is(401).says("error", "Login or password is wrong.")
		unknown := b.post("/staff/login", "login", "nobody", "password", "not her password").is(401)
		if b.cookie(staffCookie) != "" {
			t.Error("a wrong login opened a session")
		}
		if got := attribute(wrong.all("input", "name", "login")[0], "value"); got != "asha" {
			t.Errorf("login field = %q, want what was typed", got)
		}
		if strings.Contains(wrong.body, "not her password") {
			t.Error("the password is on the page")
		}
		if a, b := strings.ReplaceAll(wrong.body, "asha", "X"), strings.ReplaceAll(unknown.body, "nobody", "X"); a != b {
			t.Errorf("answers differ:\n%s\n%s", a, b)
		}
	})

	k.run(t, "hostile_logins_are_text", func(t *testing.T) {
		b := k.browser()
		b.get("/staff/login").is(200)
		res := b.post("/staff/login", "login", `"><script>alert(1)</script>`, "password", "x").is(401)
		if len(res.all("input", "name", "login")) != 1 || attribute(res.all("input", "name", "login")[0], "value") != `"><script>alert(1)</script>` {
			t.Errorf("the login came back as something else:\n%s", res.body)
		}
		b.post("/staff/login", "login", "a\x00b", "password", "x").is(400)
		b.post("/staff/login", "login", "\xc0\x80", "password", "x").is(400)
	})

	k.run(t, "what_is_not_the_form_is_refused_before_a_password_is_looked_at", func(t *testing.T) {
		k.exec(`DELETE FROM login_attempts`)
		b := k.browser()
		b.send("/staff/login", nil, "login", "asha", "password", kitchenPassword).is(403).says("error", "open for too long")
		b.get("/staff/login").is(200)
		b.post("/staff/login", "login", "asha", "password", kitchenPassword, "next", "https://evil.example/").is(400)
		b.send("/staff/login", []string{"Sec-Fetch-Site", "cross-site"}, csrfField, b.token(), "login", "asha", "password", kitchenPassword).is(403)
		b.send("/staff/login?next=//evil.example", nil, csrfField, b.token(), "login", "asha", "password", kitchenPassword).is(400)
		if n := k.count(`SELECT count(*) FROM login_attempts`); n != 0 || b.cookie(staffCookie) != "" {
			t.Errorf("%d tries counted, cookie %q, want none", n, b.cookie(staffCookie))
		}
		// The stale form has come back with a token that is good.
		c := k.browser()
		c.send("/staff/login", nil, "login", "asha", "password", kitchenPassword).is(403)
		c.post("/staff/login", "login", "asha", "password", kitchenPassword).is(303)
	})

	k.run(t, "a_dismissed_member_is_out_at_once", func(t *testing.T) {
		ravi := k.staff("ravi", "Ravi", "manager", k.outlet.ID)
		b := k.signedIn(ravi)
		k.exec(`UPDATE staff SET active = false WHERE id = $1`, ravi.ID)
		b.get("/staff").is(303).leads("/staff/login")
	})

	k.run(t, "a_session_ends_after_twelve_hours", func(t *testing.T) {
		b := k.signedIn(asha)
		k.exec(`UPDATE sessions SET expires_at = shop_now() - interval '1 second' WHERE staff_id = $1`, asha.ID)
		b.get("/staff").is(303).leads("/staff/login")
		b.press("/staff/open", "open", "1").is(401)
	})
}

func TestStaffLoginIsRateLimited(t *testing.T) {
	t.Parallel()
	k := openKitchen(t, nil)
	k.staff("asha", "Asha", "owner", 0)
	b := k.browser()
	b.get("/staff/login").is(200)

	// Twenty at once are still only five: whoever guesses in parallel gains nothing.
	answers := make(chan int, 20)
	var group sync.WaitGroup
	for range cap(answers) {
		group.Go(func() {
			answers <- b.send("/staff/login", nil, csrfField, b.token(), "login", "asha", "password", "a guess that is wrong").status
		})
	}
	group.Wait()
	close(answers)
	seen := map[int]int{}
	for status := range answers {
		seen[status]++
	}
	if seen[401] != 5 || seen[429] != 15 {
		t.Errorf("answers = %v, want 5 × 401 and 15 × 429", seen)
	}
	res := b.post("/staff/login", "login", "asha", "password", kitchenPassword).is(429).says("error", "Too many tries")
	if res.header.Get("Retry-After") != "900" {
		t.Errorf("Retry-After = %q, want 900", res.header.Get("Retry-After"))
	}
	if len(res.all("form", "data-testid", "login-form")) != 1 {
		t.Error("no form to try again with")
	}
	k.exec(`UPDATE login_attempts SET at = shop_now() - interval '16 minutes'`)
	b.post("/staff/login", "login", "asha", "password", kitchenPassword).is(303)
}

func TestStaffLogout(t *testing.T) {
	t.Parallel()
	k := openKitchen(t, nil)
	b := k.signedIn(k.staff("asha", "Asha", "owner", 0))
	token := b.cookie(staffCookie)

	b.get("/staff/logout").is(405)
	b.send("/staff/logout", []string{"Sec-Fetch-Site", "same-site"}, csrfField, b.token()).is(403)
	b.send("/staff/logout", nil, csrfField, "guessed").is(403)
	b.get("/staff").is(200)

	b.post("/staff/logout").is(303).leads("/staff/login")
	if b.cookie(staffCookie) != "" {
		t.Error("the cookie is still there")
	}
	b.setCookie(staffCookie, token, "/staff")
	b.get("/staff").is(303).leads("/staff/login")
	b.press("/staff/open", "open", "1").is(401)
	if n := k.count(`SELECT count(*) FROM sessions WHERE staff_id IS NOT NULL`); n != 0 {
		t.Errorf("%d staff sessions left, want none", n)
	}
	b.post("/staff/logout").is(303).leads("/staff/login") // again: nobody is signed in, and that is what was asked for
}
