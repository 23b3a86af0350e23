// Package live tells open streams that something they show has changed, whichever process changed it.
// It knows Postgres's LISTEN and topics, which are mere strings; it must not know what a topic means or what has changed.
// It promises that whoever reads after a signal has missed nothing: signals may be merged or come for no reason, never be lost.
// Read hub.go, all there is.
package live

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// heartbeat is how long the listening connection may be silent before it is asked for a sign of life. A connection whose
	// other end vanished without a word looks like a quiet one; streams would show old states for as long as nobody asks.
	heartbeat = 30 * time.Second

	// patience bounds connecting, LISTEN and the sign of life.
	patience = 10 * time.Second

	// The pause after a lost connection doubles from retryFirst to retryMost: a restarting database is found again within a
	// blink, one that is down for hours is not hammered.
	retryFirst = 50 * time.Millisecond
	retryMost  = 5 * time.Second
)

// Hub hands Postgres's notifications on one channel to the streams subscribed to their topics. Its methods may be called from
// any goroutine.
type Hub struct {
	conf      *pgx.ConnConfig
	channel   string
	heartbeat time.Duration

	mu     sync.Mutex
	closed bool
	topics map[string]map[*subscription]struct{}
}

// subscription is one stream's. Its buffer of one is the merging: a signal that has not been taken yet stands for all since.
type subscription struct {
	changes chan struct{}
}

// New makes a Hub that listens on channel of the pool's database, with a connection of its own that the pool does not count.
// A notification's payload is the topic, nothing else. Nothing happens before Run.
func New(pool *pgxpool.Pool, channel string) *Hub {
	return &Hub{
		conf: pool.Config().ConnConfig, channel: channel, heartbeat: heartbeat,
		topics: map[string]map[*subscription]struct{}{},
	}
}

// Run listens until ctx ends, and returns then. A lost connection is made again, for as long as it takes, and after each
// LISTEN every stream is signalled, since what was notified meanwhile is gone. Once per Hub.
func (h *Hub) Run(ctx context.Context) {
	pause := retryFirst
	for {
		heard, err := h.listen(ctx)
		if ctx.Err() != nil {
			return
		}
		slog.WarnContext(ctx, "live updates: lost the listening connection", "err", err)
		if heard {
			pause = retryFirst
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		pause = min(2*pause, retryMost)
	}
}

// listen hands on notifications until the connection fails or ctx ends. heard says whether it listened at all.
func (h *Hub) listen(ctx context.Context) (heard bool, err error) {
	conn, err := h.connect(ctx)
	if err != nil {
		return false, err
	}
	defer func() {
		bye, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = conn.Close(bye) // it has failed or is no longer wanted
	}()
	h.signalAll()
	for {
		quiet, cancel := context.WithTimeout(ctx, h.heartbeat)
		n, err := conn.WaitForNotification(quiet)
		cancel()
		switch {
		case n != nil:
			h.signal(n.Payload)
		case ctx.Err() != nil:
			return true, ctx.Err()
		case errors.Is(err, context.DeadlineExceeded):
			if err := h.ping(ctx, conn); err != nil {
				return true, err
			}
		case err != nil:
			return true, err
		}
	}
}

func (h *Hub) connect(ctx context.Context) (*pgx.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	conn, err := pgx.ConnectConfig(ctx, h.conf)
	if err != nil {
		return nil, err
	}
	if _, err := conn.Exec(ctx, "LISTEN "+pgx.Identifier{h.channel}.Sanitize()); err != nil {
		return nil, errors.Join(err, conn.Close(ctx))
	}
	return conn, nil
}

func (h *Hub) ping(ctx context.Context, conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, min(patience, h.heartbeat))
	defer cancel()
	return conn.Ping(ctx)
}

// Subscribe gives a stream the signals of one topic until cancel is called or the Hub closes; changes is closed then. To miss
// nothing, subscribe first and read the rows after. A stream that does not take its signals loses none but the surplus, and
// holds up nobody. cancel is safe to repeat, and has to be called once the stream ends. After Close, changes is closed at once.
func (h *Hub) Subscribe(topic string) (changes <-chan struct{}, cancel func()) {
	s := &subscription{changes: make(chan struct{}, 1)}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		close(s.changes)
		return s.changes, func() {}
	}
	if h.topics[topic] == nil {
		h.topics[topic] = map[*subscription]struct{}{}
	}
	h.topics[topic][s] = struct{}{}
	return s.changes, func() { h.cancel(topic, s) }
}

func (h *Hub) cancel(topic string, s *subscription) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, there := h.topics[topic][s]; !there {
		return
	}
	close(s.changes)
	delete(h.topics[topic], s)
	if len(h.topics[topic]) == 0 {
		delete(h.topics, topic)
	}
}

// Close ends all streams, so that an HTTP server can shut down: it waits for them. Safe to repeat; Run goes on until its
// context ends.
func (h *Hub) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for _, streams := range h.topics {
		for s := range streams {
			close(s.changes)
		}
	}
	clear(h.topics)
}

func (h *Hub) signal(topic string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for s := range h.topics[topic] {
		s.signal()
	}
}

func (h *Hub) signalAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, streams := range h.topics {
		for s := range streams {
			s.signal()
		}
	}
}

// signal never waits. Only to be called with the Hub's lock, under which a channel is closed too.
func (s *subscription) signal() {
	select {
	case s.changes <- struct{}{}:
	default:
	}
}
