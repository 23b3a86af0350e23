package models

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Account is a customer who signed in with an address. Everything of an account is optional: whoever orders as a guest never has one.
type Account struct {
	ID        int64
	Email     string
	AccountAt time.Time // since when it is an account
}

// SignIn signs this browser in with the code of its letter. A right code opens the account of its address, or makes one; then, in one
// transaction: the browser gets a new token and its old one opens nothing, its guest's orders are the account's, the carts are one, and
// the code is used. Nothing of any bill changes. However many right codes come at once, one wins.
//
// The carts: the browser's lines stay as they are; lines that the account's earlier carts have and it has not are added. They are the
// carts left behind by signing out; one that another browser still has stays there, and so do one of another kitchen and one that an
// unpaid order stands on. Where that changes the cart, its checkout key goes, so it is shown before it is paid for.
//
// Errors: ErrWrongCode, ErrCodeGone, ErrTooManyTries from one network address, ErrSignedOut for a session that has ended, has another token
// by now, or is signed in.
func (s *Store) SignIn(ctx context.Context, sess Session, typed, address string) (token string, request CodeRequest, err error) {
	tries, err := s.countTries(ctx, limit{subject("guess-ip", address), []window{{guessesPerAddress, triesMinutes, ErrTooManyTries}}})
	if err != nil {
		return "", request, err
	}
	if request, err = s.tryCode(ctx, sess.ID); err != nil {
		return "", request, err
	}
	hash, err := nobody() // while the letter is not written, nothing fits, in the same time
	if err == nil && request.CodeHash != "" {
		hash, err = parseHash(request.CodeHash)
	}
	if err != nil {
		return "", request, err
	}
	right, err := hash.matches(ctx, typed)
	if err != nil {
		return "", request, fmt.Errorf("sign in: %w", err)
	}
	if !right || request.CodeHash == "" {
		return "", request, ErrWrongCode
	}
	token = newToken()
	for range maxTries {
		err = s.InTx(ctx, func(tx *Store) error { return tx.signIn(ctx, sess, request, token, tries) })
		if !errors.Is(err, errCartMoved) {
			break
		}
	}
	if err != nil {
		return "", request, err
	}
	return token, request, nil
}

