package views

import (
	"strings"
	"time"

	"tiffin/models"
)

// One evening at a made-up restaurant: what the pages in the tests show.

var evening = time.Date(2026, 11, 30, 19, 45, 0, 0, india)

func sampleOutlet() models.Outlet {
	return models.Outlet{
		ID: 1, Slug: "kesar-kitchen", Name: "Kesar Kitchen", Tagline: "Charcoal, copper and slow curries in Indiranagar", LegalName: "Kesar Kitchen Foods LLP",
		Address: "12, 100 Feet Road, Indiranagar, Bengaluru", PIN: "560038", Phone: "+918012345678", Email: "hello@kesarkitchen.example", GrievanceName: "Meera Iyer, manager", GrievanceContact: "care@kesarkitchen.example", GSTIN: "29ABCDE1234F1Z5", FSSAI: "10020043001234",
		TaxMode: "regular", RoundsToRupee: true, AcceptsOrders: true, OffersDelivery: true, OffersPickup: true,
		PrepMinutes: 20, DeliveryMinutes: 20, LastOrderMinutes: 15, HoldMinutes: 15, Active: true,
	}
}

func samplePage(title string) Page {
	return Page{Title: title, Outlet: sampleOutlet(), MenuURL: "/", CSRF: "token-of-the-session", TestMode: true, Now: evening}
}

func sampleOpening() models.Opening {
	day := time.Date(2026, 11, 30, 0, 0, 0, 0, india)
	return models.Opening{Open: true, Window: models.Window{ServiceOn: time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC), OpensAt: day.Add(17*time.Hour + 30*time.Minute), LastOrderAt: day.Add(22*time.Hour + 45*time.Minute), ClosesAt: day.Add(23 * time.Hour)}}
}

func sampleClosed() models.Opening {
	return models.Opening{Reason: "closed", Next: models.Window{OpensAt: time.Date(2026, 11, 30, 20, 30, 0, 0, india)}}
}

