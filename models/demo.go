package models

import (
	"context"
	"fmt"
)

// LoadDemo fills a database that has no outlet yet with a demo restaurant, Kesar Kitchen: hours, rates, fees, delivery tariff and a menu
// that shows every kind of dish. Name, numbers and prices are made up. loaded is false, and nothing is written, when there is an outlet
// already. Safe to repeat, and from several processes at once. Errors: only the database's.
func (s *Store) LoadDemo(ctx context.Context) (loaded bool, err error) {
	err = s.InTx(ctx, func(tx *Store) error {
		loaded = false
		// The lock is the table's own: whoever looks whether there is an outlet waits for whoever is making one.
		if err := tx.exec(ctx, `LOCK TABLE outlets IN SHARE ROW EXCLUSIVE MODE`).Error; err != nil {
			return fmt.Errorf("demo: %w", err)
		}
		var settled bool
		if err := tx.one(ctx, &settled, `SELECT EXISTS (SELECT 1 FROM outlets)`); err != nil || settled {
			return err
		}
		var outletID int64
		if err := tx.one(ctx, &outletID, `INSERT INTO outlets (slug, name, tagline, legal_name, address, pin, phone, email, latitude_e6, longitude_e6,
				gstin, fssai, grievance_name, grievance_contact, prep_minutes, delivery_minutes, last_order_minutes, hold_minutes)
			VALUES ('kesar-kitchen', 'Kesar Kitchen', 'Charcoal, copper and slow curries in Indiranagar', 'Kesar Kitchen Foods LLP',
				'12, 100 Feet Road, Indiranagar, Bengaluru', '560038', '+918012345678', 'hello@kesarkitchen.example', 12971900, 77641200,
				'29ABCDE1234F1ZW', '10020043001234', 'Meera Iyer, manager', 'care@kesarkitchen.example', 20, 15, 0, 15) RETURNING id`); err != nil {
			return fmt.Errorf("demo outlet: %w", err)
		}
		if err := tx.loadDemoTariff(ctx, outletID); err != nil {
			return fmt.Errorf("demo tariff: %w", err)
		}
		if err := tx.loadDemoMenu(ctx, outletID); err != nil {
			return fmt.Errorf("demo menu: %w", err)
		}
		if err := tx.loadDemoMore(ctx, outletID); err != nil {
			return fmt.Errorf("demo menu: %w", err)
		}
		loaded = true
		return nil
	})
	return loaded && err == nil, err
}

