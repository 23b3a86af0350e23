// Package standin is the gateway's understudy: Razorpay's HTTP API, Checkout script, hosted page and webhooks over net/http.
// It knows what Razorpay does and says (orders, payments, refunds, events, errors) and nothing of any shop's orders.
// It promises bodies, statuses and states as published or recorded, repeatable runs for a seed, and faults on demand.
// Read server.go first, then bank.go. Development and tests only: nothing that ships imports it.
//
// # Starting it
//
// New makes a gateway (an http.Handler with a running clock), Start gives it an address, Close ends both. A client takes that
// address as its API base; Checkout's script is at the address plus /v1/checkout.js, the hosted page at /v1/checkout/embedded.
// Keys and secrets are the Default… constants unless Options name others. SetWebhooks says where events go, also after Start.
// Options.StateFile keeps books, clock and unfinished deliveries between runs; settings and faults are not kept.
//
// # Playing the customer, the bank and the owner
//
// Pay makes an attempt on an order; PayParams choose method, Outcome (Succeed, AuthorizeOnly, FailNow, Pend, FailThenLate), a
// wrong amount or currency, a fee borne by the customer. It asks none of Checkout's questions, so paying an order twice is how a
// second payment is made. SucceedLate and Fail decide a pending payment (SucceedLate a failed one too), Capture and GiveBack an
// authorised one. RefundOutside refunds as the dashboard does; SettleRefund and FailRefund move refunds on; OpenDispute and
// DecideDispute are the bank's. Advance moves the gateway's clock, on which captures, time limits, late successes, automatic
// refunds, settlements and webhook retries fall due. Configure changes Settings: receipt modes, second payments, list lag, manual
// capture, pending refunds, odd shapes and the rest.
//
// # Looking at it
//
// Books is everything on record, in paise, a copy; Books.KeptPaise is what the shop still holds of a payment. Requests is the
// log of calls with body, receipt, idempotency key, status, and whether their work was done. Events and Deliveries are the
// webhooks. Options.OnRequest is called for each call while the caller waits.
//
// # Making it fail
//
// Inject spoils calls that match a method and a path pattern, a number of times or by seeded chance: Delay, Stall (until
// ReleaseStalled), Refuse with any published error (RefusalNames), HTML502, Empty200, EmptyObject, Truncate, Reset, Drop (done,
// then no answer). Fault.After does the work first, Fault.Late does it later. SpoilWebhooks holds, loses, copies, reorders, delays
// or missigns events; Release sends what is held, Deliver sends one event now, so that held events can be delivered in every
// order; Settings.WebhookSpread reorders by seeded chance. RotateWebhookSecret and EnableWebhook are the dashboard's.
//
// # Waiting without sleeping
//
// WaitIdle (no delivery outstanding), WaitQuiet (nothing due or in flight on the clock as it stands), WaitEvents, WaitState,
// WaitRequests, WaitStalled and WaitFor (a condition on the books) return as soon as it is so, or when the context ends with an error that says
// what was waited for.
//
// # The same over HTTP
//
// GET /standin is a page with all of it as forms. As JSON, with the Go names in snake case, durations like "90s":
//
//	GET    /standin/{books,events,deliveries,requests,refusals,faults,webhooks,settings}
//	POST   /standin/pay                                       PayParams
//	POST   /standin/payments/{id}/{succeed,fail,capture,give_back,refund,dispute}
//	POST   /standin/refunds/{id}/{settle,fail}
//	POST   /standin/disputes/{id}/{under_review,won,lost,closed}
//	POST   /standin/faults  DELETE /standin/faults[/{id}]     Fault
//	POST   /standin/stalled/release
//	POST   /standin/webhook_faults  DELETE the same           WebhookFault
//	POST   /standin/release, /standin/events/{id}/deliver
//	PUT    /standin/webhooks                                  {"webhooks": [Webhook]}
//	POST   /standin/webhooks/{enable,rotate}                  {"url", "secret"}
//	PATCH  /standin/settings                                  any of Settings
//	POST   /standin/clock                                     {"advance": "10m"}
package standin
