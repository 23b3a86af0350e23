package razorpay

import (
	"encoding/json"
	"time"
)

// Event is what a webhook says, a snapshot from the moment it happened and not from its delivery. It is a reason to
// fetch, never evidence of money. Kind is the gateway's own word, verbatim. The ids are well formed or empty; the
// entities are nil where the body did not hold them or they could not be read. Written by ParseEvent, read by the job
// that processes a webhook.
type Event struct {
	Kind, AccountID, OrderID, PaymentID, RefundID string
	CreatedAt                                     time.Time // when it happened; zero when the body does not say
	Payment                                       *Payment
	Order                                         *Order
	Refund                                        *Refund
	Dispute                                       *Dispute
}

// ParseEvent reads a webhook body, after VerifyWebhook accepted it. It is as forgiving as it can be, for a signed event
// that cannot be read would be delivered again for a day and then switch the endpoint off (Docs-Aug "Best Practices",
// webhooks): only a body that is no JSON object or names no event is an error, ErrBadReply. Unknown kinds, missing or
// misshapen entities and NUL characters are survived.
func ParseEvent(body []byte) (Event, error) {
	var envelope struct {
		Event     text
		AccountID text          `json:"account_id"`
		CreatedAt instant       `json:"created_at"`
		Payload   loose[rawMap] `json:"payload"`
	}
	if err := json.Unmarshal(body, &envelope); err != nil {
		return Event{}, badReply("webhook body: %w", err)
	}
	if envelope.Event == "" {
		return Event{}, badReply("webhook body names no event")
	}
	e := Event{Kind: string(envelope.Event), AccountID: string(envelope.AccountID), CreatedAt: envelope.CreatedAt.Time}
	if envelope.Payload.value == nil {
		return e, nil
	}
	payload := *envelope.Payload.value

	if e.CreatedAt.IsZero() { // the refund.speed_changed sample has it here (Docs-Aug "Refunds Webhook Events")
		var at instant
		if json.Unmarshal(payload["created_at"], &at) == nil {
			e.CreatedAt = at.Time
		}
	}
	var order, payment, refund, dispute ids
	e.Order, order = entity(payload["order"], decodeOrder)
	e.Payment, payment = entity(payload["payment"], decodePayment)
	e.Refund, refund = entity(payload["refund"], decodeRefund)
	e.Dispute, dispute = entity(payload["dispute"], decodeDispute)
	e.OrderID = firstID(orderID, order.ID, payment.OrderID)
	e.PaymentID = firstID(paymentID, payment.ID, refund.PaymentID, dispute.PaymentID)
	e.RefundID = firstID(refundID, refund.ID)
	return e, nil
}

type rawMap map[string]json.RawMessage

// ids are read apart from the rest, so that an entity with one odd field still says which one it is.
type ids struct {
	ID        text
	OrderID   text `json:"order_id"`
	PaymentID text `json:"payment_id"`
}

func entity[T any](raw json.RawMessage, decode func([]byte) (T, error)) (*T, ids) {
	var wrapper loose[struct{ Entity json.RawMessage }]
	if json.Unmarshal(raw, &wrapper) != nil || wrapper.value == nil {
		return nil, ids{}
	}
	var names loose[ids]
	if json.Unmarshal(wrapper.value.Entity, &names) != nil || names.value == nil {
		return nil, ids{}
	}
	whole, err := decode(wrapper.value.Entity)
	if err != nil {
		return nil, *names.value
	}
	return &whole, *names.value
}

func firstID(prefix string, candidates ...text) string {
	for _, id := range candidates {
		if ValidID(prefix, string(id)) {
			return string(id)
		}
	}
	return ""
}
