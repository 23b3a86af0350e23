package models

import (
	"fmt"
	"testing"
	"time"

	"tiffin/devdb"
)

// testConnections is enough for goroutines to meet in the database, and few enough for many tests at once on one server.
const testConnections = 8

// openStore gives the test a store on a fresh database of its own: the whole schema, not one row.
func openStore(t testing.TB) *Store {
	t.Helper()
	s, err := Open(t.Context(), devdb.URL(t), testConnections)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// setClock moves shop_now() by offset from the true time, for this test's database.
func setClock(t testing.TB, s *Store, offset time.Duration) {
	t.Helper()
	mustExec(t, s, fmt.Sprintf(`CREATE OR REPLACE FUNCTION shop_now() RETURNS timestamptz LANGUAGE sql VOLATILE AS
		$$ SELECT clock_timestamp() + interval '%d microseconds' $$`, offset.Microseconds()))
}

// stopClock makes shop_now() stand still at an instant.
func stopClock(t testing.TB, s *Store, at time.Time) {
	t.Helper()
	mustExec(t, s, fmt.Sprintf(`CREATE OR REPLACE FUNCTION shop_now() RETURNS timestamptz LANGUAGE sql VOLATILE AS
		$$ SELECT timestamptz '%s' $$`, at.UTC().Format(time.RFC3339Nano)))
}

// mustExec runs SQL text, for rows that no function of the store makes.
func mustExec(t testing.TB, s *Store, text string, args ...any) {
	t.Helper()
	if err := s.exec(t.Context(), text, args...).Error; err != nil {
		t.Fatal(err)
	}
}

// mustRead reads one value.
func mustRead[T any](t testing.TB, s *Store, text string, args ...any) (value T) {
	t.Helper()
	if err := s.one(t.Context(), &value, text, args...); err != nil {
		t.Fatal(err)
	}
	return value
}
