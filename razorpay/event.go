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
	Kind, AccountID, OrderID, PaymentID, RefundID, DisputeID string
	CreatedAt                                                time.Time // when it happened; zero when the body does not say
	Payment                                                  *Payment
	Order                                                    *Order
	Refund                                                   *Refund
	Dispute                                                  *Dispute
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
	e.DisputeID = firstID(disputeID, dispute.ID)
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

// stays are the fields of an event that may be kept when its body is old: what happened to which entity, when and for how much. Nothing
// in them is a person's: names, phone, email, VPA, card, bank account, notes and free text are no part of the list.
var (
	staysOfEvent  = []string{"entity", "account_id", "event", "contains", "created_at"}
	staysOfEntity = []string{"id", "entity", "amount", "currency", "status", "order_id", "payment_id", "method", "captured", "amount_refunded", "refund_status", "fee", "tax",
		"error_code", "error_source", "error_step", "error_reason", "amount_paid", "amount_due", "attempts", "receipt", "speed_requested", "speed_processed",
		"amount_deducted", "reason_code", "phase", "respond_by", "created_at"}
)

// StripEvent gives of a webhook body only what may be kept (the list above), and nil when it cannot be read: what is not known to be
// harmless goes. A field that should be a plain value and is none goes too. ParseEvent reads the rest as before. Safe to repeat.
func StripEvent(body []byte) []byte {
	var envelope, payload rawMap
	if json.Unmarshal(body, &envelope) != nil || envelope == nil {
		return nil
	}
	rest := plain(envelope, staysOfEvent)
	if json.Unmarshal(envelope["payload"], &payload) == nil {
		entities := rawMap{}
		for _, name := range []string{"payment", "order", "refund", "dispute"} {
			var wrapper struct{ Entity rawMap }
			if json.Unmarshal(payload[name], &wrapper) == nil && wrapper.Entity != nil {
				entities[name] = encoded(rawMap{"entity": encoded(plain(wrapper.Entity, staysOfEntity))})
			}
		}
		if at := plain(payload, []string{"created_at"}); len(at) > 0 {
			entities["created_at"] = at["created_at"]
		}
		rest["payload"] = encoded(entities)
	}
	return encoded(rest)
}

// plain picks the named fields that hold a text, number, boolean, null or a list of texts.
func plain(of rawMap, names []string) rawMap {
	picked := rawMap{}
	for _, name := range names {
		var texts []string
		if raw := of[name]; len(raw) > 0 && raw[0] != '{' && (raw[0] != '[' || json.Unmarshal(raw, &texts) == nil) {
			picked[name] = raw
		}
	}
	return picked
}

func encoded(m rawMap) json.RawMessage {
	text, _ := json.Marshal(m) // every value in it was JSON already
	return text
}
