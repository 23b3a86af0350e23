package models

import (
	"crypto/ecdh"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
)

// browserOf is a subscription as a browser makes it.
func browserOf(t testing.TB, orderID int64, endpoint string) PushSubscription {
	t.Helper()
	key, err := ecdh.P256().GenerateKey(rand.Reader)
	must(t, err)
	return PushSubscription{OrderID: orderID, Endpoint: endpoint, P256dh: base64.RawURLEncoding.EncodeToString(key.PublicKey().Bytes()), Auth: base64.RawURLEncoding.EncodeToString(make([]byte, 16)), Language: "en-IN"}
}

// The shop's keys are made once, whoever starts first, and fit each other.
func TestPushKeysAreMadeOnce(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	var wait sync.WaitGroup
	keys := make([]PushKeys, 4)
	for n := range keys {
		wait.Add(1)
		go func() {
			defer wait.Done()
			var err error
			if keys[n], err = s.EnsurePushKeys(t.Context()); err != nil {
				t.Error(err)
			}
		}()
	}
	wait.Wait()
	for _, k := range keys {
		if k != keys[0] || len(k.Public) != 87 || len(k.Private) != 43 {
			t.Fatalf("%v", keys)
		}
	}
	mustExec(t, s, `UPDATE settings SET value = 'broken' WHERE name = 'push_private_key'`)
	if _, err := s.EnsurePushKeys(t.Context()); err == nil || strings.Contains(err.Error(), "broken") {
		t.Errorf("a key that is none: %v", err)
	}
}

