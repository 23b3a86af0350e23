package handlers

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"tiffin/razorpay/standin"
)

// A database that restarts is a busy shop, not a fault of ours: the same answer as one that does not listen at all.
func TestRestartingDatabaseIsBusy(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"57P01", "57P02", "57P03", "53300"} {
		if status, _ := explain(context.Background(), fmt.Errorf("session: %w", &pgconn.PgError{Code: code})); status != 503 {
			t.Errorf("%s is answered with %d", code, status)
		}
	}
	closed := sql.OpenDB(nowhere{})
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	for _, cut := range []error{driver.ErrBadConn, sql.ErrConnDone, closed.Ping()} { // a connection that was cut, as the driver says it; a shop that stops
		if status, _ := explain(context.Background(), fmt.Errorf("session: %w", cut)); status != 503 {
			t.Errorf("%v is answered with %d", cut, status)
		}
	}
}

// nowhere is a database that nobody connects to.
type nowhere struct{ driver.Connector }

// Whoever brings a signed slip has paid, and so may have whoever looks at their order. Whatever goes wrong there, nobody is told that
// nothing was charged.
func TestFaultAfterPayingIsNoLie(t *testing.T) {
	t.Parallel()
	for _, js := range []bool{false, true} {
		t.Run(fmt.Sprintf("script=%t", js), func(t *testing.T) {
			t.Parallel()
			s := openShop(t)
			b := s.visitor()
			b.put("chicken-tikka", 1)
			token := b.place()
			slip := s.pay(token, standin.PayParams{})
			s.exec(`ALTER TABLE payments RENAME TO payments_away`)
			in := ask{path: "/payments/verify?order=" + url.QueryEscape(token), form: slip}
			if js {
				in = ask{path: in.path, kind: "application/json", body: fmt.Sprintf(`{"razorpay_order_id":%q,"razorpay_payment_id":%q,"razorpay_signature":%q}`,
					slip.Get("razorpay_order_id"), slip.Get("razorpay_payment_id"), slip.Get("razorpay_signature"))}
			}
			r := b.send(in)
			page := b.get("/orders/" + token)
			s.exec(`ALTER TABLE gateway_orders RENAME TO gateway_orders_away`)
			for _, r := range []reply{r, page, b.send(in)} {
				for _, lie := range []string{"Nothing was charged", "Nothing was changed"} {
					if strings.Contains(r.body, lie) {
						t.Errorf("%d says %q to somebody who has paid", r.status, lie)
					}
				}
			}
		})
	}
}
