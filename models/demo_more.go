package models

import (
	"context"
	"fmt"
)

// loadDemoMore says of the demo's dishes what their rows do not: other names, diet, allergens, portion, times, a special price, the parts
// of the thali, and a choice with stock of its own.
func (s *Store) loadDemoMore(ctx context.Context, outletID int64) error {
	for _, a := range demoAliases {
		if err := s.exec(ctx, `INSERT INTO item_aliases (item_id, alias) SELECT id, unnest(?::text[]) FROM items WHERE outlet_id = ? AND slug = ?`, textArray(a.names), outletID, a.slug).Error; err != nil {
			return fmt.Errorf("other names of %s: %w", a.slug, err)
		}
	}
	for _, f := range demoAllergens {
		if err := s.exec(ctx, `UPDATE items SET allergens = array_append(allergens, ?) WHERE outlet_id = ? AND slug = ANY (?::text[])`, f.word, outletID, textArray(f.slugs)).Error; err != nil {
			return fmt.Errorf("%s: %w", f.word, err)
		}
	}
	const ofOutlet = `g.id = options.group_id AND i.id = g.item_id AND i.outlet_id = ?`
	for _, step := range []struct {
		text string
		args []any
	}{
		{`UPDATE items SET jain = true WHERE outlet_id = ? AND slug = ANY ('{jeera-rice,naan,roti,gulab-jamun,rasmalai,kheer,jalebi,kulfi,lassi,mango-lassi,masala-chai,lime-soda,raita,papad}'::text[])`, []any{outletID}},
		{`UPDATE options SET jain = true FROM option_groups g, items i WHERE ` + ofOutlet + ` AND options.mark = 'veg' AND i.jain`, []any{outletID}},
		{`UPDATE options SET allergens = '{egg}' FROM option_groups g, items i WHERE ` + ofOutlet + ` AND options.mark = 'egg'`, []any{outletID}},
		{`UPDATE options SET allergens = '{milk}' FROM option_groups g, items i WHERE ` + ofOutlet + ` AND options.name = ANY ('{"Extra butter","Extra raita","Extra ghee",Ghee,"Ghee roast",Cheese}'::text[])`, []any{outletID}},
		{`UPDATE items SET calories = 410 WHERE outlet_id = ? AND slug = 'paneer-tikka'`, []any{outletID}},
		{`UPDATE items SET calories = 640 WHERE outlet_id = ? AND slug = 'butter-chicken'`, []any{outletID}},
		{`UPDATE items SET portion = 'Serves 1', calories = 1240 WHERE outlet_id = ? AND slug = 'thali'`, []any{outletID}},
		// Rice for lunch: whoever looks in the evening sees a dish that is not served then.
		{`INSERT INTO menu_windows (item_id, opens_minute, closes_minute) SELECT id, 660, 960 FROM items WHERE outlet_id = ? AND slug = 'lemon-rice'`, []any{outletID}},
		{`INSERT INTO special_prices (item_id, price_paise, starts_at, ends_at) SELECT id, 7900, '2020-01-01', '2100-01-01' FROM items WHERE outlet_id = ? AND slug = 'jalebi'`, []any{outletID}},
		{`UPDATE options SET daily_limit = 12 FROM option_groups g, items i WHERE ` + ofOutlet + ` AND i.slug = 'lassi' AND options.name = 'Large'`, []any{outletID}},
		{`INSERT INTO item_parts (item_id, part_item_id, qty) SELECT thali.id, part.id, p.qty FROM items thali,
			(VALUES ('dal-tadka', 1), ('jeera-rice', 1), ('roti', 2), ('raita', 1), ('papad', 1), ('gulab-jamun', 1)) p (slug, qty) JOIN items part ON part.slug = p.slug
			WHERE thali.outlet_id = ? AND part.outlet_id = thali.outlet_id AND thali.slug = 'thali'`, []any{outletID}},
		{`INSERT INTO item_parts (item_id, option_id, part_item_id) SELECT thali.id, o.id, part.id FROM items thali JOIN option_groups g ON g.item_id = thali.id JOIN options o ON o.group_id = g.id,
			(VALUES ('Masala chai', 'masala-chai'), ('Mango lassi', 'mango-lassi')) p (name, slug) JOIN items part ON part.slug = p.slug
			WHERE thali.outlet_id = ? AND part.outlet_id = thali.outlet_id AND thali.slug = 'thali' AND o.name = p.name`, []any{outletID}},
		{`INSERT INTO item_parts (item_id, option_id, part_item_id, part_option_id) SELECT thali.id, o.id, lassi.id, size.id FROM items thali JOIN option_groups g ON g.item_id = thali.id JOIN options o ON o.group_id = g.id,
			items lassi JOIN option_groups h ON h.item_id = lassi.id JOIN options size ON size.group_id = h.id
			WHERE thali.outlet_id = ? AND lassi.outlet_id = thali.outlet_id AND thali.slug = 'thali' AND o.name = 'Sweet lassi' AND lassi.slug = 'lassi' AND size.name = 'Regular'`, []any{outletID}},
	} {
		if err := s.exec(ctx, step.text, step.args...).Error; err != nil {
			return err
		}
	}
	return nil
}

