package standin

import (
	"reflect"
	"slices"
	"time"
)

// overview is what the control page shows: the newest first, not everything.
type overview struct {
	Note       string
	Now        time.Time
	KeyID      string
	Orders     []orderView
	Payments   []Payment
	Refunds    []Refund
	Disputes   []Dispute
	Deliveries []Delivery
	Webhooks   []Webhook
	Faults     []Fault
	Requests   []Request
	Settings   []settingView
	Refusals   []string
}

type orderView struct {
	Order
	Payments int
}

type settingView struct{ Name, Value string }

const mostShown = 30

func newest[T any](all []T) []T {
	all = slices.Clone(all)
	slices.Reverse(all)
	return all[:min(len(all), mostShown)]
}

func (s *Server) overview(note string) overview {
	b := s.Books()
	v := overview{Note: note, Now: s.Now(), KeyID: s.opts.KeyID, Payments: newest(b.Payments), Refunds: newest(b.Refunds), Disputes: newest(b.Disputes),
		Deliveries: newest(s.Deliveries()), Webhooks: s.Webhooks(), Faults: s.Faults(), Requests: newest(s.Requests()), Refusals: RefusalNames()}
	for _, o := range newest(b.Orders) {
		v.Orders = append(v.Orders, orderView{o, len(b.PaymentsOf(o.ID))})
	}
	for _, q := range toSnake(reflect.ValueOf(s.Settings())).(object) {
		text, isText := q.value.(string)
		if !isText {
			text = encode(q.value)
		}
		v.Settings = append(v.Settings, settingView{q.key, text})
	}
	return v
}
