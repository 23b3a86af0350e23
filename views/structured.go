package views

import (
	"encoding/json"
	"fmt"

	"github.com/a-h/templ"

	"tiffin/models"
)

// structured tells search engines what the page is, in schema.org's words: the restaurant, its menu, what can be had at which price.
// JSON escapes what could end the element, so a dish's name cannot.
func structured(v MenuView) templ.Component {
	o := v.Page.Outlet
	var sections []map[string]any
	for _, c := range v.Menu.Categories {
		var items []map[string]any
		for _, i := range c.Items {
			item := map[string]any{"@type": "MenuItem", "name": i.Name, "offers": map[string]any{"@type": "Offer", "priceCurrency": "INR", "price": plainRupees(i.FromPaise())}}
			if i.Description != "" {
				item["description"] = i.Description
			}
			if i.Mark == "veg" {
				item["suitableForDiet"] = "https://schema.org/VegetarianDiet"
			}
			items = append(items, item)
		}
		sections = append(sections, map[string]any{"@type": "MenuSection", "name": c.Name, "hasMenuItem": items})
	}
	data := map[string]any{"@context": "https://schema.org", "@type": "Restaurant", "name": o.Name, "telephone": o.Phone, "currenciesAccepted": "INR",
		"address": map[string]any{"@type": "PostalAddress", "streetAddress": o.Address, "postalCode": o.PIN, "addressCountry": "IN"},
		"hasMenu": map[string]any{"@type": "Menu", "hasMenuSection": sections}}
	if o.LatitudeE6 != nil && o.LongitudeE6 != nil {
		data["geo"] = map[string]any{"@type": "GeoCoordinates", "latitude": degrees(*o.LatitudeE6), "longitude": degrees(*o.LongitudeE6)}
	}
	if v.Rating.IsKnown() { // of real reviews, or not at all
		data["aggregateRating"] = map[string]any{"@type": "AggregateRating", "ratingValue": json.Number(tenths(v.Rating)), "reviewCount": v.Rating.Count, "bestRating": 5, "worstRating": 1}
	}
	text, err := json.Marshal(data)
	if err != nil {
		return templ.NopComponent // plain data always has a JSON form
	}
	return templ.Raw(`<script type="application/ld+json">` + string(text) + `</script>`)
}

// plainRupees is an amount as machines read it: 289.00.
func plainRupees(p models.Paise) string { return fmt.Sprintf("%d.%02d", p/100, p%100) }

func degrees(e6 int) json.Number {
	sign := ""
	if e6 < 0 {
		sign, e6 = "-", -e6
	}
	return json.Number(fmt.Sprintf("%s%d.%06d", sign, e6/1_000_000, e6%1_000_000))
}