func sampleMenu() models.Menu {
	type row struct {
		slug, name, mark string
		paise            models.Paise
		description      string
	}
	sections := []struct {
		slug, name, tint string
		rows             []row
	}{
		{"starters", "Starters", "starter", []row{
			{"paneer-tikka", "Paneer Tikka", "veg", 28900, "Malai paneer, peppers and onion in a mustard-yoghurt marinade, straight off the charcoal. Eight pieces."},
			{"chicken-tikka", "Chicken Tikka", "nonveg", 32900, "Boneless thigh, Kashmiri chilli, smoked over charcoal. Mint chutney on the side."},
			{"samosa", "Punjabi Samosa", "veg", 9900, "Two hand-folded samosas, spiced potato and pea filling, green and tamarind chutney."},
			{"seekh-kebab", "Mutton Seekh Kebab", "nonveg", 38900, "Minced mutton, coriander root and black cardamom on the skewer."},
			{"tandoori-chicken", "Tandoori Chicken", "nonveg", 36900, "Half a bird, overnight in yoghurt and chilli, blistered in the tandoor."},
			{"pakora", "Onion Pakora", "veg", 12900, "Crisp onion and gram-flour fritters with green chutney."},
			{"chaat", "Papdi Chaat", "veg", 13900, "Crisp wafers, potato, curd, sweet and sharp chutneys."},
			{"soup", "Tomato Shorba", "veg", 11900, "Slow tomato broth with coriander and cream."},
			{"papad", "Masala Papad", "veg", 6900, "Roasted, with onion, tomato and lime."},
		}},
		{"curries", "Curries", "curry", []row{
			{"butter-chicken", "Butter Chicken", "nonveg", 34900, "Charred tandoori chicken in slow-cooked tomato, white butter and kasuri methi. Serves 1–2."},
			{"palak-paneer", "Palak Paneer", "veg", 27900, "Fresh spinach, garlic tadka and soft house paneer."},
			{"dal-makhani", "Dal Makhani", "veg", 24900, "Black lentils simmered overnight, finished with butter and cream."},
			{"rogan-josh", "Rogan Josh", "nonveg", 41900, "Kashmiri lamb curry, ratan jot and fennel."},
			{"paneer-butter-masala", "Paneer Butter Masala", "veg", 29900, "Paneer in a tomato, cashew and butter gravy."},
			{"malai-kofta", "Malai Kofta", "veg", 28900, "Paneer and nut dumplings in a mild cashew gravy."},
			{"chole", "Chole", "veg", 21900, "Chickpeas the Amritsar way, dark with tea and spice."},
			{"dal-tadka", "Dal Tadka", "veg", 19900, "Yellow lentils, ghee, garlic and whole red chilli."},
			{"mixed-veg", "Kadai Vegetables", "veg", 22900, "Seasonal vegetables tossed in a kadai with crushed coriander."},
			{"egg-curry", "Dhaba Egg Curry", "egg", 21900, "Two eggs in an onion and tomato gravy."},
			{"fish-curry", "Malabar Fish Curry", "nonveg", 39900, "Seer fish, coconut and kokum."},
		}},
		{"biryani-rice", "Biryani & rice", "rice", []row{
			{"biryani", "Hyderabadi Chicken Biryani", "nonveg", 33900, "Dum-cooked long-grain rice, saffron, fried onions. With raita and salan."},
			{"veg-biryani", "Subz Dum Biryani", "veg", 26900, "Seasonal vegetables, paneer and saffron rice, sealed and steamed."},
			{"jeera-rice", "Jeera Rice", "veg", 14900, "Basmati with cumin and ghee."},
			{"thali", "Kesar Thali", "veg", 32900, "Two curries, dal, rice, rotis, raita, papad and a sweet."},
		}},
		{"breads", "Breads", "bread", []row{
			{"naan", "Butter Naan", "veg", 5900, ""},
			{"garlic-naan", "Garlic Naan", "veg", 6900, "Garlic, coriander and butter from the tandoor."},
			{"roti", "Tandoori Roti", "veg", 3900, "Whole wheat, no butter unless you ask."},
			{"paratha", "Lachha Paratha", "veg", 6500, "Layered whole-wheat bread."},
		}},
		{"south-indian", "South Indian", "south", []row{
			{"masala-dosa", "Masala Dosa", "veg", 14900, "Crisp rice and lentil crêpe, potato palya, sambar and three chutneys."},
			{"idli-vada", "Idli Vada", "veg", 11900, "Two idlis and a vada with sambar and coconut chutney."},
		}},
		{"sides", "Sides", "green", []row{
			{"raita", "Boondi Raita", "veg", 7900, "Curd, boondi and roasted cumin."},
			{"salad", "Kachumber Salad", "veg", 8900, "Cucumber, tomato, onion and lime."},
			{"chutney", "Chutney Trio", "veg", 4900, "Mint, tamarind and red chilli."},
		}},
		{"sweets", "Sweets", "sweet", []row{
			{"gulab-jamun", "Gulab Jamun", "veg", 12900, "Three, warm, in cardamom syrup."},
			{"rasmalai", "Rasmalai", "veg", 14900, "Soft chenna discs in saffron milk."},
			{"kheer", "Rice Kheer", "veg", 11900, "Slow milk, rice, almond and cardamom."},
			{"gajar-halwa", "Gajar Halwa", "veg", 13900, "Winter carrots, khoya and ghee."},
			{"jalebi", "Jalebi", "veg", 9900, "Crisp spirals in saffron syrup, made to order."},
			{"kulfi", "Kulfi", "veg", 10900, "Pistachio and malai on a stick."},
		}},
		{"drinks", "Drinks", "drink", []row{
			{"mango-lassi", "Mango Lassi", "veg", 12900, "Ratnagiri Alphonso and house curd."},
			{"lassi", "Sweet Lassi", "veg", 9900, "Thick curd, saffron and a little sugar."},
			{"masala-chai", "Masala Chai", "veg", 4900, "Ginger, cardamom, strong Assam leaf."},
			{"lime-soda", "Fresh Lime Soda", "veg", 7900, "Sweet, salted or both."},
			{"dish", "Badam Milk", "veg", 10900, "Almond and saffron, cold."},
		}},
	}
	menu := models.Menu{Outlet: sampleOutlet(), Opening: sampleOpening()}
	next := int64(0)
	for s, section := range sections {
		c := models.Category{ID: int64(s + 1), OutletID: 1, Slug: section.slug, Name: section.name, Tint: section.tint, Position: s}
		for n, r := range section.rows {
			next++
			c.Items = append(c.Items, models.Item{ID: next, OutletID: 1, CategoryID: c.ID, Slug: r.slug, Name: r.name, Description: r.description, Mark: r.mark,
				Art: r.slug, PricePaise: r.paise, TaxClass: "restaurant", Available: true, Position: n})
		}
		menu.Categories = append(menu.Categories, c)
	}
	change := func(slug string, f func(i *models.Item)) {
		for c := range menu.Categories {
			for n := range menu.Categories[c].Items {
				if i := &menu.Categories[c].Items[n]; i.Slug == slug {
					f(i)
				}
			}
		}
	}
	change("paneer-tikka", func(i *models.Item) { i.Bestseller = true })
	change("seekh-kebab", func(i *models.Item) { i.Spice = 2 })
	change("butter-chicken", func(i *models.Item) {
		i.Bestseller = true
		i.Groups = []models.OptionGroup{
			{ID: 1, ItemID: i.ID, Name: "Size", Kind: "variant", MinPick: 1, MaxPick: 1, Options: []models.Option{
				{ID: 1, GroupID: 1, Name: "Half, serves 1", PricePaise: 22900, Mark: "nonveg", Available: true},
				{ID: 2, GroupID: 1, Name: "Full, serves 2", PricePaise: 34900, Mark: "nonveg", Available: true}}},
			{ID: 2, ItemID: i.ID, Name: "Add on", Kind: "addon", MinPick: 0, MaxPick: 2, Options: []models.Option{
				{ID: 3, GroupID: 2, Name: "Extra butter", PricePaise: 2000, Mark: "veg", Available: true},
				{ID: 4, GroupID: 2, Name: "Boiled egg", PricePaise: 2500, Mark: "egg", Available: true},
				{ID: 5, GroupID: 2, Name: "Onion rings", PricePaise: 0, Mark: "veg", Available: false}}},
		}
	})
	change("rogan-josh", func(i *models.Item) {
		until := time.Date(2026, 11, 30, 21, 0, 0, 0, india)
		i.EightySixedUntil, i.BackAt, i.SoldOut = &until, &until, true
	})
	change("biryani", func(i *models.Item) {
		left := 4
		i.Left = &left
		i.Bestseller = true
	})
	for _, slug := range []string{"biryani", "dal-makhani", "masala-dosa", "gulab-jamun"} {
		change(slug, func(i *models.Item) {
			p := *i
			for _, c := range menu.Categories {
				if c.ID == i.CategoryID {
					p.Tint = c.Tint
				}
			}
			menu.Popular = append(menu.Popular, p)
		})
	}
	return menu
}

