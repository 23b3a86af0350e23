package torture

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"tiffin/models"
	"tiffin/razorpay/standin"
)

// round performs one schedule: a database and a gateway of its own, the shop as processes, and everybody of the schedule at once.
type round struct {
	Schedule
	place     *place
	tally     *tally
	dir       string
	database  string
	publicURL string
	store     *models.Store
	gateway   *standin.Server
	apiURL    string
	client    *http.Client
	servers   []*server
	customers []*customer
	kitchen   *kitchen
	desk      *kitchen

	clockMu sync.Mutex
	offset  time.Duration // of the shop's clock and the gateway's

	mu               sync.Mutex
	secret, previous string // of the webhooks
	rotated          int
	handed           map[*customer][]string // gateway orders their browsers were given
	seen             map[string]string      // facts that were read once, by what they are about; they must stay so
	broken           []violation
	statuses         map[int]int
	histories        map[int64][]string // of the orders promises were broken to
}

// violation is a promise that was broken.
type violation struct {
	inv    string
	order  int64 // 0: no certain order's
	detail string
}

func (v violation) String() string {
	if v.order == 0 {
		return v.inv + ": " + v.detail
	}
	return fmt.Sprintf("%s: order %d: %s", v.inv, v.order, v.detail)
}

const (
	webhookPath  = "/webhooks/razorpay"
	trackLimit   = 90 * time.Second // no track of a round takes nearly as long
	watchEvery   = 300 * time.Millisecond
	stalledFor   = 700 * time.Millisecond
	settleLimit  = 60 * time.Second // for one step of the healing
	settleEvery  = 12 * time.Millisecond
	sweepAgain   = 120 * time.Millisecond // above the queue's own pause between two signals that there is work
	firstSecret  = "webhook_secret_0"
	violationsAt = 40 // how many violations of a round are kept
)

// sweeps is what the timetable runs, but for the purge and the look at the invariants, which is ours.
var sweeps = []interface{ Kind() string }{models.ResolveClaimsArgs{}, models.SweepEventsArgs{}, models.ReconcileArgs{}, models.SweepRefundsArgs{}, models.SweepLettersArgs{},
	models.ReconcileAccountArgs{}, models.ReconcileWeekArgs{}, models.ReconcileDisputesArgs{}, models.WatchDeadlinesArgs{}, models.RefreshTasksArgs{}}

// perform runs a schedule and returns what it broke. The error is the torture's own: then nothing is known about the shop.
func perform(ctx context.Context, s Schedule, p *place, t *tally, dir, plant string) (r *round, err error) {
	r = &round{Schedule: s, place: p, tally: t, dir: dir, database: fmt.Sprintf("%s%d", databasePrefix, s.Seed), secret: firstSecret,
		handed: map[*customer][]string{}, seen: map[string]string{}, statuses: map[int]int{},
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8, DisableCompression: true},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	defer func() { err = errors.Join(err, r.close()) }()
	for _, part := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"prepared", r.prepare}, {"tortured", r.suffer}, {"healed", r.heal},
		{"audited", func(ctx context.Context) error { return errors.Join(r.plant(ctx, plant), r.audit(ctx)) }},
	} {
		began := time.Now()
		if err := part.do(ctx); err != nil {
			return r, err
		}
		t.took(part.name, time.Since(began))
	}
	r.remember(ctx)
	return r, nil
}

// remember keeps the histories of the orders a promise was broken to, while their database is there; all of them when no order is named.
func (r *round) remember(ctx context.Context) {
	if len(r.broken) == 0 {
		return
	}
	const most = 12
	r.histories = map[int64][]string{}
	for _, v := range r.broken {
		if v.order != 0 && len(r.histories) < most {
			r.histories[v.order] = r.history(ctx, v.order)
		}
	}
	if len(r.histories) > 0 {
		return
	}
	for id := int64(1); id <= most; id++ {
		if lines := r.history(ctx, id); len(lines) > 0 {
			r.histories[id] = lines
		}
	}
}

