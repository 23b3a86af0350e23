package models

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Fulfilment is the kitchen's side of a paid or due order: the ticket. One per order, made in the commit that keeps the payment, or makes it due.
type Fulfilment struct {
	OrderID      int64  `gorm:"primaryKey"`
	PaymentID    *int64 // nil: nothing was to be paid, or cash not yet
	OutletID     int64
	Status       string // see FulfilmentNext
	PromisedAt   time.Time
	LateMinutes  int // behind it, as staff told the customer
	QueuedAt     time.Time
	AcceptedAt   *time.Time
	PreparingAt  *time.Time
	ReadyAt      *time.Time
	HandedOverAt *time.Time
	CancelledAt  *time.Time
}

// Ticket is what the board shows of one order.
type Ticket struct {
	Fulfilment Fulfilment
	Order      Order // with Items
	Shortages  []Shortage
}

// EnsureFulfilment writes the ticket of a paid or due order. It is promised for the end of the window that was chosen; "as soon as possible" counts
// from now on, and is never sooner than was shown. paymentID is nil only where nothing was to be paid, or in cash. One per order: a repeat
// changes nothing. Inside InTx only.
func (s *Store) EnsureFulfilment(ctx context.Context, o Order, paymentID *int64) error {
	return s.exec(ctx, `INSERT INTO fulfilments (order_id, payment_id, outlet_id, promised_at) VALUES (?, ?, ?, CASE WHEN ? THEN ?::timestamptz ELSE greatest(shop_now() + make_interval(mins => ?), ?::timestamptz) END)
		ON CONFLICT (order_id) DO NOTHING`, o.ID, paymentID, o.OutletID, o.IsLater(), o.PromisedTo, o.LeadMinutes(), o.PromisedTo).Error
}

// ticketMoves is the kitchen's table: one step on, one step back (recall). fulfilments_guard holds the same edges.
var ticketMoves = map[string][]string{
	TicketQueued:     {TicketAccepted},
	TicketAccepted:   {TicketPreparing, TicketQueued},
	TicketPreparing:  {TicketReady, TicketAccepted},
	TicketReady:      {TicketHandedOver, TicketPreparing},
	TicketHandedOver: {TicketReady},
}

// FulfilmentNext is the step a ticket's main button takes: accept, fire, bump, hand over. "" after the last.
func FulfilmentNext(status string) string {
	if status == TicketHandedOver || len(ticketMoves[status]) == 0 {
		return ""
	}
	return ticketMoves[status][0]
}

// FulfilmentBack is the step recall takes; "" where there is none.
func FulfilmentBack(status string) string {
	moves := ticketMoves[status]
	switch {
	case status == TicketHandedOver:
		return moves[0]
	case len(moves) == 2:
		return moves[1]
	}
	return ""
}