func sampleItem(slug string) models.Item {
	for _, c := range sampleMenu().Categories {
		for _, i := range c.Items {
			if i.Slug == slug {
				return i
			}
		}
	}
	panic("no sample dish " + slug)
}

// samplePrices is the price list the sample quotes are made from, so that no bill in the tests is invented.
func samplePrices() models.PriceList {
	free := models.Paise(49900)
	list := models.PriceList{OutletID: 1, TaxMode: "regular", RoundsToRupee: true, Items: map[int64]models.Item{},
		TaxRates:  map[string]models.TaxRate{"restaurant": {TaxClass: "restaurant", CGSTBP: 250, SGSTBP: 250}},
		Packaging: models.PackagingFee{PerOrderPaise: 2000, TaxClass: "restaurant"},
		Bands:     []models.DeliveryBand{{UpToMetres: 4000, FeePaise: 3900, MinimumPaise: 19900, FreeAbovePaise: &free, TaxClass: "restaurant"}},
	}
	for _, c := range sampleMenu().Categories {
		for _, i := range c.Items {
			list.Items[i.ID] = i
		}
	}
	return list
}

func sampleCart() models.Cart {
	return models.Cart{ID: 7, OutletID: 1, Lines: []models.CartLine{
		{ID: 71, ItemID: sampleItem("butter-chicken").ID, OptionIDs: []int64{2, 3}, Qty: 2, SeenPaise: 36900},
		{ID: 72, ItemID: sampleItem("chicken-tikka").ID, Qty: 1, SeenPaise: 32900, Note: "no onion – nut allergy 🥜"},
		{ID: 73, ItemID: sampleItem("garlic-naan").ID, Qty: 3, SeenPaise: 6900},
	}}
}

func sampleQuote(to models.Destination) models.Quote {
	q, err := models.PriceCart(samplePrices(), sampleCart(), to)
	if err != nil {
		panic(err)
	}
	return q
}

func sampleCartView(from string) CartView {
	return CartView{Page: samplePage("Your order"), Quote: sampleQuote(models.Destination{Way: "pickup", Served: true}), From: from}
}

