package views

import (
	"context"
	"encoding/json"
	"strconv"

	"tiffin/models"
	"tiffin/static"
)

// PushView is what a browser is told of an order.
type PushView struct {
	ID     int64 // of the message: a later one's is greater, so that a browser which gets them in another order shows the newest
	Step   string
	Order  models.Order
	Refund *models.Refund // of refund_processed
}

// pushNote is what static/worker.js reads. URL is the order's page: it is encrypted on its way, like all of this.
type pushNote struct {
	N     int64  `json:"n"`
	Title string `json:"title"`
	Body  string `json:"body"`
	Lang  string `json:"lang"`
	URL   string `json:"url"`
	Tag   string `json:"tag"` // one notification an order: the next step takes the place of the last
	Icon  string `json:"icon"`
}

// Push writes the message in the language of the context.
func Push(ctx context.Context, v PushView) ([]byte, error) {
	title, body := pushWords(ctx, v)
	return json.Marshal(pushNote{N: v.ID, Title: title, Body: body, Lang: LanguageOf(ctx), URL: "/orders/" + v.Order.Token, Tag: "order-" + v.Order.PublicID, Icon: static.Path("icon-192.png")})
}

func pushWords(ctx context.Context, v PushView) (title, body string) {
	number, shop, pickup := strconv.Itoa(v.Order.Number), v.Order.OutletName, v.Order.Way == "pickup"
	switch v.Step {
	case models.PushAccepted:
		return T(ctx, "Order %s is accepted", number), T(ctx, "%s has begun with it.", shop)
	case models.PushReady:
		if pickup {
			return T(ctx, "Order %s is ready", number), T(ctx, "Please collect it at %s.", shop)
		}
		return T(ctx, "Order %s is packed", number), T(ctx, "It leaves %s soon.", shop)
	case models.PushHandedOver:
		if pickup {
			return T(ctx, "Order %s is collected", number), T(ctx, "%s wishes you a good meal.", shop)
		}
		return T(ctx, "Order %s is on its way", number), T(ctx, "It has left %s.", shop)
	case models.PushCancelled:
		if v.Order.PaidAt == nil {
			return T(ctx, "Order %s was cancelled", number), T(ctx, "Nothing was charged. %s is sorry.", shop)
		}
		return T(ctx, "Order %s was cancelled", number), T(ctx, "Your money goes back. The order's page shows each step.")
	}
	if v.Refund == nil {
		return T(ctx, "Your refund is done"), T(ctx, "The order's page shows when your bank has it.")
	}
	return T(ctx, "%s was refunded", Rupees(v.Refund.AmountPaise)), T(ctx, "The order's page shows when your bank has it.")
}

// mayNotify reports whether the page offers to tell this browser: only while there is something to come.
func mayNotify(v OrderView) bool { return v.PushKey != "" && !settled(v) && v.Personal }
