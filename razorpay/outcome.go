package razorpay

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// ErrInvalid is in every error about a request this package refused to send: nothing left the house, so its Outcome is
// Refused.
var ErrInvalid = errors.New("razorpay: invalid request, not sent")

// ErrBadReply is in every error about a 2xx answer that does not say what was asked: empty, cut off, no JSON, no id of
// the expected kind, another amount. What happened is unknown. Webhook bodies that cannot be read carry it too.
var ErrBadReply = errors.New("razorpay: unusable reply")

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrInvalid}, args...)...)
}

func badReply(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrBadReply}, args...)...)
}

// APIError is a non-2xx answer (Docs-Aug "About Errors"). Code is empty when the body held no error object: then it
// came from something in front of the gateway, or from a gateway in trouble, and proves nothing. "NA" and null, which
// the gateway writes for nothing, are empty text here. Neither the fields nor Raw ever hold the key's secret.
type APIError struct {
	Status                                         int
	Code, Description, Field, Source, Step, Reason string
	Metadata                                       map[string]string
	Raw                                            []byte // the body, at most 64 KiB of it
}

// Error shows status, code and the gateway's sentence, quoted, so that it can stand in a log line.
func (e *APIError) Error() string {
	s := fmt.Sprintf("razorpay answered %d", e.Status)
	if e.Code != "" {
		s += fmt.Sprintf(" %.40q", e.Code)
	}
	if e.Description != "" {
		s += fmt.Sprintf(": %.300q", e.Description)
	}
	if e.Field != "" {
		s += fmt.Sprintf(" (field %.40q)", e.Field)
	}
	if e.Reason != "" {
		s += fmt.Sprintf(" (reason %.60q)", e.Reason)
	}
	return s
}

// newAPIError reads what can be read; any body will do.
func newAPIError(status int, raw []byte) *APIError {
	e := &APIError{Status: status, Raw: raw}
	var envelope struct{ Error json.RawMessage }
	if json.Unmarshal(raw, &envelope) != nil || len(envelope.Error) == 0 {
		return e
	}
	var object struct {
		Code, Description, Field, Source, Step, Reason text
		Metadata                                       Notes
	}
	if envelope.Error[0] != '{' || json.Unmarshal(envelope.Error, &object) != nil {
		var sentence text
		if json.Unmarshal(envelope.Error, &sentence) == nil {
			e.Description = string(sentence)
		}
		return e
	}
	e.Code, e.Description = object.Code.said(), object.Description.said()
	e.Field, e.Source, e.Step, e.Reason = object.Field.said(), object.Source.said(), object.Step.said(), object.Reason.said()
	e.Metadata = object.Metadata
	return e
}

// said is the text, or nothing where the gateway writes NA for nothing.
func (t text) said() string {
	if t == "NA" {
		return ""
	}
	return string(t)
}

// Outcome is what the caller must conclude from an error about the thing it asked for.
type Outcome int

const (
	// Unknown: it may have happened, now or later. Read it back by id or receipt; never assume either way.
	Unknown Outcome = iota
	// Refused: it did not happen and the same request never will.
	Refused
	// RateLimited: it did not happen; wait tens of seconds.
	RateLimited
	// Unauthorised: it did not happen, and nothing will until a person mends keys or account.
	Unauthorised
	// Conflict: another request about the same thing is or was at work. Read it back.
	Conflict
	// NotFound: the gateway denies the path. It is not evidence of absence: unknown ids are refused with 400
	// (Docs-Aug "Fetch Order by Id").
	NotFound
)

func (o Outcome) String() string {
	switch o {
	case Refused:
		return "refused"
	case RateLimited:
		return "rate limited"
	case Unauthorised:
		return "unauthorised"
	case Conflict:
		return "conflict"
	case NotFound:
		return "not found"
	}
	return "unknown"
}

