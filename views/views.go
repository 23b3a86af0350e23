// Package views knows how the shop looks and speaks: every page, panel and letter, and how paise and times are written.
// It must not know HTTP, sessions or the database: a view gets plain values and asks nobody anything; the clock comes in as Page.Now.
// It promises that what people typed stays text, that every form works without script, and that nothing needs an inline style or script.
// Read views.go first: the values the components take; each component stands in the .templ file of its subject.
//
// # Components
//
//	OutletsPage(OutletsView)
//	MenuPage(MenuView)          MenuResults(MenuView)       fragment for search and filters: #results, and #cats and #say out of band
//	DishPage(DishView)          DishSheet(DishView)         fragment for #sheet; DishError(text) answers a refused add (422), out of band
//	CartPage(CartView)          CartUpdate(CartUpdateView)  answer to a stepper on menu and cart: only out-of-band parts
//	CheckoutPage(CheckoutView)  CheckoutForm(CheckoutView)  fragment #main, for 409 and 422; CheckoutUpdate(CheckoutView) only lines, bill, messages
//	PayPage(PayView)
//	OrderPage(OrderView)        OrderStatus(OrderView)      fragment #status
//	StaffLoginPage(StaffLoginView)
//	BoardPage(BoardView)        BoardColumns(BoardView)     fragment #board, to be morphed; carries #toast out of band when Notice is set
//	StaffOrderPage(StaffOrderView)   StaffCancelPage(StaffCancelView)   StaffRefundPage(StaffRefundView)   StaffRefundReviewPage(StaffRefundReviewView)
//	StaffMenuPage(StaffMenuView)     StaffDishRow(StaffDishView)       StaffAttentionPage(StaffAttentionView)
//	StaffTimelinePage(StaffTimelineView)
//	PaperPage(PaperView)        KitchenTicketPage(TicketView)   for paper: print.css, no layout
//	ErrorPage(ErrorView)        ErrorToast(ErrorView)       fragment for #toast
//	ConfirmationMail, RefundMail, CancelledMail (MailView) (Letter, error)
//
// # What the forms send
//
// Every POST form carries _csrf; under htmx the header X-CSRF-Token says the same.
//
//	GET  menu            filter=1 q veg=1 egg=1 jain=1 without* way=delivery|pickup   filter=1 says that what is absent was unticked; filter and way are kept in cookies
//	POST /cart           item option* set|qty seq from           stepper: seq empty → take set; else take qty and ignore set. from is "", cart or checkout:
//	                                                             where to go back to without htmx, and which update to answer with
//	                     … from=checkout adds way pin            so that CheckoutUpdate can price the same destination
//	POST /cart           item option* add note                   dish sheet: add that many more; without htmx back to the menu
//	GET  /checkout       way pin                                 under htmx: CheckoutUpdate; way and pin are remembered by the session or not at all
//	POST /checkout       phone name email way line1 line2 pin directions note checkout_key review
//	                                                             under htmx success is HX-Redirect to /pay/{token}; 409 and 422 are CheckoutForm
//	POST /pay/{token}    (nothing)                               makes or finds the gateway order, then 303 to GET
//	POST /payments/verify?order={token}                          JSON from the page's script, form from Razorpay
//	POST /orders/{token}/cancel     POST /orders/{token}/again   puts what can be had of it into the cart, then GET /cart?again={token}
//	POST /staff/login    login password
//	POST /staff/logout
//	POST /staff/open     open=1|""                               the board's switch
//	POST /staff/orders/{id}/move    from to                      from is the state the cook saw; under htmx the answer is BoardColumns (409 on conflict)
//	GET  /staff/orders/{id}         GET /staff/orders/{id}/cancel
//	POST /staff/orders/{id}/cancel  reason confirm=yes
//	POST /staff/orders/{id}/ticket                               notes one more print, then 303 to GET …/ticket/{nth}
//	GET  /staff/orders/{id}/refund
//	POST /staff/orders/{id}/refund  step=review|change|confirm what=dishes|amount|rest piece-{line} amount reason; the review adds seen shown (paise), which
//	                                confirm compares: 409 when money has moved meanwhile
//	POST /staff/attention/{id}/close, /staff/attention/{id}/retry    back=order when pressed on the order's page
//
// Live pages listen to /orders/{token}/events and /staff/events for "hello" and "changed" (and "closed", which ends the customer's stream), then
// fetch /orders/{token}/status or /staff/board.
//
// # Anchors for tests
//
// data-testid, in page order: test-mode, outlet, open-state, closed, search, veg, category, dish (with data-slug), add, more, less, qty, sold-out, cart,
// cart-line, cart-total, cartbar, to-checkout, cart-empty, dish-form, option, add-to-cart, checkout-form, field-{name}, error-{name}, bill, bill-{line},
// to-pay, pay, changed, delivery-message, minimum, pay-state, pay-now, hosted, order (with data-state), order-title, order-step, cancel-order, refund,
// login-form, board, column-{status}, ticket (with data-number), ticket-line, ticket-note, move, open-switch, conflict, lost, staff-order, payment,
// refund-row, event-row, history-row, cancel-form, give-back, refund-form, refund-review, share (share-{part}), retry-refund, error, request-id.
package views

