package models

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

// Order is one placed order: the bill as it was agreed, who and where, and its state. The bill never changes (orders_guard).
type Order struct {
	ID           int64
	PublicID     string // random; the gateway is told this one and nothing else
	Token        string // unguessable; in links
	Number       int    // for people, counts per outlet and service day
	ServiceOn    time.Time
	OutletID     int64
	SlotID       int64
	CartID       int64
	CustomerID   int64
	CheckoutKey  string
	CheckoutHash []byte
	Mode         string // test, live: of the gateway key
	Way          string // delivery, pickup

	Currency       string `gorm:"default:(-)"`
	TaxMode        string
	SubtotalPaise  Paise
	DiscountPaise  Paise
	PackagingPaise Paise
	DeliveryPaise  Paise
	CGSTPaise      Paise `gorm:"column:cgst_paise"`
	SGSTPaise      Paise `gorm:"column:sgst_paise"`
	TipPaise       Paise
	RoundOffPaise  Paise
	AmountPaise    Paise

	Name            string
	Phone           string // E.164
	Email           string // may be empty
	Line1           string
	Line2           string
	PIN             string `gorm:"column:pin"`
	Directions      string
	DistanceMetres  *int
	Note            string
	BuyerGSTIN      string `gorm:"column:buyer_gstin"` // of a business that wants a tax invoice; may be empty
	BuyerName       string // the business
	Language        string `gorm:"default:en-IN"` // it was placed in: letters about it are in it
	Coupon          string // whose discount it is; empty: none
	OutletName      string
	PrepMinutes     int
	DeliveryMinutes int
	PromisedFrom    *time.Time // the window the customer was shown; nil: a stub, nothing was promised
	PromisedTo      *time.Time
	ASAP            bool         `gorm:"column:asap"` // as soon as possible: the window was not chosen
	Time            PromisedTime `gorm:"-"`           // for CreateOrder: the time it takes

	Pays          string `gorm:"default:(-)"`
	Status        string `gorm:"default:(-)"` // see order_status.go
	CancelReason  *string
	CancelledBy   *string
	PaidPaymentID *int64
	PaidAt        *time.Time
	ClosedAt      *time.Time // cancelled or expired
	HoldExpiresAt time.Time
	NextCheckAt   *time.Time // when the sweep asks the gateway next
	Checks        int
	LastCheckedAt *time.Time
	ResolveBy     *time.Time `gorm:"default:(-)"` // no limbo: by then NextAction has happened; kept by the database
	NextAction    string     `gorm:"default:(-)"` // ask_gateway, send_refund, refund_settles, staff_refunds, take_cash; empty: the money is at rest
	PlacedAt      time.Time  `gorm:"default:(-)"`

	Items []OrderItem `gorm:"-"` // in bill order, with their options; filled by FindOrder…
	Taxes []OrderTax  `gorm:"-"`
}

// OrderItem is a line as bought: names and prices are copies, so menu edits never reach it.
type OrderItem struct {
	OrderID           int64
	Line              int
	ItemID            int64
	Name              string
	Mark              string
	Art               string
	Tint              string
	TaxClass          string
	UnitPricePaise    Paise
	OptionsPricePaise Paise
	Qty               int
	LineTotalPaise    Paise
	DiscountPaise     Paise // its share of the bill's discount
	Note              string
	OptionIDs         IDList

	Options []OrderItemOption `gorm:"-"`
}

// OrderItemOption is a choice as bought.
type OrderItemOption struct {
	OrderID    int64
	Line       int
	Position   int
	OptionID   int64
	GroupName  string
	Name       string
	Kind       string
	PricePaise Paise
}

// OrderTax is the tax of one class on the bill.
type OrderTax struct {
	OrderID      int64
	TaxClass     string
	TaxablePaise Paise
	CGSTBP       BasisPoints `gorm:"column:cgst_bp"`
	SGSTBP       BasisPoints `gorm:"column:sgst_bp"`
	CGSTPaise    Paise       `gorm:"column:cgst_paise"`
	SGSTPaise    Paise       `gorm:"column:sgst_paise"`
}

// Parts are the bill's.
func (o Order) Parts() Parts {
	return Parts{SubtotalPaise: o.SubtotalPaise, DiscountPaise: o.DiscountPaise, PackagingPaise: o.PackagingPaise, DeliveryPaise: o.DeliveryPaise,
		CGSTPaise: o.CGSTPaise, SGSTPaise: o.SGSTPaise, TipPaise: o.TipPaise, RoundOffPaise: o.RoundOffPaise}
}

