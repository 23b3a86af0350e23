package jobs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverdatabasesql"

	"tiffin/devdb"
	"tiffin/mail"
	"tiffin/models"
	"tiffin/payments"
	"tiffin/razorpay"
	"tiffin/razorpay/standin"
)

const webhookSecret = "test_webhook_secret_0001"

// office is a shop without a door: rows, gateway, a folder for letters, and the real workers, which run when the test starts them.
type office struct {
	t       testing.TB
	store   *models.Store
	gateway *standin.Server
	cashier *payments.Cashier
	letters Letters
	dir     string
	workers *Workers
	outlet  models.Outlet
	offset  time.Duration
}

func openOffice(t testing.TB, options standin.Options) *office {
	t.Helper()
	store, err := models.Open(t.Context(), devdb.URL(t), 12)
	must(t, err)
	t.Cleanup(func() { must(t, store.Close()) })
	_, err = store.LoadDemo(t.Context())
	must(t, err)
	outlets, err := store.ListOutlets(t.Context())
	must(t, err)
	// Shop and gateway begin at noon in India, whenever the test runs: no service window ends in the middle of it.
	now := time.Now().In(models.India)
	noon := time.Date(now.Year(), now.Month(), now.Day(), 12, 0, 0, 0, models.India).Sub(now).Truncate(time.Second) // whole: the database is told milliseconds, the gateway all of it
	options.Now = func() time.Time { return time.Now().Add(noon) }
	gateway := standin.New(options)
	url, err := gateway.Start("127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { must(t, gateway.Close()) })
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	client := razorpay.New(razorpay.Config{KeyID: gateway.KeyID(), KeySecret: gateway.KeySecret(), APIURL: url})
	cashier := payments.New(store, client, payments.Settings{KeyID: gateway.KeyID(), KeySecret: gateway.KeySecret(), WebhookSecret: webhookSecret, RefundSpeed: "normal"}, quiet)
	dir := filepath.Join(t.TempDir(), "letters")
	sender, err := mail.New("", dir, "Orders <orders@kesarkitchen.example>")
	must(t, err)
	o := &office{t: t, store: store, gateway: gateway, cashier: cashier, letters: Letters{Sender: sender, PublicURL: "https://kesarkitchen.example"}, dir: dir, outlet: outlets[0]}
	o.setClock(noon)
	o.workers, err = New(store, cashier, o.letters, quiet)
	must(t, err)
	return o
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// work starts the workers until the test ends.
func (o *office) work() {
	o.t.Helper()
	must(o.t, o.workers.Start(o.t.Context()))
	o.t.Cleanup(func() {
		if o.workers.Alive() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			must(o.t, o.workers.Stop(ctx))
		}
	})
}

// patience bounds every wait. Nothing takes nearly as long on an idle machine.
const patience = 40 * time.Second

// await looks again and again whether something has come true.
func (o *office) await(what string, true_ func() bool) {
	o.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(patience)
	for !true_() {
		select {
		case <-tick.C:
		case <-deadline:
			o.t.Fatalf("waited in vain: %s; jobs: %s", what, o.text(`SELECT string_agg(DISTINCT kind || ' ' || state || ' ' || attempt || COALESCE(' ' || errors[1]::text, ''), '; ') FROM river_job WHERE state <> 'completed'`))
		}
	}
}

// drained waits until no job is to be done any more.
func (o *office) drained() {
	o.t.Helper()
	o.await("the queue is empty", func() bool {
		return o.count(`SELECT count(*) FROM river_job WHERE state NOT IN ('completed', 'cancelled', 'discarded')`) == 0
	})
}

func (o *office) exec(text string, args ...any) {
	o.t.Helper()
	_, err := o.store.SQL().ExecContext(o.t.Context(), text, args...)
	must(o.t, err)
}

func (o *office) count(text string, args ...any) (n int64) {
	o.t.Helper()
	must(o.t, o.store.SQL().QueryRowContext(o.t.Context(), text, args...).Scan(&n))
	return n
}

func (o *office) text(query string, args ...any) string {
	o.t.Helper()
	var v *string
	must(o.t, o.store.SQL().QueryRowContext(o.t.Context(), query, args...).Scan(&v))
	if v == nil {
		return ""
	}
	return *v
}

// advance moves the shop's clock and the gateway's.
func (o *office) advance(d time.Duration) {
	o.t.Helper()
	o.setClock(o.offset + d)
	o.gateway.Advance(d)
}

// setClock says how far the shop's clock is from the computer's.
func (o *office) setClock(offset time.Duration) {
	o.t.Helper()
	o.offset = offset
	o.exec(fmt.Sprintf(`CREATE OR REPLACE FUNCTION shop_now() RETURNS timestamptz LANGUAGE sql VOLATILE AS $$ SELECT clock_timestamp() + interval '%d milliseconds' $$`, offset.Milliseconds()))
}

// order places two samosas and opens their gateway order.
func (o *office) order() (*models.Order, string) {
	o.t.Helper()
	token, session, err := o.store.CreateGuestSession(o.t.Context())
	must(o.t, err)
	cart, err := o.store.EnsureCart(o.t.Context(), session, o.outlet.ID)
	must(o.t, err)
	item, _, err := o.store.FindItemBySlug(o.t.Context(), o.outlet.ID, "samosa")
	must(o.t, err)
	_, err = o.store.AddToCart(o.t.Context(), cart.ID, item.ID, nil, 2, "")
	must(o.t, err)
	key, err := o.store.EnsureCheckoutKey(o.t.Context(), session.ID)
	must(o.t, err)
	session, err = o.store.FindSession(o.t.Context(), token)
	must(o.t, err)
	in := payments.Checkout{Session: session, CheckoutKey: key, Way: "delivery", Name: "Ananya Rao", Phone: "+919845012345", Email: "ananya@example.in", Line1: "Flat 302", PIN: "560038"}
	review, err := o.cashier.Review(o.t.Context(), session, in.Way, in.PIN, in.Phone, nil)
	must(o.t, err)
	in.Review = review.Quote.Digest()
	placed, err := o.cashier.PlaceOrder(o.t.Context(), in)
	must(o.t, err)
	id, err := o.cashier.OpenGatewayOrder(o.t.Context(), placed)
	must(o.t, err)
	return placed, id
}

// paid is an order whose payment the gateway has and nobody told us of.
func (o *office) paid() (*models.Order, standin.Payment) {
	o.t.Helper()
	placed, id := o.order()
	p, err := o.gateway.Pay(standin.PayParams{OrderID: id})
	must(o.t, err)
	return placed, p
}

// told delivers every webhook about a payment.
func (o *office) told(paymentID string) (n int64) {
	o.t.Helper()
	for _, e := range o.gateway.Events() {
		if e.PaymentID != paymentID {
			continue
		}
		_, err := o.cashier.ReceiveWebhook(o.t.Context(), payments.Delivery{Body: e.Body, EventID: e.ID, Signature: razorpay.SignWebhook(webhookSecret, e.Body)})
		must(o.t, err)
		n++
	}
	return n
}

// sent lists the letters in the folder by their first word.
func (o *office) sent() (names []string) {
	o.t.Helper()
	files, err := filepath.Glob(filepath.Join(o.dir, "*.eml"))
	must(o.t, err)
	for _, f := range files {
		names = append(names, filepath.Base(f))
	}
	return names
}

// kept fails the test on a broken promise.
func (o *office) kept() {
	o.t.Helper()
	broken, err := o.store.ListBroken(o.t.Context())
	must(o.t, err)
	for _, b := range broken {
		o.t.Errorf("%s: %s", b.Inv, b.Detail)
	}
}

// S1.40, S1.39, FP-22: with the workers stopped webhooks are taken and queue; started, the queue drains, though the gateway fails at first.
func TestWebhooksQueueWhileWorkersAreStopped(t *testing.T) {
	t.Parallel()
	o := openOffice(t, standin.Options{})
	var events int64
	for range 5 {
		_, p := o.paid()
		events += o.told(p.ID)
	}
	if queued := o.count(`SELECT count(*) FROM river_job WHERE kind = 'process_event' AND state = 'available'`); queued != events || events < 10 {
		t.Errorf("%d queued of %d", queued, events)
	}
	if n := o.count(`SELECT (SELECT count(*) FROM payments) + (SELECT count(*) FROM fulfilments) + (SELECT count(*) FROM outbox)`); n != 0 || o.workers.Alive() {
		t.Errorf("%d rows were written by nobody", n)
	}
	o.gateway.Inject(standin.Fault{Method: "GET", Path: "/v1/payments/*", Kind: standin.HTML502, Times: 3})
	o.work()
	if !o.workers.Alive() {
		t.Error("the workers do not say that they run")
	}
	o.drained()
	for query, want := range map[string]int64{
		`SELECT count(*) FROM orders WHERE status = 'paid'`: 5, `SELECT count(*) FROM fulfilments`: 5, `SELECT count(*) FROM webhook_events WHERE status = 'processed'`: events,
		`SELECT count(*) FROM outbox WHERE status = 'sent'`: 5,
	} {
		if got := o.count(query); got != want {
			t.Errorf("%s: %d, want %d", query, got, want)
		}
	}
	if n := len(o.sent()); n != 5 {
		t.Errorf("%d letters", n)
	}
	if o.count(`SELECT count(*) FROM river_job WHERE kind = 'process_event' AND attempt > 1`) == 0 {
		t.Error("no job was tried again")
	}
	o.kept()
}

// S3.15, S3.16, S1.40: the mail server is down. The webhook is taken, the order paid; the letter goes out once it is back, and once only.
func TestMailServerDown(t *testing.T) {
	t.Parallel()
	o := openOffice(t, standin.Options{})
	away := o.dir + ".away"
	must(t, os.Rename(o.dir, away))
	_, p := o.paid()
	o.work()
	o.told(p.ID)
	o.await("the letter was tried", func() bool { return o.count(`SELECT count(*) FROM outbox WHERE attempts > 0`) == 1 })
	if got := o.text(`SELECT o.status || ' ' || l.status || ' ' || (l.last_error <> '') FROM orders o, outbox l`); got != "paid queued true" {
		t.Errorf("order, letter, reason: %s", got)
	}
	must(t, os.Rename(away, o.dir))
	o.await("the letter was sent", func() bool { return o.text(`SELECT status FROM outbox`) == "sent" })
	letters := o.sent()
	if len(letters) != 1 || !strings.HasPrefix(letters[0], "confirmation-") {
		t.Fatalf("letters: %v", letters)
	}
	text, err := os.ReadFile(filepath.Join(o.dir, letters[0]))
	must(t, err)
	if token := o.text(`SELECT token FROM orders`); !bytes.Contains(text, []byte("ananya@example.in")) || !bytes.Contains(text, []byte(token[:10])) {
		t.Errorf("the letter is not about this order:\n%s", text)
	}
	must(t, os.Remove(filepath.Join(o.dir, letters[0])))
	_, err = o.workers.client.Insert(t.Context(), models.SendLetterArgs{LetterID: o.count(`SELECT id FROM outbox`)}, nil)
	must(t, err)
	o.drained()
	if n := len(o.sent()); n != 0 {
		t.Errorf("%d letters went out again", n)
	}
	o.kept()
}

// A letter is in the language its order was placed in, its subject too.
func TestLetterInTheOrdersLanguage(t *testing.T) {
	t.Parallel()
	o := openOffice(t, standin.Options{})
	_, p := o.paid()
	o.exec(`UPDATE orders SET language = 'hi'`)
	o.work()
	o.told(p.ID)
	o.await("the letter was sent", func() bool { return o.text(`SELECT (SELECT status FROM outbox)`) == "sent" })
	letter, err := o.store.FindLetter(t.Context(), o.count(`SELECT id FROM outbox`))
	must(t, err)
	message, err := write(t.Context(), o.store, o.letters, letter)
	must(t, err)
	number := o.text(`SELECT number::text FROM orders`)
	if !strings.HasPrefix(message.Subject, "ऑर्डर "+number+" हो गया है") || !strings.Contains(message.Text, "धन्यवाद, ") || !strings.Contains(message.HTML, `<html lang="hi">`) {
		t.Errorf("%s\n%s", message.Subject, message.Text)
	}
	o.exec(`UPDATE orders SET language = 'xx-YY'`) // a language the shop has given up: English
	if message, err = write(t.Context(), o.store, o.letters, letter); err != nil || !strings.Contains(message.Text, "Thank you, ") {
		t.Error(err, message.Text)
	}
	o.kept()
}

// A letter that can never be delivered is put away, and its job is not tried for days.
func TestLetterNobodyCanReceive(t *testing.T) {
	t.Parallel()
	o := openOffice(t, standin.Options{})
	_, p := o.paid()
	o.exec(`UPDATE orders SET email = 'no address'`)
	o.told(p.ID)
	o.work()
	o.drained()
	if got := o.text(`SELECT status || ' ' || attempts FROM outbox`); got != "dead 1" || len(o.sent()) != 0 {
		t.Errorf("letter is %s", got)
	}
	if got := o.text(`SELECT status FROM orders`); got != models.OrderPaid {
		t.Errorf("order is %s", got)
	}
}

// S1.41: every kind of job runs at least twice, at once, and each effect happens once.
func TestEveryJobTwice(t *testing.T) {
	t.Parallel()
	o := openOffice(t, standin.Options{})
	bought, p := o.paid()
	events := o.told(p.ID)
	for id := range events { // paid without its jobs, so that they still have everything to do
		must(t, o.cashier.ProcessEvent(t.Context(), id+1))
		o.exec(`UPDATE webhook_events SET status = 'received', processed_at = NULL WHERE id = $1`, id+1)
	}
	_, err := o.cashier.CancelOrder(t.Context(), bought.ID, models.ActorCustomer, "changed_mind")
	must(t, err)
	other, _ := o.paid() // and one that nobody ever tells of
	o.advance(61 * time.Second)
	var jobs []river.InsertManyParams
	for range 2 {
		for id := range events {
			jobs = append(jobs, river.InsertManyParams{Args: models.ProcessEventArgs{EventID: id + 1}})
		}
		jobs = append(jobs, river.InsertManyParams{Args: models.SendRefundArgs{RefundID: o.text(`SELECT id::text FROM refunds`)}},
			river.InsertManyParams{Args: models.SendLetterArgs{LetterID: o.count(`SELECT min(id) FROM outbox`)}}, river.InsertManyParams{Args: models.SendLetterArgs{LetterID: o.count(`SELECT max(id) FROM outbox`)}}, river.InsertManyParams{Args: models.SendPushArgs{PushID: 1}}) // whose message is gone
		for _, sweep := range []river.JobArgs{models.ReconcileArgs{}, models.ResolveClaimsArgs{}, models.SweepRefundsArgs{}, models.SweepEventsArgs{}, models.SweepLettersArgs{}, models.ReconcileAccountArgs{}, models.ReconcileWeekArgs{},
			models.SettleShortagesArgs{}, models.PurgeArgs{}, models.CheckInvariantsArgs{}, models.ReconcileDisputesArgs{}, models.RefreshTasksArgs{}, models.WatchDeadlinesArgs{}, models.RecordSettlementsArgs{}, models.AskReviewsArgs{}, models.SweepPushesArgs{}} {
			jobs = append(jobs, river.InsertManyParams{Args: sweep, InsertOpts: models.SweepOpts()})
		}
	}
	_, err = o.workers.client.InsertMany(t.Context(), jobs)
	must(t, err)
	o.work()
	o.await("the other order is paid", func() bool { return o.text(`SELECT status FROM orders WHERE id = $1`, other.ID) == models.OrderPaid })
	o.await("the letters are sent", func() bool {
		return o.count(`SELECT count(*) FROM outbox`) == 4 && o.count(`SELECT count(*) FROM outbox WHERE status = 'sent'`) == 4
	})
	// The timetable's own first round comes when this process leads, which may be after all else is done; later rounds may begin at any time.
	o.await("the timetable has begun", func() bool {
		return o.count(`SELECT count(*) FROM river_job WHERE queue = 'sweeps'`) >= int64(3*len(timetable()))
	})
	o.drained()
	for query, want := range map[string]int64{
		`SELECT count(*) FROM payments`: 2, `SELECT count(*) FROM fulfilments`: 2, `SELECT count(*) FROM ledger_txns WHERE kind = 'capture'`: 2, `SELECT count(*) FROM ledger_txns WHERE kind = 'refund_settled'`: 1,
		`SELECT count(*) FROM outbox WHERE kind = 'confirmation'`: 2, `SELECT count(*) FROM outbox WHERE attempts = 1`: 4, `SELECT count(*) FROM refunds WHERE status = 'processed'`: 1,
		`SELECT count(*) FROM webhook_events WHERE status = 'processed'`: events, `SELECT count(DISTINCT kind) FROM river_job WHERE state = 'completed'`: 20, `SELECT count(*) FROM river_job WHERE state IN ('retryable', 'cancelled', 'discarded')`: 0,
		`SELECT count(*) FROM (SELECT kind FROM river_job GROUP BY kind HAVING count(*) < 2) once`: 0, `SELECT count(*) FROM staff_tasks`: 0,
	} {
		if got := o.count(query); got != want {
			t.Errorf("%s: %d, want %d", query, got, want)
		}
	}
	refunds := 0
	for _, r := range o.gateway.Requests() {
		if r.Method == "POST" && strings.HasSuffix(r.Path, "/refund") {
			refunds++
		}
	}
	if refunds != 1 || len(o.gateway.Books().RefundsOf(p.ID)) != 1 {
		t.Errorf("%d refund calls, %d refunds", refunds, len(o.gateway.Books().RefundsOf(p.ID)))
	}
	o.kept()
}

// FP-16, FP-21, FP-32: the rows are the authority. With every job lost the sweeps find events, refunds and letters again.
func TestLostJobsAreFoundByTheirRows(t *testing.T) {
	t.Parallel()
	o := openOffice(t, standin.Options{})
	bought, p := o.paid()
	_, err := o.cashier.VerifyCheckout(t.Context(), bought, payments.Slip{RazorpayOrderID: p.OrderID, RazorpayPaymentID: p.ID,
		RazorpaySignature: razorpay.SignCheckout(o.gateway.KeySecret(), p.OrderID, p.ID)}, models.ViaVerify)
	must(t, err)
	_, err = o.cashier.CancelOrder(t.Context(), bought.ID, models.ActorCustomer, "changed_mind")
	must(t, err)
	second, told := o.paid()
	o.told(told.ID)
	o.exec(`DELETE FROM river_job`)
	o.advance(61 * time.Second)
	o.work()
	o.await("the sweeps found everything", func() bool {
		unsettled, err := o.store.ListUnsettled(t.Context())
		must(t, err)
		for _, u := range unsettled {
			if u.Inv == "INV-41" { // a letter written by a sweep has its own job, one that was there before is swept
				o.exec(`UPDATE outbox SET next_attempt_at = shop_now() - interval '2 minutes' WHERE status = 'queued'`)
			}
		}
		return len(unsettled) == 0
	})
	if o.text(`SELECT status FROM orders WHERE id = $1`, second.ID) != models.OrderPaid || o.text(`SELECT status FROM refunds`) != "processed" {
		t.Errorf("refund is %s", o.text(`SELECT status FROM refunds`))
	}
	if n := len(o.sent()); n != 4 { // two confirmations, refund asked for, refund made
		t.Errorf("%d letters: %v", n, o.sent())
	}
	o.kept()
}

// Stopping takes nothing new and waits for what is at work.
func TestStopWaitsForJobsAtWork(t *testing.T) {
	t.Parallel()
	o := openOffice(t, standin.Options{})
	bought, p := o.paid()
	o.told(p.ID)
	o.work()
	o.drained()
	o.gateway.Inject(standin.Fault{Method: "POST", Path: "/v1/payments/*/refund", Kind: standin.Stall, Times: 1})
	_, err := o.cashier.CancelOrder(t.Context(), bought.ID, models.ActorCustomer, "changed_mind")
	must(t, err)
	must(t, o.gateway.WaitStalled(t.Context(), 1))
	stopped := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		stopped <- o.workers.Stop(ctx)
	}()
	o.await("a job that comes now is left alone", func() bool {
		_, p := o.paid()
		before := o.count(`SELECT count(*) FROM webhook_events WHERE status = 'received'`)
		return o.told(p.ID) > 0 && o.count(`SELECT count(*) FROM webhook_events WHERE status = 'received'`) > before+1
	})
	select {
	case err := <-stopped:
		t.Errorf("it did not wait: %v", err)
	default:
	}
	o.gateway.ReleaseStalled()
	must(t, <-stopped)
	if got := o.text(`SELECT status FROM refunds`); got != "processed" || o.workers.Alive() {
		t.Errorf("refund is %s, alive %v", got, o.workers.Alive())
	}
	o.kept()
}

