package models

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"
)

// Rules of reviews.
const (
	MaxReviewText  = 1000 // characters, of a review and of a reply; the database checks it
	ReviewEditDays = 7    // for so long its writer may change it
	MinReviews     = 5    // with fewer there is no average: four friends are no public

	askReviewAfter = 3 * time.Hour  // of handing over: eaten, and not forgotten
	askReviewUntil = 48 * time.Hour // later nobody remembers; what a stopped worker missed is not asked about
)

// ErrReviewClosed says that a review cannot be changed any more.
var ErrReviewClosed = errors.New("the time to change the review is over")

// Review is what a customer says of one completed order. It is published without a name.
type Review struct {
	OrderID   int64
	OutletID  int64
	Stars     int // 1 to 5
	Body      string
	WrittenAt time.Time
	EditedAt  *time.Time
	Reply     string
	RepliedBy *int64
	RepliedAt *time.Time
	HiddenAt  *time.Time // its words are not shown; its stars count all the same
	HiddenBy  *int64
	HiddenWhy string
}

// EditableUntil is when its writer can no longer change it.
func (r Review) EditableUntil() time.Time { return r.WrittenAt.AddDate(0, 0, ReviewEditDays) }

// WriteReview stores the review of a completed order, or, for ReviewEditDays, what its writer says instead. An order has one, however many
// presses come at once; the same words again change nothing.
// Errors: ErrBadInput; ErrBadMove: the order is not handed over and paid; ErrReviewClosed.
func (s *Store) WriteReview(ctx context.Context, o Order, stars int, body string) (r Review, err error) {
	body = Said(body)
	if stars < 1 || stars > 5 || !utf8.ValidString(body) || utf8.RuneCountInString(body) > MaxReviewText {
		return r, fmt.Errorf("%w: 1 to 5 stars, at most %d characters", ErrBadInput, MaxReviewText)
	}
	err = s.InTx(ctx, func(tx *Store) error {
		err := tx.one(ctx, &r, `INSERT INTO reviews AS r (order_id, outlet_id, stars, body) SELECT f.order_id, f.outlet_id, ?, ? FROM fulfilments f JOIN orders o ON o.id = f.order_id
				WHERE f.order_id = ? AND (f.status = 'handed_over' AND o.status = 'paid')
			ON CONFLICT (order_id) DO UPDATE SET stars = EXCLUDED.stars, body = EXCLUDED.body, edited_at = shop_now()
				WHERE r.written_at > shop_now() - make_interval(days => ?) AND (r.stars, r.body) <> (EXCLUDED.stars, EXCLUDED.body) RETURNING r.*`, stars, body, o.ID, ReviewEditDays)
		if err == nil {
			return tx.Notify(ctx, OrderTopic(o.ID))
		}
		if !errors.Is(err, ErrNotFound) {
			return err
		}
		r, err = tx.FindReview(ctx, o.ID)
		switch {
		case errors.Is(err, ErrNotFound):
			return fmt.Errorf("order %d is not completed: %w", o.ID, ErrBadMove)
		case err == nil && (r.Stars != stars || r.Body != body):
			return fmt.Errorf("order %d: %w", o.ID, ErrReviewClosed)
		}
		return err
	})
	return r, err
}

// FindReview returns an order's review, hidden or not. Errors: ErrNotFound.
func (s *Store) FindReview(ctx context.Context, orderID int64) (r Review, err error) {
	err = s.one(ctx, &r, `SELECT * FROM reviews WHERE order_id = ?`, orderID)
	return r, err
}

// Rating is the average of an outlet's reviews. The zero value is none: there are fewer than MinReviews.
type Rating struct {
	Count  int
	Tenths int // 47: 4.7 stars, rounded half up
}

// IsKnown reports whether there are enough reviews to speak of an average.
func (r Rating) IsKnown() bool { return r.Count >= MinReviews }

