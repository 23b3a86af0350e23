package razorpay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Addresses of the real service. Both can be replaced in the configuration, so that the stand-in can take their place.
const (
	DefaultAPIURL = "https://api.razorpay.com"
	// CheckoutURL is the script the pay page loads (Docs-Aug "Integration Steps" 1.2).
	CheckoutURL = "https://checkout.razorpay.com/v1/checkout.js"
)

// RefundIdempotencyHeader carries RefundParams.IdempotencyKey (Docs-Aug "Create a Normal Refund (Idempotent Request)").
const RefundIdempotencyHeader = "X-Refund-Idempotency"

// OrderParams is what CreateOrder sends. AmountPaise and Receipt are required: the receipt is the only handle by which
// an order whose creation went unanswered can be found again.
type OrderParams struct {
	AmountPaise int64
	Currency    string // ISO 4217, three capitals
	Receipt     string // 1 to 40 printable ASCII characters (Docs-Aug "Create an Order")
	Notes       map[string]string
	// Capture overrides the account's capture settings for this order; nil leaves them in force.
	Capture *CaptureOptions
	// UniqueReceipt asks for the same order again when the receipt was used before. Only newer documentation knows it
	// (Docs-new "Retries and Idempotency"); where unsupported it is an extra field and the create is refused with 400.
	UniqueReceipt bool
}

// CaptureOptions makes the gateway capture by itself what was authorised within AutomaticExpiryMinutes and give the
// rest back after ManualExpiryMinutes (Docs-Aug "Configure Payment Capture Settings using Orders API": automatic at
// least 12, manual at least automatic and at most 7200). Zero leaves a field out.
type CaptureOptions struct {
	AutomaticExpiryMinutes, ManualExpiryMinutes int
	RefundSpeed                                 string // "normal"; older text also "optimum"
}

// RefundParams is what CreateRefund sends. The same params always give the same bytes on the wire, because the gateway
// compares bodies under one idempotency key (Docs-Aug "Create a Normal Refund (Idempotent Request)").
type RefundParams struct {
	AmountPaise    int64
	Receipt        string // unique per payment
	IdempotencyKey string // at least 10 of A-Z a-z 0-9 _ -
	Speed          string // "" leaves the account's default, else "normal" or "optimum"
	Notes          map[string]string
}

// Order is a gateway order as last seen. Status is the gateway's own word (created, attempted, paid) and may be one
// this program does not know.
type Order struct {
	ID, Receipt, Currency, Status                string
	AmountPaise, AmountPaidPaise, AmountDuePaise int64
	Attempts                                     int
	Notes                                        Notes
	CreatedAt                                    time.Time // zero when the gateway did not say
}

// Payment is a gateway payment as last seen. Status is the gateway's own word; anything unknown means not paid.
// FeePaise includes TaxPaise; both are nil until capture (Docs-Aug "Payments Entity"). Captured stays true after a
// refund. OrderID is empty for payments made without an order. Email and Contact are personal data and no keys.
type Payment struct {
	ID, OrderID, InvoiceID, CustomerID, TokenID, CardID              string
	Currency, Status, Method, RefundStatus                           string
	VPA, Bank, Wallet, Email, Contact, Description                   string
	ErrorCode, ErrorDescription, ErrorSource, ErrorStep, ErrorReason string
	AmountPaise, AmountRefundedPaise                                 int64
	FeePaise, TaxPaise                                               *int64
	Captured, International                                          bool
	Card                                                             *Card // nil unless the gateway sent it along
	AcquirerData                                                     map[string]string
	Notes                                                            Notes
	CreatedAt                                                        time.Time
}

// Card is what the gateway tells about a card. Last4 is text: it may begin with zeros.
type Card struct {
	ID, Name, Last4, Network, Type, Issuer, SubType string
	International, EMI                              bool
}

// Refund is a gateway refund as last seen: pending, processed, failed, or a word this program does not know.
type Refund struct {
	ID, PaymentID, Currency, Status, Receipt, SpeedRequested, SpeedProcessed string
	AmountPaise                                                              int64
	AcquirerData                                                             map[string]string
	Notes                                                                    Notes
	CreatedAt                                                                time.Time
}

// Dispute is a chargeback or its forerunner (Docs-Aug "Disputes Entity"). AmountDeductedPaise is 0 unless it was lost.
type Dispute struct {
	ID, PaymentID, Currency, Status, Phase, ReasonCode string
	AmountPaise, AmountDeductedPaise                   int64
	RespondByAt, CreatedAt                             time.Time
}

