package standin

import (
	"container/heap"
	"context"
	"fmt"
	"time"
)

// The clock: everything the gateway does later by itself is a task. Tasks name things by id and look at their state again when
// they come due, so one that has been overtaken does nothing; after a restart they are made again from that state.

type taskKind int

const (
	taskCapture taskKind = iota
	taskSucceed
	taskTimeout
	taskExpire
	taskSettleRefund
	taskDeliver
	taskInTurn
	taskLateWork
)

type task struct {
	at       time.Time
	tie      uint64 // order among equal instants: seeded for deliveries, of making for the rest
	kind     taskKind
	id       string
	delivery *Delivery
	batch    []*Delivery
	work     *call
}

type taskHeap []task

func (h taskHeap) Len() int { return len(h) }
func (h taskHeap) Less(i, j int) bool {
	if !h[i].at.Equal(h[j].at) {
		return h[i].at.Before(h[j].at)
	}
	return h[i].tie < h[j].tie
}
func (h taskHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *taskHeap) Push(x any)   { *h = append(*h, x.(task)) }
func (h *taskHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}

func (s *Server) now() time.Time { return s.opts.Now().Add(s.offset) }

// due puts a task on the clock.
func (s *Server) due(at time.Time, t task) {
	t.at = at.Truncate(time.Millisecond)
	if t.kind == taskDeliver {
		t.tie = s.rng.Uint64()
	} else {
		s.taskSeq++
		t.tie = uint64(s.taskSeq)
	}
	heap.Push(&s.tasks, t)
	s.nudge()
}

func (s *Server) nudge() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Advance moves the gateway's clock forward. What has become due is done by the clock's own goroutine, soon after.
func (s *Server) Advance(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.offset += d
	s.touch()
}

// Now is the gateway's clock.
func (s *Server) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now()
}

// run is the clock's goroutine: does what is due, writes the state, waits for the next thing.
func (s *Server) run() {
	for {
		wait := s.turn()
		if err := s.save(); err != nil {
			s.opts.Logf("standin: save: %v", err)
		}
		timer := time.NewTimer(wait)
		select {
		case <-s.quit.Done():
			timer.Stop()
			return
		case <-s.wake:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// turn does all that is due and tells how long nothing will be.
func (s *Server) turn() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settlementsDue()
	for s.tasks.Len() > 0 && !s.tasks[0].at.After(s.now()) && s.quit.Err() == nil {
		s.perform(heap.Pop(&s.tasks).(task))
		s.touch()
	}
	if s.tasks.Len() == 0 {
		return time.Hour
	}
	// never spin, since a clock given by Options may stand still, and look at the day's settlements every hour
	return min(max(5*time.Millisecond, s.tasks[0].at.Sub(s.now())), time.Hour)
}

func (s *Server) perform(t task) {
	now, p, r := s.now(), s.paymentByID[t.id], s.refundByID[t.id]
	reached := func(at time.Time) bool { return !at.IsZero() && !at.Truncate(time.Millisecond).After(now) }
	switch t.kind {
	case taskDeliver:
		s.startDelivery(t.delivery)
	case taskInTurn:
		s.working.Go(func() {
			for _, d := range t.batch {
				s.tryDelivery(s.quit, d)
			}
		})
	case taskLateWork:
		s.working.Go(func() { s.work(t.work) })
	case taskSucceed:
		if reached(p.SucceedAt) && (p.Status == "failed" || p.Status == "created") {
			s.authorise(p, true)
		}
	case taskTimeout:
		if reached(p.TimeoutAt) && p.Status == "created" {
			s.fail(p, "payment_timed_out")
		}
	case taskCapture:
		if reached(p.CaptureAt) && p.Status == "authorized" {
			if o := s.orderByID[p.OrderID]; o.Status == "paid" && s.settings.SecondPayment != SecondCaptured {
				s.giveBack(p)
			} else {
				s.capture(p)
			}
		}
	case taskExpire:
		if reached(p.ExpireAt) && p.Status == "authorized" {
			s.giveBack(p)
		}
	case taskSettleRefund:
		if reached(r.SettleAt) && r.Status == "pending" {
			s.settleRefund(r)
		}
	}
}

// WaitFor returns when cond holds of the books, which it looks at after every change, or with an error that says what was
// waited for when ctx ends.
func (s *Server) WaitFor(ctx context.Context, what string, cond func(Books) bool) error {
	return s.wait(ctx, func() string {
		if cond(s.books()) {
			return ""
		}
		return what
	})
}

// wait returns when pending, called under the lock, names nothing more to wait for.
func (s *Server) wait(ctx context.Context, pending func() string) error {
	for {
		s.mu.Lock()
		what, changed := pending(), s.changed
		s.mu.Unlock()
		if what == "" {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("standin: still waiting for %s: %w", what, ctx.Err())
		}
	}
}
