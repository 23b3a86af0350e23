package migrations_test

import (
	"database/sql"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"

	"tiffin/devdb"
	"tiffin/migrations"
)

// Several processes start at once on an empty database; each finds the whole schema afterwards.
func TestUpFromSeveralProcessesAtOnce(t *testing.T) {
	t.Parallel()
	url := devdb.EmptyURL(t)
	errs := make(chan error, 4)
	for range cap(errs) {
		go func() {
			db, err := sql.Open("pgx", url)
			if err == nil {
				err = migrations.Up(t.Context(), db)
				if closeErr := db.Close(); err == nil {
					err = closeErr
				}
			}
			errs <- err
		}()
	}
	for range cap(errs) {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	db, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if current, err := migrations.Current(t.Context(), db); !current || err != nil {
		t.Errorf("current: %v, %v", current, err)
	}
	var twice int
	if err := db.QueryRow(`SELECT count(*) FROM (SELECT version_id FROM goose_db_version WHERE is_applied GROUP BY version_id HAVING count(*) > 1) v`).Scan(&twice); err != nil || twice != 0 {
		t.Errorf("%d steps were applied twice, %v", twice, err)
	}
	for _, table := range []string{"orders", "webhook_events", "river_job"} { // S1.9, S3.3
		if err := db.QueryRow(`SELECT count(*) FROM ` + table).Scan(new(int)); err != nil {
			t.Errorf("%s: %v", table, err)
		}
	}
}

// A database that has no schema yet is not current.
func TestCurrentOnAnEmptyDatabase(t *testing.T) {
	t.Parallel()
	db, err := sql.Open("pgx", devdb.EmptyURL(t))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if current, _ := migrations.Current(t.Context(), db); current {
		t.Error("an empty database is called current")
	}
}