func sampleMenuView() MenuView {
	return MenuView{Page: samplePage("Menu"), Menu: sampleMenu(), Cart: sampleCartView(""), LastOrderURL: "/orders/tok"}
}

func sampleCheckoutView() CheckoutView {
	metres := 3200
	q := sampleQuote(models.Destination{Way: "delivery", PIN: "560038", DistanceMetres: &metres, Served: true})
	return CheckoutView{Page: samplePage("Checkout"), Quote: q, Opening: sampleOpening(), Times: sampleTimes(), CheckoutKey: "5f0c1f8e-0000-4000-8000-000000000001", Review: q.Digest(),
		Form: CheckoutFields{Phone: "98450 12345", Name: "Ananya Rao", Way: "delivery", Line1: "Flat 302, Lake View", Line2: "100 Feet Road, Indiranagar", PIN: "560038"}}
}

// sampleTimes are those of the sample opening, seen at the sample evening: as soon as possible, and two quarters of an hour.
func sampleTimes() models.Times {
	quarter := func(minutes int) models.PromisedTime {
		from := evening.Truncate(15 * time.Minute).Add(time.Duration(minutes) * time.Minute)
		return models.PromisedTime{From: from, To: from.Add(15 * time.Minute), StartsAt: from, EndsAt: from.Add(15 * time.Minute)}
	}
	soonest := quarter(30)
	soonest.From, soonest.To = *at(30), *at(40)
	return models.Times{Soonest: &soonest, Later: []models.PromisedTime{quarter(45), quarter(60)}}
}

// forLater makes the order one for tomorrow evening.
func forLater(o *models.Order) {
	o.PromisedFrom, o.PromisedTo = at(24*60), at(24*60+15)
}

// sampleExtrasView is a checkout with coupon, tip and tax number.
func sampleExtrasView() CheckoutView {
	v, prices, cart, metres, amount := sampleCheckoutView(), samplePrices(), sampleCart(), 3200, models.Paise(100_00)
	prices.Coupon = &models.Coupon{ID: 1, Code: "KESAR100", AmountPaise: &amount, PerPerson: 1, Active: true}
	cart.TipPaise = 20_00
	q, err := models.PriceCart(prices, cart, models.Destination{Way: "delivery", PIN: "560038", DistanceMetres: &metres, Served: true})
	if err != nil {
		panic(err)
	}
	v.Quote, v.Review, v.Located = q, q.Digest(), true
	v.Page.Outlet.LatitudeE6, v.Page.Outlet.LongitudeE6 = ptr(12_971_900), ptr(77_641_200)
	v.Form.Coupon, v.Form.Tip, v.Form.GSTIN, v.Form.BuyerName = "KESAR100", "20", "29ABCDE1234F1ZW", "Lake View Traders"
	return v
}

func sampleOrder() models.Order {
	metres := 3200
	q := sampleQuote(models.Destination{Way: "delivery", PIN: "560038", DistanceMetres: &metres, Served: true})
	o := models.Order{
		ID: 12, PublicID: "ord_0123456789abcdefghij", Token: "tok0123456789abcdefghijklmnop", Number: 1047, OutletID: 1, Mode: "test", Way: "delivery",
		Currency: "INR", TaxMode: q.TaxMode, SubtotalPaise: q.SubtotalPaise, PackagingPaise: q.PackagingPaise, DeliveryPaise: q.DeliveryPaise,
		CGSTPaise: q.CGSTPaise, SGSTPaise: q.SGSTPaise, RoundOffPaise: q.RoundOffPaise, AmountPaise: q.AmountPaise,
		Name: "Ananya Rao", Phone: "+919845012345", Email: "ananya@example.com", Line1: "Flat 302, Lake View", Line2: "100 Feet Road, Indiranagar", PIN: "560038",
		Directions: "Ring the side gate bell", DistanceMetres: &metres, Note: "No nuts please, allergy", OutletName: "Kesar Kitchen", PrepMinutes: 20, DeliveryMinutes: 20,
		Pays: "razorpay", Status: models.OrderPending, PlacedAt: evening.Add(-8 * time.Minute), HoldExpiresAt: evening.Add(7 * time.Minute), ResolveBy: at(17),
	}
	for n, l := range q.Lines {
		item := models.OrderItem{OrderID: o.ID, Line: n + 1, ItemID: l.ItemID, Name: l.Name, Mark: l.Mark, Art: l.Art, Tint: sampleTint(l.ItemID), UnitPricePaise: l.UnitPricePaise,
			OptionsPricePaise: l.OptionsPricePaise, Qty: l.Qty, LineTotalPaise: l.LineTotalPaise, Note: l.Note}
		for p, opt := range l.Options {
			item.Options = append(item.Options, models.OrderItemOption{OrderID: o.ID, Line: n + 1, Position: p, OptionID: opt.OptionID, GroupName: opt.GroupName, Name: opt.Name, Kind: opt.Kind, PricePaise: opt.PricePaise})
		}
		o.Items = append(o.Items, item)
	}
	for _, t := range q.Taxes {
		o.Taxes = append(o.Taxes, models.OrderTax{OrderID: o.ID, TaxClass: t.TaxClass, TaxablePaise: t.TaxablePaise, CGSTBP: t.CGSTBP, SGSTBP: t.SGSTBP, CGSTPaise: t.CGSTPaise, SGSTPaise: t.SGSTPaise})
	}
	return o
}