// OutcomeOf classifies an error of any method of Client. Whatever it does not recognise is Unknown: timeouts, resets,
// 2xx that say nothing, 3xx, 5xx, answers without an error object. Only 401, 409 and 429 count without one, since the
// right reaction to them is the same whoever sent them. A nil error is Unknown too, so a caller who forgot to look can
// only be too careful.
func OutcomeOf(err error) Outcome {
	if errors.Is(err, ErrInvalid) {
		return Refused
	}
	e, ok := errors.AsType[*APIError](err)
	if !ok {
		return Unknown
	}
	switch e.Status {
	case 401:
		return Unauthorised
	case 409:
		return Conflict
	case 429:
		return RateLimited
	}
	if e.Code == "" || e.Code == "SERVER_ERROR" || e.Code == "GATEWAY_ERROR" || e.Status < 400 || e.Status > 499 || e.Status == 408 {
		return Unknown
	}
	switch {
	case e.Status == 404:
		return NotFound
	case e.says("operation is in progress", "idempotency key is still in progress", "idempotency key has already been processed"):
		return Conflict // the last two are 409 on one page and 400 on another (Docs-Aug "Create a Normal Refund (Idempotent Request)")
	case e.Status == 403, e.is("authentication failed", "access denied", "the api key provided is invalid", "the api secret provided is invalid"):
		return Unauthorised // 401 where recorded, 400 in the tables of Docs-Aug "Common Errors"
	}
	return Refused
}

// IsDuplicateReceipt reports whether an order or refund was refused because its receipt was used before, and the id of
// the earlier one where the gateway names it. Enforcement differs between accounts (Docs-Aug "Create an Order" errors
// table, Docs-new "Error Index", Juspay): without an id, look the receipt up.
func IsDuplicateReceipt(err error) (existingID string, dup bool) {
	e, ok := refusal(err)
	if !ok || !e.says("duplicate receipt", "receipt should be unique", "duplicate request. this request has already been processed") {
		return "", false
	}
	for _, kind := range []struct{ key, prefix string }{{"order_id", orderID}, {"refund_id", refundID}} {
		id := e.Metadata[kind.key]
		if ValidID(kind.prefix, id) {
			return id, true
		}
		if id = kind.prefix + "_" + id; ValidID(kind.prefix, id) { // ids without their prefix were seen in metadata (Probes)
			return id, true
		}
	}
	return "", true
}

// IsAlreadyRefunded reports whether a refund was refused because the payment went back in full before: list its
// refunds and adopt or import what is there (Docs-Aug "Create a Normal Refund" errors table).
func IsAlreadyRefunded(err error) bool {
	e, ok := refusal(err)
	return ok && e.says("fully refunded already", "refund has already been processed")
}

// IsMoreThanLeft reports whether a refund was refused because part of the payment went back before, by another hand: list its refunds,
// import what is there, and ask for the rest (Docs-Aug "Create a Normal Refund" errors table).
func IsMoreThanLeft(err error) bool {
	e, ok := refusal(err)
	return ok && e.says("total refund amount is greater than the refund payment amount")
}

// IsLowBalance reports whether a refund was refused because the account holds too little. It succeeds later, when
// there is money again; a person should hear of it.
func IsLowBalance(err error) bool {
	e, ok := refusal(err)
	return ok && e.says("enough balance")
}

// IsTooOld reports whether the gateway refuses for age: refunds after six months (Docs-Aug "Handle Refund Errors"),
// orders read after 180 days (Docs-Aug "Fetch Order by Id"). It never succeeds later.
func IsTooOld(err error) bool {
	e, ok := refusal(err)
	return ok && e.says("more than 6 months old", "older than 180 days")
}

// IsWithheld reports whether the gateway answered that it will not tell, as it does to accounts that lack a feature (Probes: 401 with a
// sentence, 400 with an envelope of its own): asking again does not help. Too many requests are no such answer.
func IsWithheld(err error) bool {
	e, ok := errors.AsType[*APIError](err)
	return ok && e.Status >= 400 && e.Status <= 499 && e.Status != http.StatusTooManyRequests
}

// refusal gives the definite 4xx inside err. The sentence is the last resort the gateway leaves: all these cases share
// one code (Docs-Aug "About Errors").
func refusal(err error) (*APIError, bool) {
	e, ok := errors.AsType[*APIError](err)
	return e, ok && e.Code != "" && e.Status >= 400 && e.Status <= 499
}

// says reports whether the description contains one of the phrases, given in lower case.
func (e *APIError) says(phrases ...string) bool {
	d := strings.ToLower(e.Description)
	for _, p := range phrases {
		if strings.Contains(d, p) {
			return true
		}
	}
	return false
}

// is reports whether the description is one of the sentences, given in lower case and without the full stop.
func (e *APIError) is(sentences ...string) bool {
	d := strings.TrimRight(strings.ToLower(strings.TrimSpace(e.Description)), ".")
	for _, s := range sentences {
		if d == s {
			return true
		}
	}
	return false
}
