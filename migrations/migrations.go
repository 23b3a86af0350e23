// Package migrations holds the schema and brings a database up to it.
// It knows SQL files and River's own migrations; it must not know what the rows mean to the program.
// It promises that any number of processes may call Up at once, that a step is applied once, and that nothing is ever rolled back.
// Read 0002_money.sql first: it is the shop's promise written as constraints.
package migrations

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"time"

	"github.com/pressly/goose/v3"
	"github.com/riverqueue/river/riverdriver/riverdatabasesql"
	"github.com/riverqueue/river/rivermigrate"
)

// Files are the numbered steps, forward only.
//
//go:embed *.sql
var Files embed.FS

// lockKey is the advisory lock every starter takes; any fixed number no other program uses on this database.
const lockKey = 7_846_334_601

// Up applies what is missing of the shop's schema and of River's, under one advisory lock held on a connection of its own:
// goose's own locker polls, and rivermigrate has none. Safe to repeat, and from several processes at once.
func Up(ctx context.Context, db *sql.DB) (err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("migrations: connect: %w", err)
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	// Waiting for another starter is no fault, however long its steps take; the connection's own limits come back afterwards.
	if _, err = conn.ExecContext(ctx, `SELECT set_config('statement_timeout', '0', false), set_config('lock_timeout', '0', false)`); err != nil {
		return fmt.Errorf("migrations: lock: %w", err)
	}
	if _, err = conn.ExecContext(ctx, `SELECT pg_advisory_lock($1)`, lockKey); err != nil {
		return fmt.Errorf("migrations: lock: %w", err)
	}
	defer func() {
		unlock, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		if _, unlockErr := conn.ExecContext(unlock, `SELECT pg_advisory_unlock($1)`, lockKey); unlockErr != nil {
			err = errors.Join(err, fmt.Errorf("migrations: unlock: %w", unlockErr))
		}
		if _, resetErr := conn.ExecContext(unlock, `RESET statement_timeout; RESET lock_timeout`); resetErr != nil {
			err = errors.Join(err, fmt.Errorf("migrations: unlock: %w", resetErr))
		}
	}()

	provider, err := goose.NewProvider(goose.DialectPostgres, db, Files)
	if err != nil {
		return fmt.Errorf("migrations: read: %w", err)
	}
	if _, err = provider.Up(ctx); err != nil {
		return fmt.Errorf("migrations: apply: %w", err)
	}
	jobs, err := rivermigrate.New(riverdatabasesql.New(db), nil)
	if err != nil {
		return fmt.Errorf("migrations: job queue: %w", err)
	}
	if _, err = jobs.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return fmt.Errorf("migrations: job queue: %w", err)
	}
	return nil
}

// Current reports whether the database has every step of this build; readiness asks it.
func Current(ctx context.Context, db *sql.DB) (bool, error) {
	provider, err := goose.NewProvider(goose.DialectPostgres, db, Files)
	if err != nil {
		return false, fmt.Errorf("migrations: read: %w", err)
	}
	pending, err := provider.HasPending(ctx)
	return !pending, err
}