// prepare makes the database, starts gateway and shop, and sets all clocks to noon in India: no service ends in the middle of a round.
func (r *round) prepare(ctx context.Context) (err error) {
	if err := os.RemoveAll(r.dir); err != nil {
		return err
	}
	if err := os.MkdirAll(r.mailDir(), 0o700); err != nil {
		return err
	}
	if err := r.place.clone(ctx, r.database); err != nil {
		return err
	}
	if r.store, err = models.Open(ctx, r.place.url(r.database), 6); err != nil {
		return err
	}
	now := time.Now().In(models.India)
	noon := time.Date(now.Year(), now.Month(), now.Day(), 12, 0, 0, 0, models.India).Sub(now).Truncate(time.Second) // whole: the database is told milliseconds, the gateway all of it
	r.gateway = standin.New(standin.Options{Seed: r.Seed, Settings: r.Gateway, RetryScale: r.RetryScale})
	if r.apiURL, err = r.gateway.Start("127.0.0.1:0"); err != nil {
		return err
	}
	r.setClock(ctx, noon)
	r.publicURL = "http://127.0.0.1:1" // where a proxy before the servers would be; nothing of a round goes there
	for i, lives := range r.Lives {
		s, err := r.open(i, lives)
		if err != nil {
			return err
		}
		r.servers = append(r.servers, s)
	}
	for _, s := range r.servers {
		if err := s.awaitReady(ctx); err != nil {
			return err
		}
	}
	r.tellWebhooks(r.Endpoints)
	for range r.Customers {
		r.customers = append(r.customers, &customer{browser: newBrowser(r)})
	}
	r.kitchen, r.desk = &kitchen{newBrowser(r)}, &kitchen{newBrowser(r)}
	return nil
}

func (r *round) tellWebhooks(at []int) {
	var hooks []standin.Webhook
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, i := range at {
		hooks = append(hooks, standin.Webhook{URL: r.servers[i].url + webhookPath, Secret: r.secret, PreviousSecret: "an older secret"})
	}
	r.gateway.SetWebhooks(hooks...)
}

// environment is a server's, at this moment: with the webhook secrets in force.
func (r *round) environment() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return []string{"DATABASE_URL=" + r.place.url(r.database), "MAIL_DIR=" + r.mailDir(), "PATH=" + os.Getenv("PATH"), "HOME=" + r.dir,
		"RAZORPAY_KEY_ID=" + r.gateway.KeyID(), "RAZORPAY_KEY_SECRET=" + r.gateway.KeySecret(), "RAZORPAY_ACCOUNT_ID=" + r.gateway.AccountID(),
		"RAZORPAY_WEBHOOK_SECRET=" + r.secret, "RAZORPAY_WEBHOOK_SECRET_PREVIOUS=" + r.previous,
		"RAZORPAY_API_URL=" + r.apiURL, "RAZORPAY_CHECKOUT_URL=" + r.apiURL + "/v1/checkout.js"}
}

// suffer runs all tracks, and watches meanwhile what must be true at every commit.
func (r *round) suffer(all context.Context) error {
	ctx, cancel := context.WithTimeout(all, trackLimit)
	defer cancel()
	watching, stop := context.WithCancel(ctx)
	var watch, tracks sync.WaitGroup
	watch.Go(func() {
		for rest(watching, watchEvery) {
			r.look(watching)
		}
	})
	watch.Go(func() {
		for rest(watching, stalledFor) { // stalled calls go on, or every move behind one would wait for the shop's own limit, 8 s
			r.gateway.ReleaseStalled()
		}
	})
	for _, t := range r.Tracks {
		tracks.Go(func() {
			for _, m := range t.moves {
				if !rest(ctx, m.after) {
					return
				}
				m.do(ctx, r)
			}
		})
	}
	tracks.Wait()
	stop()
	watch.Wait()
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		r.fail("torture", nil, "the tracks of this round do not come to their end")
	}
	return all.Err()
}

// inTime are the invariants that hold within a time only; while faults last and the clock jumps nobody promises that.
var inTime = []string{"INV-18", "INV-19", "INV-27", "INV-28", "INV-38"}

// look reads what must hold at every commit. A database that is away has nothing to say.
func (r *round) look(ctx context.Context) {
	broken, err := r.store.ListBroken(ctx)
	if err != nil {
		return
	}
	r.tally.looked()
	for _, b := range broken {
		if !slices.Contains(inTime, b.Inv) {
			r.fail(b.Inv, b.OrderID, "while it was tortured: %s", b.Detail)
		}
	}
	if now, err := r.facts(ctx); err == nil {
		r.compare(now)
	}
}

