package views

import (
	"context"
	"strconv"

	"tiffin/models"
)

// ShortageView is a shortage as its customer sees it.
type ShortageView struct {
	models.Shortage
	Name      string         // of the dish that ran out, with its choices
	DropPaise models.Paise   // what leaving it out gives back
	SwapPaise []models.Paise // what each swap gives back, in their order
}

// StaffShortageView asks staff what to offer.
type StaffShortageView struct {
	Page   Page
	Order  models.Order
	Dishes []models.Item // that may be offered instead of the least strict line; the server looks again
	Typed  ShortageFields
	Errors map[string]string
}

// ShortageFields are the form's fields as typed.
type ShortageFields struct {
	Line, Qty, Minutes, Fallback string
	Swaps                        [models.MaxSwaps]string
}

func swapField(n int) string { return "swap" + strconv.Itoa(n+1) }

// swapText says what a swap costs: never more than was paid.
func swapText(ctx context.Context, back models.Paise) string {
	if back > 0 {
		return T(ctx, "costs less: %s goes back to you", Rupees(back))
	}
	return T(ctx, "costs you nothing more")
}

// shortageDone says what became of a shortage; "" while it is open.
func shortageDone(ctx context.Context, s ShortageView) string {
	if s.Answer == nil {
		return ""
	}
	switch *s.Answer {
	case models.AnswerSwap:
		taken, _ := s.Taken()
		return T(ctx, "Instead of %[1]s you get %[2]s.", s.Name, taken.Name)
	case models.AnswerDrop:
		return T(ctx, "%s is left out; its price and tax go back to you.", s.Name)
	case models.AnswerCancel:
		return T(ctx, "The order was cancelled because %s had run out.", s.Name)
	}
	return ""
}

// shortageForCook is what the kitchen reads beside a line.
func shortageForCook(s models.Shortage) string {
	pieces := strconv.Itoa(s.Qty) + "× "
	switch {
	case s.Answer == nil:
		return "Out of " + pieces + ": asking the customer until " + Clock(inEnglish, s.AnswerBy)
	case *s.Answer == models.AnswerSwap:
		taken, _ := s.Taken()
		return "Instead: " + pieces + taken.Name
	case *s.Answer == models.AnswerDrop:
		return "Leave out " + pieces
	}
	return ""
}

// owedShort is what shortages of a due order will give back once its cash is taken.
func owedShort(all []models.Shortage) (sum models.Paise) {
	for _, s := range all {
		if s.OwedPaise != nil && s.RefundID == nil {
			sum += *s.OwedPaise
		}
	}
	return sum
}

// ofLine are the shortages of one line of an order.
func ofLine(all []models.Shortage, orderID int64, line int) (found []models.Shortage) {
	for _, s := range all {
		if s.OrderID == orderID && s.Line == line {
			found = append(found, s)
		}
	}
	return found
}
