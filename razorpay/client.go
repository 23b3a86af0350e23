// Package razorpay says in typed Go what Razorpay's API, Checkout and webhooks say: orders, payments, refunds, events.
// It must not know our orders, our database or who asks; it imports nothing of ours.
// It promises that no call hangs, repeats a POST or panics, that a success names what was asked for, and that amounts are whole paise.
// Read client.go first, then outcome.go: what a caller must conclude when a call fails.
package razorpay

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	sdk "github.com/razorpay/razorpay-go"
)

// Config is written once by the wiring and read by New. It prints without the secret.
type Config struct {
	KeyID     string
	KeySecret string            `json:"-"`
	APIURL    string            // "" is DefaultAPIURL; no trailing slash, no /v1
	Timeout   time.Duration     // of one call, body included; 0 is 8 s
	Base      http.RoundTripper `json:"-"` // nil is a pooled transport shared by all clients
}

// Format hides the secret from every verb.
func (c Config) Format(f fmt.State, _ rune) {
	fmt.Fprintf(f, "{KeyID:%s APIURL:%s Timeout:%s}", c.KeyID, c.APIURL, c.Timeout)
}

// Client asks Razorpay. It is safe for use by many goroutines. Create makes one POST, Fetch one GET, List one GET a
// page; none of them repeats anything, and each request has its own Timeout. Errors: *APIError (non-2xx), ErrBadReply (a 2xx that does not say what was
// asked), ErrInvalid (refused here, nothing sent), or one that wraps the transport's, context.DeadlineExceeded among
// them. OutcomeOf says what each means. Never call one inside a database transaction.
type Client struct {
	keyID, keySecret, apiURL string
	timeout                  time.Duration
	base                     http.RoundTripper
	secrets                  [][]byte
	broken                   error // an APIURL that cannot be used: answered by every call
}

// New never fails and opens nothing. An unusable APIURL is reported by every call, as ErrInvalid.
func New(cfg Config) *Client {
	c := &Client{
		keyID: cfg.KeyID, keySecret: cfg.KeySecret, apiURL: strings.TrimRight(cmp.Or(cfg.APIURL, DefaultAPIURL), "/"),
		timeout: cfg.Timeout, base: cfg.Base, secrets: secretForms(cfg.KeyID, cfg.KeySecret),
	}
	if c.timeout <= 0 {
		c.timeout = defaultTimeout
	}
	if c.base == nil {
		c.base = shared
	}
	u, err := url.Parse(c.apiURL)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Scheme != "https" && u.Scheme != "http" {
		c.broken = invalid("the API address must be http(s)://host[:port][/path]")
	}
	return c
}

// Format hides the secret from every verb.
func (c Client) Format(f fmt.State, _ rune) {
	fmt.Fprintf(f, "razorpay client of %s at %s", c.keyID, c.apiURL)
}

// CreateOrder makes a gateway order (Docs-Aug "Create an Order"). Amounts are paise. It is not safe to repeat: no
// idempotency key is documented for orders and receipts are not dependably unique, so after an Unknown outcome look the
// receipt up with ListOrdersByReceipt, and know that an empty list proves nothing. A success has the amount, currency
// and receipt that were asked for.
func (c *Client) CreateOrder(ctx context.Context, in OrderParams) (Order, error) {
	if err := in.check(); err != nil {
		return Order{}, err
	}
	body := map[string]any{"amount": in.AmountPaise, "currency": in.Currency, "receipt": in.Receipt}
	if len(in.Notes) > 0 {
		body["notes"] = in.Notes
	}
	if in.Capture != nil {
		body["payment"] = in.Capture.body()
	}
	if in.UniqueReceipt {
		body["unique_receipt"] = true
	}
	raw, err := c.call(ctx, func(s *sdk.Client) (map[string]any, error) { return s.Order.Create(body, nil) })
	if err != nil {
		return Order{}, fmt.Errorf("creating order %s: %w", in.Receipt, err)
	}
	o, err := decodeOrder(raw)
	if err == nil && (o.AmountPaise != in.AmountPaise || o.Currency != in.Currency || o.Receipt != "" && o.Receipt != in.Receipt) {
		err = badReply("order %s is for %d paise %s, receipt %.40q", o.ID, o.AmountPaise, o.Currency, o.Receipt)
	}
	if err != nil {
		return Order{}, fmt.Errorf("creating order %s: %w", in.Receipt, err)
	}
	return o, nil
}

// FetchOrder reads one order; by id the gateway is consistent (Docs-Aug "Fetch Order by Id"). Safe to repeat. An
// unknown id is Refused, an order of more than 180 days IsTooOld.
func (c *Client) FetchOrder(ctx context.Context, id string) (Order, error) {
	return fetch(ctx, c, orderID, id, decodeOrder, func(o Order) string { return o.ID },
		func(s *sdk.Client) (map[string]any, error) { return s.Order.Fetch(id, nil, nil) })
}