// loadDemoTariff writes hours, rates, fees and distances. All have begun long ago.
func (s *Store) loadDemoTariff(ctx context.Context, outletID int64) error {
	const begun = "2020-01-01"
	for _, step := range []struct {
		text string
		args []any
	}{
		// From 04:00 to 04:00 with no last-order time: whenever somebody tries the demo, it is open.
		{`INSERT INTO outlet_hours (outlet_id, weekday, opens_minute, closes_minute) SELECT ?, day, 240, 1680 FROM generate_series(0, 6) day`, []any{outletID}},
		{`INSERT INTO tax_rates (tax_class, starts_at, cgst_bp, sgst_bp) VALUES ('restaurant', ?, 250, 250) ON CONFLICT DO NOTHING`, []any{begun}},
		{`INSERT INTO packaging_fees (outlet_id, starts_at, per_order_paise, per_piece_paise) VALUES (?, ?, 500, 250)`, []any{outletID, begun}},
		{`INSERT INTO delivery_bands (outlet_id, starts_at, up_to_metres, fee_paise, minimum_paise, free_above_paise)
			SELECT ?, ?::timestamptz, band.* FROM (VALUES (3000, 2900, 14900, 49900), (5000, 3900, 19900, 49900), (8000, 5900, 29900, 79900)) band`, []any{outletID, begun}},
		{`INSERT INTO delivery_pins (outlet_id, pin, distance_metres) SELECT ?, place.* FROM (VALUES
			('560038', 1200), ('560008', 2100), ('560075', 2600), ('560071', 2900), ('560017', 3400), ('560093', 3900), ('560042', 4100),
			('560033', 4300), ('560001', 4700), ('560025', 4800), ('560005', 4900), ('560047', 5100), ('560095', 5400), ('560084', 5600),
			('560034', 6000), ('560030', 6300), ('560016', 6700), ('560043', 7200), ('560037', 7600), ('560102', 8900), ('560066', 13400)) place`, []any{outletID}},
		{`INSERT INTO coupons (outlet_id, code, amount_paise, minimum_paise, per_person) VALUES (?, 'KESAR100', 10000, 49900, 5)`, []any{outletID}},
		{`INSERT INTO coupons (outlet_id, code, percent_bp, at_most_paise, first_order) VALUES (?, 'WELCOME20', 2000, 12000, true)`, []any{outletID}},
	} {
		if err := s.exec(ctx, step.text, step.args...).Error; err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) loadDemoMenu(ctx context.Context, outletID int64) error {
	for position, c := range demoMenu {
		var categoryID int64
		if err := s.one(ctx, &categoryID, `INSERT INTO categories (outlet_id, slug, name, tint, position) VALUES (?, ?, ?, ?, ?) RETURNING id`,
			outletID, c.slug, c.name, c.tint, position); err != nil {
			return fmt.Errorf("category %s: %w", c.slug, err)
		}
		for position, i := range c.items {
			if i.art == "" {
				i.art = i.slug
			}
			var itemID int64
			if err := s.one(ctx, &itemID, `INSERT INTO items (outlet_id, category_id, slug, name, description, mark, art, tint, price_paise, bestseller, spice, daily_limit, available, position)
				VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULLIF(?::int, 0), ?, ?) RETURNING id`,
				outletID, categoryID, i.slug, i.name, i.text, i.mark, i.art, i.tint, i.price, i.best, i.spice, i.limit, !i.off, position); err != nil {
				return fmt.Errorf("dish %s: %w", i.slug, err)
			}
			for position, g := range i.groups {
				if err := s.loadDemoGroup(ctx, itemID, position, g); err != nil {
					return fmt.Errorf("%s of dish %s: %w", g.name, i.slug, err)
				}
			}
		}
	}
	return nil
}

func (s *Store) loadDemoGroup(ctx context.Context, itemID int64, position int, g demoGroup) error {
	var groupID int64
	if err := s.one(ctx, &groupID, `INSERT INTO option_groups (item_id, name, kind, min_pick, max_pick, position) VALUES (?, ?, ?, ?, ?, ?) RETURNING id`,
		itemID, g.name, g.kind, g.min, g.max, position); err != nil {
		return err
	}
	for position, o := range g.options {
		if o.mark == "" {
			o.mark = "veg"
		}
		if err := s.exec(ctx, `INSERT INTO options (group_id, name, price_paise, mark, position) VALUES (?, ?, ?, ?, ?)`,
			groupID, o.name, o.price, o.mark, position).Error; err != nil {
			return err
		}
	}
	return nil
}

type demoCategory struct {
	slug, name, tint string
	items            []demoItem
}

type demoItem struct {
	slug, name string
	price      Paise
	mark, text string
	art        string // empty: drawn under its own slug
	tint       string // empty: the category's
	spice      int
	limit      int // pieces a day; 0: as many as are wanted
	best, off  bool
	groups     []demoGroup
}

type demoGroup struct {
	name, kind string
	min, max   int
	options    []demoOption
}

type demoOption struct {
	name  string
	price Paise
	mark  string // empty: veg
}

func demoPortions(half, full Paise) demoGroup {
	return demoGroup{"Portion", "variant", 1, 1, []demoOption{{name: "Half", price: half}, {name: "Full", price: full}}}
}

var demoSpice = demoGroup{"How spicy", "addon", 1, 1, []demoOption{{name: "Mild"}, {name: "Medium"}, {name: "Hot"}}}

var demoMenu = []demoCategory{
	{"starters", "Starters", "starter", []demoItem{
		{slug: "paneer-tikka", name: "Paneer Tikka", price: 28900, mark: "veg", best: true,
			text:   "Malai paneer, peppers and onion in a mustard-yoghurt marinade, straight off the charcoal. Eight pieces.",
			groups: []demoGroup{{"Dips", "addon", 0, 2, []demoOption{{name: "Mint chutney", price: 2000}, {name: "Tamarind chutney", price: 2000}, {"Garlic mayonnaise", 3000, "egg"}}}}},
		{slug: "chicken-tikka", name: "Chicken Tikka", price: 32900, mark: "nonveg", spice: 1,
			text: "Boneless thigh, Kashmiri chilli, smoked over charcoal. Mint chutney on the side."},
		{slug: "tandoori-chicken", name: "Tandoori Chicken", price: 49900, mark: "nonveg", spice: 2, limit: 12,
			text: "On the bone, marinated overnight, twice through the tandoor. Lemon and raw onion.", groups: []demoGroup{demoPortions(28900, 49900)}},
		{slug: "seekh-kebab", name: "Mutton Seekh Kebab", price: 38900, mark: "nonveg", spice: 3,
			text: "Minced mutton, coriander root and black cardamom on the skewer."},
		{slug: "hara-bhara-kebab", name: "Hara Bhara Kebab", price: 18900, mark: "veg", art: "dish", tint: "green",
			text: "Spinach, green peas and potato patties with a cashew on top. Six pieces."},
		{slug: "samosa", name: "Punjabi Samosa", price: 9900, mark: "veg",
			text: "Two hand-folded samosas, spiced potato and pea filling, green and tamarind chutney."},
		{slug: "pakora", name: "Onion Pakora", price: 12900, mark: "veg", text: "Crisp onion fritters in gram flour with ajwain and green chilli."},
		{slug: "chaat", name: "Dahi Papdi Chaat", price: 11900, mark: "veg", text: "Crisp papdi, chickpeas, sweet curd, sev and pomegranate."},
		{slug: "soup", name: "Tomato Dhaniya Shorba", price: 13900, mark: "veg", spice: 1, text: "Roasted tomato soup with coriander stems and cumin."},
	}},
	{"curries", "Curries", "curry", []demoItem{
		{slug: "butter-chicken", name: "Butter Chicken", price: 34900, mark: "nonveg", best: true, spice: 1,
			text: "Charred tandoori chicken in slow-cooked tomato, white butter and kasuri methi. Serves 1–2.",
			groups: []demoGroup{demoPortions(21900, 34900), demoSpice,
				{"Extras", "addon", 0, 3, []demoOption{{name: "Extra gravy", price: 6000}, {name: "Extra butter", price: 2000}, {"Boiled egg", 2500, "egg"}, {"Extra chicken", 9000, "nonveg"}}}}},
		{slug: "paneer-butter-masala", name: "Paneer Butter Masala", price: 29900, mark: "veg",
			text: "House paneer in a tomato and cashew gravy.", groups: []demoGroup{demoPortions(18900, 29900), demoSpice}},
		{slug: "palak-paneer", name: "Palak Paneer", price: 27900, mark: "veg", tint: "green", text: "Fresh spinach, garlic tadka and soft house paneer."},
		{slug: "kadhai-paneer", name: "Kadhai Paneer", price: 28900, mark: "veg", art: "paneer-butter-masala", spice: 2,
			text: "Paneer and peppers tossed with crushed coriander and red chilli."},
		{slug: "dal-makhani", name: "Dal Makhani", price: 24900, mark: "veg", text: "Black lentils simmered overnight, finished with butter and cream."},
		{slug: "dal-tadka", name: "Dal Tadka", price: 19900, mark: "veg", spice: 1, text: "Yellow lentils, ghee, cumin, garlic and a whole red chilli."},
		{slug: "chole", name: "Amritsari Chole", price: 21900, mark: "veg", spice: 2, text: "Chickpeas cooked dark with tea, dried amla and pomegranate seed."},
		{slug: "malai-kofta", name: "Malai Kofta", price: 28900, mark: "veg", text: "Paneer and potato dumplings with raisins, in a pale cardamom gravy."},
		{slug: "mixed-veg", name: "Mixed Vegetable Curry", price: 22900, mark: "veg", tint: "green", text: "Beans, carrot, cauliflower and peas in a light onion masala."},
		{slug: "rogan-josh", name: "Rogan Josh", price: 41900, mark: "nonveg", spice: 2, off: true, text: "Kashmiri lamb curry, ratan jot and fennel."},
		{slug: "fish-curry", name: "Malabar Fish Curry", price: 38900, mark: "nonveg", spice: 2, limit: 15, text: "Seer fish in coconut milk with kokum and curry leaf."},
		{slug: "egg-curry", name: "Egg Curry", price: 22900, mark: "egg", spice: 1, text: "Two boiled eggs in a home-style onion and tomato gravy. Contains egg."},
	}},
	{"biryani-rice", "Biryani & rice", "rice", []demoItem{
		{slug: "biryani", name: "Hyderabadi Chicken Biryani", price: 33900, mark: "nonveg", best: true, spice: 2,
			text: "Dum-cooked long-grain rice, saffron, fried onions. With raita and salan.",
			groups: []demoGroup{demoPortions(21900, 33900),
				{"Extras", "addon", 0, 3, []demoOption{{"Boiled egg", 2500, "egg"}, {name: "Extra raita", price: 3000}, {name: "Extra salan", price: 3000}, {name: "Fried onions", price: 2000}}}}},
		{slug: "veg-biryani", name: "Subz Dum Biryani", price: 26900, mark: "veg", spice: 1, text: "Seasonal vegetables, paneer and saffron rice, sealed and steamed.",
			groups: []demoGroup{demoPortions(16900, 26900), {"Extras", "addon", 0, 2, []demoOption{{name: "Extra raita", price: 3000}, {name: "Fried onions", price: 2000}}}}},
		{slug: "thali", name: "Kesar Thali", price: 34900, mark: "veg", best: true, limit: 20,
			text: "Dal, two vegetables, paneer, rice, two rotis, raita, papad and a sweet.",
			groups: []demoGroup{{"Drink", "addon", 1, 1, []demoOption{{name: "Sweet lassi"}, {name: "Masala chai"}, {name: "Mango lassi", price: 3000}}},
				{"Toppings", "addon", 0, 3, []demoOption{{name: "Extra ghee", price: 1500}, {name: "Extra papad", price: 1500}, {name: "Pickle", price: 1000}, {name: "Extra sweet", price: 4000}}}}},
		{slug: "jeera-rice", name: "Jeera Rice", price: 15900, mark: "veg", text: "Basmati with cumin and ghee."},
		{slug: "lemon-rice", name: "Lemon Rice", price: 13900, mark: "veg", art: "jeera-rice", text: "Turmeric rice with lemon, peanuts and curry leaf."},
	}},
	{"breads", "Breads", "bread", []demoItem{
		{slug: "naan", name: "Butter Naan", price: 5900, mark: "veg", text: "Soft leavened bread from the tandoor, brushed with butter."},
		{slug: "garlic-naan", name: "Garlic Naan", price: 6900, mark: "veg", text: "With garlic and coriander leaf."},
		{slug: "roti", name: "Tandoori Roti", price: 3500, mark: "veg", text: "Whole-wheat bread, plain or with ghee.",
			groups: []demoGroup{{"Finish", "addon", 0, 1, []demoOption{{name: "Ghee", price: 500}}}}},
		{slug: "paratha", name: "Laccha Paratha", price: 6500, mark: "veg", text: "Flaky layers, crisp outside."},
		{slug: "aloo-paratha", name: "Aloo Paratha", price: 9900, mark: "veg", art: "paratha", text: "Filled with spiced potato. With curd and pickle."},
	}},
	{"south-indian", "South Indian", "south", []demoItem{
		{slug: "masala-dosa", name: "Masala Dosa", price: 14900, mark: "veg", best: true, text: "Crisp rice crêpe, potato palya, coconut chutney and sambar.",
			groups: []demoGroup{{"Make it yours", "addon", 0, 3, []demoOption{{name: "Ghee roast", price: 2500}, {name: "Gunpowder podi", price: 1500}, {name: "Cheese", price: 4000}, {name: "Extra sambar", price: 2000}}}}},
		{slug: "mysore-masala-dosa", name: "Mysore Masala Dosa", price: 16900, mark: "veg", art: "masala-dosa", spice: 2, text: "With red garlic chutney spread inside."},
		{slug: "idli-vada", name: "Idli Vada", price: 12900, mark: "veg", text: "Two idlis and a vada with sambar and two chutneys."},
		{slug: "curd-vada", name: "Curd Vada", price: 11900, mark: "veg", art: "idli-vada", text: "Two vadas in spiced curd with mustard and coriander."},
	}},
	{"sweets", "Sweets", "sweet", []demoItem{
		{slug: "gulab-jamun", name: "Gulab Jamun", price: 12900, mark: "veg", best: true, text: "Three, warm, in cardamom syrup."},
		{slug: "rasmalai", name: "Rasmalai", price: 14900, mark: "veg", limit: 15, text: "Two soft chenna discs in saffron milk."},
		{slug: "kheer", name: "Rice Kheer", price: 11900, mark: "veg", text: "Slow-cooked rice pudding with almonds and pistachio."},
		{slug: "gajar-halwa", name: "Gajar Halwa", price: 13900, mark: "veg", text: "Red carrots, milk and ghee, with cashew."},
		{slug: "jalebi", name: "Jalebi", price: 9900, mark: "veg", text: "Fried to order, soaked in saffron syrup."},
		{slug: "kulfi", name: "Malai Kulfi", price: 10900, mark: "veg", text: "Frozen thickened milk with pistachio, on a stick."},
	}},
	{"drinks", "Drinks", "drink", []demoItem{
		{slug: "lassi", name: "Sweet Lassi", price: 9900, mark: "veg", text: "Thick curd, sugar and a pinch of saffron.",
			groups: []demoGroup{{"Size", "variant", 1, 1, []demoOption{{name: "Regular", price: 9900}, {name: "Large", price: 13900}}}}},
		{slug: "mango-lassi", name: "Mango Lassi", price: 12900, mark: "veg", best: true, text: "Ratnagiri Alphonso and house curd."},
		{slug: "masala-chai", name: "Masala Chai", price: 4900, mark: "veg", text: "Ginger, cardamom and clove, boiled with milk."},
		{slug: "lime-soda", name: "Fresh Lime Soda", price: 7900, mark: "veg", text: "Lime, soda and black salt.",
			groups: []demoGroup{{"Taste", "addon", 1, 1, []demoOption{{name: "Sweet"}, {name: "Salt"}, {name: "Sweet and salt"}}}}},
	}},
	{"sides", "Sides", "green", []demoItem{
		{slug: "raita", name: "Boondi Raita", price: 6900, mark: "veg", text: "Curd with crisp gram pearls and roasted cumin."},
		{slug: "salad", name: "Kachumber Salad", price: 7900, mark: "veg", text: "Cucumber, tomato, onion and lemon."},
		{slug: "papad", name: "Masala Papad", price: 3500, mark: "veg", spice: 1, text: "Roasted papad with onion, tomato and chilli."},
		{slug: "chutney", name: "Chutney Trio", price: 4900, mark: "veg", text: "Mint, tamarind and garlic."},
	}},
}
