package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"tiffin/devdb"
	"tiffin/models"
	"tiffin/razorpay/standin"
)

// `tiffin audit` says by its exit code whether every paisa is explained, and needs no setting it does not use.
func TestAuditCommand(t *testing.T) {
	t.Parallel()
	url := devdb.URL(t)
	store, err := models.Open(t.Context(), url, 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	gateway := standin.New(standin.Options{})
	api, err := gateway.Start("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := gateway.Close(); err != nil {
			t.Error(err)
		}
	})
	run := func(env map[string]string, args ...string) (code int, out, errs string) {
		var o, e strings.Builder
		code = audit(t.Context(), args, func(name string) string { return env[name] }, &o, &e)
		return code, o.String(), e.String()
	}
	database := map[string]string{"DATABASE_URL": url}
	if code, out, errs := run(database); code != 0 || !strings.Contains(out, "0 paise unexplained\n") || !strings.Contains(out, "Captured") || errs != "" {
		t.Errorf("an empty shop: %d %s %s", code, out, errs)
	}
	if code, out, _ := run(map[string]string{"DATABASE_URL": url, "RAZORPAY_KEY_ID": gateway.KeyID(), "RAZORPAY_KEY_SECRET": gateway.KeySecret(), "RAZORPAY_API_URL": api}, "-gateway", "-day", "2026-11-30"); code != 0 || !strings.Contains(out, "2026-11-30") {
		t.Errorf("with the gateway: %d %s", code, out)
	}
	for name, c := range map[string]struct {
		env  map[string]string
		args []string
		says string
	}{
		"no database setting":  {nil, nil, "DATABASE_URL"},
		"no database":          {map[string]string{"DATABASE_URL": "postgres://nobody:secret-word@127.0.0.1:1/none"}, nil, ""},
		"a flag there is not":  {database, []string{"-paise"}, "paise"},
		"a word":               {database, []string{"today"}, "today"},
		"a day that is none":   {database, []string{"-day", "30/11/2026"}, "30/11/2026"},
		"a gateway, no key":    {database, []string{"-gateway"}, "RAZORPAY_KEY_ID"},
		"a live key elsewhere": {map[string]string{"DATABASE_URL": url, "RAZORPAY_KEY_ID": "rzp_live_abcdefgh", "RAZORPAY_KEY_SECRET": "x", "RAZORPAY_API_URL": api}, []string{"-gateway"}, "RAZORPAY_API_URL"},
	} {
		if code, _, errs := run(c.env, c.args...); code != 2 || !strings.Contains(errs, c.says) || strings.Contains(errs, "secret-word") {
			t.Errorf("%s: %d %s", name, code, errs)
		}
	}
	if _, err := store.SQL().ExecContext(t.Context(), `INSERT INTO settlement_items (entity_id, kind, settlement_id, amount_paise, fee_paise, tax_paise, credit_paise, debit_paise, settled_at) VALUES ('adj_1', 'adjustment', 's', 700, 0, 0, 0, 700, shop_now())`); err != nil {
		t.Fatal(err)
	}
	if code, out, _ := run(database); code != 1 || !strings.Contains(out, "700 paise unexplained, in 1 findings") || !strings.Contains(out, "settlement_items adj_1: 700 paise. ") {
		t.Errorf("one finding: %d %s", code, out)
	}
	code, out, _ := run(database, "-json")
	var a models.Audit
	if err := json.Unmarshal([]byte(out), &a); err != nil || code != 1 || a.UnexplainedPaise != 700 || !slices.ContainsFunc(a.Findings, func(f models.AuditFinding) bool { return f.Table == "settlement_items" && f.ID == "adj_1" }) {
		t.Errorf("as JSON: %d %v %s", code, err, out)
	}
}