func sampleTint(itemID int64) string {
	for _, c := range sampleMenu().Categories {
		for _, i := range c.Items {
			if i.ID == itemID {
				return c.Tint
			}
		}
	}
	return ""
}

func samplePayView(state string) PayView {
	o := sampleOrder()
	return PayView{Page: samplePage("Payment"), Order: o, State: state, ScriptURL: "https://checkout.razorpay.com/v1/checkout.js",
		HostedURL: "https://api.razorpay.com/v1/checkout/embedded", CancelURL: "https://shop.example/pay/" + o.Token + "?closed=1",
		Options: PayOptions{Key: "rzp_test_0123456789abcd", OrderID: "order_TstAbCdEf00001", Amount: o.AmountPaise, Currency: "INR", Name: "Kesar Kitchen",
			Description: "Order 1047", Prefill: PayPrefill{Name: o.Name, Contact: o.Phone, Email: o.Email}, Theme: PayTheme{Color: "#5b1440"}, Timeout: 420,
			CallbackURL: "https://shop.example/payments/verify?order=" + o.Token}}
}

func sampleOrderView(change func(v *OrderView)) OrderView {
	v := OrderView{Page: samplePage(""), Order: sampleOrder(), Personal: true}
	if change != nil {
		change(&v)
	}
	return v
}

func at(minutes int) *time.Time {
	t := evening.Add(time.Duration(minutes) * time.Minute)
	return &t
}

func ptr[T any](v T) *T { return &v }

// paidAnd makes the view of a paid order whose ticket is in the given state.
func paidAnd(status string) func(v *OrderView) {
	return func(v *OrderView) {
		v.Order.Status, v.Order.PaidPaymentID, v.Order.PaidAt = models.OrderPaid, ptr(int64(3)), at(-7)
		v.Payments = []models.Payment{{ID: 3, Provider: "razorpay", RazorpayPaymentID: ptr("pay_TstAbCdEf00002"), OrderID: 12, AmountPaise: v.Order.AmountPaise, Currency: "INR",
			GWStatus: "captured", Method: "upi", Disposition: ptr("kept"), CreatedAt: *at(-8), FirstSource: "verify"}}
		v.Ticket = &models.Fulfilment{OrderID: 12, PaymentID: ptr(int64(3)), OutletID: 1, Status: status, QueuedAt: *at(-7), PromisedAt: *at(33)}
		switch status {
		case models.TicketHandedOver:
			v.Ticket.HandedOverAt = at(-1)
			fallthrough
		case models.TicketReady:
			v.Ticket.ReadyAt = at(-2)
			fallthrough
		case models.TicketPreparing:
			v.Ticket.PreparingAt = at(-4)
			fallthrough
		case models.TicketAccepted:
			v.Ticket.AcceptedAt = at(-5)
		}
	}
}

// givenBack adds a refund in the given state to a paid order that the restaurant cancelled.
func givenBack(status string) func(v *OrderView) {
	return func(v *OrderView) {
		paidAnd(models.TicketCancelled)(v)
		v.Order.Status, v.Order.CancelReason, v.Order.CancelledBy, v.Order.ClosedAt = models.OrderCancelled, ptr("The tandoor is out of order"), ptr("staff:1"), at(-1)
		r := models.Refund{ID: "0b8a6c52-0000-5000-8000-000000000001", PaymentID: 3, OrderID: 12, AmountPaise: v.Order.AmountPaise, Kind: "cancel", Reason: "cancelled", RequestedBy: "staff:1", Status: status, RequestedAt: *at(-1)}
		if status != "requested" {
			r.RazorpayRefundID, r.SubmittedAt = ptr("rfnd_TstAbCdEf00003"), at(0)
		}
		if status == "failed" {
			r.FailedAt = at(0)
		}
		if status == "processed" {
			r.ProcessedAt, r.BankReference = at(0), "412345678901"
		}
		v.Refunds = []models.Refund{r}
	}
}