// ReconRow is one line of a settlement (Docs-Aug "Fetch Settlement Recon Details"). Type is payment, refund, transfer,
// adjustment or a newer word. PaymentID is empty on payment rows, whose own id is EntityID. FeePaise includes TaxPaise.
type ReconRow struct {
	EntityID, Type, Currency, SettlementID, SettlementUTR, PaymentID, OrderID, OrderReceipt string
	Method, CardNetwork, CardIssuer, CardType, CreditType, DisputeID, Description           string
	DebitPaise, CreditPaise, AmountPaise, FeePaise, TaxPaise                                int64
	OnHold, Settled                                                                         bool
	Notes                                                                                   Notes
	CreatedAt, SettledAt, PostedAt                                                          time.Time
}

// Notes are the key-value pairs an entity carries. The gateway writes {} and [] for none, and may hold values that are
// no strings; they are kept as their JSON text. Text that stands where an object should is kept under the empty key.
type Notes map[string]string

// UnmarshalJSON takes an object, a list (an object whose keys were 0, 1, 2 … before it was written), null or text.
func (n *Notes) UnmarshalJSON(raw []byte) error {
	*n = nil
	var object map[string]text
	var list []text
	var bare text
	switch {
	case json.Unmarshal(raw, &object) == nil:
		for key, value := range object {
			n.put(clean(key), string(value))
		}
	case json.Unmarshal(raw, &list) == nil:
		for i, value := range list {
			n.put(strconv.Itoa(i), string(value))
		}
	default:
		if err := json.Unmarshal(raw, &bare); err != nil {
			return err
		}
		n.put("", string(bare))
	}
	return nil
}

func (n *Notes) put(key, value string) {
	if *n == nil {
		*n = Notes{}
	}
	(*n)[key] = value
}

// String shows what a log may hold: no name, address or card.
func (p Payment) String() string {
	return fmt.Sprintf("payment %s on %s, %d paise %s, %s", p.ID, p.OrderID, p.AmountPaise, p.Currency, p.Status)
}

// ValidID reports whether id is prefix ("order", "pay", "rfnd", with or without the underscore) followed by 10 to 20
// letters and digits. Real ids have 14; published test vectors have 13 and 15 too. Every id is checked with it before
// it becomes part of a path and after it came out of a reply.
func ValidID(prefix, id string) bool {
	tail, ok := strings.CutPrefix(id, strings.TrimSuffix(prefix, "_")+"_")
	if !ok || len(tail) < 10 || len(tail) > 20 {
		return false
	}
	for i := range len(tail) {
		c := tail[i]
		if !('0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z') {
			return false
		}
	}
	return true
}

// Prefixes of the ids this room handles.
const (
	orderID   = "order"
	paymentID = "pay"
	refundID  = "rfnd"
	disputeID = "disp"
)

// The wire forms. They are apart from the types above so that the gateway's looseness (null for text, [] for {},
// numbers for text) ends here, while an amount that is not a whole number is refused rather than guessed at.

type orderWire struct {
	ID, Entity, Receipt, Currency, Status text
	Amount                                paise
	AmountPaid                            paise `json:"amount_paid"`
	AmountDue                             paise `json:"amount_due"`
	Attempts                              count
	Notes                                 Notes
	CreatedAt                             instant `json:"created_at"`
}

type paymentWire struct {
	ID, Entity, Currency, Status, Method, VPA, Bank, Wallet, Email, Contact, Description text
	OrderID                                                                              text `json:"order_id"`
	InvoiceID                                                                            text `json:"invoice_id"`
	CustomerID                                                                           text `json:"customer_id"`
	TokenID                                                                              text `json:"token_id"`
	CardID                                                                               text `json:"card_id"`
	RefundStatus                                                                         text `json:"refund_status"`
	ErrorCode                                                                            text `json:"error_code"`
	ErrorDescription                                                                     text `json:"error_description"`
	ErrorSource                                                                          text `json:"error_source"`
	ErrorStep                                                                            text `json:"error_step"`
	ErrorReason                                                                          text `json:"error_reason"`
	Amount                                                                               paise
	AmountRefunded                                                                       paise `json:"amount_refunded"`
	Fee, Tax                                                                             softPaise
	Captured                                                                             *bool
	International                                                                        flag
	Card                                                                                 loose[cardWire]
	UPI                                                                                  loose[struct{ VPA text }]
	AcquirerData                                                                         Notes `json:"acquirer_data"`
	Notes                                                                                Notes
	CreatedAt                                                                            instant `json:"created_at"`
}

