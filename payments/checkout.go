package payments

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"tiffin/models"
	"tiffin/razorpay"
)

// Checkout is what a customer sends with Pay: the copies of key and bill digest the form was given, and the customer's own fields,
// checked for shape already. It holds no price and no item: those are rows.
type Checkout struct {
	Session     models.Session
	CheckoutKey string // compared, never adopted
	Review      string // digest of the bill that was shown; compared, never trusted
	Way         string // delivery, pickup
	Name        string
	Phone       string // E.164
	Email       string
	Line1       string
	Line2       string
	PIN         string
	Directions  string
	Note        string
	BuyerGSTIN  string // may be empty
	BuyerName   string
	Language    string     // the customer reads
	Cash        bool       // pays in cash: at the counter, or when it is delivered
	At          *time.Time // when the chosen time starts; nil: as soon as possible
	SoonestBy   *time.Time // the end of what "as soon as possible" was shown to mean; only compared; nil: not said
}

// Review is a cart as it would be bought now.
type Review struct {
	Cart        models.Cart
	Quote       models.Quote
	Destination models.Destination
	Schedule    models.Schedule
	Opening     models.Opening
	Times       models.Times
	Time        models.PromisedTime // the chosen one, or the soonest; zero when there is none
	CashRefusal error               // why it cannot be paid in cash, *models.ErrCash; nil: it can
	Problem     error               // why it cannot be bought as it is; see models.PriceCart, and models.ErrClosed, ErrTimeGone
}

// Review prices a session's cart for a destination and a time that starts at at (nil: as soon as possible). phone (E.164) is whose use of a
// coupon counts, "" while it is not known. The error is the shop's fault, never the customer's: that is Problem.
func (c *Cashier) Review(ctx context.Context, session models.Session, way, pin, phone string, at *time.Time) (Review, error) {
	var r Review
	var err error
	if r.Cart, err = c.store.FindCart(ctx, session); err != nil {
		return r, err
	}
	if r.Cart.ID == 0 || len(r.Cart.Lines) == 0 {
		r.Problem = models.ErrEmptyCart
		return r, nil
	}
	offer, err := c.store.OfferFor(ctx, r.Cart, phone, at)
	if err != nil {
		return r, err
	}
	if r.Destination, err = c.store.FindDestination(ctx, r.Cart.OutletID, way, pin, r.Cart.LatitudeE6, r.Cart.LongitudeE6); err != nil {
		return r, err
	}
	r.Schedule, r.Opening = offer.Schedule, offer.Schedule.At(offer.ReadAt)
	r.Quote, r.Problem = models.PriceCart(offer.List, r.Cart, r.Destination)
	if r.Problem != nil && !models.IsCustomerProblem(r.Problem) {
		return r, r.Problem
	}
	r.CashRefusal = offer.Schedule.Outlet.RefusesCash(way, r.Quote.AmountPaise)
	noTime := r.findTime(offer, way, at)
	switch {
	case r.Problem != nil:
	case noTime != nil:
		r.Problem = noTime
	case r.Quote.AmountPaise > 0 && r.Quote.AmountPaise < models.LeastPayablePaise && r.CashRefusal != nil:
		r.Problem = models.ErrTooSmall
	}
	return r, nil
}

// findTime lists what can be promised and finds the time that is wanted. Errors: models.ErrClosed (as soon as possible, while closed),
// models.ErrTimeGone.
func (r *Review) findTime(offer models.Offer, way string, at *time.Time) error {
	r.Times = offer.Schedule.TimesAt(offer.ReadAt, offer.Schedule.Outlet.LeadMinutes(way), offer.Load)
	found := r.Times.Soonest != nil
	switch {
	case at != nil:
		r.Time, found = r.Times.Find(*at)
	case found:
		r.Time = *r.Times.Soonest
	case !r.Opening.Open:
		return models.ErrClosed
	}
	if !found {
		return models.ErrTimeGone
	}
	return nil
}

