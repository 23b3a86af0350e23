package models

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// ReorderLine is a line of an old order as it could be bought now.
type ReorderLine struct {
	Was     OrderItem
	Qty     int   // how many can be had now, at most Was.Qty; 0: none, and Problem says why
	Paise   Paise // what one costs now
	Problem error // *ErrSoldOut, *ErrChoice or ErrNotFound: why fewer, or none
}

// PriceChanged reports whether one costs something else now.
func (l ReorderLine) PriceChanged() bool {
	return l.Qty > 0 && l.Paise != l.Was.UnitPricePaise+l.Was.OptionsPricePaise
}

// Reorder judges an old order by today's price list: its dishes, choices, stock, windows and prices, all by the rules of PriceCart. Pure.
func Reorder(list PriceList, old Order) (lines []ReorderLine) {
	wanted := map[unit]int{}
	for _, item := range old.Items {
		line := ReorderLine{Was: item}
		try := CartLine{ItemID: item.ItemID, OptionIDs: item.OptionIDs, Qty: min(item.Qty, MaxLineQty)}
		taken := maps.Clone(wanted)
		priced := priceLine(list, try, taken)
		var sold *ErrSoldOut
		if now, known := list.Items[item.ItemID]; known && now.ArchivedAt != nil {
			priced.Problem = ErrNotFound
		}
		if line.Problem = priced.Problem; errors.As(priced.Problem, &sold) && sold.Left > 0 && sold.Left < try.Qty {
			try.Qty, taken = sold.Left, maps.Clone(wanted)
			priced = priceLine(list, try, taken)
		}
		if priced.Problem == nil {
			line.Qty, line.Paise, wanted = try.Qty, priced.UnitPricePaise+priced.OptionsPricePaise, taken
		}
		lines = append(lines, line)
	}
	return lines
}

// ReorderList reads today's price list for an old order's outlet, and judges the order by it. Errors: ErrNotFound.
func (s *Store) ReorderList(ctx context.Context, old Order) ([]ReorderLine, error) {
	list, err := s.PriceList(ctx, old.OutletID)
	return Reorder(list, old), err
}

// PutAgain puts what can be had of an old order into the session's cart. A line that is there already is raised to the old number, never
// beyond, so pressing twice does no more than pressing once. What cannot be had is left out; ReorderList says what and why.
// Errors: ErrOtherOutlet, ErrNotFound, ErrSignedOut as EnsureCart.
func (s *Store) PutAgain(ctx context.Context, sess Session, old Order) error {
	lines, err := s.ReorderList(ctx, old)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(lines, func(l ReorderLine) bool { return l.Qty > 0 }) {
		return nil
	}
	return s.InTx(ctx, func(tx *Store) error {
		cart, err := tx.EnsureCart(ctx, sess, old.OutletID)
		if err != nil {
			return err
		}
		for _, l := range lines {
			if l.Qty == 0 {
				continue
			}
			_, err := tx.changeLine(ctx, cart.ID, l.Was.ItemID, l.Was.OptionIDs, func(c *lineChange) {
				c.after.Qty, c.seen = max(c.before.Qty, l.Qty), true
				if c.before.Qty == 0 {
					c.after.Note = l.Was.Note
				}
			})
			if err != nil && !IsCustomerProblem(err) && !errors.Is(err, ErrBadInput) { // gone since, or the cart is full: the page says so
				return fmt.Errorf("order %d again: %w", old.ID, err)
			}
		}
		return nil
	})
}