// MoveFulfilment takes a ticket from one state to the next or one back, for a staff member of its outlet. It changes nothing and says
// ErrBadMove, with the ticket as it is now, when somebody else was first. Errors besides: ErrNotFound, ErrAsking (not handed over while its customer
// is asked about a shortage).
func (s *Store) MoveFulfilment(ctx context.Context, orderID int64, from, to string, by Staff) (f Fulfilment, err error) {
	err = s.InTx(ctx, func(tx *Store) error {
		if err := tx.Act(ctx, StaffActor(by.ID)); err != nil {
			return err
		}
		isInvoiced := false
		if to == TicketHandedOver { // the invoice is about what was not given back until now: nothing is given back meanwhile
			o, err := tx.LockOrder(ctx, orderID)
			if err != nil {
				return err
			}
			isInvoiced = o.Status != OrderDue // what goes out unpaid is invoiced when its money is taken
			var asking bool
			if err := tx.one(ctx, &asking, `SELECT EXISTS (SELECT 1 FROM shortages WHERE order_id = ? AND answer IS NULL)`, orderID); err != nil {
				return err
			}
			if asking {
				return fmt.Errorf("ticket %d: %w", orderID, ErrAsking)
			}
		}
		allowed := false
		for _, next := range ticketMoves[from] {
			allowed = allowed || next == to
		}
		err := error(ErrNotFound)
		stamp := to + "_at = shop_now()"
		if to == TicketQueued {
			stamp = "accepted_at = NULL" // queued_at is when it was paid, and never changes
		}
		if allowed {
			err = tx.one(ctx, &f, `UPDATE fulfilments SET status = ?, `+stamp+` WHERE order_id = ? AND status = ? AND (?::bigint IS NULL OR outlet_id = ?) RETURNING *`,
				to, orderID, from, by.OutletID, by.OutletID)
		}
		if errors.Is(err, ErrNotFound) {
			if f, err = tx.findFulfilment(ctx, orderID, by.OutletID); err != nil {
				return err
			}
			return fmt.Errorf("ticket %d is %s, not %s: %w", orderID, f.Status, from, ErrBadMove)
		}
		if err != nil {
			return err
		}
		if err := tx.Audit(ctx, StaffActor(by.ID), "ticket_"+to, &orderID, "from "+from); err != nil {
			return err
		}
		if err := tx.ensureStepLetter(ctx, orderID, to); err != nil {
			return err
		}
		if step := pushesOfTicket[to]; step != "" {
			if err := tx.ensurePushes(ctx, orderID, step, ""); err != nil {
				return err
			}
		}
		if err := tx.Notify(ctx, OrderTopic(orderID)); err != nil {
			return err
		}
		if err := tx.Notify(ctx, BoardTopic(f.OutletID)); err != nil || !isInvoiced {
			return err
		}
		return tx.issuePaper(ctx, orderID, "handed_over", nil)
	})
	return f, err
}

// ensureStepLetter writes the letter of a ticket's step that its customer wants to hear of, once however often it is taken back and again:
// accepted, ready to be collected, on its way. Inside InTx only.
func (s *Store) ensureStepLetter(ctx context.Context, orderID int64, to string) error {
	if to != TicketAccepted && to != TicketReady && to != TicketHandedOver {
		return nil
	}
	var o Order
	if err := s.one(ctx, &o, `SELECT * FROM orders WHERE id = ?`, orderID); err != nil {
		return err
	}
	switch {
	case to == TicketAccepted:
		return s.EnsureLetter(ctx, LetterAccepted, o.PublicID, o)
	case to == TicketReady && o.Way == "pickup":
		return s.EnsureLetter(ctx, LetterReady, o.PublicID, o)
	case to == TicketHandedOver && o.Way == "delivery":
		return s.EnsureLetter(ctx, LetterOnItsWay, o.PublicID, o)
	}
	return nil
}

// MaxLateMinutes is how late an order may be said to be; beyond it a person calls.
const MaxLateMinutes = 180

// SetLate notes for the customer how many minutes behind its promise a ticket is, as a staff member of its outlet says who saw was.
// It changes nothing and says ErrBadMove when somebody else said something else meanwhile, or there is nothing to wait for any more.
func (s *Store) SetLate(ctx context.Context, orderID int64, was, minutes int, by Staff) error {
	if minutes < 0 || minutes > MaxLateMinutes {
		return fmt.Errorf("%w: %d minutes late", ErrBadInput, minutes)
	}
	return s.InTx(ctx, func(tx *Store) error {
		f, err := tx.findFulfilment(ctx, orderID, by.OutletID)
		if err != nil {
			return err
		}
		r := tx.exec(ctx, `UPDATE fulfilments SET late_minutes = ? WHERE order_id = ? AND late_minutes = ? AND status IN ('queued', 'accepted', 'preparing', 'ready')`, minutes, orderID, was)
		if r.Error == nil && r.RowsAffected == 0 {
			return fmt.Errorf("ticket %d: %w", orderID, ErrBadMove)
		}
		if r.Error != nil {
			return r.Error
		}
		if err := tx.Audit(ctx, StaffActor(by.ID), "running_late", &orderID, fmt.Sprintf("%d minutes", minutes)); err != nil {
			return err
		}
		if err := tx.Notify(ctx, OrderTopic(orderID)); err != nil {
			return err
		}
		return tx.Notify(ctx, BoardTopic(f.OutletID))
	})
}

