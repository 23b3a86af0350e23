package models

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// mustComplain opens a complaint.
func mustComplain(t testing.TB, s *Store, o Order, kind, body string) Complaint {
	t.Helper()
	c, fresh, err := s.OpenComplaint(t.Context(), o, NewComplaint{Kind: kind, Body: body, FormKey: NewFormKey()})
	if err != nil || !fresh {
		t.Fatal(fresh, err)
	}
	return c
}

// atOnce does them all at the same time.
func atOnce(does ...func() error) []error {
	return together(len(does), func(i int) error { return does[i]() })
}

func letters(t testing.TB, s *Store) string {
	t.Helper()
	return mustRead[string](t, s, `SELECT COALESCE(string_agg(kind || ' ' || status, ', ' ORDER BY id), '') FROM outbox WHERE kind LIKE 'complaint%' OR kind = 'review_wanted'`)
}

func openTasks(t testing.TB, s *Store) string {
	t.Helper()
	return mustRead[string](t, s, `SELECT COALESCE(string_agg(kind, ', ' ORDER BY kind), '') FROM staff_tasks WHERE closed_at IS NULL AND kind LIKE 'complaint%'`)
}

// A complaint has a number, two clocks that the database winds, a place on the attention list and one letter; it moves open, acknowledged,
// resolved, and is open again when its customer writes.
func TestComplaint(t *testing.T) {
	t.Parallel()
	s, ctx := openStore(t), t.Context()
	o, _ := mustKept(t, s)
	noon := time.Date(2026, 12, 15, 6, 30, 0, 0, time.UTC) // in India
	stopClock(t, s, noon)
	asha := mustStaff(t, s, o.OutletID, "asha")

	in := NewComplaint{Kind: ComplaintMissing, Body: "  No raita.\r\nSad.  ", Lines: []int{1}, FormKey: NewFormKey()}
	c, fresh, err := s.OpenComplaint(ctx, o, in)
	if err != nil || !fresh {
		t.Fatal(fresh, err)
	}
	if len(c.Number) != 7 || c.Status != ComplaintOpen || len(c.Messages) != 1 || c.Messages[0].Body != "No raita.\nSad." || len(c.Lines) != 1 {
		t.Errorf("%+v", c)
	}
	if !c.AcknowledgeBy.Equal(noon.Add(48*time.Hour)) || !c.ResolveBy.Equal(noon.AddDate(0, 1, 0)) || !c.DueAt.Equal(c.AcknowledgeBy) {
		t.Errorf("clocks: %v, %v, %v", c.AcknowledgeBy, c.ResolveBy, c.DueAt)
	}
	if got := letters(t, s); got != "complaint_received queued" {
		t.Error(got)
	}
	tasks, err := s.ListTasks(ctx, asha, 10)
	if err != nil || len(tasks) != 1 || tasks[0].Kind != TaskComplaint || !tasks[0].DueAt.Equal(c.AcknowledgeBy) {
		t.Fatalf("%+v, %v", tasks, err)
	}

	// The same form, and another of the same kind, find the first.
	for _, again := range []NewComplaint{in, {Kind: ComplaintMissing, Body: "Another", FormKey: NewFormKey()}} {
		if got, fresh, err := s.OpenComplaint(ctx, o, again); err != nil || fresh || got.ID != c.ID || len(got.Messages) != 1 {
			t.Errorf("%+v, %v, %v", got, fresh, err)
		}
	}

	// Not acknowledged in 48 hours, it is an alarm; acknowledged, the alarm is over and the month is what counts.
	refresh := func(at time.Time, want string) {
		t.Helper()
		stopClock(t, s, at)
		if _, err := s.RefreshTasks(ctx); err != nil {
			t.Fatal(err)
		}
		if got := openTasks(t, s); got != want {
			t.Errorf("at %v: %s, want %s", at, got, want)
		}
	}
	refresh(noon.Add(48*time.Hour), "complaint")
	refresh(noon.Add(48*time.Hour+time.Second), "complaint, complaint_late")
	for range 2 {
		if err := s.AcknowledgeComplaint(ctx, c.ID, asha); err != nil {
			t.Fatal(err)
		}
	}
	refresh(noon.Add(49*time.Hour), "complaint")
	refresh(noon.AddDate(0, 1, 0).Add(time.Second), "complaint, complaint_late")
	if got := mustRead[string](t, s, `SELECT string_agg(detail, ', ' ORDER BY id) FROM staff_tasks WHERE kind = 'complaint_late'`); !strings.Contains(got, "not acknowledged within 48 hours, Complaint "+c.SpokenNumber()+" was not resolved within a month") {
		t.Error(got)
	}

	// An answer, twice by the same form; then the end, which needs a refund to be called one.
	key := NewFormKey()
	for range 2 {
		if err := s.AnswerComplaint(ctx, c.ID, asha, "So sorry.", key); err != nil {
			t.Fatal(err)
		}
	}
	c, err = s.FindComplaint(ctx, o.ID, c.Number)
	if err != nil || len(c.Messages) != 2 {
		t.Fatalf("%+v, %v", c, err)
	}
	if err := s.ResolveComplaint(ctx, c.ID, asha, OutcomeRefunded, "Money back.", NewFormKey(), c.LastID()); !errors.Is(err, ErrNoRefund) {
		t.Errorf("money that did not go back: %v", err)
	}
	if err := s.ResolveComplaint(ctx, c.ID, asha, OutcomeMadeGood, "Raita is on its way.", NewFormKey(), c.Messages[0].ID); !errors.Is(err, ErrBadMove) {
		t.Errorf("without having read the last message: %v", err)
	}
	key = NewFormKey()
	for range 2 {
		if err := s.ResolveComplaint(ctx, c.ID, asha, OutcomeMadeGood, "Raita is on its way.", key, c.LastID()); err != nil {
			t.Fatal(err)
		}
	}
	refresh(noon.AddDate(0, 1, 1), "")
	if got := letters(t, s); got != "complaint_received queued, complaint_answered queued, complaint_resolved queued" {
		t.Error(got)
	}
	for what, err := range map[string]error{
		"acknowledged": s.AcknowledgeComplaint(ctx, c.ID, asha),
		"answered":     s.AnswerComplaint(ctx, c.ID, asha, "One more thing", NewFormKey()),
		"resolved":     s.ResolveComplaint(ctx, c.ID, asha, OutcomeExplained, "Again", NewFormKey(), 1<<40),
	} {
		if !errors.Is(err, ErrBadMove) {
			t.Errorf("a resolved complaint is %s: %v", what, err)
		}
	}

	// The customer writes: open again, clocks anew, under the same number.
	again := noon.AddDate(0, 2, 0)
	stopClock(t, s, again)
	key = NewFormKey()
	for range 2 {
		if c, err = s.WriteToComplaint(ctx, o, c.Number, "It never came.", key); err != nil {
			t.Fatal(err)
		}
	}
	if c.Status != ComplaintOpen || c.Outcome != "" || !c.DueAt.Equal(again.Add(48*time.Hour)) || len(c.Messages) != 4 {
		t.Errorf("%+v", c)
	}
	refresh(again, "complaint")

	// While one of a kind is open, an older one of it stays closed.
	if err := s.ResolveComplaint(ctx, c.ID, asha, OutcomeDeclined, "No.", NewFormKey(), c.LastID()); err != nil {
		t.Fatal(err)
	}
	newer := mustComplain(t, s, o, ComplaintMissing, "Still nothing")
	if _, err := s.WriteToComplaint(ctx, o, c.Number, "Hello?", NewFormKey()); !errors.Is(err, ErrBadMove) {
		t.Errorf("%v", err)
	}
	if newer.ID == c.ID {
		t.Error("a resolved complaint was found for a new one")
	}

	// Another outlet's staff know of none of it.
	other := mustStaff(t, s, mustOutlet(t, s, "there"), "otto")
	if _, err := s.FindComplaintOf(ctx, c.ID, other); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	if err := s.AnswerComplaint(ctx, newer.ID, other, "Hello", NewFormKey()); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	if list, err := s.ListComplaintsFor(ctx, other, 10); err != nil || len(list) != 0 {
		t.Error(list, err)
	}
	if list, err := s.ListComplaintsFor(ctx, asha, 10); err != nil || len(list) != 2 || list[0].ID != newer.ID {
		t.Error(list, err)
	}
}

