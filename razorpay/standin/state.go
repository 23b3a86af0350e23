package standin

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// state is what the state file holds: the books and what is still on its way, nothing that can be derived. This package writes
// and reads it.
type state struct {
	Version     int
	AccountID   string
	Offset      time.Duration
	SettledUpTo time.Time
	Books       Books
	RefundKeys  map[string]*refundKey
	Events      []*Event
	Deliveries  []savedDelivery
}

type savedDelivery struct {
	EventID, URL     string
	State            DeliveryState
	NextAt           time.Time
	Attempts         []Attempt
	Secret, Previous string
	Last             bool
}

// save writes the state file if anything changed since the last time: a new file, then a rename, so that a crash leaves one or
// the other.
func (s *Server) save() error {
	s.mu.Lock()
	if s.opts.StateFile == "" || !s.dirty || s.loadErr != nil {
		s.mu.Unlock()
		return nil
	}
	s.dirty = false
	t := state{Version: 1, AccountID: s.opts.AccountID, Offset: s.offset, SettledUpTo: s.settledUpTo, Books: s.books(), RefundKeys: s.refundKeys, Events: s.events}
	for _, d := range s.deliveries {
		t.Deliveries = append(t.Deliveries, savedDelivery{d.Event.ID, d.URL, d.State, d.NextAt, d.Attempts, d.secret, d.previous, d.last})
	}
	raw, err := json.Marshal(t)
	s.mu.Unlock()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(s.opts.StateFile), 0o700); err != nil {
		return err
	}
	tmp := s.opts.StateFile + ".new"
	if err := os.WriteFile(tmp, raw, 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, s.opts.StateFile)
}

// load reads the state file and puts back on the clock what had not come due. A file that is not there is an empty gateway.
func (s *Server) load(file string) error {
	raw, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("standin: state: %w", err)
	}
	var t state
	if err := json.Unmarshal(raw, &t); err != nil {
		return fmt.Errorf("standin: state file %s cannot be read (remove it to start empty): %w", file, err)
	}
	if t.Version != 1 {
		return fmt.Errorf("standin: state file %s is of version %d, not 1 (remove it to start empty)", file, t.Version)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opts.AccountID, s.offset, s.settledUpTo = t.AccountID, t.Offset, t.SettledUpTo
	for _, o := range t.Books.Orders {
		s.addOrder(&o)
	}
	for _, p := range t.Books.Payments {
		s.payments = append(s.payments, &p)
		s.paymentByID[p.ID] = &p
		s.paymentsByOrder[p.OrderID] = append(s.paymentsByOrder[p.OrderID], &p)
		for kind, at := range map[taskKind]time.Time{taskCapture: p.CaptureAt, taskSucceed: p.SucceedAt, taskTimeout: p.TimeoutAt, taskExpire: p.ExpireAt} {
			if !at.IsZero() {
				s.due(at, task{kind: kind, id: p.ID})
			}
		}
	}
	for _, r := range t.Books.Refunds {
		s.refunds = append(s.refunds, &r)
		s.refundByID[r.ID] = &r
		s.refundsByPayment[r.PaymentID] = append(s.refundsByPayment[r.PaymentID], &r)
		if !r.SettleAt.IsZero() {
			s.due(r.SettleAt, task{kind: taskSettleRefund, id: r.ID})
		}
	}
	for _, d := range t.Books.Disputes {
		s.disputes = append(s.disputes, &d)
	}
	for k, v := range t.RefundKeys {
		if v.RefundID != "" {
			s.refundKeys[k] = v
		}
	}
	for _, e := range t.Events {
		s.events = append(s.events, e)
		s.eventByID[e.ID] = e
	}
	for _, v := range t.Deliveries {
		e := s.eventByID[v.EventID]
		if e == nil {
			return fmt.Errorf("standin: state file %s: a delivery of unknown event %s (remove the file to start empty)", file, v.EventID)
		}
		d := &Delivery{Event: e, URL: v.URL, NextAt: v.NextAt, Attempts: v.Attempts, secret: v.Secret, previous: v.Previous, last: v.Last}
		s.deliveries = append(s.deliveries, d)
		s.move(d, v.State)
	}
	return nil
}