func sampleBoardView() BoardView {
	ticket := func(number int, status, way string, waited, promised int, lines ...string) models.Ticket {
		o := models.Order{ID: int64(number), Number: number, Way: way, Name: "Irfan Khan", Status: models.OrderPaid, AmountPaise: 119700, PrepMinutes: 25}
		for n, slug := range lines {
			i := sampleItem(slug)
			o.Items = append(o.Items, models.OrderItem{OrderID: o.ID, Line: n + 1, Name: i.Name, Mark: i.Mark, Qty: n + 1})
		}
		return models.Ticket{Order: o, Fulfilment: models.Fulfilment{OrderID: o.ID, Status: status, QueuedAt: *at(-waited), PromisedAt: *at(promised)}}
	}
	first := sampleOrder()
	first.Number, first.Status = 1051, models.OrderPaid
	return BoardView{Page: samplePage("Orders"), Staff: models.Staff{ID: 1, Name: "Meera", Role: "manager"}, Tickets: []models.Ticket{
		{Order: first, Fulfilment: models.Fulfilment{OrderID: first.ID, Status: models.TicketQueued, QueuedAt: *at(-1), PromisedAt: *at(39)}},
		ticket(1050, models.TicketQueued, "pickup", 12, 8, "masala-dosa", "masala-chai"),
		ticket(1049, models.TicketAccepted, "pickup", 5, 15, "samosa"),
		ticket(1047, models.TicketPreparing, "delivery", 26, 14, "biryani", "gulab-jamun"),
		ticket(1044, models.TicketPreparing, "delivery", 44, -4, "dal-makhani", "palak-paneer", "roti"),
		ticket(1043, models.TicketReady, "delivery", 30, 10, "thali", "mango-lassi"),
	}}
}

func sampleStaffOrderView() StaffOrderView {
	o := sampleOrderView(givenBack("submitted"))
	return StaffOrderView{Page: o.Page, Staff: models.Staff{ID: 1, Name: "Meera", Role: "manager"}, Order: o.Order, Ticket: o.Ticket, Payments: o.Payments, Refunds: o.Refunds,
		Events: []OrderEvent{{ReceivedAt: *at(-7), Type: "payment.captured", EventID: "evt_Tst0001", Status: "processed"}, {ReceivedAt: *at(-6), Type: "order.paid", EventID: "evt_Tst0002", Status: "processed"}},
		History: []OrderChange{{At: *at(-8), Subject: "order", Became: "pending", Actor: "customer"}, {At: *at(-7), Subject: "payment", Became: "captured", Actor: "shop"},
			{At: *at(-7), Subject: "order", Was: "pending", Became: "paid", Actor: "shop"}, {At: *at(-1), Subject: "ticket", Was: "preparing", Became: "cancelled", Actor: "staff:1"}}}
}

// sampleAttentionView has one task of every kind.
func sampleAuditView() StaffAuditView {
	a := models.Audit{Day: "2026-11-30", Headings: []models.AuditHeading{{Code: "captured", Title: "Captured", Paise: 1_359_00}, {Code: "kept", Title: "Kept", Paise: 1_359_00}, {Code: "discount", Title: "Discount", Paise: 50_00},
		{Code: "round_off", Title: "Round-off", Paise: -26}, {Code: "awaiting", Title: "Awaiting settlement", Paise: 1_359_00}}}
	a.Add(models.AuditFinding{Check: "refunds", Table: "payments", ID: "7", OrderID: ptr(int64(12)), Paise: 100, Text: "payment 7 is to give back 100 of 135900 paise, its refunds sum to 0"},
		models.AuditFinding{Check: "settlement", Table: "settlement_items", ID: "adj_TstAbCdEf00001", Paise: 400, Text: "adjustment adj_TstAbCdEf00001: 0 paise paid and 400 taken that nothing here explains"})
	return StaffAuditView{Page: samplePage(""), Staff: models.Staff{ID: 1, Name: "Meera", Role: "manager"}, Audit: a, Today: "2026-11-30"}
}

