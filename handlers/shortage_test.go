package handlers

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"tiffin/models"
)

// TestShortageIsAskedAndAnswered: staff say what ran out, the board knows, the customer chooses by link, and one answer counts.
func TestShortageIsAskedAndAnswered(t *testing.T) {
	t.Parallel()
	k := openKitchen(t, nil)
	s := &shop{t: t, store: k.store, gateway: k.gateway, cashier: k.cashier, hub: k.hub, app: k.app, outlet: k.outlet, log: &logBook{}}
	cook := k.signedIn(k.staff("asha", "Asha", "kitchen", k.outlet.ID))
	o := k.paid(basket{})
	full, err := k.store.FindOrder(t.Context(), o.ID)
	must(t, err)
	line, path := full.Items[0], orderPath(o, "/shortage")
	cook.get(orderPath(o, "")).is(200).says("shortage", "Out of a dish")
	cook.get(path).is(200).says("shortage-form", line.Name)

	good := []string{"line", fmt.Sprint(line.Line), "qty", "1", "minutes", "5", "fallback", "drop", "swap1", fmt.Sprint(s.item("roti").ID), "swap2", "", "swap3", ""}
	before := k.rows()
	for field, bad := range map[string]string{"line": "", "qty": "0", "minutes": "31", "swap1": fmt.Sprint(s.item("chicken-tikka").ID)} {
		a := cook.post(path, but(good, field, bad)...).is(422)
		name := map[string]string{"swap1": "swaps"}[field]
		if name == "" {
			name = field
		}
		if said := strings.Join(a.texts("error-"+name), ""); said == "" {
			t.Errorf("%s %q: nothing is said", field, bad)
		}
	}
	cook.post(path, but(good, "qty", "20")...).is(422).says("error-qty", "not so many")
	cook.post(path, but(good, "swap1", "x")...).is(400)
	cook.post(path, but(good, "fallback", "keep")...).is(422)
	k.unchanged(before)

	cook.post(path, good...).is(303)
	cook.post(path, good...).is(409).says("conflict", "being asked")
	cook.get("/staff").is(200).says("ticket-shortage", "asking the customer")

	b := s.visitor()
	page := b.get("/orders/"+o.Token).is(200).shows("shortage", "run out of "+line.Name).shows("swap-1", "Tandoori Roti")
	if attr(page.one("shortage"), "data-state") != "open" {
		t.Error("it is not open")
	}
	answer := fmt.Sprintf("/orders/%s/shortages/%s", o.Token, k.word(`SELECT id::text FROM shortages`))
	other := k.paid(basket{})
	b.post(fmt.Sprintf("/orders/%s/shortages/%s", other.Token, k.word(`SELECT id::text FROM shortages`)), url.Values{"answer": {"drop"}, "swap": {"0"}}).is(404)
	b.post(answer, url.Values{"answer": {"swap"}, "swap": {"2"}}).is(400)
	b.post(answer, url.Values{"answer": {"void"}, "swap": {"0"}}).is(400)
	b.post("/orders/"+o.Token+"/shortages/999999", url.Values{"answer": {"drop"}, "swap": {"0"}}).is(404)
	b.send(ask{path: answer, form: url.Values{"answer": {"drop"}, "swap": {"0"}, csrfField: {"old"}}}).is(403)
	b.post(answer, url.Values{"answer": {"swap"}, "swap": {"1"}}).is(303).leadsTo("/orders/" + o.Token)
	b.post(answer, url.Values{"answer": {"drop"}, "swap": {"0"}}).is(409).shows("shortage", "Instead of")
	cook.get("/staff").is(200).says("ticket-shortage", "Tandoori Roti")
	if n := k.count(`SELECT count(*) FROM refunds WHERE order_id = $1`, o.ID); n != 1 { // a roti costs less than any dish of the basket
		t.Errorf("%d refunds", n)
	}

	k.exec(`UPDATE fulfilments SET status = 'accepted' WHERE order_id = $1`, other.ID)
	k.exec(`UPDATE fulfilments SET status = 'preparing' WHERE order_id = $1`, other.ID)
	k.exec(`UPDATE fulfilments SET status = 'ready' WHERE order_id = $1`, other.ID)
	_, err = k.store.AskShortage(t.Context(), other.ID, line.Line, 1, models.AnswerDrop, nil, 5*time.Minute, models.Staff{ID: 1})
	must(t, err)
	cook.post(orderPath(other, "/move"), "from", "ready", "to", "handed_over").is(409)
	k.intact()
}
