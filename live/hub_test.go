package live

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"tiffin/devdb"
)

const channel = "tiffin"

func TestHub(t *testing.T) {
	t.Parallel()
	pool := connect(t, devdb.EmptyURL(t))

	t.Run("signals_every_stream_of_the_topic_and_no_other", func(t *testing.T) {
		h := run(t, pool)
		board1, board2, order := subscribe(t, h, "board:1"), subscribe(t, h, "board:1"), subscribe(t, h, "order:9")
		notify(t, pool, "board:1")
		wait(t, board1)
		wait(t, board2)
		notify(t, pool, "order:9") // comes after; so had the first one been order's too, it would be seen by now
		wait(t, order)
		quiet(t, board1)
		quiet(t, order)
	})

	t.Run("signals_streams_that_came_before_it_listened", func(t *testing.T) {
		h := New(pool, channel)
		changes, cancel := h.Subscribe("order:1")
		defer cancel()
		notify(t, pool, "order:1") // nobody listens
		start(t, h)
		wait(t, changes)
	})

	t.Run("merges_what_a_slow_stream_has_not_taken_and_waits_for_nobody", func(t *testing.T) {
		h := run(t, pool)
		slow, quick := subscribe(t, h, "slow"), subscribe(t, h, "quick")
		for range 500 {
			notify(t, pool, "slow")
		}
		notify(t, pool, "quick")
		wait(t, quick)
		wait(t, slow)
		quiet(t, slow)
		notify(t, pool, "slow")
		wait(t, slow)
	})

	t.Run("takes_any_topic_as_it_is", func(t *testing.T) {
		h := run(t, pool)
		for _, topic := range []string{"", "a'b\"c; --", "ಅನ್ನ", "topic with spaces"} {
			changes := subscribe(t, h, topic)
			notify(t, pool, topic)
			wait(t, changes)
		}
	})

	t.Run("forgets_cancelled_streams", func(t *testing.T) {
		h := New(pool, channel)
		one, cancelOne := h.Subscribe("order:1")
		other, cancelOther := h.Subscribe("order:1")
		cancelOne()
		cancelOne()
		ended(t, one)
		h.signal("order:1")
		wait(t, other)
		cancelOther()
		ended(t, other)
		if len(h.topics) != 0 {
			t.Errorf("still knows %d topics", len(h.topics))
		}
	})

	t.Run("ends_all_streams_when_closed", func(t *testing.T) {
		h := New(pool, channel)
		one, cancelOne := h.Subscribe("order:1")
		other, _ := h.Subscribe("board:1")
		h.Close()
		h.Close()
		ended(t, one)
		ended(t, other)
		cancelOne()
		late, cancelLate := h.Subscribe("order:1")
		ended(t, late)
		cancelLate()
		start(t, h) // and a notification for nobody does no harm
		h.signalAll()
		h.signal("order:1")
	})

	t.Run("leaves_no_connection_behind", func(t *testing.T) {
		pool := connect(t, devdb.EmptyURL(t))
		h := New(pool, channel)
		changes, cancel := h.Subscribe("x")
		defer cancel()
		stop := start(t, h)
		wait(t, changes)
		if n := listeners(t, pool); n != 1 {
			t.Errorf("%d connections listen, want 1", n)
		}
		if got := pool.Stat().AcquiredConns(); got != 0 {
			t.Errorf("%d of the pool's connections are taken", got)
		}
		stop()
		// The server notices the goodbye on its own time.
		ctx, cancelWait := context.WithTimeout(t.Context(), time.Minute)
		defer cancelWait()
		for listeners(t, pool) != 0 {
			if ctx.Err() != nil {
				t.Fatal("the connection is still there")
			}
		}
	})
}