// IsLater reports whether the order is for a time that was chosen.
func (o Order) IsLater() bool { return o.PromisedFrom != nil && !o.ASAP }

// LeadMinutes is how long the order takes from the kitchen's start to being handed over.
func (o Order) LeadMinutes() int {
	return Outlet{PrepMinutes: o.PrepMinutes, DeliveryMinutes: o.DeliveryMinutes}.LeadMinutes(o.Way)
}

// IsPlaced reports that the order is the shop's to fulfil, or was: paid, whether or not it was cancelled since, or due.
func (o Order) IsPlaced() bool { return o.PaidAt != nil || o.Status == OrderDue }

// IsPayable reports whether a payment can still confirm the order as it stands. Only the database decides for good.
func (o Order) IsPayable() bool { return o.Status == OrderPending && o.Pays == "razorpay" }

// Slot is the service window an order belongs to, as stored: placing ends at LastOrderAt, money is taken until AcceptUntil.
type Slot struct {
	ID          int64
	OutletID    int64
	ServiceOn   time.Time
	OpensAt     time.Time
	LastOrderAt time.Time
	AcceptUntil time.Time
	ClosedAt    *time.Time // staff closed the kitchen early
}

func (Slot) TableName() string { return "kitchen_slots" }

// IsTaking reports whether money that arrives at now may still be kept.
func (s Slot) IsTaking(now time.Time) bool { return s.ClosedAt == nil && !now.After(s.AcceptUntil) }

// EnsureSlot makes or finds the row of a service window. Money is taken until last order + hold, so that whoever placed in time is
// not refused for paying within the hold. Inside a transaction staff cannot close the window before it ends; others may place and pay
// meanwhile. Safe to repeat.
func (s *Store) EnsureSlot(ctx context.Context, outlet Outlet, w Window) (slot Slot, err error) {
	accept := w.LastOrderAt.Add(time.Duration(outlet.HoldMinutes) * time.Minute)
	if err := s.exec(ctx, `INSERT INTO kitchen_slots (outlet_id, service_on, opens_at, last_order_at, accept_until) VALUES (?, ?::date, ?, ?, ?)
		ON CONFLICT (outlet_id, opens_at) DO NOTHING`, outlet.ID, w.ServiceOn, w.OpensAt, w.LastOrderAt, accept).Error; err != nil {
		return slot, err
	}
	// Apart from the insert, whose DO UPDATE would lock the row against every payment even where nothing changes.
	if err := s.exec(ctx, `UPDATE kitchen_slots SET last_order_at = ?, accept_until = ? WHERE outlet_id = ? AND opens_at = ? AND (last_order_at, accept_until) IS DISTINCT FROM (?::timestamptz, ?::timestamptz)`,
		w.LastOrderAt, accept, outlet.ID, w.OpensAt, w.LastOrderAt, accept).Error; err != nil {
		return slot, err
	}
	err = s.one(ctx, &slot, `SELECT * FROM kitchen_slots WHERE outlet_id = ? AND opens_at = ? FOR SHARE`, outlet.ID, w.OpensAt)
	return slot, err
}

// CloseKitchen ends a service window now: nothing more is placed in it, and money that arrives for it goes back. Safe to repeat.
func (s *Store) CloseKitchen(ctx context.Context, outletID int64, staffID int64) error {
	return s.InTx(ctx, func(tx *Store) error {
		r := tx.exec(ctx, `UPDATE kitchen_slots SET closed_at = shop_now() WHERE outlet_id = ? AND closed_at IS NULL AND opens_at <= shop_now() AND accept_until > shop_now()`, outletID)
		if r.Error != nil || r.RowsAffected == 0 {
			return r.Error
		}
		if err := tx.Audit(ctx, StaffActor(staffID), "close_kitchen", nil, fmt.Sprintf("outlet %d", outletID)); err != nil {
			return err
		}
		return tx.Notify(ctx, BoardTopic(outletID))
	})
}