// ListOrdersByReceipt gives the orders made with exactly this receipt, oldest first (Docs-Aug "Fetch All Orders"). Safe
// to repeat. A hit can be used; an empty list proves nothing, since lists lag behind by minutes (Probes).
func (c *Client) ListOrdersByReceipt(ctx context.Context, receipt string) ([]Order, error) {
	if err := checkReceipt(receipt); err != nil {
		return nil, err
	}
	all, err := listAll(decodeOrder, func(o Order) string { return o.ID }, func(count, skip int) ([]byte, error) {
		return c.call(ctx, func(s *sdk.Client) (map[string]any, error) {
			return s.Order.All(map[string]any{"receipt": receipt, "count": count, "skip": skip}, nil)
		})
	})
	if err != nil {
		return nil, fmt.Errorf("listing orders of receipt %s: %w", receipt, err)
	}
	all = slices.DeleteFunc(all, func(o Order) bool { return o.Receipt != receipt })
	slices.SortStableFunc(all, func(a, b Order) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	return all, nil
}

// ListOrderPayments gives every attempt on an order, failed ones too (Docs-Aug "Fetch Payments for an Order", which
// knows no paging). Safe to repeat. The whole list or an error, never a part.
func (c *Client) ListOrderPayments(ctx context.Context, id string) ([]Payment, error) {
	if !ValidID(orderID, id) {
		return nil, invalid("%.40q is no order id", id)
	}
	raw, err := c.call(ctx, func(s *sdk.Client) (map[string]any, error) { return s.Order.Payments(id, nil, nil) })
	if err != nil {
		return nil, fmt.Errorf("listing payments of %s: %w", id, err)
	}
	list, err := decodeList(raw, decodePayment)
	if err != nil {
		return nil, fmt.Errorf("listing payments of %s: %w", id, err)
	}
	for _, p := range list {
		if p.OrderID != "" && p.OrderID != id {
			return nil, fmt.Errorf("listing payments of %s: %w", id, badReply("payment %s belongs to %s", p.ID, p.OrderID))
		}
	}
	return list, nil
}

// FetchPayment reads one payment (Docs-Aug "Fetch a Payment"): the evidence of money. Safe to repeat. An unknown id is
// Refused.
func (c *Client) FetchPayment(ctx context.Context, id string) (Payment, error) {
	return fetch(ctx, c, paymentID, id, decodePayment, func(p Payment) string { return p.ID },
		func(s *sdk.Client) (map[string]any, error) { return s.Payment.Fetch(id, nil, nil) })
}

// ListPayments gives one page of the account's payments created in [from, to] (Docs-Aug "Fetch All Payments"): at most
// count of them, 1 to 100, after leaving out skip. A page shorter than count is the last. Safe to repeat. Lists lag:
// what is missing may exist.
func (c *Client) ListPayments(ctx context.Context, from, to time.Time, count, skip int) ([]Payment, error) {
	switch {
	case count < 1 || count > maxPage || skip < 0:
		return nil, invalid("a page of %d after %d", count, skip)
	case from.Unix() < firstSecond || to.Unix() > lastSecond || to.Before(from):
		return nil, invalid("payments from %s to %s", from, to)
	}
	raw, err := c.call(ctx, func(s *sdk.Client) (map[string]any, error) {
		return s.Payment.All(map[string]any{"from": from.Unix(), "to": to.Unix(), "count": count, "skip": skip}, nil)
	})
	if err != nil {
		return nil, fmt.Errorf("listing payments: %w", err)
	}
	list, err := decodeList(raw, decodePayment)
	if err != nil {
		return nil, fmt.Errorf("listing payments: %w", err)
	}
	return list, nil
}

// CreateRefund gives AmountPaise of a captured payment back (Docs-Aug "Create a Normal Refund (Idempotent Request)").
// Safe to repeat with the same params, which the gateway answers with the same refund or Conflict; after any other
// change of params use a new key and receipt. After Unknown or Conflict read ListPaymentRefunds and match the receipt.
// A success has the payment and amount that were asked for, and may be pending, processed or already failed. Errors
// that ask for more than OutcomeOf: IsAlreadyRefunded, IsLowBalance, IsTooOld, IsDuplicateReceipt.
func (c *Client) CreateRefund(ctx context.Context, id string, in RefundParams) (Refund, error) {
	if !ValidID(paymentID, id) {
		return Refund{}, invalid("%.40q is no payment id", id)
	}
	if err := in.check(); err != nil {
		return Refund{}, err
	}
	// The SDK writes a map in the order of its keys, so the same params are the same bytes. Its own Payment.Refund takes
	// the amount as an int.
	body := map[string]any{"amount": in.AmountPaise, "receipt": in.Receipt}
	if in.Speed != "" {
		body["speed"] = in.Speed
	}
	if len(in.Notes) > 0 {
		body["notes"] = in.Notes
	}
	header := map[string]string{RefundIdempotencyHeader: in.IdempotencyKey}
	raw, err := c.call(ctx, func(s *sdk.Client) (map[string]any, error) {
		return s.Request.Post("/v1/payments/"+id+"/refund", body, header)
	})
	if err != nil {
		return Refund{}, fmt.Errorf("refunding %s: %w", id, err)
	}
	r, err := decodeRefund(raw)
	if err == nil && (r.PaymentID != id || r.AmountPaise != in.AmountPaise || r.Receipt != "" && r.Receipt != in.Receipt) {
		err = badReply("refund %s is %d paise of %s, receipt %.40q", r.ID, r.AmountPaise, r.PaymentID, r.Receipt)
	}
	if err != nil {
		return Refund{}, fmt.Errorf("refunding %s: %w", id, err)
	}
	return r, nil
}

// FetchRefund reads one refund (Docs-Aug "Refunds Entity"). Safe to repeat. An unknown id is Refused.
func (c *Client) FetchRefund(ctx context.Context, id string) (Refund, error) {
	return fetch(ctx, c, refundID, id, decodeRefund, func(r Refund) string { return r.ID },
		func(s *sdk.Client) (map[string]any, error) { return s.Refund.Fetch(id, nil, nil) })
}

// ListPaymentRefunds gives all refunds of a payment, whoever made them, page by page (Docs-Aug "Fetch Multiple Refunds
// for a Payment"). Safe to repeat. The whole list or an error; a refund just made may be missing.
func (c *Client) ListPaymentRefunds(ctx context.Context, id string) ([]Refund, error) {
	if !ValidID(paymentID, id) {
		return nil, invalid("%.40q is no payment id", id)
	}
	all, err := listAll(decodeRefund, func(r Refund) string { return r.ID }, func(count, skip int) ([]byte, error) {
		return c.call(ctx, func(s *sdk.Client) (map[string]any, error) {
			return s.Payment.FetchMultipleRefund(id, map[string]any{"count": count, "skip": skip}, nil)
		})
	})
	if err != nil {
		return nil, fmt.Errorf("listing refunds of %s: %w", id, err)
	}
	for _, r := range all {
		if r.PaymentID != id {
			return nil, fmt.Errorf("listing refunds of %s: %w", id, badReply("refund %s belongs to %s", r.ID, r.PaymentID))
		}
	}
	return all, nil
}

// FetchDispute reads one dispute (Docs-Aug "Disputes Entity"). Safe to repeat. An unknown id is Refused.
func (c *Client) FetchDispute(ctx context.Context, id string) (Dispute, error) {
	return fetch(ctx, c, disputeID, id, decodeDispute, func(d Dispute) string { return d.ID },
		func(s *sdk.Client) (map[string]any, error) { return s.Dispute.Fetch(id, nil, nil) })
}

// ListDisputes gives the account's newest disputes, at most count of them, 1 to 100 (Docs-Aug "Fetch All Disputes"). Safe to repeat.
func (c *Client) ListDisputes(ctx context.Context, count int) ([]Dispute, error) {
	if count < 1 || count > maxPage {
		return nil, invalid("a page of %d disputes", count)
	}
	raw, err := c.call(ctx, func(s *sdk.Client) (map[string]any, error) {
		return s.Dispute.All(map[string]any{"count": count}, nil)
	})
	if err != nil {
		return nil, fmt.Errorf("listing disputes: %w", err)
	}
	list, err := decodeList(raw, decodeDispute)
	if err != nil {
		return nil, fmt.Errorf("listing disputes: %w", err)
	}
	return list, nil
}

// ListSettlementRecon gives one page of what was settled on a day, or with day 0 in a month (Docs-Aug "Fetch Settlement
// Recon Details"): at most count rows, 1 to 1000, after leaving out skip. The date is the settlement's, not the
// payment's. Safe to repeat.
func (c *Client) ListSettlementRecon(ctx context.Context, year, month, day, count, skip int) ([]ReconRow, error) {
	if year < 2000 || year > 2120 || month < 1 || month > 12 || day < 0 || day > 31 || count < 1 || count > 1000 || skip < 0 {
		return nil, invalid("settlements of %d-%d-%d, a page of %d after %d", year, month, day, count, skip)
	}
	query := map[string]any{"year": year, "month": fmt.Sprintf("%02d", month), "count": count, "skip": skip}
	if day > 0 {
		query["day"] = fmt.Sprintf("%02d", day)
	}
	raw, err := c.call(ctx, func(s *sdk.Client) (map[string]any, error) { return s.Settlement.Reports(query, nil) })
	if err != nil {
		return nil, fmt.Errorf("listing settlements: %w", err)
	}
	rows, err := decodeList(raw, decodeReconRow)
	if err != nil {
		return nil, fmt.Errorf("listing settlements: %w", err)
	}
	return rows, nil
}

// fetch reads one entity by its id and makes sure that the answer is about it.
func fetch[T any](ctx context.Context, c *Client, prefix, id string, decode func([]byte) (T, error), idOf func(T) string,
	ask func(*sdk.Client) (map[string]any, error),
) (T, error) {
	var none T
	if !ValidID(prefix, id) {
		return none, invalid("%.40q is no id of the kind %s_", id, prefix)
	}
	raw, err := c.call(ctx, ask)
	if err != nil {
		return none, fmt.Errorf("fetching %s: %w", id, err)
	}
	one, err := decode(raw)
	if err == nil && idOf(one) != id {
		err = badReply("%s came instead", idOf(one))
	}
	if err != nil {
		return none, fmt.Errorf("fetching %s: %w", id, err)
	}
	return one, nil
}

const (
	maxPage = 100 // Docs-Aug "Understand Razorpay APIs"
	// maxPages bounds listAll. A payment or receipt with a thousand rows is an answer to some other question.
	maxPages    = 10
	firstSecond = 946684800 // the gateway's own lower limit for times (Docs-Aug "Fetch All Payments")
)

// listAll reads pages until a short one. Lists are newest first and move while they are read, so rows come twice rather
// than not at all; the second is left out.
func listAll[T any](decode func([]byte) (T, error), idOf func(T) string, page func(count, skip int) ([]byte, error)) ([]T, error) {
	all, seen := []T{}, map[string]bool{}
	for n := range maxPages {
		raw, err := page(maxPage, n*maxPage)
		if err != nil {
			return nil, err
		}
		list, err := decodeList(raw, decode)
		if err != nil {
			return nil, err
		}
		for _, one := range list {
			if id := idOf(one); !seen[id] {
				seen[id], all = true, append(all, one)
			}
		}
		if len(list) < maxPage {
			return all, nil
		}
	}
	return nil, badReply("more than %d rows", maxPages*maxPage)
}

func (o CaptureOptions) body() map[string]any {
	options := map[string]any{}
	if o.AutomaticExpiryMinutes > 0 {
		options["automatic_expiry_period"] = o.AutomaticExpiryMinutes
	}
	if o.ManualExpiryMinutes > 0 {
		options["manual_expiry_period"] = o.ManualExpiryMinutes
	}
	if o.RefundSpeed != "" {
		options["refund_speed"] = o.RefundSpeed
	}
	return map[string]any{"capture": "automatic", "capture_options": options}
}

func (in OrderParams) check() error {
	if in.AmountPaise <= 0 {
		return invalid("an order of %d paise", in.AmountPaise)
	}
	if len(in.Currency) != 3 || strings.Trim(in.Currency, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		return invalid("currency %.10q", in.Currency)
	}
	if in.Capture != nil {
		if err := in.Capture.check(); err != nil {
			return err
		}
	}
	if err := checkReceipt(in.Receipt); err != nil {
		return err
	}
	return checkNotes(in.Notes)
}

func (o CaptureOptions) check() error {
	automatic, manual := o.AutomaticExpiryMinutes, o.ManualExpiryMinutes
	if automatic < 12 || automatic > 7200 || manual > 7200 || manual != 0 && manual < automatic {
		return invalid("capture within %d minutes, kept for %d", automatic, manual)
	}
	return nil
}

func (in RefundParams) check() error {
	if in.AmountPaise <= 0 {
		return invalid("a refund of %d paise", in.AmountPaise)
	}
	if len(in.IdempotencyKey) < 10 || strings.Trim(in.IdempotencyKey, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") != "" {
		return invalid("idempotency key %.60q", in.IdempotencyKey)
	}
	if err := checkReceipt(in.Receipt); err != nil {
		return err
	}
	return checkNotes(in.Notes)
}

func checkReceipt(receipt string) error {
	if receipt == "" || len(receipt) > 40 || strings.ContainsFunc(receipt, func(r rune) bool { return r < ' ' || r > '~' }) {
		return invalid("receipt %.60q", receipt)
	}
	return nil
}

// checkNotes keeps to the narrower of the limits the documentation gives (Docs-Aug "Understand Razorpay APIs").
func checkNotes(notes map[string]string) error {
	if len(notes) > 15 {
		return invalid("%d notes", len(notes))
	}
	for key, value := range notes {
		if key == "" || len(key) > 255 || len([]rune(value)) > 256 {
			return invalid("note %.60q of %d bytes", key, len(value))
		}
	}
	return nil
}
