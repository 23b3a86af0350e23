package models

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// mustGuest makes a guest's session and the token that opens it.
func mustGuest(t testing.TB, s *Store) (Session, string) {
	t.Helper()
	token, sess, err := s.CreateGuestSession(t.Context())
	must(t, err)
	return sess, token
}

// mustCode asks for a code as this browser and writes its letter.
func mustCode(t testing.TB, s *Store, sess Session, email string) (code string) {
	t.Helper()
	mustExec(t, s, `DELETE FROM login_attempts`) // the pause of a minute is another test's
	must(t, s.RequestCode(t.Context(), sess, email, "account", "en-IN", "192.0.2.1"))
	return mustWrite(t, s, sess)
}

// mustWrite writes the letter of what the browser asked for.
func mustWrite(t testing.TB, s *Store, sess Session) (code string) {
	t.Helper()
	_, code, err := s.WriteCode(t.Context(), mustRead[int64](t, s, `SELECT id FROM sign_in_codes WHERE session_id = ?`, sess.ID))
	must(t, err)
	return code
}

// mustSignIn signs a browser in and returns its session as it is then.
func mustSignIn(t testing.TB, s *Store, sess Session, email string) (Session, string) {
	t.Helper()
	token, _, err := s.SignIn(t.Context(), sess, mustCode(t, s, sess, email), "192.0.2.1")
	must(t, err)
	in, err := s.FindSession(t.Context(), token)
	must(t, err)
	return in, token
}

// wrongCode is six digits that are not these.
func wrongCode(code string) string {
	if code == "000000" {
		return "000001"
	}
	return "000000"
}

func TestSignInCode(t *testing.T) {
	t.Parallel()
	s, ctx := openStore(t), t.Context()

	t.Run("six_digits_that_no_row_holds", func(t *testing.T) {
		sess, _ := mustGuest(t, s)
		code := mustCode(t, s, sess, "Asha@Example.in ")
		if !regexp.MustCompile(`^[0-9]{6}$`).MatchString(code) {
			t.Errorf("code %q", code)
		}
		rows := mustRead[string](t, s, `SELECT concat((SELECT string_agg(c::text, ' ') FROM sign_in_codes c), (SELECT string_agg(o::text, ' ') FROM outbox o), (SELECT string_agg(args::text, ' ') FROM river_job))`)
		hash := mustRead[string](t, s, `SELECT code_hash FROM sign_in_codes WHERE session_id = ?`, sess.ID)
		if !strings.HasPrefix(hash, "$argon2id$") || strings.Contains(strings.ReplaceAll(rows, hash, ""), code) {
			t.Errorf("the code is in the database: %s", rows)
		}
		if !strings.Contains(rows, "asha@example.in") || strings.Contains(rows, "Asha@") {
			t.Errorf("the address is not in small letters: %s", rows)
		}
		if n := mustRead[int](t, s, `SELECT count(*) FROM outbox WHERE kind = 'sign_in_code' AND order_id IS NULL AND status = 'queued'`); n != 1 {
			t.Errorf("%d letters", n)
		}
	})

	t.Run("a_second_letter_has_another_code_and_only_that_works", func(t *testing.T) {
		sess, _ := mustGuest(t, s)
		first := mustCode(t, s, sess, "second@example.in")
		next := mustWrite(t, s, sess)
		for first == next { // once in a million
			next = mustWrite(t, s, sess)
		}
		if _, _, err := s.SignIn(ctx, sess, first, "192.0.2.1"); !errors.Is(err, ErrWrongCode) {
			t.Errorf("the first: %v", err)
		}
		if _, _, err := s.SignIn(ctx, sess, next, "192.0.2.1"); err != nil {
			t.Errorf("the second: %v", err)
		}
	})

	t.Run("before_the_letter_nothing_fits", func(t *testing.T) {
		sess, _ := mustGuest(t, s)
		mustExec(t, s, `DELETE FROM login_attempts`)
		must(t, s.RequestCode(ctx, sess, "early@example.in", "account", "en-IN", "192.0.2.1"))
		for _, typed := range []string{"", "000000"} {
			if _, _, err := s.SignIn(ctx, sess, typed, "192.0.2.1"); !errors.Is(err, ErrWrongCode) {
				t.Errorf("%q: %v", typed, err)
			}
		}
	})

	t.Run("it_ends_after_ten_minutes", func(t *testing.T) {
		s := openStore(t)
		now, err := s.Now(ctx)
		must(t, err)
		stopClock(t, s, now)
		sess, _ := mustGuest(t, s)
		code := mustCode(t, s, sess, "asha@example.in")
		stopClock(t, s, now.Add(10*time.Minute))
		if _, _, err := s.SignIn(ctx, sess, code, "192.0.2.1"); !errors.Is(err, ErrCodeGone) {
			t.Errorf("at its end: %v", err)
		}
		if _, _, err := s.WriteCode(ctx, 1); !errors.Is(err, ErrNotFound) {
			t.Errorf("a letter after its end: %v", err)
		}
		stopClock(t, s, now.Add(10*time.Minute-time.Microsecond))
		if _, _, err := s.SignIn(ctx, sess, code, "192.0.2.1"); err != nil {
			t.Errorf("just before: %v", err)
		}
		stopClock(t, s, now.Add(25*time.Hour))
		if n, err := s.PurgeCodes(ctx); err != nil || n != 1 || mustRead[int](t, s, `SELECT count(*) FROM outbox`) != 0 {
			t.Errorf("purged %d, %v", n, err)
		}
	})

	t.Run("it_belongs_to_the_browser_that_asked", func(t *testing.T) {
		mine, _ := mustGuest(t, s)
		theirs, _ := mustGuest(t, s)
		code := mustCode(t, s, mine, "mine@example.in")
		if _, _, err := s.SignIn(ctx, theirs, code, "192.0.2.1"); !errors.Is(err, ErrCodeGone) {
			t.Errorf("another browser: %v", err)
		}
		if n := mustRead[int](t, s, `SELECT tries FROM sign_in_codes WHERE session_id = ?`, mine.ID); n != 0 {
			t.Errorf("another browser's guess counts: %d", n)
		}
	})

	// Twenty wrong codes at once: five are looked at, and then not even the right one opens anything.
	t.Run("twenty_wrong_codes_at_once_are_five_tries", func(t *testing.T) {
		sess, _ := mustGuest(t, s)
		code := mustCode(t, s, sess, "guess@example.in")
		var looked atomic.Int32
		for _, err := range together(20, func(int) error {
			_, _, err := s.SignIn(ctx, sess, wrongCode(code), "192.0.2.1")
			if errors.Is(err, ErrWrongCode) {
				looked.Add(1)
				return nil
			}
			if errors.Is(err, ErrCodeGone) {
				return nil
			}
			return fmt.Errorf("a wrong code: %w", err)
		}) {
			if err != nil {
				t.Error(err)
			}
		}
		if n := mustRead[int](t, s, `SELECT tries FROM sign_in_codes WHERE session_id = ?`, sess.ID); n != 5 || looked.Load() != 5 {
			t.Errorf("%d tries counted, %d looked at", n, looked.Load())
		}
		if _, _, err := s.SignIn(ctx, sess, code, "192.0.2.1"); !errors.Is(err, ErrCodeGone) {
			t.Errorf("the right code after five: %v", err)
		}
	})

	t.Run("the_database_refuses_a_sixth_try", func(t *testing.T) {
		if err := s.exec(ctx, `UPDATE sign_in_codes SET tries = 6`).Error; !isConstraint(err, "sign_in_codes_tries_check") {
			t.Errorf("%v", err)
		}
	})
}

