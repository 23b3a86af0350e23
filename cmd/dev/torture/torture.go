// Package torture runs the shop as it ships – processes, a database server, the gateway over HTTP –, breaks everything around it, lets it
// heal, and looks whether a promise broke too.
// It knows the shop's pages, settings and rows as its customers and owner do, and the stand-in gateway; it must not know how they are made.
// It promises that what is done in a round follows from the round's seed alone, that a round which breaks a promise says which, whose order
// it was and how to run it again, and that its own faults are never taken for the shop's.
// Read schedule.go first: a round as data. round.go performs it, trouble.go is what goes wrong, audit.go judges.
package torture

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Options say how much of it there is to be.
type Options struct {
	Seed    uint64        // of the first round; the next has the next
	Rounds  int           // 0: as many as there is time for
	For     time.Duration // 0: as long as the rounds take; no round begins later
	Workers int           // rounds at once, each with a database server of its own
	Verbose bool          // print every schedule
	Plant   string        // break a promise on purpose at the end of each round: rows, facts or books
	Dir     string        // for the built shop and what rounds leave behind
	Out     io.Writer
}

// ErrBroken says that a round broke a promise; which one stands in what was printed.
var ErrBroken = errors.New("a promise was broken")

const reportEvery = 5 * time.Second

// Run runs rounds until there are enough, the time is over or one breaks a promise. It builds the shop with its fault points first.
func Run(ctx context.Context, o Options) (err error) {
	binary := filepath.Join(o.Dir, "bin", "web-faultpoint")
	build := exec.CommandContext(ctx, "go", "build", "-tags", "faultpoint", "-o", binary, "./cmd/web")
	if said, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build the shop: %w\n%s", err, said)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	t := newTally()
	seeds := o.seeds(ctx)
	var all sync.WaitGroup
	failures := make(chan error, o.Workers)
	for range o.Workers {
		all.Go(func() {
			err := o.work(ctx, binary, t, seeds)
			if err != nil {
				stop() // one is enough to look at
			}
			failures <- err
		})
	}
	reported := make(chan struct{})
	go func() {
		defer close(reported)
		for rest(ctx, reportEvery) {
			fmt.Fprintln(o.Out, t.line())
		}
	}()
	all.Wait()
	interrupted := ctx.Err() != nil
	stop()
	<-reported
	close(failures)
	for failure := range failures {
		if errors.Is(failure, ErrBroken) || err == nil && !errors.Is(failure, context.Canceled) {
			err = cmp.Or(failure, err)
		}
	}
	fmt.Fprint(o.Out, t.summary())
	if err == nil && interrupted {
		return context.Canceled
	}
	return err
}

// seeds hands out the rounds' seeds, one after the other.
func (o Options) seeds(ctx context.Context) <-chan uint64 {
	seeds := make(chan uint64)
	began := time.Now()
	go func() {
		defer close(seeds)
		for n := 0; (o.Rounds == 0 || n < o.Rounds) && (o.For == 0 || time.Since(began) < o.For); n++ {
			select {
			case seeds <- o.Seed + uint64(n):
			case <-ctx.Done():
				return
			}
		}
	}()
	return seeds
}

func (o Options) work(ctx context.Context, binary string, t *tally, seeds <-chan uint64) (err error) {
	p, err := newPlace(ctx, binary)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	for seed := range seeds {
		s := Draw(seed)
		if o.Verbose {
			fmt.Fprint(o.Out, s)
		}
		began := time.Now()
		r, err := perform(ctx, s, p, t, filepath.Join(o.Dir, fmt.Sprintf("seed-%d", seed)), o.Plant)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return fmt.Errorf("seed %d: %w", seed, err)
		}
		t.round(time.Since(began), r.statuses)
		if len(r.broken) > 0 {
			o.complain(r)
			return fmt.Errorf("seed %d: %w", seed, ErrBroken)
		}
	}
	return nil
}

// complain says all there is to say about a round that broke a promise.
func (o Options) complain(r *round) {
	var b strings.Builder
	fmt.Fprintf(&b, "\nSeed %d broke a promise.\n\n", r.Seed)
	for _, v := range r.broken {
		fmt.Fprintf(&b, "  %s\n", v)
	}
	for _, id := range slices.Sorted(maps.Keys(r.histories)) {
		fmt.Fprintf(&b, "\nOrder %d:\n  %s\n", id, strings.Join(r.histories[id], "\n  "))
	}
	if !o.Verbose {
		fmt.Fprintf(&b, "\nWhat was asked of it:\n%s", r.Schedule)
	}
	fmt.Fprintf(&b, "\nWhat the servers said is in %s\nAgain: go run ./cmd/dev torture -seed %d -rounds 1 -v\n", r.dir, r.Seed)
	fmt.Fprintln(o.Out, b.String())
}

