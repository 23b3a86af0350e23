package models

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Answers to a shortage.
const (
	AnswerSwap   = "swap"   // another dish instead; it never costs more, and what it costs less goes back
	AnswerDrop   = "drop"   // without it; its price and tax go back
	AnswerCancel = "cancel" // not at all; everything goes back
	AnswerVoid   = "void"   // the order ended otherwise
)

// Shortage is the question to a customer whose dish has run out, and its answer.
type Shortage struct {
	ID           int64
	OrderID      int64
	Line         int // of the order's bill
	Qty          int // pieces that cannot be had
	Fallback     string
	AskedBy      string
	AskedAt      time.Time
	AnswerBy     time.Time
	Answer       *string
	AnsweredAt   *time.Time
	AnsweredBy   *string // customer, or shop: the time was over
	SwapPosition *int
	OwedPaise    *Paise // what the answer gives back; nil until there is one
	RefundID     *string
	Swaps        []Swap `gorm:"-"`
}

// Swap is a dish offered instead, as the menu had it then.
type Swap struct {
	ShortageID int64
	Position   int
	ItemID     int64
	Name       string
	Mark       string
	Allergens  string
	PricePaise Paise
}

// Taken is the dish that was chosen instead; false when none was.
func (s Shortage) Taken() (Swap, bool) {
	for _, w := range s.Swaps {
		if s.SwapPosition != nil && w.Position == *s.SwapPosition {
			return w, true
		}
	}
	return Swap{}, false
}

// Limits of a shortage's question.
const (
	MaxSwaps           = 3
	MinShortageMinutes = 3
	MaxShortageMinutes = 30
)

// ListSwaps returns what may be offered instead of a line: dishes of its outlet that can be had now as they are, without a choice to make or
// a count to keep, and no worse by the law's mark than what was ordered.
func (s *Store) ListSwaps(ctx context.Context, o Order, line OrderItem) ([]Item, error) {
	menu, err := s.FindMenu(ctx, o.OutletID, MenuFilter{})
	if err != nil {
		return nil, err
	}
	rank := map[string]int{"veg": 0, "egg": 1, "nonveg": 2}
	var fit []Item
	for _, category := range menu.Categories {
		for _, i := range category.Items {
			if i.ID != line.ItemID && !i.SoldOut && i.Left == nil && len(i.Parts) == 0 && rank[i.Mark] <= rank[line.Mark] &&
				!slices.ContainsFunc(i.Groups, func(g OptionGroup) bool { return g.MinPick > 0 || g.Kind == "variant" }) {
				fit = append(fit, i)
			}
		}
	}
	return fit, nil
}