func sampleAttentionView() StaffAttentionView {
	v := StaffAttentionView{Page: samplePage(""), Staff: models.Staff{ID: 1, Name: "Meera", Role: "manager"}, JobsURL: "/staff/jobs/"}
	for n, kind := range models.TaskKinds {
		t := models.Task{ID: int64(n + 1), Kind: kind, Ref: "order_TstAbCdEf00001", Detail: "What was written down about " + kind, OpenedAt: *at(-60 * n * n)}
		switch kind {
		case models.TaskSilence:
			t.SinceAt = at(-95)
		case models.TaskLowBalance:
			t.AmountPaise = ptr(models.Paise(1_23_456_00))
		case models.TaskDeadJob, models.TaskBadSignature, models.TaskEventReplaced, models.TaskBroken:
		default:
			t.OrderID, t.OrderNumber, t.AmountPaise = ptr(int64(12)), ptr(1047), ptr(models.Paise(1_359_00))
		}
		if kind == models.TaskRefundFailed {
			t.Why = `razorpay answered 400 "BAD_REQUEST_ERROR": "The refund on this payment is blocked due to ongoing dispute investigation."`
		}
		if kind == models.TaskUnmapped {
			t.Ref, t.DueAt = "pay_TstAbCdEf00001", at(80)
		}
		if kind == models.TaskDispute {
			t.DueAt = at(6 * 24 * 60)
		}
		v.Tasks = append(v.Tasks, t)
	}
	return v
}

func samplePolicyView(name string) PolicyView {
	return PolicyView{Page: samplePage(PolicyTitle(inEnglish, name)), Name: name, List: samplePrices(), Pins: 19}
}

// sampleStaffOutletView is the form with one thing missing and one that is wrong.
func sampleStaffOutletView() StaffOutletView {
	o := sampleOutlet()
	v := StaffOutletView{Page: samplePage(""), Staff: models.Staff{ID: 1, Name: "Meera", Role: "owner"}, Missing: []string{"email"}, Errors: map[string]string{"fssai": "An FSSAI number has 14 digits."},
		Form: models.Contacts{LegalName: o.LegalName, Address: o.Address, PIN: o.PIN, Phone: o.Phone, FSSAI: "123", GSTIN: o.GSTIN, GrievanceName: o.GrievanceName, GrievanceContact: o.GrievanceContact}}
	return v
}