// waitsLonger reports that "as soon as possible" is later by more than a promised time's width than the form said when it was shown.
func (in Checkout) waitsLonger(r Review) bool {
	return in.At == nil && in.SoonestBy != nil && r.Time.To.After(in.SoonestBy.Add(r.Time.EndsAt.Sub(r.Time.StartsAt)))
}

// PlaceOrder turns the session's cart into one order. The same key with the same details is the same order, in every answer and at
// the price it was placed for; a paid one is returned whatever the details. An order of nothing to pay is paid at once,
// one to be paid in cash is due at once; neither knows the gateway.
//
// Errors: models.ErrKeyReused (another key than the session's, or the same with other items, options, outlet, address or way of paying),
// models.ErrBillChanged (priced differently from what was shown), models.ErrEmptyCart, ErrClosed, ErrTimeGone (not offered any more, or full), *ErrSoldOut, *ErrChoice, *ErrDelivery,
// *ErrCoupon (somebody was first), *ErrCash (not here, too much, or too many of this number are unpaid), ErrTooSmall.
// None of them has written anything, except that after ErrKeyReused the session has no key, so that the next review gets a new one.
// Safe to repeat.
func (c *Cashier) PlaceOrder(ctx context.Context, in Checkout) (*models.Order, error) {
	if in.Session.CustomerID == nil {
		return nil, models.ErrSignedOut
	}
	if _, err := uuid.Parse(in.CheckoutKey); err != nil {
		return nil, fmt.Errorf("checkout key: %w", models.ErrBadInput)
	}
	review, err := c.Review(ctx, in.Session, in.Way, in.PIN, in.Phone, in.At)
	if err != nil {
		return nil, err
	}
	hash := in.hash(review.Cart)
	existing, err := c.store.FindOrderByKey(ctx, *in.Session.CustomerID, in.CheckoutKey)
	if err == nil && existing.Status == models.OrderPending && string(existing.CheckoutHash) == string(hash) {
		if in, existing, err = c.orderAgain(ctx, in, existing); err != nil && !errors.Is(err, models.ErrNotFound) {
			return nil, err
		}
	}
	if err == nil && (existing.IsPlaced() || existing.Status == models.OrderPending || isSuperseded(existing)) {
		return c.sameOrder(ctx, in, existing, hash)
	}
	if err != nil && !errors.Is(err, models.ErrNotFound) {
		return nil, err
	}
	if in.Session.CheckoutKey == nil || *in.Session.CheckoutKey != in.CheckoutKey {
		return nil, models.ErrKeyReused
	}
	if review.Problem != nil {
		return nil, review.Problem
	}
	if !review.Quote.DeliveryKnown {
		return nil, &models.ErrDelivery{Why: "far", PIN: in.PIN}
	}
	if review.Quote.Digest() != in.Review {
		return nil, models.ErrBillChanged
	}
	switch {
	case in.Cash && review.Quote.AmountPaise > 0 && review.CashRefusal != nil:
		return nil, review.CashRefusal
	case !in.Cash && 0 < review.Quote.AmountPaise && review.Quote.AmountPaise < models.LeastPayablePaise:
		return nil, models.ErrTooSmall
	}
	if in.waitsLonger(review) {
		return nil, models.ErrTimeGone
	}

	var order models.Order
	var fresh bool
	err = c.store.InTx(ctx, func(tx *models.Store) error {
		slot, err := tx.EnsureSlot(ctx, review.Schedule.Outlet, review.Time.Window)
		if err != nil {
			return err
		}
		if slot.ClosedAt != nil {
			return models.ErrClosed
		}
		order = in.order(review, slot, hash, c.settings.Mode())
		hold := time.Duration(review.Schedule.Outlet.HoldMinutes) * time.Minute
		if fresh, err = tx.CreateOrder(ctx, &order, hold, in.Session.ID, review.Cart.Version); err != nil {
			return err
		}
		if fresh && order.Pays == "nothing" {
			if err := tx.GrantOrder(ctx, &order); err != nil {
				return err
			}
		}
		if fresh && order.Pays == "cash" {
			if err := tx.AcceptCash(ctx, &order, review.Schedule.Outlet.CashOpenOrders); err != nil {
				return err
			}
		}
		models.FaultPoint("place.before_commit")
		return nil
	})
	if err != nil {
		return nil, err
	}
	models.FaultPoint("place.after_commit")
	if !fresh {
		return c.sameOrder(ctx, in, order, hash)
	}
	return &order, nil
}

