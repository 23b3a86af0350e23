package devdb

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

func TestURLGivesAMigratedDatabaseOfItsOwn(t *testing.T) {
	for range 5 {
		start := time.Now()
		u := URL(t)
		t.Log(u, time.Since(start))
		c, err := pgx.Connect(context.Background(), u)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Exec(context.Background(), "create table y()"); err != nil {
			t.Fatal(err)
		}
		c.Close(context.Background())
	}
}