func sampleTimelineView() StaffTimelineView {
	o := sampleOrder()
	o.Status = models.OrderPaid
	v := StaffTimelineView{Page: samplePage(""), Staff: models.Staff{ID: 1, Name: "Meera", Role: "manager"}, Order: o}
	say := func(minutes int, kind, id, was, became, who string, amount *models.Paise, facts string) {
		e := models.TimelineEntry{At: *at(minutes), Kind: kind, ID: id, Was: was, Became: became, AmountPaise: amount}
		if err := e.Facts.Scan(facts); err != nil {
			panic(err)
		}
		v.Entries = append(v.Entries, TimelineLine{TimelineEntry: e, Who: who})
	}
	bill, back := o.AmountPaise, -o.AmountPaise
	say(-20*60, "order", o.PublicID, "", "pending", "the customer", &bill, `{"hold_expires_at":"2026-11-30T00:00:00+00:00"}`)
	say(-19, "claim", o.PublicID+"-g1", "open", "attached", "the shop", nil, `{"attempt":1,"looks":0}`)
	say(-19, "gateway_order", "order_TstAbCdEf00001", "", "known", "the shop", &bill, `{"receipt":"ord_0123456789abcdefghij-g1","currency":"INR","via":"create","state":"current"}`)
	say(-18, "gateway_order", "order_TstAbCdEf00001", "known", "handed_out", "the shop", &bill, `{}`)
	say(-17, "event", "evt_TstAbCdEf0001", "", "processed", "Razorpay", nil, `{"event_type":"payment.failed","body_sha256":"`+strings.Repeat("0a", 32)+`","processed_at":"2026-11-30T14:01:00+00:00"}`)
	say(-17, "payment", "pay_TstAbCdEf00001", "", "failed", "the shop", &bill, `{"method":"card","via":"webhook","error_description":"Your bank declined the payment."}`)
	say(-16, "hint", "pay_TstAbCdEf00002", "", "open", "the customer", nil, `{}`)
	say(-15, "fetch", "pay_TstAbCdEf00002", "", "captured", "the shop", nil, `{"via":"verify"}`)
	say(-15, "payment", "pay_TstAbCdEf00002", "authorized", "captured", "the shop", &bill, `{"method":"upi","fee_paise":3207}`)
	say(-15, "decision", "pay_TstAbCdEf00002", "", "kept", "the shop", &bill, `{}`)
	say(-15, "ledger", "1", "", "capture", "the shop", &bill, `{"account":"gateway_clearing"}`)
	say(-15, "ledger", "1", "", "capture", "the shop", &back, `{"account":"sales"}`)
	say(-14, "decision", "pay_TstAbCdEf00004", "", "given_back", "the shop", &bill, `{"reason":"already_paid"}`)
	say(-14, "refund", "0b8a6c52-0000-5000-8000-000000000002", "requested", "submitted", "the shop", &bill, `{"refund_kind":"auto","reason":"already_paid","razorpay_refund_id":"rfnd_TstAbCdEf00003","attempts":1}`)
	say(-13, "letter", "confirmation", "queued", "sent", "the shop", nil, `{"ref":"ord_0123456789abcdefghij","attempts":1}`)
	say(-12, "ticket", o.PublicID, "queued", "accepted", "Meera (staff:1)", nil, `{}`)
	say(-11, "task", "second_payment", "", "open", "the shop", nil, `{"ref":"pay_TstAbCdEf00004"}`)
	say(-10, "dispute", "disp_TstAbCdEf00001", "", "open", "Razorpay", &bill, `{"respond_by":"2026-12-07T06:30:00+00:00","phase":"chargeback","reason_code":"not_received"}`)
	say(-9, "check", o.PublicID, "", "answered", "the shop", nil, `{"checks":3}`)
	say(-8, "audit", "close_task", "", "", "Meera (staff:1)", nil, `{"detail":"second_payment pay_TstAbCdEf00004"}`)
	return v
}

// sampleShare is a samosa and a half's worth of the sample order.
func sampleShare() models.Bill {
	return models.Bill{Parts: models.Parts{SubtotalPaise: 24050, CGSTPaise: 601, SGSTPaise: 601, RoundOffPaise: 1}, Lines: []models.BillLine{{Line: 1, Qty: 1, TotalPaise: 24050}}}
}

func sampleRefundView() StaffRefundView {
	o := sampleOrder()
	v := StaffRefundView{Page: samplePage(""), Order: o, LeftPaise: o.AmountPaise - 10000, Typed: RefundFields{What: "dishes", Reason: "The curry was cold"}}
	for n, i := range o.Items {
		v.Lines = append(v.Lines, RefundLine{Item: i, Left: i.Qty - n%2})
	}
	v.Lines[0].Picked = 1
	return v
}

func sampleRefundReview() StaffRefundReviewView {
	v := sampleRefundView()
	return StaffRefundReviewView{Page: v.Page, Order: v.Order, Share: sampleShare(), Lines: v.Lines[:1], Typed: v.Typed, SeenPaise: 10000}
}

// partlyBack is an order of which staff give a part back.
func partlyBack(status string) func(v *OrderView) {
	return func(v *OrderView) {
		paidAnd(models.TicketHandedOver)(v)
		share := sampleShare()
		r := models.Refund{ID: "0b8a6c52-0000-5000-8000-000000000002", PaymentID: 3, OrderID: 12, AmountPaise: share.Amount(), Kind: "staff", Reason: "The curry was cold", RequestedBy: "staff:1", Status: status, RequestedAt: *at(-1)}
		if status != "requested" {
			r.RazorpayRefundID, r.SubmittedAt = ptr("rfnd_TstAbCdEf00004"), at(0)
		}
		if status == "processed" {
			r.ProcessedAt = at(0)
		}
		v.Refunds, v.Shares = []models.Refund{r}, map[string]models.Parts{r.ID: share.Parts}
	}
}

func samplePartlyBackView(status string) StaffOrderView {
	v, o := sampleStaffOrderView(), sampleOrderView(partlyBack(status))
	v.Order, v.Ticket, v.Payments, v.Refunds, v.Shares = o.Order, o.Ticket, o.Payments, o.Refunds, o.Shares
	if status == "failed" {
		v.Waiting = map[string]int64{v.Refunds[0].ID: 7}
	}
	return v
}