// tally counts what was done to the shop, over all rounds.
type tally struct {
	mu       sync.Mutex
	began    time.Time
	rounds   int
	orders   int
	looks    int
	longest  time.Duration
	parts    map[string]time.Duration // what the rounds' time went into
	kinds    map[string]int
	statuses map[int]int
	outcomes map[string]int // what became of orders and money
	faults   map[string]int // what was behind answers of 500
}

func newTally() *tally {
	return &tally{began: time.Now(), parts: map[string]time.Duration{}, kinds: map[string]int{}, statuses: map[int]int{}, outcomes: map[string]int{}, faults: map[string]int{}}
}

// add counts a fault, or any other thing a quiet day does not have.
func (t *tally) add(kind string) { t.adds(kind, 1) }

func (t *tally) adds(kind string, n int) {
	if n == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kinds[kind] += n
}

// fault counts what was behind an answer of 500: somebody was shown a fault of ours. It may be the database's; a look is worth it.
func (t *tally) fault(cause string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.faults[cause]++
}

func (t *tally) order() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.orders++
}

func (t *tally) looked() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.looks++
}

func (t *tally) outcome(what string, n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.outcomes[what] += n
}

func (t *tally) took(part string, d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.parts[part] += d
}

func (t *tally) round(took time.Duration, statuses map[int]int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rounds++
	t.longest = max(t.longest, took)
	for status, n := range statuses {
		t.statuses[status] += n
	}
}

// totals are kills and faults; a kill is a fault too.
func (t *tally) totals() (kills, faults int) {
	for kind, n := range t.kinds {
		faults += n
		if strings.HasPrefix(kind, "killed") {
			kills += n
		}
	}
	return kills, faults
}

func (t *tally) line() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	kills, faults := t.totals()
	return fmt.Sprintf("torture: %d rounds, %d orders, %d kills, %d faults of %d kinds, %.1f rounds a minute", t.rounds, t.orders, kills, faults, len(t.kinds),
		float64(t.rounds)/time.Since(t.began).Minutes())
}

func (t *tally) summary() string {
	line := t.line()
	t.mu.Lock()
	defer t.mu.Unlock()
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s\nin %s; the longest round took %s; the invariants were looked at %d times while it lasted\n", line, time.Since(t.began).Round(time.Second),
		t.longest.Round(100*time.Millisecond), t.looks)
	for _, part := range slices.Sorted(maps.Keys(t.parts)) {
		fmt.Fprintf(&b, "%s in %s, ", part, (t.parts[part] / time.Duration(max(1, t.rounds))).Round(100*time.Millisecond))
	}
	b.WriteString("on average\nanswers:")
	for _, status := range slices.Sorted(maps.Keys(t.statuses)) {
		fmt.Fprintf(&b, " %d × %d", t.statuses[status], status)
	}
	b.WriteString("\n\n")
	for _, kind := range slices.Sorted(maps.Keys(t.kinds)) {
		fmt.Fprintf(&b, "  %6d  %s\n", t.kinds[kind], kind)
	}
	b.WriteString("\nwhat became of orders and money:\n")
	for _, outcome := range slices.Sorted(maps.Keys(t.outcomes)) {
		fmt.Fprintf(&b, "  %6d  %s\n", t.outcomes[outcome], outcome)
	}
	if len(t.faults) > 0 {
		b.WriteString("\nwhat was behind answers of 500:\n")
	}
	for _, cause := range slices.Sorted(maps.Keys(t.faults)) {
		fmt.Fprintf(&b, "  %6d  %s\n", t.faults[cause], cause)
	}
	return b.String()
}

// countFaults adds what the gateway did wrong in a round.
func (r *round) countFaults() {
	for _, f := range r.gateway.Faults() {
		kind := string(f.Kind)
		if f.Refusal != "" {
			kind += " " + f.Refusal
		}
		if f.Late > 0 {
			kind += ", done later"
		}
		r.tally.adds("gateway: "+kind, f.Hits)
	}
	for _, f := range r.gateway.WebhookFaults() {
		r.tally.adds("webhook: "+webhookKind(f.Hold, f.Lose, f.Copies, f.Reorder, f.Delay, f.Sign), f.Hits)
	}
}

func webhookKind(hold, lose bool, copies, reorder int, delay time.Duration, sign string) string {
	switch {
	case hold:
		return "held"
	case lose:
		return "lost"
	case copies > 0:
		return "copied"
	case reorder > 0:
		return "reordered"
	case delay > 0:
		return "delayed"
	}
	return "signed " + sign
}
