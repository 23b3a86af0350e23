package standin

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"
)

// FaultKind is what goes wrong with a call.
type FaultKind string

const (
	Delay       FaultKind = "delay"        // answer later, by Fault.For of real time
	Stall       FaultKind = "stall"        // hold the call until ReleaseStalled; a caller who gives up before has nothing done
	Refuse      FaultKind = "refuse"       // answer Fault.Refusal, one of RefusalNames
	HTML502     FaultKind = "html_502"     // a proxy's page instead of an answer
	Empty200    FaultKind = "empty_200"    // status 200 and no body
	EmptyObject FaultKind = "empty_object" // status 200 and {}
	Truncate    FaultKind = "truncate"     // the answer breaks off half-way; the work is done
	Reset       FaultKind = "reset"        // connection reset without an answer
	Drop        FaultKind = "drop"         // the work is done, then the connection closed without an answer
)

// Fault spoils calls that match it. The first matching fault wins. Nothing is done for a spoiled call unless After says so or
// the kind implies it.
type Fault struct {
	ID      int    // set by Inject
	Method  string // empty: any
	Path    string // pattern of path.Match on the path without query and trailing slash, e.g. /v1/payments/*/refund; empty: any
	Kind    FaultKind
	Refusal string        // for Refuse
	For     time.Duration // for Delay
	Skip    int           // let this many matching calls pass first
	Times   int           // spoil this many; 0: all until removed
	Percent int           // of the matching calls, by seeded chance; 0: all
	After   bool          // spoil after the work is done
	Late    time.Duration // with a spoiled answer and After unset: the work is done this much later on the gateway's clock; 0: never
	Hits    int           // how many calls it has spoiled
}

// Request is one call in the log. Done tells whether its work was done; Status is 0 when no answer was sent.
type Request struct {
	Number         int
	At             time.Time
	Method, Path   string
	Query          string
	IdempotencyKey string
	Receipt        string
	Body           string
	Status         int
	Answer         string
	Fault          FaultKind
	Done           bool
}

// Inject adds a fault and returns its number for RemoveFault and FaultHits. It panics on a fault that could never do what it
// says, which is a mistake in the test.
func (s *Server) Inject(f Fault) int {
	id, err := s.inject(f)
	if err != nil {
		panic(err)
	}
	return id
}

func (s *Server) inject(f Fault) (int, error) {
	kinds := []FaultKind{Delay, Stall, Refuse, HTML502, Empty200, EmptyObject, Truncate, Reset, Drop}
	_, err := path.Match(f.Path, "/")
	switch {
	case !slices.Contains(kinds, f.Kind):
		return 0, fmt.Errorf("standin: no fault %q", f.Kind)
	case err != nil:
		return 0, fmt.Errorf("standin: fault path %q: %w", f.Path, err)
	case f.Kind == Refuse && refusals[f.Refusal].status == 0:
		return 0, fmt.Errorf("standin: no refusal %q; see RefusalNames", f.Refusal)
	case f.Kind == Delay && f.For <= 0:
		return 0, fmt.Errorf("standin: a delay needs For")
	case f.Percent < 0 || f.Percent > 100:
		return 0, fmt.Errorf("standin: percent %d", f.Percent)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faultSeq++
	f.ID, f.Hits = s.faultSeq, 0
	s.faults = append(s.faults, &f)
	return f.ID, nil
}

// RemoveFault takes one fault away; ClearFaults takes all.
func (s *Server) RemoveFault(id int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = slices.DeleteFunc(s.faults, func(f *Fault) bool { return f.ID == id })
}

// ClearFaults takes all faults on calls away. Stalled calls stay stalled.
func (s *Server) ClearFaults() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = nil
}

// Faults lists the faults in force with their hits.
func (s *Server) Faults() []Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Fault
	for _, f := range s.faults {
		out = append(out, *f)
	}
	return out
}

// ReleaseStalled lets every call held by Stall go on: its work is done and answered if the caller is still there.
func (s *Server) ReleaseStalled() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.release)
	s.release = make(chan struct{})
}

// WaitStalled returns when exactly n calls are held by Stall; 0 waits until the last caller who gave up has been missed.
func (s *Server) WaitStalled(ctx context.Context, n int) error {
	return s.wait(ctx, func() string {
		if s.stalled == n {
			return ""
		}
		return fmt.Sprintf("%d stalled calls (%d are)", n, s.stalled)
	})
}

// mostRequests bounds the log; the oldest half goes when it is full.
const mostRequests = 20000

// Requests returns the log of calls, oldest first.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// WaitRequests returns when at least n calls that match have arrived, answered or not.
func (s *Server) WaitRequests(ctx context.Context, method, pattern string, n int) error {
	return s.wait(ctx, func() string {
		seen := 0
		for _, r := range s.requests {
			if matches(method, pattern, r.Method, r.Path) {
				seen++
			}
		}
		if seen >= n {
			return ""
		}
		return fmt.Sprintf("call %d of %s %s (%d seen)", n, method, pattern, seen)
	})
}

func matches(wantMethod, pattern, method, p string) bool {
	if wantMethod != "" && wantMethod != method {
		return false
	}
	if pattern == "" {
		return true
	}
	found, _ := path.Match(pattern, p)
	return found
}

