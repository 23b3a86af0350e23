package handlers

import (
	"fmt"
	"strings"
	"testing"

	"tiffin/models"
)

// F30: reviews only of completed orders, one per order; staff reply and hide; the menu shows an average of enough of them, and none before.
func TestReviewPages(t *testing.T) {
	t.Parallel()
	k := openKitchen(t, nil)
	asha, cook := k.staff("asha", "Asha", "manager", k.outlet.ID), k.staff("chhotu", "Chhotu", "kitchen", k.outlet.ID)
	o := k.paid(basket{})
	path, page := "/orders/"+o.Token+"/review", "/orders/"+o.Token
	guest := k.browser()
	if a := guest.get(page).is(200); len(a.texts("rate")) != 0 {
		t.Error("stars before the food")
	}
	guest.get(path).is(409).says("error", "once it is completed")
	guest.post(path, "stars", "5", "body", "Early").is(409)
	k.done(o, asha)
	guest.get(page).is(200).says("care", "How was it?")
	form := guest.get(path + "?stars=4").is(200)
	if picked := form.all("input", "data-testid", "stars-4"); len(picked) != 1 || !has(picked[0], "checked") {
		t.Error("the star that was pressed is not chosen")
	}
	a := guest.post(path, "body", "Nice <i>dal</i>").is(422).says("error-stars", "one to five")
	if !strings.Contains(a.body, "Nice &lt;i&gt;dal&lt;/i&gt;</textarea>") {
		t.Error("what was typed is lost")
	}
	guest.post(path, "stars", "4", "body", strings.Repeat("x", models.MaxReviewText+1)).is(422).says("error-body", "1000")
	guest.post(path, "stars", "6", "body", "x").is(400)
	guest.send(path, nil, csrfField, "old", "stars", "4", "body", "Nice dal").is(403).says("conflict", "open for too long")
	if n := k.count(`SELECT count(*) FROM reviews`); n != 0 {
		t.Fatalf("%d reviews of what was refused", n)
	}
	press := func() answer { return guest.post(path, "stars", "4", "body", "Nice dal") }
	if _, statuses := atOnce(t, press, press, press); statuses[303] != 3 || k.count(`SELECT count(*) FROM reviews`) != 1 {
		t.Fatalf("%v", statuses)
	}
	guest.get(page).is(200).says("review", "Nice dal")
	guest.get(path).is(200)
	guest.post(path, "stars", "2", "body", "Nice dal, cold naan").is(303).leads(page)

	// Too few for an average, and nothing of one anywhere.
	menu := guest.get("/").is(200)
	if len(menu.texts("rating")) != 0 || strings.Contains(menu.body, "aggregateRating") {
		t.Error("an average of one")
	}
	guest.get("/reviews").is(200).says("no-rating", "not enough").says("reviews", "Nice dal, cold naan")
	if body := guest.get("/reviews?outlet=" + k.outlet.Slug).is(200).body; strings.Contains(body, o.Name) {
		t.Error("a review names its writer")
	}
	guest.get("/reviews?outlet=nowhere").is(404)

	// Staff.
	desk := fmt.Sprintf("/staff/reviews/%d", o.ID)
	staff, hand := k.signedIn(asha), k.signedIn(cook)
	a = staff.get("/staff/reviews").is(200).says("staff-review", "Nice dal, cold naan", "Changed")
	seen := attribute(a.all("input", "name", "seen")[0], "value")
	if a := hand.get("/staff/reviews").is(200); len(a.all("input", "name", "seen")) != 0 {
		t.Error("a cook may reply")
	}
	hand.post(desk, "do", "show").is(403)
	guest.post(path, "stars", "3", "body", "Nice dal, cold naan, warm heart").is(303)
	a = staff.post(desk, "do", "reply", "seen", seen, "reply", "Sorry about the naan").is(409).says("review-error", "changed the review meanwhile")
	if !strings.Contains(a.body, "Sorry about the naan</textarea>") {
		t.Error("what was typed is lost")
	}
	seen = attribute(a.all("input", "name", "seen")[0], "value")
	staff.post(desk, "do", "reply", "seen", seen, "reply", "Sorry about the naan").is(303)
	guest.get("/reviews").is(200).says("reply", "Sorry about the naan")
	staff.post(desk, "do", "hide", "why", " ").is(422).says("review-error", "reason")
	staff.post(desk, "do", "burn").is(400)
	staff.post(desk, "do", "hide", "why", "Names a neighbour").is(303)
	staff.get("/staff/reviews").is(200).says("hidden", "Names a neighbour")
	if a := guest.get("/reviews").is(200); len(a.texts("review")) != 0 {
		t.Error("hidden words are shown")
	}
	guest.get(page).is(200).says("review", "warm heart") // its writer still sees it
	k.signedIn(k.staff("otto", "Otto", "owner", k.secondOutlet().ID)).post(desk, "do", "show").is(404)
	k.exec(`UPDATE outlets SET active = false WHERE slug = 'zafran'`)
	staff.post(desk, "do", "show").is(303)

	staff.post("/staff/reviews", "outlet", k.outlet.Slug, "asks", "1").is(303)
	if k.word(`SELECT asks_reviews::text FROM outlets WHERE id = $1`, k.outlet.ID) != "true" {
		t.Error("not set")
	}
	staff.post("/staff/reviews", "outlet", k.outlet.Slug, "asks", "2").is(400)
	staff.post("/staff/reviews", "outlet", k.outlet.Slug, "asks", "").is(303)

	// Enough of them: an average, in words and for search engines.
	k.exec(`ALTER TABLE reviews DROP CONSTRAINT reviews_order_id_fkey`)
	k.exec(`ALTER TABLE reviews DISABLE TRIGGER reviews_guard`)
	k.exec(`INSERT INTO reviews (order_id, outlet_id, stars) SELECT 100000 + n, $1, 5 FROM generate_series(1, $2) n`, k.outlet.ID, models.MinReviews-1)
	menu = guest.get("/").is(200).says("rating", "4.6 of 5 from 5 reviews")
	if !strings.Contains(menu.body, `"aggregateRating":{"@type":"AggregateRating","bestRating":5,"ratingValue":4.6,"reviewCount":5,"worstRating":1}`) {
		t.Error("search engines are not told")
	}
	guest.get("/reviews").is(200).says("rating", "4.6 of 5 from 5 reviews")

	// After a week it stays as it is.
	k.exec(shopClock(toNoon + (models.ReviewEditDays*24+1)*3600*1e9))
	guest.post(path, "stars", "1", "body", "Changed my mind").is(409).says("error", "time to change this review is over")
}
