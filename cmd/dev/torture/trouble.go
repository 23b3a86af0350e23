package torture

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"tiffin/models"
	"tiffin/razorpay"
	"tiffin/razorpay/standin"
)

// What goes wrong around the shop. Each move does one thing, counts it if it could be done, and leaves the shop to find out.

// passTime moves the shop's clock and the gateway's, and has the sweeps run that an hour glass of that size would have seen. The gateway
// goes first: what it does is never earlier, by the clocks, than the shop's row that caused it.
func (r *round) passTime(ctx context.Context, by time.Duration) {
	r.setClock(ctx, by)
	r.sweep(ctx)
	r.tally.add("time jumps")
}

func (r *round) setClock(ctx context.Context, by time.Duration) {
	r.clockMu.Lock()
	defer r.clockMu.Unlock()
	r.gateway.Advance(by)
	r.offset += by
	r.must(ctx, "set the clock", func() error {
		_, err := r.store.SQL().ExecContext(ctx, fmt.Sprintf(`CREATE OR REPLACE FUNCTION shop_now() RETURNS timestamptz LANGUAGE sql VOLATILE AS
			$$ SELECT clock_timestamp() + interval '%d milliseconds' $$`, r.offset.Milliseconds()))
		return err
	})
}

// sweep asks for every sweep now. The timetable runs by real time, on the one process that leads, and after that one was killed nobody leads
// for some ten seconds: a round has not the time to wait for either.
func (r *round) sweep(ctx context.Context) {
	r.must(ctx, "ask for the sweeps", func() error {
		return r.store.InTx(ctx, func(tx *models.Store) error {
			for _, args := range sweeps {
				if err := tx.Enqueue(ctx, args); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// change edits the shop's rows as the office does, for want of a page.
func (r *round) change(ctx context.Context, what, text string, args ...any) {
	r.must(ctx, what, func() error {
		_, err := r.store.SQL().ExecContext(ctx, text, args...)
		return err
	})
	r.tally.add(what)
}

// killWhileCalling has the gateway hold a call of the shop's and kills whoever made it.
func (r *round) killWhileCalling(ctx context.Context, call string) {
	fault := r.gateway.Inject(standin.Fault{Path: call, Kind: standin.Stall, Times: 1})
	defer r.gateway.RemoveFault(fault)
	deadline := time.Now().Add(500 * time.Millisecond)
	for time.Now().Before(deadline) {
		if i := slices.IndexFunc(r.gateway.Faults(), func(f standin.Fault) bool { return f.ID == fault && f.Hits > 0 }); i >= 0 {
			for _, s := range r.servers {
				s.kill(killedInACall)
			}
			r.gateway.ReleaseStalled() // the gateway does what was asked for, or finds its caller gone
			return
		}
		if !rest(ctx, 2*time.Millisecond) {
			return
		}
	}
}

// pauseServer stops a process as a machine does that swaps or is moved, for longer than any lease of the shop's rows.
func (r *round) pauseServer(ctx context.Context, at int, by, pause time.Duration) {
	s := r.servers[at]
	s.signal("", syscall.SIGSTOP)
	defer s.signal("", syscall.SIGCONT)
	rest(ctx, pause/2)
	r.setClock(ctx, by)
	r.sweep(ctx) // the other process, if there is one, takes over
	rest(ctx, pause/2)
	r.tally.add("process paused past its lease")
}

// restartDatabase stops the database server, in order or with SIGKILL, and starts it again.
func (r *round) restartDatabase(ctx context.Context, kill bool) {
	p := r.place
	p.trouble.Add(1)
	p.down.Store(true)
	defer func() {
		p.trouble.Add(1)
		p.down.Store(false)
	}()
	what := "database restarted"
	if kill {
		what = "database killed"
		if err := p.db.Kill(); err != nil {
			r.fail("torture", nil, "kill the database: %v", err)
		}
	}
	if err := p.db.Restart(context.WithoutCancel(ctx)); err != nil {
		r.fail("torture", nil, "restart the database: %v", err)
	}
	r.tally.add(what)
}

// cutConnections ends every session of the round's database, in the middle of whatever it does.
func (r *round) cutConnections(ctx context.Context) {
	r.place.trouble.Add(1)
	defer r.place.trouble.Add(1)
	if err := r.place.admin(ctx, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '"+r.database+"'"); err != nil {
		r.fail("torture", nil, "cut connections: %v", err)
	}
	r.tally.add("database connections cut")
}

// takeMailAway makes every letter fail; a server that starts meanwhile makes an empty folder, as it would on a new disk.
func (r *round) takeMailAway() {
	if err := os.Rename(r.mailDir(), r.mailDir()+"-away"); err == nil {
		r.tally.add("folder for letters gone")
	}
}

func (r *round) bringMailBack() {
	away := r.mailDir() + "-away"
	if err := os.Rename(away, r.mailDir()); err == nil {
		return
	}
	letters, err := filepath.Glob(filepath.Join(away, "*.eml")) // a server has made the folder anew
	for _, file := range letters {
		err = cmp.Or(err, os.Rename(file, filepath.Join(r.mailDir(), filepath.Base(file))))
	}
	if err != nil {
		r.fail("torture", nil, "bring the letters back: %v", err)
	}
}

func (r *round) mailDir() string { return filepath.Join(r.dir, "mail") }

// letters are the files in the folder.
func (r *round) letters() (n int, err error) {
	err = filepath.WalkDir(r.mailDir(), func(path string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".eml") {
			n++
		}
		return err
	})
	return n, err
}

// rotateSecret gives the webhooks a new secret. The shop learns of it by a deploy, and knows the old one too, for what is still on its way.
func (r *round) rotateSecret() {
	r.mu.Lock()
	r.rotated++
	r.previous, r.secret = r.secret, fmt.Sprintf("webhook_secret_%d", r.rotated)
	secret := r.secret
	r.mu.Unlock()
	for _, h := range r.gateway.Webhooks() {
		r.gateway.RotateWebhookSecret(h.URL, secret)
	}
	for _, s := range r.servers {
		s.deploy()
	}
	r.tally.add("webhook secret rotated")
}

// The bank's and the dashboard's. A target is picked among what is there, by a number of the schedule.

const targetLimit = 800 * time.Millisecond // how long somebody waits for something to do his deed to

// patiently tries a deed until it could be done, counts it, and gives up when there is nothing to do it to for long.
func (r *round) patiently(ctx context.Context, kind string, deed func() bool) {
	for deadline := time.Now().Add(targetLimit); time.Now().Before(deadline); {
		if deed() {
			r.tally.add(kind)
			return
		}
		if !rest(ctx, 25*time.Millisecond) {
			return
		}
	}
}

func (r *round) paymentWhere(which int, fits func(standin.Payment) bool) (standin.Payment, bool) {
	found := slices.DeleteFunc(r.gateway.Books().Payments, func(p standin.Payment) bool { return !fits(p) })
	if len(found) == 0 {
		return standin.Payment{}, false
	}
	return found[which%len(found)], true
}

func (r *round) decideLate(ctx context.Context, which int) {
	r.patiently(ctx, "bank says yes late", func() bool {
		p, found := r.paymentWhere(which, func(p standin.Payment) bool { return p.Status == "failed" || p.Status == "created" })
		return found && r.gateway.SucceedLate(p.ID) == nil
	})
}

func (r *round) sayNo(ctx context.Context, which int) {
	r.patiently(ctx, "bank says no late", func() bool {
		p, found := r.paymentWhere(which, func(p standin.Payment) bool { return p.Status == "created" })
		return found && r.gateway.Fail(p.ID, "") == nil
	})
}

func (r *round) captureOrReturn(ctx context.Context, which int) {
	kind, do := "given back by the gateway", r.gateway.GiveBack
	if which%2 == 0 {
		kind, do = "captured by hand", r.gateway.Capture
	}
	r.patiently(ctx, kind, func() bool {
		p, found := r.paymentWhere(which, func(p standin.Payment) bool { return p.Status == "authorized" })
		return found && do(p.ID) == nil
	})
}

func (r *round) refundOutside(ctx context.Context, which int, all bool) {
	what := "refund in the dashboard"
	if !all {
		what = "part refund in the dashboard"
	}
	r.patiently(ctx, what, func() bool {
		p, found := r.paymentWhere(which, func(p standin.Payment) bool { return p.Captured && p.AmountRefundedPaise < p.AmountPaise })
		amount := int64(0)
		if !all {
			amount = (p.AmountPaise - p.AmountRefundedPaise + 1) / 2
		}
		if !found {
			return false
		}
		_, err := r.gateway.RefundOutside(p.ID, amount)
		return err == nil
	})
}

func (r *round) failRefund(ctx context.Context, which int) {
	r.patiently(ctx, "refund fails after all", func() bool {
		refunds := slices.DeleteFunc(r.gateway.Books().Refunds, func(f standin.Refund) bool { return f.Status == "failed" || f.Auto })
		return len(refunds) > 0 && r.gateway.FailRefund(refunds[which%len(refunds)].ID) == nil
	})
}

// strayOrder is a gateway order with the shop's marks that fits none of its orders, as a database that was lost leaves them, and money on it.
func (r *round) strayOrder(ctx context.Context, which int) {
	publicID := fmt.Sprintf("%s%d", strayPrefix, which)
	gateway := razorpay.New(razorpay.Config{KeyID: r.gateway.KeyID(), KeySecret: r.gateway.KeySecret(), APIURL: r.apiURL})
	made, err := gateway.CreateOrder(ctx, razorpay.OrderParams{AmountPaise: int64(10000 + which%10000), Currency: "INR", Receipt: publicID + "-g1",
		Notes:   map[string]string{"tiffin_order": publicID, "tiffin_attempt": "1"},
		Capture: &razorpay.CaptureOptions{AutomaticExpiryMinutes: 30, ManualExpiryMinutes: 30, RefundSpeed: "normal"}})
	if err != nil {
		return // spoilt, as the shop's own calls are
	}
	if _, err := r.gateway.Pay(standin.PayParams{OrderID: made.ID}); err == nil {
		r.tally.add("money that fits no order")
	}
}

// strayPrefix begins the receipts of gateway orders that are the torture's, not the shop's.
const strayPrefix = "tstray"

func (r *round) lowBalance(on bool) {
	r.gateway.Configure(func(s *standin.Settings) { s.LowBalance = on })
	if on {
		r.tally.add("no balance to refund from")
	}
}

func (r *round) dispute(ctx context.Context, which int) {
	r.patiently(ctx, "payment disputed", func() bool {
		p, found := r.paymentWhere(which, func(p standin.Payment) bool { return p.Captured })
		if !found {
			return false
		}
		_, err := r.gateway.OpenDispute(p.ID, 0)
		return err == nil
	})
}

// deliverAgain sends an event another time, whatever became of it.
func (r *round) deliverAgain(ctx context.Context, which int) {
	r.patiently(ctx, "webhook sent again", func() bool {
		e, found := r.event(which)
		if !found {
			return false
		}
		_, err := r.gateway.Deliver(ctx, e.ID)
		return err == nil
	})
}

func (r *round) event(which int) (standin.Event, bool) {
	events := r.gateway.Events()
	if len(events) == 0 {
		return standin.Event{}, false
	}
	return events[which%len(events)], true
}

// What the forger sends.
const (
	forgedSignature = "an event with a forged signature"
	alteredBody     = "an event with another amount and the true signature"
	otherID         = "a true event under another id"
	otherBody       = "a true event under an id that is taken"
	garbage         = "something that is no event"
	hugeBody        = "a body beyond any event"
	unknownKind     = "an event of an unknown kind"
)

var forgeries = []string{forgedSignature, forgedSignature, alteredBody, otherID, otherBody, garbage, hugeBody, unknownKind}

// forgeWebhook posts what the gateway would never have sent so. What is not signed must be refused; what is signed must do no harm.
func (r *round) forgeWebhook(ctx context.Context, at int, how string, which int) {
	r.patiently(ctx, "forger: "+how, func() bool { return r.forgeOnce(ctx, at, how, which) })
}

func (r *round) forgeOnce(ctx context.Context, at int, how string, which int) (sent bool) {
	e, found := r.event(which)
	if !found {
		return false
	}
	r.mu.Lock()
	secret := r.secret
	r.mu.Unlock()
	body, id, signed := e.Body, e.ID, true
	signature := razorpay.SignWebhook(secret, body)
	switch how {
	case forgedSignature:
		signature, signed = razorpay.SignWebhook("not the secret", body), false
	case alteredBody:
		body, signed = bytes.Replace(body, []byte(`"amount":`), []byte(`"amount":1`), 1), false
		if bytes.Equal(body, e.Body) {
			return false
		}
	case otherID:
		id = "x" + e.ID
	case otherBody:
		if other, found := r.event(which + 1); found && other.ID != e.ID {
			id = other.ID
		}
	case garbage:
		body, signed = []byte(`{"event":`), true
		signature = razorpay.SignWebhook(secret, body)
		id = "garbage" + e.ID
	case hugeBody:
		body, signed = bytes.Repeat([]byte(" "), 300<<10), false
	case unknownKind:
		body, id = []byte(`{"entity":"event","event":"invoice.paid","payload":{},"created_at":1}`), "unknown"+e.ID
		signature = razorpay.SignWebhook(secret, body)
	}
	status := r.postWebhook(ctx, at, body, id, signature)
	if status != 0 && !signed && status < 400 {
		r.fail("signature", nil, "%s was answered %d", how, status)
	}
	return status != 0
}

func (r *round) postWebhook(ctx context.Context, at int, body []byte, id, signature string) int {
	ctx, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, r.servers[at%len(r.servers)].url+webhookPath, bytes.NewReader(body))
	if err != nil {
		r.fail("torture", nil, "request: %v", err)
		return 0
	}
	q.Header.Set("Content-Type", "application/json")
	q.Header.Set("X-Razorpay-Event-Id", id)
	q.Header.Set("X-Razorpay-Signature", signature)
	answer, err := r.client.Do(q)
	if err != nil {
		return 0
	}
	_ = answer.Body.Close()
	r.answered(answer.StatusCode)
	return answer.StatusCode
}

// feeOf is the gateway's fee on an order's payment when the customer bears it: 2 % and 18 % tax on that, of the amount with the fee.
func (r *round) feeOf(orderID string) int64 {
	o, found := r.gateway.Books().Order(orderID)
	if !found {
		return 0
	}
	var fee int64
	for range 50 {
		base := ((o.AmountPaise+fee)*2 + 50) / 100
		next := base + (base*18+50)/100
		if next == fee {
			break
		}
		fee = next
	}
	return fee
}