// AskShortage asks the customer of an order what to do about pieces of a dish that ran out, on behalf of a staff member of its outlet. swaps
// are dishes of ListSwaps, at most three. Once per line while it is open. Errors: ErrNotFound, ErrBadMove (not with the kitchen any more,
// already asked), ErrTooMuch (more pieces than are left of the line), ErrBadInput.
func (s *Store) AskShortage(ctx context.Context, orderID int64, line, qty int, fallback string, swaps []int64, wait time.Duration, by Staff) (asked Shortage, err error) {
	if qty < 1 || len(swaps) > MaxSwaps || wait < MinShortageMinutes*time.Minute || wait > MaxShortageMinutes*time.Minute || fallback != AnswerDrop && fallback != AnswerCancel {
		return asked, fmt.Errorf("%w: %d pieces, %d swaps, %s", ErrBadInput, qty, len(swaps), wait)
	}
	err = s.InTx(ctx, func(tx *Store) error {
		if err := tx.Act(ctx, StaffActor(by.ID)); err != nil {
			return err
		}
		o, err := tx.lockOrderOf(ctx, orderID, by)
		if err != nil {
			return err
		}
		ticket, err := tx.FindFulfilment(ctx, o.ID)
		if err != nil || o.Status != OrderPaid && o.Status != OrderDue || !isCooking(ticket.Status) {
			return errors.Join(err, fmt.Errorf("order %d is %s: %w", o.ID, o.Status, ErrBadMove))
		}
		var short OrderItem
		if err := tx.one(ctx, &short, `SELECT * FROM order_items WHERE order_id = ? AND line = ?`, o.ID, line); err != nil {
			return err
		}
		var open bool
		if err := tx.one(ctx, &open, `SELECT EXISTS (SELECT 1 FROM shortages WHERE order_id = ? AND line = ? AND answer IS NULL)`, o.ID, line); err != nil {
			return err
		}
		if open {
			return fmt.Errorf("line %d is being asked about: %w", line, ErrBadMove)
		}
		var back int
		if err := tx.one(ctx, &back, `SELECT COALESCE(sum(l.qty), 0)::int FROM refund_share_lines l JOIN counted_shares c ON c.refund_id = l.refund_id
			WHERE l.order_id = ? AND l.line = ? AND NOT EXISTS (SELECT 1 FROM shortages s WHERE s.refund_id = l.refund_id)`, o.ID, line); err != nil {
			return err
		}
		if qty > short.Qty-back {
			return fmt.Errorf("%d of line %d, %d are left: %w", qty, line, short.Qty-back, ErrTooMuch)
		}
		fit, err := tx.ListSwaps(ctx, o, short)
		if err != nil {
			return err
		}
		err = tx.one(ctx, &asked, `INSERT INTO shortages (order_id, line, qty, fallback, asked_by, answer_by) VALUES (?, ?, ?, ?, ?, shop_now() + make_interval(secs => ?)) RETURNING *`,
			o.ID, line, qty, fallback, StaffActor(by.ID), int(wait/time.Second))
		switch {
		case isConstraint(err, "more_pieces_short_than_bought"):
			return fmt.Errorf("%d more of line %d: %w", qty, line, ErrTooMuch)
		case err != nil:
			return err
		}
		for n, itemID := range swaps {
			at := slices.IndexFunc(fit, func(i Item) bool { return i.ID == itemID })
			if at < 0 || slices.Contains(swaps[:n], itemID) {
				return fmt.Errorf("%w: dish %d cannot be offered", ErrBadInput, itemID)
			}
			w := Swap{ShortageID: asked.ID, Position: n + 1, ItemID: itemID, Name: fit[at].Name, Mark: fit[at].Mark, Allergens: strings.Join(fit[at].Allergens, ", "), PricePaise: fit[at].PricePaise}
			if err := tx.exec(ctx, `INSERT INTO shortage_swaps (shortage_id, position, item_id, name, mark, allergens, price_paise) VALUES (?, ?, ?, ?, ?, ?, ?)`,
				w.ShortageID, w.Position, w.ItemID, w.Name, w.Mark, w.Allergens, w.PricePaise).Error; err != nil {
				return err
			}
			asked.Swaps = append(asked.Swaps, w)
		}
		if err := tx.Audit(ctx, StaffActor(by.ID), "shortage", &o.ID, fmt.Sprintf("%d × %s", qty, short.Name)); err != nil {
			return err
		}
		if err := tx.EnsureLetter(ctx, LetterShortage, fmt.Sprint(asked.ID), o); err != nil {
			return err
		}
		return tx.tellShortage(ctx, o)
	})
	return asked, err
}

func isCooking(ticket string) bool {
	return ticket == TicketQueued || ticket == TicketAccepted || ticket == TicketPreparing || ticket == TicketReady
}

func (s *Store) tellShortage(ctx context.Context, o Order) error {
	if err := s.Notify(ctx, OrderTopic(o.ID)); err != nil {
		return err
	}
	return s.Notify(ctx, BoardTopic(o.OutletID))
}

