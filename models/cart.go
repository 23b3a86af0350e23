package models

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Cart is what a session wants to buy from one outlet. It holds ids and quantities; prices come from PriceCart.
type Cart struct {
	ID                      int64
	OutletID                int64
	CustomerID              int64
	Version                 int64      // +1 at each change of what it would cost
	Coupon                  string     // a code as it is stored, whatever it is good for; empty: none
	TipPaise                Paise      // 0 unless the customer chose one
	LatitudeE6, LongitudeE6 *int       // where the browser is, where the customer gave it: degrees × 10⁶
	Lines                   []CartLine `gorm:"-"` // oldest first
}

// CartLine is one dish with one set of options.
type CartLine struct {
	ID        int64
	CartID    int64
	OutletID  int64
	ItemID    int64
	OptionIDs IDList // sorted, no repeats
	Qty       int    // 1..20; 0 in an answer: the line is not there
	Note      string // up to 200 characters, for the kitchen
	Seq       int64  // of the stepper's last accepted change, in its own count (the page sends milliseconds)
	SeenPaise Paise  // price of one when it was added
}

// Quantity is how many pieces the cart holds.
func (c Cart) Quantity() int {
	n := 0
	for _, l := range c.Lines {
		n += l.Qty
	}
	return n
}

const (
	MaxLineQty  = 20  // of one line; the database checks it too
	MaxLines    = 50  // of one cart
	MaxLineNote = 200 // characters; the database checks it too
)

const (
	cartColumns = `id, outlet_id, customer_id, version, coupon, tip_paise, latitude_e6, longitude_e6`
	lineColumns = `id, cart_id, outlet_id, item_id, option_ids, qty, note, seq, seen_paise`
)

// FindCart reads the cart the session points to now, whatever sess remembers. Without one it is a zero Cart, whose ID is 0.
func (s *Store) FindCart(ctx context.Context, sess Session) (cart Cart, err error) {
	if err = s.read(ctx, &cart, `SELECT `+cartColumns+` FROM carts WHERE id = (SELECT cart_id FROM sessions WHERE id = ?)`, sess.ID); err != nil {
		return Cart{}, fmt.Errorf("cart of session %d: %w", sess.ID, err)
	}
	if cart.ID == 0 {
		return Cart{}, nil
	}
	cart.Lines, err = s.listCartLines(ctx, cart.ID)
	return cart, err
}

// LockCart reads a cart with its lines and keeps anyone else from changing either before this transaction ends.
// Errors: ErrNotFound. Inside InTx only, before the session's row.
func (s *Store) LockCart(ctx context.Context, cartID int64) (cart Cart, err error) {
	if err = s.one(ctx, &cart, `SELECT `+cartColumns+` FROM carts WHERE id = ? FOR NO KEY UPDATE`, cartID); err != nil {
		return Cart{}, fmt.Errorf("cart %d: %w", cartID, err)
	}
	cart.Lines, err = s.listCartLines(ctx, cartID)
	return cart, err
}

func (s *Store) listCartLines(ctx context.Context, cartID int64) (lines []CartLine, err error) {
	if err = s.read(ctx, &lines, `SELECT `+lineColumns+` FROM cart_lines WHERE cart_id = ? ORDER BY id`, cartID); err != nil {
		return nil, fmt.Errorf("lines of cart %d: %w", cartID, err)
	}
	return lines, nil
}

// EnsureCart returns the session's cart for the outlet, making it when there is none. However many first taps come at once, one cart is
// made and all get it. An empty cart of another outlet gives way. Safe to repeat.
// Errors: ErrOtherOutlet when the cart holds dishes of another outlet, ErrNotFound for an outlet that is not there or not active,
// ErrSignedOut when the session has ended or is not a guest's.
func (s *Store) EnsureCart(ctx context.Context, sess Session, outletID int64) (cart Cart, err error) {
	err = s.InTx(ctx, func(tx *Store) (err error) {
		outlet, err := tx.FindOutlet(ctx, outletID)
		if err != nil {
			return err
		}
		if !outlet.Active {
			return fmt.Errorf("outlet %d is not active: %w", outletID, ErrNotFound)
		}
		for range maxTries {
			if cart, err = tx.FindCart(ctx, sess); err != nil || cart.OutletID == outletID {
				return err
			}
			// Whoever comes second goes back to the savepoint, and so lets go of the session before looking at the first one's cart:
			// carts are locked before sessions.
			err = tx.savepoint(ctx, func(tx *Store) error { return tx.attachCart(ctx, &cart, sess, outletID) })
			if !errors.Is(err, errCartMoved) {
				return err
			}
			var alive bool
			if err := tx.one(ctx, &alive, `SELECT EXISTS (SELECT 1 FROM sessions WHERE id = ? AND customer_id IS NOT NULL AND expires_at > shop_now())`, sess.ID); err != nil {
				return err
			}
			if !alive {
				return fmt.Errorf("session %d: %w", sess.ID, ErrSignedOut)
			}
		}
		return fmt.Errorf("cart of session %d keeps changing: %w", sess.ID, ErrBadMove)
	})
	if err != nil {
		return Cart{}, err
	}
	return cart, nil
}

