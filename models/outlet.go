package models

import (
	"context"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

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
	GrievanceName    string // whom to complain to, and what they are here
	GrievanceContact string // email or telephone
	TaxMode          string // regular, composition, unregistered; only regular may charge tax
	RoundsToRupee    bool
	AcceptsOrders    bool // the board's switch
	OffersDelivery   bool
	OffersPickup     bool
	PrepMinutes      int
	DeliveryMinutes  int
	LastOrderMinutes int  // placing ends so long before closing
	HoldMinutes      int  // how long placing reserves limited dishes
	SlotMinutes      int  // width of a promised time
	OrderAheadDays   int  // while closed: how many days ahead may be ordered for
	SlotOrders       *int // what one promised time takes at most; nil: no limit
	SlotItems        *int
	SlotMakeMinutes  *int
	CashPickup       bool  // orders may be paid in cash at the counter
	CashDelivery     bool  // or when they are delivered
	CashLimitPaise   Paise // and are no more than that
	CashOpenOrders   int   // of one phone number, at one time
	AsksReviews      bool  // one letter per completed order asks how it was
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

// India is the one zone the shop's days and hours are in. It has no daylight saving, so it needs no tables from the machine.
var India = time.FixedZone("IST", 5*60*60+30*60)

// lookAhead is how far Schedule.At looks for the next opening: two weeks without service are not "opens on Sunday" any more.
const lookAhead = 14

// Schedule is an outlet with its hours. Menu banner, cart and placing ask the same At, so they can never disagree.
type Schedule struct {
	Outlet   Outlet
	Hours    []OutletHours
	Closures []OutletClosure
	Ended    []time.Time // when windows opened that staff closed early (CloseKitchen); later ones are not touched
	Taken    []TakenTime // of an outlet that limits its times: how much of the coming ones is taken
}

// At says whether orders may be placed at t, and if not why and when again. It is pure; days and hours are India's.
//
// The cut-off rule: orders may be placed while OpensAt <= t < LastOrderAt, which is ClosesAt − LastOrderMinutes. How long cooking takes
// plays no part in it. A window belongs to the day it began on: the hours after midnight go with it, and so does that day's closure.
// Of windows that overlap, the one that takes orders longest counts. A pause is said before anything else, since the hours do not
// help while it lasts.
func (s Schedule) At(t time.Time) Opening {
	var o Opening
	closure, closed := s.closedOn(dayOf(t)) // of today, or of the day whose window would still run
	for n := -1; n <= lookAhead; n++ {
		day := dayOf(t).AddDate(0, 0, n)
		reason, dayClosed := s.closedOn(day)
		for _, w := range s.windowsOf(day) {
			if slices.ContainsFunc(s.Ended, w.OpensAt.Equal) {
				continue
			}
			runs := !t.Before(w.OpensAt) && t.Before(w.ClosesAt)
			switch {
			case dayClosed:
				if runs {
					closure, closed = reason, true
				}
			case runs:
				if o.Window.OpensAt.IsZero() || w.LastOrderAt.After(o.Window.LastOrderAt) {
					o.Window = w
				}
			case w.OpensAt.After(t) && !w.OpensAt.After(t.AddDate(0, 0, lookAhead)):
				if o.Next.OpensAt.IsZero() || w.OpensAt.Before(o.Next.OpensAt) {
					o.Next = w
				}
			}
		}
	}
	runs := !o.Window.OpensAt.IsZero()
	switch {
	case !s.Outlet.Active:
		o.Reason = "closed"
	case !s.Outlet.AcceptsOrders:
		o.Reason = "paused"
	case runs && t.Before(o.Window.LastOrderAt):
		o.Open = true
	case runs:
		o.Reason = "last_order"
	case closed:
		o.Reason, o.Holiday = "holiday", closure
	default:
		o.Reason = "closed"
	}
	return o
}

func (s Schedule) closedOn(day time.Time) (reason string, closed bool) {
	for _, c := range s.Closures {
		if y, m, d := c.ClosedOn.Date(); day.Equal(time.Date(y, m, d, 0, 0, 0, 0, time.UTC)) {
			return c.Reason, true
		}
	}
	return "", false
}

// windowsOf gives the windows that begin on a day, closures aside.
func (s Schedule) windowsOf(day time.Time) (windows []Window) {
	y, m, d := day.Date()
	for _, h := range s.Hours {
		if h.Weekday != int(day.Weekday()) {
			continue
		}
		closes := time.Date(y, m, d, 0, h.ClosesMinute, 0, 0, India)
		windows = append(windows, Window{ServiceOn: day, OpensAt: time.Date(y, m, d, 0, h.OpensMinute, 0, 0, India),
			LastOrderAt: closes.Add(-time.Duration(s.Outlet.LastOrderMinutes) * time.Minute), ClosesAt: closes})
	}
	return windows
}

// dayOf is the India calendar day of an instant, as midnight UTC: the form a date column has in Go.
func dayOf(t time.Time) time.Time {
	y, m, d := t.In(India).Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
}

// stockDay is the day whose stock of limited dishes is sold at t: the running window's, as an order placed now will have it, else the
// calendar day that lasts until 04:00 (service_day in the schema).
func (s Schedule) stockDay(t time.Time) time.Time {
	if w := s.At(t).Window; !w.OpensAt.IsZero() {
		return w.ServiceOn
	}
	return dayOf(t.Add(-4 * time.Hour))
}

// FindSchedule reads an outlet with its hours and closures, active or not. Errors: ErrNotFound.
func (s *Store) FindSchedule(ctx context.Context, outletID int64) (Schedule, error) {
	schedule, _, err := s.findScheduleNow(ctx, outletID, 0)
	return schedule, err
}

// findScheduleNow is FindSchedule as one cart sees it (0: none), and the instant it was read at.
func (s *Store) findScheduleNow(ctx context.Context, outletID, cartID int64) (schedule Schedule, now time.Time, err error) {
	var row struct {
		Outlet `gorm:"embedded"`
		Now    time.Time
	}
	if err = s.one(ctx, &row, `SELECT *, shop_now() AS now FROM outlets WHERE id = ?`, outletID); err != nil {
		return schedule, now, fmt.Errorf("outlet %d: %w", outletID, err)
	}
	schedule.Outlet = row.Outlet
	if err = s.read(ctx, &schedule.Hours, `SELECT * FROM outlet_hours WHERE outlet_id = ? ORDER BY weekday, opens_minute`, outletID); err != nil {
		return schedule, now, fmt.Errorf("hours of outlet %d: %w", outletID, err)
	}
	if err = s.read(ctx, &schedule.Closures, `SELECT * FROM outlet_closures WHERE outlet_id = ? ORDER BY closed_on`, outletID); err != nil {
		return schedule, now, fmt.Errorf("closures of outlet %d: %w", outletID, err)
	}
	if err = s.read(ctx, &schedule.Ended, `SELECT opens_at FROM kitchen_slots WHERE outlet_id = ? AND closed_at IS NOT NULL AND accept_until > shop_now() - interval '2 days'`, outletID); err != nil {
		return schedule, now, fmt.Errorf("closed windows of outlet %d: %w", outletID, err)
	}
	return schedule, row.Now, s.readTaken(ctx, &schedule, cartID)
}

// ListOutlets reads the active outlets, by name.
func (s *Store) ListOutlets(ctx context.Context) (outlets []Outlet, err error) {
	err = s.read(ctx, &outlets, `SELECT * FROM outlets WHERE active ORDER BY name, id`)
	return outlets, err
}

// FindOutlet reads an outlet, active or not: an order of one that has closed for good still names it. Errors: ErrNotFound.
func (s *Store) FindOutlet(ctx context.Context, id int64) (outlet Outlet, err error) {
	if err = s.one(ctx, &outlet, `SELECT * FROM outlets WHERE id = ?`, id); err != nil {
		return outlet, fmt.Errorf("outlet %d: %w", id, err)
	}
	return outlet, nil
}

// FindOutletBySlug reads an active outlet by the word in its address. Errors: ErrNotFound, whatever bytes the word is made of.
func (s *Store) FindOutletBySlug(ctx context.Context, slug string) (outlet Outlet, err error) {
	if !isText(slug) {
		return outlet, ErrNotFound
	}
	if err = s.one(ctx, &outlet, `SELECT * FROM outlets WHERE slug = ? AND active`, slug); err != nil {
		return outlet, fmt.Errorf("outlet %q: %w", slug, err)
	}
	return outlet, nil
}

// isText reports whether Postgres can take the string as text: valid UTF-8 without NUL. Anything else can be equal to no row.
func isText(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

// CountPINs says to how many PIN codes an outlet delivers.
func (s *Store) CountPINs(ctx context.Context, outletID int64) (n int, err error) {
	err = s.one(ctx, &n, `SELECT count(*) FROM delivery_pins p WHERE p.outlet_id = ? AND p.distance_metres <= (SELECT max(up_to_metres) FROM delivery_bands b WHERE b.outlet_id = p.outlet_id)`, outletID)
	return n, err
}

// SetAcceptsOrders turns the board's switch: false pauses new orders, paid ones go on. The change is audited and told to the outlet's
// board. Safe to repeat: what is so already changes nothing. Errors: ErrNotFound, also when the staff member has no say at that outlet.
func (s *Store) SetAcceptsOrders(ctx context.Context, outletID int64, accepts bool, staffID int64) error {
	return s.InTx(ctx, func(tx *Store) error {
		var now struct{ AcceptsOrders bool }
		if err := tx.one(ctx, &now, `SELECT accepts_orders FROM outlets WHERE id = ? AND `+staffOfOutlet+` FOR NO KEY UPDATE`, outletID, staffID, outletID); err != nil {
			return fmt.Errorf("switch of outlet %d: %w", outletID, err)
		}
		if now.AcceptsOrders == accepts {
			return nil
		}
		if err := tx.exec(ctx, `UPDATE outlets SET accepts_orders = ? WHERE id = ?`, accepts, outletID).Error; err != nil {
			return fmt.Errorf("switch of outlet %d: %w", outletID, err)
		}
		deed := "pause_orders"
		if accepts {
			deed = "resume_orders"
		}
		return tx.recordDeed(ctx, staffID, deed, fmt.Sprintf("outlet %d", outletID), outletID)
	})
}

// PriceList reads what an outlet charges at this instant, all of it judged by one reading of shop_now(): the rates and fees that have
// begun, and every dish, archived ones among them so that a cart's line can still be named. Errors: ErrNotFound.
func (s *Store) PriceList(ctx context.Context, outletID int64) (PriceList, error) {
	offer, err := s.offer(ctx, Cart{OutletID: outletID}, "", nil)
	return offer.List, err
}

// PriceListFor is PriceList as one cart sees it: what the cart's own unpaid order holds of a limited dish is still left for it, since
// placing again takes that order's place. Cart, checkout and placing use it.
func (s *Store) PriceListFor(ctx context.Context, cart Cart) (PriceList, error) {
	offer, err := s.OfferFor(ctx, cart, "", nil)
	return offer.List, err
}

// Offer is what an outlet charges and when it is open, as it was at one instant: all that placing is judged by.
type Offer struct {
	List     PriceList
	Schedule Schedule
	ReadAt   time.Time
	Load     Load // what the cart's order would take of a promised time
}

// OfferFor is PriceListFor with the opening hours it was read under. phone (E.164) is whose use of a coupon counts; "" while it is not
// known. The dishes are judged at the time that was chosen; nil: none was. Errors: ErrNotFound.
func (s *Store) OfferFor(ctx context.Context, cart Cart, phone string, chosen *time.Time) (Offer, error) {
	return s.offer(ctx, cart, phone, chosen)
}

func (s *Store) offer(ctx context.Context, cart Cart, phone string, chosen *time.Time) (offer Offer, err error) {
	outletID := cart.OutletID
	schedule, now, err := s.findScheduleNow(ctx, outletID, cart.ID)
	if err != nil {
		return offer, err
	}
	list := PriceList{OutletID: outletID, TaxMode: schedule.Outlet.TaxMode, RoundsToRupee: schedule.Outlet.RoundsToRupee,
		ReadAt: now, Items: map[int64]Item{}, TaxRates: map[string]TaxRate{}, Packaging: PackagingFee{TaxClass: "restaurant"}}

	var rates []TaxRate
	if err = s.read(ctx, &rates, `SELECT DISTINCT ON (tax_class) tax_class, cgst_bp, sgst_bp FROM tax_rates
		WHERE starts_at <= ? ORDER BY tax_class, starts_at DESC`, now); err != nil {
		return offer, fmt.Errorf("tax rates: %w", err)
	}
	for _, rate := range rates {
		list.TaxRates[rate.TaxClass] = rate
	}
	if err = s.read(ctx, &list.Packaging, `SELECT per_order_paise, per_piece_paise, tax_class FROM packaging_fees
		WHERE outlet_id = ? AND starts_at <= ? ORDER BY starts_at DESC LIMIT 1`, outletID, now); err != nil {
		return offer, fmt.Errorf("packaging fee of outlet %d: %w", outletID, err)
	}
	if err = s.read(ctx, &list.Bands, `SELECT up_to_metres, fee_paise, minimum_paise, free_above_paise, tax_class FROM delivery_bands
		WHERE outlet_id = ? AND starts_at = (SELECT max(starts_at) FROM delivery_bands WHERE outlet_id = ? AND starts_at <= ?)
		ORDER BY up_to_metres`, outletID, outletID, now); err != nil {
		return offer, fmt.Errorf("delivery bands of outlet %d: %w", outletID, err)
	}
	if cart.Coupon != "" {
		if list.Coupon, err = s.findCoupon(ctx, cart, phone); err != nil {
			return offer, err
		}
	}
	items, err := s.listItems(ctx, schedule, schedule.judgedAt(now, chosen), cart.ID, `outlet_id = ?`, outletID)
	if err != nil {
		return offer, err
	}
	for _, item := range items {
		list.Items[item.ID] = item
	}
	load, err := s.cartLoad(ctx, schedule.Outlet, cart.ID)
	return Offer{List: list, Schedule: schedule, ReadAt: now, Load: load}, err
}

var pinPattern = regexp.MustCompile(`^[1-9][0-9]{5}$`)

// earthRadiusMetres is the mean radius; over a city its error against the true shape is well under one per cent.
const earthRadiusMetres = 6_371_009

// FindDestination says how far a place is and whether the outlet delivers there: by the owner's list of PIN codes, else, where the
// outlet's own position is known, by the straight line to the given coordinates (degrees × 10⁶). The first of the owner's zones that holds
// the place says what it costs, or that nothing is brought there. An empty pin without coordinates is a place not known yet. How far the
// tariff reaches is for PriceCart to say.
//
// Errors: ErrNotFound for the outlet, ErrBadInput for what is no way, no PIN code or no place on Earth, or a pickup that is not offered.
func (s *Store) FindDestination(ctx context.Context, outletID int64, way, pin string, latE6, lngE6 *int) (Destination, error) {
	to, _, err := s.findDestination(ctx, outletID, way, pin, latE6, lngE6)
	return to, err
}

// findDestination is FindDestination with the zone that the place is in; nil: none.
func (s *Store) findDestination(ctx context.Context, outletID int64, way, pin string, latE6, lngE6 *int) (Destination, *Zone, error) {
	to := Destination{Way: way, PIN: pin}
	located := latE6 != nil && lngE6 != nil
	switch {
	case way != "delivery" && way != "pickup":
		return to, nil, fmt.Errorf("%w: way %q", ErrBadInput, way)
	case pin != "" && !pinPattern.MatchString(pin):
		return to, nil, fmt.Errorf("%w: PIN code", ErrBadInput)
	case (latE6 == nil) != (lngE6 == nil), located && (abs(*latE6) > 90_000_000 || abs(*lngE6) > 180_000_000):
		return to, nil, fmt.Errorf("%w: coordinates", ErrBadInput)
	}
	var row struct {
		Outlet       `gorm:"embedded"`
		ListedMetres *int
		HasZones     bool
	}
	if err := s.one(ctx, &row, `SELECT o.*, p.distance_metres AS listed_metres, EXISTS (SELECT 1 FROM delivery_zones z WHERE z.outlet_id = o.id AND z.active) AS has_zones FROM outlets o
		LEFT JOIN delivery_pins p ON p.outlet_id = o.id AND p.pin = ? WHERE o.id = ?`, pin, outletID); err != nil {
		return to, nil, fmt.Errorf("outlet %d: %w", outletID, err)
	}
	switch {
	case way == "pickup":
		if !row.OffersPickup {
			return to, nil, fmt.Errorf("%w: outlet %d offers no pickup", ErrBadInput, outletID)
		}
		to.Served = true
	case !row.OffersDelivery:
	case row.ListedMetres != nil:
		to.DistanceMetres, to.Served = row.ListedMetres, true
	case located && row.LatitudeE6 != nil && row.LongitudeE6 != nil:
		metres := distanceMetres(*row.LatitudeE6, *row.LongitudeE6, *latE6, *lngE6)
		to.DistanceMetres, to.Served = &metres, true
	case pin == "":
		to.Served = true // nothing says otherwise yet
	}
	if way == "pickup" || !row.OffersDelivery || !row.HasZones || pin == "" && !located {
		return to, nil, nil
	}
	zones, err := s.listZones(ctx, outletID, pin)
	if err != nil {
		return to, nil, fmt.Errorf("zones of outlet %d: %w", outletID, err)
	}
	at := place{metres: to.DistanceMetres, located: located}
	if located {
		at.latE6, at.lngE6 = *latE6, *lngE6
	}
	zone := matchZone(zones, at)
	if zone != nil {
		band := zone.band()
		to.Band, to.Served = &band, zone.Served
	}
	return to, zone, nil
}

// distanceMetres is the great-circle distance between two places given in degrees × 10⁶.
func distanceMetres(lat1E6, lng1E6, lat2E6, lng2E6 int) int {
	radians := func(e6 int) float64 { return float64(e6) / 1e6 * math.Pi / 180 }
	lat1, lat2 := radians(lat1E6), radians(lat2E6)
	north, east := math.Sin((lat2-lat1)/2), math.Sin(radians(lng2E6-lng1E6)/2)
	h := north*north + math.Cos(lat1)*math.Cos(lat2)*east*east
	return int(math.Round(2 * earthRadiusMetres * math.Asin(math.Sqrt(min(1, h)))))
}

func abs(n int) int {
	if n < 0 {
		return -n
	}
	return n
}
