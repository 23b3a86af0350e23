package handlers

import (
	"fmt"
	"strings"
	"testing"

	"tiffin/models"
	"tiffin/views"
)

// review asks for money to go back, and returns the fields with which its page would confirm that.
func (b *browser) review(o models.Order, fields ...string) (page answer, confirm []string) {
	b.t.Helper()
	page = b.post(orderPath(o, "/refund"), append([]string{"step", "review"}, fields...)...).is(200)
	return page, page.confirm()
}

// confirm are a review's own fields, with its button.
func (a answer) confirm() []string {
	a.t.Helper()
	fields := []string{"step", "confirm"}
	for _, n := range a.all("input", "type", "hidden") {
		if name := attribute(n, "name"); name != csrfField {
			fields = append(fields, name, attribute(n, "value"))
		}
	}
	return fields
}

// but is fields with one of them changed.
func but(fields []string, name, value string) []string {
	changed := append([]string{}, fields...)
	for i := 0; i < len(changed); i += 2 {
		if changed[i] == name {
			changed[i+1] = value
			return changed
		}
	}
	return append(changed, name, value)
}

// given is how much of an order is back or on its way, by how many refunds.
func (k *kitchen) given(o models.Order) (paise models.Paise, refunds int64) {
	k.t.Helper()
	const of = ` FROM refunds WHERE order_id = $1 AND kind = 'staff' AND status IN ('requested', 'submitted', 'processed')`
	return models.Paise(k.count(`SELECT COALESCE(sum(amount_paise), 0)::bigint`+of, o.ID)), k.count(`SELECT count(*)`+of, o.ID)
}

// atOnce presses at the same time, and counts the answers by status.
func atOnce(t *testing.T, presses ...func() answer) (answers []answer, statuses map[int]int) {
	t.Helper()
	start, done := make(chan struct{}), make(chan answer, len(presses))
	for _, press := range presses {
		go func() { <-start; done <- press() }()
	}
	close(start)
	statuses = map[int]int{}
	for range presses {
		a := <-done
		answers = append(answers, a)
		statuses[a.status]++
	}
	return answers, statuses
}

