package payments

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"tiffin/models"
	"tiffin/razorpay/standin"
)

// eventful is an order to which everything happened: a failed attempt, a payment that was kept and a second that goes back by a refund
// that fails first, webhooks and one that died, a claim, letters, a dispute, and a cancellation by staff.
func eventful(t *testing.T) (*shop, models.Order) {
	s := openShop(t, standin.Options{Settings: standin.Settings{SecondPayment: standin.SecondCaptured, PendingRefunds: true}})
	staffID := s.hire()
	c := s.newCustomer().add("chicken-tikka", 2)
	o, id := c.open()
	must(t, s.store.HandOut(t.Context(), id))
	failed := c.pay(standin.PayParams{OrderID: id, Outcome: standin.FailNow, Method: "card"})
	must(t, s.receive(t.Context(), s.events(failed.ID)["payment.failed"]))
	p := c.pay(standin.PayParams{OrderID: id})
	s.gateway.Inject(standin.Fault{Method: "GET", Path: "/v1/payments/*", Kind: standin.HTML502, Times: 1})
	if _, err := s.cashier.VerifyCheckout(t.Context(), o, s.slip(id, p.ID), models.ViaVerify); err == nil {
		t.Fatal("verified without the gateway")
	}
	s.verify(o, id, p.ID)
	for _, name := range []string{"payment.captured", "order.paid", "payment.authorized"} {
		must(t, s.receive(t.Context(), s.events(p.ID)[name]))
	}
	second := c.pay(standin.PayParams{OrderID: id, Method: "netbanking"})
	must(t, s.receive(t.Context(), s.events(second.ID)["payment.captured"]))
	s.sweep()
	must(t, s.gateway.FailRefund(s.gateway.Books().RefundsOf(second.ID)[0].ID))
	must(t, s.receive(t.Context(), s.events(second.ID)["refund.failed"]))
	s.sweep()
	must(t, s.gateway.SettleRefund(s.gateway.Books().RefundsOf(second.ID)[1].ID))
	must(t, s.receive(t.Context(), s.events(second.ID)["refund.processed"]))
	_, err := s.store.RefreshTasks(t.Context())
	must(t, err)
	_, err = s.gateway.OpenDispute(p.ID, 0)
	must(t, err)
	must(t, s.receive(t.Context(), s.events(p.ID)["payment.dispute.created"]))
	member, err := s.store.FindStaff(t.Context(), staffID)
	must(t, err)
	_, err = s.store.MoveFulfilment(t.Context(), o.ID, models.TicketQueued, models.TicketAccepted, member)
	must(t, err)
	_, err = s.cashier.CancelOrder(t.Context(), o.ID, models.StaffActor(staffID), "The gas is off")
	must(t, err)
	s.advance(2 * time.Minute)
	s.exec(`UPDATE orders SET next_check_at = shop_now()`)
	s.sweep()
	order, err := s.store.FindOrder(t.Context(), o.ID)
	must(t, err)
	return s, order
}

