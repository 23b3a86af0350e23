package models

import "time"

// Outlet is one shop: its name, address, tax numbers and settings. Everything a page, a bill or a rule needs of it is here.
type Outlet struct {
	ID               int64
	Slug             string
	Name             string
	Tagline          string
	LegalName        string
	Address          string
	PIN              string `gorm:"column:pin"`
	Phone            string // E.164
	Email            string
	LatitudeE6       *int // degrees × 10⁶; nil: distances come from the PIN list only
	LongitudeE6      *int
	GSTIN            string `gorm:"column:gstin"`
	FSSAI            string `gorm:"column:fssai"`
	TaxMode          string // regular, composition, unregistered; only regular may charge tax
	RoundsToRupee    bool
	AcceptsOrders    bool // the board's switch
	OffersDelivery   bool
	OffersPickup     bool
	PrepMinutes      int
	DeliveryMinutes  int
	LastOrderMinutes int // placing ends so long before closing
	HoldMinutes      int // how long placing reserves limited dishes
	Active           bool
}

// OutletHours is one weekly service window, in minutes after midnight in India; ClosesMinute may pass 1440.
type OutletHours struct {
	OutletID     int64
	Weekday      int // 0 = Sunday
	OpensMinute  int
	ClosesMinute int
}

// OutletClosure is a whole day without service.
type OutletClosure struct {
	OutletID int64
	ClosedOn time.Time
	Reason   string
}

// Window is one dated service window of an outlet.
type Window struct {
	ServiceOn   time.Time // midnight UTC of the India calendar day the window began on
	OpensAt     time.Time
	LastOrderAt time.Time // ClosesAt − LastOrderMinutes; placing ends
	ClosesAt    time.Time
}

// Opening is what Schedule.At knows about one instant. Menu banner, cart and placing all read this one answer.
type Opening struct {
	Open    bool   // orders may be placed now: OpensAt <= now < LastOrderAt, not paused, not closed today
	Window  Window // the window now is in, when there is one, even past its last order
	Next    Window // the next window that opens after now; zero when none within 14 days
	Reason  string // why not open: closed, paused, holiday, last_order
	Holiday string // the closure's reason, shown to people
}
