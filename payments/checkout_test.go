package payments

import (
	"errors"
	"sync"
	"testing"
	"time"

	"tiffin/models"
	"tiffin/razorpay/standin"
)

func TestPlaceOrder(t *testing.T) {
	t.Parallel()
	t.Run("S2.5 the order holds every line, name and price and adds up", func(t *testing.T) {
		t.Parallel()
		c := openShop(t, standin.Options{}).newCustomer().add("chicken-tikka", 2).add("samosa", 1)
		o := c.place()
		stored, err := c.store.FindOrder(t.Context(), o.ID)
		must(t, err)
		// 2 × 329.00 + 99.00 = 757.00; packing 5.00 + 3 × 2.50 = 12.50; delivery free above 499.00; taxable 769.50
		// CGST = SGST = 769.50 × 2.5 % = 19.2375 → 19.24; sum 807.98; round-off +0.02
		if stored.SubtotalPaise != 75700 || stored.PackagingPaise != 1250 || stored.DeliveryPaise != 0 || stored.CGSTPaise != 1924 ||
			stored.SGSTPaise != 1924 || stored.RoundOffPaise != 2 || stored.AmountPaise != 80800 {
			t.Errorf("bill: %+v", stored)
		}
		if len(stored.Items) != 2 || stored.Items[0].Name != "Chicken Tikka" || stored.Items[0].LineTotalPaise != 65800 {
			t.Errorf("lines: %s", plain(stored.Items))
		}
		if stored.Number != 1 || stored.Status != models.OrderPending || stored.NextCheckAt == nil {
			t.Errorf("state: number %d, %s", stored.Number, stored.Status)
		}
		c.kept()
	})
	t.Run("S2.18 200 parallel presses of Pay give one order, one number and one gateway order in every answer", func(t *testing.T) {
		t.Parallel()
		c := openShop(t, standin.Options{}).newCustomer().add("samosa", 2)
		in := c.checkout()
		type answer struct {
			order   int64
			gateway string
			err     error
		}
		answers := inParallel(200, func() (a answer) {
			o, err := c.cashier.PlaceOrder(t.Context(), in)
			if err != nil {
				return answer{err: err}
			}
			a.order = o.ID
			for try := 0; try < 200; try++ {
				if a.gateway, a.err = c.cashier.OpenGatewayOrder(t.Context(), o); !errors.Is(a.err, models.ErrPreparing) {
					return a
				}
			}
			return a
		})
		for _, a := range answers {
			if a.err != nil && !errors.Is(a.err, models.ErrPreparing) {
				t.Fatal(a.err)
			}
			if a.order != answers[0].order {
				t.Fatalf("orders %d and %d", a.order, answers[0].order)
			}
		}
		final, err := c.cashier.OpenGatewayOrder(t.Context(), &models.Order{ID: answers[0].order, CustomerID: *c.session.CustomerID})
		must(t, err)
		for _, a := range answers {
			if a.err == nil && a.gateway != final {
				t.Fatalf("gateway orders %s and %s", a.gateway, final)
			}
		}
		if n := c.count(`SELECT count(*) FROM orders`); n != 1 {
			t.Errorf("%d orders", n)
		}
		if n := len(c.gateway.Books().Orders); n != 1 {
			t.Errorf("%d gateway orders", n)
		}
		if n := c.count(`SELECT last FROM order_counters`); n != 1 {
			t.Errorf("%d order numbers taken", n)
		}
	})
	t.Run("S2.19 the same key with other details is refused and the first order stays", func(t *testing.T) {
		t.Parallel()
		for _, change := range []struct {
			name string
			make func(c *customer, in *Checkout)
		}{
			{"items", func(c *customer, _ *Checkout) { c.add("samosa", 1); c.refresh() }},
			{"address", func(_ *customer, in *Checkout) { in.Line1 = "Flat 303, Lake View" }},
			{"PIN code", func(_ *customer, in *Checkout) { in.PIN = "560008" }},
			{"way", func(_ *customer, in *Checkout) { in.Way = "pickup" }},
		} {
			t.Run(change.name, func(t *testing.T) {
				t.Parallel()
				c := openShop(t, standin.Options{}).newCustomer().add("chicken-tikka", 1)
				in := c.checkout()
				first, err := c.cashier.PlaceOrder(t.Context(), in)
				must(t, err)
				c.refresh()
				in.Session = c.session
				change.make(c, &in)
				in.Session = c.session
				if _, err := c.cashier.PlaceOrder(t.Context(), in); !errors.Is(err, models.ErrKeyReused) {
					t.Fatalf("got %v", err)
				}
				if c.status(first) != models.OrderPending || c.count(`SELECT count(*) FROM orders`) != 1 {
					t.Error("the first order was touched")
				}
				// The new review has a new key, and the order placed with it takes the place of the old one.
				in2 := c.checkout()
				if in2.CheckoutKey == in.CheckoutKey {
					t.Error("the key was not replaced")
				}
				second, err := c.cashier.PlaceOrder(t.Context(), in2)
				must(t, err)
				if second.ID == first.ID || c.status(first) != models.OrderCancelled || c.text(`SELECT cancel_reason FROM orders WHERE id = $1`, first.ID) != "superseded" {
					t.Error("the old order was not superseded")
				}
				c.kept()
			})
		}
	})
	t.Run("a copy of the key that is not the session's places nothing", func(t *testing.T) {
		t.Parallel()
		c := openShop(t, standin.Options{}).newCustomer().add("samosa", 1)
		in := c.checkout()
		in.CheckoutKey = "11111111-2222-4333-8444-555555555555"
		if _, err := c.cashier.PlaceOrder(t.Context(), in); !errors.Is(err, models.ErrKeyReused) {
			t.Errorf("foreign key: %v", err)
		}
		in.CheckoutKey = "no uuid"
		if _, err := c.cashier.PlaceOrder(t.Context(), in); !errors.Is(err, models.ErrBadInput) {
			t.Errorf("no key: %v", err)
		}
		if c.count(`SELECT count(*) FROM orders`) != 0 {
			t.Error("an order was placed")
		}
	})
	t.Run("C042 a bill that changed since it was shown is asked about again", func(t *testing.T) {
		t.Parallel()
		c := openShop(t, standin.Options{}).newCustomer().add("samosa", 2)
		in := c.checkout()
		c.exec(`UPDATE items SET price_paise = price_paise + 100 WHERE slug = 'samosa'`)
		if _, err := c.cashier.PlaceOrder(t.Context(), in); !errors.Is(err, models.ErrBillChanged) {
			t.Fatalf("got %v", err)
		}
		if c.count(`SELECT count(*) FROM orders`) != 0 {
			t.Error("an order was placed")
		}
		o := c.place()
		if o.SubtotalPaise != 2*10000 {
			t.Errorf("charged %d", o.SubtotalPaise)
		}
	})
	t.Run("the newest contact details win while the order is unpaid", func(t *testing.T) {
		t.Parallel()
		c := openShop(t, standin.Options{}).newCustomer().add("samosa", 2)
		in := c.checkout()
		first, err := c.cashier.PlaceOrder(t.Context(), in)
		must(t, err)
		in.Phone = "+919845099999"
		again, err := c.cashier.PlaceOrder(t.Context(), in)
		must(t, err)
		if again.ID != first.ID || c.text(`SELECT phone FROM orders`) != "+919845099999" {
			t.Error("the corrected number was lost")
		}
		in.BuyerGSTIN, in.BuyerName = "29ABCDE1234F1ZW", "Rao Traders"
		_, err = c.cashier.PlaceOrder(t.Context(), in)
		must(t, err)
		if got := c.text(`SELECT buyer_gstin || ' ' || buyer_name FROM orders`); got != "29ABCDE1234F1ZW Rao Traders" {
			t.Errorf("the business the invoice is for is %q", got)
		}
	})
	t.Run("a closed kitchen, a place too far and a small order are refused before anything is written", func(t *testing.T) {
		t.Parallel()
		c := openShop(t, standin.Options{}).newCustomer().add("samosa", 1)
		var delivery *models.ErrDelivery
		in := c.checkout()
		if _, err := c.cashier.PlaceOrder(t.Context(), in); !errors.As(err, &delivery) || delivery.Why != "minimum" {
			t.Errorf("below the minimum: %v", err)
		}
		in.PIN = "110001" // C034
		if _, err := c.cashier.PlaceOrder(t.Context(), in); !errors.As(err, &delivery) || delivery.Why != "far" {
			t.Errorf("too far: %v", err)
		}
		c.add("samosa", 2)
		in = c.checkout()
		c.exec(`UPDATE outlets SET accepts_orders = false`) // C032
		if _, err := c.cashier.PlaceOrder(t.Context(), in); !errors.Is(err, models.ErrClosed) {
			t.Errorf("paused: %v", err)
		}
		if c.count(`SELECT count(*) FROM orders`) != 0 || c.count(`SELECT count(*) FROM cart_lines`) != 1 {
			t.Error("something was written, or the cart was lost")
		}
	})
	t.Run("C032 C033 a kitchen that staff closed is closed for the menu's banner, the review and placing alike", func(t *testing.T) {
		t.Parallel()
		c := openShop(t, standin.Options{}).newCustomer().add("samosa", 2)
		c.place() // the window's row exists from the first order on
		c.add("samosa", 1)
		in := c.checkout()
		must(t, c.store.CloseKitchen(t.Context(), c.outlet.ID, 1))
		schedule, err := c.store.FindSchedule(t.Context(), c.outlet.ID)
		must(t, err)
		now, err := c.store.Now(t.Context())
		must(t, err)
		if opening := schedule.At(now); opening.Open || opening.Next.OpensAt.IsZero() {
			t.Errorf("the banner says %+v", opening)
		}
		if _, err := c.cashier.PlaceOrder(t.Context(), in); !errors.Is(err, models.ErrClosed) {
			t.Errorf("placing: %v", err)
		}
		if c.count(`SELECT count(*) FROM orders`) != 1 {
			t.Error("an order was placed")
		}
	})
	t.Run("when an order's time to pay is over, one press places the same cart again, once", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, standin.Options{Settings: standin.Settings{SecondPayment: standin.SecondCaptured}})
		s.limit("chicken-tikka", 2)
		c := s.newCustomer().add("chicken-tikka", 2)
		in := c.checkout()
		first, err := c.cashier.PlaceOrder(t.Context(), in)
		must(t, err)
		old, err := c.cashier.OpenGatewayOrder(t.Context(), first)
		must(t, err)
		s.advance(16 * time.Minute)
		var second int64
		for _, o := range inParallel(10, func() *models.Order {
			o, err := c.cashier.PlaceOrder(t.Context(), in)
			if err != nil {
				t.Error(err)
				return first
			}
			return o
		}) {
			if second == 0 {
				second = o.ID
			}
			if o.ID == first.ID || o.ID != second {
				t.Fatalf("orders %d and %d after %d", second, o.ID, first.ID)
			}
		}
		if s.count(`SELECT count(*) FROM orders`) != 2 || s.status(first) != models.OrderCancelled || s.count(`SELECT held FROM stock`) != 2 {
			t.Errorf("the first order is %s", s.status(first))
		}
		p := s.pay(standin.PayParams{OrderID: old}) // the bank's late yes for the order that is gone
		must(t, captureIfNeeded(s, p.ID))
		c.verify(first, old, p.ID)
		s.heal()
		if s.refundedThere(p.ID) != p.AmountPaise {
			t.Error("the late money did not go back")
		}
	})
	t.Run("C046 a bill below one rupee is refused with a reason, one of a rupee is placed", func(t *testing.T) {
		t.Parallel()
		c := openShop(t, standin.Options{}).newCustomer().add("samosa", 1)
		c.exec(`UPDATE delivery_bands SET fee_paise = 0, minimum_paise = 0`)
		c.exec(`UPDATE packaging_fees SET per_order_paise = 0, per_piece_paise = 0`)
		c.exec(`UPDATE items SET price_paise = 40 WHERE slug = 'samosa'; UPDATE outlets SET rounds_to_rupee = false`)
		if _, err := c.cashier.PlaceOrder(t.Context(), c.checkout()); !errors.Is(err, models.ErrTooSmall) {
			t.Errorf("₹0.42: %v", err)
		}
		c.exec(`UPDATE outlets SET rounds_to_rupee = true`)
		c.exec(`UPDATE items SET price_paise = 95 WHERE slug = 'samosa'`)
		if o := c.place(); o.AmountPaise != 100 {
			t.Errorf("placed for %d", o.AmountPaise)
		}
	})
	t.Run("the last portion is placed once", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, standin.Options{})
		s.limit("chicken-tikka", 1)
		ins := make([]Checkout, 30)
		for i := range ins {
			ins[i] = s.newCustomer().add("chicken-tikka", 1).checkout()
		}
		var mu sync.Mutex
		next := 0
		errs := inParallel(len(ins), func() error {
			mu.Lock()
			in := ins[next]
			next++
			mu.Unlock()
			_, err := s.cashier.PlaceOrder(t.Context(), in)
			return err
		})
		placed := 0
		for _, err := range errs {
			var sold *models.ErrSoldOut
			switch {
			case err == nil:
				placed++
			case !errors.As(err, &sold) || sold.Name != "Chicken Tikka":
				t.Error(err)
			}
		}
		if placed != 1 || s.count(`SELECT held FROM stock`) != 1 {
			t.Errorf("%d placed", placed)
		}
		s.kept()
	})
	t.Run("C054 50 parallel placings have 50 numbers", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, standin.Options{})
		ins := make(chan Checkout, 50)
		for range cap(ins) {
			ins <- s.newCustomer().add("samosa", 2).checkout()
		}
		for _, err := range inParallel(cap(ins), func() error { _, err := s.cashier.PlaceOrder(t.Context(), <-ins); return err }) {
			must(t, err)
		}
		if n := s.count(`SELECT count(DISTINCT number) FROM orders WHERE number BETWEEN 1 AND 50`); n != 50 {
			t.Errorf("%d numbers", n)
		}
	})
	t.Run("C072 carts of [A,B] and [B,A] with cancels between them never deadlock", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, standin.Options{})
		s.limit("chicken-tikka", 500)
		s.limit("samosa", 500)
		ins := make(chan Checkout, 60)
		for i := range cap(ins) {
			first, second := "chicken-tikka", "samosa"
			if i%2 == 1 {
				first, second = second, first
			}
			ins <- s.newCustomer().add(first, 1).add(second, 1).checkout()
		}
		for _, err := range inParallel(cap(ins), func() error {
			o, err := s.cashier.PlaceOrder(t.Context(), <-ins)
			if err == nil && o.ID%3 == 0 {
				_, err = s.cashier.CancelOrder(t.Context(), o.ID, models.ActorCustomer, "changed_mind")
			}
			return err
		}) {
			must(t, err)
		}
		s.kept()
	})
}