func TestHubAfterItsConnectionWasCut(t *testing.T) {
	t.Parallel()
	pool := connect(t, devdb.EmptyURL(t))
	h := run(t, pool)
	board, order := subscribe(t, h, "board:1"), subscribe(t, h, "order:9")
	for range 3 {
		if _, err := pool.Exec(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
			WHERE datname = current_database() AND query LIKE 'LISTEN %'`); err != nil {
			t.Fatal(err)
		}
		wait(t, board) // what was notified in the gap is lost, so everybody has to look
		wait(t, order)
		notify(t, pool, "order:9")
		wait(t, order)
		quiet(t, board)
	}
}

func TestHubAfterTheServerCrashed(t *testing.T) {
	t.Parallel()
	server := devdb.Private(t)
	pool := connect(t, server.URL())
	h := run(t, pool)
	changes := subscribe(t, h, "order:9")
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	quiet(t, changes)
	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	wait(t, changes)
	pool.Reset()
	notify(t, pool, "order:9")
	wait(t, changes)
}

func TestHubStartedBeforeItsServer(t *testing.T) {
	t.Parallel()
	server := devdb.Private(t)
	pool := connect(t, server.URL())
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	h := New(pool, channel)
	changes, cancel := h.Subscribe("order:9")
	defer cancel()
	start(t, h)
	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	wait(t, changes)
}

// A firewall that forgets a connection, a host that loses power: no error ever comes.
func TestHubAfterItsConnectionWentSilent(t *testing.T) {
	t.Parallel()
	conf, err := pgxpool.ParseConfig(devdb.EmptyURL(t))
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var made []*mutable
	dial := conf.ConnConfig.DialFunc
	conf.ConnConfig.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		m := &mutable{Conn: c, closed: make(chan struct{})}
		mu.Lock()
		defer mu.Unlock()
		made = append(made, m)
		return m, nil
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), conf)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	h := New(pool, channel)
	h.heartbeat = 20 * time.Millisecond
	changes, cancel := h.Subscribe("order:9")
	defer cancel()
	start(t, h)
	wait(t, changes)

	mu.Lock()
	for _, m := range made {
		m.silent.Store(true)
	}
	mu.Unlock()
	wait(t, changes)
	pool.Reset()
	notify(t, pool, "order:9")
	wait(t, changes)
}

// mutable is a connection that can go silent: writes vanish, nothing is read any more, and no end is in sight.
type mutable struct {
	net.Conn
	silent atomic.Bool
	once   sync.Once
	closed chan struct{}
}

func (m *mutable) Write(b []byte) (int, error) {
	if m.silent.Load() {
		return len(b), nil
	}
	return m.Conn.Write(b)
}

func (m *mutable) Close() error {
	m.once.Do(func() { close(m.closed) })
	return m.Conn.Close()
}

func (m *mutable) Read(b []byte) (int, error) {
	for {
		n, err := m.Conn.Read(b)
		if !m.silent.Load() || err != nil {
			return n, err // a deadline that passes is an error, and the only one to come
		}
	}
}

func TestHubUnderManyStreams(t *testing.T) {
	t.Parallel()
	pool := connect(t, devdb.EmptyURL(t))
	h := run(t, pool)
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			topic := fmt.Sprintf("order:%d", i%7)
			changes, cancel := h.Subscribe(topic)
			defer cancel()
			h.signal(topic)
			wait(t, changes)
			if i%10 == 0 {
				notify(t, pool, topic)
				wait(t, changes)
			}
		})
	}
	wg.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.topics) != 0 {
		t.Errorf("still knows %d topics", len(h.topics))
	}
}

func connect(t *testing.T, url string) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// start lets h run until the test ends or the returned function is called.
func start(t *testing.T, h *Hub) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.Run(ctx)
	}()
	stop = func() {
		cancel()
		<-done
	}
	t.Cleanup(stop)
	return stop
}

// run gives a Hub that listens by now.
func run(t *testing.T, pool *pgxpool.Pool) *Hub {
	t.Helper()
	h := New(pool, channel)
	listening, cancel := h.Subscribe("listening")
	defer cancel()
	start(t, h)
	wait(t, listening)
	return h
}

func subscribe(t *testing.T, h *Hub, topic string) <-chan struct{} {
	t.Helper()
	changes, cancel := h.Subscribe(topic)
	t.Cleanup(cancel)
	return changes
}

func notify(t *testing.T, pool *pgxpool.Pool, topic string) {
	t.Helper()
	if _, err := pool.Exec(t.Context(), "SELECT pg_notify($1, $2)", channel, topic); err != nil {
		t.Error(err)
	}
}

// wait returns at the next signal; the bound only keeps a broken Hub from hanging the run.
func wait(t *testing.T, changes <-chan struct{}) {
	t.Helper()
	select {
	case _, open := <-changes:
		if !open {
			t.Error("the stream has ended")
		}
	case <-time.After(time.Minute):
		t.Error("no signal")
	}
}

// quiet asserts that no signal is there now.
func quiet(t *testing.T, changes <-chan struct{}) {
	t.Helper()
	select {
	case <-changes:
		t.Error("a signal for nothing")
	default:
	}
}

func ended(t *testing.T, changes <-chan struct{}) {
	t.Helper()
	select {
	case _, open := <-changes:
		if open {
			t.Error("a signal instead of the end")
		}
	default:
		t.Error("the stream has not ended")
	}
}

func listeners(t *testing.T, pool *pgxpool.Pool) (n int) {
	t.Helper()
	if err := pool.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity
		WHERE datname = current_database() AND query LIKE 'LISTEN %'`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