// AnswerShortage carries an answer out, in one transaction: the customer's, or ActorShop's once the time is over. What the answer gives back
// is asked for at once, of a due order when its money is taken; an order of which nothing is left is cancelled. position is the swap's.
// The first answer counts. Errors: ErrNotFound, ErrBadMove (answered already, or the time is not over), ErrBadInput.
func (s *Store) AnswerShortage(ctx context.Context, orderID, shortageID int64, answer string, position int, by, speed string) error {
	if answer != AnswerSwap && answer != AnswerDrop && answer != AnswerCancel || (answer == AnswerSwap) != (position > 0) {
		return fmt.Errorf("%w: answer %q", ErrBadInput, answer)
	}
	err := s.InTx(ctx, func(tx *Store) error {
		if err := tx.Act(ctx, by); err != nil {
			return err
		}
		o, err := tx.LockOrder(ctx, orderID)
		if err != nil {
			return err
		}
		var swap *int
		if position > 0 {
			swap = &position
		}
		var sh Shortage
		err = tx.one(ctx, &sh, `UPDATE shortages SET answer = ?, swap_position = ?, answered_at = shop_now(), answered_by = ?
			WHERE id = ? AND order_id = ? AND answer IS NULL AND (? <> 'shop' OR answer_by <= shop_now()) RETURNING *`, answer, swap, by, shortageID, o.ID, by)
		if errors.Is(err, ErrNotFound) {
			if err := tx.one(ctx, &sh, `SELECT * FROM shortages WHERE id = ? AND order_id = ?`, shortageID, o.ID); err != nil {
				return err
			}
			return fmt.Errorf("shortage %d is answered, or not over: %w", shortageID, ErrBadMove)
		}
		if err != nil {
			return err
		}
		var nothingLeft bool
		if err := tx.one(ctx, &nothingLeft, `SELECT NOT EXISTS (SELECT 1 FROM order_items i WHERE i.order_id = ?
			AND i.qty > (SELECT COALESCE(sum(s.qty), 0) FROM shortages s WHERE s.order_id = i.order_id AND s.line = i.line AND s.answer = 'drop'))`, o.ID); err != nil {
			return err
		}
		if answer == AnswerCancel || nothingLeft {
			if answer != AnswerCancel {
				if err := tx.exec(ctx, `UPDATE shortages SET owed_paise = 0 WHERE id = ?`, sh.ID).Error; err != nil { // all goes back, and not twice
					return err
				}
			}
			return tx.endShort(ctx, o, sh, by, speed)
		}
		if err := tx.oweShort(ctx, o, sh, speed); err != nil {
			return err
		}
		if err := tx.Audit(ctx, by, "shortage_"+answer, &o.ID, fmt.Sprintf("line %d, %d pieces", sh.Line, sh.Qty)); err != nil {
			return err
		}
		return tx.tellShortage(ctx, o)
	})
	if isForeignKey(err) {
		return fmt.Errorf("%w: swap %d was not offered", ErrBadInput, position)
	}
	return err
}

// endShort cancels the order of a shortage, however far the kitchen is, and gives all of its money back.
func (s *Store) endShort(ctx context.Context, o Order, sh Shortage, by, speed string) error {
	var err error
	if o.Status == OrderPaid {
		err = s.returnKept(ctx, o, ActorShop, "dish_out", speed)
	} else {
		err = s.cancelFulfilment(ctx, o, ActorShop)
	}
	if err != nil {
		return err
	}
	if err := s.Audit(ctx, by, "cancel_order", &o.ID, "dish_out"); err != nil {
		return err
	}
	return s.MoveOrder(ctx, &o, OrderCancelled, Move{By: by, Reason: "dish_out"})
}

// oweShort works out what a swap or a drop gives back, and asks for it if the order's money is here.
func (s *Store) oweShort(ctx context.Context, o Order, sh Shortage, speed string) error {
	var p Payment
	var err error
	if o.PaidPaymentID != nil {
		if p, err = s.LockPayment(ctx, *o.PaidPaymentID); err != nil {
			return err
		}
	}
	bill, done, err := s.billOf(ctx, o, p)
	if err != nil {
		return err
	}
	share, err := bill.ShareOfShortage(done, sh, s.swapPrice(ctx, sh))
	if err != nil {
		return fmt.Errorf("shortage %d: %w", sh.ID, err)
	}
	if err := s.exec(ctx, `UPDATE shortages SET owed_paise = ? WHERE id = ?`, share.Amount(), sh.ID).Error; err != nil {
		return err
	}
	if o.PaidPaymentID == nil || share.Amount() == 0 {
		return nil
	}
	return s.giveShort(ctx, o, p, sh, share, speed)
}

// swapPrice is what a piece of the dish that was taken instead costs; 0 for none.
func (s *Store) swapPrice(ctx context.Context, sh Shortage) (price Paise) {
	if sh.SwapPosition != nil {
		_ = s.one(ctx, &price, `SELECT price_paise FROM shortage_swaps WHERE shortage_id = ? AND position = ?`, sh.ID, *sh.SwapPosition)
	}
	return price
}

func (s *Store) giveShort(ctx context.Context, o Order, p Payment, sh Shortage, share Bill, speed string) error {
	var name string
	if err := s.one(ctx, &name, `SELECT name FROM order_items WHERE order_id = ? AND line = ?`, o.ID, sh.Line); err != nil {
		return err
	}
	r, err := s.requestShare(ctx, o, p, share, Refund{Kind: "staff", Reason: name + " had run out", RequestedBy: sh.AskedBy, Speed: speed})
	if err != nil {
		return err
	}
	if err := s.Audit(ctx, sh.AskedBy, "refund", &o.ID, fmt.Sprintf("%d paise: %s", r.AmountPaise, r.Reason)); err != nil {
		return err
	}
	return s.exec(ctx, `UPDATE shortages SET refund_id = ?::uuid WHERE id = ? AND refund_id IS NULL`, r.ID, sh.ID).Error
}