// SW8, S2.55: a broken promise is put before a person once, and said in the log each time.
func TestCheckInvariants(t *testing.T) {
	t.Parallel()
	o := openOffice(t, standin.Options{})
	var said bytes.Buffer
	log := slog.New(slog.NewTextHandler(&said, nil))
	look := func(want int) {
		t.Helper()
		if n, err := checkInvariants(t.Context(), o.store, log); n != want || err != nil {
			t.Errorf("%d broken, %v", n, err)
		}
	}
	bought, _ := o.order()
	look(0)
	if said.Len() > 0 {
		t.Errorf("said %s", &said)
	}
	o.exec(`UPDATE orders SET hold_expires_at = shop_now() - interval '14 minutes'`)
	look(1)
	look(1)
	if got := o.text(`SELECT string_agg(kind || ' ' || ref || ' ' || order_id, ', ') FROM staff_tasks`); got != fmt.Sprintf("broken INV-18 order %d %d", bought.ID, bought.ID) {
		t.Error(got)
	}
	if n := strings.Count(said.String(), "inv=INV-18"); n != 2 {
		t.Errorf("said %d times:\n%s", n, &said)
	}
	o.exec(`UPDATE orders SET hold_expires_at = shop_now() + interval '14 minutes'`)
	look(0)
	if o.count(`SELECT count(*) FROM staff_tasks WHERE closed_at IS NULL`) != 0 || o.count(`SELECT count(*) FROM audit WHERE actor = 'shop' AND action = 'close_task'`) != 1 {
		t.Error("a promise that is kept again stays on the list")
	}
}