// orderAgain gives a checkout whose unpaid order has had its time a new key, so that one press places the same cart again and the new
// order takes the old one's place. While the order can still be paid, nothing is changed. models.ErrNotFound says that the new key has no order yet.
func (c *Cashier) orderAgain(ctx context.Context, in Checkout, existing models.Order) (Checkout, models.Order, error) {
	now, err := c.store.Now(ctx)
	if err != nil || now.Before(existing.HoldExpiresAt) {
		return in, existing, err
	}
	if err := c.store.ClearCheckoutKey(ctx, in.Session.ID, in.CheckoutKey); err != nil {
		return in, existing, err
	}
	key, err := c.store.EnsureCheckoutKey(ctx, in.Session.ID)
	if err != nil {
		return in, existing, err
	}
	in.CheckoutKey, in.Session.CheckoutKey = key, &key
	existing, err = c.store.FindOrderByKey(ctx, *in.Session.CustomerID, key)
	return in, existing, err
}

func isSuperseded(o models.Order) bool {
	return o.Status == models.OrderCancelled && o.CancelReason != nil && *o.CancelReason == "superseded"
}

// sameOrder answers a press of Pay whose key has an order already.
func (c *Cashier) sameOrder(ctx context.Context, in Checkout, existing models.Order, hash []byte) (*models.Order, error) {
	if existing.IsPlaced() {
		return &existing, nil
	}
	if isSuperseded(existing) && string(existing.CheckoutHash) == string(hash) { // another press of this very button was first to order again
		key, err := c.store.EnsureCheckoutKey(ctx, in.Session.ID)
		if err != nil {
			return nil, err
		}
		if newer, err := c.store.FindOrderByKey(ctx, *in.Session.CustomerID, key); err == nil {
			existing = newer
		} else if !errors.Is(err, models.ErrNotFound) {
			return nil, err
		}
	}
	if existing.Status != models.OrderPending || string(existing.CheckoutHash) != string(hash) {
		if err := c.store.ClearCheckoutKey(ctx, in.Session.ID, in.CheckoutKey); err != nil {
			return nil, err
		}
		return nil, models.ErrKeyReused
	}
	updated := existing
	updated.Name, updated.Phone, updated.Email, updated.Directions, updated.Note = in.Name, in.Phone, in.Email, in.Directions, in.Note
	updated.BuyerGSTIN, updated.BuyerName = in.BuyerGSTIN, in.BuyerName
	if in.Language != "" {
		updated.Language = in.Language
	}
	if updated.Name != existing.Name || updated.Language != existing.Language || updated.Phone != existing.Phone || updated.Email != existing.Email ||
		updated.Directions != existing.Directions || updated.Note != existing.Note || updated.BuyerGSTIN != existing.BuyerGSTIN || updated.BuyerName != existing.BuyerName {
		if err := c.store.UpdateContact(ctx, updated); err != nil {
			return nil, err
		}
	}
	return &updated, nil
}