type cardWire struct {
	ID, Name, Last4, Network, Type, Issuer text
	SubType                                text `json:"sub_type"`
	International, EMI                     flag
}

type refundWire struct {
	ID, Entity, Currency, Status, Receipt text
	PaymentID                             text `json:"payment_id"`
	SpeedRequested                        text `json:"speed_requested"`
	SpeedProcessed                        text `json:"speed_processed"`
	Amount                                paise
	AcquirerData                          Notes `json:"acquirer_data"`
	Notes                                 Notes
	CreatedAt                             instant `json:"created_at"`
}

type disputeWire struct {
	ID, Entity, Currency, Status, Phase text
	PaymentID                           text `json:"payment_id"`
	ReasonCode                          text `json:"reason_code"`
	Amount                              paise
	AmountDeducted                      paise   `json:"amount_deducted"`
	RespondBy                           instant `json:"respond_by"`
	CreatedAt                           instant `json:"created_at"`
}

type reconWire struct {
	EntityID      text `json:"entity_id"`
	SettlementID  text `json:"settlement_id"`
	SettlementUTR text `json:"settlement_utr"`
	PaymentID     text `json:"payment_id"`
	OrderID       text `json:"order_id"`
	OrderReceipt  text `json:"order_receipt"`
	CardNetwork   text `json:"card_network"`
	CardIssuer    text `json:"card_issuer"`
	CardType      text `json:"card_type"`
	CreditType    text `json:"credit_type"`
	DisputeID     text `json:"dispute_id"`

	Type, Currency, Method, Description text
	Debit, Credit, Amount, Fee, Tax     paise

	OnHold    flag `json:"on_hold"`
	Settled   flag
	Notes     Notes
	CreatedAt instant `json:"created_at"`
	SettledAt instant `json:"settled_at"`
	PostedAt  instant `json:"posted_at"`
}

func decodeOrder(raw []byte) (Order, error) {
	var w orderWire
	if err := json.Unmarshal(raw, &w); err != nil {
		return Order{}, badReply("order: %w", err)
	}
	switch {
	case w.Entity != "order" || !ValidID(orderID, string(w.ID)):
		return Order{}, badReply("no order: entity %.20q, id %.40q", w.Entity, w.ID)
	case !w.Amount.known || w.Amount.value < 0 || w.AmountPaid.value < 0 || w.Currency == "" || w.Status == "":
		return Order{}, badReply("order %s without amount, currency or status", w.ID)
	}
	return Order{
		ID: string(w.ID), Receipt: string(w.Receipt), Currency: string(w.Currency), Status: string(w.Status),
		AmountPaise: w.Amount.value, AmountPaidPaise: w.AmountPaid.value, AmountDuePaise: w.AmountDue.value,
		Attempts: int(w.Attempts), Notes: w.Notes, CreatedAt: w.CreatedAt.Time,
	}, nil
}

