package models

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Session is what one browser is to us: a guest's or a staff member's row. The cookie carries the token, the row its hash; what a
// request knows of it is this value.
type Session struct {
	ID          int64
	TokenHash   []byte
	CustomerID  *int64
	Email       string // of the account that is signed in; empty: a guest, or staff
	StaffID     *int64
	CartID      *int64
	CheckoutKey *string // the idempotency key; nil: none since the last change
	ExpiresAt   time.Time
}

const (
	guestSessionDays  = 60 // a cart and an order's page are found again for two months; then the visitor is a stranger
	staffSessionHours = 12 // one long shift: a tablet left behind is signed out by the next morning
	purgeBatch        = 500
)

const sessionColumns = `id, token_hash, customer_id, staff_id, cart_id, checkout_key::text AS checkout_key, expires_at,
	COALESCE((SELECT c.email FROM customers c WHERE c.id = sessions.customer_id AND c.account_at IS NOT NULL), '') AS email`

// newToken makes what a cookie carries: 26 characters, 130 random bits.
func newToken() string { return rand.Text() }

func hashToken(token string) []byte {
	sum := sha256.Sum256([]byte(token))
	return sum[:]
}

// CreateGuestSession makes a visitor known: a customer row, still empty, and a session for it that ends in 60 days. The token is for the
// cookie and is stored nowhere; the row has its SHA-256. Not safe to repeat: each call is another visitor.
func (s *Store) CreateGuestSession(ctx context.Context) (token string, sess Session, err error) {
	token = newToken()
	err = s.one(ctx, &sess, `WITH guest AS (INSERT INTO customers DEFAULT VALUES RETURNING id)
		INSERT INTO sessions (token_hash, customer_id, expires_at) SELECT ?, id, shop_now() + ?::int * interval '1 day' FROM guest
		RETURNING `+sessionColumns, hashToken(token), guestSessionDays)
	if err != nil {
		return "", Session{}, fmt.Errorf("new guest session: %w", err)
	}
	return token, sess, nil
}

// FindSession reads the session a cookie's token opens. Errors: ErrSignedOut when there is none, when it has expired, or when its staff
// member is not active any more.
func (s *Store) FindSession(ctx context.Context, token string) (sess Session, err error) {
	err = s.one(ctx, &sess, `SELECT `+sessionColumns+` FROM sessions WHERE token_hash = ? AND expires_at > shop_now()
		AND (staff_id IS NULL OR EXISTS (SELECT 1 FROM staff WHERE staff.id = staff_id AND active))`, hashToken(token))
	if errors.Is(err, ErrNotFound) {
		return Session{}, ErrSignedOut
	}
	if err != nil {
		return Session{}, fmt.Errorf("session: %w", err)
	}
	return sess, nil
}

// EnsureCheckoutKey returns the session's idempotency key, minting it when there is none since the last change. However many ask at
// once, all get the same one. Safe to repeat. Errors: ErrSignedOut.
func (s *Store) EnsureCheckoutKey(ctx context.Context, sessionID int64) (key string, err error) {
	err = s.one(ctx, &key, `UPDATE sessions SET checkout_key = COALESCE(checkout_key, gen_random_uuid())
		WHERE id = ? AND customer_id IS NOT NULL AND expires_at > shop_now() RETURNING checkout_key::text`, sessionID)
	if errors.Is(err, ErrNotFound) {
		return "", ErrSignedOut
	}
	if err != nil {
		return "", fmt.Errorf("checkout key of session %d: %w", sessionID, err)
	}
	return key, nil
}

// ClearCheckoutKey forgets the key, if it is still this one: a slow request cannot take away the key minted after it began. Safe to repeat.
func (s *Store) ClearCheckoutKey(ctx context.Context, sessionID int64, key string) error {
	if !isText(key) {
		return nil // no session has such a key
	}
	return s.exec(ctx, `UPDATE sessions SET checkout_key = NULL WHERE id = ? AND checkout_key::text = ?`, sessionID, strings.ToLower(key)).Error
}