func TestCodeLimits(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	ask := func(s *Store, sess Session, email, address string) error {
		return s.RequestCode(ctx, sess, email, "account", "en-IN", address)
	}
	t.Run("one_letter_a_minute_to_an_address_from_wherever", func(t *testing.T) {
		s := openStore(t)
		var sessions []Session
		for range 10 {
			sess, _ := mustGuest(t, s)
			sessions = append(sessions, sess)
		}
		refused := 0
		for _, err := range together(10, func(i int) error { return ask(s, sessions[i], "ASHA@example.in", fmt.Sprintf("192.0.2.%d", i)) }) {
			if errors.Is(err, ErrTooSoon) {
				refused++
			} else if err != nil {
				t.Error(err)
			}
		}
		if n := mustRead[int](t, s, `SELECT count(*) FROM outbox`); refused != 9 || n != 1 || mustRead[int](t, s, `SELECT count(*) FROM sign_in_codes`) != 1 {
			t.Errorf("%d refused, %d letters", refused, n)
		}
		if err := ask(s, sessions[0], "ravi@example.in", "192.0.2.1"); err != nil {
			t.Errorf("another address: %v", err)
		}
	})
	t.Run("five_an_hour_and_twenty_a_day", func(t *testing.T) {
		s := openStore(t)
		now, err := s.Now(ctx)
		must(t, err)
		sent := 0
		for minute := range 24*60 - 1 {
			if minute%61 > 6 {
				continue
			}
			stopClock(t, s, now.Add(time.Duration(minute)*time.Minute+time.Duration(minute)*time.Microsecond))
			sess, _ := mustGuest(t, s)
			if err := ask(s, sess, "asha@example.in", fmt.Sprint(minute)); err == nil {
				sent++
			} else if !errors.Is(err, ErrTooManyTries) {
				t.Fatal(err)
			}
			if minute == 6 && sent != 5 {
				t.Errorf("%d in the first hour", sent)
			}
		}
		if sent != 20 {
			t.Errorf("%d in a day", sent)
		}
		if _, err := s.PurgeLoginAttempts(ctx); err != nil || mustRead[int](t, s, `SELECT count(*) FROM login_attempts WHERE subject LIKE 'code-mail:%'`) != 20 {
			t.Errorf("the day's count is purged, %v", err)
		}
	})
	t.Run("five_of_a_browser_and_twenty_of_a_network", func(t *testing.T) {
		s := openStore(t)
		sess, _ := mustGuest(t, s)
		for n := range 6 {
			if err := ask(s, sess, fmt.Sprintf("a%d@example.in", n), "192.0.2.1"); (n < 5) != (err == nil) || n == 5 && !errors.Is(err, ErrTooManyTries) {
				t.Errorf("%d of a browser: %v", n+1, err)
			}
		}
		for n := range 16 {
			other, _ := mustGuest(t, s)
			if err := ask(s, other, fmt.Sprintf("b%d@example.in", n), "192.0.2.1"); (n < 15) != (err == nil) {
				t.Errorf("%d more of the network: %v", n+1, err)
			}
		}
		if n := mustRead[int](t, s, `SELECT count(*) FROM outbox`); n != 20 {
			t.Errorf("%d letters", n)
		}
	})
	t.Run("forty_guesses_of_a_network", func(t *testing.T) {
		s := openStore(t)
		sess, _ := mustGuest(t, s)
		for n := range 41 {
			if _, _, err := s.SignIn(ctx, sess, "000000", "192.0.2.1"); (n < 40) != errors.Is(err, ErrCodeGone) || n == 40 && !errors.Is(err, ErrTooManyTries) {
				t.Fatalf("guess %d: %v", n+1, err)
			}
		}
	})
	t.Run("not_signed_in_twice", func(t *testing.T) {
		s := openStore(t)
		sess, _ := mustGuest(t, s)
		in, _ := mustSignIn(t, s, sess, "asha@example.in")
		if err := ask(s, in, "ravi@example.in", "192.0.2.1"); !errors.Is(err, ErrSignedOut) {
			t.Errorf("%v", err)
		}
		for _, bad := range []string{"", "a", strings.Repeat("a", 255), "a\x00b@example.in"} {
			if err := ask(s, in, bad, "192.0.2.1"); !errors.Is(err, ErrBadInput) {
				t.Errorf("%q: %v", bad, err)
			}
		}
	})
}

