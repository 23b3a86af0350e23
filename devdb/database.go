package devdb

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib" // goose takes a *sql.DB

	"tiffin/migrations"
)

const (
	// EnvURL names the variable that points tests to a server that is already there, set by `cmd/dev with-db`.
	EnvURL = "TIFFIN_TEST_DATABASE_URL"

	// databasePrefix marks a test's own database, templatePrefix a migrated one to clone. sweep removes what carries either,
	// so no other database on a server for tests may be called so.
	databasePrefix = "test_"
	templatePrefix = "template_"

	// templateLock is the advisory lock under which a template is made: any number nobody else uses will do.
	templateLock = 7_466_546_001

	// databaseLimit bounds one making or dropping of a database. It is milliseconds on an idle machine; with every core at
	// work on tests and compilation it has to stand a queue.
	databaseLimit = 2 * time.Minute
)

// URL gives the test a fresh database of its own with the whole schema and not one row, dropped when the test ends.
// It lies on the server EnvURL names, or else on one that this process starts at the first call and that ends with it.
// Tests may call it in parallel, and more than once.
func URL(t testing.TB) string {
	t.Helper()
	c, err := testCluster()
	if err != nil {
		t.Fatal(err)
	}
	return c.database(t, c.template)
}

// EmptyURL is URL without the schema, for tests of the migrations themselves.
func EmptyURL(t testing.TB) string {
	t.Helper()
	c, err := testCluster()
	if err != nil {
		t.Fatal(err)
	}
	return c.database(t, empty)
}

// Private gives the test a server of its own, which it may Kill and Restart as it likes. It is gone when the test ends.
func Private(t testing.TB) *Server {
	t.Helper()
	s, err := StartThrowaway(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// TestURL is URL on this server.
func (s *Server) TestURL(t testing.TB) string {
	t.Helper()
	return s.tests.database(t, s.tests.template)
}

// testCluster is the server all of this process's tests share.
var testCluster = sync.OnceValues(func() (*cluster, error) {
	if env := os.Getenv(EnvURL); env != "" {
		u, err := url.Parse(env)
		if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
			return nil, fmt.Errorf("devdb: %s is not of the form postgres://user@host/database", EnvURL)
		}
		return &cluster{admin: *u}, nil
	}
	s, err := StartThrowaway(context.Background())
	if err != nil {
		return nil, err
	}
	return &s.tests, nil // never stopped by us: it ends with this process, as StartThrowaway's servers do
})

// cluster is a server as tests see it: a place to make databases in.
type cluster struct {
	admin url.URL // a database to send CREATE DATABASE to; the advisory lock lives in it, so all have to use the same

	mu       sync.Mutex
	migrated string // the template, once it is known to be there
}

// database makes a database from the template that from names, and has it dropped at the test's end.
func (c *cluster) database(t testing.TB, from func(context.Context) (string, error)) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), databaseLimit)
	defer cancel()
	template, err := from(ctx)
	if err != nil {
		t.Fatal(err)
	}
	own := databasePrefix + strings.ToLower(rand.Text())
	if err := c.do(ctx, "CREATE DATABASE "+own+" TEMPLATE "+template); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), databaseLimit)
		defer cancel()
		if err := c.do(ctx, "DROP DATABASE IF EXISTS "+own+" WITH (FORCE)"); err != nil {
			t.Logf("%v (the next start of this server removes it)", err)
		}
	})
	return c.url(own)
}

func empty(context.Context) (string, error) { return "template0", nil }

// template names the migrated database to clone, and makes it if this server has none for the present migrations.
func (c *cluster) template(ctx context.Context) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.migrated != "" {
		return c.migrated, nil
	}
	name, err := templateName()
	if err != nil {
		return "", err
	}
	if err := c.migrate(ctx, name); err != nil {
		return "", fmt.Errorf("devdb: make a migrated database: %w", err)
	}
	c.migrated = name
	return name, nil
}