// facts are the rows that nobody may ever change or take away again, whatever dies: what was decided about money, the ledger, who did
// what, the bills, and the gateway's ids of refunds (INV-8, 16, 26, 34, 44).
func (r *round) facts(ctx context.Context) (map[string]string, error) {
	rows, err := r.store.SQL().QueryContext(ctx, `SELECT 'INV-8 payment ' || id, concat_ws(' ', order_id, razorpay_payment_id, amount_paise, customer_fee_paise, currency, disposition, reason) FROM payments WHERE disposition IS NOT NULL
		UNION ALL SELECT 'INV-34 entry ' || txn_id || ' ' || account, amount_paise::text FROM ledger_entries
		UNION ALL SELECT 'INV-34 transaction ' || id, concat_ws(' ', kind, ref_type, ref_id) FROM ledger_txns
		UNION ALL SELECT 'INV-44 audit ' || id, concat_ws(' ', actor, action, order_id, detail) FROM audit
		UNION ALL SELECT 'INV-15 change ' || id, concat_ws(' ', subject, subject_id, was, became) FROM status_changes
		UNION ALL SELECT 'INV-16 order ' || id, concat_ws(' ', public_id, subtotal_paise, discount_paise, amount_paise, currency) FROM orders
		UNION ALL SELECT 'INV-8 refund ' || id, concat_ws(' ', payment_id, amount_paise, kind) FROM refunds
		UNION ALL SELECT 'INV-26 refund ' || id, razorpay_refund_id FROM refunds WHERE razorpay_refund_id IS NOT NULL
		UNION ALL SELECT 'INV-20 gateway order ' || razorpay_order_id, concat_ws(' ', order_id, receipt, amount_paise, currency) FROM gateway_orders`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	now := map[string]string{}
	for rows.Next() {
		var what, is string
		if err := rows.Scan(&what, &is); err != nil {
			return nil, err
		}
		now[what] = is
	}
	return now, rows.Err()
}

// compare holds facts against those seen before.
func (r *round) compare(now map[string]string) {
	for what, was := range r.seen {
		if is, there := now[what]; is != was || !there {
			inv, what, _ := strings.Cut(what, " ")
			r.fail(inv, nil, "%s was %q and is %q (there: %t)", what, was, is, there)
		}
	}
	r.seen = now
}

// healing is how the clock goes on once faults are over: past every retry, hold, look, deadline and refund.
var healing = []time.Duration{0, 70 * time.Second, 70 * time.Second, 3 * time.Minute, 10 * time.Minute, 15 * time.Minute, time.Hour, time.Hour, 6 * time.Hour}

// heal ends every fault, starts one untroubled server and lets time pass until nothing is left to do.
func (r *round) heal(ctx context.Context) error {
	why := deployed
	if r.PowerCut {
		why = killedAtEnd
	}
	r.gateway.ReleaseStalled() // an orderly stop waits for its calls
	var all sync.WaitGroup
	for _, s := range r.servers {
		all.Go(func() { s.retire(why) })
	}
	all.Wait()
	r.countFaults()
	r.gateway.ClearFaults()
	r.gateway.ClearWebhookFaults()
	r.gateway.ReleaseStalled()
	r.lowBalance(false)
	if !r.HeldNever {
		r.gateway.Release()
	}
	r.bringMailBackIfGone()
	s, err := r.open(len(r.servers), nil)
	if err != nil {
		return err
	}
	old := r.servers
	r.servers = append(r.servers, s)
	if err := s.awaitReady(ctx); err != nil {
		return err
	}
	for _, s := range old {
		r.noPanics(s)
	}
	r.servers = []*server{s} // whoever asks an old one from now on asks the new one
	r.tellWebhooks([]int{0})
	for i, by := range healing {
		r.setClock(ctx, by)
		if err := r.settle(ctx, i == len(healing)-1); err != nil {
			return err
		}
	}
	return nil
}

func (r *round) bringMailBackIfGone() {
	if _, err := os.Stat(r.mailDir() + "-away"); err == nil {
		r.bringMailBack()
	}
}

// due names what the sweeps would find to do, by their own conditions.
const due = `SELECT string_agg(n || ' ' || what, ', ') FROM (
	SELECT 'orders to ask about' AS what, count(*) AS n FROM orders WHERE next_check_at <= shop_now()
	UNION ALL SELECT 'hints', count(*) FROM payment_hints WHERE done_at IS NULL AND next_attempt_at <= shop_now()
	UNION ALL SELECT 'refunds', count(*) FROM refunds WHERE status IN ('requested', 'submitted') AND next_attempt_at <= shop_now() AND (lease_until IS NULL OR lease_until < shop_now())
	UNION ALL SELECT 'claims', count(*) FROM gateway_claims WHERE state IN ('open', 'unknown') AND COALESCE(resolve_at, expires_at) <= shop_now()
	UNION ALL SELECT 'events', count(*) FROM webhook_events WHERE status = 'received' AND next_attempt_at <= shop_now() - interval '1 minute'
	UNION ALL SELECT 'letters', count(*) FROM outbox WHERE status = 'queued' AND next_attempt_at <= shop_now() - interval '1 minute'
) d WHERE n > 0`

// atWork names the jobs that wait or run: those that $1 saw begin, for a dead process's stay running.
const atWork = `SELECT string_agg(n || ' ' || kind || ' ' || state, ', ') FROM (SELECT kind, state, count(*) AS n FROM river_job
	WHERE queue = 'default' AND (state = 'available' OR state = 'running' AND attempted_at > $1) GROUP BY kind, state) j`

// settle has the sweeps run until they find nothing more that is due by the clock as it stands. At the end jobs are waited for too: the queue
// notes only every quarter of a second which have ended.
func (r *round) settle(ctx context.Context, atEnd bool) error {
	began := time.Now()
	var asked time.Time
	for {
		if time.Since(asked) > sweepAgain {
			r.sweep(ctx)
			asked = time.Now()
		}
		open, err := r.text(ctx, due)
		if err == nil && open == "" && atEnd {
			if open, err = r.text(ctx, atWork, began); open != "" {
				asked = time.Now() // no new ones meanwhile
			}
		}
		switch {
		case err != nil:
			return err
		case open == "":
			return nil
		case time.Since(began) > settleLimit:
			r.fail("settled", nil, "still to be done, however often the sweeps run: %s", open)
			return nil
		}
		rest(ctx, settleEvery)
	}
}

// text reads one text; NULL is "".
func (r *round) text(ctx context.Context, query string, args ...any) (string, error) {
	var found *string
	if err := r.store.SQL().QueryRowContext(ctx, query, args...).Scan(&found); err != nil || found == nil {
		return "", err
	}
	return *found, nil
}

// must repeats a step of the torture's own at the database until it is answered: the database may be down at any time.
func (r *round) must(ctx context.Context, what string, step func() error) {
	deadline := time.Now().Add(answerLimit)
	for {
		err := step()
		if err == nil || ctx.Err() != nil {
			return
		}
		if time.Now().After(deadline) {
			r.fail("torture", nil, "%s: %v", what, err)
			return
		}
		rest(ctx, 20*time.Millisecond)
	}
}

// fail notes a broken promise.
func (r *round) fail(inv string, orderID *int64, format string, args ...any) {
	v := violation{inv: inv, detail: fmt.Sprintf(format, args...)}
	if orderID != nil {
		v.order = *orderID
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Contains(r.broken, v) && len(r.broken) < violationsAt {
		r.broken = append(r.broken, v)
	}
}

// failOrder notes a promise broken to whoever has the link of an order.
func (r *round) failOrder(inv, token string, format string, args ...any) {
	var id int64
	if err := r.store.SQL().QueryRow(`SELECT id FROM orders WHERE token = $1`, token).Scan(&id); err != nil {
		r.fail(inv, nil, "order %s: %s", token, fmt.Sprintf(format, args...))
		return
	}
	r.fail(inv, &id, format, args...)
}

// hand notes a gateway order that a customer's browser was given; handedTo lists them.
func (r *round) hand(c *customer, gatewayOrder string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.handed[c] = append(r.handed[c], gatewayOrder)
}

func (r *round) handedTo(c *customer) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.handed[c])
}

