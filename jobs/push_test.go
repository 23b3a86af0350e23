package jobs

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/riverqueue/river"

	"tiffin/models"
	"tiffin/push"
	pushes "tiffin/push/standin"
	"tiffin/razorpay/standin"
)

// pushOffice is an office whose letters to browsers go to a push service of the test's own.
type pushOffice struct {
	*office
	service *pushes.Server
	cook    models.Staff
	order   *models.Order
}

func openPushOffice(t *testing.T) *pushOffice {
	t.Helper()
	o := &pushOffice{office: openOffice(t, standin.Options{}), service: pushes.New()}
	t.Cleanup(o.service.Close)
	keys, err := o.store.EnsurePushKeys(t.Context())
	must(t, err)
	o.letters.Push = push.New(push.Keys(keys), o.letters.PublicURL, push.Testing{Loopback: true, Roots: o.service.Roots()})
	o.workers, err = New(o.store, o.cashier, o.letters, slog.New(slog.NewTextHandler(io.Discard, nil)))
	must(t, err)
	o.cook, err = o.store.CreateStaff(t.Context(), models.Staff{Login: "cook", Name: "Cook", Role: "owner"}, "correct horse battery")
	must(t, err)
	var p standin.Payment
	o.order, p = o.paid()
	for id := range o.told(p.ID) {
		must(t, o.cashier.ProcessEvent(t.Context(), id+1))
	}
	return o
}

// subscribe has a fresh browser told of the order.
func (o *pushOffice) subscribe(language string) *pushes.Browser {
	o.t.Helper()
	b := o.service.Browser()
	must(o.t, o.store.SaveSubscription(o.t.Context(), models.PushSubscription{OrderID: o.order.ID, Endpoint: b.Endpoint, P256dh: b.P256dh, Auth: b.Auth, Language: language}))
	return b
}

func (o *pushOffice) move(from, to string) {
	o.t.Helper()
	_, err := o.store.MoveFulfilment(o.t.Context(), o.order.ID, from, to, o.cook)
	must(o.t, err)
}

// note is what the worker in the browser reads.
type note struct {
	N                                 int64
	Title, Body, Lang, URL, Tag, Icon string
}

// read is what a browser was told, in order.
func (o *pushOffice) read(b *pushes.Browser) (notes []note) {
	o.t.Helper()
	for _, m := range b.Got() {
		var n note
		must(o.t, json.Unmarshal(m.Payload, &n))
		notes = append(notes, n)
	}
	return notes
}

func (o *pushOffice) run(pushID int64) time.Duration {
	o.t.Helper()
	wait, err := sendPush(o.t.Context(), o.store, o.letters, pushID)
	must(o.t, err)
	return wait
}

// Each browser is told each step once, in its own language, however often a ticket goes back and forth; whoever stops hears no more.
func TestPushSteps(t *testing.T) {
	t.Parallel()
	o := openPushOffice(t)
	english, hindi, gone := o.subscribe("en-IN"), o.subscribe("hi"), o.subscribe("en-IN")
	must(t, o.store.RemoveSubscription(t.Context(), o.order.ID, gone.Endpoint))
	o.work()
	told := func(n int) {
		t.Helper()
		o.await("the browsers are told", func() bool {
			return o.count(`SELECT count(*) FROM pushes WHERE status = 'sent'`) == int64(2*n) && o.count(`SELECT count(*) FROM pushes`) == int64(2*n)
		})
	}
	o.move(models.TicketQueued, models.TicketAccepted)
	told(1)
	o.move(models.TicketAccepted, models.TicketQueued)
	o.move(models.TicketQueued, models.TicketAccepted)
	o.move(models.TicketAccepted, models.TicketPreparing)
	told(1)
	o.move(models.TicketPreparing, models.TicketReady)
	told(2)
	o.move(models.TicketReady, models.TicketHandedOver)
	told(3)
	o.move(models.TicketHandedOver, models.TicketReady)
	o.drained()
	told(3)
	notes := o.read(english)
	if len(notes) != 3 || len(gone.Got()) != 0 || len(o.service.Refused()) != 0 {
		t.Fatalf("%+v, %v", notes, o.service.Refused())
	}
	number := o.text(`SELECT number::text FROM orders`)
	for n, title := range []string{"Order " + number + " is accepted", "Order " + number + " is packed", "Order " + number + " is on its way"} {
		if notes[n].Title != title || notes[n].URL != "/orders/"+o.order.Token || notes[n].Tag != "order-"+o.order.PublicID || notes[n].Lang != "en-IN" || n > 0 && notes[n].N <= notes[n-1].N {
			t.Errorf("%+v", notes[n])
		}
	}
	if got := english.Got(); got[0].Topic == "" || got[0].Topic != got[2].Topic || got[0].Topic == hindi.Got()[0].Topic {
		t.Errorf("topics %q %q %q", got[0].Topic, got[2].Topic, hindi.Got()[0].Topic)
	}
	if first := o.read(hindi)[0]; first.Lang != "hi" || first.Title == notes[0].Title {
		t.Errorf("%+v", first)
	}
	o.kept()
}