// errCartMoved says, inside EnsureCart only, that the session points to another cart by now.
var errCartMoved = errors.New("the session has another cart")

// attachCart puts a new cart in the place of *cart, the one the session pointed to (ID 0: none), which must be empty and goes. The new
// one is made in the statement that points the session to it, so it exists only if nobody else was first.
func (s *Store) attachCart(ctx context.Context, cart *Cart, sess Session, outletID int64) error {
	old := cart.ID
	if old != 0 {
		locked, err := s.LockCart(ctx, old)
		switch {
		case errors.Is(err, ErrNotFound):
			return errCartMoved
		case err != nil:
			return err
		case len(locked.Lines) > 0:
			return fmt.Errorf("cart %d: %w", old, ErrOtherOutlet)
		}
	}
	err := s.one(ctx, cart, `WITH mine AS (SELECT id, customer_id FROM sessions WHERE id = ? AND COALESCE(cart_id, 0) = ?
			AND customer_id IS NOT NULL AND expires_at > shop_now() FOR NO KEY UPDATE),
		made AS (INSERT INTO carts (outlet_id, customer_id) SELECT ?, customer_id FROM mine RETURNING `+cartColumns+`)
		UPDATE sessions SET cart_id = made.id, checkout_key = NULL FROM made WHERE sessions.id = ?
		RETURNING made.id, made.outlet_id, made.customer_id, made.version`, sess.ID, old, outletID, sess.ID)
	if errors.Is(err, ErrNotFound) {
		return errCartMoved
	}
	if err != nil {
		return fmt.Errorf("new cart of session %d: %w", sess.ID, err)
	}
	if err = s.exec(ctx, `DELETE FROM carts c WHERE c.id = ? AND NOT EXISTS (SELECT 1 FROM sessions WHERE cart_id = c.id)`, old).Error; err != nil {
		return fmt.Errorf("replaced cart %d: %w", old, err)
	}
	return nil
}

// AddToCart adds qty pieces of a dish with these choices to the line that has them, or to a new line. Each call counts, so it is not
// safe to repeat. A note is added to what the line says already: nothing a customer wrote for the kitchen is dropped. On an error
// nothing has changed.
//
// Errors: ErrNotFound for a cart or dish that is not there, ErrOtherOutlet for a dish of another outlet, *ErrSoldOut, *ErrChoice, and
// ErrBadInput for a quantity that is not 1 to 20 or makes the line longer than that, a 51st line, or a note that is too long.
func (s *Store) AddToCart(ctx context.Context, cartID, itemID int64, optionIDs []int64, qty int, note string) (CartLine, error) {
	return s.AddFiltered(ctx, Diet{}, cartID, itemID, optionIDs, qty, note)
}

// AddFiltered is AddToCart under a menu's filter: a new line that the filter leaves out, or with a choice that it does, is an *ErrChoice.
// What the cart has already can be raised: a filter is about what is offered.
func (s *Store) AddFiltered(ctx context.Context, diet Diet, cartID, itemID int64, optionIDs []int64, qty int, note string) (CartLine, error) {
	if qty < 1 || qty > MaxLineQty {
		return CartLine{}, fmt.Errorf("%w: quantity %d", ErrBadInput, qty)
	}
	if !isText(note) {
		return CartLine{}, fmt.Errorf("%w: the note is no text", ErrBadInput)
	}
	return s.changeLine(ctx, cartID, itemID, optionIDs, func(c *lineChange) {
		c.after.Qty += qty
		c.after.Note = joinNotes(c.before.Note, strings.TrimSpace(note))
		c.seen, c.diet = true, diet
	})
}

// joinNotes appends what the note does not say yet.
func joinNotes(note, more string) string {
	switch {
	case note == "":
		return more
	case strings.Contains(note, more):
		return note
	default:
		return note + "; " + more
	}
}

// SetCartLine sets the quantity of the line with these choices; 0 removes it. Safe to repeat.
//
// seq is the stepper's own count: a change that is not newer than the last one accepted for this line, also if that removed it, is
// ignored, and the line is returned as it is (Qty 0 when it is not there). So requests that cross, repeat or come late cannot win, nor
// bring a removed line back. Without a script there is no count: seq 0 is always accepted and leaves the count alone. Taking away
// always works; more pieces are judged as in AddToCart.
//
// Errors: as AddToCart; ErrBadInput for a quantity that is not 0 to 20 or a negative seq.
func (s *Store) SetCartLine(ctx context.Context, cartID, itemID int64, optionIDs []int64, qty int, seq int64) (CartLine, error) {
	return s.SetFiltered(ctx, Diet{}, cartID, itemID, optionIDs, qty, seq)
}