func TestStaffRefund(t *testing.T) {
	t.Parallel()
	k := openKitchen(t, nil)
	asha, ravi := k.staff("asha", "Asha", "manager", k.outlet.ID), k.staff("ravi", "Ravi", "owner", 0)
	b, other := k.signedIn(asha), k.signedIn(ravi)
	dish := []string{"what", "dishes", "piece-1", "1", "reason", "the dal was cold"}

	k.run(t, "one_piece_goes_back_with_its_tax_and_the_customer_reads_why", func(t *testing.T) {
		o := k.paid(basket{})
		share, _, err := k.store.ShareOf(t.Context(), o.ID, models.Giving{Pieces: map[int]int{1: 1}})
		must(t, err)
		b.get(orderPath(o, "")).is(200).says("give-back", "Give money back")
		form := b.get(orderPath(o, "/refund")).is(200)
		form.says("left", "All of the "+views.Rupees(o.AmountPaise)+" paid is still here.")
		before := k.rows()
		page, confirm := b.review(o, append([]string{"amount", ""}, dish...)...)
		page.says("refund-amount", views.Rupees(share.Amount())+" of "+views.Rupees(o.AmountPaise)).says("refund-dishes", "1 × Dal Makhani").says("share-food", views.Rupees(share.SubtotalPaise))
		page.says("share-cgst", views.Rupees(share.CGSTPaise)).says("share-total", views.Rupees(share.Amount())).says("refund-reason", "The dal was cold").says("refund-yes", "Give "+views.Rupees(share.Amount())+" back")
		b.post(orderPath(o, "/refund"), but(confirm, "step", "change")...).is(200).says("refund-form", "What goes back")
		k.unchanged(before)
		b.post(orderPath(o, "/refund"), confirm...).is(303).leads(orderPath(o, ""))
		if paise, n := k.given(o); paise != share.Amount() || n != 1 {
			t.Errorf("%d paise by %d refunds, want %d by one", paise, n, share.Amount())
		}
		for _, row := range []string{
			`SELECT count(*) FROM refunds WHERE order_id = $1 AND reason = 'The dal was cold' AND requested_by = '` + models.StaffActor(asha.ID) + `'`,
			`SELECT count(*) FROM audit WHERE order_id = $1 AND action = 'refund' AND actor = '` + models.StaffActor(asha.ID) + `'`,
			`SELECT count(*) FROM river_job WHERE kind = 'send_refund' AND args ->> 'refund_id' IN (SELECT id::text FROM refunds WHERE order_id = $1)`,
			`SELECT count(*) FROM orders WHERE id = $1 AND status = 'paid'`,
		} {
			if n := k.count(row, o.ID); n != 1 {
				t.Errorf("%d of %s", n, row)
			}
		}
		b.get(orderPath(o, "")).is(200).says("refund-row", "The dal was cold", "requested", views.Rupees(share.CGSTPaise))
		k.browser().get("/orders/"+o.Token).is(200).says("refund-part", views.Rupees(share.Amount())+" of "+views.Rupees(o.AmountPaise)+" goes back to you: The dal was cold").
			says("refund", "Requested on", views.Rupees(share.SGSTPaise))

		// The same form once more is the same; another decision of before is reviewed afresh.
		before = k.rows()
		b.post(orderPath(o, "/refund"), confirm...).is(303).leads(orderPath(o, ""))
		fresh := b.post(orderPath(o, "/refund"), but(confirm, "reason", "it was burnt")...).is(409)
		fresh.says("conflict", views.Rupees(share.Amount())+" is already on its way back (asked by Asha at", "Nothing more was done").says("refund-yes", "Give ₹")
		other.get("/staff").is(200)
		other.post(orderPath(o, "/refund"), confirm...).is(409).says("conflict", "asked by Asha")
		k.unchanged(before)
		b.post(orderPath(o, "/refund"), fresh.confirm()...).is(303) // the fresh review can be confirmed
		if _, n := k.given(o); n != 2 {
			t.Errorf("%d refunds, want two", n)
		}
	})

	k.run(t, "amounts_and_the_rest_come_to_what_was_paid", func(t *testing.T) {
		o := k.paid(basket{})
		page, confirm := b.review(o, "what", "amount", "amount", " ₹100.5 ", "reason", "late")
		page.says("share-total", "₹100.50").says("share-delivery", "₹")
		b.post(orderPath(o, "/refund"), confirm...).is(303)
		left := o.AmountPaise - 100_50
		b.get(orderPath(o, "/refund")).is(200).says("left", views.Rupees(left)+" of the "+views.Rupees(o.AmountPaise))
		before := k.rows()
		for typed, says := range map[string]string{
			rupeesOf(left + 1): "That is more than is left. " + views.Rupees(left), rupeesOf(left - 99): "₹1.00 or more at a time", "0.99": "₹1.00 or more at a time",
			"0": "more than nothing", "-5": "such as ₹120", "1e3": "such as ₹120", "99999999999999999999": "such as ₹120", "999999999": "more than is left", "12,34": "such as ₹120", "": "such as ₹120",
		} {
			wrong := b.post(orderPath(o, "/refund"), "step", "review", "what", "amount", "amount", typed, "reason", "late").is(422).says("error-amount", says)
			if got := attribute(wrong.all("input", "name", "amount")[0], "value"); got != typed {
				t.Errorf("%q is lost: %q", typed, got)
			}
		}
		k.unchanged(before)
		_, confirm = b.review(o, "what", "rest", "reason", "all of it was cold")
		b.post(orderPath(o, "/refund"), confirm...).is(303)
		if paise, n := k.given(o); paise != o.AmountPaise || n != 2 {
			t.Errorf("%d of %d paise by %d refunds", paise, o.AmountPaise, n)
		}
		before = k.rows()
		b.get(orderPath(o, "/refund")).is(409).says("conflict", "already on its way back (asked by Asha")
		b.post(orderPath(o, "/refund"), append([]string{"step", "review"}, dish...)...).is(409)
		if n := len(b.get(orderPath(o, "")).texts("give-back")); n != 0 {
			t.Error("more is offered")
		}
		k.unchanged(before)
	})

	k.run(t, "the_same_form_many_times_at_once_is_one_refund", func(t *testing.T) {
		for range 5 {
			o := k.paid(basket{})
			_, confirm := b.review(o, dish...)
			press := func() answer {
				return b.send(orderPath(o, "/refund"), nil, append([]string{csrfField, b.token()}, confirm...)...)
			}
			if _, seen := atOnce(t, press, press, press, press); seen[303] != 4 {
				t.Fatalf("answers = %v, want four 303", seen)
			}
			if _, n := k.given(o); n != 1 {
				t.Fatalf("%d refunds, want one", n)
			}
		}
	})

	k.run(t, "two_members_at_once_give_at_most_what_is_left", func(t *testing.T) {
		for range 10 {
			o := k.paid(basket{})
			_, mine := b.review(o, "what", "rest", "reason", "cold")
			_, theirs := other.review(o, "what", "amount", "amount", rupeesOf(o.AmountPaise-100_00), "reason", "burnt")
			var presses []func() answer
			for who, form := range map[*browser][]string{b: mine, other: theirs} {
				presses = append(presses, func() answer {
					return who.send(orderPath(o, "/refund"), nil, append([]string{csrfField, who.token()}, form...)...)
				})
			}
			answers, seen := atOnce(t, presses...)
			if seen[303] != 1 || seen[409] != 1 {
				t.Fatalf("answers = %v, want one 303 and one 409", seen)
			}
			for _, a := range answers {
				if a.status == 409 {
					a.says("conflict", "is already on its way back (asked by")
				}
			}
			if paise, n := k.given(o); paise > o.AmountPaise || n != 1 {
				t.Fatalf("%d of %d paise by %d refunds", paise, o.AmountPaise, n)
			}
		}
	})

	k.run(t, "what_no_page_of_ours_sends_changes_nothing", func(t *testing.T) {
		o := k.paid(basket{})
		unpaid := k.place(basket{})
		k.open(unpaid)
		_, confirm := b.review(o, dish...)
		cook := k.signedIn(k.staff("cook", "Cook", "kitchen", k.outlet.ID))
		before := k.rows()
		for name, c := range map[string]struct {
			status int
			fields []string
		}{
			"no step":                {400, dish},
			"another step":           {400, but(confirm, "step", "now")},
			"a line of no order":     {400, but(confirm, "piece-7", "1")},
			"line nought":            {400, but(confirm, "piece-0", "1")},
			"a line that is no line": {400, but(confirm, "piece-x", "1")},
			"less than no pieces":    {400, but(confirm, "piece-1", "-1")},
			"half a piece":           {400, but(confirm, "piece-1", "0.5")},
			"more pieces than were":  {422, but(confirm, "piece-1", "3")},
			"another thing to give":  {400, but(confirm, "what", "everything")},
			"nothing to give":        {400, but(confirm, "what", "")},
			"no dishes":              {400, but(confirm, "piece-1", "0")},
			"no reason":              {400, but(confirm, "reason", " ")},
			"a novel":                {400, but(confirm, "reason", strings.Repeat("é", 201))},
			"a price of one's own":   {409, but(confirm, "shown", "1")},
			"another price":          {400, append(append([]string{}, confirm...), "price", "1")},
			"shown is no number":     {400, but(confirm, "shown", "-1")},
			"seen is no number":      {400, but(confirm, "seen", "9223372036854775808")},
			"seen is not true":       {409, but(confirm, "seen", "100")},
			"a field twice":          {400, append(append([]string{}, confirm...), "reason", "y")},
			"NUL":                    {400, but(confirm, "reason", "x\x00")},
			"a review already shown": {400, but(confirm, "step", "review")},
		} {
			res := b.post(orderPath(o, "/refund"), c.fields...)
			if res.status != c.status || res.status == 400 && len(res.texts("error")) == 0 {
				t.Errorf("%s: %d, want %d", name, res.status, c.status)
			}
		}
		for name, wrong := range map[string][]string{
			"what": {"reason", "x"}, "pieces": {"what", "dishes", "reason", "x"}, "reason": {"what", "rest", "reason", " "},
		} {
			b.post(orderPath(o, "/refund"), append([]string{"step", "review"}, wrong...)...).is(422).says("error-"+name, "Please")
		}
		b.post(orderPath(o, "/refund"), "step", "review", "what", "rest", "reason", strings.Repeat("é", 201)).is(422).says("error-reason", "200")
		b.send(orderPath(o, "/refund"), nil, append([]string{csrfField, "of an earlier login"}, confirm...)...).is(409).says("conflict", "nothing was changed")
		b.send(orderPath(o, "/refund"), nil, confirm...).is(409).says("conflict", "nothing was changed")
		b.send(orderPath(o, "/refund"), []string{"Sec-Fetch-Site", "cross-site"}, append([]string{csrfField, b.token()}, confirm...)...).is(403)
		cook.get(orderPath(o, "/refund")).is(403)
		cook.post(orderPath(o, "/refund"), confirm...).is(403).says("error", "not open to your login")
		k.browser().post(orderPath(o, "/refund"), confirm...).is(401)
		b.get(orderPath(unpaid, "/refund")).is(409).says("conflict", "Nothing was paid for order")
		b.post(orderPath(unpaid, "/refund"), confirm...).is(409).says("conflict", "Nothing was paid for order")
		b.post("/staff/orders/999999/refund", confirm...).is(404)
		k.unchanged(before)
		if n := len(cook.get(orderPath(o, "")).is(200).texts("give-back")); n != 0 {
			t.Error("a cook is offered to give money back")
		}
	})

	k.run(t, "a_failed_one_is_sent_again_from_the_orders_page_once", func(t *testing.T) {
		o := k.paid(basket{})
		_, confirm := b.review(o, dish...)
		b.post(orderPath(o, "/refund"), confirm...).is(303)
		refund := k.word(`SELECT id::text FROM refunds WHERE order_id = $1`, o.ID)
		must(t, k.store.InTx(t.Context(), func(tx *models.Store) error {
			return tx.RefuseRefund(t.Context(), o, refund, "blocked by a dispute", false)
		}))
		page := b.get(orderPath(o, "")).is(200).says("refund-row", "failed", "blocked by a dispute").says("retry-yes", "Send ₹")
		path := attribute(page.all("form", "data-testid", "retry-form")[0], "action")
		press := func() answer {
			return b.send(path, nil, csrfField, b.token(), "back", "order")
		}
		b.post(path, "back", "elsewhere").is(400)
		answers, seen := atOnce(t, press, press)
		if seen[303] < 1 || seen[303]+seen[404]+seen[409] != 2 {
			t.Errorf("answers = %v", seen)
		}
		for _, a := range answers {
			if a.status == 303 {
				a.leads(orderPath(o, ""))
			}
		}
		press().is(404).says("notice", "not on your list any more")
		if n := k.count(`SELECT count(*) FROM refunds WHERE retry_of = $1::uuid AND status = 'requested'`, refund); n != 1 {
			t.Errorf("%d successors, want one", n)
		}
		if n := len(b.get(orderPath(o, "")).texts("retry-yes")); n != 0 {
			t.Error("it can be sent again once more")
		}
		k.browser().get("/orders/"+o.Token).says("refund-part", "goes back to you: The dal was cold")
	})
	k.intact()
}

// rupeesOf is how somebody types an amount.
func rupeesOf(p models.Paise) string { return fmt.Sprintf("%d.%02d", p/100, p%100) }
