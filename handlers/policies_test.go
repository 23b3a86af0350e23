package handlers

import (
	"encoding/json"
	"encoding/xml"
	"net/url"
	"strings"
	"testing"

	"tiffin/views"
)

// The policies say what the shop's settings are, each linked from every page's footer, on the phone number and number of PIN codes there is.
func TestPolicies(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	b := s.visitor()
	menu := b.get("/").is(200)
	for _, p := range views.Policies {
		if !strings.Contains(menu.body, `href="/policies/`+p.Name+`"`) {
			t.Errorf("the footer does not lead to %s", p.Name)
		}
		b.get("/policies/" + p.Name).is(200)
	}
	b.get("/policies/contact").shows("policy", "Meera Iyer").shows("policy", "10020043001234").shows("policy", "48 hours")
	b.get("/policies/delivery").shows("policy", "19 PIN codes").shows("policy", "Up to 3.0 km: ₹29").shows("policy", "Up to 8.0 km: ₹59")
	s.exec(`UPDATE delivery_bands SET fee_paise = 3100 WHERE up_to_metres = 3000`)
	b.get("/policies/delivery").shows("policy", "Up to 3.0 km: ₹31")
	b.get("/policies/refunds").shows("policy", "UPI 2–7 working days").shows("policy", "₹100 for each further day")
	b.get("/policies/terms").shows("policy", "held for you for 15 minutes").shows("policy", "GST of 5%")
	b.get("/policies/privacy").shows("policy", "after 7 days").shows("policy", "after 90")
	b.get("/policies/none").is(404)
	b.get("/policies/terms?outlet=none").is(404)
}

// Installable, and found: the manifest's icons exist, the worker and the offline page hold nothing of anybody's, the sitemap leads to pages.
func TestInstallable(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	b := s.visitor()
	var manifest struct {
		Name, Display string
		StartURL      string `json:"start_url"`
		Icons         []struct{ Src, Sizes, Purpose string }
	}
	must(t, json.Unmarshal([]byte(b.get("/manifest.webmanifest").is(200).body), &manifest))
	if manifest.Name != "Kesar Kitchen" || manifest.Display != "standalone" || manifest.StartURL != "/?source=app" || len(manifest.Icons) != 3 {
		t.Errorf("%+v", manifest)
	}
	for _, icon := range manifest.Icons {
		if a := b.get(icon.Src).is(200); a.header.Get("Content-Type") != "image/png" {
			t.Errorf("%s is %s", icon.Src, a.header.Get("Content-Type"))
		}
	}
	stranger := s.visitor()
	worker := stranger.get("/sw.js").is(200)
	if worker.header.Get("Cache-Control") != "no-cache" || !strings.Contains(worker.body, `["/offline","/static/app.`) || worker.header.Get("Set-Cookie") != "" {
		t.Errorf("worker: %v %s", worker.header, worker.body[:100])
	}
	offline := stranger.get("/offline").is(200)
	if !strings.Contains(offline.body, "tel:+918012345678") || strings.Contains(offline.body, `name="_csrf"`) {
		t.Error("the offline page names no phone, or somebody's session")
	}
	var m sitemap
	must(t, xml.Unmarshal([]byte(stranger.get("/sitemap.xml").is(200).body), &m))
	if len(m.URLs) < 45 {
		t.Errorf("%d pages in the sitemap", len(m.URLs))
	}
	for _, u := range m.URLs {
		address, err := url.Parse(u.Loc)
		if err != nil || !strings.HasPrefix(u.Loc, publicURL) {
			t.Fatalf("%s: %v", u.Loc, err)
		}
		stranger.get(address.RequestURI()).is(200)
	}
	if robots := b.get("/robots.txt").is(200).body; !strings.Contains(robots, "Sitemap: "+publicURL+"/sitemap.xml") {
		t.Error(robots)
	}
	var restaurant struct {
		Type    string `json:"@type"`
		HasMenu struct {
			HasMenuSection []struct{ HasMenuItem []struct{ Name string } }
		}
	}
	page := b.get("/").is(200).body
	_, data, _ := strings.Cut(page, `<script type="application/ld+json">`)
	data, _, _ = strings.Cut(data, "</script>")
	must(t, json.Unmarshal([]byte(data), &restaurant))
	if restaurant.Type != "Restaurant" || len(restaurant.HasMenu.HasMenuSection) < 5 || len(restaurant.HasMenu.HasMenuSection[0].HasMenuItem) == 0 {
		t.Errorf("structured data: %+v", restaurant)
	}
	if !strings.Contains(page, `<meta property="og:image" content="`+publicURL+`/static/icon-512.`) {
		t.Error("no picture to share")
	}
}

// The owner fills in what customers are told; a cook cannot, nothing wrong is stored, and the next page says what was saved.
func TestStaffOutlet(t *testing.T) {
	t.Parallel()
	k := openKitchen(t, nil)
	b := k.signedIn(k.staff("vikram", "Vikram", "manager", k.outlet.ID))
	page := b.get("/staff/outlet").is(200)
	page.says("outlet-form", "Legal name", "Grievance officer")
	good := []string{"outlet", "kesar-kitchen", "legal_name", "Kesar Foods LLP", "address", "14, 100 Feet Road", "pin", "560 038", "phone", "+91 80 1234 5678", "email", "hello@kesar.example",
		"fssai", "1002 0043 001234", "gstin", "29abcde1234f1zw", "grievance_name", "Asha Rao", "grievance_contact", "98450 12345"}
	for field, wrong := range map[string]string{"address": "", "pin": "12", "phone": "call us", "email": "here", "fssai": "12", "gstin": "29ABCDE1234F1ZX"} {
		sent := append([]string{}, good...)
		for i := 0; i < len(sent); i += 2 {
			if sent[i] == field {
				sent[i+1] = wrong
			}
		}
		b.post("/staff/outlet", sent...).is(422).says("error-"+field, "")
	}
	b.post("/staff/outlet", append(good, "price", "1")...).is(400)
	if n := k.count(`SELECT count(*) FROM outlets WHERE legal_name = 'Kesar Kitchen Foods LLP'`); n != 1 {
		t.Error("something wrong was stored")
	}
	b.post("/staff/outlet", good...).is(303).leads("/staff/outlet?done=saved")
	b.get("/staff/outlet?done=saved").is(200).says("notice", "Saved")
	if n := k.count(`SELECT count(*) FROM outlets WHERE address = '14, 100 Feet Road' AND pin = '560038' AND phone = '+918012345678' AND fssai = '10020043001234' AND gstin = '29ABCDE1234F1ZW'`); n != 1 {
		t.Error("not stored as typed")
	}
	if n := k.count(`SELECT count(*) FROM audit WHERE action = 'save_contacts'`); n != 1 {
		t.Errorf("%d lines in the audit", n)
	}
	k.signedIn(k.staff("chetan", "Chetan", "kitchen", k.outlet.ID)).get("/staff/outlet").is(403)
}
