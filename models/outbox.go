package models

import (
	"context"
	"fmt"
	"strconv"
	"time"
)

// Kinds of letters. Each goes out once per ref.
const (
	LetterConfirmation    = "confirmation"     // ref: the order's public id
	LetterRefundRequested = "refund_requested" // ref: the refund's id
	LetterRefundProcessed = "refund_processed"
	LetterAccepted        = "accepted"   // ref of this and the next three: the order's public id
	LetterReady           = "ready"      // to be collected
	LetterOnItsWay        = "on_its_way" // delivered
	LetterCancelled       = "cancelled"  // where no money goes back: of that its refund's letter tells
	LetterShortage        = "shortage"   // ref: the shortage's id

	LetterComplaintReceived = "complaint_received" // ref: the complaint's id
	LetterComplaintAnswered = "complaint_answered" // ref: the message's id
	LetterComplaintResolved = "complaint_resolved" // ref: the message's id
	LetterReviewWanted      = "review_wanted"      // ref: the order's public id
	LetterSignInCode        = "sign_in_code"       // ref: the code's id; belongs to no order
)

// Letter is one message to a customer that goes out once. The row is the authority; its job only does the sending.
type Letter struct {
	ID       int64
	Kind     string
	Ref      string
	OrderID  int64  // 0: of no order
	Status   string // queued, sent, skipped (no address, or nothing to say any more), dead
	Attempts int
	QueuedAt time.Time
	SentAt   *time.Time
}

func (Letter) TableName() string { return "outbox" }

// EnsureLetter writes the letter and its job, once per kind and ref; without an address it is skipped at once. Safe to repeat. Inside InTx only.
func (s *Store) EnsureLetter(ctx context.Context, kind, ref string, o Order) error {
	var id int64
	err := s.one(ctx, &id, `INSERT INTO outbox (kind, ref, order_id, status) VALUES (?, ?, ?, ?) ON CONFLICT (kind, ref) DO NOTHING RETURNING id`,
		kind, ref, o.ID, map[bool]string{true: "skipped", false: "queued"}[o.Email == ""])
	if err == ErrNotFound || err == nil && o.Email == "" {
		return nil
	}
	if err != nil {
		return err
	}
	return s.Enqueue(ctx, SendLetterArgs{LetterID: id})
}

// ensureCodeLetter writes the letter that will bring a code, and its job. Inside InTx only.
func (s *Store) ensureCodeLetter(ctx context.Context, codeID int64) error {
	var id int64
	if err := s.one(ctx, &id, `INSERT INTO outbox (kind, ref) VALUES (?, ?) RETURNING id`, LetterSignInCode, strconv.FormatInt(codeID, 10)); err != nil {
		return fmt.Errorf("letter of code %d: %w", codeID, err)
	}
	return s.Enqueue(ctx, SendLetterArgs{LetterID: id})
}

// SkipLetter notes that a letter has nothing to say any more.
func (s *Store) SkipLetter(ctx context.Context, letterID int64) error {
	return s.exec(ctx, `UPDATE outbox SET status = 'skipped' WHERE id = ? AND status = 'queued'`, letterID).Error
}

// FindLetter returns one letter. Errors: ErrNotFound.
func (s *Store) FindLetter(ctx context.Context, letterID int64) (l Letter, err error) {
	err = s.one(ctx, &l, `SELECT * FROM outbox WHERE id = ?`, letterID)
	return l, err
}

// MarkLetterSent notes that the letter has gone out.
func (s *Store) MarkLetterSent(ctx context.Context, letterID int64) error {
	return s.exec(ctx, `UPDATE outbox SET status = 'sent', sent_at = shop_now(), attempts = attempts + 1, last_error = '' WHERE id = ? AND status = 'queued'`, letterID).Error
}

// maxLetterTries bounds the tries; with the doubling pause the last one comes about a day after the first.
const maxLetterTries = 12

// FailLetter notes a failed try and when the next is due; final ends it, as the twelfth try does.
func (s *Store) FailLetter(ctx context.Context, letterID int64, why string, final bool) error {
	return s.exec(ctx, `UPDATE outbox SET attempts = attempts + 1, last_error = ?, next_attempt_at = shop_now() + least(interval '30 seconds' * 2 ^ least(attempts, 12), interval '6 hours'),
		status = CASE WHEN ? OR attempts + 1 >= ? THEN 'dead' ELSE status END WHERE id = ? AND status = 'queued'`, why, final, maxLetterTries, letterID).Error
}

// ClaimDueLetters names queued letters whose turn it is and whose job is gone. Each gets a later turn first.
func (s *Store) ClaimDueLetters(ctx context.Context, limit int) (ids []int64, err error) {
	err = s.read(ctx, &ids, `UPDATE outbox SET next_attempt_at = shop_now() + interval '1 minute' WHERE id IN (SELECT id FROM outbox
		WHERE status = 'queued' AND next_attempt_at <= shop_now() - interval '1 minute' ORDER BY next_attempt_at LIMIT ? FOR UPDATE SKIP LOCKED) RETURNING id`, limit)
	return ids, err
}