// hash names what makes a checkout another one: outlet, lines, options, quantities, way, address, the chosen time and cash. Contact details do not.
func (in Checkout) hash(cart models.Cart) []byte {
	type line struct {
		Item    int64
		Options []int64
		Qty     int
		Note    string
	}
	details := struct {
		Outlet                 int64
		Lines                  []line
		Way, Line1, Line2, PIN string
		At                     int64 // 0: as soon as possible
		Cash                   bool  `json:",omitempty"`
	}{Outlet: cart.OutletID, Way: in.Way, Cash: in.Cash}
	if in.At != nil {
		details.At = in.At.Unix()
	}
	if in.Way == "delivery" {
		details.Line1, details.Line2, details.PIN = in.Line1, in.Line2, in.PIN
	}
	for _, l := range cart.Lines {
		details.Lines = append(details.Lines, line{l.ItemID, l.OptionIDs, l.Qty, l.Note})
	}
	text, err := json.Marshal(details)
	if err != nil {
		panic(fmt.Sprintf("payments: checkout details are plain data: %v", err))
	}
	sum := sha256.Sum256(text)
	return sum[:]
}

// order copies everything the order will ever need: nothing of it may depend on a later menu, session or cart.
func (in Checkout) order(r Review, slot models.Slot, hash []byte, mode string) models.Order {
	q, outlet := r.Quote, r.Schedule.Outlet
	o := models.Order{
		PublicID: "t" + randomHex(), Token: rand.Text(), ServiceOn: slot.ServiceOn, OutletID: outlet.ID, SlotID: slot.ID,
		CartID: r.Cart.ID, CustomerID: *in.Session.CustomerID, CheckoutKey: in.CheckoutKey, CheckoutHash: hash, Mode: mode, Way: in.Way,
		TaxMode: q.TaxMode, SubtotalPaise: q.SubtotalPaise, DiscountPaise: q.DiscountPaise, PackagingPaise: q.PackagingPaise, DeliveryPaise: q.DeliveryPaise,
		CGSTPaise: q.CGSTPaise, SGSTPaise: q.SGSTPaise, TipPaise: q.TipPaise, RoundOffPaise: q.RoundOffPaise, AmountPaise: q.AmountPaise,
		Name: in.Name, Phone: in.Phone, Email: in.Email, Note: in.Note, BuyerGSTIN: in.BuyerGSTIN, BuyerName: in.BuyerName, Language: in.Language, Coupon: q.Coupon, Pays: "razorpay",
		OutletName: outlet.Name, PrepMinutes: outlet.PrepMinutes, DeliveryMinutes: outlet.DeliveryMinutes,
		PromisedFrom: &r.Time.From, PromisedTo: &r.Time.To, ASAP: in.At == nil, Time: r.Time,
	}
	switch {
	case q.AmountPaise == 0:
		o.Pays = "nothing"
	case in.Cash:
		o.Pays = "cash"
	}
	if in.Way == "delivery" {
		o.Line1, o.Line2, o.PIN, o.Directions, o.DistanceMetres = in.Line1, in.Line2, in.PIN, in.Directions, q.DistanceMetres
	}
	for _, l := range q.Lines {
		item := models.OrderItem{ItemID: l.ItemID, OptionIDs: l.OptionIDs, Name: l.Name, Mark: l.Mark, Art: l.Art, Tint: l.Tint, TaxClass: l.TaxClass,
			UnitPricePaise: l.UnitPricePaise, OptionsPricePaise: l.OptionsPricePaise, Qty: l.Qty, LineTotalPaise: l.LineTotalPaise, DiscountPaise: l.DiscountPaise, Note: l.Note}
		for _, p := range l.Options {
			item.Options = append(item.Options, models.OrderItemOption{OptionID: p.OptionID, GroupName: p.GroupName, Name: p.Name, Kind: p.Kind, PricePaise: p.PricePaise})
		}
		o.Items = append(o.Items, item)
	}
	for _, t := range q.Taxes {
		o.Taxes = append(o.Taxes, models.OrderTax{TaxClass: t.TaxClass, TaxablePaise: t.TaxablePaise, CGSTBP: t.CGSTBP, SGSTBP: t.SGSTBP, CGSTPaise: t.CGSTPaise, SGSTPaise: t.SGSTPaise})
	}
	return o
}