// inParallel runs fn n times at once, all started by one barrier, and returns what each gave.
func inParallel[T any](n int, fn func() T) []T {
	results := make([]T, n)
	start := make(chan struct{})
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() {
			<-start
			results[i] = fn()
		})
	}
	close(start)
	group.Wait()
	return results
}

// Named by the founding text (S2.48).
func TestTwoParallelPreparesCreateOneGatewayOrder(t *testing.T) {
	t.Parallel()
	c := openShop(t, standin.Options{}).newCustomer().add("samosa", 2)
	o := c.place()
	c.gateway.Inject(standin.Fault{Method: "POST", Path: "/v1/orders", Kind: standin.Delay, For: 50 * time.Millisecond})
	errs := inParallel(2, func() error { _, err := c.cashier.OpenGatewayOrder(t.Context(), o); return err })
	if (errs[0] == nil) == (errs[1] == nil) {
		t.Errorf("both or neither: %v", errs)
	}
	for _, err := range errs {
		if err != nil && !errors.Is(err, models.ErrPreparing) {
			t.Error(err)
		}
	}
	if n := c.creates(); n != 1 {
		t.Errorf("orders.create was called %d times", n)
	}
	if _, err := c.cashier.OpenGatewayOrder(t.Context(), o); err != nil {
		t.Errorf("S2.25 the loser asks again: %v", err)
	}
}

