package views

import (
	"strconv"
	"time"

	"tiffin/models"
)

// StaffMenuView is the menu as staff see it: what is on, what is off and until when, and the kitchen's closing.
type StaffMenuView struct {
	Page    Page // Outlet is the one whose menu this is
	Staff   models.Staff
	Menu    models.Menu
	Outlets []models.Outlet   // those to choose from; one or none: nothing to choose
	Errors  map[string]string // confirm
	Notice  string            // what has just been done; empty: nothing
}

// StaffDishView is one row of it, the answer to its switch under htmx.
type StaffDishView struct {
	Page  Page
	Item  models.Item
	Edits bool // an owner or a manager looks at it
}

// isEightySixed reports whether a person took the dish off the menu and it is still off: what the row's switch turns.
func isEightySixed(i models.Item, now time.Time) bool {
	return !i.Available || i.EightySixedUntil != nil && i.EightySixedUntil.After(now)
}

// dishState says whether a dish can be had, and if not why and until when.
func dishState(i models.Item, now time.Time) string {
	switch {
	case !i.Available:
		return "Sold out until you switch it on"
	case isEightySixed(i, now):
		return "Sold out until " + Upcoming(inEnglish, *i.EightySixedUntil, now)
	case i.Left != nil && *i.Left <= 0:
		return "Sold out: today's are gone"
	case i.NotServed:
		return "Not served now. " + backAt(inEnglish, i.BackAt, now)
	case len(i.Parts) > 0 && i.SoldOut:
		return "Sold out: a part of it is off"
	case i.SoldOut:
		return "Sold out: a choice it needs is off"
	case i.Left != nil:
		return strconv.Itoa(*i.Left) + " left today"
	default:
		return "On the menu"
	}
}

// closeMeans says what closing the running service does to money, before anybody presses.
func closeMeans(o models.Opening) string {
	return "Nothing more can be ordered in this service, which runs until " + ShortClock(inEnglish, o.Window.ClosesAt) +
		". What is paid is cooked as usual; a payment that still arrives goes back by itself. This cannot be undone."
}
