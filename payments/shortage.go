package payments

import (
	"context"

	"tiffin/models"
)

// AnswerShortage carries out what a customer chose about a dish that has run out; position is the swap's, else 0. The first answer counts.
// Errors: models.ErrNotFound, ErrBadMove (answered already), ErrBadInput. No network call: refunds are sent by their jobs.
func (c *Cashier) AnswerShortage(ctx context.Context, orderID, shortageID int64, answer string, position int) error {
	return c.store.AnswerShortage(ctx, orderID, shortageID, answer, position, models.ActorCustomer, c.settings.RefundSpeed)
}

// SettleShortages answers what nobody answered in time, as the customer was told. A sweep; safe to repeat.
func (c *Cashier) SettleShortages(ctx context.Context) (settled int, err error) {
	return c.store.SettleShortages(ctx, c.settings.RefundSpeed)
}
