package views

import (
	"context"
	"strconv"

	"tiffin/models"
)

// ReviewView is the form of an order's review.
type ReviewView struct {
	Page   Page
	Order  models.Order
	Review *models.Review // what there is; nil: none yet
	Stars  int            // as chosen; 0: not yet
	Body   string         // as typed
	Errors map[string]string
	Notice string
}

// ReviewsView is what an outlet's customers say, for everybody.
type ReviewsView struct {
	Page    Page
	Rating  models.Rating
	Reviews []models.Review
}

// StaffReviewsView is what an outlet's customers say, for its staff.
type StaffReviewsView struct {
	Page    Page
	Staff   models.Staff
	Outlet  models.Outlet
	Rating  models.Rating
	Reviews []models.StaffReview
	Notice  string
	Wrong   int64  // the order whose reply or reason was refused
	Reply   string // as typed
	Why     string
	Error   string
}

func reviewURL(o models.Order) string { return "/orders/" + o.Token + "/review" }

// starsLabel says stars to whoever cannot see them.
func starsLabel(ctx context.Context, n int) string {
	return T(ctx, "%s of 5 stars", strconv.Itoa(n))
}

// starsWord is what a number of stars means.
func starsWord(ctx context.Context, n int) string {
	switch n {
	case 5:
		return T(ctx, "Very good")
	case 4:
		return T(ctx, "Good")
	case 3:
		return T(ctx, "All right")
	case 2:
		return T(ctx, "Not good")
	default:
		return T(ctx, "Bad")
	}
}

// tenths writes an average: 4.6.
func tenths(r models.Rating) string {
	return strconv.Itoa(r.Tenths/10) + "." + strconv.Itoa(r.Tenths%10)
}

// ratingText is an outlet's average in words. It is asked for only where it is known.
func ratingText(ctx context.Context, r models.Rating) string {
	return T(ctx, "%s of 5 from %s reviews", tenths(r), strconv.Itoa(r.Count))
}

func reviewsURL(o models.Outlet) string { return "/reviews?outlet=" + o.Slug }

func (v ReviewView) tab(ctx context.Context) Page {
	p := v.Page
	p.Title = T(ctx, "Review of order %s", strconv.Itoa(v.Order.Number))
	return p
}

func (v ReviewsView) tab(ctx context.Context) Page {
	p := v.Page
	p.Title = T(ctx, "Reviews")
	return p
}

// reviewSeen is the instant a reply answers: what the review said then.
func reviewSeen(r models.Review) string {
	at := r.WrittenAt
	if r.EditedAt != nil {
		at = *r.EditedAt
	}
	return strconv.FormatInt(at.UnixMicro(), 10)
}
