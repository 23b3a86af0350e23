package torture

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"tiffin/devdb"
	"tiffin/migrations"
	"tiffin/models"
)

// place is what a worker keeps from round to round: a database server of its own, which rounds restart and kill, and the built shop.
type place struct {
	db       *devdb.Server
	binary   string
	template string
	dishes   map[string]int64 // ids by slug; the same in every round's database, since all are copies of the template

	down    atomic.Bool  // the database server is down, or coming up
	trouble atomic.Int64 // how often it, or its connections, went away
}

const (
	databasePrefix = "test_torture_" // devdb clears what begins with test_ at the next start
	kitchenLogin   = "meera"
	deskLogin      = "ravi"
	staffPassword  = "a long password of the kitchen"
	answerLimit    = 60 * time.Second // how long the database may be waited for
)

func newPlace(ctx context.Context, binary string) (p *place, err error) {
	p = &place{binary: binary, template: databasePrefix + "template", dishes: map[string]int64{}}
	if p.db, err = devdb.StartThrowaway(ctx); err != nil {
		return nil, err
	}
	if err = p.makeTemplate(ctx); err != nil {
		return nil, errors.Join(err, p.close())
	}
	return p, nil
}

func (p *place) close() error { return p.db.Stop() }

// makeTemplate is the shop every round begins with: the demo, open from midnight, few portions of two dishes, a cook and an owner.
func (p *place) makeTemplate(ctx context.Context) (err error) {
	if err := p.admin(ctx, "DROP DATABASE IF EXISTS "+p.template+" WITH (FORCE)", "CREATE DATABASE "+p.template+" TEMPLATE template0"); err != nil {
		return err
	}
	store, err := models.Open(ctx, p.url(p.template), 4)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if err := migrations.Up(ctx, store.SQL()); err != nil {
		return err
	}
	if _, err := store.LoadDemo(ctx); err != nil {
		return err
	}
	for _, text := range []string{`UPDATE outlet_hours SET opens_minute = 0`, `UPDATE items SET daily_limit = 6 WHERE slug = 'chicken-tikka'`, `UPDATE items SET daily_limit = 8 WHERE slug = 'rasmalai'`} {
		if _, err := store.SQL().ExecContext(ctx, text); err != nil {
			return err
		}
	}
	for _, login := range []string{kitchenLogin, deskLogin} {
		if _, err := store.CreateStaff(ctx, models.Staff{Login: login, Name: login, Role: "owner", Active: true}, staffPassword); err != nil {
			return err
		}
	}
	rows, err := store.SQL().QueryContext(ctx, `SELECT slug, id FROM items`)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var slug string
		var id int64
		if err := rows.Scan(&slug, &id); err != nil {
			return err
		}
		p.dishes[slug] = id
	}
	return rows.Err()
}

// url names a database of this place's server.
func (p *place) url(database string) string {
	u, err := url.Parse(p.db.URL())
	if err != nil {
		panic("torture: devdb made a URL that is none: " + err.Error())
	}
	u.Path = "/" + database
	return u.String()
}

// clone makes a round's database.
func (p *place) clone(ctx context.Context, database string) error {
	return p.admin(ctx, "DROP DATABASE IF EXISTS "+database+" WITH (FORCE)", "CREATE DATABASE "+database+" TEMPLATE "+p.template)
}

func (p *place) drop(ctx context.Context, database string) error {
	return p.admin(ctx, "DROP DATABASE IF EXISTS "+database+" WITH (FORCE)")
}

// admin runs statements that no transaction may hold.
func (p *place) admin(ctx context.Context, statements ...string) (err error) {
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	c, err := pgx.Connect(ctx, p.db.URL())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close(ctx)) }()
	for _, text := range statements {
		if _, err := c.Exec(ctx, text); err != nil {
			return fmt.Errorf("%s: %w", text, err)
		}
	}
	return nil
}