func TestTimeline(t *testing.T) {
	t.Parallel()
	s, o := eventful(t)
	rows := func() string {
		return s.text(`SELECT md5(string_agg(x, ' ')) FROM (SELECT md5(string_agg(o::text, '')) FROM orders o UNION ALL SELECT md5(string_agg(p::text, '')) FROM payments p UNION ALL
			SELECT count(*)::text FROM gateway_fetches UNION ALL SELECT count(*)::text FROM audit UNION ALL SELECT count(*)::text FROM status_changes) AS all_rows (x)`)
	}
	before := rows()
	timeline, err := s.store.ReadTimeline(t.Context(), o)
	must(t, err)
	if rows() != before {
		t.Error("reading it wrote something")
	}
	text, err := json.Marshal(timeline)
	must(t, err)

	t.Run("holds every row there is of the order, in the order of time", func(t *testing.T) {
		kinds := map[string]int64{}
		for i, e := range timeline.Entries {
			kinds[e.Kind]++
			if i > 0 && e.At.Before(timeline.Entries[i-1].At) {
				t.Errorf("entry %d is older than the one before", i)
			}
		}
		for kind, query := range map[string]string{
			"order": `SELECT count(*) FROM status_changes WHERE subject = 'order'`, "payment": `SELECT count(*) FROM status_changes WHERE subject = 'payment'`,
			"refund": `SELECT count(*) FROM status_changes WHERE subject = 'refund'`, "ticket": `SELECT count(*) FROM status_changes WHERE subject = 'fulfilment'`,
			"dispute": `SELECT count(*) FROM status_changes WHERE subject = 'dispute'`, "event": `SELECT count(*) FROM webhook_events`, "fetch": `SELECT count(*) FROM gateway_fetches`,
			"claim": `SELECT 2 * count(*) FROM gateway_claims`, "gateway_order": `SELECT 2 * count(*) FROM gateway_orders`, "hint": `SELECT 2 * count(*) FROM payment_hints`, "check": `SELECT 1`,
			"decision": `SELECT count(*) FROM payments WHERE decided_at IS NOT NULL`, "ledger": `SELECT count(*) FROM ledger_entries`, "letter": `SELECT count(*) FROM outbox`,
			"task": `SELECT count(*) + count(closed_at) FROM staff_tasks`, "audit": `SELECT count(*) FROM audit WHERE order_id IS NOT NULL`,
		} {
			if n := s.count(query); n == 0 || kinds[kind] != n {
				t.Errorf("%d entries of kind %s, there are %d", kinds[kind], kind, n)
			}
			delete(kinds, kind)
		}
		if len(kinds) > 0 {
			t.Errorf("unexpected: %v", kinds)
		}
	})
	t.Run("says what was decided and why, and what became of each refund", func(t *testing.T) {
		var story []string
		for _, e := range timeline.Entries {
			switch e.Kind {
			case "decision":
				story = append(story, fmt.Sprint(e.Became, " ", e.Facts.Text("reason"), " ", *e.AmountPaise))
			case "refund":
				story = append(story, strings.TrimSpace(e.Facts.Text("refund_kind")+" "+e.Became))
			case "dispute":
				if e.Facts.Time("respond_by").IsZero() {
					t.Error("a dispute without its deadline")
				}
			case "payment":
				if e.Became == "failed" && e.Facts.Text("error_description") == "" {
					t.Error("a failed attempt without the bank's reason")
				}
			}
		}
		want := []string{fmt.Sprint("kept  ", o.AmountPaise), fmt.Sprint("given_back already_paid ", o.AmountPaise), "auto requested", "auto submitted", "auto failed", "auto requested", "auto submitted", "auto processed",
			"cancel requested"}
		if len(story) < len(want) || !slices.Equal(story[:len(want)], want) {
			t.Errorf("story %q, want %q", story, want)
		}
	})
	t.Run("the ledger's lines are all there and sum to zero", func(t *testing.T) {
		sums := map[string]models.Paise{}
		for _, e := range timeline.Entries {
			if e.Kind == "ledger" {
				sums[e.ID] += *e.AmountPaise
			}
		}
		for txn, sum := range sums {
			if sum != 0 {
				t.Errorf("transaction %s: %d", txn, sum)
			}
		}
	})
	t.Run("a webhook is shown with the hash of its bytes, and one that died is there too", func(t *testing.T) {
		s.exec(`UPDATE webhook_events SET status = 'dead', alerted_at = shop_now(), processed_at = NULL, order_ref = NULL WHERE event_type = 'order.paid'`)
		entries, err := s.store.ListTimeline(t.Context(), o.ID)
		must(t, err)
		hash := s.text(`SELECT encode(body_sha256, 'hex') FROM webhook_events WHERE event_type = 'order.paid'`)
		if !slices.ContainsFunc(entries, func(e models.TimelineEntry) bool { return e.Became == "dead" && e.Facts.Text("body_sha256") == hash }) {
			t.Error("the dead event is missing")
		}
	})
	t.Run("names nobody", func(t *testing.T) {
		for _, personal := range []string{o.Name, o.Phone, o.Phone[3:], o.Email, o.Line1, o.Line2, o.PIN, o.Token, o.CheckoutKey, "@", `"contact"`, `"vpa"`, `"email"`} {
			if strings.Contains(string(text), personal) {
				t.Errorf("it holds %q", personal)
			}
		}
	})
	t.Run("every instant is UTC, every amount a whole number", func(t *testing.T) {
		instants := regexp.MustCompile(`"(\d{4}-\d\d-\d\dT[^"]*)"`).FindAllStringSubmatch(string(text), -1)
		if len(instants) < 20 {
			t.Errorf("%d instants", len(instants))
		}
		for _, m := range instants {
			at, err := time.Parse(time.RFC3339Nano, m[1])
			if _, offset := at.Zone(); err != nil || offset != 0 {
				t.Errorf("%s: %v", m[1], err)
			}
		}
		for _, m := range regexp.MustCompile(`_paise":([^,}]*)`).FindAllStringSubmatch(string(text), -1) {
			if !regexp.MustCompile(`^(-?\d+|null)$`).MatchString(m[1]) {
				t.Errorf("an amount is %s", m[1])
			}
		}
	})
	t.Run("its fields are the ones that are written down", func(t *testing.T) {
		page, err := os.ReadFile("../docs/timeline.md")
		must(t, err)
		written := map[string][]string{}
		for _, m := range regexp.MustCompile(`(?m)^\| (\w+) \| [^|]+ \| [^|]+ \| ([^|]*) ?\|$`).FindAllStringSubmatch(string(page), -1) {
			written[m[1]] = strings.Split(strings.TrimSpace(m[2]), ", ")
		}
		delete(written, "kind")
		seen := map[string]bool{}
		for _, e := range timeline.Entries {
			seen[e.Kind] = true
			for name := range e.Facts {
				if !slices.Contains(written[e.Kind], name) {
					t.Errorf("%s has %s, which docs/timeline.md does not name", e.Kind, name)
				}
			}
		}
		if got, want := slices.Sorted(maps.Keys(seen)), slices.Sorted(maps.Keys(written)); !slices.Equal(got, want) {
			t.Errorf("kinds %v, written down are %v", got, want)
		}
	})
	t.Run("another order's is its own", func(t *testing.T) {
		other := s.newCustomer().add("samosa", 2).place()
		entries, err := s.store.ListTimeline(t.Context(), other.ID)
		must(t, err)
		if len(entries) != 1 || entries[0].ID != other.PublicID {
			t.Errorf("entries %s", plain(entries))
		}
	})
}

// What the gateway answered is noted once for each road that heard it, however often it is asked.
func TestFetchesAreNotedOnce(t *testing.T) {
	t.Parallel()
	s := openShop(t, standin.Options{})
	o, id, p := s.newCustomer().add("samosa", 2).paidFor()
	for range 5 {
		s.verify(o, id, p.ID)
	}
	must(t, s.receive(t.Context(), s.events(p.ID)["payment.captured"]))
	must(t, s.receive(t.Context(), s.events(p.ID)["order.paid"]))
	if got := s.text(`SELECT string_agg(via || ' ' || answer, ', ' ORDER BY id) FROM gateway_fetches`); got != "verify captured, webhook captured" {
		t.Errorf("noted: %s", got)
	}
	if _, err := s.store.SQL().ExecContext(t.Context(), `UPDATE gateway_fetches SET answer = 'failed'`); err == nil {
		t.Error("an answer can be changed")
	}
}