// EndSession signs a browser out for good: the row goes, so a request still under way cannot bring it back. What only this session
// could reach goes with it: a guest's cart, and the guest when there is no order. An account's cart waits for the next sign-in. Safe to repeat.
func (s *Store) EndSession(ctx context.Context, sessionID int64) error {
	return s.InTx(ctx, func(tx *Store) error {
		_, err := tx.dropSessions(ctx, `id = ?`, sessionID)
		return err
	})
}

// visitDays is how long a visitor who chose nothing and bought nothing is remembered. Each crawler that keeps no cookie makes one a page.
const visitDays = 1

// PurgeSessions ends all expired sessions, and those of visitors who left nothing, as EndSession does, and says how many. Safe to repeat, and from several processes at once.
func (s *Store) PurgeSessions(ctx context.Context) (purged int64, err error) {
	for {
		var batch int64
		err := s.InTx(ctx, func(tx *Store) (err error) {
			batch, err = tx.dropSessions(ctx, `id IN (SELECT id FROM sessions s WHERE expires_at <= shop_now()
				OR created_at < shop_now() - make_interval(days => `+strconv.Itoa(visitDays)+`) AND customer_id IS NOT NULL AND cart_id IS NULL
				   AND NOT EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = s.customer_id) AND NOT EXISTS (SELECT 1 FROM customers c WHERE c.id = s.customer_id AND c.account_at IS NOT NULL)
				ORDER BY expires_at LIMIT ?)`, purgeBatch)
			return err
		})
		purged += batch
		if err != nil || batch == 0 {
			return purged, err
		}
	}
}

// dropSessions deletes sessions with the carts and customers nothing else refers to. Carts are locked first, as whoever changes one
// does. Inside InTx only.
func (s *Store) dropSessions(ctx context.Context, where string, arg any) (dropped int64, err error) {
	var rows []Session
	if err = s.read(ctx, &rows, `SELECT `+sessionColumns+` FROM sessions WHERE `+where, arg); err != nil || len(rows) == 0 {
		return 0, err
	}
	var sessions, carts, customers IDList
	for _, row := range rows {
		sessions = append(sessions, row.ID)
		if row.CartID != nil {
			carts = append(carts, *row.CartID)
		}
		if row.CustomerID != nil {
			customers = append(customers, *row.CustomerID)
		}
	}
	if err = s.exec(ctx, `SELECT 1 FROM carts WHERE id = ANY (?::bigint[]) ORDER BY id FOR UPDATE`, carts).Error; err != nil {
		return 0, fmt.Errorf("drop sessions: %w", err)
	}
	gone := s.exec(ctx, `DELETE FROM sessions WHERE id = ANY (?::bigint[])`, sessions)
	if gone.Error != nil {
		return 0, fmt.Errorf("drop sessions: %w", gone.Error)
	}
	if err = s.exec(ctx, `DELETE FROM carts c WHERE c.id = ANY (?::bigint[]) AND NOT EXISTS (SELECT 1 FROM sessions WHERE cart_id = c.id)
		AND NOT EXISTS (SELECT 1 FROM customers a WHERE a.id = c.customer_id AND a.account_at IS NOT NULL AND a.deleted_at IS NULL)`, carts).Error; err != nil {
		return 0, fmt.Errorf("drop carts: %w", err)
	}
	if err = s.exec(ctx, `DELETE FROM customers c WHERE c.id = ANY (?::bigint[]) AND (c.account_at IS NULL OR c.deleted_at IS NOT NULL) AND NOT EXISTS (SELECT 1 FROM orders WHERE customer_id = c.id)
		AND NOT EXISTS (SELECT 1 FROM sessions WHERE customer_id = c.id) AND NOT EXISTS (SELECT 1 FROM carts WHERE customer_id = c.id)`, customers).Error; err != nil {
		return 0, fmt.Errorf("drop customers: %w", err)
	}
	return gone.RowsAffected, nil
}
