package models

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/argon2"
)

func TestPasswordHash(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	phc, err := hashPassword(ctx, testPassword)
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$`).MatchString(phc) {
		t.Errorf("stored as %s", phc)
	}
	if again, err := hashPassword(ctx, testPassword); err != nil || again == phc {
		t.Errorf("the same password twice is the same hash, %v", err)
	}
	h, err := parseHash(phc)
	if err != nil {
		t.Fatal(err)
	}
	if want := argon2.IDKey([]byte(testPassword), h.salt, 2, 19*1024, 1, 32); string(want) != string(h.key) {
		t.Error("the key is not argon2id's")
	}
	for password, right := range map[string]bool{testPassword: true, "": false, testPassword + " ": false, strings.ToUpper(testPassword): false, testPassword[:20]: false} {
		if got, err := h.matches(ctx, password); err != nil || got != right {
			t.Errorf("%q matches: %v, %v", password, got, err)
		}
	}

	t.Run("other_parameters_are_the_strings_own", func(t *testing.T) { // RFC 9106 names the algorithm; these parameters are only cheap
		salt := []byte("0123456789abcdef")
		key := argon2.IDKey([]byte(testPassword), salt, 3, 64, 2, 24)
		h, err := parseHash(fmt.Sprintf("$argon2id$v=19$m=64,t=3,p=2$MDEyMzQ1Njc4OWFiY2RlZg$%s", base64.RawStdEncoding.EncodeToString(key)))
		if err != nil {
			t.Fatal(err)
		}
		if right, err := h.matches(ctx, testPassword); err != nil || !right {
			t.Errorf("matches: %v, %v", right, err)
		}
	})

	t.Run("what_is_no_hash_is_an_error", func(t *testing.T) {
		for _, bad := range []string{"", "x", "$argon2i$v=19$m=64,t=3,p=2$AAAA$AAAA", "$argon2id$v=16$m=64,t=3,p=2$AAAA$AAAA", "$argon2id$v=19$m=64,t=0,p=2$AAAA$AAAA",
			"$argon2id$v=19$m=64,t=3,p=0$AAAA$AAAA", "$argon2id$v=19$m=64,t=3$AAAA$AAAA", "$argon2id$v=19$m=64,t=3,p=2$AAAA$", "$argon2id$v=19$m=64,t=3,p=2$!!$AAAA", "$argon2id$v=19$m=64,t=3,p=2$AAAA$!!",
			"$argon2id$v=19$m=64,t=3,p=2$AAAA"} {
			if _, err := parseHash(bad); err == nil || bad != "" && strings.Contains(err.Error(), bad) {
				t.Errorf("%q: %v", bad, err)
			}
		}
	})

	t.Run("waiting_for_a_turn_ends_with_the_request", func(t *testing.T) {
		ended, cancel := context.WithCancel(ctx)
		cancel()
		takeTurns(t)
		if _, err := hashPassword(ended, testPassword); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	})
}

// takeTurns occupies all turns at hashing until the test ends.
func takeTurns(t *testing.T) {
	for range cap(hashing) {
		hashing <- struct{}{}
	}
	t.Cleanup(func() {
		for range cap(hashing) {
			<-hashing
		}
	})
}

func TestCreateStaff(t *testing.T) {
	t.Parallel()
	s, ctx := openStore(t), t.Context()
	outlet := mustOutlet(t, s, "here")
	person, err := s.CreateStaff(ctx, Staff{Login: " Asha@Example.in ", Name: "Asha", Role: "manager", OutletID: &outlet}, "ten letters")
	if err != nil || person.ID == 0 || person.Login != "asha@example.in" || !person.Active || *person.OutletID != outlet || !person.MayRefund() || !strings.HasPrefix(person.PasswordHash, "$argon2id$") {
		t.Fatalf("%+v, %v", person, err)
	}
	if found, err := s.FindStaff(ctx, person.ID); err != nil || found.Login != person.Login || found.PasswordHash != person.PasswordHash {
		t.Errorf("found %+v, %v", found, err)
	}
	if _, err := s.FindStaff(ctx, 999); !errors.Is(err, ErrNotFound) {
		t.Errorf("unknown: %v", err)
	}
	for name, c := range map[string]struct {
		staff    Staff
		password string
	}{
		"taken":             {Staff{Login: "ASHA@example.in", Name: "Other", Role: "owner"}, testPassword},
		"short_login":       {Staff{Login: "ab", Name: "Other", Role: "owner"}, testPassword},
		"long_login":        {Staff{Login: strings.Repeat("a", 255), Name: "Other", Role: "owner"}, testPassword},
		"no_name":           {Staff{Login: "other", Role: "owner"}, testPassword},
		"unknown_role":      {Staff{Login: "other", Name: "Other", Role: "god"}, testPassword},
		"nul_in_login":      {Staff{Login: "oth\x00er", Name: "Other", Role: "owner"}, testPassword},
		"name_not_utf8":     {Staff{Login: "other", Name: "\xf9\x28", Role: "owner"}, testPassword},
		"nine_letters":      {Staff{Login: "other", Name: "Other", Role: "owner"}, "passwörd9"},
		"too_long_password": {Staff{Login: "other", Name: "Other", Role: "owner"}, strings.Repeat("x", maxPassword+1)},
	} {
		if made, err := s.CreateStaff(ctx, c.staff, c.password); !errors.Is(err, ErrBadInput) || made.ID != 0 {
			t.Errorf("%s: %+v, %v", name, made, err)
		}
	}
	if n := mustRead[int](t, s, `SELECT count(*) FROM staff`); n != 1 {
		t.Errorf("%d staff members", n)
	}
}

func TestSignInStaff(t *testing.T) {
	t.Parallel()
	s, ctx := openStore(t), t.Context()
	person := mustStaff(t, s, 0, "asha@example.in")
	start := time.Date(2026, 11, 30, 18, 0, 0, 0, India)

	t.Run("a_fresh_session_for_twelve_hours", func(t *testing.T) {
		stopClock(t, s, start)
		guestToken, guest, err := s.CreateGuestSession(ctx)
		if err != nil {
			t.Fatal(err)
		}
		tokens := map[string]bool{guestToken: true}
		for _, login := range []string{"asha@example.in", " ASHA@example.in"} {
			token, who, err := s.SignInStaff(ctx, login, testPassword, "203.0.113.9")
			if err != nil || who.ID != person.ID || who.Role != "owner" {
				t.Fatalf("%+v, %v", who, err)
			}
			tokens[token] = true
			sess, err := s.FindSession(ctx, token)
			if err != nil || sess.StaffID == nil || *sess.StaffID != person.ID || sess.CustomerID != nil || sess.CartID != nil || !sess.ExpiresAt.Equal(start.Add(12*time.Hour)) {
				t.Errorf("session %+v, %v", sess, err)
			}
		}
		if len(tokens) != 3 {
			t.Errorf("%d different tokens", len(tokens))
		}
		if still, err := s.FindSession(ctx, guestToken); err != nil || still.ID != guest.ID || still.StaffID != nil {
			t.Errorf("the guest's session became %+v, %v", still, err)
		}
		stopClock(t, s, start.Add(12*time.Hour))
		for token := range tokens {
			if _, err := s.FindSession(ctx, token); (token == guestToken) != (err == nil) {
				t.Errorf("twelve hours later: %v", err)
			}
		}
		if got := mustRead[string](t, s, `SELECT string_agg(actor || ' ' || action, '; ') FROM audit`); got != "staff:1 sign_in; staff:1 sign_in" {
			t.Errorf("audit %s", got)
		}
		if n := mustRead[int](t, s, `SELECT count(*) FROM login_attempts`); n != 0 {
			t.Errorf("%d tries are held against a right password", n)
		}
	})

	t.Run("wrong_is_wrong_whichever_half", func(t *testing.T) {
		for name, c := range map[string]struct{ login, password string }{
			"password": {"asha@example.in", "wrong password"}, "login": {"nobody@example.in", testPassword}, "both_empty": {"", ""}, "nul": {"asha\x00@example.in", testPassword},
			"not_utf8": {"\xf9\x28", testPassword}, "very_long": {strings.Repeat("a", 1<<16), strings.Repeat("b", 1<<16)}, "sql": {"' OR true --", "' OR true --"},
		} {
			if token, who, err := s.SignInStaff(ctx, c.login, c.password, "address of "+name); !errors.Is(err, ErrWrongLogin) || token != "" || who.ID != 0 {
				t.Errorf("%s: %q, %+v, %v", name, token, who, err)
			}
		}
		rows := mustRead[string](t, s, `SELECT string_agg(a::text, ' ') FROM login_attempts a`)
		if strings.Contains(rows, "asha") || strings.Contains(rows, "address") {
			t.Errorf("tries are stored in clear: %s", rows)
		}
	})

	t.Run("dismissed_staff_stay_out", func(t *testing.T) {
		mustStaff(t, s, 0, "ravi")
		token, ravi, err := s.SignInStaff(ctx, "ravi", testPassword, "198.51.100.7")
		if err != nil {
			t.Fatal(err)
		}
		mustExec(t, s, `UPDATE staff SET active = false WHERE id = ?`, ravi.ID)
		if _, err := s.FindSession(ctx, token); !errors.Is(err, ErrSignedOut) {
			t.Errorf("the open session: %v", err)
		}
		if _, _, err := s.SignInStaff(ctx, "ravi", testPassword, "198.51.100.7"); !errors.Is(err, ErrWrongLogin) {
			t.Errorf("a new one: %v", err)
		}
	})
}

func TestSignInCostsTheSameForUnknownLogins(t *testing.T) { // not parallel: it takes all turns at hashing
	s := openStore(t)
	mustStaff(t, s, 0, "asha")
	if _, err := nobody(); err != nil {
		t.Fatal(err)
	}
	takeTurns(t)
	for i, login := range []string{"asha", "nobody", "bad\x00login"} {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, _, err := s.SignInStaff(ctx, login, "wrong password", login)
			ended <- err
		}()
		for mustRead[int](t, s, `SELECT count(*) FROM login_attempts`) < 2*(i+1) { // the try is counted; next comes the password
			select {
			case err := <-ended:
				t.Fatalf("%q: %v", login, err)
			default:
			}
		}
		for range 50 { // it never answers while nobody may hash
			if mustRead[int](t, s, `SELECT 1`); len(ended) > 0 {
				t.Fatalf("%q was answered without hashing: %v", login, <-ended)
			}
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("%q: %v", login, err)
		}
	}
}

func TestSignInTriesAreLimited(t *testing.T) {
	t.Parallel()
	s, ctx := openStore(t), t.Context()
	mustStaff(t, s, 0, "asha")
	mustStaff(t, s, 0, "ravi")
	start := time.Date(2026, 11, 30, 18, 0, 0, 0, India)
	stopClock(t, s, start)
	try := func(login, password, address string) error {
		_, _, err := s.SignInStaff(ctx, login, password, address)
		return err
	}

	t.Run("five_of_a_login_however_many_at_once", func(t *testing.T) {
		wrong, refused := 0, 0
		for _, err := range together(20, func(i int) error { return try("asha", "wrong password", fmt.Sprint("address ", i)) }) {
			switch {
			case errors.Is(err, ErrWrongLogin):
				wrong++
			case errors.Is(err, ErrTooManyTries):
				refused++
			default:
				t.Error(err)
			}
		}
		if wrong != triesPerLogin || refused != 15 {
			t.Errorf("%d passwords were looked at, %d tries refused", wrong, refused)
		}
		if err := try("ASHA ", testPassword, "yet another"); !errors.Is(err, ErrTooManyTries) {
			t.Errorf("the right password now: %v", err)
		}
		if err := try("ravi", testPassword, "address 1"); err != nil {
			t.Errorf("somebody else: %v", err)
		}
		stopClock(t, s, start.Add(triesMinutes*time.Minute-time.Microsecond))
		if err := try("asha", testPassword, "yet another"); !errors.Is(err, ErrTooManyTries) {
			t.Errorf("just before a quarter of an hour: %v", err)
		}
		stopClock(t, s, start.Add(triesMinutes*time.Minute))
		if err := try("asha", testPassword, "yet another"); err != nil {
			t.Errorf("after a quarter of an hour: %v", err)
		}
	})

	t.Run("a_try_waits_for_those_that_are_being_counted", func(t *testing.T) {
		for i := range triesPerLogin - 1 {
			if err := try("busy", "wrong password", fmt.Sprint("busy ", i)); !errors.Is(err, ErrWrongLogin) {
				t.Fatal(err)
			}
		}
		late := make(chan error, 1)
		if err := s.InTx(ctx, func(tx *Store) error {
			if _, err := tx.countTry(ctx, subject("login", "busy"), subject("ip", "busy")); err != nil { // the fifth, not committed yet
				return err
			}
			go func() { late <- try("busy", "wrong password", "busy late") }()
			mustWaitForLock(t, s)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if err := <-late; !errors.Is(err, ErrTooManyTries) {
			t.Errorf("the sixth: %v", err)
		}
	})

	t.Run("a_right_password_wipes_the_logins_count", func(t *testing.T) {
		for range 3 {
			for range triesPerLogin - 1 {
				if err := try("ravi", "wrong password", fmt.Sprint("tablet ", mustRead[int](t, s, `SELECT count(*) FROM login_attempts`))); !errors.Is(err, ErrWrongLogin) {
					t.Fatal(err)
				}
			}
			if err := try("ravi", testPassword, "tablet"); err != nil {
				t.Fatal(err)
			}
		}
	})

	t.Run("twenty_of_an_address", func(t *testing.T) {
		for i := range triesPerAddress {
			if err := try(fmt.Sprint("guess ", i), "wrong password", "203.0.113.9"); !errors.Is(err, ErrWrongLogin) {
				t.Fatalf("try %d: %v", i+1, err)
			}
			if i == 10 { // a right one is not held against the address, nor does it wipe what is
				if err := try("ravi", testPassword, "203.0.113.9"); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := try("ravi", testPassword, "203.0.113.9"); !errors.Is(err, ErrTooManyTries) {
			t.Errorf("one more from there: %v", err)
		}
		if err := try("ravi", testPassword, "203.0.113.10"); err != nil {
			t.Errorf("from elsewhere: %v", err)
		}
	})

	t.Run("old_tries_are_forgotten", func(t *testing.T) {
		if n, err := s.PurgeLoginAttempts(ctx); err != nil || n == 0 { // those of the first quarter of an hour
			t.Errorf("%d, %v", n, err)
		}
		left := mustRead[int64](t, s, `SELECT count(*) FROM login_attempts`)
		if n, err := s.PurgeLoginAttempts(ctx); err != nil || n != 0 || left == 0 {
			t.Errorf("%d more, %v; %d left", n, err, left)
		}
		stopClock(t, s, start.Add(time.Hour))
		if n, err := s.PurgeLoginAttempts(ctx); err != nil || n != left {
			t.Errorf("%d of %d, %v", n, left, err)
		}
	})
}
