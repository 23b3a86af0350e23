package standin

import (
	"net/http"
	"slices"
	"strings"
)

// answer is what a call gets: the status and the exact body. The table below holds every answer other than success. Names are those of the published and recorded
// samples without "error_" and ".json"; RefusalNames lists them, Fault.Refusal takes them.
type answer struct {
	status int
	typ    string // content type; empty is JSON
	body   string
	header map[string]string
}

// The surrounding keys differ from sample to sample (Docs-Aug, "Create an Order", "Common Errors", "Capture a Payment",
// "Create a Normal Refund"): validation errors carry the business triple, most others the string "NA", some null.
const (
	business  = `"source":"business","step":"payment_initiation","reason":"input_validation_failed","metadata":{}`
	unnamed   = `"source":"NA","step":"NA","reason":"NA","metadata":{}`
	allNull   = `"source":null,"step":null,"reason":null,"metadata":{}`
	badPrefix = `{"error":{"code":"BAD_REQUEST_ERROR","description":`
)

func bad(description, rest string) answer {
	return answer{status: http.StatusBadRequest, body: badPrefix + quote(description) + "," + rest + "}}"}
}

// badField is a validation error that names its field.
func badField(description, field string) answer {
	return bad(description, business+`,"field":`+quote(field))
}

func (r answer) at(status int) answer { r.status = status; return r }

// refusals holds every answer of the samples by name. Those the API itself gives are referred to by name in the code, the
// others can be asked for with a Fault.
var refusals = map[string]answer{
	"auth_failed":                     {status: 401, body: badPrefix + `"Authentication failed"}}`},
	"api_key_invalid":                 bad("The api key provided is invalid", unnamed).at(401),
	"access_denied_ip":                bad("Access Denied", unnamed),
	"url_not_found":                   bad("The requested URL was not found on the server", unnamed),
	"id_not_exist":                    bad("The id provided does not exist", business),
	"id_not_exist_internal_source":    bad("The id provided does not exist", strings.Replace(business, `"business"`, `"internal"`, 1)),
	"id_not_exist_or_unauthorised":    bad("The id provided does not exist or access is unauthorised", unnamed),
	"invalid_id_format":               bad("AABBdHIieex is not a valid id", business),
	"edge_no_route":                   {status: 404, body: `{"message":"no Route matched with those values"}`},
	"string_form":                     {status: 401, body: `{"error":"Unauthorized"}`},
	"disputes_envelope":               {status: 400, body: `{"status_code":400,"success":false,"errors":["Value of each expand must be one of following types: payment, transaction.settlement","Status Code: 400"]}`},
	"extra_field":                     extraField("unknown_field"),
	"amount_required":                 badField("The amount field is required.", "amount"),
	"amount_not_integer":              badField("The amount must be an integer.", "amount"),
	"order_amount_too_small":          badField("The amount must be at least INR 1.00", "amount"),
	"order_amount_too_small_variant":  badField("Order amount less than minimum amount allowed", "amount"),
	"order_amount_too_large":          badField("Amount exceeds maximum amount allowed.", "amount"),
	"order_receipt_too_long":          badField("receipt: the length must be no more than 40.", "receipt"),
	"order_receipt_duplicate":         bad("Duplicate request. This request has already been processed.", business),
	"order_receipt_duplicate_variant": receiptTaken("order_TstAbCdEf00003"),
	"order_too_old":                   bad("Order older than 180 days, please use reports.", business),
	"order_already_paid":              bad("Your payment has been declined as the order is already paid. Please initiate the payment with a new order.", unnamed),
	"operation_in_progress":           bad("Request failed because another payment operation is in progress.", unnamed),
	"capture_already_captured":        alreadyCaptured("pay_TstAbCdEf00001"),
	"capture_amount_mismatch":         bad("Capture amount must be equal to the amount authorized", unnamed),
	"payment_not_card":                bad("Payment was not done using card", unnamed),
	"payment_incorrect_otp": bad("Authentication failed due to incorrect otp",
		`"field":null,"source":"customer","step":"payment_authentication","reason":"invalid_otp","metadata":{"payment_id":"pay_EDNBKIP31Y4jl8","order_id":"order_DBJKIP31Y4jl8"}`),
	"refund_already_full":            bad("The payment has been fully refunded already", unnamed),
	"refund_amount_too_large":        bad("The refund amount provided is greater than amount captured", unnamed),
	"refund_cumulative_too_large":    bad("The total refund amount is greater than the refund payment amount", unnamed),
	"refund_amount_zero":             badField("Amount cannot be blank.", "amount"),
	"refund_dispute_block":           bad("The refund on this payment is blocked due to ongoing dispute investigation.", unnamed),
	"refund_idempotency_conflict":    bad("Different request with the same idempotency key has already been processed.", unnamed).at(409),
	"refund_idempotency_in_progress": bad("Another request with the same idempotency key is still in progress.", unnamed).at(409),
	"refund_low_balance":             bad("Your account does not have enough balance to carry out the refund operation.", unnamed),
	"refund_not_captured":            bad("The payment status should be captured for action to be taken", unnamed),
	"refund_receipt_duplicate":       bad("Duplicate receipt found for this refund request.", unnamed),
	"refund_six_months":              bad("Refund is not supported by the bank because the payment is more than 6 months old", allNull),
	"recon_invalid_month":            badField("The month is not a valid month.", "month"),
	"rate_limited":                   bad("Too many requests", unnamed).at(429),
	"server_error":                   {status: 500, body: `{"error":{"code":"SERVER_ERROR","description":"We are facing some trouble completing your request at the moment. Please try again shortly.",` + unnamed + `}}`},
	"gateway_error":                  {status: 502, body: `{"error":{"code":"GATEWAY_ERROR","description":"Payment processing failed due to error at bank or wallet gateway","source":"gateway","step":"payment_authorization","reason":"payment_failed","metadata":{}}}`},
	"502_html":                       {status: 502, typ: "text/html", body: "<html>\n<head><title>502 Bad Gateway</title></head>\n<body><center><h1>502 Bad Gateway</h1></center></body>\n</html>\n"},
}

// RefusalNames lists, sorted, every error answer the stand-in can be told to give (Fault.Refusal).
func RefusalNames() []string {
	var names []string
	for name := range refusals {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// extraField is the answer to keys the call does not know (Docs-Aug, "Create an Order"; reason as recorded).
func extraField(fields ...string) answer {
	slices.Sort(fields)
	return bad(strings.Join(fields, ", ")+" is/are not required and should not be sent", `"source":"business","step":"NA","reason":"extra_field_sent","metadata":{}`)
}

// receiptTaken names the order that already has the receipt.
func receiptTaken(orderID string) answer {
	return bad("Order receipt should be unique.", `"step":"payment_initiation","reason":"input_validation_failed","source":"business","metadata":{"order_id":`+quote(orderID)+`}`)
}

// alreadyCaptured: in the recording metadata.payment_id lacks its prefix (Probes, Aug 2026).
func alreadyCaptured(paymentID string) answer {
	return bad("This payment has already been captured", `"source":"NA","step":"NA","reason":"NA","metadata":{"payment_id":`+quote(strings.TrimPrefix(paymentID, "pay_"))+`}`)
}
