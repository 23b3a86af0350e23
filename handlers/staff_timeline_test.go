package handlers

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"tiffin/models"
	"tiffin/views"
)

func TestStaffTimeline(t *testing.T) {
	t.Parallel()
	k := openKitchen(t, nil)
	asha := k.staff("asha", "Asha", "manager", k.outlet.ID)
	b := k.signedIn(asha)
	cook := k.signedIn(k.staff("cook", "Cook", "kitchen", k.outlet.ID))
	o := k.place(basket{name: "Ananya <Rao>", note: "Ring twice", directions: "Behind the temple"})
	paymentID := k.pay(o, k.open(o))
	k.receive(paymentID)
	b.post(orderPath(o, "/cancel"), "reason", "the <b>gas</b> is off", "confirm", "yes").is(303)

	k.run(t, "is_reached_from_the_order_and_says_what_happened", func(t *testing.T) {
		if n := len(b.get(orderPath(o, "")).is(200).all("a", "href", orderPath(o, "/timeline"))); n != 1 {
			t.Errorf("%d links to it, want one", n)
		}
		for _, who := range []*browser{b, cook} {
			page := who.get(orderPath(o, "/timeline")).is(200)
			page.says("timeline-entry", "Payment authorized → captured", paymentID).says("timeline-entry", "The payment is kept").says("timeline-entry", "Webhook payment.captured: processed", "SHA-256")
			page.says("timeline-entry", "Ledger, capture: gateway clearing", "+"+views.Rupees(o.AmountPaise)).says("timeline-entry", "Ledger, capture: sales", "−₹").says("timeline-entry", "Refund requested", "The <b>gas</b> is off", fmt.Sprintf("Asha (staff:%d)", asha.ID))
			page.says("timeline-entry", "cancel order · The <b>gas</b> is off").says("timeline-entry", "Letter, confirmation").says("timeline-entry", "A browser was given the order at Razorpay")
			for _, personal := range []string{"Ananya", "98450", "Lake View", o.Token} {
				if strings.Contains(page.body, personal) {
					t.Errorf("it holds %s", personal)
				}
			}
		}
	})
	k.run(t, "as_a_file", func(t *testing.T) {
		before := k.rows()
		res := b.get(orderPath(o, "/timeline.json")).is(200)
		k.unchanged(before)
		if got := res.header.Get("Content-Type"); got != "application/json; charset=utf-8" {
			t.Errorf("Content-Type %q", got)
		}
		if got := res.header.Get("Content-Disposition"); !strings.HasPrefix(got, `attachment; filename="timeline-`) || !strings.HasSuffix(got, fmt.Sprintf(`-%d.json"`, o.Number)) {
			t.Errorf("Content-Disposition %q", got)
		}
		if res.header.Get("Cache-Control") != "no-store" {
			t.Error("it may be kept")
		}
		var timeline models.Timeline
		must(t, json.Unmarshal([]byte(res.body), &timeline))
		if timeline.Version != models.TimelineVersion || timeline.Order.ID != o.ID || timeline.Order.AmountPaise != o.AmountPaise || len(timeline.Order.Items) != len(o.Items) || len(timeline.Entries) < 15 {
			t.Errorf("timeline:\n%s", res.body)
		}
	})
	k.run(t, "of_another_outlet_is_not_there", func(t *testing.T) {
		other := k.secondOutlet()
		theirs := k.paid(basket{outlet: other, slug: "zafran-rice"})
		everywhere := k.signedIn(k.staff("ravi", "Ravi", "owner", 0))
		for _, more := range []string{"/timeline", "/timeline.json"} {
			b.get(orderPath(theirs, more)).is(404)
			b.get("/staff/orders/999999" + more).is(404)
			everywhere.get(orderPath(theirs, more)).is(200)
		}
	})
}