// S2.21: each of the five conditions alone makes the claim fail.
func TestClaimGatewayOrder(t *testing.T) {
	t.Parallel()
	claim := func(c *customer, o *models.Order, customerID int64) error {
		_, _, err := c.store.ClaimGatewayOrder(t.Context(), o.ID, customerID)
		return err
	}
	for _, condition := range []struct {
		name string
		want error
		make func(c *customer, o *models.Order) (orderID, customerID int64)
	}{
		{"another customer", models.ErrNotFound, func(c *customer, o *models.Order) (int64, int64) { return o.ID, *c.newCustomer().session.CustomerID }},
		{"another order", models.ErrNotFound, func(_ *customer, o *models.Order) (int64, int64) { return o.ID + 999, o.CustomerID }},
		{"not pending", models.ErrBadMove, func(c *customer, o *models.Order) (int64, int64) {
			_, err := c.cashier.CancelOrder(t.Context(), o.ID, models.ActorCustomer, "changed_mind")
			must(t, err)
			return o.ID, o.CustomerID
		}},
		{"claimed already", models.ErrPreparing, func(c *customer, o *models.Order) (int64, int64) {
			must(t, claim(c, o, o.CustomerID))
			return o.ID, o.CustomerID
		}},
		{"its hold is over", models.ErrTooLate, func(c *customer, o *models.Order) (int64, int64) {
			c.advance(16 * time.Minute)
			return o.ID, o.CustomerID
		}},
	} {
		t.Run(condition.name, func(t *testing.T) {
			t.Parallel()
			c := openShop(t, standin.Options{}).newCustomer().add("samosa", 2)
			o := c.place()
			before := c.count(`SELECT count(*) FROM gateway_claims`)
			orderID, customerID := condition.make(c, o)
			if condition.want == models.ErrPreparing {
				before++
			}
			if _, _, err := c.store.ClaimGatewayOrder(t.Context(), orderID, customerID); !errors.Is(err, condition.want) {
				t.Errorf("got %v, want %v", err, condition.want)
			}
			if n := c.count(`SELECT count(*) FROM gateway_claims`); n != before {
				t.Errorf("%d claims", n)
			}
		})
	}
	t.Run("a gateway order exists already", func(t *testing.T) {
		t.Parallel()
		c := openShop(t, standin.Options{}).newCustomer().add("samosa", 2)
		o, id := c.open()
		_, current, err := c.store.ClaimGatewayOrder(t.Context(), o.ID, o.CustomerID)
		if err != nil || current != id || c.count(`SELECT count(*) FROM gateway_claims`) != 1 {
			t.Errorf("current %q, %v", current, err)
		}
	})
	t.Run("S2.22 of two at once one wins", func(t *testing.T) {
		t.Parallel()
		c := openShop(t, standin.Options{}).newCustomer().add("samosa", 2)
		o := c.place()
		wins := 0
		for _, err := range inParallel(20, func() error { return claim(c, o, o.CustomerID) }) {
			if err == nil {
				wins++
			} else if !errors.Is(err, models.ErrPreparing) {
				t.Error(err)
			}
		}
		if wins != 1 {
			t.Errorf("%d winners", wins)
		}
	})
}