// However many presses come at once there is one complaint, one letter and one task.
func TestComplaintsAtOnce(t *testing.T) {
	t.Parallel()
	s, ctx := openStore(t), t.Context()
	o, _ := mustKept(t, s)
	asha := mustStaff(t, s, o.OutletID, "asha")
	var presses []func() error
	key := NewFormKey()
	for n := range 8 {
		presses = append(presses, func() error {
			form := key
			if n%2 == 1 {
				form = NewFormKey() // a second tab
			}
			_, _, err := s.OpenComplaint(ctx, o, NewComplaint{Kind: ComplaintLate, Body: "Cold", FormKey: form})
			return err
		})
	}
	if err := errors.Join(atOnce(presses...)...); err != nil {
		t.Fatal(err)
	}
	if got := mustRead[string](t, s, `SELECT (SELECT count(*) FROM complaints) || ' ' || (SELECT count(*) FROM complaint_messages) || ' ' || (SELECT count(*) FROM staff_tasks)`); got != "1 1 1" {
		t.Error(got)
	}
	if got := letters(t, s); got != "complaint_received queued" {
		t.Error(got)
	}

	// Answering races with resolving, and both with the customer. Whoever resolves has read everything, and after the end nobody answers.
	for n := range 6 {
		stopClock(t, s, time.Date(2026, 12, 15+n, 6, 30, 0, 0, time.UTC))
		c := mustRead[Complaint](t, s, `SELECT * FROM complaints`)
		if err := s.fillComplaint(ctx, &c); err != nil {
			t.Fatal(err)
		}
		errs := atOnce(
			func() error { return s.AnswerComplaint(ctx, c.ID, asha, "We look into it.", NewFormKey()) },
			func() error {
				return s.ResolveComplaint(ctx, c.ID, asha, OutcomeExplained, "Traffic.", NewFormKey(), c.LastID())
			},
		)
		answered, resolved := errs[0], errs[1]
		if (answered == nil) == (resolved == nil) || (answered != nil && !errors.Is(answered, ErrBadMove)) || (resolved != nil && !errors.Is(resolved, ErrBadMove)) {
			t.Fatalf("round %d: answer %v, end %v", n, answered, resolved)
		}
		if _, err := s.WriteToComplaint(ctx, o, c.Number, fmt.Sprint("Hello? ", n), NewFormKey()); err != nil {
			t.Fatal(err)
		}
	}
	if got := mustRead[int](t, s, `SELECT count(*) FROM complaint_messages m WHERE author <> 'customer' AND NOT EXISTS (SELECT 1 FROM outbox l WHERE l.ref = m.id::text AND l.kind = CASE WHEN m.resolves THEN 'complaint_resolved' ELSE 'complaint_answered' END)`); got != 0 {
		t.Errorf("%d answers without a letter", got)
	}
	if got := mustRead[int](t, s, `SELECT count(*) FROM outbox WHERE kind IN ('complaint_answered', 'complaint_resolved')`); got != 6 {
		t.Errorf("%d letters of 6 rounds", got)
	}
}

