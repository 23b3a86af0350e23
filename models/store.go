// Package models holds the shop's rows, its rules and all of its SQL: menu, cart, price, order, payment, refund, event, job, staff.
// It must not know HTTP, HTML, mail or the gateway's client: everything here may be called inside a transaction.
// It promises that the database judges every race: one conditional write, whose row count is read; money is int64 paise.
// Read price.go and order_status.go first, then claim.go and payment.go.
package models

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverdatabasesql"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
)

// Store is the shop's database. A Store handed to InTx's function is the same thing inside that transaction.
type Store struct {
	db     *gorm.DB
	pool   *pgxpool.Pool
	sql    *sql.DB
	queue  *river.Client[*sql.Tx]
	inTx   bool
	jitter func() float64 // 0..1, spreads retries
}

// Limits every connection carries: a statement, a lock wait or an idle transaction longer than this is a fault, not patience.
const (
	statementTimeout = "15s"
	lockTimeout      = "5s"
	idleInTxTimeout  = "15s"
)

// compiles is Postgres' jit: its planner turns it on for what reads whole tables, and of broken_invariants, the only such statement here,
// it then takes half the time (docs/performance.md).
const compiles = "off"

// Open connects to the database at url with at most size connections. It does not migrate.
func Open(ctx context.Context, url string, size int) (*Store, error) {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, errors.New("models: DATABASE_URL cannot be read as a Postgres address") // err would print the password
	}
	cfg.MaxConns = int32(size)
	for name, value := range map[string]string{"statement_timeout": statementTimeout, "lock_timeout": lockTimeout,
		"idle_in_transaction_session_timeout": idleInTxTimeout, "timezone": "UTC", "jit": compiles} {
		cfg.ConnConfig.RuntimeParams[name] = value
	}
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("models: connect: %w", err)
	}
	sqlDB := stdlib.OpenDBFromPool(pool)
	db, err := gorm.Open(postgres.New(postgres.Config{Conn: sqlDB}), &gorm.Config{
		SkipDefaultTransaction: true,
		// Errors are returned and told once, at the door. GORM's own lines would hold values of people, and secrets, in clear.
		Logger: logger.Discard,
	})
	if err != nil {
		pool.Close()
		return nil, fmt.Errorf("models: connect: %w", err)
	}
	queue, err := river.NewClient(riverdatabasesql.New(sqlDB), &river.Config{Logger: slog.Default()})
	if err != nil {
		pool.Close()
		return nil, fmt.Errorf("models: job queue: %w", err)
	}
	return &Store{db: db, pool: pool, sql: sqlDB, queue: queue, jitter: rand.Float64}, nil
}

// Close gives all connections back and waits for those in use.
func (s *Store) Close() error {
	err := s.sql.Close()
	s.pool.Close()
	return err
}

// SQL and Pool lend the connections to what needs them raw: migrations, the job workers, the listener. One pool serves all.
func (s *Store) SQL() *sql.DB        { return s.sql }
func (s *Store) Pool() *pgxpool.Pool { return s.pool }

// Ping reports whether the database answers.
func (s *Store) Ping(ctx context.Context) error { return s.pool.Ping(ctx) }

// Now is the instant rows are judged by: the database's shop_now().
func (s *Store) Now(ctx context.Context) (now time.Time, err error) {
	err = s.db.WithContext(ctx).Raw(`SELECT shop_now()`).Row().Scan(&now)
	return now, err
}

// maxTries bounds how often InTx runs its function: five deadlocks in a row are a fault to be seen, not waited out.
const maxTries = 5

// InTx runs fn in one READ COMMITTED transaction and commits it. After a deadlock, a serialisation failure, a lock timeout or a lost
// connection, a COMMIT whose answer was lost included, it runs fn again, so fn leaves nothing outside the database and each of its
// writes is safe to repeat. Inside a transaction it just runs fn: outer functions open, inner ones take.
func (s *Store) InTx(ctx context.Context, fn func(tx *Store) error) error {
	if s.inTx {
		return fn(s)
	}
	for try := 1; ; try++ {
		err := s.db.WithContext(ctx).Transaction(func(db *gorm.DB) error {
			tx := *s
			tx.db, tx.inTx = db, true
			return fn(&tx)
		})
		if err == nil || try == maxTries || ctx.Err() != nil || !isTransient(err) {
			return err
		}
		pause := time.Duration(float64(int64(10*time.Millisecond)<<try) * (0.5 + s.jitter()))
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
	}
}