import (
	"time"

	"tiffin/models"
)

// Page is what every page needs beside its own content. Handlers fill it once per request.
type Page struct {
	Title    string        // of the tab, before the outlet's name
	Outlet   models.Outlet // zero where no outlet is known (the list of outlets, some errors)
	MenuURL  string        // "/" while there is one outlet, else "/outlets/{slug}"
	Origin   string        // of the shop, without a slash at the end, for what other sites show of it; empty: nothing
	CSRF     string        // of this session
	TestMode bool          // the gateway key is a test key
	Theme    string        // light, dark, or empty: as the system has it
	Account  string        // the address somebody is signed in with; empty: a guest
	Now      time.Time
}

// OutletsView is the list at "/" when there are several outlets.
type OutletsView struct {
	Page    Page
	Outlets []OutletCard
}

// OutletCard is one outlet of the list.
type OutletCard struct {
	Outlet  models.Outlet
	Opening models.Opening
}

// MenuView is the menu with the visitor's cart. Menu is what Query and Diet leave of it.
type MenuView struct {
	Page         Page
	Menu         models.Menu
	Cart         CartView
	Query        string
	Diet         models.Diet
	Way          string // delivery or pickup, as chosen before; empty: what the outlet offers first
	LastOrderURL string // page of this visitor's latest order; empty: none
	Rating       models.Rating
}

// DishView is one dish with its choices.
type DishView struct {
	Page    Page
	Item    models.Item // with Groups
	Opening models.Opening
	Picked  []int64 // options to show as chosen; nil: the cheapest valid ones
	Qty     int     // 0 is shown as 1
	Note    string
	Error   string // why it was not added, for people
	Hidden  bool   // the visitor's filter leaves this dish out: it can be looked at, not added
}

// CartView is a priced cart. Quote is what models.PriceCart returned, also beside an error: its lines carry their problems.
type CartView struct {
	Page  Page
	Quote models.Quote
	From  string // the page it stands on: "" menu, "cart"
	Later bool   // nothing can be had as soon as possible, but an order for later can be placed
	Again AgainView
}

// CartUpdateView is the answer to a change of the cart.
type CartUpdateView struct {
	Cart   CartView
	Item   models.Item // the dish that was changed
	Reason string      // why its number is not the one that was asked for ("Only 3 left."); the dish's own form is then sent along
}

// CheckoutView is the review: lines, fields, bill. Quote is priced for the chosen way and place.
type CheckoutView struct {
	Page        Page
	Quote       models.Quote
	Problem     error // PriceCart's error, nil when the bill can be paid
	Opening     models.Opening
	Times       models.Times
	Form        CheckoutFields
	Located     bool              // the browser's location is known
	Errors      map[string]string // by field name, for people
	Changed     string            // "": first look; "bill": ErrBillChanged; "details": ErrKeyReused; "time": ErrTimeGone
	Was         *models.Quote     // the bill as it was shown, if it is known
	CheckoutKey string
	Review      string           // Quote.Digest()
	Addresses   []models.Address // of who is signed in
}

// CheckoutFields are the fields as typed. They are kept through every error.
type CheckoutFields struct {
	Phone, Name, Email, Way, Line1, Line2, PIN, Directions, Note string
	Time                                                         string // unix time at which the chosen one starts; empty: as soon as possible
	Coupon, Tip, TipOther, GSTIN, BuyerName                      string // Tip: whole rupees, or other
	Saved                                                        string // the id of a saved address, which goes before what is typed; new, or empty: what is typed
	Save                                                         string // 1: what is typed is to be saved
	Pays                                                         string // cash, or anything else for online
}

// PayView is the page between review and order. State is one of the Pay… constants.
type PayView struct {
	Page      Page
	Order     models.Order
	State     string
	Reason    string // PayFailed: the bank's words; may be empty
	Options   PayOptions
	ScriptURL string // Razorpay's checkout.js
	HostedURL string // Razorpay's page for browsers without script (POST)
	CancelURL string // where that page goes when the customer gives up; absolute
}

// States of the pay page. Every other state belongs to the order page.
const (
	PayPreparing   = "preparing"   // no gateway order yet: the button asks for one
	PayReady       = "ready"       // opens by itself
	PayClosed      = "closed"      // the customer came back from Razorpay's page without paying
	PayFailed      = "failed"      // the last attempt failed
	PayUnavailable = "unavailable" // the gateway does not answer
)