// One endpoint is one row of an order, however often it asks; ten browsers are enough, even when they come at once; what is no subscription is
// refused.
func TestSubscriptions(t *testing.T) {
	t.Parallel()
	s, ctx := openStore(t), t.Context()
	o := mustPending(t, s)
	first := browserOf(t, o.ID, "https://push.example/first")
	must(t, s.SaveSubscription(ctx, first))
	first.Auth, first.Language = base64.RawURLEncoding.EncodeToString([]byte("sixteen newbytes")), "hi"
	must(t, s.SaveSubscription(ctx, first))
	if got := mustRead[string](t, s, `SELECT string_agg(auth || ' ' || language, ', ') FROM push_subscriptions`); got != first.Auth+" hi" {
		t.Error(got)
	}
	for name, spoil := range map[string]func(*PushSubscription){
		"http": func(p *PushSubscription) { p.Endpoint = "http://push.example/x" }, "no host": func(p *PushSubscription) { p.Endpoint = "https:///x" }, "a password": func(p *PushSubscription) { p.Endpoint = "https://a:b@push.example/x" },
		"too long": func(p *PushSubscription) { p.Endpoint += strings.Repeat("x", 2000) }, "no point": func(p *PushSubscription) { p.P256dh = strings.Repeat("A", 87) }, "no key": func(p *PushSubscription) { p.P256dh = "" },
		"a short secret": func(p *PushSubscription) { p.Auth = "AAAA" }, "NUL": func(p *PushSubscription) { p.Endpoint += "\x00" }, "a language of none": func(p *PushSubscription) { p.Language = strings.Repeat("x", 50) },
	} {
		bad := browserOf(t, o.ID, "https://push.example/bad")
		spoil(&bad)
		if err := s.SaveSubscription(ctx, bad); !errors.Is(err, ErrBadInput) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := s.SaveSubscription(ctx, browserOf(t, 999, "https://push.example/x")); !errors.Is(err, ErrNotFound) {
		t.Errorf("an order of none: %v", err)
	}
	var wait sync.WaitGroup
	results := make([]error, 14)
	for n := range results {
		browser := browserOf(t, o.ID, fmt.Sprintf("https://push.example/%d", n))
		wait.Add(1)
		go func() {
			defer wait.Done()
			results[n] = s.SaveSubscription(ctx, browser)
		}()
	}
	wait.Wait()
	refused := 0
	for _, err := range results {
		if errors.Is(err, ErrTooManyBrowsers) {
			refused++
		} else if err != nil {
			t.Error(err)
		}
	}
	if n := mustRead[int](t, s, `SELECT count(*) FROM push_subscriptions`); n != MaxSubscriptions || refused != 5 {
		t.Errorf("%d browsers, %d refused", n, refused)
	}
	must(t, s.SaveSubscription(ctx, first)) // one that is there already
	for range 2 {
		must(t, s.RemoveSubscription(ctx, o.ID, first.Endpoint))
	}
	if n := mustRead[int](t, s, `SELECT count(*) FROM push_subscriptions`); n != MaxSubscriptions-1 {
		t.Errorf("%d browsers", n)
	}
}

// A message is written in the transaction that makes its step: one that is rolled back leaves neither message nor job, and a repeat none more.
func TestPushesAreWrittenWithTheirStep(t *testing.T) {
	t.Parallel()
	s, ctx := openStore(t), t.Context()
	o, _ := mustKept(t, s)
	cook := Staff{ID: mustMember(t, s, "kitchen", 0)}
	must(t, s.SaveSubscription(ctx, browserOf(t, o.ID, "https://push.example/x")))
	count := func() string {
		return mustRead[string](t, s, `SELECT (SELECT count(*) FROM pushes) || ' ' || (SELECT count(*) FROM river_job WHERE kind = 'send_push')`)
	}
	stop := errors.New("stop")
	if err := s.InTx(ctx, func(tx *Store) error {
		if _, err := tx.MoveFulfilment(ctx, o.ID, TicketQueued, TicketAccepted, cook); err != nil {
			return err
		}
		return stop
	}); !errors.Is(err, stop) || count() != "0 0" {
		t.Errorf("%v: %s", err, count())
	}
	for _, step := range [][2]string{{TicketQueued, TicketAccepted}, {TicketAccepted, TicketQueued}, {TicketQueued, TicketAccepted}, {TicketAccepted, TicketPreparing}} {
		if _, err := s.MoveFulfilment(ctx, o.ID, step[0], step[1], cook); err != nil {
			t.Fatal(err)
		}
	}
	if got := count(); got != "1 1" {
		t.Errorf("a step told twice: %s", got)
	}
}

// The customer who cancels knows: nobody is told.
func TestWhoCancelsIsNotTold(t *testing.T) {
	t.Parallel()
	s, ctx := openStore(t), t.Context()
	unpaid := mustPending(t, s)
	must(t, s.SaveSubscription(ctx, browserOf(t, unpaid.ID, "https://push.example/x")))
	must(t, s.InTx(ctx, func(tx *Store) error {
		locked, err := tx.LockOrder(ctx, unpaid.ID)
		if err != nil {
			return err
		}
		return tx.MoveOrder(ctx, &locked, OrderCancelled, Move{By: ActorCustomer, Reason: "changed_mind"})
	}))
	if n := mustRead[int](t, s, `SELECT count(*) FROM pushes`); n != 0 {
		t.Errorf("%d messages", n)
	}
}

// Whoever deletes their account has their browsers forgotten with it.
func TestDeletingAnAccountForgetsItsBrowsers(t *testing.T) {
	t.Parallel()
	s, ctx := openStore(t), t.Context()
	o := mustPending(t, s)
	must(t, s.SaveSubscription(ctx, browserOf(t, o.ID, "https://push.example/x")))
	must(t, s.InTx(ctx, func(tx *Store) error {
		locked, err := tx.LockOrder(ctx, o.ID)
		if err != nil {
			return err
		}
		return tx.MoveOrder(ctx, &locked, OrderCancelled, Move{By: ActorCustomer, Reason: "changed_mind"})
	}))
	mustExec(t, s, `UPDATE customers SET account_at = shop_now(), email = 'asha@example.in' WHERE id = ?`, o.CustomerID)
	mustExec(t, s, `UPDATE orders SET next_check_at = NULL WHERE id = ?`, o.ID)
	must(t, s.DeleteAccount(ctx, o.CustomerID))
	if n := mustRead[int](t, s, `SELECT count(*) FROM push_subscriptions`); n != 0 {
		t.Errorf("%d left", n)
	}
}
