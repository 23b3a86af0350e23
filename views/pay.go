package views

import (
	"context"
	"net/url"
	"strconv"

	"github.com/a-h/templ"

	"tiffin/models"
)

// checkoutScript is loaded only in the states that can open Razorpay's sheet.
func checkoutScript(v PayView) string {
	if v.State == PayPreparing || v.State == PayUnavailable {
		return ""
	}
	return v.ScriptURL
}

func payAttributes(v PayView) templ.Attributes {
	return templ.Attributes{
		"data-state":  v.State,
		"data-order":  "/orders/" + v.Order.Token,
		"data-verify": "/payments/verify?order=" + url.QueryEscape(v.Order.Token),
		"data-open":   v.State == PayReady, // after a failure or a closed window the customer presses the button
	}
}

func orderLabel(ctx context.Context, o models.Order) string {
	return T(ctx, "Order %s", strconv.Itoa(o.Number))
}

func itemsOf(ctx context.Context, o models.Order) string {
	n := 0
	for _, i := range o.Items {
		n += i.Qty
	}
	return T(ctx, "%d items", n)
}
