package payments

import (
	"slices"
	"strings"
	"testing"
	"time"

	"tiffin/models"
	"tiffin/razorpay"
	"tiffin/razorpay/standin"
)

// toMonday moves both clocks to noon of the next Monday, so that T+2 is Wednesday whatever day the test runs on.
func (s *shop) toMonday() {
	s.t.Helper()
	now, err := s.store.Now(s.t.Context())
	must(s.t, err)
	s.advance(time.Duration((8-int(now.In(models.India).Weekday()))%7) * 24 * time.Hour)
}

func (s *shop) settle() int {
	s.t.Helper()
	n, err := s.cashier.RecordSettlements(s.t.Context())
	must(s.t, err)
	return n
}

func (s *shop) audit() models.Audit {
	s.t.Helper()
	a, err := s.store.AuditPaise(s.t.Context(), models.AuditScope{})
	must(s.t, err)
	return a
}

// explained fails the test unless every paisa is.
func (s *shop) explained() models.Audit {
	s.t.Helper()
	a := s.audit()
	if len(a.Findings) > 0 || a.UnexplainedPaise != 0 {
		s.t.Errorf("%d paise unexplained: %s", a.UnexplainedPaise, plain(a.Findings))
	}
	found, err := s.cashier.AuditGateway(s.t.Context(), models.AuditScope{})
	must(s.t, err)
	if len(found) > 0 {
		s.t.Errorf("at the gateway: %s", plain(found))
	}
	s.kept()
	return a
}

// A day's money goes its whole way: captured, given back in part, in full, twice paid; paid out two working days later less Razorpay's fee
// and its tax. At every stop the audit explains each paisa, and reading payouts again changes nothing.
func TestSettlements(t *testing.T) {
	t.Parallel()
	s := openShop(t, standin.Options{Settings: standin.Settings{SecondPayment: standin.SecondCaptured}})
	s.toMonday()
	kept, paid := s.feast()
	part, _ := s.feast()
	s.mustGive(part, models.Giving{Pieces: map[int]int{1: 1}})
	full, _ := s.feast()
	_, err := s.cashier.CancelOrder(t.Context(), full.ID, models.StaffActor(1), "No gas")
	must(t, err)
	second := s.pay(standin.PayParams{OrderID: paid.OrderID})
	s.verify(kept, paid.OrderID, second.ID)
	s.explained()
	s.sweep()
	a := s.explained()
	if a.Paise("captured") == 0 || a.Paise("awaiting") != a.Paise("captured")-a.Paise("refunded") || a.Paise("refunding") != 0 {
		t.Errorf("before anything is paid out: %s", plain(a.Headings))
	}
	if n := s.settle(); n != 0 {
		t.Errorf("%d lines before T+2", n)
	}

	s.advance(47 * time.Hour) // Wednesday, eleven o'clock
	if n := s.settle(); n != 7 {
		t.Errorf("%d lines of payouts, want four payments and three refunds", n)
	}
	if n := s.settle(); n != 0 {
		t.Errorf("%d lines again", n)
	}
	a = s.explained()
	if a.Paise("awaiting") != 0 || a.Paise("paid_out")+a.Paise("fees")+a.Paise("fee_tax") != a.Paise("captured")-a.Paise("refunded") || a.Paise("fees") == 0 {
		t.Errorf("paid out: %s", plain(a.Headings))
	}
	var settled int64
	for _, p := range s.gateway.Books().Payments {
		settled += p.AmountPaise - p.FeePaise
	}
	for _, r := range s.gateway.Books().Refunds {
		settled -= r.AmountPaise
	}
	if int64(a.Paise("paid_out")) != settled || s.count(`SELECT sum(amount_paise) FROM ledger_entries WHERE account = 'bank'`) != settled {
		t.Errorf("%d paise paid out, the gateway paid %d", a.Paise("paid_out"), settled)
	}
	if n := s.count(`SELECT sum(amount_paise) FROM ledger_entries WHERE account = 'gateway_clearing'`); n != 0 {
		t.Errorf("%d paise are still in clearing", n)
	}
}

// The clock is the catch-up: what a week of silence missed is read when the gateway answers again, and until then what is late is named.
func TestSettlementsCatchUp(t *testing.T) {
	t.Parallel()
	s := openShop(t, standin.Options{})
	s.toMonday()
	o, paid := s.feast()
	s.advance(3 * 24 * time.Hour) // Thursday: T+3
	s.explained()
	s.advance(24 * time.Hour)
	a := s.audit()
	if len(a.Findings) != 1 || a.Findings[0].Check != "overdue" || a.Findings[0].Table != "payments" || *a.Findings[0].OrderID != o.ID || int64(a.UnexplainedPaise) != paid.AmountPaise {
		t.Errorf("on Friday: %s", plain(a.Findings))
	}
	s.gateway.Inject(standin.Fault{Method: "GET", Path: "/v1/settlements/recon/combined", Kind: standin.HTML502, Times: 1})
	if _, err := s.cashier.RecordSettlements(t.Context()); err == nil {
		t.Error("a silent gateway is no answer")
	}
	s.advance(40 * 24 * time.Hour) // another month
	if n := s.settle(); n != 1 {
		t.Errorf("%d lines", n)
	}
	s.explained()
}

