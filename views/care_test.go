package views

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"

	"tiffin/models"
)

func sampleComplaint(status string) models.Complaint {
	c := models.Complaint{ID: 5, OrderID: 12, OutletID: 1, Number: "4821937", Kind: models.ComplaintPayment, Status: status, OpenedAt: *at(-90), BeganAt: *at(-90), AcknowledgeBy: *at(48*60 - 90), ResolveBy: *at(31*24*60 - 90), Lines: []int{1},
		Messages: []models.ComplaintMessage{{ID: 1, ComplaintID: 5, Author: models.ActorCustomer, Body: "Charged twice.\nPlease look.", WrittenAt: *at(-90)},
			{ID: 2, ComplaintID: 5, Author: "staff:1", Body: "We look into it.", WrittenAt: *at(-30)}, {ID: 3, ComplaintID: 5, Author: models.ActorCustomer, BlankedAt: at(-1), WrittenAt: *at(-20)}}}
	switch status {
	case models.ComplaintOpen:
		c.DueAt = &c.AcknowledgeBy
	case models.ComplaintAcknowledged:
		c.AcknowledgedAt, c.DueAt = at(-30), &c.ResolveBy
	case models.ComplaintResolved:
		c.AcknowledgedAt, c.ResolvedAt, c.Outcome = at(-30), at(-10), models.OutcomeRefunded
	}
	return c
}

func sampleReview() models.Review {
	return models.Review{OrderID: 12, OutletID: 1, Stars: 4, Body: "Good dal, cold naan", WrittenAt: *at(-60), EditedAt: at(-50), Reply: "Sorry about the naan.", RepliedBy: ptr(int64(1)), RepliedAt: at(-40)}
}

func sampleComplaintView(status string) ComplaintView {
	o := sampleOrderView(givenBack("processed"))
	o.Refunds[0].RazorpayRefundID, o.Refunds[0].BankReference = ptr("rfnd_TstAbCdEf00001"), "533210987654"
	return ComplaintView{Page: samplePage(""), Order: o.Order, Complaint: sampleComplaint(status), Payments: o.Payments, Refunds: o.Refunds, FormKey: "KEYKEYKEYKEYKEYKEY"}
}

func sampleDeskView(status string) StaffTicketView {
	v := sampleComplaintView(status)
	return StaffTicketView{Page: v.Page, Staff: models.Staff{ID: 1, Name: "Meera", Role: "manager"}, Order: v.Order, Complaint: v.Complaint, Payments: v.Payments, Refunds: v.Refunds,
		Who: map[string]string{models.ActorCustomer: "Ananya Rao", "staff:1": "Meera"}, AnswerKey: "KEYKEYKEYKEYKEYKE1", EndKey: "KEYKEYKEYKEYKEYKE2"}
}