// C059: the token is another one after signing in, and the old one opens nothing.
func TestSignIn(t *testing.T) {
	t.Parallel()

	t.Run("a_new_address_is_a_new_account_and_keeps_what_the_guest_had", func(t *testing.T) {
		s, ctx := openStore(t), t.Context()
		o := mustPending(t, s)
		sess := mustRead[Session](t, s, `SELECT `+sessionColumns+` FROM sessions`)
		cart, key := *sess.CartID, *sess.CheckoutKey
		before := mustRead[string](t, s, `SELECT (to_jsonb(o) - 'customer_id')::text FROM orders o`)
		in, token := mustSignIn(t, s, sess, "asha@example.in")
		if in.ID != sess.ID || *in.CustomerID != o.CustomerID || in.Email != "asha@example.in" || *in.CartID != cart || *in.CheckoutKey != key || token == "" {
			t.Errorf("session %+v", in)
		}
		account, err := s.FindAccount(ctx, in)
		if err != nil || account.Email != "asha@example.in" || account.AccountAt.IsZero() {
			t.Errorf("account %+v, %v", account, err)
		}
		if after := mustRead[string](t, s, `SELECT (to_jsonb(o) - 'customer_id')::text FROM orders o`); after != before {
			t.Errorf("the order was %s, is %s", before, after)
		}
		if n := mustRead[int](t, s, `SELECT (SELECT count(*) FROM sign_in_codes) + (SELECT count(*) FROM login_attempts WHERE subject LIKE 'guess%')`); n != 0 {
			t.Errorf("%d codes and guesses are left", n)
		}
		mustUnbroken(t, s)
	})

	t.Run("C059_the_old_token_is_dead", func(t *testing.T) {
		s, ctx := openStore(t), t.Context()
		sess, old := mustGuest(t, s)
		_, token := mustSignIn(t, s, sess, "asha@example.in")
		if _, err := s.FindSession(ctx, old); !errors.Is(err, ErrSignedOut) || token == old {
			t.Errorf("the old token: %v", err)
		}
	})

	t.Run("a_known_address_gets_the_guests_order_and_nothing_of_it_changes", func(t *testing.T) {
		s, ctx := openStore(t), t.Context()
		first, _ := mustGuest(t, s)
		home, _ := mustSignIn(t, s, first, "asha@example.in")
		o := mustPending(t, s)
		sess := mustRead[Session](t, s, `SELECT `+sessionColumns+` FROM sessions WHERE customer_id = ?`, o.CustomerID)
		before := mustRead[string](t, s, `SELECT (to_jsonb(o) - 'customer_id')::text FROM orders o`)
		in, _ := mustSignIn(t, s, sess, "ASHA@example.in")
		if *in.CustomerID != *home.CustomerID {
			t.Fatalf("signed in as %d, the account is %d", *in.CustomerID, *home.CustomerID)
		}
		if after := mustRead[string](t, s, `SELECT (to_jsonb(o) - 'customer_id')::text FROM orders o`); after != before {
			t.Errorf("the order was %s, is %s", before, after)
		}
		// The unpaid order is found by its key, and its cart is the browser's: Pay again is still this order.
		same, err := s.FindOrderByKey(ctx, *in.CustomerID, o.CheckoutKey)
		if err != nil || same.ID != o.ID || in.CheckoutKey == nil || *in.CheckoutKey != o.CheckoutKey || *in.CartID != o.CartID {
			t.Errorf("order %d, session %+v, %v", same.ID, in, err)
		}
		if n := mustRead[int](t, s, `SELECT count(*) FROM customers WHERE id = ?`, o.CustomerID); n != 0 {
			t.Error("the guest is left")
		}
		if n := mustRead[int](t, s, `SELECT count(*) FROM carts WHERE customer_id <> ?`, *home.CustomerID); n != 0 {
			t.Error("a cart is left with the guest")
		}
		mustUnbroken(t, s)
	})

	t.Run("a_right_code_in_two_tabs_at_once_wins_once", func(t *testing.T) {
		s, ctx := openStore(t), t.Context()
		sess, _ := mustGuest(t, s)
		code := mustCode(t, s, sess, "asha@example.in")
		var won, gone atomic.Int32
		for _, err := range together(4, func(int) error {
			_, _, err := s.SignIn(ctx, sess, code, "192.0.2.1")
			switch {
			case err == nil:
				won.Add(1)
			case errors.Is(err, ErrCodeGone), errors.Is(err, ErrSignedOut):
				gone.Add(1)
			default:
				return err
			}
			return nil
		}) {
			if err != nil {
				t.Error(err)
			}
		}
		if won.Load() != 1 || gone.Load() != 3 || mustRead[int](t, s, `SELECT count(*) FROM customers WHERE account_at IS NOT NULL`) != 1 {
			t.Errorf("%d won, %d were late", won.Load(), gone.Load())
		}
	})

	t.Run("two_browsers_at_once_have_one_account", func(t *testing.T) {
		s, ctx := openStore(t), t.Context()
		var sessions [4]Session
		var codes [4]string
		for i := range sessions {
			sessions[i], _ = mustGuest(t, s)
			codes[i] = mustCode(t, s, sessions[i], "asha@example.in")
		}
		for _, err := range together(len(sessions), func(i int) error {
			_, _, err := s.SignIn(ctx, sessions[i], codes[i], "192.0.2.1")
			return err
		}) {
			if err != nil {
				t.Error(err)
			}
		}
		if n := mustRead[int](t, s, `SELECT count(*) FROM customers`); n != 1 || mustRead[int](t, s, `SELECT count(DISTINCT customer_id) FROM sessions`) != 1 {
			t.Errorf("%d customers", n)
		}
	})
}