// A job that was given up is put before a person as long as what it was for is not done, and can be run again with a press. A sweep is over
// with the next one that runs.
func TestDeadJobs(t *testing.T) {
	t.Parallel()
	o := openOffice(t, standin.Options{})
	member, err := o.store.CreateStaff(t.Context(), models.Staff{Login: "meera", Name: "Meera", Role: "owner", Active: true}, "a long password of hers")
	must(t, err)
	todo := func(want ...string) (tasks []models.Task) {
		t.Helper()
		_, err := o.store.RefreshTasks(t.Context())
		must(t, err)
		tasks, err = o.store.ListTasks(t.Context(), member, 10)
		must(t, err)
		var refs []string
		for _, task := range tasks {
			refs = append(refs, task.Kind+" "+task.Ref)
		}
		if strings.Join(refs, ", ") != strings.Join(want, ", ") {
			t.Errorf("to do %q, want %q", refs, want)
		}
		return tasks
	}
	workers := river.NewWorkers()
	var broken atomic.Bool
	broken.Store(true)
	must(t, river.AddWorkerSafely(workers, river.WorkFunc(func(ctx context.Context, job *river.Job[models.ProcessEventArgs]) error {
		if broken.Load() {
			panic("odd")
		}
		return o.cashier.ProcessEvent(ctx, job.Args.EventID)
	})))
	must(t, addSweep[oddSweepArgs](workers, func(context.Context) (int, error) {
		if broken.Load() {
			return 0, errors.New("odd")
		}
		return 0, nil
	}))
	client, err := river.NewClient(riverdatabasesql.New(o.store.SQL()), &river.Config{Queues: map[string]river.QueueConfig{models.SweepQueue: {MaxWorkers: 1}, river.QueueDefault: {MaxWorkers: 1}}, Workers: workers,
		FetchPollInterval: 100 * time.Millisecond, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	must(t, err)
	must(t, client.Start(t.Context()))
	t.Cleanup(func() { must(t, client.Stop(context.Background())) })

	bought, p := o.paid()
	o.told(p.ID)
	once := models.SweepOpts()
	once.MaxAttempts = 1
	_, err = client.Insert(t.Context(), oddSweepArgs{}, once)
	must(t, err)
	o.exec(`UPDATE river_job SET max_attempts = 1 WHERE kind = 'process_event'`)
	dead := func() int64 { return o.count(`SELECT count(*) FROM river_job WHERE state = 'discarded'`) }
	events := o.count(`SELECT count(*) FROM webhook_events`)
	o.await("all are given up", func() bool {
		o.exec(`UPDATE river_job SET max_attempts = attempt, scheduled_at = now() WHERE state = 'retryable'`)
		return dead() == events+1
	})
	// All events but one are processed by another road: that one is what is left to do.
	left := o.count(`SELECT min(id) FROM webhook_events`)
	for id := range events {
		if id+1 != left {
			must(t, o.cashier.ProcessEvent(t.Context(), id+1))
		}
	}
	job := o.text(`SELECT id::text FROM river_job WHERE kind = 'process_event' AND args ->> 'event_id' = '` + fmt.Sprint(left) + `'`)
	tasks := todo("dead_job "+job, "dead_job odd_sweep")
	broken.Store(false)
	for _, task := range tasks {
		must(t, o.store.RetryTask(t.Context(), task.ID, member.ID))
	}
	o.await("they have run again", func() bool {
		return o.text(`SELECT status FROM webhook_events WHERE id = `+fmt.Sprint(left)) == "processed" && o.count(`SELECT count(*) FROM river_job WHERE kind = 'odd_sweep' AND state = 'completed'`) == 1
	})
	todo()
	if n := o.count(`SELECT count(*) FROM audit WHERE actor = $1 AND action = 'retry_task'`, models.StaffActor(member.ID)); n != 2 {
		t.Errorf("%d lines in the audit", n)
	}
	if got := o.text(`SELECT status FROM orders WHERE id = ` + fmt.Sprint(bought.ID)); got != models.OrderPaid {
		t.Errorf("order is %s", got)
	}
	// A sweep that failed, and a later one that did not.
	broken.Store(true)
	_, err = client.Insert(t.Context(), oddSweepArgs{}, once)
	must(t, err)
	sweeps := func(state string) int64 {
		return o.count(`SELECT count(*) FROM river_job WHERE kind = 'odd_sweep' AND state = $1`, state)
	}
	o.await("it is given up", func() bool { return sweeps("discarded") == 1 })
	todo("dead_job odd_sweep")
	broken.Store(false)
	_, err = client.Insert(t.Context(), oddSweepArgs{}, once)
	must(t, err)
	o.await("the next one has run", func() bool { return sweeps("completed") == 2 })
	todo()
}

// S3.14, C8, INV-42: what is past its keeping time goes; money never does.
func TestPurge(t *testing.T) {
	t.Parallel()
	o := openOffice(t, standin.Options{})
	_, p := o.paid()
	events := o.told(p.ID)
	for id := range events {
		must(t, o.cashier.ProcessEvent(t.Context(), id+1))
	}
	money := func() string {
		return o.text(`SELECT concat_ws(' ', (SELECT count(*) FROM orders), (SELECT count(*) FROM order_items), (SELECT count(*) FROM payments), (SELECT count(*) FROM ledger_entries), (SELECT count(*) FROM fulfilments),
			(SELECT count(*) FROM gateway_orders), (SELECT count(*) FROM status_changes), (SELECT count(*) FROM outbox), (SELECT count(*) FROM customers), (SELECT count(*) FROM audit))`)
	}
	before := money()
	o.exec(`INSERT INTO login_attempts (subject) VALUES ('ip:x')`)
	o.advance(89 * 24 * time.Hour)
	_, err := purge(t.Context(), o.store, o.cashier) // sessions and tries end before
	must(t, err)
	if n := o.count(`SELECT count(*) FROM webhook_events`); n != events {
		t.Errorf("%d events left after 89 days", n)
	}
	if bodies := o.text(`SELECT string_agg(convert_from(body, 'UTF8'), '') FROM webhook_events`); strings.Contains(bodies, "contact") || !strings.Contains(bodies, p.ID) {
		t.Errorf("bodies after 89 days: %s", bodies) // INV-43
	}
	o.advance(2 * 24 * time.Hour)
	purged, err := purge(t.Context(), o.store, o.cashier)
	if err != nil || int64(purged) != events || o.count(`SELECT (SELECT count(*) FROM webhook_events) + (SELECT count(*) FROM sessions) + (SELECT count(*) FROM login_attempts)`) != 0 {
		t.Errorf("%d purged, %v", purged, err)
	}
	if after := money(); after != before {
		t.Errorf("money: %s, then %s", before, after)
	}
}

type oddSweepArgs struct{}

func (oddSweepArgs) Kind() string { return "odd_sweep" }

// While the gateway is silent sweeps must not pile up: one that waited half a minute in the queue has newer ones behind it. One that fails
// is said once and the others go on.
func TestStaleSweepsAreDropped(t *testing.T) {
	t.Parallel()
	o := openOffice(t, standin.Options{})
	workers := river.NewWorkers()
	var ran atomic.Int64
	must(t, addSweep[oddSweepArgs](workers, func(context.Context) (int, error) {
		if ran.Add(1) == 1 {
			return 0, errors.New("odd")
		}
		return 1, nil
	}))
	var said bytes.Buffer
	client, err := river.NewClient(riverdatabasesql.New(o.store.SQL()), &river.Config{Queues: map[string]river.QueueConfig{models.SweepQueue: {MaxWorkers: 1}}, Workers: workers,
		FetchPollInterval: 100 * time.Millisecond, ErrorHandler: errorLog{slog.New(slog.NewTextHandler(&said, nil))}, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	must(t, err)
	for _, age := range []time.Duration{0, 31 * time.Second, time.Hour} {
		opts := models.SweepOpts()
		opts.ScheduledAt = time.Now().Add(-age)
		opts.MaxAttempts = 1
		_, err := client.Insert(t.Context(), oddSweepArgs{}, opts)
		must(t, err)
	}
	must(t, client.Start(t.Context()))
	o.await("all are done with", func() bool {
		return o.count(`SELECT count(*) FROM river_job WHERE state IN ('completed', 'discarded')`) == 3
	})
	must(t, client.Stop(context.Background()))
	if ran.Load() != 1 || strings.Count(said.String(), "job failed") != 1 {
		t.Errorf("%d ran; said %s", ran.Load(), &said)
	}
}

// S1.5: what is due is judged by the rows, but somebody has to look: every sweep there is has its period, and none is longer than what its
// rows promise.
func TestTimetable(t *testing.T) {
	t.Parallel()
	o := openOffice(t, standin.Options{})
	if n := len(timetable()); n != 16 {
		t.Errorf("%d sweeps", n)
	}
	o.work()
	o.await("each has run", func() bool {
		return o.count(`SELECT count(DISTINCT kind) FROM river_job WHERE state = 'completed' AND queue = 'sweeps'`) == 16
	})
	if n := o.count(`SELECT count(*) FROM river_job WHERE queue <> 'sweeps'`); n != 0 {
		t.Errorf("%d sweeps in the queue of the jobs", n)
	}
}