// randomHex is 128 random bits, never from a sequence.
func randomHex() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand, Go 1.24)
	return hex.EncodeToString(b[:])
}

// Notes our gateway orders carry, so that one whose id we lost can be mapped back.
const (
	noteOrder   = "tiffin_order"
	noteAttempt = "tiffin_attempt"
)

// captureMinutes is how long after its creation Razorpay captures by itself: the hold and the ten minutes in which late money may
// still be kept. What is authorised later goes back by itself, uncaptured. The gateway's minimum is 12.
func captureMinutes(o *models.Order) int {
	return max(int(o.HoldExpiresAt.Sub(o.PlacedAt).Round(time.Minute)/time.Minute)+10, 12) // the two are read milliseconds apart
}

// OpenGatewayOrder returns the gateway order that a browser may pay o on, making it if there is none. Only the winner of the claim
// calls the gateway, outside any transaction; the others get what it attached, or models.ErrPreparing: ask again in a moment.
//
// Errors: models.ErrPreparing, models.ErrBadMove (o is no longer payable), models.ErrTooLate (its hold is over), ErrNoGateway (the gateway
// refused; a person is told). Safe to repeat. Makes a network call.
func (c *Cashier) OpenGatewayOrder(ctx context.Context, o *models.Order) (razorpayOrderID string, err error) {
	ctx = detached(ctx)
	claim, current, err := c.store.ClaimGatewayOrder(ctx, o.ID, o.CustomerID)
	if err != nil {
		return "", err
	}
	if current == "" {
		models.FaultPoint("claim.after_commit")
		if current, err = c.createGatewayOrder(ctx, o, claim); err != nil {
			return "", err
		}
	}
	if err := c.store.HandOut(ctx, current); err != nil {
		return "", err
	}
	return current, nil
}

// orderParams is what the gateway is told of an order: amount, receipt, our marks and when to capture, nothing about people or food.
func orderParams(o *models.Order, claim models.Claim) razorpay.OrderParams {
	minutes := captureMinutes(o)
	return razorpay.OrderParams{
		AmountPaise: int64(o.AmountPaise), Currency: o.Currency, Receipt: claim.Receipt,
		Notes:   map[string]string{noteOrder: o.PublicID, noteAttempt: fmt.Sprint(claim.Attempt)},
		Capture: &razorpay.CaptureOptions{AutomaticExpiryMinutes: minutes, ManualExpiryMinutes: minutes, RefundSpeed: "normal"},
	}
}

func (c *Cashier) createGatewayOrder(ctx context.Context, o *models.Order, claim models.Claim) (current string, err error) {
	params := orderParams(o, claim)
	params.UniqueReceipt = c.settings.UniqueReceipt
	made, err := c.gateway.CreateOrder(ctx, params)
	models.FaultPoint("create.answered")
	if err == nil {
		current, err = c.attach(ctx, o.ID, made, claim.Generation, claim.Token, "create")
		if err == nil && current == "" {
			return "", fmt.Errorf("order %d closed meanwhile: %w", o.ID, models.ErrBadMove)
		}
		return current, err
	}
	c.log.WarnContext(ctx, "gateway order not created", "order_id", o.ID, "receipt", claim.Receipt, "error", err)
	if _, duplicate := razorpay.IsDuplicateReceipt(err); duplicate {
		if current, lookupErr := c.lookUpReceipt(ctx, claim); lookupErr == nil && current != "" {
			return current, nil
		}
		return "", errors.Join(models.ErrPreparing, c.store.DoubtClaim(ctx, claim.Token))
	}
	switch razorpay.OutcomeOf(err) {
	case razorpay.Refused, razorpay.Unauthorised:
		task := c.store.OpenTask(ctx, models.TaskClaimRejected, o.PublicID, &o.ID, "Razorpay refuses to start a payment: "+err.Error())
		return "", errors.Join(fmt.Errorf("order %d: %w", o.ID, ErrNoGateway), c.store.CloseClaim(ctx, claim.Token, "rejected"), task)
	case razorpay.RateLimited:
		return "", errors.Join(models.ErrPreparing, c.store.CloseClaim(ctx, claim.Token, "released"))
	default: // it may have happened, now or later
		return "", errors.Join(models.ErrPreparing, c.store.DoubtClaim(ctx, claim.Token))
	}
}