// FindRating computes the average of every review of an outlet, hidden ones included: hiding takes away words, not stars.
func (s *Store) FindRating(ctx context.Context, outletID int64) (Rating, error) {
	var sum struct{ Count, Stars int }
	if err := s.one(ctx, &sum, `SELECT count(*) AS count, COALESCE(sum(stars), 0) AS stars FROM reviews WHERE outlet_id = ?`, outletID); err != nil {
		return Rating{}, fmt.Errorf("rating of outlet %d: %w", outletID, err)
	}
	if sum.Count < MinReviews {
		return Rating{}, nil
	}
	return Rating{Count: sum.Count, Tenths: (sum.Stars*20 + sum.Count) / (2 * sum.Count)}, nil
}

// ListPublicReviews returns an outlet's newest reviews as anybody may read them: those that say something and are not hidden.
func (s *Store) ListPublicReviews(ctx context.Context, outletID int64, limit int) (reviews []Review, err error) {
	err = s.read(ctx, &reviews, `SELECT * FROM reviews WHERE outlet_id = ? AND hidden_at IS NULL AND body <> '' ORDER BY written_at DESC, order_id DESC LIMIT ?`, outletID, limit)
	return reviews, err
}

// StaffReview is a review as staff see it.
type StaffReview struct {
	Review
	OrderNumber int
}

// ListReviewsFor returns the newest reviews of an outlet for its staff, hidden ones too.
func (s *Store) ListReviewsFor(ctx context.Context, outletID int64, limit int) (reviews []StaffReview, err error) {
	err = s.read(ctx, &reviews, `SELECT r.*, o.number AS order_number FROM reviews r JOIN orders o ON o.id = r.order_id WHERE r.outlet_id = ? ORDER BY r.written_at DESC, r.order_id DESC LIMIT ?`, outletID, limit)
	return reviews, err
}

// ReplyToReview publishes the shop's words beside a review, in place of those it had; empty takes them back. was is the review as the person
// read it. Errors: ErrNotFound, ErrBadInput; ErrBadMove when it was changed meanwhile.
func (s *Store) ReplyToReview(ctx context.Context, orderID int64, by Staff, reply string, was time.Time) error {
	reply = Said(reply)
	if utf8.RuneCountInString(reply) > MaxReviewText {
		return fmt.Errorf("%w: a reply of more than %d characters", ErrBadInput, MaxReviewText)
	}
	return s.onReview(ctx, orderID, by, "reply_review", "", func(tx *Store) (int64, error) {
		r := tx.exec(ctx, `UPDATE reviews SET reply = ?, replied_by = CASE WHEN ? <> '' THEN ?::bigint END, replied_at = CASE WHEN ? <> '' THEN shop_now() END
			WHERE order_id = ? AND COALESCE(edited_at, written_at) = ?`, reply, reply, by.ID, reply, orderID, was)
		return r.RowsAffected, r.Error
	})
}

// HideReview takes a review's words off the pages, with a reason that is kept; its stars go on counting. Safe to repeat.
// Errors: ErrNotFound, ErrBadInput for no reason or a long one.
func (s *Store) HideReview(ctx context.Context, orderID int64, by Staff, why string) error {
	if why = Said(why); why == "" || utf8.RuneCountInString(why) > 200 {
		return fmt.Errorf("%w: hiding a review has a reason of at most 200 characters", ErrBadInput)
	}
	return s.onReview(ctx, orderID, by, "hide_review", why, func(tx *Store) (int64, error) {
		r := tx.exec(ctx, `UPDATE reviews SET hidden_at = COALESCE(hidden_at, shop_now()), hidden_by = COALESCE(hidden_by, ?), hidden_why = CASE WHEN hidden_at IS NULL THEN ? ELSE hidden_why END WHERE order_id = ?`, by.ID, why, orderID)
		return r.RowsAffected, r.Error
	})
}

// ShowReview puts a hidden review's words back. Safe to repeat. Errors: ErrNotFound.
func (s *Store) ShowReview(ctx context.Context, orderID int64, by Staff) error {
	return s.onReview(ctx, orderID, by, "show_review", "", func(tx *Store) (int64, error) {
		r := tx.exec(ctx, `UPDATE reviews SET hidden_at = NULL, hidden_by = NULL, hidden_why = '' WHERE order_id = ?`, orderID)
		return r.RowsAffected, r.Error
	})
}

