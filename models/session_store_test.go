package models

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestGuestSession(t *testing.T) {
	t.Parallel()
	s, ctx := openStore(t), t.Context()

	t.Run("the_token_opens_it_and_is_not_stored", func(t *testing.T) {
		token, sess, err := s.CreateGuestSession(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if !regexp.MustCompile(`^[A-Z2-7]{26}$`).MatchString(token) { // 26 × 5 bits
			t.Errorf("token %q", token)
		}
		sum := sha256.Sum256([]byte(token))
		if sess.ID == 0 || sess.CustomerID == nil || sess.StaffID != nil || sess.CartID != nil || sess.CheckoutKey != nil || !bytes.Equal(sess.TokenHash, sum[:]) {
			t.Errorf("session %+v", sess)
		}
		found, err := s.FindSession(ctx, token)
		if err != nil || found.ID != sess.ID || *found.CustomerID != *sess.CustomerID {
			t.Errorf("found %+v, %v", found, err)
		}
		now, err := s.Now(ctx)
		if left := found.ExpiresAt.Sub(now); err != nil || left > 60*24*time.Hour || left < 60*24*time.Hour-time.Hour {
			t.Errorf("it lasts %s, %v", left, err)
		}
		rows := mustRead[string](t, s, `SELECT concat((SELECT string_agg(x::text, ' ') FROM sessions x), (SELECT string_agg(c::text, ' ') FROM customers c))`)
		if strings.Contains(rows, token) {
			t.Error("the token is in the database")
		}
	})

	t.Run("each_visitor_is_another", func(t *testing.T) {
		tokens, customers := map[string]bool{}, map[int64]bool{}
		for range 50 {
			token, sess, err := s.CreateGuestSession(ctx)
			if err != nil {
				t.Fatal(err)
			}
			tokens[token], customers[*sess.CustomerID] = true, true
		}
		if len(tokens) != 50 || len(customers) != 50 {
			t.Errorf("%d tokens, %d customers", len(tokens), len(customers))
		}
	})

	t.Run("what_is_no_token_opens_nothing", func(t *testing.T) {
		token, sess, err := s.CreateGuestSession(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, wrong := range []string{"", "attacker-chosen-1", strings.ToLower(token), token + "=", token[:25], string(sess.TokenHash), "\x00", "\xf9\x28", strings.Repeat("A", 1<<20)} {
			if _, err := s.FindSession(ctx, wrong); !errors.Is(err, ErrSignedOut) {
				t.Errorf("%.30q: %v", wrong, err)
			}
		}
	})

	t.Run("it_ends_by_the_databases_clock", func(t *testing.T) {
		s := openStore(t)
		token, sess, err := s.CreateGuestSession(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if stopClock(t, s, sess.ExpiresAt.Add(-time.Microsecond)); err != nil {
			t.Fatal(err)
		}
		if _, err := s.FindSession(ctx, token); err != nil {
			t.Errorf("just before: %v", err)
		}
		stopClock(t, s, sess.ExpiresAt)
		if _, err := s.FindSession(ctx, token); !errors.Is(err, ErrSignedOut) {
			t.Errorf("at its end: %v", err)
		}
		if _, err := s.EnsureCheckoutKey(ctx, sess.ID); !errors.Is(err, ErrSignedOut) {
			t.Errorf("a key after its end: %v", err)
		}
		setClock(t, s, -time.Hour)
		if _, err := s.FindSession(ctx, token); err != nil {
			t.Errorf("an hour ago: %v", err)
		}
	})
}

func TestCheckoutKey(t *testing.T) {
	t.Parallel()
	s, ctx := openStore(t), t.Context()
	sess := mustVisit(t, s)

	t.Run("a_hundred_who_ask_at_once_agree", func(t *testing.T) {
		for range 3 {
			keys := make([]string, 100)
			for _, err := range together(len(keys), func(i int) (err error) {
				keys[i], err = s.EnsureCheckoutKey(ctx, sess.ID)
				return err
			}) {
				if err != nil {
					t.Fatal(err)
				}
			}
			for _, key := range keys {
				if key != keys[0] || !regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`).MatchString(key) {
					t.Fatalf("key %q, another got %q", key, keys[0])
				}
			}
			if err := s.ClearCheckoutKey(ctx, sess.ID, keys[0]); err != nil {
				t.Fatal(err)
			}
			if next, err := s.EnsureCheckoutKey(ctx, sess.ID); err != nil || next == keys[0] {
				t.Errorf("after clearing: %s, %v", next, err)
			}
		}
	})

	t.Run("only_the_key_itself_is_cleared", func(t *testing.T) {
		key, err := s.EnsureCheckoutKey(ctx, sess.ID)
		if err != nil {
			t.Fatal(err)
		}
		other := mustVisit(t, s)
		for _, wrong := range []string{"", "x", "\x00", "\xf9\x28", "00000000-0000-0000-0000-000000000000", key + " "} {
			if err := s.ClearCheckoutKey(ctx, sess.ID, wrong); err != nil {
				t.Errorf("%q: %v", wrong, err)
			}
		}
		if err := s.ClearCheckoutKey(ctx, other.ID, key); err != nil {
			t.Error(err)
		}
		if kept, err := s.EnsureCheckoutKey(ctx, sess.ID); err != nil || kept != key {
			t.Errorf("key %s, %v, want %s", kept, err, key)
		}
		if theirs, err := s.EnsureCheckoutKey(ctx, other.ID); err != nil || theirs == key {
			t.Errorf("another visitor's key: %s, %v", theirs, err)
		}
		if err := s.ClearCheckoutKey(ctx, sess.ID, strings.ToUpper(key)); err != nil {
			t.Error(err)
		}
		if next, err := s.EnsureCheckoutKey(ctx, sess.ID); err != nil || next == key {
			t.Errorf("the same key in capitals: %s, %v", next, err)
		}
	})

	t.Run("no_session_no_key", func(t *testing.T) {
		mustStaff(t, s, 0, "asha")
		token, _, err := s.SignInStaff(ctx, "asha", testPassword, "here")
		if err != nil {
			t.Fatal(err)
		}
		staff, err := s.FindSession(ctx, token)
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range []int64{0, 999999, staff.ID} {
			if _, err := s.EnsureCheckoutKey(ctx, id); !errors.Is(err, ErrSignedOut) {
				t.Errorf("session %d: %v", id, err)
			}
		}
	})
}

func TestEndSession(t *testing.T) {
	t.Parallel()
	s, ctx := mustShop(t), t.Context()

	t.Run("nothing_brings_it_back", func(t *testing.T) {
		token, sess, err := s.CreateGuestSession(ctx)
		if err != nil {
			t.Fatal(err)
		}
		cart, err := s.EnsureCart(ctx, sess, s.outlet)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.SetCartLine(ctx, cart.ID, s.dosa, nil, 2, 7); err != nil { // a line with a count, which its removal would remember
			t.Fatal(err)
		}
		for range 2 {
			if err := s.EndSession(ctx, sess.ID); err != nil {
				t.Fatal(err)
			}
		}
		// What a request that began before still tries:
		_, find := s.FindSession(ctx, token)
		_, key := s.EnsureCheckoutKey(ctx, sess.ID)
		_, ensure := s.EnsureCart(ctx, sess, s.outlet)
		for name, err := range map[string]error{"find": find, "key": key, "cart": ensure} {
			if !errors.Is(err, ErrSignedOut) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if _, err := s.AddToCart(ctx, cart.ID, s.dosa, nil, 1, ""); !errors.Is(err, ErrNotFound) {
			t.Errorf("add: %v", err)
		}
		if left := mustRead[int](t, s.Store, `SELECT (SELECT count(*) FROM sessions) + (SELECT count(*) FROM carts) + (SELECT count(*) FROM cart_lines) + (SELECT count(*) FROM cart_line_removals) + (SELECT count(*) FROM customers)`); left != 0 {
			t.Errorf("%d rows are left of a visitor who bought nothing", left)
		}
	})

	t.Run("an_order_keeps_its_customer", func(t *testing.T) { // C025
		sess, cart := mustCart(t, s.Store, s.outlet)
		order := mustPendingOrder(t, s.Store, cart, s.dosa, 1)
		if err := s.EndSession(ctx, sess.ID); err != nil {
			t.Fatal(err)
		}
		if n := mustRead[int](t, s.Store, `SELECT count(*) FROM orders o JOIN customers c ON c.id = o.customer_id WHERE o.id = ?`, order); n != 1 {
			t.Error("the order's customer is gone")
		}
	})

	t.Run("a_shared_cart_stays", func(t *testing.T) {
		first, cart := mustCart(t, s.Store, s.outlet)
		second := mustVisit(t, s.Store)
		mustExec(t, s.Store, `UPDATE sessions SET cart_id = ? WHERE id = ?`, cart.ID, second.ID)
		if err := s.EndSession(ctx, first.ID); err != nil {
			t.Fatal(err)
		}
		if found, err := s.FindCart(ctx, second); err != nil || found.ID != cart.ID {
			t.Errorf("%+v, %v", found, err)
		}
	})
}

func TestPurgeSessions(t *testing.T) {
	t.Parallel()
	s, ctx := mustShop(t), t.Context()
	live, liveCart := mustCart(t, s.Store, s.outlet)
	bought, boughtCart := mustCart(t, s.Store, s.outlet)
	mustPendingOrder(t, s.Store, boughtCart, s.dosa, 1)
	const expired = 2*purgeBatch + 100
	mustExec(t, s.Store, `WITH guests AS (INSERT INTO customers (name) SELECT 'old' FROM generate_series(1, ?) RETURNING id),
			bought AS (INSERT INTO carts (outlet_id, customer_id) SELECT ?, id FROM guests RETURNING id, customer_id)
		INSERT INTO sessions (token_hash, customer_id, cart_id, expires_at) SELECT sha256(customer_id::text::bytea), customer_id, id, shop_now() FROM bought`, expired, s.outlet)
	mustExec(t, s.Store, `UPDATE sessions SET expires_at = shop_now() WHERE id = ?`, bought.ID)

	var purged [3]int64
	for _, err := range together(len(purged), func(i int) (err error) { // three processes' timetables at once
		purged[i], err = s.PurgeSessions(ctx)
		return err
	}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	rest, err := s.PurgeSessions(ctx)
	if err != nil || purged[0]+purged[1]+purged[2]+rest != expired+1 {
		t.Errorf("purged %v and %d of %d, %v", purged, rest, expired+1, err)
	}
	if n := mustRead[int](t, s.Store, `SELECT count(*) FROM customers WHERE name = 'old'`); n != 0 {
		t.Errorf("%d customers without anything are left", n)
	}
	if n := mustRead[int](t, s.Store, `SELECT count(*) FROM customers WHERE id IN (?, ?)`, *live.CustomerID, *bought.CustomerID); n != 2 {
		t.Errorf("%d of the two customers who count are left", n)
	}
	if cart, err := s.FindCart(ctx, live); err != nil || cart.ID != liveCart.ID {
		t.Errorf("the live cart: %+v, %v", cart, err)
	}
	if again, err := s.PurgeSessions(ctx); err != nil || again != 0 {
		t.Errorf("once more: %d, %v", again, err)
	}
}
