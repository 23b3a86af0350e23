package models

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"
)

// A code signs in whoever reads the letters of an address. It is known to the letter alone: its row holds a salted argon2id hash, the
// outbox and the queue an id.
const (
	codeMinutes  = 10
	triesPerCode = 5 // a CHECK holds it too

	// What a stranger may spend of our letters, and make of guesses. An address gets one letter a minute, five an hour, twenty a day:
	// a hundred guesses a day at one in a million. A browser asks five times in a quarter of an hour; a network address, which many people
	// share behind one mobile operator, asks twenty and guesses forty times.
	codesPerMinute, codesPerHour, codesPerDay = 1, 5, 20
	codesPerSession                           = 5
	codesPerAddress                           = 20
	guessesPerAddress                         = 40
)

// CodeRequest is what a browser has asked for and not used yet.
type CodeRequest struct {
	ID       int64
	Email    string
	CodeHash string
	Tries    int
	GoesTo   string // account, checkout: the page after signing in
	Language string
	IsOver   bool // its ten minutes are over, or its five tries made
}

// TriesLeft is how often a code may still be tried.
func (r CodeRequest) TriesLeft() int { return triesPerCode - r.Tries }

// NormalEmail is an address as accounts are found by: without spaces around it, in small letters. ok is false for what is too long or short to be one.
func NormalEmail(typed string) (email string, ok bool) {
	email = strings.ToLower(strings.TrimSpace(typed))
	return email, len(email) >= 3 && len(email) <= 254 && isText(email)
}

// RequestCode asks for a letter with a code that signs this browser in, in place of one it asked for before. It never looks whether there
// is an account. language is the letter's; address is where the request came from. goesTo is account or checkout.
// Errors: ErrTooSoon within a minute of the last letter to this address, ErrTooManyTries, ErrBadInput, ErrSignedOut for a session that is not a guest's.
// On an error nothing is written.
func (s *Store) RequestCode(ctx context.Context, sess Session, typed, goesTo, language, address string) error {
	email, ok := NormalEmail(typed)
	if !ok || goesTo != "account" && goesTo != "checkout" {
		return fmt.Errorf("%w: address of a code", ErrBadInput)
	}
	return s.InTx(ctx, func(tx *Store) error {
		if _, err := tx.countTries(ctx,
			limit{subject("code-ip", address), []window{{codesPerAddress, triesMinutes, ErrTooManyTries}}},
			limit{subject("code-session", strconv.FormatInt(sess.ID, 10)), []window{{codesPerSession, triesMinutes, ErrTooManyTries}}},
			limit{subject("code-mail", email), []window{{codesPerMinute, 1, ErrTooSoon}, {codesPerHour, 60, ErrTooManyTries}, {codesPerDay, 24 * 60, ErrTooManyTries}}},
		); err != nil {
			return err
		}
		if err := tx.exec(ctx, `DELETE FROM sign_in_codes WHERE session_id = ?`, sess.ID).Error; err != nil {
			return fmt.Errorf("earlier code: %w", err)
		}
		var id int64
		err := tx.one(ctx, &id, `INSERT INTO sign_in_codes (session_id, email, goes_to, language, expires_at)
			SELECT s.id, ?, ?, ?, shop_now() + make_interval(mins => ?) FROM sessions s JOIN customers c ON c.id = s.customer_id
			WHERE s.id = ? AND s.token_hash = ? AND s.expires_at > shop_now() AND c.account_at IS NULL RETURNING id`, email, goesTo, language, codeMinutes, sess.ID, sess.TokenHash)
		if errors.Is(err, ErrNotFound) {
			return ErrSignedOut
		}
		if err != nil {
			return fmt.Errorf("new code: %w", err)
		}
		return tx.ensureCodeLetter(ctx, id)
	})
}

// FindCode reads what this browser has asked for. Errors: ErrNotFound.
func (s *Store) FindCode(ctx context.Context, sessionID int64) (request CodeRequest, err error) {
	err = s.one(ctx, &request, `SELECT id, email, tries, goes_to, language, expires_at <= shop_now() OR tries >= ? AS is_over FROM sign_in_codes WHERE session_id = ?`, triesPerCode, sessionID)
	return request, err
}

// WriteCode makes a request's code, for the letter that is sent at once: six digits from crypto/rand, of which the row gets the hash and
// nobody else a copy. A letter that is written again has another code, and then only that one works.
// Errors: ErrNotFound when the request was used or replaced, or its time is over.
func (s *Store) WriteCode(ctx context.Context, codeID int64) (request CodeRequest, code string, err error) {
	n, err := rand.Int(rand.Reader, big.NewInt(1_000_000))
	if err != nil {
		return request, "", fmt.Errorf("code: %w", err)
	}
	code = fmt.Sprintf("%06d", n.Int64())
	hash, err := hashPassword(ctx, code)
	if err != nil {
		return request, "", err
	}
	err = s.one(ctx, &request, `UPDATE sign_in_codes SET code_hash = ? WHERE id = ? AND expires_at > shop_now() RETURNING id, email, goes_to, language`, hash, codeID)
	if err != nil {
		return request, "", err
	}
	return request, code, nil
}

// tryCode counts one try of the session's code before it is looked at; the row's guard lets five through, however many come at once.
// Errors: ErrCodeGone when there is none, its time is over, or its tries are made.
func (s *Store) tryCode(ctx context.Context, sessionID int64) (request CodeRequest, err error) {
	err = s.one(ctx, &request, `UPDATE sign_in_codes SET tries = tries + 1 WHERE session_id = ? AND tries < ? AND expires_at > shop_now()
		RETURNING id, email, code_hash, tries, goes_to, language`, sessionID, triesPerCode)
	if errors.Is(err, ErrNotFound) {
		return request, ErrCodeGone
	}
	return request, err
}

// PurgeCodes forgets codes whose time is over, and the letters that carried any. Safe to repeat.
func (s *Store) PurgeCodes(ctx context.Context) (int64, error) {
	codes := s.exec(ctx, `DELETE FROM sign_in_codes WHERE expires_at <= shop_now()`)
	if codes.Error != nil {
		return 0, codes.Error
	}
	letters := s.exec(ctx, `DELETE FROM outbox WHERE kind = ? AND queued_at < shop_now() - interval '1 day'`, LetterSignInCode)
	return codes.RowsAffected + letters.RowsAffected, letters.Error
}