// A cancelled order and its refund are told, each once.
func TestPushOfARefund(t *testing.T) {
	t.Parallel()
	o := openPushOffice(t)
	b := o.subscribe("en-IN")
	o.work()
	_, err := o.cashier.CancelOrder(t.Context(), o.order.ID, models.StaffActor(o.cook.ID), "we ran out")
	must(t, err)
	o.await("cancelled and refunded", func() bool {
		return o.count(`SELECT count(*) FROM refunds WHERE status = 'processed'`) == 1 && o.count(`SELECT count(*) FROM pushes WHERE status = 'sent'`) == 2
	})
	notes := map[string]bool{}
	for _, n := range o.read(b) {
		notes[n.Title] = true
	}
	if !notes["Order "+o.text(`SELECT number::text FROM orders`)+" was cancelled"] || !notes["₹"+o.text(`SELECT to_char(amount_paise / 100.0, 'FM999990.00') FROM refunds`)+" was refunded"] || len(b.Got()) != 2 {
		t.Errorf("%v", notes)
	}
}

// A browser that its push service no longer knows is forgotten with all that was to be told, and nobody else.
func TestPushToNobody(t *testing.T) {
	t.Parallel()
	o := openPushOffice(t)
	o.subscribe("en-IN")
	o.move(models.TicketQueued, models.TicketAccepted)
	o.service.Say(pushes.Answer{Status: 410})
	if wait := o.run(1); wait != 0 || o.count(`SELECT (SELECT count(*) FROM push_subscriptions) + (SELECT count(*) FROM pushes)`) != 0 {
		t.Errorf("wait %s; what is left: %s", wait, o.text(`SELECT string_agg(status, ' ') FROM pushes`))
	}
	o.run(1) // its job once more: there is nothing to do
}

// A push service that wants no more for a while is left alone as long, and so is a job that runs too early; then it is told. Later tries wait
// longer and longer, and the last one ends it.
func TestPushWaits(t *testing.T) {
	t.Parallel()
	o := openPushOffice(t)
	b := o.subscribe("en-IN")
	o.move(models.TicketQueued, models.TicketAccepted)
	o.service.Say(pushes.Answer{Status: 429, RetryAfter: "300"})
	if wait := o.run(1); wait < 300*time.Second || wait > 340*time.Second {
		t.Errorf("after Retry-After: 300 the next try is in %s", wait)
	}
	if wait := o.run(1); wait < 290*time.Second || len(b.Got()) != 0 {
		t.Errorf("an early job: wait %s, %d told", wait, len(b.Got()))
	}
	o.advance(200 * time.Second)
	if _, err := sweepPushes(t.Context(), o.store, o.letters, slog.New(slog.DiscardHandler)); err != nil || len(b.Got()) != 0 {
		t.Errorf("an early sweep told %d, %v", len(b.Got()), err)
	}
	o.advance(200 * time.Second)
	if wait := o.run(1); wait != 0 || len(b.Got()) != 1 {
		t.Errorf("wait %s, %d told", wait, len(b.Got()))
	}

	o.move(models.TicketAccepted, models.TicketPreparing)
	o.move(models.TicketPreparing, models.TicketReady)
	var last time.Duration
	tries := 0
	for o.text(`SELECT status FROM pushes WHERE id = 2`) == "queued" {
		o.service.Say(pushes.Answer{Status: 500})
		wait := o.run(2)
		if tries++; wait != 0 && wait <= last {
			t.Errorf("try %d waits %s after %s", tries, wait, last)
		}
		last = wait
		o.advance(wait)
	}
	if got := o.text(`SELECT status || ' ' || attempts || ' ' || last_error FROM pushes WHERE id = 2`); got != "dead 8 push: status 500" || tries != 8 {
		t.Errorf("%s after %d tries", got, tries)
	}
	if n := len(b.Got()); n != 1 {
		t.Errorf("%d told", n)
	}
}

