package models

import (
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// What the shop answers instead of doing as asked. handlers/errors.go gives each its status and sentence.
var (
	ErrNotFound       = errors.New("not found")
	ErrBadInput       = errors.New("bad input")                          // our pages cannot send this
	ErrKeyReused      = errors.New("checkout details have changed")      // same key, other details
	ErrBillChanged    = errors.New("the bill changed")                   // priced differently from what was shown
	ErrPreparing      = errors.New("gateway order is being prepared")    // someone else is making it; ask again
	ErrBadMove        = errors.New("that step is not possible any more") // the row has moved on meanwhile
	ErrAmountMismatch = errors.New("payment amount or currency does not match")
	ErrTooLate        = errors.New("too late to cancel")
	ErrClosed         = errors.New("the outlet takes no orders now")
	ErrTimeGone       = errors.New("that time is no longer offered")
	ErrOtherOutlet    = errors.New("the cart belongs to another outlet")
	ErrTooManyTries   = errors.New("too many tries")
	ErrTooSoon        = errors.New("a code went to this address a moment ago")
	ErrWrongCode      = errors.New("not the code of the letter")
	ErrCodeGone       = errors.New("the code is used, replaced, too old or tried too often")
	ErrStillOpen      = errors.New("an order or its money is still under way")
	ErrTooManyPlaces  = errors.New("as many addresses as an account may have")
	ErrWrongLogin     = errors.New("login or password is wrong")
	ErrSignedOut      = errors.New("the session has ended")
	ErrNotOurs        = errors.New("not one of our payments") // the gateway knows it, this shop does not
	ErrOtherMode      = errors.New("orders of the other key mode are in this database")
	ErrAsking         = errors.New("the customer is being asked")
	ErrEmptyCart      = errors.New("the cart is empty")
	ErrTooMuch        = errors.New("more than is left to give back")
	ErrTooSmall       = errors.New("below the least a gateway takes or gives back")
)

// ErrSoldOut says which dish, or which choice of it, cannot be had now. errors.As finds it.
type ErrSoldOut struct {
	ItemID int64
	Name   string
	Left   int // how many are left today; 0 when it is off

	NotServed bool       // it is off because it is served at other times
	BackAt    *time.Time // when it can be had again; nil: nobody knows
}

func (e *ErrSoldOut) Error() string { return fmt.Sprintf("%s is sold out", e.Name) }

// ErrChoice says that the options picked do not fit the dish. views.ChoiceText puts it into words.
type ErrChoice struct {
	ItemID      int64
	Dish        string
	Why         string // one of Choice…
	Group       string // ChoiceCount: from which
	Least, Most int    // ChoiceCount: so many have to be chosen
	Option      string // ChoiceFiltered: the choice that the filter leaves out; empty: the dish
}

// What can be wrong with a choice.
const (
	ChoiceCount    = "count"    // too few or too many of a group
	ChoiceForeign  = "foreign"  // not one of this dish's
	ChoiceFiltered = "filtered" // left out by the visitor's filter
)

func (e *ErrChoice) Error() string {
	return fmt.Sprintf("a choice of %s does not fit: %s", e.Dish, e.Why)
}

// ErrDelivery says why an address or a bill cannot be delivered to.
type ErrDelivery struct {
	Why          string // far, minimum
	PIN          string
	MinimumPaise Paise // minimum: of the item total
	ShortPaise   Paise // minimum: so much is missing
}

func (e *ErrDelivery) Error() string {
	if e.Why == "minimum" {
		return fmt.Sprintf("%d paise short of the delivery minimum", e.ShortPaise)
	}
	return "we do not deliver to " + e.PIN
}

// ErrCoupon says why a coupon takes nothing off.
type ErrCoupon struct {
	Code         string
	Why          string    // unknown, early, late, used_up, first_order, used, minimum
	StartsAt     time.Time // early
	MinimumPaise Paise     // minimum: of the item total
	ShortPaise   Paise     // minimum: so much is missing
}

func (e *ErrCoupon) Error() string { return "coupon " + e.Code + ": " + e.Why }

// ErrCash says why an order cannot be paid in cash.
type ErrCash struct {
	Why        string // off, limit, open
	LimitPaise Paise  // limit: the most that can be
}

func (e *ErrCash) Error() string { return "cash: " + e.Why }

// isCheck reports whether err is a violation of any CHECK.
func isCheck(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "23514"
}

// isConstraint reports whether err is a violation of the named constraint or unique index. Names are API: see the migrations.
func isConstraint(err error, name string) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.ConstraintName == name
}

// isForeignKey reports whether err names a row that is not there.
func isForeignKey(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "23503"
}

// isBadValue reports whether err is a rule of the database that a value breaks: a CHECK, a foreign key, or a value out of its type's range.
func isBadValue(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && (pg.Code == "23514" || pg.Code == "23503" || pg.Code[:2] == "22")
}
