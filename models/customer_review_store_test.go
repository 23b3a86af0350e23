package models

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// F30: reviews only of completed orders, one per order, changed by their writers for a week, hidden and answered by staff.
func TestReview(t *testing.T) {
	t.Parallel()
	s, ctx := openStore(t), t.Context()
	o, _ := mustKept(t, s)
	asha := mustStaff(t, s, o.OutletID, "asha")
	if _, err := s.WriteReview(ctx, o, 5, "Too early"); !errors.Is(err, ErrBadMove) {
		t.Errorf("before it is handed over: %v", err)
	}
	mustHandOver(t, s, o.ID)
	for _, bad := range []struct {
		stars int
		body  string
	}{{0, ""}, {6, ""}, {3, strings.Repeat("ü", MaxReviewText+1)}} {
		if _, err := s.WriteReview(ctx, o, bad.stars, bad.body); !errors.Is(err, ErrBadInput) {
			t.Errorf("%d stars: %v", bad.stars, err)
		}
	}
	var presses []func() error
	for range 6 {
		presses = append(presses, func() error {
			_, err := s.WriteReview(ctx, o, 4, " Good\r\nfood ")
			return err
		})
	}
	if err := errors.Join(atOnce(presses...)...); err != nil {
		t.Fatal(err)
	}
	if got := mustRead[string](t, s, `SELECT count(*) || ' ' || min(stars) || ' ' || min(body) || ' ' || (min(edited_at) IS NULL) FROM reviews`); got != "1 4 Good\nfood true" {
		t.Errorf("six presses: %q", got)
	}
	setClock(t, s, ReviewEditDays*24*time.Hour-time.Hour)
	r, err := s.WriteReview(ctx, o, 2, "It was cold")
	if err != nil || r.Stars != 2 || r.EditedAt == nil {
		t.Errorf("%+v, %v", r, err)
	}
	setClock(t, s, ReviewEditDays*24*time.Hour+time.Hour)
	if _, err := s.WriteReview(ctx, o, 1, "Worse"); !errors.Is(err, ErrReviewClosed) {
		t.Errorf("after a week: %v", err)
	}
	if r, err = s.WriteReview(ctx, o, 2, "It was cold"); err != nil || r.Stars != 2 {
		t.Errorf("the same once more: %+v, %v", r, err)
	}

	// Staff.
	if err := s.ReplyToReview(ctx, o.ID, asha, "Sorry", r.WrittenAt); !errors.Is(err, ErrBadMove) {
		t.Errorf("a reply to what it was before: %v", err)
	}
	if err := s.ReplyToReview(ctx, o.ID, asha, "Sorry", *r.EditedAt); err != nil {
		t.Fatal(err)
	}
	if err := s.HideReview(ctx, o.ID, asha, " "); !errors.Is(err, ErrBadInput) {
		t.Errorf("hidden without a reason: %v", err)
	}
	if list, err := s.ListPublicReviews(ctx, o.OutletID, 10); err != nil || len(list) != 1 || list[0].Reply != "Sorry" {
		t.Error(list, err)
	}
	for _, why := range []string{"Names a neighbour", "Another reason"} {
		if err := s.HideReview(ctx, o.ID, asha, why); err != nil {
			t.Fatal(err)
		}
	}
	if list, err := s.ListPublicReviews(ctx, o.OutletID, 10); err != nil || len(list) != 0 {
		t.Error(list, err)
	}
	if r, err := s.FindReview(ctx, o.ID); err != nil || r.Body != "It was cold" || r.HiddenWhy != "Names a neighbour" || *r.HiddenBy != asha.ID {
		t.Errorf("a hidden review is stored: %+v, %v", r, err)
	}
	if list, err := s.ListReviewsFor(ctx, o.OutletID, 10); err != nil || len(list) != 1 || list[0].OrderNumber != o.Number || list[0].Stars != 2 {
		t.Error(list, err)
	}
	other := mustStaff(t, s, mustOutlet(t, s, "there"), "otto")
	if err := s.ShowReview(ctx, o.ID, other); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	if err := s.ShowReview(ctx, o.ID, asha); err != nil {
		t.Fatal(err)
	}
	if err := s.ReplyToReview(ctx, o.ID, asha, "", *r.EditedAt); err != nil {
		t.Fatal(err)
	}
	if r, err := s.FindReview(ctx, o.ID); err != nil || r.HiddenAt != nil || r.HiddenBy != nil || r.RepliedAt != nil {
		t.Errorf("%+v, %v", r, err)
	}
}

