package handlers

import (
	"strings"
	"testing"

	"tiffin/views"
)

func TestStaffAudit(t *testing.T) {
	t.Parallel()
	k := openKitchen(t, nil)
	asha := k.signedIn(k.staff("asha", "Asha", "manager", k.outlet.ID))
	everywhere := k.signedIn(k.staff("ravi", "Ravi", "owner", 0))
	cook := k.signedIn(k.staff("cook", "Cook", "kitchen", k.outlet.ID))
	o := k.paid(basket{})
	amount := views.Rupees(o.AmountPaise)

	k.run(t, "is_reached_from_the_list_of_things_to_do_by_whom_money_concerns", func(t *testing.T) {
		if n := len(asha.get("/staff/attention").is(200).all("a", "href", auditURL)); n != 1 {
			t.Errorf("%d links to it, want one", n)
		}
		if n := len(cook.get("/staff/attention").is(200).all("a", "href", auditURL)); n != 0 {
			t.Error("a cook is led to it")
		}
		cook.get(auditURL).is(403)
	})
	k.run(t, "today_is_explained", func(t *testing.T) {
		before := k.rows()
		for _, path := range []string{auditURL, auditURL + "?day=all", auditURL + "?day=nonsense", auditURL + "?day="} {
			page := asha.get(path).is(200).says("verdict", "0 paise unexplained").says("audit-captured", amount).says("audit-awaiting", amount)
			if len(page.texts("finding")) != 0 {
				t.Errorf("%s: %q", path, page.texts("finding"))
			}
		}
		asha.get(auditURL+"?day=2020-01-31").is(200).says("verdict", "0 paise unexplained", "31 Jan 2020").says("audit-captured", "₹0.00")
		k.unchanged(before)
	})
	k.run(t, "another_outlet_is_its_own_business", func(t *testing.T) {
		other := k.secondOutlet()
		theirs := k.paid(basket{outlet: other, slug: "zafran-rice"})
		asha.get(auditURL).is(200).says("audit-captured", amount)
		everywhere.get(auditURL).is(200).says("audit-captured", views.Rupees(o.AmountPaise+theirs.AmountPaise))
	})
	k.run(t, "what_does_not_fit_is_named_with_its_order", func(t *testing.T) {
		k.exec(`ALTER TABLE payments DISABLE TRIGGER ALL`)
		k.exec(`UPDATE payments SET refund_reserved_paise = 150 WHERE order_id = $1`, o.ID)
		k.exec(`ALTER TABLE payments ENABLE TRIGGER ALL`)
		page := asha.get(auditURL).is(200).says("verdict", "150 paise unexplained").says("finding", "₹1.50 · payments", "its refunds sum to 0")
		if len(page.all("a", "href", orderPath(o, ""))) == 0 || strings.Contains(page.body, o.Phone) {
			t.Errorf("%s", page.body)
		}
	})
}