// A stranger cannot fill the shop with words, nor have it write to somebody else's address.
func TestComplaintLimits(t *testing.T) {
	t.Parallel()
	s, ctx := openStore(t), t.Context()
	o := mustPending(t, s)
	for _, bad := range []NewComplaint{
		{Kind: ComplaintMissing, Body: "Never came", FormKey: NewFormKey()}, // nothing was cooked
		{Kind: "rude", Body: "x", FormKey: NewFormKey()},
		{Kind: ComplaintOther, Body: " \n ", FormKey: NewFormKey()},
		{Kind: ComplaintOther, Body: strings.Repeat("ü", MaxComplaintText+1), FormKey: NewFormKey()},
		{Kind: ComplaintOther, Body: "x", FormKey: "short"},
		{Kind: ComplaintOther, Body: "x", Lines: []int{7}, FormKey: NewFormKey()},
	} {
		if _, _, err := s.OpenComplaint(ctx, o, bad); !errors.Is(err, ErrBadInput) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	if n := mustRead[int](t, s, `SELECT count(*) FROM complaints`); n != 0 {
		t.Errorf("%d complaints of what was refused", n)
	}
	c := mustComplain(t, s, o, ComplaintPayment, strings.Repeat("ü", MaxComplaintText))
	if got := letters(t, s); got != "complaint_received skipped" {
		t.Errorf("an unpaid order's address: %s", got)
	}
	asha := mustStaff(t, s, o.OutletID, "asha")
	if err := s.AnswerComplaint(ctx, c.ID, asha, "We look.", NewFormKey()); err != nil {
		t.Fatal(err)
	}
	if got := letters(t, s); got != "complaint_received skipped, complaint_answered skipped" {
		t.Error(got)
	}
	for n := 1; n < maxMessagesADay; n++ {
		if _, err := s.WriteToComplaint(ctx, o, c.Number, "And", NewFormKey()); err != nil {
			t.Fatal(n, err)
		}
	}
	if _, err := s.WriteToComplaint(ctx, o, c.Number, "One more", NewFormKey()); !errors.Is(err, ErrEnough) {
		t.Error(err)
	}
	for n := 1; n < maxComplaints; n++ {
		c := mustRead[Complaint](t, s, `SELECT * FROM complaints WHERE status <> 'resolved' ORDER BY id LIMIT 1`)
		if err := s.ResolveComplaint(ctx, c.ID, asha, OutcomeExplained, "Done", NewFormKey(), 1<<40); err != nil {
			t.Fatal(err)
		}
		mustComplain(t, s, o, ComplaintOther, "Again")
	}
	if _, _, err := s.OpenComplaint(ctx, o, NewComplaint{Kind: ComplaintPayment, Body: "x", FormKey: NewFormKey()}); !errors.Is(err, ErrEnough) {
		t.Error(err)
	}
}

// The database refuses what no function of the store does: whoever writes with psql keeps the same promises.
func TestCareIsGuarded(t *testing.T) {
	t.Parallel()
	s, ctx := openStore(t), t.Context()
	o, _ := mustKept(t, s)
	asha := mustStaff(t, s, o.OutletID, "asha")
	c := mustComplain(t, s, o, ComplaintMissing, "No raita")
	for _, bad := range []struct{ what, text, name string }{
		{"a second open complaint of a kind", `INSERT INTO complaints (order_id, outlet_id, number, kind, form_key) SELECT order_id, outlet_id, '1234567', kind, repeat('x', 20) FROM complaints`, "complaints_open_key"},
		{"a second of one form", `INSERT INTO complaints (order_id, outlet_id, number, kind, form_key) SELECT order_id, outlet_id, '1234567', 'late', form_key FROM complaints`, "complaints_form_key"},
		{"one number twice", `INSERT INTO complaints (order_id, outlet_id, number, kind, form_key) SELECT order_id, outlet_id, number, 'late', repeat('x', 20) FROM complaints`, "complaints_number_key"},
		{"born resolved", `INSERT INTO complaints (order_id, outlet_id, number, kind, form_key, status, acknowledged_at, resolved_at, outcome) SELECT order_id, outlet_id, '1234567', 'late', repeat('x', 20), 'resolved', shop_now(), shop_now(), 'explained' FROM complaints`, "complaint_edge"},
		{"resolved without an outcome", `UPDATE complaints SET status = 'resolved', acknowledged_at = shop_now(), resolved_at = shop_now()`, "complaints_resolved_check"},
		{"acknowledged without a time", `UPDATE complaints SET status = 'acknowledged'`, "complaints_acknowledged_check"},
		{"the clock put back", `UPDATE complaints SET began_at = began_at + interval '1 day'`, "complaint_facts"},
		{"another number", `UPDATE complaints SET number = '1234567'`, "complaint_facts"},
		{"taken away", `DELETE FROM complaints`, "complaints_append_only"},
		{"a message changed", `UPDATE complaint_messages SET body = 'All was well'`, "complaint_message_facts"},
		{"a message taken away", `DELETE FROM complaint_messages`, "complaint_messages_append_only"},
		{"an empty message", `INSERT INTO complaint_messages (complaint_id, author, body, form_key) SELECT id, 'customer', '', repeat('x', 20) FROM complaints`, "complaint_messages_body_check"},
		{"a message of one form twice", `INSERT INTO complaint_messages (complaint_id, author, body, form_key) SELECT complaint_id, 'customer', 'x', form_key FROM complaint_messages`, "complaint_messages_form_key"},
		{"a review of what is not handed over", `INSERT INTO reviews (order_id, outlet_id, stars) SELECT order_id, outlet_id, 5 FROM complaints`, "reviews_completed_check"},
	} {
		if err := s.exec(ctx, bad.text).Error; !isConstraint(err, bad.name) {
			t.Errorf("%s: %v", bad.what, err)
		}
	}
	mustExec(t, s, `UPDATE complaints SET acknowledge_by = shop_now() + interval '9 years'`)
	if got := mustRead[bool](t, s, `SELECT acknowledge_by = began_at + interval '48 hours' FROM complaints`); !got {
		t.Error("a clock can be set by hand")
	}
	if err := s.ResolveComplaint(ctx, c.ID, asha, OutcomeExplained, "x", NewFormKey(), c.LastID()); err != nil {
		t.Fatal(err)
	}
	if err := s.exec(ctx, `UPDATE complaints SET status = 'acknowledged', resolved_at = NULL, outcome = ''`).Error; !isConstraint(err, "complaint_edge") {
		t.Errorf("resolved -> acknowledged: %v", err)
	}
	mustHandOver(t, s, o.ID)
	mustExec(t, s, `INSERT INTO reviews (order_id, outlet_id, stars, body) SELECT order_id, outlet_id, 5, 'Good' FROM complaints`)
	for _, bad := range []struct{ what, text, name string }{
		{"a second review of an order", `INSERT INTO reviews (order_id, outlet_id, stars) SELECT order_id, outlet_id, 1 FROM complaints`, "reviews_order_key"},
		{"six stars", `UPDATE reviews SET stars = 6`, "reviews_stars_check"},
		{"hidden without a reason", `UPDATE reviews SET hidden_at = shop_now()`, "reviews_hidden_check"},
		{"a reply of nobody", `UPDATE reviews SET reply = 'Thanks'`, "reviews_replied_check"},
		{"written at another time", `UPDATE reviews SET written_at = shop_now() + interval '1 day'`, "review_facts"},
		{"taken away", `DELETE FROM reviews`, "reviews_append_only"},
	} {
		if err := s.exec(ctx, bad.text).Error; !isConstraint(err, bad.name) {
			t.Errorf("%s: %v", bad.what, err)
		}
	}
}

// mustHandOver takes a paid order's ticket to its end.
// What people said goes when its time is over or its person wants it; that it happened stays.
func TestCareIsForgotten(t *testing.T) {
	t.Parallel()
	s, ctx := openStore(t), t.Context()
	o, _ := mustKept(t, s)
	asha := mustStaff(t, s, o.OutletID, "asha")
	mustHandOver(t, s, o.ID)
	c := mustComplain(t, s, o, ComplaintMissing, "No raita for Asha of 12th Main")
	if _, err := s.WriteReview(ctx, o, 2, "Call me on 98450"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.InTx(ctx, func(tx *Store) error { return tx.blankCareOf(ctx, o.CustomerID) }); err != nil {
			t.Fatal(err)
		}
	}
	said, err := s.ListComplaints(ctx, o.ID)
	if err != nil || len(said) != 1 || said[0].Messages[0].Body == "" {
		t.Fatalf("what is open keeps its words: %+v, %v", said, err)
	}
	if got := mustRead[string](t, s, `SELECT stars || body FROM reviews`); got != "2" {
		t.Fatalf("a review keeps its stars and loses its words: %s", got)
	}
	if err := s.ResolveComplaint(ctx, c.ID, asha, OutcomeExplained, "It was under the rice, Asha", NewFormKey(), c.LastID()); err != nil {
		t.Fatal(err)
	}
	other := mustComplain(t, s, o, ComplaintLate, "And cold")
	purge := func(days int, want int64) {
		t.Helper()
		setClock(t, s, time.Duration(days)*24*time.Hour)
		if n, err := s.PurgeCare(ctx); err != nil || n != want {
			t.Errorf("after %d days: %d, %v; want %d", days, n, err, want)
		}
	}
	purge(CareDays-1, 0)
	purge(CareDays+1, 2)
	purge(CareDays+1, 0)
	said, err = s.ListComplaints(ctx, o.ID)
	if err != nil || len(said) != 2 {
		t.Fatal(said, err)
	}
	for _, m := range said[0].Messages {
		if m.Body != "" || m.BlankedAt == nil {
			t.Errorf("kept: %+v", m)
		}
	}
	if got := said[1]; got.ID != other.ID || got.Messages[0].Body != "And cold" {
		t.Errorf("an open one was blanked: %+v", got)
	}
}