// There is an average from MinReviews on, hidden ones included.
func TestRating(t *testing.T) {
	t.Parallel()
	s, ctx := openStore(t), t.Context()
	o, _ := mustKept(t, s)
	mustHandOver(t, s, o.ID)
	mustExec(t, s, `ALTER TABLE reviews DROP CONSTRAINT reviews_order_id_fkey; ALTER TABLE reviews DISABLE TRIGGER reviews_guard`) // stars of orders that there are not
	for n, want := range []Rating{{}, {}, {}, {}, {5, 46}, {6, 40}} {
		stars := []int{5, 5, 4, 4, 5, 1}[n]
		mustExec(t, s, `INSERT INTO reviews (order_id, outlet_id, stars, hidden_at, hidden_by, hidden_why) SELECT ?, ?, ?, CASE WHEN hide THEN shop_now() END, CASE WHEN hide THEN (SELECT id FROM staff) END, CASE WHEN hide THEN 'rude' ELSE '' END FROM (SELECT ?::int = 1) h (hide)`,
			1000+n, o.OutletID, stars, stars)
		got, err := s.FindRating(ctx, o.OutletID)
		if err != nil || got != want || got.IsKnown() != (n >= MinReviews-1) {
			t.Errorf("after %d: %+v, %v; want %+v", n+1, got, err, want)
		}
	}
}

// A letter asks once, some hours after handing over, where the outlet wants it, and nobody who has complained.
func TestAskReviews(t *testing.T) {
	t.Parallel()
	s, ctx := openStore(t), t.Context()
	o, _ := mustKept(t, s)
	asha := mustStaff(t, s, o.OutletID, "asha")
	ask := func(what string, want int) {
		t.Helper()
		press := func() error { _, err := s.AskReviews(ctx); return err }
		errs := atOnce(press, press)
		if err := errors.Join(errs...); err != nil {
			t.Fatal(what, err)
		}
		if got := mustRead[int](t, s, `SELECT count(*) FROM outbox WHERE kind = 'review_wanted'`); got != want {
			t.Errorf("%s: %d letters, want %d", what, got, want)
		}
	}
	if err := s.SetAsksReviews(ctx, o.OutletID, true, asha.ID); err != nil {
		t.Fatal(err)
	}
	ask("not handed over", 0)
	mustHandOver(t, s, o.ID)
	ask("just handed over", 0)
	setClock(t, s, askReviewUntil+time.Hour)
	ask("long ago", 0)
	setClock(t, s, askReviewAfter+time.Minute)
	must(t, s.SetAsksReviews(ctx, o.OutletID, false, asha.ID))
	ask("not wanted", 0)
	must(t, s.SetAsksReviews(ctx, o.OutletID, true, asha.ID))
	ask("wanted", 1)
	ask("wanted, again", 1)
	id := mustRead[int64](t, s, `SELECT id FROM outbox WHERE kind = 'review_wanted'`)
	if skipped, err := s.SkipReviewLetter(ctx, id); err != nil || skipped {
		t.Errorf("skipped for nothing: %v", err)
	}
	mustComplain(t, s, o, ComplaintLate, "Cold")
	if skipped, err := s.SkipReviewLetter(ctx, id); err != nil || !skipped {
		t.Errorf("sent to somebody who complained while it waited: %v", err)
	}
	mustExec(t, s, `DELETE FROM outbox WHERE kind = 'review_wanted'`)
	ask("after a complaint", 0)
}