var demoAliases = []struct {
	slug  string
	names []string
}{
	{"paneer-tikka", []string{"पनीर टिक्का", "cottage cheese tikka"}}, {"butter-chicken", []string{"मुर्ग मखनी", "murgh makhani", "बटर चिकन"}},
	{"chicken-tikka", []string{"मुर्ग टिक्का", "murgh tikka"}}, {"tandoori-chicken", []string{"तंदूरी मुर्ग", "tandoori murgh"}}, {"samosa", []string{"समोसा"}},
	{"pakora", []string{"पकोड़ा", "bhajia", "bhaji", "pyaz pakoda"}}, {"chaat", []string{"चाट", "papri chat"}}, {"paneer-butter-masala", []string{"पनीर मक्खनी", "paneer makhani"}},
	{"palak-paneer", []string{"पालक पनीर", "saag paneer"}}, {"dal-makhani", []string{"दाल मखनी", "black dal", "kaali dal"}}, {"dal-tadka", []string{"दाल तड़का", "yellow dal", "peeli dal"}},
	{"chole", []string{"छोले", "chana masala", "chickpeas"}}, {"rogan-josh", []string{"रोगन जोश", "lamb", "mutton curry"}}, {"fish-curry", []string{"मछली करी", "machli", "meen"}},
	{"egg-curry", []string{"अंडा करी", "anda curry"}}, {"biryani", []string{"बिरयानी", "murgh biryani"}}, {"veg-biryani", []string{"सब्ज़ बिरयानी", "vegetable biryani"}},
	{"thali", []string{"थाली", "meal", "combo"}}, {"jeera-rice", []string{"जीरा चावल", "cumin rice", "chawal"}}, {"naan", []string{"नान"}}, {"roti", []string{"रोटी", "chapati", "phulka"}},
	{"aloo-paratha", []string{"आलू पराठा", "potato paratha"}}, {"masala-dosa", []string{"मसाला डोसा", "dosai"}}, {"idli-vada", []string{"इडली वडा", "medu vada"}},
	{"gulab-jamun", []string{"गुलाब जामुन"}}, {"kheer", []string{"खीर", "payasam"}}, {"gajar-halwa", []string{"गाजर का हलवा", "carrot halwa"}}, {"jalebi", []string{"जलेबी"}},
	{"lassi", []string{"लस्सी"}}, {"masala-chai", []string{"चाय", "tea"}}, {"lime-soda", []string{"नींबू सोडा", "nimbu soda", "shikanji"}}, {"raita", []string{"रायता", "curd", "dahi"}},
}

var demoAllergens = []struct {
	word  string
	slugs []string
}{
	{"gluten", []string{"samosa", "chaat", "naan", "garlic-naan", "roti", "paratha", "aloo-paratha", "gulab-jamun", "jalebi"}},
	{"milk", []string{"paneer-tikka", "chicken-tikka", "tandoori-chicken", "chaat", "butter-chicken", "paneer-butter-masala", "palak-paneer", "kadhai-paneer", "dal-makhani", "dal-tadka", "malai-kofta",
		"veg-biryani", "jeera-rice", "naan", "garlic-naan", "curd-vada", "gulab-jamun", "rasmalai", "kheer", "gajar-halwa", "kulfi", "lassi", "mango-lassi", "masala-chai", "raita"}},
	{"nuts", []string{"hara-bhara-kebab", "paneer-butter-masala", "malai-kofta", "kheer", "gajar-halwa", "kulfi", "rasmalai"}},
	{"peanuts", []string{"lemon-rice"}}, {"fish", []string{"fish-curry"}}, {"egg", []string{"egg-curry"}},
}