// sampleCarePages is every page of complaints and reviews, in the states that look different.
func sampleCarePages() map[string]templ.Component {
	order := sampleOrderView(paidAnd(models.TicketHandedOver))
	form := NewComplaintView{Page: samplePage(""), Order: order.Order, Kinds: models.ComplaintKindsOf(true), FormKey: "KEYKEYKEYKEYKEYKEY"}
	refused := form
	refused.Typed, refused.Complaints = ComplaintFields{Lines: []int{2}}, []models.Complaint{sampleComplaint(models.ComplaintAcknowledged)}
	refused.Errors = map[string]string{"kind": "Please choose what it is about.", "body": "Please tell us in a few words."}
	late := sampleDeskView(models.ComplaintOpen)
	late.Page.Now = late.Complaint.AcknowledgeBy.Add(time.Hour)
	lateForCustomer := sampleComplaintView(models.ComplaintAcknowledged)
	lateForCustomer.Page.Now = lateForCustomer.Complaint.ResolveBy.Add(time.Hour)
	cared := order
	review := sampleReview()
	cared.Review, cared.Complaints = &review, []models.Complaint{sampleComplaint(models.ComplaintOpen)}
	rated := sampleMenuView()
	rated.Rating = models.Rating{Count: 23, Tenths: 46}
	hidden := models.StaffReview{Review: sampleReview(), OrderNumber: 1048}
	hidden.OrderID, hidden.HiddenAt, hidden.HiddenBy, hidden.HiddenWhy = 13, at(-5), ptr(int64(1)), "Names a neighbour"
	reviews := StaffReviewsView{Page: samplePage(""), Staff: models.Staff{ID: 1, Name: "Meera", Role: "manager"}, Outlet: sampleOutlet(), Rating: rated.Rating,
		Reviews: []models.StaffReview{{Review: sampleReview(), OrderNumber: 1047}, hidden}, Wrong: 12, Reply: "Sorry", Error: "Please keep it under 1000 characters."}
	older := sampleComplaint(models.ComplaintResolved)
	older.ID = 4
	return map[string]templ.Component{
		"complaint_new":         NewComplaintPage(form),
		"complaint_new_refused": NewComplaintPage(refused),
		"complaint":             ComplaintPage(sampleComplaintView(models.ComplaintOpen)),
		"complaint_late":        ComplaintPage(lateForCustomer),
		"complaint_resolved":    ComplaintPage(sampleComplaintView(models.ComplaintResolved)),
		"order_cared_for":       OrderPage(cared),
		"menu_rated":            MenuPage(rated),
		"review":                ReviewPage(ReviewView{Page: samplePage(""), Order: order.Order, Stars: 4, Body: "Good dal"}),
		"review_refused":        ReviewPage(ReviewView{Page: samplePage(""), Order: order.Order, Errors: map[string]string{"stars": "Please choose one to five stars."}}),
		"reviews":               ReviewsPage(ReviewsView{Page: samplePage(""), Rating: rated.Rating, Reviews: []models.Review{sampleReview()}}),
		"reviews_none":          ReviewsPage(ReviewsView{Page: samplePage("")}),
		"staff_ticket":          StaffTicketPage(sampleDeskView(models.ComplaintOpen)),
		"staff_ticket_late":     StaffTicketPage(late),
		"staff_ticket_resolved": StaffTicketPage(sampleDeskView(models.ComplaintResolved)),
		"staff_tickets":         StaffTicketsPage(StaffTicketsView{Page: samplePage(""), Complaints: []models.Complaint{sampleComplaint(models.ComplaintOpen), older}}),
		"staff_tickets_none":    StaffTicketsPage(StaffTicketsView{Page: samplePage("")}),
		"staff_reviews":         StaffReviewsPage(reviews),
		"staff_reviews_none":    StaffReviewsPage(StaffReviewsView{Page: samplePage(""), Staff: models.Staff{Role: "kitchen"}, Outlet: sampleOutlet()}),
	}
}

// careData is what customers and staff typed into the sample complaints and reviews, and sentences that handlers wrote.
var careData = []string{"Charged twice.\nPlease look.", "We look into it.", "Good dal, cold naan", "Good dal", "Sorry about the naan.", "Please choose what it is about.", "Please tell us in a few words.",
	"Please choose one to five stars.", "rfnd_TstAbCdEf00001", "https://1/complaints/4821937", "https://1/review"}

// sampleCareMail writes a letter about the sample complaint.
func sampleCareMail(write func(context.Context, CareMailView) (Letter, error)) func(context.Context, MailView) (Letter, error) {
	return func(ctx context.Context, v MailView) (Letter, error) {
		o := sampleOrderView(givenBack("processed"))
		return write(ctx, CareMailView{Mail: v, Complaint: sampleComplaint(models.ComplaintResolved), Said: "We look into it.", Payments: o.Payments, Refunds: o.Refunds})
	}
}