func decodePayment(raw []byte) (Payment, error) {
	var w paymentWire
	if err := json.Unmarshal(raw, &w); err != nil {
		return Payment{}, badReply("payment: %w", err)
	}
	switch {
	case w.Entity != "payment" || !ValidID(paymentID, string(w.ID)):
		return Payment{}, badReply("no payment: entity %.20q, id %.40q", w.Entity, w.ID)
	case w.OrderID != "" && !ValidID(orderID, string(w.OrderID)):
		return Payment{}, badReply("payment %s names no order: %.40q", w.ID, w.OrderID)
	case !w.Amount.known || w.Amount.value < 0 || w.AmountRefunded.value < 0 || w.Currency == "" || w.Status == "":
		return Payment{}, badReply("payment %s without amount, currency or status", w.ID)
	case w.Captured == nil && w.Status == "refunded":
		// Whether money was taken before it went back is the difference between a refund and a void.
		return Payment{}, badReply("payment %s is refunded but does not say whether it was captured", w.ID)
	}
	p := Payment{
		ID: string(w.ID), OrderID: string(w.OrderID), InvoiceID: string(w.InvoiceID), CustomerID: string(w.CustomerID),
		TokenID: string(w.TokenID), CardID: string(w.CardID),
		Currency: string(w.Currency), Status: string(w.Status), Method: string(w.Method),
		RefundStatus: string(w.RefundStatus), VPA: string(w.VPA), Bank: string(w.Bank), Wallet: string(w.Wallet),
		Email: string(w.Email), Contact: string(w.Contact), Description: string(w.Description),
		ErrorCode: string(w.ErrorCode), ErrorDescription: string(w.ErrorDescription),
		ErrorSource: string(w.ErrorSource), ErrorStep: string(w.ErrorStep), ErrorReason: string(w.ErrorReason),
		AmountPaise: w.Amount.value, AmountRefundedPaise: w.AmountRefunded.value,
		FeePaise: w.Fee.value, TaxPaise: w.Tax.value,
		Captured: w.Captured != nil && *w.Captured, International: bool(w.International),
		AcquirerData: w.AcquirerData, Notes: w.Notes, CreatedAt: w.CreatedAt.Time,
	}
	if p.VPA == "" && w.UPI.value != nil {
		p.VPA = string(w.UPI.value.VPA)
	}
	if c := w.Card.value; c != nil {
		p.Card = &Card{
			ID: string(c.ID), Name: string(c.Name), Last4: string(c.Last4), Network: string(c.Network),
			Type: string(c.Type), Issuer: string(c.Issuer), SubType: string(c.SubType),
			International: bool(c.International), EMI: bool(c.EMI),
		}
	}
	return p, nil
}

func decodeRefund(raw []byte) (Refund, error) {
	var w refundWire
	if err := json.Unmarshal(raw, &w); err != nil {
		return Refund{}, badReply("refund: %w", err)
	}
	switch {
	case w.Entity != "refund" || !ValidID(refundID, string(w.ID)):
		return Refund{}, badReply("no refund: entity %.20q, id %.40q", w.Entity, w.ID)
	case !ValidID(paymentID, string(w.PaymentID)):
		return Refund{}, badReply("refund %s names no payment: %.40q", w.ID, w.PaymentID)
	case !w.Amount.known || w.Amount.value <= 0 || w.Currency == "" || w.Status == "":
		return Refund{}, badReply("refund %s without amount, currency or status", w.ID)
	}
	return Refund{
		ID: string(w.ID), PaymentID: string(w.PaymentID), Currency: string(w.Currency), Status: string(w.Status),
		Receipt: string(w.Receipt), SpeedRequested: string(w.SpeedRequested), SpeedProcessed: string(w.SpeedProcessed),
		AmountPaise: w.Amount.value, AcquirerData: w.AcquirerData, Notes: w.Notes, CreatedAt: w.CreatedAt.Time,
	}, nil
}

func decodeDispute(raw []byte) (Dispute, error) {
	var w disputeWire
	if err := json.Unmarshal(raw, &w); err != nil {
		return Dispute{}, badReply("dispute: %w", err)
	}
	switch {
	case w.Entity != "dispute" || !ValidID(disputeID, string(w.ID)):
		return Dispute{}, badReply("no dispute: entity %.20q, id %.40q", w.Entity, w.ID)
	case !ValidID(paymentID, string(w.PaymentID)):
		return Dispute{}, badReply("dispute %s names no payment: %.40q", w.ID, w.PaymentID)
	case !w.Amount.known || w.Amount.value < 0 || w.Currency == "" || w.Status == "":
		return Dispute{}, badReply("dispute %s without amount, currency or status", w.ID)
	}
	return Dispute{
		ID: string(w.ID), PaymentID: string(w.PaymentID), Currency: string(w.Currency), Status: string(w.Status),
		Phase: string(w.Phase), ReasonCode: string(w.ReasonCode),
		AmountPaise: w.Amount.value, AmountDeductedPaise: w.AmountDeducted.value,
		RespondByAt: w.RespondBy.Time, CreatedAt: w.CreatedAt.Time,
	}, nil
}

