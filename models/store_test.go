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
	setClock(t, s, 0)
	return s
}

// toNoon is how far noon in India is from now. Stores of these tests begin there, whenever the test runs: no service window or day ends in
// the middle of it.
var toNoon = func() time.Duration {
	now := time.Now().In(India)
	return time.Date(now.Year(), now.Month(), now.Day(), 12, 0, 0, 0, India).Sub(now).Truncate(time.Second)
}()

// setClock moves shop_now() by offset from the time the test began at, for this test's database.
func setClock(t testing.TB, s *Store, offset time.Duration) {
	t.Helper()
	mustExec(t, s, fmt.Sprintf(`CREATE OR REPLACE FUNCTION shop_now() RETURNS timestamptz LANGUAGE sql VOLATILE AS
		$$ SELECT clock_timestamp() + interval '%d microseconds' $$`, (toNoon+offset).Microseconds()))
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

// mustOutlet makes an outlet that is open around the clock, with one category, and 2.5 % + 2.5 % on food.
func mustOutlet(t testing.TB, s *Store, slug string) (outletID int64) {
	t.Helper()
	outletID = mustRead[int64](t, s, `INSERT INTO outlets (slug, name, address, pin, phone, gstin, latitude_e6, longitude_e6, last_order_minutes)
		VALUES (?, initcap(?), '1 Test Road', '560038', '+918012345678', '29ABCDE1234F1ZW', 12971900, 77641200, 0) RETURNING id`, slug, slug)
	mustExec(t, s, `INSERT INTO outlet_hours (outlet_id, weekday, opens_minute, closes_minute) SELECT ?, day, 240, 1680 FROM generate_series(0, 6) day`, outletID)
	mustExec(t, s, `INSERT INTO categories (outlet_id, slug, name) VALUES (?, 'mains', 'Mains')`, outletID)
	mustExec(t, s, `INSERT INTO tax_rates (tax_class, starts_at, cgst_bp, sgst_bp) VALUES ('restaurant', '2020-01-01', 250, 250) ON CONFLICT DO NOTHING`)
	return outletID
}

// mustItem adds a vegetarian dish to the outlet's first category.
func mustItem(t testing.TB, s *Store, outletID int64, slug string, price Paise) (itemID int64) {
	t.Helper()
	return mustRead[int64](t, s, `INSERT INTO items (outlet_id, category_id, slug, name, mark, price_paise)
		SELECT outlet_id, id, ?, initcap(replace(?, '-', ' ')), 'veg', ? FROM categories WHERE outlet_id = ? ORDER BY id LIMIT 1 RETURNING id`, slug, slug, price, outletID)
}

// mustGroup adds choices to a dish; their names and prices are those of options, the ids are returned in the same order.
func mustGroup(t testing.TB, s *Store, itemID int64, name, kind string, least, most int, options ...Option) (ids []int64) {
	t.Helper()
	groupID := mustRead[int64](t, s, `INSERT INTO option_groups (item_id, name, kind, min_pick, max_pick) VALUES (?, ?, ?, ?, ?) RETURNING id`, itemID, name, kind, least, most)
	for position, o := range options {
		if o.Mark == "" {
			o.Mark = "veg"
		}
		ids = append(ids, mustRead[int64](t, s, `INSERT INTO options (group_id, name, price_paise, mark, position) VALUES (?, ?, ?, ?, ?) RETURNING id`,
			groupID, o.Name, o.PricePaise, o.Mark, position))
	}
	return ids
}

// mustVisit makes a guest's session.
func mustVisit(t testing.TB, s *Store) Session {
	t.Helper()
	_, sess, err := s.CreateGuestSession(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return sess
}

// mustCart makes a guest's session with an empty cart for the outlet.
func mustCart(t testing.TB, s *Store, outletID int64) (Session, Cart) {
	t.Helper()
	sess := mustVisit(t, s)
	cart, err := s.EnsureCart(t.Context(), sess, outletID)
	if err != nil {
		t.Fatal(err)
	}
	return sess, cart
}

const testPassword = "correct horse battery"

// mustStaff adds an owner; outletID 0 is all outlets.
func mustStaff(t testing.TB, s *Store, outletID int64, login string) Staff {
	t.Helper()
	person := Staff{Login: login, Name: "Asha", Role: "owner"}
	if outletID != 0 {
		person.OutletID = &outletID
	}
	person, err := s.CreateStaff(t.Context(), person, testPassword)
	if err != nil {
		t.Fatal(err)
	}
	return person
}