// giveShortsOf asks for what shortages of an order owe that was not paid when they were answered. Inside TakeCash.
func (s *Store) giveShortsOf(ctx context.Context, o Order, speed string) error {
	var owed []Shortage
	if err := s.read(ctx, &owed, `SELECT * FROM shortages WHERE order_id = ? AND answer IN ('swap', 'drop') AND owed_paise > 0 AND refund_id IS NULL ORDER BY id`, o.ID); err != nil {
		return err
	}
	for _, sh := range owed {
		p, err := s.LockPayment(ctx, *o.PaidPaymentID)
		if err != nil {
			return err
		}
		bill, done, err := s.billOf(ctx, o, p)
		if err != nil {
			return err
		}
		share, err := bill.ShareOfAmount(done, *sh.OwedPaise)
		if err != nil {
			return err
		}
		if err := s.giveShort(ctx, o, p, sh, share, speed); err != nil {
			return err
		}
	}
	return nil
}

// SettleShortages answers what customers left unanswered in time as was said it would be. It returns how many. Safe to repeat.
func (s *Store) SettleShortages(ctx context.Context, speed string) (settled int, err error) {
	var late []Shortage
	if err := s.read(ctx, &late, `SELECT * FROM shortages WHERE answer IS NULL AND answer_by <= shop_now() ORDER BY answer_by LIMIT 50`); err != nil {
		return 0, err
	}
	var errs []error
	for _, sh := range late {
		switch err := s.AnswerShortage(ctx, sh.OrderID, sh.ID, sh.Fallback, 0, ActorShop, speed); {
		case err == nil:
			settled++
		case !errors.Is(err, ErrBadMove): // the customer was faster
			errs = append(errs, err)
		}
	}
	return settled, errors.Join(errs...)
}

// PriceShortage says what each answer to an open shortage would give back now: leaving out, and each swap in its order.
func (s *Store) PriceShortage(ctx context.Context, o Order, sh Shortage) (drop Paise, swaps []Paise, err error) {
	var p Payment
	if o.PaidPaymentID != nil {
		if err := s.one(ctx, &p, `SELECT * FROM payments WHERE id = ?`, *o.PaidPaymentID); err != nil {
			return 0, nil, err
		}
	}
	bill, done, err := s.billOf(ctx, o, p)
	if err != nil {
		return 0, nil, err
	}
	share, err := bill.ShareOfShortage(done, sh, 0)
	if err != nil {
		return 0, nil, err
	}
	for _, w := range sh.Swaps {
		taken := sh
		taken.SwapPosition = &w.Position
		less, err := bill.ShareOfShortage(done, taken, w.PricePaise)
		if err != nil {
			return 0, nil, err
		}
		swaps = append(swaps, less.Amount())
	}
	return share.Amount(), swaps, nil
}

// ListShortages returns the shortages of orders, oldest first, with what was offered.
func (s *Store) ListShortages(ctx context.Context, orderIDs ...int64) (list []Shortage, err error) {
	if err := s.read(ctx, &list, `SELECT * FROM shortages WHERE order_id = ANY (?::bigint[]) ORDER BY id`, IDList(orderIDs)); err != nil || len(list) == 0 {
		return list, err
	}
	var swaps []Swap
	if err := s.read(ctx, &swaps, `SELECT w.* FROM shortage_swaps w JOIN shortages s ON s.id = w.shortage_id WHERE s.order_id = ANY (?::bigint[]) ORDER BY w.shortage_id, w.position`, IDList(orderIDs)); err != nil {
		return nil, err
	}
	for i := range list {
		for _, w := range swaps {
			if w.ShortageID == list[i].ID {
				list[i].Swaps = append(list[i].Swaps, w)
			}
		}
	}
	return list, nil
}

// FindShortage returns one with what was offered. Errors: ErrNotFound.
func (s *Store) FindShortage(ctx context.Context, shortageID int64) (sh Shortage, err error) {
	if err := s.one(ctx, &sh, `SELECT * FROM shortages WHERE id = ?`, shortageID); err != nil {
		return sh, err
	}
	err = s.read(ctx, &sh.Swaps, `SELECT * FROM shortage_swaps WHERE shortage_id = ? ORDER BY position`, shortageID)
	return sh, err
}