// C038. The rule: the browser's lines stay as they are, lines it has not are added, and what was added is not left anywhere to be added again.
func TestSignInMergesCarts(t *testing.T) {
	t.Parallel()
	t.Run("C038_nothing_lost_nothing_twice", func(t *testing.T) {
		s := mustShop(t)
		ctx := t.Context()
		sess, _ := mustGuest(t, s.Store)
		home, _ := mustSignIn(t, s.Store, sess, "asha@example.in")
		kept, err := s.EnsureCart(ctx, home, s.outlet)
		must(t, err)
		s.mustBuy(t, kept, s.dosa, nil, 1)
		s.mustBuy(t, kept, s.burger, []int64{s.cheese}, 1)
		must(t, s.EndSession(ctx, home.ID))
		if n := mustRead[int](t, s.Store, `SELECT count(*) FROM cart_lines`); n != 2 {
			t.Fatalf("%d lines wait for the account", n)
		}

		guest, _ := mustGuest(t, s.Store)
		cart, err := s.EnsureCart(ctx, guest, s.outlet)
		must(t, err)
		s.mustBuy(t, cart, s.dosa, nil, 3)
		_, err = s.EnsureCheckoutKey(ctx, guest.ID)
		must(t, err)
		in, _ := mustSignIn(t, s.Store, guest, "asha@example.in")
		want := fmt.Sprintf("3×%d[] 1×%d[%d]", s.dosa, s.burger, s.cheese)
		merged, lines := s.mustSee(t, in)
		if lines != want || merged.ID != cart.ID || merged.CustomerID != *in.CustomerID || in.CheckoutKey != nil || merged.Version <= cart.Version {
			t.Errorf("%s in %+v, wanted %s; key %v", lines, merged, want, in.CheckoutKey)
		}
		if n := mustRead[int](t, s.Store, `SELECT count(*) FROM carts`); n != 1 {
			t.Errorf("%d carts are left", n)
		}

		// Signing out and in again, and from another browser, adds nothing.
		must(t, s.EndSession(ctx, in.ID))
		for range 2 {
			again, _ := mustGuest(t, s.Store)
			in, _ = mustSignIn(t, s.Store, again, "asha@example.in")
			if _, lines := s.mustSee(t, in); lines != want && lines != "" {
				t.Errorf("again: %s", lines)
			}
		}
		if n := mustRead[int](t, s.Store, `SELECT sum(qty) FROM cart_lines`); n != 4 {
			t.Errorf("%d pieces", n)
		}
	})

	t.Run("C038_from_two_browsers_at_once", func(t *testing.T) {
		s := mustShop(t)
		ctx := t.Context()
		sess, _ := mustGuest(t, s.Store)
		home, _ := mustSignIn(t, s.Store, sess, "asha@example.in")
		kept, err := s.EnsureCart(ctx, home, s.outlet)
		must(t, err)
		s.mustBuy(t, kept, s.burger, nil, 2)
		must(t, s.EndSession(ctx, home.ID))
		var browsers [2]Session
		var codes [2]string
		for i := range browsers {
			browsers[i], _ = mustGuest(t, s.Store)
			cart, err := s.EnsureCart(ctx, browsers[i], s.outlet)
			must(t, err)
			s.mustBuy(t, cart, s.dosa, nil, 1)
			codes[i] = mustCode(t, s.Store, browsers[i], "asha@example.in")
		}
		for _, err := range together(2, func(i int) error {
			_, _, err := s.SignIn(ctx, browsers[i], codes[i], "192.0.2.1")
			return err
		}) {
			must(t, err)
		}
		if n := mustRead[string](t, s.Store, `SELECT string_agg(item_id || ':' || qty, ' ' ORDER BY item_id, id) FROM cart_lines`); n != fmt.Sprintf("%d:1 %d:1 %d:2", s.dosa, s.dosa, s.burger) {
			t.Errorf("lines %s", n)
		}
	})

	t.Run("an_empty_browser_takes_the_accounts_cart", func(t *testing.T) {
		s := mustShop(t)
		ctx := t.Context()
		sess, _ := mustGuest(t, s.Store)
		home, _ := mustSignIn(t, s.Store, sess, "asha@example.in")
		kept, err := s.EnsureCart(ctx, home, s.outlet)
		must(t, err)
		s.mustBuy(t, kept, s.burger, nil, 2)
		must(t, s.EndSession(ctx, home.ID))
		guest, _ := mustGuest(t, s.Store)
		_, err = s.EnsureCart(ctx, guest, s.outlet) // an empty one
		must(t, err)
		in, _ := mustSignIn(t, s.Store, guest, "asha@example.in")
		if cart, lines := s.mustSee(t, in); cart.ID != kept.ID || lines != fmt.Sprintf("2×%d[]", s.burger) {
			t.Errorf("%s in %+v", lines, cart)
		}
		if n := mustRead[int](t, s.Store, `SELECT count(*) FROM carts`); n != 1 {
			t.Errorf("%d carts", n)
		}
	})

	t.Run("another_kitchens_cart_waits", func(t *testing.T) {
		s := mustShop(t)
		ctx := t.Context()
		there := mustOutlet(t, s.Store, "there")
		idli := mustItem(t, s.Store, there, "idli", 4000)
		sess, _ := mustGuest(t, s.Store)
		home, _ := mustSignIn(t, s.Store, sess, "asha@example.in")
		kept, err := s.EnsureCart(ctx, home, there)
		must(t, err)
		s.mustBuy(t, kept, idli, nil, 2)
		must(t, s.EndSession(ctx, home.ID))
		guest, _ := mustGuest(t, s.Store)
		cart, err := s.EnsureCart(ctx, guest, s.outlet)
		must(t, err)
		s.mustBuy(t, cart, s.dosa, nil, 1)
		key, err := s.EnsureCheckoutKey(ctx, guest.ID)
		must(t, err)
		in, _ := mustSignIn(t, s.Store, guest, "asha@example.in")
		if _, lines := s.mustSee(t, in); lines != fmt.Sprintf("1×%d[]", s.dosa) || in.CheckoutKey == nil || *in.CheckoutKey != key {
			t.Errorf("%s, key %v", lines, in.CheckoutKey)
		}
		if n := mustRead[int](t, s.Store, `SELECT qty FROM cart_lines WHERE cart_id = ?`, kept.ID); n != 2 {
			t.Errorf("%d wait there", n)
		}
		must(t, s.EndSession(ctx, in.ID))
		mustExec(t, s.Store, `UPDATE carts SET updated_at = updated_at - interval '61 days' WHERE id = ?`, kept.ID)
		if n, err := s.PurgeCarts(ctx); err != nil || n != 1 {
			t.Errorf("purged %d, %v", n, err)
		}
	})

	t.Run("what_fits_no_more_stays", func(t *testing.T) {
		s := mustShop(t)
		ctx := t.Context()
		sess, _ := mustGuest(t, s.Store)
		home, _ := mustSignIn(t, s.Store, sess, "asha@example.in")
		kept, err := s.EnsureCart(ctx, home, s.outlet)
		must(t, err)
		s.mustBuy(t, kept, s.dosa, nil, 1)
		s.mustBuy(t, kept, s.burger, nil, 1)
		must(t, s.EndSession(ctx, home.ID))
		guest, _ := mustGuest(t, s.Store)
		cart, err := s.EnsureCart(ctx, guest, s.outlet)
		must(t, err)
		for n := range MaxLines - 1 {
			item := mustItem(t, s.Store, s.outlet, fmt.Sprintf("dish-%d", n), 100)
			mustExec(t, s.Store, `INSERT INTO cart_lines (cart_id, outlet_id, item_id, qty, seen_paise) VALUES (?, ?, ?, 1, 100)`, cart.ID, s.outlet, item)
		}
		in, _ := mustSignIn(t, s.Store, guest, "asha@example.in")
		if merged, _ := s.mustSee(t, in); len(merged.Lines) != MaxLines || mustRead[int](t, s.Store, `SELECT count(*) FROM cart_lines WHERE cart_id = ?`, kept.ID) != 1 {
			t.Errorf("%d lines", len(merged.Lines))
		}
	})
}

