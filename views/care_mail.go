package views

import (
	"context"
	"fmt"
	"strings"

	"tiffin/models"
)

// CareMailView is what a letter about a complaint, or one that asks for a review, needs beside its order.
type CareMailView struct {
	Mail      MailView
	Complaint models.Complaint
	Said      string // what staff said; empty: nothing
	Payments  []models.Payment
	Refunds   []models.Refund
}

// ComplaintReceivedMail confirms a complaint: its number, and by when it is answered and settled.
func ComplaintReceivedMail(ctx context.Context, v CareMailView) (Letter, error) {
	said := []string{
		T(ctx, "We have your complaint about order %s. Its number is %s.", fmt.Sprint(v.Mail.Order.Number), v.Complaint.SpokenNumber()),
		T(ctx, "We answer by %s and settle it by %s.", dayAndTime(ctx, v.Complaint.AcknowledgeBy), Date(ctx, v.Complaint.ResolveBy)),
	}
	if v.Complaint.Kind == models.ComplaintPayment {
		said = append(said, moneyFacts(ctx, v.Payments, v.Refunds)...)
	}
	return v.complaintLetter(ctx, T(ctx, "Complaint %s received", v.Complaint.SpokenNumber()), said)
}

// ComplaintAnsweredMail carries an answer.
func ComplaintAnsweredMail(ctx context.Context, v CareMailView) (Letter, error) {
	return v.complaintLetter(ctx, T(ctx, "An answer to complaint %s", v.Complaint.SpokenNumber()),
		append([]string{T(ctx, "This is our answer to your complaint %s:", v.Complaint.SpokenNumber())}, paragraphs(v.Said)...))
}

// ComplaintResolvedMail says that a complaint is settled, and what to do if it is not.
func ComplaintResolvedMail(ctx context.Context, v CareMailView) (Letter, error) {
	said := append([]string{T(ctx, "Your complaint %s is settled:", v.Complaint.SpokenNumber())}, paragraphs(v.Said)...)
	if v.Complaint.Kind == models.ComplaintPayment || v.Complaint.Outcome == models.OutcomeRefunded {
		said = append(said, moneyFacts(ctx, v.Payments, v.Refunds)...)
	}
	return v.complaintLetter(ctx, T(ctx, "Complaint %s is settled", v.Complaint.SpokenNumber()), append(said, T(ctx, "If it is not, write to us on its page: the complaint is then open once more.")))
}

func (v CareMailView) complaintLetter(ctx context.Context, subject string, said []string) (Letter, error) {
	if officer := grievanceOfficer(ctx, v.Mail.Outlet); officer != "" {
		said = append(said, officer)
	}
	return careLetter(ctx, subject, v.Mail, said, T(ctx, "See the complaint"), v.Mail.OrderURL+"/complaints/"+v.Complaint.Number)
}

// ReviewMail asks, once, how a completed order was.
func ReviewMail(ctx context.Context, v MailView) (Letter, error) {
	return careLetter(ctx, T(ctx, "How was order %s?", fmt.Sprint(v.Order.Number)), v, []string{
		T(ctx, "We hope you liked your order. If you have a minute, tell others how it was: one to five stars, and words if you like."),
		T(ctx, "This is the only time we ask about this order."),
	}, T(ctx, "Review the order"), v.OrderURL+"/review")
}

func paragraphs(text string) (lines []string) {
	for _, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// careLetter writes both forms, with one link. Subjects carry no name of a person and no line break.
func careLetter(ctx context.Context, subject string, v MailView, said []string, link, address string) (Letter, error) {
	subject = oneLine(subject + " · " + v.Outlet.Name)
	var html strings.Builder
	if err := careMailHTML(subject, v, said, link, address).Render(ctx, &html); err != nil {
		return Letter{}, fmt.Errorf("views: letter about order %d: %w", v.Order.Number, err)
	}
	text := strings.Join(said, "\n\n") + "\n\n" + link + ": " + address + "\n\n" + mailFoot(ctx, v.Outlet)
	return Letter{Subject: subject, Text: text, HTML: html.String()}, nil
}
