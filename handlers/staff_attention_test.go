package handlers

import (
	"fmt"
	"strings"
	"testing"

	"tiffin/models"
)

func TestAttention(t *testing.T) {
	t.Parallel()
	k := openKitchen(t, nil)
	o := k.paid(basket{})
	asha, ravi := k.staff("asha", "Asha", "manager", k.outlet.ID), k.staff("ravi", "Ravi", "owner", 0)
	b, other := k.signedIn(asha), k.signedIn(ravi)
	cook := k.signedIn(k.staff("cook", "Cook", "kitchen", k.outlet.ID))

	b.get("/staff/attention").is(200).says("attention-empty", "Nothing waits")
	if got := b.get("/staff").texts("attention"); len(got) != 0 {
		t.Errorf("the board says %q while nothing waits", got)
	}
	must(t, k.store.OpenTask(t.Context(), models.TaskRefundFailed, "r1", &o.ID, `Refund of 100 paise failed: <b>bank</b>`))
	must(t, k.store.OpenTask(t.Context(), models.TaskBadSignature, "hooks", nil, "The webhook secret may differ"))
	id := k.count(`SELECT id FROM staff_tasks WHERE ref = 'r1'`)

	k.run(t, "stands_above_the_board_and_on_its_page", func(t *testing.T) {
		for _, path := range []string{"/staff", "/staff/board"} {
			b.get(path).is(200).says("attention", "A refund failed", "<b>bank</b>", "See the order").says("attention", "wrong signature")
		}
		page := b.get("/staff/attention").is(200).says("task", "A refund failed", "Refund of 100 paise failed: <b>bank</b>", "Done").says("task", "wrong signature")
		if n := len(page.all("a", "href", orderPath(o, ""))); n != 1 {
			t.Errorf("%d links to the order, want one", n)
		}
	})

	k.run(t, "a_cook_sees_what_is_about_orders_and_closes_nothing", func(t *testing.T) {
		page := cook.get("/staff/attention").is(200).says("task", "A refund failed")
		if strings.Contains(page.body, "wrong signature") || len(page.texts("close-task")) != 0 {
			t.Errorf("a cook's list:\n%s", page.body)
		}
		cook.post(fmt.Sprintf("/staff/attention/%d/close", id)).is(403)
	})

	k.run(t, "is_closed_once", func(t *testing.T) {
		b.post(fmt.Sprintf("/staff/attention/%d/close", id)).is(303).leads("/staff/attention?done=closed")
		if page := b.get("/staff/attention?done=closed").is(200).says("notice", "Taken off"); len(page.texts("task")) != 1 {
			t.Errorf("tasks = %q, want one left", page.texts("task"))
		}
		other.post(fmt.Sprintf("/staff/attention/%d/close", id)).is(404).says("notice", "not on your list any more")
		if n := k.count(`SELECT count(*) FROM staff_tasks WHERE id = $1 AND closed_by = $2`, id, asha.ID); n != 1 {
			t.Error("it is not closed by who closed it")
		}
		if n := k.count(`SELECT count(*) FROM audit WHERE action = 'close_task' AND actor = $1 AND order_id = $2`, models.StaffActor(asha.ID), o.ID); n != 1 {
			t.Errorf("%d closings in the audit, want one", n)
		}
		b.post(fmt.Sprintf("/staff/attention/%d/close", id), "reason", "x").is(400)
		b.post("/staff/attention/0/close").is(404)
	})

	k.run(t, "many_are_counted_on_the_board", func(t *testing.T) {
		for i := range 8 {
			must(t, k.store.OpenTask(t.Context(), models.TaskDispute, fmt.Sprint(i), &o.ID, "answer it"))
		}
		if got := b.get("/staff").texts("attention"); len(got) != maxAttention+1 || !strings.Contains(got[maxAttention], "4 more things to do") {
			t.Errorf("attention = %q, want %d and a count of the rest", got, maxAttention)
		}
		if got := b.get("/staff/attention").texts("task"); len(got) != 9 {
			t.Errorf("%d tasks on their page, want 9", len(got))
		}
	})
}