// Signing in while the same browser places an order: whoever comes second sees the first, and no order is left with a guest nobody is.
func TestSignInRacesWithPlacing(t *testing.T) {
	t.Parallel()
	for _, first := range []string{"placing", "signing in", "at once"} {
		t.Run(strings.ReplaceAll(first, " ", "_"), func(t *testing.T) {
			t.Parallel()
			s, ctx := openStore(t), t.Context()
			old, _ := mustGuest(t, s)
			home, _ := mustSignIn(t, s, old, "asha@example.in")
			again := mustOrderAgain(t, s)
			code := mustCode(t, s, again.sess, "asha@example.in")
			var placed, signed error
			signIn := func() { _, _, signed = s.SignIn(ctx, again.sess, code, "192.0.2.1") }
			place := func() { placed = again.place() }
			switch first {
			case "placing":
				place()
				signIn()
			case "signing in":
				signIn()
				place()
			default:
				together(2, func(i int) error {
					if i == 0 {
						signIn()
					} else {
						place()
					}
					return nil
				})
			}
			must(t, signed)
			orders := mustRead[int](t, s, `SELECT count(*) FROM orders`)
			if placed != nil && !errors.Is(placed, ErrKeyReused) || first == "placing" && placed != nil || first == "signing in" && placed == nil {
				t.Errorf("placing: %v", placed)
			}
			if want := map[bool]int{true: 1, false: 0}[placed == nil]; orders != want {
				t.Errorf("%d orders, wanted %d", orders, want)
			}
			if n := mustRead[int](t, s, `SELECT count(*) FROM orders WHERE customer_id <> ?`, *home.CustomerID); n != 0 {
				t.Errorf("%d orders are left with a guest", n)
			}
			if n := mustRead[int](t, s, `SELECT count(*) FROM customers WHERE account_at IS NULL`); n != 0 {
				t.Errorf("%d guests are left", n)
			}
			mustUnbroken(t, s)
		})
	}
}

// placing is a guest's cart, ready to be placed any number of times.
type placing struct {
	sess  Session
	place func() error
}