// onReview does something about a review of the member's outlet, writes down who did and tells the order's page.
func (s *Store) onReview(ctx context.Context, orderID int64, by Staff, deed, detail string, do func(tx *Store) (int64, error)) error {
	return s.InTx(ctx, func(tx *Store) error {
		var r Review
		if err := tx.one(ctx, &r, `SELECT * FROM reviews WHERE order_id = ? AND (?::bigint IS NULL OR outlet_id = ?) FOR NO KEY UPDATE`, orderID, by.OutletID, by.OutletID); err != nil {
			return err
		}
		changed, err := do(tx)
		if err != nil {
			return err
		}
		if changed == 0 {
			return fmt.Errorf("review of order %d: %w", orderID, ErrBadMove)
		}
		if err := tx.Audit(ctx, StaffActor(by.ID), deed, &orderID, detail); err != nil {
			return err
		}
		return tx.Notify(ctx, OrderTopic(orderID))
	})
}

// SetAsksReviews says whether an outlet asks its customers for reviews by letter. It is audited. Errors: ErrNotFound.
func (s *Store) SetAsksReviews(ctx context.Context, outletID int64, asks bool, staffID int64) error {
	return s.InTx(ctx, func(tx *Store) error {
		r := tx.exec(ctx, `UPDATE outlets SET asks_reviews = ? WHERE id = ? AND `+staffOfOutlet, asks, outletID, staffID, outletID)
		if r.Error != nil {
			return r.Error
		}
		if r.RowsAffected == 0 {
			return fmt.Errorf("outlet %d: %w", outletID, ErrNotFound)
		}
		return tx.recordDeed(ctx, staffID, "ask_reviews", fmt.Sprint(asks), outletID)
	})
}

// hasComplained is true in SQL when whoever placed order o has complained, about whatever order: by customer or by address.
const hasComplained = `EXISTS (SELECT 1 FROM complaints c JOIN orders p ON p.id = c.order_id WHERE p.customer_id = o.customer_id OR (p.email = o.email AND o.email <> ''))`

// wantsReview is true in SQL of a completed order o with ticket f about which a letter may ask.
const wantsReview = `o.status = 'paid' AND f.status = 'handed_over' AND o.email <> '' AND NOT EXISTS (SELECT 1 FROM reviews r WHERE r.order_id = o.id) AND NOT ` + hasComplained

// AskReviews writes the letters that ask how an order was: of outlets that set it, some hours after handing over, once per order, never to
// somebody who has complained and not about an order with a review. It says how many. Safe to repeat and to run twice at once.
func (s *Store) AskReviews(ctx context.Context) (asked int, err error) {
	var ids []int64
	if err = s.read(ctx, &ids, `SELECT o.id FROM fulfilments f JOIN orders o ON o.id = f.order_id JOIN outlets u ON u.id = o.outlet_id
		WHERE u.asks_reviews AND f.status = 'handed_over' AND f.handed_over_at BETWEEN shop_now() - make_interval(secs => ?) AND shop_now() - make_interval(secs => ?)
		  AND `+wantsReview+` AND NOT EXISTS (SELECT 1 FROM outbox l WHERE l.kind = 'review_wanted' AND l.ref = o.public_id) ORDER BY o.id LIMIT 500`,
		askReviewUntil.Seconds(), askReviewAfter.Seconds()); err != nil {
		return 0, err
	}
	for _, id := range ids {
		if err := s.InTx(ctx, func(tx *Store) error {
			o, err := tx.FindOrder(ctx, id)
			if err != nil {
				return err
			}
			return tx.EnsureLetter(ctx, LetterReviewWanted, o.PublicID, o)
		}); err != nil {
			return asked, err
		}
		asked++
	}
	return asked, nil
}

// SkipReviewLetter ends a letter that asks for a review and must not any more, because there is one or a complaint since. It reports whether
// it did.
func (s *Store) SkipReviewLetter(ctx context.Context, letterID int64) (skipped bool, err error) {
	r := s.exec(ctx, `UPDATE outbox l SET status = 'skipped' WHERE l.id = ? AND l.status = 'queued' AND NOT EXISTS (SELECT 1 FROM orders o JOIN fulfilments f ON f.order_id = o.id WHERE o.id = l.order_id AND `+wantsReview+`)`, letterID)
	return r.RowsAffected > 0, r.Error
}