// CreateOrder writes a placed order: its row, lines, options and taxes, its number, its promised time (o.Time) and its dishes, both held. fresh is false when this customer's
// checkout key already has an order; then o is that order, with its items, and nothing is written – whether the details are the same
// is for the caller to compare by CheckoutHash. An older pending order of the same cart is cancelled first (superseded).
//
// version is the cart's when it was priced and sessionID the session whose checkout key is being used: when either has changed by
// commit time, or the session is another customer's because it has signed in, the whole placing is undone with ErrBillChanged or ErrKeyReused.
//
// Locks are taken in this order: service window (EnsureSlot), customer, the cart's older orders, the day's numbers, promised times, stock, coupon.
//
// Errors besides: ErrTimeGone, *ErrSoldOut, *ErrCoupon. Inside InTx only; safe to repeat.
func (s *Store) CreateOrder(ctx context.Context, o *Order, hold time.Duration, sessionID, version int64) (fresh bool, err error) {
	// A customer's placings take turns, so that 200 presses of Pay do not burn 199 order numbers. The unique key is the guard.
	turn := s.exec(ctx, `SELECT 1 FROM customers WHERE id = ? FOR NO KEY UPDATE`, o.CustomerID)
	if turn.Error != nil {
		return false, turn.Error
	}
	if turn.RowsAffected == 0 { // the guest has signed in meanwhile and is no more
		return false, fmt.Errorf("customer %d: %w", o.CustomerID, ErrKeyReused)
	}
	if existing, err := s.FindOrderByKey(ctx, o.CustomerID, o.CheckoutKey); err == nil {
		*o = existing
		return false, nil
	} else if !errors.Is(err, ErrNotFound) {
		return false, err
	}
	var older []Order
	if err := s.read(ctx, &older, `SELECT * FROM orders WHERE cart_id = ? AND status = 'pending' ORDER BY id FOR NO KEY UPDATE`, o.CartID); err != nil {
		return false, err
	}
	if o.Number, err = s.takeNumber(ctx, o.OutletID, o.ServiceOn); err != nil {
		return false, err
	}
	if err := s.supersede(ctx, o, older); err != nil {
		return false, err
	}
	now, err := s.Now(ctx)
	if err != nil {
		return false, err
	}
	o.HoldExpiresAt = now.Add(hold)
	o.NextCheckAt = at(now.Add(firstCheck))
	created := s.db.WithContext(ctx).Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "customer_id"}, {Name: "checkout_key"}}, DoNothing: true}).Create(o)
	switch {
	case created.Error != nil:
		return false, fmt.Errorf("place order: %w", created.Error)
	case created.RowsAffected == 0: // somebody who does not take the turn above was first
		*o, err = s.FindOrderByKey(ctx, o.CustomerID, o.CheckoutKey)
		return false, err
	}
	if err := s.createLines(ctx, o); err != nil {
		return false, err
	}
	if err := s.takeTime(ctx, o, o.HoldExpiresAt); err != nil {
		return false, err
	}
	if err := s.takeHolds(ctx, o, o.HoldExpiresAt); err != nil {
		return false, err
	}
	if err := s.takeCoupon(ctx, o); err != nil {
		return false, err
	}
	// What was priced is what is bought: the cart has not moved, and this key still names it.
	cart := s.exec(ctx, `UPDATE carts SET updated_at = shop_now() WHERE id = ? AND version = ?`, o.CartID, version)
	if cart.Error != nil {
		return false, cart.Error
	}
	if cart.RowsAffected == 0 {
		return false, fmt.Errorf("cart %d: %w", o.CartID, ErrBillChanged)
	}
	session := s.exec(ctx, `UPDATE sessions SET checkout_key = checkout_key WHERE id = ? AND checkout_key::text = ? AND customer_id = ?`, sessionID, o.CheckoutKey, o.CustomerID)
	if session.Error != nil {
		return false, session.Error
	}
	if session.RowsAffected == 0 {
		return false, fmt.Errorf("session %d: %w", sessionID, ErrKeyReused)
	}
	return true, nil
}

// takeNumber counts on: numbers are for people, per outlet and service day. A transaction that is undone takes none.
func (s *Store) takeNumber(ctx context.Context, outletID int64, serviceOn time.Time) (number int, err error) {
	err = s.one(ctx, &number, `INSERT INTO order_counters AS c (outlet_id, service_on, last) VALUES (?, ?::date, 1)
		ON CONFLICT (outlet_id, service_on) DO UPDATE SET last = c.last + 1 RETURNING last`, outletID, serviceOn)
	return number, err
}

