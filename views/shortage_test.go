package views

import "tiffin/models"

// withShortages is an order that is being cooked: of one dish two pieces ran out and its customer is asked, another was swapped.
func withShortages(v *OrderView) {
	paidAnd(models.TicketAccepted)(v)
	swaps := []models.Swap{{ShortageID: 5, Position: 1, ItemID: 31, Name: "Palak Paneer", Mark: "veg", Allergens: "milk", PricePaise: 27900}, {ShortageID: 5, Position: 2, ItemID: 32, Name: "Tandoori Roti", Mark: "veg", PricePaise: 3500}}
	v.Shortages = []ShortageView{
		{Name: LineName(v.Order.Items[0]), DropPaise: 30345, SwapPaise: []models.Paise{0, 26670},
			Shortage: models.Shortage{ID: 5, OrderID: v.Order.ID, Line: v.Order.Items[0].Line, Qty: 1, Fallback: models.AnswerDrop, AskedBy: "staff:1", AskedAt: *at(-1), AnswerBy: *at(4), Swaps: swaps}},
		{Name: LineName(v.Order.Items[1]), Shortage: models.Shortage{ID: 4, OrderID: v.Order.ID, Line: v.Order.Items[1].Line, Qty: 1, Fallback: models.AnswerCancel, AskedBy: "staff:1", AskedAt: *at(-6), AnswerBy: *at(-1),
			Answer: ptr(models.AnswerSwap), AnsweredAt: at(-3), AnsweredBy: ptr("customer"), SwapPosition: ptr(1), OwedPaise: ptr(models.Paise(0)), Swaps: []models.Swap{{ShortageID: 4, Position: 1, ItemID: 33, Name: "Jeera Rice", Mark: "veg", PricePaise: 15900}}}},
	}
}

// dueAnd is an order to be paid in cash that waits for the kitchen.
func dueAnd(v *OrderView) {
	paidAnd(models.TicketQueued)(v)
	v.Order.Status, v.Order.Pays, v.Order.PaidPaymentID, v.Order.PaidAt, v.Payments, v.Ticket.PaymentID = models.OrderDue, "cash", nil, nil, nil, nil
}

func sampleStaffShortage() StaffShortageView {
	return StaffShortageView{Page: samplePage(""), Order: sampleOrder(), Dishes: []models.Item{{ID: 31, Name: "Palak Paneer", Mark: "veg", PricePaise: 27900}, {ID: 32, Name: "Tandoori Roti", Mark: "veg", PricePaise: 3500}},
		Typed: ShortageFields{Line: "9", Qty: "x", Minutes: "5", Fallback: "drop"}, Errors: map[string]string{"line": "Please say which dish has run out.", "qty": "Please write how many, 1 or more."}}
}

func sampleStaffDue() StaffOrderView {
	v := sampleStaffOrderView()
	o := sampleOrderView(dueAnd)
	v.Order, v.Ticket, v.Payments, v.Refunds = o.Order, o.Ticket, nil, nil
	shown := sampleOrderView(withShortages)
	for _, s := range shown.Shortages {
		v.Shortages = append(v.Shortages, s.Shortage)
	}
	return v
}

func sampleCashCheckout() CheckoutView {
	v := sampleCheckoutView()
	v.Page.Outlet.CashDelivery, v.Page.Outlet.CashPickup, v.Page.Outlet.CashLimitPaise = true, true, 200000
	v.Form.Pays, v.Errors = "cash", map[string]string{"pays": "An earlier order of this number is not paid yet. Please pay this one online, or pay the other first."}
	return v
}
