package models

import "time"

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

	Currency       string
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
	OutletName      string
	PrepMinutes     int
	DeliveryMinutes int

	Pays          string
	Status        string // see order_status.go
	CancelReason  *string
	CancelledBy   *string
	PaidPaymentID *int64
	PaidAt        *time.Time
	ClosedAt      *time.Time // cancelled or expired
	HoldExpiresAt time.Time
	NextCheckAt   *time.Time // when the sweep asks the gateway next
	Checks        int
	LastCheckedAt *time.Time
	ResolveBy     *time.Time // by then the state is final
	PlacedAt      time.Time

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
	Note              string

	OptionIDs []int64           `gorm:"-"`
	Options   []OrderItemOption `gorm:"-"`
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

// IsPayable reports whether a payment can still confirm the order as it stands. Only the database decides for good.
func (o Order) IsPayable() bool { return o.Status == OrderPending && o.Pays == "razorpay" }