func (s *Store) createLines(ctx context.Context, o *Order) error {
	var options []OrderItemOption
	for i := range o.Items {
		item := &o.Items[i]
		item.OrderID, item.Line = o.ID, i+1
		for n := range item.Options {
			item.Options[n].OrderID, item.Options[n].Line, item.Options[n].Position = o.ID, i+1, n+1
		}
		options = append(options, item.Options...)
	}
	for i := range o.Taxes {
		o.Taxes[i].OrderID = o.ID
	}
	db := s.db.WithContext(ctx)
	if err := db.Create(&o.Items).Error; err != nil {
		return fmt.Errorf("place order %d: lines: %w", o.ID, err)
	}
	if len(options) > 0 {
		if err := db.Create(&options).Error; err != nil {
			return fmt.Errorf("place order %d: options: %w", o.ID, err)
		}
	}
	if len(o.Taxes) > 0 {
		if err := db.Create(&o.Taxes).Error; err != nil {
			return fmt.Errorf("place order %d: taxes: %w", o.ID, err)
		}
	}
	return nil
}

// supersede cancels what is still unpaid of a cart: the order about to be placed takes its place. Money that still comes for it goes back.
func (s *Store) supersede(ctx context.Context, o *Order, older []Order) error {
	if len(older) > 0 {
		if err := s.lockTimes(ctx, o, older); err != nil {
			return err
		}
	}
	for i := range older {
		if err := s.MoveOrder(ctx, &older[i], OrderCancelled, Move{By: ActorCustomer, Reason: "superseded"}); err != nil {
			return err
		}
	}
	return nil
}

// UpdateContact lets the newest contact details win while the order is unpaid; the bill and the address are not touched.
func (s *Store) UpdateContact(ctx context.Context, o Order) error {
	return s.exec(ctx, `UPDATE orders SET name = ?, phone = ?, email = ?, directions = ?, note = ?, buyer_gstin = ?, buyer_name = ?, language = ? WHERE id = ? AND status = 'pending'`,
		o.Name, o.Phone, o.Email, o.Directions, o.Note, o.BuyerGSTIN, o.BuyerName, o.Language, o.ID).Error
}

// LockOrder reads an order's row and locks it until the transaction ends; everything about its money takes turns here.
// Errors: ErrNotFound. Inside InTx only, before any other lock.
func (s *Store) LockOrder(ctx context.Context, orderID int64) (o Order, err error) {
	err = s.one(ctx, &o, `SELECT * FROM orders WHERE id = ? FOR NO KEY UPDATE`, orderID)
	return o, err
}

// LockOrderOf is LockOrder by one of its gateway orders.
func (s *Store) LockOrderOf(ctx context.Context, razorpayOrderID string) (o Order, err error) {
	err = s.one(ctx, &o, `SELECT * FROM orders WHERE id = (SELECT order_id FROM gateway_orders WHERE razorpay_order_id = ?) FOR NO KEY UPDATE`, razorpayOrderID)
	return o, err
}

// ShareSlot reads the order's service window and keeps staff from closing it before this transaction ends. Inside InTx, after the order's lock.
func (s *Store) ShareSlot(ctx context.Context, slotID int64) (slot Slot, err error) {
	err = s.one(ctx, &slot, `SELECT * FROM kitchen_slots WHERE id = ? FOR SHARE`, slotID)
	return slot, err
}

// FindOrder, FindOrderByToken, FindOrderByPublicID and FindOrderByKey read one order with its items and taxes. Errors: ErrNotFound.
func (s *Store) FindOrder(ctx context.Context, orderID int64) (Order, error) {
	return s.findOrder(ctx, `id = ?`, orderID)
}

func (s *Store) FindOrderByToken(ctx context.Context, token string) (Order, error) {
	return s.findOrder(ctx, `token = ?`, token)
}

func (s *Store) FindOrderByPublicID(ctx context.Context, publicID string) (Order, error) {
	return s.findOrder(ctx, `public_id = ?`, publicID)
}

func (s *Store) FindOrderByKey(ctx context.Context, customerID int64, checkoutKey string) (Order, error) {
	return s.findOrder(ctx, `customer_id = ? AND checkout_key::text = ?`, customerID, checkoutKey)
}

func (s *Store) findOrder(ctx context.Context, where string, args ...any) (Order, error) {
	var o Order
	err := s.db.WithContext(ctx).Where(where, args...).Take(&o).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return o, ErrNotFound
	}
	if err != nil {
		return o, err
	}
	orders := []Order{o}
	err = s.fillItems(ctx, orders)
	return orders[0], err
}