func mustOrderAgain(t testing.TB, s *Store) placing {
	t.Helper()
	ctx := t.Context()
	outletID := mustOutlet(t, s, "race-house")
	itemID := mustItem(t, s, outletID, "thali", 10000)
	sess, cart := mustCart(t, s, outletID)
	_, err := s.AddToCart(ctx, cart.ID, itemID, nil, 2, "")
	must(t, err)
	key, err := s.EnsureCheckoutKey(ctx, sess.ID)
	must(t, err)
	outlet, err := s.FindOutlet(ctx, outletID)
	must(t, err)
	now, err := s.Now(ctx)
	must(t, err)
	version := mustRead[int64](t, s, `SELECT version FROM carts WHERE id = ?`, cart.ID)
	return placing{sess, func() error {
		return s.InTx(ctx, func(tx *Store) error {
			slot, err := tx.EnsureSlot(ctx, outlet, Window{ServiceOn: time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC), OpensAt: now.Add(-time.Hour), LastOrderAt: now.Add(time.Hour), ClosesAt: now.Add(2 * time.Hour)})
			if err != nil {
				return err
			}
			o := Order{PublicID: "traceraceraceraceracerace0000001", Token: "RACERACERACERACERACERACE01", ServiceOn: slot.ServiceOn, OutletID: outletID, SlotID: slot.ID,
				CartID: cart.ID, CustomerID: *sess.CustomerID, CheckoutKey: key, CheckoutHash: make([]byte, 32), Mode: "test", Way: "pickup", TaxMode: "regular",
				SubtotalPaise: 20000, CGSTPaise: 500, SGSTPaise: 500, AmountPaise: 21000, Name: "Asha", Phone: "+919845012345", OutletName: outlet.Name, PrepMinutes: 20,
				Items: []OrderItem{{ItemID: itemID, Name: "Thali", Mark: "veg", Art: "dish", Tint: "curry", TaxClass: "restaurant", UnitPricePaise: 10000, Qty: 2, LineTotalPaise: 20000}},
				Taxes: []OrderTax{{TaxClass: "restaurant", TaxablePaise: 20000, CGSTBP: 250, SGSTBP: 250, CGSTPaise: 500, SGSTPaise: 500}}}
			_, err = tx.CreateOrder(ctx, &o, 15*time.Minute, sess.ID, version)
			return err
		})
	}}
}