// SetFiltered is SetCartLine under a menu's filter, as AddFiltered is AddToCart.
func (s *Store) SetFiltered(ctx context.Context, diet Diet, cartID, itemID int64, optionIDs []int64, qty int, seq int64) (CartLine, error) {
	if qty < 0 || qty > MaxLineQty || seq < 0 {
		return CartLine{}, fmt.Errorf("%w: quantity %d, seq %d", ErrBadInput, qty, seq)
	}
	return s.changeLine(ctx, cartID, itemID, optionIDs, func(c *lineChange) {
		c.diet = diet
		if seq == 0 {
			c.after.Qty = qty
		} else if seq > c.before.Seq {
			c.after.Qty, c.after.Seq = qty, seq
		}
	})
}

// lineChange is one line of a locked cart before and after a change. A line that is not there has Qty 0, and the Seq it was removed with.
type lineChange struct {
	before, after CartLine
	seen          bool // the customer looked at today's price while making it
	diet          Diet // the filter that is on
}

// changeLine performs one change of one line under the cart's lock, so that each change sees the one before it. decide fills after; when
// it leaves it as it was, nothing is written. A change of quantity raises the cart's version and takes the checkout key.
func (s *Store) changeLine(ctx context.Context, cartID, itemID int64, optionIDs []int64, decide func(*lineChange)) (line CartLine, err error) {
	options := slices.Sorted(slices.Values(optionIDs)) // repeats stay: Pick refuses them
	err = s.InTx(ctx, func(tx *Store) error {
		cart, err := tx.LockCart(ctx, cartID)
		if err != nil {
			return err
		}
		c := lineChange{before: CartLine{CartID: cartID, OutletID: cart.OutletID, ItemID: itemID, OptionIDs: options}}
		if at := slices.IndexFunc(cart.Lines, func(l CartLine) bool { return l.ItemID == itemID && slices.Equal(l.OptionIDs, options) }); at >= 0 {
			c.before = cart.Lines[at]
		} else if err := tx.read(ctx, &c.before.Seq, `SELECT seq FROM cart_line_removals WHERE cart_id = ? AND item_id = ? AND option_ids = ?::bigint[]`,
			cartID, itemID, IDList(options)); err != nil {
			return fmt.Errorf("removed line of cart %d: %w", cartID, err)
		}
		c.after = c.before
		decide(&c)
		if err := tx.judgeLine(ctx, cart, &c); err != nil {
			return err
		}
		if c.after.Qty == c.before.Qty && c.after.Seq == c.before.Seq {
			line = c.after
			return nil
		}
		if line, err = tx.writeLine(ctx, c.after); err != nil {
			return fmt.Errorf("line of cart %d: %w", cartID, err)
		}
		if c.after.Qty == c.before.Qty {
			return nil // only the count moved: the cart is what it was, and so is what its checkout key stands for
		}
		return tx.touchCart(ctx, cartID)
	})
	if err != nil {
		return CartLine{}, err
	}
	return line, nil
}

// judgeLine refuses what cannot be added, by the rules PriceCart has, and notes the price the customer saw.
func (s *Store) judgeLine(ctx context.Context, cart Cart, c *lineChange) error {
	more, forgotten := c.after.Qty > c.before.Qty, c.after.Qty == 0 && c.before.Qty == 0
	switch {
	case !more && !forgotten:
		return nil // taking away, or nothing
	case utf8.RuneCountInString(c.after.Note) > MaxLineNote:
		return fmt.Errorf("%w: the notes of one line have at most %d characters", ErrBadInput, MaxLineNote)
	case more && c.before.Qty == 0 && len(cart.Lines) >= MaxLines:
		return fmt.Errorf("%w: a cart has at most %d lines", ErrBadInput, MaxLines)
	}
	schedule, now, err := s.findScheduleNow(ctx, cart.OutletID, 0)
	if err != nil {
		return err
	}
	ids := IDList{c.after.ItemID}
	for _, l := range cart.Lines {
		ids = append(ids, l.ItemID)
	}
	items, err := s.listItems(ctx, schedule, now, cart.ID, `id IN (SELECT unnest(?::bigint[]) UNION SELECT part_item_id FROM item_parts WHERE item_id = ANY (?::bigint[]))`, ids, ids)
	if err != nil {
		return err
	}
	list := PriceList{Items: map[int64]Item{}}
	for _, item := range items {
		list.Items[item.ID] = item
	}
	item, found := list.Items[c.after.ItemID]
	switch {
	case !found, more && item.ArchivedAt != nil:
		return fmt.Errorf("dish %d: %w", c.after.ItemID, ErrNotFound)
	case item.OutletID != cart.OutletID:
		return fmt.Errorf("dish %d: %w", c.after.ItemID, ErrOtherOutlet)
	case forgotten:
		if _, err := item.Pick(c.after.OptionIDs); err != nil {
			c.after.Seq = c.before.Seq // no such line can come, late or not: nothing to remember
		}
		return nil
	}
	if c.before.Qty == 0 { // what is in the cart was chosen; a filter is about what is offered
		if err := c.diet.refusal(item, c.after.OptionIDs); err != nil {
			return err
		}
	}
	others := map[unit]int{}
	for _, l := range cart.Lines {
		if l.ID != c.before.ID {
			for u, each := range takes(list.Items[l.ItemID], l.OptionIDs) {
				others[u] += each * l.Qty
			}
		}
	}
	priced := priceLine(list, c.after, others)
	if priced.Problem != nil {
		return priced.Problem
	}
	if c.seen || c.before.Qty == 0 {
		c.after.SeenPaise = priced.UnitPricePaise + priced.OptionsPricePaise
	}
	return nil
}