func decodeReconRow(raw []byte) (ReconRow, error) {
	var w reconWire
	if err := json.Unmarshal(raw, &w); err != nil {
		return ReconRow{}, badReply("settlement row: %w", err)
	}
	if w.EntityID == "" || w.Type == "" || !w.Amount.known || w.Currency == "" {
		return ReconRow{}, badReply("settlement row %.40q without id, type, amount or currency", w.EntityID)
	}
	return ReconRow{
		EntityID: string(w.EntityID), Type: string(w.Type), Currency: string(w.Currency),
		SettlementID: string(w.SettlementID), SettlementUTR: string(w.SettlementUTR), PaymentID: string(w.PaymentID),
		OrderID: string(w.OrderID), OrderReceipt: string(w.OrderReceipt), Method: string(w.Method),
		CardNetwork: string(w.CardNetwork), CardIssuer: string(w.CardIssuer), CardType: string(w.CardType),
		CreditType: string(w.CreditType), DisputeID: string(w.DisputeID), Description: string(w.Description),
		DebitPaise: w.Debit.value, CreditPaise: w.Credit.value, AmountPaise: w.Amount.value,
		FeePaise: w.Fee.value, TaxPaise: w.Tax.value, OnHold: bool(w.OnHold), Settled: bool(w.Settled), Notes: w.Notes,
		CreatedAt: w.CreatedAt.Time, SettledAt: w.SettledAt.Time, PostedAt: w.PostedAt.Time,
	}, nil
}

// decodeList reads a collection (Docs-Aug "Understand Razorpay APIs") whole or not at all: a list with one unreadable
// row answers an error, because the row left out might be the captured payment. Its count is the number of rows in it,
// so a larger one means that rows were lost on the way.
func decodeList[T any](raw []byte, decode func([]byte) (T, error)) ([]T, error) {
	var w struct {
		Entity text
		Count  count
		Items  *[]json.RawMessage
	}
	if err := json.Unmarshal(raw, &w); err != nil {
		return nil, badReply("collection: %w", err)
	}
	if w.Entity != "collection" || w.Items == nil || int(w.Count) > len(*w.Items) {
		return nil, badReply("no whole collection: entity %.20q, count %d", w.Entity, w.Count)
	}
	list := make([]T, 0, len(*w.Items))
	for _, item := range *w.Items {
		one, err := decode(item)
		if err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	return list, nil
}

// clean removes NUL and bytes that are no UTF-8: JSON text can hold both, PostgreSQL can store neither.
func clean(s string) string { return strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", ""), "\ufffd") }

// text is a string, or what stands where one belongs: null is empty, anything else its own JSON text.
type text string

func (t *text) UnmarshalJSON(raw []byte) error {
	if bytes.Equal(raw, []byte("null")) {
		*t = ""
		return nil
	}
	if raw[0] != '"' {
		*t = text(clean(string(raw)))
		return nil
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return err
	}
	*t = text(clean(s))
	return nil
}

// paise is an amount: a JSON integer. 100.0, 1e2 and "100" are errors; null and a missing key are not known.
type paise struct {
	value int64
	known bool
}

func (p *paise) UnmarshalJSON(raw []byte) error {
	*p = paise{}
	if bytes.Equal(raw, []byte("null")) {
		return nil
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil {
		return fmt.Errorf("%.40q is no whole number of paise", raw)
	}
	*p = paise{value: n, known: true}
	return nil
}

// softPaise is an amount that decides nothing (fee, tax): what is no whole number is nil instead of an error, so that
// an odd fee cannot keep a payment from being recorded.
type softPaise struct{ value *int64 }

func (p *softPaise) UnmarshalJSON(raw []byte) error {
	p.value = nil
	if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
		p.value = &n
	}
	return nil
}

// lastSecond is the gateway's own upper limit for times (Docs-Aug "Fetch All Payments").
const lastSecond = 4765046400

// instant is Unix seconds; null, nonsense and what lies out of range is the zero time.
type instant struct{ time.Time }

func (i *instant) UnmarshalJSON(raw []byte) error {
	i.Time = time.Time{}
	if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil && 0 < n && n <= lastSecond {
		i.Time = time.Unix(n, 0).UTC()
	}
	return nil
}

// count is a small number for display; anything else is 0.
type count int32

func (c *count) UnmarshalJSON(raw []byte) error {
	*c = 0
	if n, err := strconv.ParseInt(string(raw), 10, 32); err == nil {
		*c = count(n)
	}
	return nil
}

// flag is true only for true.
type flag bool

func (f *flag) UnmarshalJSON(raw []byte) error {
	*f = flag(bytes.Equal(raw, []byte("true")))
	return nil
}

// loose is an object that may as well be missing, null, [] or something else: then it is nil.
type loose[T any] struct{ value *T }

func (l *loose[T]) UnmarshalJSON(raw []byte) error {
	l.value = nil
	if raw[0] != '{' {
		return nil
	}
	var v T
	if err := json.Unmarshal(raw, &v); err == nil {
		l.value = &v
	}
	return nil
}