// accept logs a call and picks its fault.
func (s *Server) accept(c *call, r *http.Request) *Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.touch()
	s.number++
	c.number = s.number
	if len(s.requests) >= mostRequests {
		s.requests = slices.Clone(s.requests[mostRequests/2:])
	}
	q := Request{Number: c.number, At: s.now(), Method: c.method, Path: c.path, Query: r.URL.RawQuery, Body: string(c.body),
		IdempotencyKey: c.header.Get("X-Refund-Idempotency"), Receipt: c.query.Get("receipt")}
	var body struct{ Receipt string }
	if json.Unmarshal(c.body, &body) == nil && body.Receipt != "" {
		q.Receipt = body.Receipt
	}
	var chosen *Fault
	for _, f := range s.faults {
		if !matches(f.Method, f.Path, c.method, c.path) {
			continue
		}
		if f.Skip > 0 {
			f.Skip--
			continue
		}
		if f.Times > 0 && f.Hits >= f.Times || f.Percent > 0 && s.rng.IntN(100) >= f.Percent {
			continue
		}
		f.Hits++
		q.Fault = f.Kind
		copied := *f
		chosen = &copied
		break
	}
	s.requests = append(s.requests, q)
	return chosen
}

// note completes a call's entry in the log.
func (s *Server) note(c *call, change func(*Request)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := len(s.requests) - 1; i >= 0; i-- {
		if s.requests[i].Number == c.number {
			change(&s.requests[i])
			break
		}
	}
	s.touch()
}

// work does what a call asks and notes that it was done.
func (s *Server) work(c *call) answer {
	a := s.answerTo(c)
	s.note(c, func(q *Request) { q.Done = true })
	return a
}

// serve does a call's work and answers it, with what the fault makes of that.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, c *call, f *Fault) {
	reply := func(a answer) {
		s.note(c, func(q *Request) { q.Status, q.Answer = a.status, clip(a.body) })
		write(w, a)
	}
	if no := s.enter(c); no != nil { // another call with the same idempotency key is at work
		reply(*no)
		return
	}
	defer s.leave(c)
	if f == nil {
		reply(s.work(c))
		return
	}
	done, a := f.After || f.Kind == Truncate || f.Kind == Drop, answer{}
	if done {
		a = s.work(c)
	} else if f.Late > 0 && f.Kind != Delay && f.Kind != Stall {
		s.mu.Lock()
		s.due(s.now().Add(f.Late), task{kind: taskLateWork, work: c})
		s.mu.Unlock()
	}
	switch f.Kind {
	case Delay, Stall:
		if !s.hold(r.Context(), f) {
			panic(http.ErrAbortHandler) // the caller has gone
		}
		if !done {
			a = s.work(c)
		}
		reply(a)
	case Refuse:
		reply(refusals[f.Refusal])
	case HTML502:
		reply(refusals["502_html"])
	case Empty200:
		reply(answer{status: http.StatusOK})
	case EmptyObject:
		reply(answer{status: http.StatusOK, body: "{}"})
	case Truncate:
		w.Header().Set("Content-Length", fmt.Sprint(len(a.body)))
		half := a
		half.body = a.body[:len(a.body)/2]
		reply(half)
		if fl, can := w.(http.Flusher); can {
			fl.Flush()
		}
		panic(http.ErrAbortHandler)
	case Reset, Drop:
		breakOff(w, f.Kind == Reset)
	}
}

// hold waits as the fault says; false when the caller or the gateway has gone.
func (s *Server) hold(ctx context.Context, f *Fault) bool {
	var let <-chan struct{}
	var timer <-chan time.Time
	if f.Kind == Stall {
		s.mu.Lock()
		let = s.release
		s.stalled++
		s.touch()
		s.mu.Unlock()
		defer func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.stalled--
			s.touch()
		}()
	} else {
		t := time.NewTimer(f.For)
		defer t.Stop()
		timer = t.C
	}
	select {
	case <-let:
	case <-timer:
	case <-ctx.Done():
		return false
	case <-s.quit.Done():
		return false
	}
	return true
}

// breakOff ends the connection without an answer: with a reset, or as a server does that stops.
func breakOff(w http.ResponseWriter, reset bool) {
	if h, can := w.(http.Hijacker); can {
		if conn, _, err := h.Hijack(); err == nil {
			if tcp, isTCP := conn.(*net.TCPConn); isTCP && reset {
				tcp.SetLinger(0)
			}
			conn.Close()
			return
		}
	}
	panic(http.ErrAbortHandler)
}

// enter marks a refund's idempotency key as at work; a second call with it meanwhile is answered 409 (Docs-Aug, "Create a
// Normal Refund (Idempotent Request)").
func (s *Server) enter(c *call) *answer {
	key := c.refundKey()
	if key == "" {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.refundKeys[key]
	if k == nil {
		k = &refundKey{}
		s.refundKeys[key] = k
	}
	if k.inProgress > 0 {
		return refuse(refusals["refund_idempotency_in_progress"])
	}
	k.inProgress++
	return nil
}

func (s *Server) leave(c *call) {
	key := c.refundKey()
	if key == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if k := s.refundKeys[key]; k.inProgress > 0 {
		if k.inProgress--; k.inProgress == 0 && k.RefundID == "" {
			delete(s.refundKeys, key) // nothing came of it
		}
	}
}

func (c *call) refundKey() string {
	if c.method != http.MethodPost || !strings.HasSuffix(c.path, "/refund") && c.path != "/v1/refunds" {
		return ""
	}
	return c.header.Get("X-Refund-Idempotency")
}

func clip(s string) string {
	const most = 64 << 10
	if len(s) > most {
		return s[:most]
	}
	return s
}