// writeLine stores a line of a locked cart as it is to be from now on.
func (s *Store) writeLine(ctx context.Context, line CartLine) (CartLine, error) {
	if line.Qty == 0 {
		gone := CartLine{CartID: line.CartID, OutletID: line.OutletID, ItemID: line.ItemID, OptionIDs: line.OptionIDs, Seq: line.Seq}
		return gone, s.removeLine(ctx, line)
	}
	err := s.one(ctx, &line, `INSERT INTO cart_lines (cart_id, outlet_id, item_id, option_ids, qty, note, seq, seen_paise)
		VALUES (?, ?, ?, ?::bigint[], ?, ?, ?, ?) ON CONFLICT ON CONSTRAINT cart_lines_line_key
		DO UPDATE SET qty = EXCLUDED.qty, note = EXCLUDED.note, seq = EXCLUDED.seq, seen_paise = EXCLUDED.seen_paise RETURNING `+lineColumns,
		line.CartID, line.OutletID, line.ItemID, line.OptionIDs, line.Qty, line.Note, line.Seq, line.SeenPaise)
	return line, err
}

// removeLine deletes a line and remembers with which count, for a day: any request still on its way has come or failed by then.
func (s *Store) removeLine(ctx context.Context, line CartLine) error {
	if err := s.exec(ctx, `DELETE FROM cart_lines WHERE cart_id = ? AND item_id = ? AND option_ids = ?::bigint[]`, line.CartID, line.ItemID, line.OptionIDs).Error; err != nil {
		return err
	}
	if err := s.exec(ctx, `DELETE FROM cart_line_removals WHERE cart_id = ? AND removed_at < shop_now() - interval '1 day'`, line.CartID).Error; err != nil {
		return err
	}
	if line.Seq == 0 {
		return nil
	}
	return s.exec(ctx, `INSERT INTO cart_line_removals AS r (cart_id, item_id, option_ids, seq) VALUES (?, ?, ?::bigint[], ?)
		ON CONFLICT (cart_id, item_id, option_ids) DO UPDATE SET seq = GREATEST(r.seq, EXCLUDED.seq), removed_at = EXCLUDED.removed_at`,
		line.CartID, line.ItemID, line.OptionIDs, line.Seq).Error
}

// EmptyCart removes all lines, so that dishes of another outlet can be chosen. Safe to repeat. Errors: ErrNotFound.
func (s *Store) EmptyCart(ctx context.Context, cartID int64) error {
	return s.InTx(ctx, func(tx *Store) error {
		cart, err := tx.LockCart(ctx, cartID)
		if err != nil || len(cart.Lines) == 0 {
			return err
		}
		if err := tx.exec(ctx, `DELETE FROM cart_lines WHERE cart_id = ?`, cartID).Error; err != nil {
			return fmt.Errorf("empty cart %d: %w", cartID, err)
		}
		return tx.touchCart(ctx, cartID)
	})
}

// touchCart says that the cart's lines have changed: what was reviewed or placed with its checkout key is another cart now.
// Inside InTx only, under the cart's lock.
func (s *Store) touchCart(ctx context.Context, cartID int64) error {
	if err := s.exec(ctx, `UPDATE carts SET version = version + 1, updated_at = shop_now() WHERE id = ?`, cartID).Error; err != nil {
		return fmt.Errorf("cart %d: %w", cartID, err)
	}
	if err := s.exec(ctx, `UPDATE sessions SET checkout_key = NULL WHERE cart_id = ?`, cartID).Error; err != nil {
		return fmt.Errorf("checkout key of cart %d: %w", cartID, err)
	}
	return nil
}