// FindFulfilment returns an order's ticket. Errors: ErrNotFound: it has none, so it was never paid.
func (s *Store) FindFulfilment(ctx context.Context, orderID int64) (Fulfilment, error) {
	return s.findFulfilment(ctx, orderID, nil)
}

func (s *Store) findFulfilment(ctx context.Context, orderID int64, outletID *int64) (f Fulfilment, err error) {
	err = s.one(ctx, &f, `SELECT * FROM fulfilments WHERE order_id = ? AND (?::bigint IS NULL OR outlet_id = ?)`, orderID, outletID, outletID)
	return f, err
}

// cancelFulfilment cancels the ticket if whoever cancels still may: a customer until it is accepted, staff and the shop until it is
// handed over, and what was not paid then too. Errors: ErrTooLate.
func (s *Store) cancelFulfilment(ctx context.Context, o Order, by string) error {
	states := `'queued', 'accepted', 'preparing', 'ready'`
	switch {
	case by == ActorCustomer:
		states = `'queued'`
	case o.Status == OrderDue:
		states += `, 'handed_over'`
	}
	r := s.exec(ctx, `UPDATE fulfilments SET status = 'cancelled', cancelled_at = shop_now() WHERE order_id = ? AND status IN (`+states+`)`, o.ID)
	if r.Error == nil && r.RowsAffected == 0 {
		return fmt.Errorf("order %d: %w", o.ID, ErrTooLate)
	}
	return r.Error
}

// ListTickets returns the board of an outlet (nil: of all), by promised time: orders that are not handed over or whose cash is due, and those handed over
// or cancelled in the last minutes, so that a cook notices.
func (s *Store) ListTickets(ctx context.Context, outletID *int64) ([]Ticket, error) {
	var rows []Fulfilment
	// Four parts with an index each: the board is read at every change, and there are ever more tickets that are done.
	if err := s.read(ctx, &rows, `SELECT * FROM (
			SELECT * FROM fulfilments WHERE status IN ('queued', 'accepted', 'preparing', 'ready')
			UNION ALL SELECT * FROM fulfilments WHERE status = 'handed_over' AND handed_over_at > shop_now() - interval '20 minutes'
			UNION ALL SELECT f.* FROM orders o JOIN fulfilments f ON f.order_id = o.id WHERE o.status = 'due' AND f.status = 'handed_over' AND f.handed_over_at <= shop_now() - interval '20 minutes'
			UNION ALL SELECT * FROM fulfilments WHERE status = 'cancelled' AND cancelled_at > shop_now() - interval '5 minutes') f
		WHERE ?::bigint IS NULL OR outlet_id = ? ORDER BY promised_at, order_id LIMIT 300`, outletID, outletID); err != nil {
		return nil, err
	}
	ids := make(IDList, len(rows))
	for i, f := range rows {
		ids[i] = f.OrderID
	}
	var orders []Order
	if err := s.read(ctx, &orders, `SELECT * FROM orders WHERE id = ANY (?::bigint[])`, ids); err != nil {
		return nil, err
	}
	if err := s.fillItems(ctx, orders); err != nil {
		return nil, err
	}
	shortages, err := s.ListShortages(ctx, ids...)
	if err != nil {
		return nil, err
	}
	byID := map[int64]Order{}
	for _, o := range orders {
		byID[o.ID] = o
	}
	tickets := make([]Ticket, len(rows))
	for i, f := range rows {
		tickets[i] = Ticket{Fulfilment: f, Order: byID[f.OrderID]}
		for _, sh := range shortages {
			if sh.OrderID == f.OrderID {
				tickets[i].Shortages = append(tickets[i].Shortages, sh)
			}
		}
	}
	return tickets, nil
}