// Savepoint runs fn inside the transaction so that what fn wrote is undone when it fails, and the transaction goes on.
func (s *Store) savepoint(ctx context.Context, fn func(tx *Store) error) error {
	return s.db.WithContext(ctx).Transaction(func(db *gorm.DB) error {
		tx := *s
		tx.db = db
		return fn(&tx)
	})
}

// Act names who makes the changes of this transaction in the history: customer, staff:<id>. Inside InTx only.
func (s *Store) Act(ctx context.Context, actor string) error {
	return s.exec(ctx, `SELECT set_config('tiffin.actor', ?, true)`, actor).Error
}

// IsUnavailable reports whether err is the database's absence, and not a fault of whoever asked: it stops, starts, or has no connection left.
func IsUnavailable(err error) bool {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return strings.HasPrefix(pg.Code, "08") || strings.HasPrefix(pg.Code, "57P") || strings.HasPrefix(pg.Code, "53")
	}
	var connect *pgconn.ConnectError
	var network net.Error
	return errors.As(err, &connect) || errors.As(err, &network) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) ||
		err != nil && strings.HasSuffix(err.Error(), "sql: database is closed") // the process stops; database/sql has no name for it
}

// isTransient reports whether running the same transaction again may succeed.
func isTransient(err error) bool {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		switch {
		case pg.Code == "40001", pg.Code == "40P01", pg.Code == "55P03", strings.HasPrefix(pg.Code, "08"),
			pg.Code == "57P01", pg.Code == "57P02", pg.Code == "57P03", pg.Code == "25P03":
			return true
		}
		return false
	}
	var network net.Error
	return errors.Is(err, driver.ErrBadConn) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, pgx.ErrTxClosed) ||
		errors.Is(err, pgx.ErrTxCommitRollback) || errors.Is(err, sql.ErrConnDone) || pgconn.SafeToRetry(err) || errors.As(err, &network) && !errors.Is(err, context.DeadlineExceeded)
}

// exec runs SQL text; its RowsAffected is the answer of a guarded write.
func (s *Store) exec(ctx context.Context, text string, args ...any) *gorm.DB {
	return s.db.WithContext(ctx).Exec(text, args...)
}

// read scans the rows of SQL text into dest.
func (s *Store) read(ctx context.Context, dest any, text string, args ...any) error {
	return s.db.WithContext(ctx).Raw(text, args...).Scan(dest).Error
}

// one scans exactly one row of SQL text into dest; no row is ErrNotFound.
func (s *Store) one(ctx context.Context, dest any, text string, args ...any) error {
	result := s.db.WithContext(ctx).Raw(text, args...).Scan(dest)
	if result.Error == nil && result.RowsAffected == 0 {
		return ErrNotFound
	}
	return result.Error
}

// IDList is a bigint[] column: sorted ids without repeats.
type IDList []int64

// Value and Scan write and read Postgres' array text, which the driver passes through as it is.
func (l IDList) Value() (driver.Value, error) {
	parts := make([]string, len(l))
	for i, id := range l {
		parts[i] = strconv.FormatInt(id, 10)
	}
	return "{" + strings.Join(parts, ",") + "}", nil
}

func (l *IDList) Scan(src any) error {
	text, ok := src.(string)
	if !ok || len(text) < 2 {
		return fmt.Errorf("models: %T is not a bigint[]", src)
	}
	*l = nil
	if text == "{}" {
		return nil
	}
	for _, part := range strings.Split(text[1:len(text)-1], ",") {
		id, err := strconv.ParseInt(part, 10, 64)
		if err != nil {
			return fmt.Errorf("models: bigint[] %q: %w", text, err)
		}
		*l = append(*l, id)
	}
	return nil
}

// textArray writes any strings as a text[].
type textArray []string

func (l textArray) Value() (driver.Value, error) {
	quoted := make([]string, len(l))
	for i, text := range l {
		quoted[i] = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
	}
	return "{" + strings.Join(quoted, ",") + "}", nil
}
