package models

import "testing"

// Each step that a customer wants to hear of is one letter, however often the kitchen takes it back; an order that is cancelled without money
// to give back has its own.
func TestStepLettersGoOnce(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	o, _ := mustKept(t, s)
	cook := mustStaff(t, s, 0, "cook")
	mustExec(t, s, `UPDATE orders SET email = 'asha@example.in'`)
	for _, step := range [][2]string{{TicketQueued, TicketAccepted}, {TicketAccepted, TicketQueued}, {TicketQueued, TicketAccepted}, {TicketAccepted, TicketPreparing}, {TicketPreparing, TicketReady},
		{TicketReady, TicketHandedOver}, {TicketHandedOver, TicketReady}, {TicketReady, TicketHandedOver}} {
		_, err := s.MoveFulfilment(t.Context(), o.ID, step[0], step[1], cook)
		must(t, err)
	}
	last := map[string]string{"delivery": LetterOnItsWay, "pickup": LetterReady}[o.Way]
	if got := mustRead[string](t, s, `SELECT string_agg(kind, ' ' ORDER BY kind) FROM outbox WHERE kind IN ('accepted', 'ready', 'on_its_way', 'cancelled')`); got != LetterAccepted+" "+last {
		t.Errorf("letters: %s", got)
	}
	if n := mustRead[int](t, s, `SELECT count(*) FROM river_job WHERE kind = 'send_letter'`); n != 3 { // and the confirmation
		t.Errorf("%d jobs", n)
	}

	other := openStore(t)
	pending := mustPending(t, other)
	mustExec(t, other, `UPDATE orders SET email = 'asha@example.in'`)
	_, err := other.CancelOrder(t.Context(), pending.ID, StaffActor(1), "no gas today", "normal")
	must(t, err)
	if got := mustRead[string](t, other, `SELECT string_agg(kind || status, ' ') FROM outbox`); got != "cancelledqueued" {
		t.Errorf("letters: %s", got)
	}
}