// attach stores a gateway order under ours and returns the one that browsers are given from now on.
func (c *Cashier) attach(ctx context.Context, orderID int64, made razorpay.Order, generation int, token, via string) (string, error) {
	return c.store.AttachGatewayOrder(ctx, gatewayOrder(made, orderID, generation, via), token)
}

func gatewayOrder(made razorpay.Order, orderID int64, generation int, via string) models.GatewayOrder {
	return models.GatewayOrder{RazorpayOrderID: made.ID, OrderID: orderID, Generation: generation, Receipt: made.Receipt,
		AmountPaise: models.Paise(made.AmountPaise), Currency: made.Currency, LearnedVia: via}
}

// lookUpReceipt attaches every gateway order that carries the claim's receipt, oldest first, and returns the current one.
// "" says that the gateway listed none, which proves nothing.
func (c *Cashier) lookUpReceipt(ctx context.Context, claim models.Claim) (current string, err error) {
	found, err := c.gateway.ListOrdersByReceipt(ctx, claim.Receipt)
	if err != nil {
		return "", err
	}
	for _, made := range found {
		if current, err = c.attach(ctx, claim.OrderID, made, claim.Generation, "", "lookup"); err != nil {
			return "", err
		}
	}
	return current, nil
}

// adopt finds out whose a gateway order is that we do not know, by its receipt and notes, and attaches it: to the order they name, or,
// when they are this shop's and fit none, to a stub whose money goes back after a look (judge).
// Errors: models.ErrNotOurs, after noting it, for a gateway order of another program.
func (c *Cashier) adopt(ctx context.Context, razorpayOrderID, via string) error {
	made, err := c.gateway.FetchOrder(ctx, razorpayOrderID)
	if err != nil {
		return err
	}
	publicID, generation := splitReceipt(made.Receipt)
	marked := made.Notes[noteOrder]
	if publicID == "" && marked == "" {
		return errors.Join(models.ErrNotOurs, c.store.RecordBreak(ctx, razorpayOrderID, "gateway order of another program", models.Paise(made.AmountPaise)))
	}
	o, err := c.store.FindOrderByPublicID(ctx, cmp.Or(publicID, marked))
	if err == nil && marked == publicID {
		_, err = c.attach(ctx, o.ID, made, generation, "", via)
		if !errors.Is(err, models.ErrAmountMismatch) {
			return err
		}
	} else if err != nil && !errors.Is(err, models.ErrNotFound) {
		return err
	}
	if made.Currency != "INR" { // no order of ours can stand for it
		return errors.Join(models.ErrNotOurs, c.store.RecordBreak(ctx, razorpayOrderID, "gateway order with our marks in "+made.Currency, models.Paise(made.AmountPaise)),
			c.store.OpenTask(ctx, models.TaskUnmapped, razorpayOrderID, nil, "Money in "+made.Currency+" with this shop's marks: "+razorpayOrderID))
	}
	return c.store.CreateStub(ctx, gatewayOrder(made, 0, 1, via), o.ID, c.settings.Mode())
}

// splitReceipt takes "<public_id>-g<generation>" apart; anything else is "".
func splitReceipt(receipt string) (publicID string, generation int) {
	publicID, tail, found := strings.Cut(receipt, "-g")
	if _, err := fmt.Sscanf(tail, "%d", &generation); !found || err != nil || generation < 1 || fmt.Sprintf("%s-g%d", publicID, generation) != receipt {
		return "", 0
	}
	return publicID, generation
}