// A job that runs twice, at once or again, tells once.
func TestPushJobTwice(t *testing.T) {
	t.Parallel()
	o := openPushOffice(t)
	b := o.subscribe("en-IN")
	o.move(models.TicketQueued, models.TicketAccepted)
	o.service.After(func() { // a second job, while the first is waiting for the push service
		o.service.After(nil)
		if wait, err := sendPush(t.Context(), o.store, o.letters, 1); err != nil || wait == 0 {
			t.Errorf("the second sender: wait %s, %v", wait, err)
		}
	})
	o.run(1)
	var wait sync.WaitGroup
	for range 4 {
		wait.Add(1)
		go func() {
			defer wait.Done()
			if _, err := sendPush(t.Context(), o.store, o.letters, 1); err != nil {
				t.Error(err)
			}
		}()
	}
	wait.Wait()
	o.work()
	var jobs []river.InsertManyParams
	for range 2 {
		jobs = append(jobs, river.InsertManyParams{Args: models.SendPushArgs{PushID: 1}}, river.InsertManyParams{Args: models.SweepPushesArgs{}})
	}
	_, err := o.workers.client.InsertMany(t.Context(), jobs)
	must(t, err)
	o.drained()
	if n := len(b.Got()); n != 1 || o.text(`SELECT status || ' ' || attempts FROM pushes`) != "sent 1" {
		t.Errorf("%d told, %s", n, o.text(`SELECT status || ' ' || attempts FROM pushes`))
	}
}

// Whoever dies after the push service has taken a message and before that is noted leaves it to the sweep, which sends it again under the same
// topic, tag and number: the phone shows one.
func TestPushKilledBetweenSendAndMark(t *testing.T) {
	t.Parallel()
	o := openPushOffice(t)
	b := o.subscribe("en-IN")
	o.move(models.TicketQueued, models.TicketAccepted)
	ctx, die := context.WithCancel(t.Context())
	o.service.After(die)
	if _, err := sendPush(ctx, o.store, o.letters, 1); err == nil {
		t.Error("it lived")
	}
	o.service.After(nil)
	if got := o.text(`SELECT status FROM pushes`); got != "queued" || len(b.Got()) != 1 {
		t.Fatalf("%s, %d told", got, len(b.Got()))
	}
	quiet := slog.New(slog.DiscardHandler)
	if n, err := sweepPushes(t.Context(), o.store, o.letters, quiet); n != 0 || err != nil {
		t.Errorf("swept %d at once, %v", n, err)
	}
	o.advance(3 * time.Minute)
	if n, err := sweepPushes(t.Context(), o.store, o.letters, quiet); n != 1 || err != nil {
		t.Errorf("swept %d, %v", n, err)
	}
	got, notes := b.Got(), o.read(b)
	if len(got) != 2 || got[0].Topic != got[1].Topic || notes[0] != notes[1] || o.text(`SELECT status || ' ' || attempts FROM pushes`) != "sent 2" {
		t.Errorf("%+v %s", notes, o.text(`SELECT status || ' ' || attempts FROM pushes`))
	}
}

// What something newer has overtaken is not told any more.
func TestPushOvertaken(t *testing.T) {
	t.Parallel()
	o := openPushOffice(t)
	b := o.subscribe("en-IN")
	o.move(models.TicketQueued, models.TicketAccepted)
	o.move(models.TicketAccepted, models.TicketPreparing)
	o.move(models.TicketPreparing, models.TicketReady)
	o.run(2)
	o.run(1)
	if got := o.text(`SELECT string_agg(status, ' ' ORDER BY id) FROM pushes`); got != "skipped sent" || len(b.Got()) != 1 {
		t.Errorf("%s, %d told", got, len(b.Got()))
	}
}

// What the shop cannot send at all ends at once: it is no use to try an address of this machine again.
func TestPushToAPrivateAddress(t *testing.T) {
	t.Parallel()
	o := openPushOffice(t)
	keys, err := o.store.EnsurePushKeys(t.Context())
	must(t, err)
	o.letters.Push = push.New(push.Keys(keys), o.letters.PublicURL, push.Testing{Roots: o.service.Roots()})
	b := o.subscribe("en-IN")
	o.move(models.TicketQueued, models.TicketAccepted)
	o.run(1)
	if got := o.text(`SELECT status || ' ' || attempts FROM pushes`); got != "dead 1" || len(b.Got()) != 0 {
		t.Errorf("%s, %d told", got, len(b.Got()))
	}
}

// Browsers are forgotten when nothing more can come of their order.
func TestPurgeForgetsBrowsers(t *testing.T) {
	t.Parallel()
	o := openPushOffice(t)
	o.subscribe("en-IN")
	o.move(models.TicketQueued, models.TicketAccepted)
	o.advance(29 * 24 * time.Hour)
	_, err := purge(t.Context(), o.store, o.cashier)
	must(t, err)
	if n := o.count(`SELECT count(*) FROM push_subscriptions`); n != 1 {
		t.Errorf("%d after 29 days", n)
	}
	o.advance(2 * 24 * time.Hour)
	_, err = purge(t.Context(), o.store, o.cashier)
	must(t, err)
	if n := o.count(`SELECT (SELECT count(*) FROM push_subscriptions) + (SELECT count(*) FROM pushes)`); n != 0 {
		t.Errorf("%d left", n)
	}
}