func TestOpenGatewayOrder(t *testing.T) {
	t.Parallel()
	t.Run("S2.43 the receipt is our public id and fits 40 characters; S1.21 pressing Pay again reuses the gateway order", func(t *testing.T) {
		t.Parallel()
		c := openShop(t, standin.Options{}).newCustomer().add("samosa", 2)
		o, id := c.open()
		for range 5 {
			again, err := c.cashier.OpenGatewayOrder(t.Context(), o)
			if err != nil || again != id {
				t.Fatalf("%s, %v", again, err)
			}
		}
		made, _ := c.gateway.Books().Order(id)
		if made.Receipt != o.PublicID+"-g1" || len(made.Receipt) > 40 || made.AmountPaise != int64(o.AmountPaise) {
			t.Errorf("%+v", made)
		}
	})
	// C007 and C015: whatever the create answers, nothing panics, no id is handed out that is not known, and the order is still there.
	for _, fault := range []struct {
		name string
		f    standin.Fault
		want error
	}{
		{"a refusal", standin.Fault{Kind: standin.Refuse, Refusal: "order_amount_too_small"}, ErrNoGateway},
		{"wrong keys", standin.Fault{Kind: standin.Refuse, Refusal: "auth_failed"}, ErrNoGateway},
		{"too many requests", standin.Fault{Kind: standin.Refuse, Refusal: "rate_limited"}, models.ErrPreparing},
		{"a server error", standin.Fault{Kind: standin.Refuse, Refusal: "server_error"}, models.ErrPreparing},
		{"a proxy's page", standin.Fault{Kind: standin.HTML502}, models.ErrPreparing},
		{"an empty answer", standin.Fault{Kind: standin.Empty200}, models.ErrPreparing},
		{"an empty object", standin.Fault{Kind: standin.EmptyObject}, models.ErrPreparing},
		{"half an answer", standin.Fault{Kind: standin.Truncate}, models.ErrPreparing},
		{"a reset", standin.Fault{Kind: standin.Reset}, models.ErrPreparing},
		{"the answer lost", standin.Fault{Kind: standin.Drop}, models.ErrPreparing},
	} {
		t.Run("after "+fault.name+" the order can still be paid, once", func(t *testing.T) {
			t.Parallel()
			c := openShop(t, standin.Options{}).newCustomer().add("samosa", 2)
			o := c.place()
			fault.f.Method, fault.f.Path, fault.f.Times = "POST", "/v1/orders", 1
			c.gateway.Inject(fault.f)
			if _, err := c.cashier.OpenGatewayOrder(t.Context(), o); !errors.Is(err, fault.want) {
				t.Fatalf("got %v, want %v", err, fault.want)
			}
			if c.status(o) != models.OrderPending || c.count(`SELECT count(*) FROM gateway_orders`) != 0 {
				t.Error("the order is not as it was")
			}
			// S2.41, S2.58: created but lost is attached; never created is let go and made once more.
			var id string
			var err error
			for range 12 {
				if id, err = c.cashier.OpenGatewayOrder(t.Context(), o); err == nil {
					break
				}
				c.advance(15 * time.Second)
				_, sweepErr := c.cashier.ResolveClaims(t.Context())
				must(t, sweepErr)
			}
			must(t, err)
			p := c.pay(standin.PayParams{OrderID: id})
			if got := c.verify(o, id, p.ID); got.Status != models.OrderPaid {
				t.Errorf("order is %s", got.Status)
			}
			if n := c.count(`SELECT count(*) FROM gateway_orders WHERE handed_out_at IS NOT NULL`); n != 1 {
				t.Errorf("%d gateway orders were handed out", n)
			}
			c.kept()
		})
	}
	for _, mode := range []string{standin.ReceiptAllow, standin.ReceiptRejectWithOrder, standin.ReceiptReject, standin.ReceiptReturnSame} {
		t.Run("S2.57 a process that died after creating is recovered with receipts in mode "+mode, func(t *testing.T) {
			t.Parallel()
			c := openShop(t, standin.Options{Settings: standin.Settings{ReceiptMode: mode, ListLag: 90 * time.Second}}).newCustomer().add("samosa", 2)
			o := c.place()
			claim, _, err := c.store.ClaimGatewayOrder(t.Context(), o.ID, o.CustomerID)
			must(t, err)
			_, err = c.cashier.gateway.CreateOrder(t.Context(), orderParams(o, claim)) // and here it was killed
			must(t, err)
			if _, err := c.cashier.OpenGatewayOrder(t.Context(), o); !errors.Is(err, models.ErrPreparing) {
				t.Fatalf("S2.42 while the truth is unknown nobody creates again: %v", err)
			}
			var id string
			for range 20 {
				c.advance(15 * time.Second)
				_, err := c.cashier.ResolveClaims(t.Context())
				must(t, err)
				if id, err = c.cashier.OpenGatewayOrder(t.Context(), o); err == nil {
					break
				}
			}
			if id == "" || len(c.gateway.Books().Orders) != 1 || c.creates() != 1 {
				t.Errorf("current %q, %d gateway orders", id, len(c.gateway.Books().Orders))
			}
			c.kept()
		})
	}
	t.Run("S2.42 while the look-up fails the claim is kept", func(t *testing.T) {
		t.Parallel()
		c := openShop(t, standin.Options{}).newCustomer().add("samosa", 2)
		o := c.place()
		c.gateway.Inject(standin.Fault{Method: "POST", Path: "/v1/orders", Kind: standin.Drop, Times: 1})
		c.gateway.Inject(standin.Fault{Method: "GET", Path: "/v1/orders", Kind: standin.HTML502})
		_, err := c.cashier.OpenGatewayOrder(t.Context(), o)
		if !errors.Is(err, models.ErrPreparing) {
			t.Fatal(err)
		}
		for range 12 {
			c.advance(20 * time.Second)
			_, err := c.cashier.ResolveClaims(t.Context())
			must(t, err)
		}
		if state := c.text(`SELECT state FROM gateway_claims`); state != "unknown" || c.creates() != 1 {
			t.Errorf("claim is %s, %d creates", state, c.creates())
		}
	})
	t.Run("a twin that appears later never keeps a second payment", func(t *testing.T) {
		t.Parallel()
		c := openShop(t, standin.Options{Settings: standin.Settings{SecondPayment: standin.SecondCaptured}}).newCustomer().add("samosa", 2)
		o := c.place()
		claim, _, err := c.store.ClaimGatewayOrder(t.Context(), o.ID, o.CustomerID)
		must(t, err)
		for range 12 { // the resolver lets the claim go: nothing was listed
			c.advance(15 * time.Second)
			_, err := c.cashier.ResolveClaims(t.Context())
			must(t, err)
		}
		current, err := c.cashier.OpenGatewayOrder(t.Context(), o)
		must(t, err)
		// The first process wakes up with a gateway order in hand: attach gives it the winner's.
		twin, err := c.cashier.gateway.CreateOrder(t.Context(), orderParams(o, claim))
		must(t, err)
		handed, err := c.cashier.attach(t.Context(), o.ID, twin, claim.Generation, claim.Token, "create")
		if err != nil || handed != current {
			t.Errorf("attach returned %s, current is %s (%v)", handed, current, err)
		}
		// Money on both: one is kept, the other goes back.
		first, second := c.pay(standin.PayParams{OrderID: current}), c.pay(standin.PayParams{OrderID: twin.ID})
		for _, p := range []string{second.ID, first.ID} {
			_, err := c.cashier.recordPayment(t.Context(), p, models.ViaWebhook, 0)
			must(t, err)
		}
		if n := c.count(`SELECT count(*) FROM payments WHERE disposition = 'kept'`); n != 1 {
			t.Errorf("%d kept", n)
		}
		c.heal()
		if back := c.refundedThere(first.ID) + c.refundedThere(second.ID); back != int64(o.AmountPaise) {
			t.Errorf("%d paise went back", back)
		}
	})
}