// signIn is what SignIn does in its transaction. Locks: the address, the account, the guest, the guest's orders, carts by id, the session.
func (s *Store) signIn(ctx context.Context, sess Session, request CodeRequest, token string, tries IDList) error {
	var done bool
	if err := s.one(ctx, &done, `SELECT EXISTS (SELECT 1 FROM sessions WHERE token_hash = ?)`, hashToken(token)); err != nil || done {
		return err // committed before, and the answer was lost
	}
	if err := s.exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended(?, 0))`, "account:"+request.Email).Error; err != nil {
		return fmt.Errorf("sign in: %w", err)
	}
	used := s.exec(ctx, `DELETE FROM sign_in_codes WHERE id = ? AND session_id = ? AND code_hash = ?`, request.ID, sess.ID, request.CodeHash)
	if used.Error != nil {
		return fmt.Errorf("sign in: %w", used.Error)
	}
	if used.RowsAffected == 0 {
		return ErrCodeGone
	}
	guestID := *sess.CustomerID
	accountID, err := s.ensureAccount(ctx, guestID, request.Email)
	if err != nil {
		return err
	}
	cart, changed := browserCart{}, false
	if err := s.one(ctx, &cart, `SELECT cart_id FROM sessions WHERE id = ? AND token_hash = ?`, sess.ID, sess.TokenHash); err != nil {
		return signedOut(err)
	}
	keeps := cart.CartID
	if accountID != guestID {
		if err := s.moveOrders(ctx, guestID, accountID); err != nil {
			return err
		}
		if keeps, changed, err = s.mergeCarts(ctx, cart.CartID, accountID); err != nil {
			return err
		}
	}
	moved := s.exec(ctx, `UPDATE sessions SET token_hash = ?, customer_id = ?, cart_id = ?, expires_at = shop_now() + ?::int * interval '1 day',
			checkout_key = CASE WHEN ? THEN NULL ELSE checkout_key END
		WHERE id = ? AND token_hash = ? AND customer_id = ? AND cart_id IS NOT DISTINCT FROM ? AND expires_at > shop_now()`,
		hashToken(token), accountID, keeps, guestSessionDays, changed, sess.ID, sess.TokenHash, guestID, cart.CartID)
	if moved.Error != nil {
		return fmt.Errorf("sign in: %w", moved.Error)
	}
	if moved.RowsAffected == 0 {
		return errCartMoved // a first dish came meanwhile; or the session has ended, which the next try sees
	}
	if changed && keeps != nil {
		if err := s.touchCart(ctx, *keeps); err != nil {
			return err
		}
	}
	if accountID != guestID {
		if err := s.dropGuest(ctx, guestID, cart.CartID, keeps); err != nil {
			return err
		}
	}
	return s.exec(ctx, `DELETE FROM login_attempts WHERE id = ANY (?::bigint[])`, tries).Error
}

type browserCart struct{ CartID *int64 }

func signedOut(err error) error {
	if errors.Is(err, ErrNotFound) {
		return ErrSignedOut
	}
	return err
}

// ensureAccount locks the account of an address. Where there is none, the guest becomes it, with all that is the guest's.
func (s *Store) ensureAccount(ctx context.Context, guestID int64, email string) (accountID int64, err error) {
	err = s.one(ctx, &accountID, `SELECT id FROM customers WHERE email = ? AND account_at IS NOT NULL AND deleted_at IS NULL FOR NO KEY UPDATE`, email)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return 0, fmt.Errorf("account: %w", err)
	}
	var guest int64
	if errors.Is(err, ErrNotFound) {
		err = s.one(ctx, &guest, `UPDATE customers SET email = ?, account_at = shop_now() WHERE id = ? AND account_at IS NULL RETURNING id`, email, guestID)
		return guest, signedOut(err)
	}
	// Whoever is placing an order as this guest has committed by now, or will find the guest gone.
	err = s.one(ctx, &guest, `SELECT id FROM customers WHERE id = ? AND account_at IS NULL FOR UPDATE`, guestID)
	return accountID, signedOut(err)
}

// moveOrders makes a guest's orders the account's. The trigger orders_person lets them move once, and nothing of them change.
func (s *Store) moveOrders(ctx context.Context, guestID, accountID int64) error {
	if err := s.exec(ctx, `SELECT 1 FROM orders WHERE customer_id = ? ORDER BY id FOR NO KEY UPDATE`, guestID).Error; err != nil {
		return fmt.Errorf("orders of guest %d: %w", guestID, err)
	}
	if err := s.exec(ctx, `UPDATE orders SET customer_id = ? WHERE customer_id = ?`, accountID, guestID).Error; err != nil {
		return fmt.Errorf("orders of guest %d: %w", guestID, err)
	}
	return nil
}

// mergeCarts makes the account's carts that nobody holds and the browser's one, and returns it: the browser's, or, where that has no
// lines, the account's newest. changed says that it is not what the browser's was.
func (s *Store) mergeCarts(ctx context.Context, browser *int64, accountID int64) (keeps *int64, changed bool, err error) {
	var left IDList
	if err := s.read(ctx, (*[]int64)(&left), `SELECT c.id FROM carts c WHERE c.customer_id = ? AND EXISTS (SELECT 1 FROM cart_lines WHERE cart_id = c.id)
		AND NOT EXISTS (SELECT 1 FROM sessions WHERE cart_id = c.id) AND NOT EXISTS (SELECT 1 FROM orders o WHERE o.cart_id = c.id AND o.status = 'pending') ORDER BY c.updated_at DESC, c.id DESC`, accountID); err != nil {
		return nil, false, fmt.Errorf("carts of account %d: %w", accountID, err)
	}
	all := append(IDList{}, left...)
	if browser != nil {
		all = append(all, *browser)
	}
	if err := s.exec(ctx, `SELECT 1 FROM carts WHERE id = ANY (?::bigint[]) ORDER BY id FOR NO KEY UPDATE`, all).Error; err != nil {
		return nil, false, fmt.Errorf("carts of account %d: %w", accountID, err)
	}
	keeps = browser
	for _, cartID := range left {
		var lines bool
		if keeps != nil {
			if err := s.one(ctx, &lines, `SELECT EXISTS (SELECT 1 FROM cart_lines WHERE cart_id = ?)`, *keeps); err != nil {
				return nil, false, err
			}
		}
		if !lines {
			keeps, changed = &cartID, true
			continue
		}
		added, err := s.addLines(ctx, cartID, *keeps)
		if err != nil {
			return nil, false, err
		}
		changed = changed || added
	}
	return keeps, changed, nil
}

// addLines puts the lines of one locked cart into another of the same kitchen, where it has none like them and has room; then they are in
// the first no more. A coupon comes along where there is none. A cart without lines goes.
func (s *Store) addLines(ctx context.Context, from, to int64) (added bool, err error) {
	r := s.exec(ctx, `INSERT INTO cart_lines (cart_id, outlet_id, item_id, option_ids, qty, note, seq, seen_paise)
		SELECT c.id, c.outlet_id, l.item_id, l.option_ids, l.qty, l.note, l.seq, l.seen_paise FROM cart_lines l JOIN carts c ON c.id = ? AND c.outlet_id = l.outlet_id
		WHERE l.cart_id = ? AND NOT EXISTS (SELECT 1 FROM cart_lines m WHERE m.cart_id = c.id AND m.item_id = l.item_id AND m.option_ids = l.option_ids)
		ORDER BY l.id LIMIT greatest(0, ? - (SELECT count(*) FROM cart_lines WHERE cart_id = ?))`, to, from, MaxLines, to)
	if r.Error != nil {
		return false, fmt.Errorf("lines of cart %d: %w", from, r.Error)
	}
	if err := s.exec(ctx, `DELETE FROM cart_lines l USING cart_lines m WHERE l.cart_id = ? AND m.cart_id = ? AND m.item_id = l.item_id AND m.option_ids = l.option_ids`, from, to).Error; err != nil {
		return false, fmt.Errorf("lines of cart %d: %w", from, err)
	}
	gone := s.exec(ctx, `DELETE FROM carts c WHERE id = ? AND NOT EXISTS (SELECT 1 FROM cart_lines WHERE cart_id = c.id)`, from)
	return r.RowsAffected > 0, gone.Error
}

// dropGuest ends a guest who became part of an account: the cart the browser keeps is the account's, one it does not keep goes, and
// nothing is the guest's any more.
func (s *Store) dropGuest(ctx context.Context, guestID int64, had, keeps *int64) error {
	var err error
	if had != nil && *had != *keeps {
		err = s.exec(ctx, `DELETE FROM carts c WHERE id = ? AND NOT EXISTS (SELECT 1 FROM sessions WHERE cart_id = c.id)`, *had).Error
	} else if had != nil {
		err = s.exec(ctx, `UPDATE carts SET customer_id = (SELECT customer_id FROM sessions WHERE cart_id = carts.id LIMIT 1) WHERE id = ?`, *had).Error
	}
	if err != nil {
		return fmt.Errorf("cart of guest %d: %w", guestID, err)
	}
	if err := s.exec(ctx, `DELETE FROM customers c WHERE id = ? AND NOT EXISTS (SELECT 1 FROM orders WHERE customer_id = c.id)
		AND NOT EXISTS (SELECT 1 FROM sessions WHERE customer_id = c.id) AND NOT EXISTS (SELECT 1 FROM carts WHERE customer_id = c.id)`, guestID).Error; err != nil {
		return fmt.Errorf("guest %d: %w", guestID, err)
	}
	return nil
}

// FindAccount reads the account a session is signed in to. Errors: ErrSignedOut for a guest's.
func (s *Store) FindAccount(ctx context.Context, sess Session) (account Account, err error) {
	err = s.one(ctx, &account, `SELECT id, email, account_at FROM customers WHERE id = ? AND account_at IS NOT NULL AND deleted_at IS NULL`, sess.CustomerID)
	return account, signedOut(err)
}

// ListOrdersFrom returns a customer's orders, newest first and without items, leaving out the first skip.
func (s *Store) ListOrdersFrom(ctx context.Context, customerID int64, skip, limit int) (orders []Order, err error) {
	err = s.db.WithContext(ctx).Where("customer_id = ?", customerID).Order("id DESC").Offset(skip).Limit(limit).Find(&orders).Error
	return orders, err
}

// EndSessionsOf signs a customer out of every browser. Safe to repeat.
func (s *Store) EndSessionsOf(ctx context.Context, customerID int64) error {
	return s.InTx(ctx, func(tx *Store) error {
		_, err := tx.dropSessions(ctx, `customer_id = ?`, customerID)
		return err
	})
}

// openOrder is an order that still needs its person: unpaid, in the kitchen or on its way, complained about, its money moving, or before a bank.
const openOrder = `(o.status IN ('pending', 'due') OR o.next_action <> ''
	OR EXISTS (SELECT 1 FROM fulfilments f WHERE f.order_id = o.id AND f.status NOT IN ('handed_over', 'cancelled'))
	OR EXISTS (SELECT 1 FROM complaints k WHERE k.order_id = o.id AND k.status <> 'resolved')
	OR EXISTS (SELECT 1 FROM disputes d WHERE d.order_id = o.id AND d.status NOT IN ('won', 'lost', 'closed')))`

// DeleteAccount blanks a person: name, number, address and words to the kitchen go from every order, and with them saved addresses, codes,
// carts and sessions. Bills, payments, refunds and invoices stay as tax law asks; an invoice that has to name its buyer is a paper of its
// own and keeps the name. The address may sign in again, and then has a new account. Safe to repeat.
// Errors: ErrStillOpen while an order or its money is under way, and then nothing is changed; ErrSignedOut for what is no account.
func (s *Store) DeleteAccount(ctx context.Context, customerID int64) error {
	return s.InTx(ctx, func(tx *Store) error {
		// Also whoever is placing an order takes this turn first, and finds the session gone.
		var email string
		if err := tx.one(ctx, &email, `SELECT email FROM customers WHERE id = ? AND account_at IS NOT NULL AND deleted_at IS NULL FOR UPDATE`, customerID); err != nil {
			return signedOut(err)
		}
		if err := tx.exec(ctx, `SELECT 1 FROM orders WHERE customer_id = ? ORDER BY id FOR NO KEY UPDATE`, customerID).Error; err != nil {
			return fmt.Errorf("delete account %d: %w", customerID, err)
		}
		var open bool
		if err := tx.one(ctx, &open, `SELECT EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = ? AND `+openOrder+`)`, customerID); err != nil {
			return fmt.Errorf("delete account %d: %w", customerID, err)
		}
		if open {
			return ErrStillOpen
		}
		const mine = `IN (SELECT id FROM orders WHERE customer_id = ?)`
		for _, step := range []string{
			`UPDATE orders SET blanked_at = shop_now(), name = 'Deleted customer', phone = '', email = '', line1 = '', line2 = '', pin = '', directions = '', note = '' WHERE customer_id = ? AND blanked_at IS NULL`,
			`UPDATE order_items SET note = '' WHERE note <> '' AND order_id ` + mine,
			`UPDATE coupon_uses SET person = 'order:' || order_id WHERE person <> 'order:' || order_id AND order_id ` + mine,
			`DELETE FROM push_subscriptions WHERE order_id ` + mine,
			`DELETE FROM push_subscriptions WHERE order_id ` + mine,
			`DELETE FROM customer_addresses WHERE customer_id = ?`,
			`UPDATE customers SET deleted_at = shop_now(), name = '', phone = '', email = '' WHERE id = ?`,
		} {
			if err := tx.exec(ctx, step, customerID).Error; err != nil {
				return fmt.Errorf("delete account %d: %w", customerID, err)
			}
		}
		if err := tx.blankCareOf(ctx, customerID); err != nil {
			return err
		}
		if err := tx.exec(ctx, `DELETE FROM sign_in_codes WHERE email = ?`, email).Error; err != nil {
			return fmt.Errorf("delete account %d: %w", customerID, err)
		}
		if err := tx.exec(ctx, `DELETE FROM login_attempts WHERE subject = ?`, subject("code-mail", email)).Error; err != nil {
			return fmt.Errorf("delete account %d: %w", customerID, err)
		}
		if err := tx.Audit(ctx, ActorCustomer, "delete_account", nil, fmt.Sprintf("customer %d", customerID)); err != nil {
			return err
		}
		if _, err := tx.dropSessions(ctx, `customer_id = ?`, customerID); err != nil {
			return err
		}
		if err := tx.exec(ctx, `DELETE FROM carts WHERE customer_id = ?`, customerID).Error; err != nil {
			return fmt.Errorf("carts of account %d: %w", customerID, err)
		}
		return tx.exec(ctx, `DELETE FROM customers c WHERE id = ? AND NOT EXISTS (SELECT 1 FROM orders WHERE customer_id = c.id)`, customerID).Error
	})
}

// ExportAccount is everything we hold about the person, as JSON: the account, addresses, orders with their bills, dishes, payments, refunds,
// papers, complaints, review and letters, carts, and how often and until when the account is signed in. Amounts are paise. What opens anything else, such
// as tokens, is not in it. Errors: ErrSignedOut.
func (s *Store) ExportAccount(ctx context.Context, customerID int64) (data json.RawMessage, err error) {
	var text string
	err = s.one(ctx, &text, `SELECT jsonb_pretty(jsonb_build_object(
		'account', jsonb_build_object('email', c.email, 'since', c.account_at),
		'addresses', (SELECT COALESCE(jsonb_agg(jsonb_build_object('label', a.label, 'line1', a.line1, 'line2', a.line2, 'pin', a.pin, 'directions', a.directions, 'is_default', a.is_default, 'saved_at', a.created_at) ORDER BY a.nth), '[]')
			FROM customer_addresses a WHERE a.customer_id = c.id),
		'orders', (SELECT COALESCE(jsonb_agg(to_jsonb(o) - '{id,public_id,token,outlet_id,slot_id,cart_id,customer_id,checkout_key,checkout_hash,paid_payment_id,kept,checks,next_check_at,last_checked_at,next_action,resolve_by,blanked_at}'::text[] || jsonb_build_object(
			'items', (SELECT COALESCE(jsonb_agg(jsonb_build_object('name', i.name, 'qty', i.qty, 'line_total_paise', i.line_total_paise, 'note', i.note,
					'choices', (SELECT COALESCE(jsonb_agg(n.name ORDER BY n.position), '[]') FROM order_item_options n WHERE n.order_id = i.order_id AND n.line = i.line)) ORDER BY i.line), '[]') FROM order_items i WHERE i.order_id = o.id),
			'payments', (SELECT COALESCE(jsonb_agg(jsonb_build_object('razorpay_payment_id', p.razorpay_payment_id, 'amount_paise', p.amount_paise, 'method', p.method, 'status', p.gw_status, 'at', p.created_at) ORDER BY p.id), '[]') FROM payments p WHERE p.order_id = o.id),
			'refunds', (SELECT COALESCE(jsonb_agg(jsonb_build_object('amount_paise', r.amount_paise, 'status', r.status, 'reason', r.reason, 'at', r.requested_at) ORDER BY r.requested_at), '[]') FROM refunds r WHERE r.order_id = o.id),
			'papers', (SELECT COALESCE(jsonb_agg(jsonb_build_object('kind', q.kind, 'number', q.number, 'total_paise', q.total_paise, 'buyer', q.printed->'buyer', 'at', q.issued_at) ORDER BY q.id), '[]') FROM papers q WHERE q.order_id = o.id),
			'complaints', (SELECT COALESCE(jsonb_agg(jsonb_build_object('number', k.number, 'kind', k.kind, 'status', k.status, 'outcome', k.outcome, 'at', k.opened_at,
				'messages', (SELECT COALESCE(jsonb_agg(jsonb_build_object('by', CASE m.author WHEN 'customer' THEN 'you' ELSE 'the restaurant' END, 'text', m.body, 'at', m.written_at) ORDER BY m.id), '[]') FROM complaint_messages m WHERE m.complaint_id = k.id)) ORDER BY k.id), '[]') FROM complaints k WHERE k.order_id = o.id),
			'review', (SELECT jsonb_build_object('stars', v.stars, 'text', v.body, 'reply', v.reply, 'at', v.written_at) FROM reviews v WHERE v.order_id = o.id),
			'letters', (SELECT COALESCE(jsonb_agg(jsonb_build_object('kind', l.kind, 'status', l.status, 'at', COALESCE(l.sent_at, l.queued_at)) ORDER BY l.id), '[]') FROM outbox l WHERE l.order_id = o.id)
			) ORDER BY o.id DESC), '[]') FROM orders o WHERE o.customer_id = c.id),
		'carts', (SELECT COALESCE(jsonb_agg(jsonb_build_object('coupon', k.coupon, 'tip_paise', k.tip_paise, 'latitude_e6', k.latitude_e6, 'longitude_e6', k.longitude_e6, 'changed_at', k.updated_at,
			'lines', (SELECT COALESCE(jsonb_agg(jsonb_build_object('name', i.name, 'qty', l.qty, 'note', l.note) ORDER BY l.id), '[]') FROM cart_lines l JOIN items i ON i.id = l.item_id WHERE l.cart_id = k.id)) ORDER BY k.id), '[]') FROM carts k WHERE k.customer_id = c.id),
		'signed_in', (SELECT COALESCE(jsonb_agg(jsonb_build_object('since', s.created_at, 'until', s.expires_at) ORDER BY s.id), '[]') FROM sessions s WHERE s.customer_id = c.id)
		)) FROM customers c WHERE c.id = ? AND c.account_at IS NOT NULL AND c.deleted_at IS NULL`, customerID)
	return json.RawMessage(text), signedOut(err)
}

// PurgeCarts forgets what accounts left in carts that no browser has held for as long as a guest's is kept, and empty ones. Safe to repeat.
func (s *Store) PurgeCarts(ctx context.Context) (int64, error) {
	r := s.exec(ctx, `DELETE FROM carts c WHERE NOT EXISTS (SELECT 1 FROM sessions WHERE cart_id = c.id) AND EXISTS (SELECT 1 FROM customers a WHERE a.id = c.customer_id AND a.account_at IS NOT NULL)
		AND (c.updated_at < shop_now() - ?::int * interval '1 day' OR NOT EXISTS (SELECT 1 FROM cart_lines WHERE cart_id = c.id))`, guestSessionDays)
	return r.RowsAffected, r.Error
}