// shopNow is the shop's clock, as near as it can be had without asking.
func (r *round) shopNow() time.Time {
	r.clockMu.Lock()
	defer r.clockMu.Unlock()
	return time.Now().Add(r.offset)
}

func (r *round) answered(status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.statuses[status]++
}

// close ends what is still running, and forgets the round unless it broke something.
func (r *round) close() error {
	var errs []error
	if r.gateway != nil {
		r.gateway.ReleaseStalled()
	}
	for _, s := range r.servers {
		s.retire(stopped)
		r.noPanics(s)
	}
	r.client.CloseIdleConnections()
	if r.gateway != nil {
		errs = append(errs, r.gateway.Close())
	}
	if r.store != nil {
		errs = append(errs, r.store.Close())
	}
	errs = append(errs, r.place.drop(context.Background(), r.database))
	if len(r.broken) == 0 && errors.Join(errs...) == nil {
		errs = append(errs, os.RemoveAll(r.dir))
	}
	return errors.Join(errs...)
}

// noPanics looks through what a server said. A panic is never right, whatever was broken around it.
func (r *round) noPanics(s *server) {
	for _, line := range s.linesWith("panic: ", "job panicked", "goroutine 1 [") {
		r.fail("panic", nil, "server %d: %s", s.index, line)
	}
	for _, line := range s.linesWith("98450 12345", "9845012345", "ananya@example.in", r.gateway.KeySecret(), "webhook_secret_") {
		r.fail("INV-43", nil, "server %d wrote what no log may hold: %s", s.index, line)
	}
	for _, line := range s.linesWith(`"status":500`) {
		var said struct{ Method, Route, Error string }
		if json.Unmarshal([]byte(line), &said) == nil {
			r.tally.fault(said.Method + " " + said.Route + ": " + said.Error)
		}
	}
}