// PayOptions are Razorpay Standard Checkout's options, named as it names them; the script adds handler and modal (Docs-Aug, "Integration Steps").
// Amount must be the gateway order's.
type PayOptions struct {
	Key         string       `json:"key"`
	OrderID     string       `json:"order_id"`
	Amount      models.Paise `json:"amount"`
	Currency    string       `json:"currency"`
	Name        string       `json:"name"`
	Description string       `json:"description"`
	Prefill     PayPrefill   `json:"prefill"`
	Theme       PayTheme     `json:"theme"`
	Timeout     int          `json:"timeout"`      // seconds left of the hold
	CallbackURL string       `json:"callback_url"` // absolute; used by in-app browsers and the hosted page only
	Config      *PayConfig   `json:"config,omitempty"`
}

// PayConfig says in which language Razorpay's sheet is; without it, in English.
type PayConfig struct {
	Display struct {
		Language string `json:"language"`
	} `json:"display"`
}

// PayPrefill fills Razorpay's own fields.
type PayPrefill struct {
	Name    string `json:"name"`
	Contact string `json:"contact"` // E.164
	Email   string `json:"email,omitempty"`
}

// PayTheme is the colour of Razorpay's sheet.
type PayTheme struct {
	Color string `json:"color"`
}

// OrderView is an order as its customer sees it. The state shown is OrderState's.
type OrderView struct {
	PushKey   string // of web push; empty: notifications are not offered
	Page      Page
	Order     models.Order // with Items
	Ticket    *models.Fulfilment
	Payments  []models.Payment
	Refunds   []models.Refund
	Shares    map[string]models.Parts // what of the bill each refund gives back
	HintedAt  *time.Time              // a browser reported a payment that the gateway has not confirmed to us yet
	SoldOut   string                  // the dish that was gone when the money came; empty if unknown
	Personal  bool                    // false hides name, phone and address (a callback without session)
	Papers    []models.Paper
	Shortages []ShortageView

	Complaints []models.Complaint // without what was said
	Review     *models.Review     // nil: none
}

// StaffLoginView is the login form.
type StaffLoginView struct {
	Page  Page
	Login string
	Error string
}

// BoardView is the kitchen's board. Tickets are live ones only, oldest first.
type BoardView struct {
	Page      Page
	Staff     models.Staff
	Tickets   []models.Ticket
	Attention []Attention
	Notice    string // one sentence after a move or a conflict; empty: none
	Undo      *Undo  // offered beside Notice
}

// Attention is one open task for staff, such as money that does not match.
type Attention struct {
	Text     string
	OrderID  int64 // 0: none
	OpenedAt time.Time
}

// Undo is a step back on one ticket, offered for ten seconds.
type Undo struct {
	OrderID  int64
	From, To string
}

// StaffOrderView is everything staff may know of one order.
type StaffOrderView struct {
	Page      Page
	Staff     models.Staff
	Order     models.Order
	Ticket    *models.Fulfilment
	Payments  []models.Payment
	Refunds   []models.Refund
	Shares    map[string]models.Parts // what of the bill each refund gives back
	Waiting   map[string]int64        // the task of each failed refund that this person may send again
	Disputes  []models.Dispute
	Papers    []models.Paper
	Shortages []models.Shortage
	Events    []OrderEvent
	History   []OrderChange
	Notice    string // a conflict: what has changed meanwhile

	Complaints []models.Complaint // without what was said
}

// OrderEvent is one webhook event about the order.
type OrderEvent struct {
	ReceivedAt time.Time
	Type       string // verbatim: payment.captured
	EventID    string
	Status     string
	Problem    string
}

// OrderChange is one line of an order's history.
type OrderChange struct {
	At      time.Time
	Subject string // order, payment, refund, ticket, dispute; or what somebody did
	Was     string
	Became  string
	Actor   string
}

// StaffCancelView is the form that cancels an order and gives its money back.
type StaffCancelView struct {
	Page        Page
	Staff       models.Staff
	Order       models.Order
	RefundPaise models.Paise // 0: nothing was paid
	Reason      string
	Errors      map[string]string // reason, confirm
}

// ErrorView is what a visitor sees of a fault: a sentence and a number to quote, never an error's text.
type ErrorView struct {
	Page      Page
	Status    int
	Sentence  string
	RequestID string
}

// MailView is what a letter is written from.
type MailView struct {
	Outlet   models.Outlet
	Order    models.Order     // with Items
	Refund   *models.Refund   // the refund letters
	Shortage *models.Shortage // the letter about one
	Share    *models.Parts    // what of the bill Refund gives back; nil: the money was never kept
	OrderURL string           // absolute
}
