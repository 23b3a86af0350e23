package views

import (
	"fmt"
	"strings"

	"tiffin/models"
)

// StaffDishEditView is one dish with the forms that change it.
type StaffDishEditView struct {
	Page  Page
	Staff models.Staff
	Edit  models.DishEdit
	Make  MakeView
	Error string // why nothing was changed; empty: nothing went wrong
	Saved bool
}

var weekdays = []string{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"}

// windowText is a window as people say it: "Mon, Tue 07:00 to 11:00, until 2026-12-31".
func windowText(w models.MenuWindow) string {
	var days []string
	for n, name := range weekdays {
		if w.Weekdays&(1<<n) != 0 {
			days = append(days, name)
		}
	}
	when := strings.Join(days, ", ")
	if len(days) == 7 {
		when = "Every day"
	}
	text := fmt.Sprintf("%s %02d:%02d to %02d:%02d", when, w.OpensMinute/60, w.OpensMinute%60, w.ClosesMinute/60%24, w.ClosesMinute%60)
	if w.StartsOn != nil {
		text += ", from " + *w.StartsOn
	}
	if w.EndsOn != nil {
		text += ", until " + *w.EndsOn
	}
	return text
}

func specialText(e models.DishEdit, p models.SpecialPrice) string {
	name := ""
	if p.OptionID != nil {
		name = choiceName(e.Item, *p.OptionID) + " "
	}
	return name + ShortRupees(p.PricePaise) + ", " + Date(inEnglish, p.StartsAt) + " " + Clock(inEnglish, p.StartsAt) + " to " + Date(inEnglish, p.EndsAt) + " " + Clock(inEnglish, p.EndsAt)
}

func choiceName(i models.Item, optionID int64) string {
	for _, g := range i.Groups {
		for _, o := range g.Options {
			if o.ID == optionID {
				return o.Name
			}
		}
	}
	return "A choice that is gone"
}

func partText(e models.DishEdit, p models.ItemPart) string {
	text := fmt.Sprintf("%d × ", p.Qty)
	for _, dish := range e.Dishes {
		if dish.ID == p.PartItemID {
			text += dish.Name
			if p.PartOptionID != nil {
				text += ", " + choiceName(dish, *p.PartOptionID)
			}
		}
	}
	if p.OptionID != nil {
		text += ", with " + choiceName(e.Item, *p.OptionID)
	}
	return text
}

func optionalText(n *int) string {
	if n == nil {
		return ""
	}
	return fmt.Sprint(*n)
}