// A payout that names money we have not heard of has it asked about: ours is recorded, another program's is kept apart, by name.
func TestSettlementsNameWhatIsUnknown(t *testing.T) {
	t.Parallel()
	s := openShop(t, standin.Options{})
	s.toMonday()
	o, gatewayOrder := s.newCustomer().add("dal-makhani", 2).open()
	ours := s.pay(standin.PayParams{OrderID: gatewayOrder}) // nobody tells us
	theirs, err := s.cashier.gateway.CreateOrder(t.Context(), razorpay.OrderParams{AmountPaise: 90000, Currency: "INR", Receipt: "invoice-7"})
	must(t, err)
	s.pay(standin.PayParams{OrderID: theirs.ID})
	s.advance(47 * time.Hour)
	if found, err := s.cashier.AuditGateway(t.Context(), models.AuditScope{}); err != nil || len(found) != 1 || found[0].Table != "gateway_orders" || found[0].ID != gatewayOrder || int64(found[0].Paise) != ours.AmountPaise {
		t.Errorf("the gateway knows more: %s %v", plain(found), err)
	}
	if n := s.settle(); n != 2 {
		t.Errorf("%d lines", n)
	}
	if s.count(`SELECT count(*) FROM payments WHERE razorpay_payment_id = $1 AND disposition IS NOT NULL`, ours.ID) != 1 || s.status(o) == models.OrderPending {
		t.Errorf("ours is not recorded: %s", s.story(o))
	}
	s.heal()
	a := s.audit()
	if a.Paise("elsewhere") == 0 || slices.ContainsFunc(a.Findings, func(f models.AuditFinding) bool { return f.Table == "settlement_items" }) {
		t.Errorf("%s\n%s", plain(a.Headings), plain(a.Findings))
	}
}

// A lost dispute is an adjustment of a payout, and explained by the dispute; what differs from it is named.
func TestSettlementsOfDisputes(t *testing.T) {
	t.Parallel()
	s := openShop(t, standin.Options{})
	s.toMonday()
	s.feast()
	_, _, d := s.disputed()
	must(t, s.gateway.DecideDispute(d.ID, "lost"))
	s.feast()
	s.advance(47 * time.Hour)
	if n := s.settle(); n != 4 {
		t.Errorf("%d lines", n)
	}
	a := s.explained()
	if int64(a.Paise("disputed")) != d.AmountPaise {
		t.Errorf("%d paise for disputes, want %d", a.Paise("disputed"), d.AmountPaise)
	}
}

// What the gateway says and what is here are held against each other, payment by payment.
func TestAuditGateway(t *testing.T) {
	t.Parallel()
	s := openShop(t, standin.Options{})
	o, paid := s.feast()
	s.advance(time.Hour)
	s.explained()
	payment := s.text(`SELECT id::text FROM payments WHERE order_id = $1`, o.ID)
	_, err := s.gateway.RefundOutside(paid.ID, 5000)
	must(t, err)
	found, err := s.cashier.AuditGateway(t.Context(), models.AuditScope{})
	if err != nil || len(found) != 1 || found[0].ID != payment || found[0].Paise != 5000 || !strings.Contains(found[0].Text, "given back") {
		t.Errorf("a refund made outside: %s %v", plain(found), err)
	}
	s.exec(`ALTER TABLE payments DISABLE TRIGGER ALL`)
	s.exec(`UPDATE payments SET amount_paise = amount_paise - 300 WHERE order_id = $1`, o.ID)
	found, err = s.cashier.AuditGateway(t.Context(), models.AuditScope{})
	if err != nil || len(found) != 1 || found[0].ID != payment || found[0].Paise != 300 {
		t.Errorf("another amount: %s %v", plain(found), err)
	}
	s.gateway.Inject(standin.Fault{Method: "GET", Path: "/v1/orders/*/payments", Kind: standin.HTML502, Times: 1})
	if _, err := s.cashier.AuditGateway(t.Context(), models.AuditScope{}); err == nil {
		t.Error("a silent gateway is no answer")
	}
	if found, err := s.cashier.AuditGateway(t.Context(), models.AuditScope{Day: "2020-01-01"}); err != nil || len(found) != 0 {
		t.Errorf("another day: %s %v", plain(found), err)
	}
}