// fillItems reads the lines, options and taxes of some orders in three queries.
func (s *Store) fillItems(ctx context.Context, orders []Order) error {
	if len(orders) == 0 {
		return nil
	}
	byID := map[int64]*Order{}
	ids := make(IDList, 0, len(orders))
	for i := range orders {
		byID[orders[i].ID] = &orders[i]
		ids = append(ids, orders[i].ID)
	}
	var items []OrderItem
	var options []OrderItemOption
	var taxes []OrderTax
	for _, part := range []struct {
		dest any
		text string
	}{
		{&items, `SELECT * FROM order_items WHERE order_id = ANY (?::bigint[]) ORDER BY order_id, line`},
		{&options, `SELECT * FROM order_item_options WHERE order_id = ANY (?::bigint[]) ORDER BY order_id, line, position`},
		{&taxes, `SELECT * FROM order_taxes WHERE order_id = ANY (?::bigint[]) ORDER BY order_id, tax_class`},
	} {
		if err := s.read(ctx, part.dest, part.text, ids); err != nil {
			return err
		}
	}
	for _, item := range items {
		o := byID[item.OrderID]
		o.Items = append(o.Items, item)
	}
	for _, option := range options {
		item := &byID[option.OrderID].Items[option.Line-1]
		item.Options = append(item.Options, option)
	}
	for _, tax := range taxes {
		o := byID[tax.OrderID]
		o.Taxes = append(o.Taxes, tax)
	}
	return nil
}

// ListOrdersOf returns a customer's orders, newest first, without items.
func (s *Store) ListOrdersOf(ctx context.Context, customerID int64, limit int) (orders []Order, err error) {
	err = s.db.WithContext(ctx).Where("customer_id = ?", customerID).Order("id DESC").Limit(limit).Find(&orders).Error
	return orders, err
}

// The sweep's timing. A pending order is asked about a minute after it was placed, then every two, until it expires; a closed or
// paid one at the ages where late money is still known to come, and never after: the gateway stops polling banks on day five.
const (
	firstCheck       = time.Minute
	releaseAfterHold = 5 * time.Minute  // the dishes go back on sale
	expireAfterHold  = 10 * time.Minute // the order ends, even if the gateway is silent
)

const nextCheckSQL = `CASE WHEN status = 'pending' THEN least(shop_now() + interval '2 minutes', greatest(hold_expires_at + interval '10 minutes', shop_now() + interval '15 seconds'))
	ELSE COALESCE(closed_at, paid_at, placed_at) + ('{15 minutes,1 hour,6 hours,24 hours,72 hours,120 hours}'::interval[])[checks + 2] END`

// ClaimDueChecks takes the orders whose turn it is to be asked about, moving each to its next turn first: two sweepers share the
// work, and one that dies only delays it.
func (s *Store) ClaimDueChecks(ctx context.Context, limit int) (orders []Order, err error) {
	err = s.read(ctx, &orders, `UPDATE orders SET checks = checks + 1, next_check_at = `+nextCheckSQL+`
		WHERE id IN (SELECT id FROM orders WHERE next_check_at <= shop_now() ORDER BY next_check_at LIMIT ? FOR NO KEY UPDATE SKIP LOCKED)
		RETURNING *`, limit)
	return orders, err
}

// MarkChecked notes that the gateway answered about the order.
func (s *Store) MarkChecked(ctx context.Context, orderID int64) error {
	return s.exec(ctx, `UPDATE orders SET last_checked_at = shop_now() WHERE id = ?`, orderID).Error
}

// LapseOrder does what time has brought about for a pending order: five minutes after its hold the dishes go back on sale, ten
// minutes after it the order expires. Call it after the gateway was asked, or is silent. Safe to repeat.
func (s *Store) LapseOrder(ctx context.Context, orderID int64) error {
	return s.InTx(ctx, func(tx *Store) error {
		o, err := tx.LockOrder(ctx, orderID)
		if err != nil || o.Status != OrderPending {
			return err
		}
		now, err := tx.Now(ctx)
		switch {
		case err != nil:
			return err
		case !now.Before(o.HoldExpiresAt.Add(expireAfterHold)):
			return tx.MoveOrder(ctx, &o, OrderExpired, Move{By: ActorShop})
		case !now.Before(o.HoldExpiresAt.Add(releaseAfterHold)):
			return tx.ReleaseHolds(ctx, o.ID)
		}
		return nil
	})
}

// ModeConflict reports whether the database holds orders of the other key mode.
func (s *Store) ModeConflict(ctx context.Context, mode string) (conflict bool, err error) {
	err = s.one(ctx, &conflict, `SELECT EXISTS (SELECT 1 FROM orders WHERE mode <> ?)`, mode)
	return conflict, err
}

func at(t time.Time) *time.Time { return &t }
