package jobs

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"tiffin/models"
	"tiffin/razorpay/standin"
)

var sixDigits = regexp.MustCompile(`(?m)^(?:Your code|आपका कोड): ([0-9]{6})\r?$`)

// asked has a browser ask for a code.
func (o *office) asked(email, language string) models.Session {
	o.t.Helper()
	_, sess, err := o.store.CreateGuestSession(o.t.Context())
	must(o.t, err)
	must(o.t, o.store.RequestCode(o.t.Context(), sess, email, "account", language, "192.0.2.1"))
	return sess
}

// The letter brings the code, to the address, in the visitor's language; the code signs in, and is nowhere else.
func TestSignInLetter(t *testing.T) {
	t.Parallel()
	o := openOffice(t, standin.Options{})
	sess := o.asked("asha@example.in", "en-IN")
	o.work()
	o.await("the letter was sent", func() bool { return o.text(`SELECT status FROM outbox`) == "sent" })
	letters := o.sent()
	if len(letters) != 1 || !strings.HasPrefix(letters[0], "sign-in-code-1-1@") {
		t.Fatalf("letters: %v", letters)
	}
	text, err := os.ReadFile(filepath.Join(o.dir, letters[0]))
	must(t, err)
	found := sixDigits.FindSubmatch(text)
	if found == nil || !bytes.Contains(text, []byte("To: <asha@example.in>")) {
		t.Fatalf("the letter:\n%s", text)
	}
	if subject := regexp.MustCompile(`(?m)^Subject: .*$`).Find(text); bytes.Contains(subject, found[1]) {
		t.Errorf("the code is in the %s", subject)
	}
	code := string(found[1])
	for _, table := range []string{"outbox", "river_job", "sign_in_codes", "audit"} {
		if rows := o.text(`SELECT COALESCE(string_agg(regexp_replace(x::text, '\$argon2id\$[^,)]*', ''), ' '), '') FROM ` + table + ` x`); strings.Contains(rows, code) {
			t.Errorf("the code is in %s: %s", table, rows)
		}
	}
	if _, _, err := o.store.SignIn(t.Context(), sess, code, "192.0.2.1"); err != nil {
		t.Error(err)
	}

	o.asked("ravi@example.in", "hi")
	o.await("the second letter was sent", func() bool { return len(o.sent()) == 2 })
	o.kept()
}

// While no letter can be sent it is tried again, each time with another code; once its ten minutes are over it has nothing to say.
func TestSignInLetterIsLate(t *testing.T) {
	t.Parallel()
	o := openOffice(t, standin.Options{})
	away := o.dir + ".away"
	must(t, os.Rename(o.dir, away))
	o.asked("asha@example.in", "en-IN")
	o.work()
	o.await("the letter was tried", func() bool { return o.count(`SELECT count(*) FROM outbox WHERE attempts > 0`) == 1 })
	first := o.text(`SELECT code_hash FROM sign_in_codes`)
	must(t, os.Rename(away, o.dir))
	o.await("the letter was sent", func() bool { return o.text(`SELECT status FROM outbox`) == "sent" })
	if again := o.text(`SELECT code_hash FROM sign_in_codes`); first == "" || again == first {
		t.Error("the second letter has the first one's code")
	}

	must(t, o.workers.Stop(t.Context()))
	sess := o.asked("ravi@example.in", "en-IN")
	o.advance(11 * time.Minute)
	before := len(o.sent())
	must(t, sendLetter(t.Context(), o.store, o.letters, o.count(`SELECT max(id) FROM outbox`)))
	if got := o.text(`SELECT status FROM outbox ORDER BY id DESC LIMIT 1`); got != "skipped" || len(o.sent()) != before {
		t.Errorf("a letter that is too late is %s", got)
	}
	if _, _, err := o.store.SignIn(t.Context(), sess, "000000", "192.0.2.1"); !errors.Is(err, models.ErrCodeGone) {
		t.Error(err)
	}
	o.advance(25 * time.Hour)
	_, err := purge(t.Context(), o.store, o.cashier)
	must(t, err)
	if n := o.count(`SELECT (SELECT count(*) FROM sign_in_codes) + (SELECT count(*) FROM outbox)`); n != 0 {
		t.Errorf("%d rows are left", n)
	}
}