// hostileCare is every page that shows what somebody typed into a complaint or a review.
func hostileCare(o models.Order, bad string) map[string]templ.Component {
	mine, desk := sampleComplaintView(models.ComplaintOpen), sampleDeskView(models.ComplaintOpen)
	mine.Order, mine.Typed, mine.Complaint.Messages[0].Body = o, bad, bad
	desk.Order, desk.Typed, desk.Complaint.Messages[0].Body, desk.Errors = o, TicketFields{Answer: bad, Outcome: bad, Body: bad}, bad, map[string]string{"answer": bad}
	r := sampleReview()
	r.Body, r.Reply = bad, bad
	hidden := models.StaffReview{Review: r, OrderNumber: 1047}
	hidden.HiddenAt, hidden.HiddenWhy = at(-1), bad
	return map[string]templ.Component{
		"complaint": ComplaintPage(mine), "staff ticket": StaffTicketPage(desk),
		"new complaint": NewComplaintPage(NewComplaintView{Page: samplePage(bad), Order: o, Kinds: models.ComplaintKindsOf(true), Typed: ComplaintFields{Kind: bad, Body: bad}, Notice: bad, FormKey: bad}),
		"review":        ReviewPage(ReviewView{Page: samplePage(bad), Order: o, Body: bad}), "reviews": ReviewsPage(ReviewsView{Page: samplePage(bad), Reviews: []models.Review{r}}),
		"staff reviews": StaffReviewsPage(StaffReviewsView{Page: samplePage(bad), Reviews: []models.StaffReview{hidden}, Staff: models.Staff{Role: "owner"}, Wrong: 12, Reply: bad, Why: bad, Error: bad}),
	}
}

// A complaint's page tells its clocks, and says when one has run out.
func TestComplaintSaysItsClocks(t *testing.T) {
	now := *at(0)
	for _, c := range []struct {
		status, want string
		later        time.Duration
	}{
		{models.ComplaintOpen, "We answer by 2 Dec 2026, ", 0},
		{models.ComplaintOpen, "We should have answered by 2 Dec 2026, ", 48 * time.Hour},
		{models.ComplaintAcknowledged, "Somebody has read it. We settle it by 31 Dec 2026.", 48 * time.Hour},
		{models.ComplaintAcknowledged, "We should have settled it by 31 Dec 2026, sorry.", 32 * 24 * time.Hour},
		{models.ComplaintResolved, "Settled on 30 Nov 2026: Money given back.", 99 * 24 * time.Hour},
	} {
		if got := complaintNext(t.Context(), sampleComplaint(c.status), now.Add(c.later)); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s after %v: %s", c.status, c.later, got)
		}
	}
}

// An average is never invented: without enough reviews neither the menu nor a search engine hears of one.
func TestNoRatingIsInvented(t *testing.T) {
	v := sampleMenuView()
	for _, count := range []int{0, 1, models.MinReviews - 1} {
		v.Rating = models.Rating{Count: count, Tenths: 50}
		if page := render(t, MenuPage(v)); strings.Contains(page, "aggregateRating") || strings.Contains(page, `data-testid="rating"`) {
			t.Errorf("%d reviews make an average", count)
		}
	}
	v.Rating = models.Rating{Count: models.MinReviews, Tenths: 43}
	if page := render(t, MenuPage(v)); !strings.Contains(page, `"ratingValue":4.3`) || !strings.Contains(page, "4.3 of 5 from 5 reviews") {
		t.Error("a real one is not shown")
	}
}

// Letters of complaints carry what staff said as paragraphs, the money where it is about money, and one link; in Hindi too.
func TestCareMails(t *testing.T) {
	o := sampleOrderView(givenBack("processed"))
	o.Refunds[0].BankReference = "533210987654"
	v := CareMailView{Mail: MailView{Outlet: sampleOutlet(), Order: o.Order, OrderURL: "https://shop.example/orders/tok"}, Complaint: sampleComplaint(models.ComplaintResolved), Said: "Done <b>now</b>.\n\nSorry.", Payments: o.Payments, Refunds: o.Refunds}
	letter, err := ComplaintResolvedMail(t.Context(), v)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Done <b>now</b>.\n\nSorry.\n\n", "533210987654", "https://shop.example/orders/tok/complaints/4821937"} {
		if !strings.Contains(letter.Text, want) {
			t.Errorf("the text lacks %q:\n%s", want, letter.Text)
		}
	}
	if !strings.Contains(letter.HTML, "Done &lt;b&gt;now") || strings.ContainsAny(letter.Subject, "\r\n") {
		t.Error(letter.HTML)
	}
	hindi, err := ComplaintReceivedMail(WithLanguage(t.Context(), "hi"), v)
	if err != nil || !strings.Contains(hindi.Text, "शिकायत") || !strings.Contains(hindi.HTML, `lang="hi"`) {
		t.Error(hindi, err)
	}
}