// migrate makes the template name, once however many processes ask. A template is migrated under another name and renamed when
// it is whole, and lets nobody in afterwards: a database with sessions cannot be cloned.
func (c *cluster) migrate(ctx context.Context, name string) (err error) {
	admin, err := pgx.Connect(ctx, c.admin.String())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, admin.Close(ctx)) }() // lets go of the lock too
	if _, err := admin.Exec(ctx, "SELECT pg_advisory_lock($1)", templateLock); err != nil {
		return err
	}
	var there bool
	if err := admin.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", name).Scan(&there); err != nil || there {
		return err
	}
	making := name + "_making"
	for _, sql := range []string{"DROP DATABASE IF EXISTS " + making + " WITH (FORCE)", "CREATE DATABASE " + making + " TEMPLATE template0"} {
		if _, err := admin.Exec(ctx, sql); err != nil {
			return err
		}
	}
	db, err := sql.Open("pgx", c.url(making))
	if err != nil {
		return err
	}
	if err := errors.Join(migrations.Up(ctx, db), db.Close()); err != nil {
		return err
	}
	for _, sql := range []string{"ALTER DATABASE " + making + " ALLOW_CONNECTIONS false", "ALTER DATABASE " + making + " RENAME TO " + name} {
		if _, err := admin.Exec(ctx, sql); err != nil {
			return err
		}
	}
	return nil
}

// templateName carries a hash of all that makes the schema, so a changed migration gets a new template: the steps, and go.mod,
// since River's part of the schema comes with its module.
func templateName() (string, error) {
	h := sha256.New()
	err := fs.WalkDir(migrations.Files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(migrations.Files, path)
		fmt.Fprintf(h, "%s %d\n%s", path, len(b), b)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("devdb: hash the migrations: %w", err)
	}
	mod, err := goMod()
	if err != nil {
		return "", err
	}
	h.Write(mod)
	return templatePrefix + hex.EncodeToString(h.Sum(nil)[:8]), nil
}

// goMod is the go.mod at or above the folder we stand in, as every test and `go run` does; nothing when there is none.
func goMod() ([]byte, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("devdb: %w", err)
	}
	for {
		b, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil || dir == filepath.Dir(dir) {
			return b, nil
		}
		dir = filepath.Dir(dir)
	}
}

// sweep removes tests' databases and templates of other migrations, left by runs that were cut short or are long ago.
// Only for a server that was just started, so that nobody else uses it.
func (s *Server) sweep(ctx context.Context) error {
	keep, err := templateName()
	if err != nil {
		return err
	}
	admin, err := pgx.Connect(ctx, s.tests.admin.String())
	if err != nil {
		return err
	}
	defer admin.Close(ctx)
	rows, err := admin.Query(ctx, `SELECT datname FROM pg_database
		WHERE (starts_with(datname, $1) OR starts_with(datname, $2)) AND datname <> $3`,
		databasePrefix, templatePrefix, keep)
	if err != nil {
		return err
	}
	left, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	for _, name := range left {
		if _, err := admin.Exec(ctx, "DROP DATABASE "+pgx.Identifier{name}.Sanitize()+" WITH (FORCE)"); err != nil {
			return err
		}
	}
	return nil
}

// do runs one statement that no transaction may hold.
func (c *cluster) do(ctx context.Context, sql string) (err error) {
	admin, err := pgx.Connect(ctx, c.admin.String())
	if err != nil {
		return fmt.Errorf("devdb: %w", err)
	}
	if _, err := admin.Exec(ctx, sql); err != nil {
		return fmt.Errorf("devdb: %s: %w", sql, errors.Join(err, admin.Close(ctx)))
	}
	return admin.Close(ctx)
}

// url is the admin's, for another database.
func (c *cluster) url(database string) string {
	u := c.admin
	u.Path = "/" + database
	return u.String()
}