// What only the program could get wrong the database refuses: an order moves once, from a guest to an account, and only that changes.
func TestOrdersMoveFromGuestToAccountOnly(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	o, _ := mustKept(t, s)
	guest, _ := mustGuest(t, s)
	a, _ := mustGuest(t, s)
	b, _ := mustGuest(t, s)
	mine, _ := mustSignIn(t, s, a, "asha@example.in")
	theirs, _ := mustSignIn(t, s, b, "ravi@example.in")
	for name, sql := range map[string]string{
		"to another guest":        fmt.Sprintf(`UPDATE orders SET customer_id = %d`, *guest.CustomerID),
		"with another amount":     fmt.Sprintf(`UPDATE orders SET customer_id = %d, tip_paise = 100, amount_paise = amount_paise + 100`, *mine.CustomerID),
		"with another telephone":  fmt.Sprintf(`UPDATE orders SET customer_id = %d, phone = '+919845012346'`, *mine.CustomerID),
		"blanked with money open": `UPDATE orders SET blanked_at = shop_now(), name = 'Deleted customer', phone = '', email = '', amount_paise = 1`,
		"blanked in part":         `UPDATE orders SET blanked_at = shop_now(), name = 'Deleted customer', phone = ''`,
		"a note without blanking": `UPDATE order_items SET note = ''`,
	} {
		if err := s.exec(t.Context(), sql).Error; !isCheck(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	mustExec(t, s, `UPDATE orders SET customer_id = ?`, *mine.CustomerID)
	for name, to := range map[string]int64{"to another account": *theirs.CustomerID, "back to the guest": o.CustomerID} {
		if err := s.exec(t.Context(), `UPDATE orders SET customer_id = ?`, to).Error; !isCheck(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, sql := range map[string]string{"an account becomes a guest": `UPDATE customers SET account_at = NULL WHERE account_at IS NOT NULL`, "two accounts of one address": `UPDATE customers SET email = 'x@example.in' WHERE account_at IS NOT NULL`} {
		if err := s.exec(t.Context(), sql).Error; err == nil {
			t.Errorf("%s is allowed", name)
		}
	}
}

func TestSignOut(t *testing.T) {
	t.Parallel()
	s, ctx := openStore(t), t.Context()
	var tokens []string
	for range 3 {
		sess, _ := mustGuest(t, s)
		_, token := mustSignIn(t, s, sess, "asha@example.in")
		tokens = append(tokens, token)
	}
	sess, _ := mustGuest(t, s)
	theirs, other := mustSignIn(t, s, sess, "ravi@example.in")
	one, err := s.FindSession(ctx, tokens[0])
	must(t, err)
	must(t, s.EndSession(ctx, one.ID))
	if _, err := s.FindSession(ctx, tokens[0]); !errors.Is(err, ErrSignedOut) {
		t.Errorf("after signing out: %v", err)
	}
	if _, err := s.FindSession(ctx, tokens[1]); err != nil {
		t.Errorf("another browser: %v", err)
	}
	must(t, s.EndSessionsOf(ctx, *one.CustomerID))
	for _, token := range tokens {
		if _, err := s.FindSession(ctx, token); !errors.Is(err, ErrSignedOut) {
			t.Errorf("after signing out everywhere: %v", err)
		}
	}
	if still, err := s.FindSession(ctx, other); err != nil || still.Email != theirs.Email {
		t.Errorf("another account: %v", err)
	}
	if n := mustRead[int](t, s, `SELECT count(*) FROM customers WHERE account_at IS NOT NULL`); n != 2 {
		t.Errorf("%d accounts", n)
	}
	// A browser that is signed in and has nothing is not a passer-by: it stays for its 60 days.
	setClock(t, s, 30*24*time.Hour)
	if _, err := s.PurgeSessions(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := s.FindSession(ctx, other); err != nil {
		t.Errorf("after a month: %v", err)
	}
}

// mustHandOver takes a paid order through the kitchen.
func mustHandOver(t testing.TB, s *Store, orderID int64) {
	t.Helper()
	cook := mustStaff(t, s, 0, "cook")
	for status := "queued"; status != "handed_over"; status = FulfilmentNext(status) {
		_, err := s.MoveFulfilment(t.Context(), orderID, status, FulfilmentNext(status), cook)
		must(t, err)
	}
}

// F32, india.md 5.3: money rows stay, the person is blanked.
func TestDeleteAccount(t *testing.T) {
	t.Parallel()
	s, ctx := openStore(t), t.Context()
	o, _ := mustKept(t, s)
	sess := mustRead[Session](t, s, `SELECT `+sessionColumns+` FROM sessions WHERE customer_id = ?`, o.CustomerID)
	in, token := mustSignIn(t, s, sess, "asha@example.in")
	_, err := s.SaveAddress(ctx, Address{CustomerID: *in.CustomerID, Label: "Home", Line1: "Flat 12", PIN: "560038"})
	must(t, err)

	if err := s.DeleteAccount(ctx, *in.CustomerID); !errors.Is(err, ErrStillOpen) {
		t.Fatalf("while the kitchen cooks: %v", err)
	}
	if n := mustRead[int](t, s, `SELECT count(*) FROM orders WHERE name = 'Asha' AND blanked_at IS NULL`); n != 1 {
		t.Fatal("something was blanked all the same")
	}
	mustHandOver(t, s, o.ID)
	c := mustComplain(t, s, o, ComplaintMissing, "No raita for Asha")
	if err := s.DeleteAccount(ctx, *in.CustomerID); !errors.Is(err, ErrStillOpen) {
		t.Fatalf("while a complaint is open: %v", err)
	}
	must(t, s.ResolveComplaint(ctx, c.ID, mustStaff(t, s, o.OutletID, "asha"), OutcomeExplained, "It was under the rice, Asha", NewFormKey(), c.LastID()))
	_, err = s.WriteReview(ctx, o, 2, "Call Asha on 9845012345")
	must(t, err)
	data, err := s.ExportAccount(ctx, *in.CustomerID)
	must(t, err)
	for _, said := range []string{"No raita for Asha", "It was under the rice", "Call Asha on"} {
		if !strings.Contains(string(data), said) {
			t.Errorf("the export lacks %q", said)
		}
	}
	const money = `SELECT concat((SELECT (to_jsonb(o) - '{name,phone,email,line1,line2,pin,directions,note,blanked_at}'::text[])::text FROM orders o), (SELECT string_agg(p::text, ' ') FROM payments p),
		(SELECT string_agg(e::text, ' ' ORDER BY e::text) FROM ledger_entries e), (SELECT string_agg(q::text, ' ' ORDER BY id) FROM papers q), (SELECT string_agg((to_jsonb(i) - 'note')::text, ' ') FROM order_items i))`
	before := mustRead[string](t, s, money)
	mustExec(t, s, `INSERT INTO push_subscriptions (order_id, endpoint, p256dh, auth) SELECT id, 'https://push.example/asha', repeat('B', 87), repeat('A', 22) FROM orders`)
	must(t, s.DeleteAccount(ctx, *in.CustomerID))
	if after := mustRead[string](t, s, money); after != before {
		t.Errorf("money was\n%s\nis\n%s", before, after)
	}
	rows := mustRead[string](t, s, `SELECT concat((SELECT string_agg(x::text, ' ') FROM orders x), (SELECT string_agg(x::text, ' ') FROM order_items x), (SELECT string_agg(x::text, ' ') FROM customers x),
		(SELECT string_agg(x::text, ' ') FROM customer_addresses x), (SELECT string_agg(x::text, ' ') FROM sign_in_codes x), (SELECT string_agg(x::text, ' ') FROM coupon_uses x), (SELECT string_agg(x::text, ' ') FROM outbox x), (SELECT string_agg(x::text, ' ') FROM complaint_messages x), (SELECT string_agg(x::text, ' ') FROM reviews x))`)
	for _, personal := range []string{"Asha", "9845012345", "asha@example.in", "Flat 12"} {
		if strings.Contains(rows, personal) {
			t.Errorf("%s is still in %s", personal, rows)
		}
	}
	if n := mustRead[int](t, s, `SELECT count(*) FROM push_subscriptions`); n != 0 {
		t.Error("a browser is still told of the order")
	}
	if _, err := s.FindSession(ctx, token); !errors.Is(err, ErrSignedOut) {
		t.Errorf("the session: %v", err)
	}
	if err := s.DeleteAccount(ctx, *in.CustomerID); !errors.Is(err, ErrSignedOut) {
		t.Errorf("once more: %v", err)
	}
	fresh, _ := mustGuest(t, s)
	again, _ := mustSignIn(t, s, fresh, "asha@example.in")
	if orders, err := s.ListOrdersFrom(ctx, *again.CustomerID, 0, 10); err != nil || len(orders) != 0 || *again.CustomerID == *in.CustomerID {
		t.Errorf("the new account %d has %d orders, %v", *again.CustomerID, len(orders), err)
	}
	mustUnbroken(t, s)

	// An account without orders leaves nothing.
	must(t, s.DeleteAccount(ctx, *again.CustomerID))
	if n := mustRead[int](t, s, `SELECT count(*) FROM customers WHERE id = ?`, *again.CustomerID); n != 0 {
		t.Error("the account is left")
	}
}

// Everything we hold about the person, and nothing that opens anything.
func TestExportAccount(t *testing.T) {
	t.Parallel()
	s, ctx := openStore(t), t.Context()
	o, p := mustKept(t, s)
	sess := mustRead[Session](t, s, `SELECT `+sessionColumns+` FROM sessions WHERE customer_id = ?`, o.CustomerID)
	in, token := mustSignIn(t, s, sess, "asha@example.in")
	_, err := s.SaveAddress(ctx, Address{CustomerID: *in.CustomerID, Label: "Home", Line1: "Flat 12", PIN: "560038"})
	must(t, err)
	data, err := s.ExportAccount(ctx, *in.CustomerID)
	must(t, err)
	var read struct {
		Account   struct{ Email string }
		Addresses []struct{ Line1 string }
		Orders    []struct {
			Number      int
			AmountPaise int64 `json:"amount_paise"`
			Name, Phone string
			Items       []struct{ Name string }
			Payments    []struct {
				RazorpayPaymentID string `json:"razorpay_payment_id"`
			}
			Letters []struct{ Kind string }
			Papers  []struct{ Number string }
		}
		Carts    []struct{ Coupon string }
		SignedIn []struct{ Until time.Time } `json:"signed_in"`
	}
	must(t, json.Unmarshal(data, &read))
	if read.Account.Email != "asha@example.in" || len(read.Addresses) != 1 || len(read.Orders) != 1 || read.Orders[0].AmountPaise != 21000 || read.Orders[0].Phone != "+919845012345" ||
		len(read.Orders[0].Items) != 1 || len(read.Orders[0].Payments) != 1 || read.Orders[0].Payments[0].RazorpayPaymentID != *p.RazorpayPaymentID || len(read.Orders[0].Letters) != 1 ||
		len(read.Orders[0].Papers) != 1 || len(read.Carts) != 1 || len(read.SignedIn) != 1 {
		t.Errorf("%s", data)
	}
	for _, secret := range []string{token, o.Token, o.PublicID, o.CheckoutKey} {
		if strings.Contains(string(data), secret) {
			t.Errorf("%s is in it", secret)
		}
	}
	guest, _ := mustGuest(t, s)
	if _, err := s.ExportAccount(ctx, *guest.CustomerID); !errors.Is(err, ErrSignedOut) {
		t.Errorf("a guest's: %v", err)
	}
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	s, ctx := openStore(t), t.Context()
	a, _ := mustGuest(t, s)
	b, _ := mustGuest(t, s)
	in, _ := mustSignIn(t, s, a, "asha@example.in")
	theirs, _ := mustSignIn(t, s, b, "ravi@example.in")
	me := *in.CustomerID
	list := func() string {
		t.Helper()
		addresses, err := s.ListAddresses(ctx, me)
		must(t, err)
		var said []string
		for _, a := range addresses {
			text := a.Label + "/" + a.Line1
			if a.IsDefault {
				text += "*"
			}
			said = append(said, text)
		}
		return strings.Join(said, " ")
	}
	home, err := s.SaveAddress(ctx, Address{CustomerID: me, Label: "Home", Line1: "Flat 12", PIN: "560038"})
	must(t, err)
	work, err := s.SaveAddress(ctx, Address{CustomerID: me, Label: "Work", Line1: "Tower 4", PIN: "560008"})
	must(t, err)
	again, err := s.SaveAddress(ctx, Address{CustomerID: me, Line1: "Flat 12", PIN: "560038", Directions: "Ring twice"})
	must(t, err)
	if again.ID != home.ID || again.Directions != "Ring twice" || list() != "Home/Flat 12* Work/Tower 4" {
		t.Errorf("the same place again: %+v, %s", again, list())
	}
	must(t, s.ChooseAddress(ctx, me, work.ID))
	if got := list(); got != "Work/Tower 4* Home/Flat 12" {
		t.Error(got)
	}
	for _, err := range []error{s.ChooseAddress(ctx, *theirs.CustomerID, home.ID), s.ChangeAddress(ctx, Address{ID: home.ID, CustomerID: *theirs.CustomerID, Line1: "x", PIN: "560038"})} {
		if !errors.Is(err, ErrNotFound) {
			t.Errorf("somebody else's: %v", err)
		}
	}
	must(t, s.DropAddress(ctx, *theirs.CustomerID, home.ID))
	must(t, s.ChangeAddress(ctx, Address{ID: home.ID, CustomerID: me, Label: "Office", Line1: "Tower 4", PIN: "560008"}))
	if got := list(); got != "Office/Tower 4*" {
		t.Errorf("two that become one: %s", got)
	}
	must(t, s.DropAddress(ctx, me, home.ID))
	must(t, s.DropAddress(ctx, me, home.ID))
	if got := list(); got != "" {
		t.Error(got)
	}
	for _, bad := range []Address{{Line1: "", PIN: "560038"}, {Line1: "x", PIN: "060038"}, {Line1: strings.Repeat("x", 121), PIN: "560038"}} {
		bad.CustomerID = me
		if _, err := s.SaveAddress(ctx, bad); !errors.Is(err, ErrBadInput) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	guest, _ := mustGuest(t, s)
	if _, err := s.SaveAddress(ctx, Address{CustomerID: *guest.CustomerID, Line1: "x", PIN: "560038"}); !errors.Is(err, ErrSignedOut) {
		t.Errorf("a guest's: %v", err)
	}
	saved := atomic.Int32{}
	for _, err := range together(25, func(i int) error {
		_, err := s.SaveAddress(ctx, Address{CustomerID: me, Line1: fmt.Sprintf("Flat %d", i), PIN: "560038"})
		if err == nil {
			saved.Add(1)
		} else if !errors.Is(err, ErrTooManyPlaces) {
			return err
		}
		return nil
	}) {
		must(t, err)
	}
	if n := mustRead[int](t, s, `SELECT count(*) FROM customer_addresses WHERE customer_id = ?`, me); saved.Load() != 20 || n != 20 || mustRead[int](t, s, `SELECT count(*) FROM customer_addresses WHERE is_default`) != 1 {
		t.Errorf("%d saved, %d rows", saved.Load(), n)
	}
}
