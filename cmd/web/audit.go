package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"text/tabwriter"

	"tiffin/migrations"
	"tiffin/models"
	"tiffin/payments"
	"tiffin/razorpay"
)

// What `tiffin audit` ends with, for scripts.
const (
	auditExplained   = 0
	auditUnexplained = 1
	auditFailed      = 2 // wrong usage, no database, or the gateway did not answer
)

// audit runs `tiffin audit`: it reads the books and prints what it found. It needs DATABASE_URL, with -gateway the Razorpay key too, and
// no other setting; it opens no door and changes nothing.
func audit(ctx context.Context, args []string, getenv func(string) string, out, errs io.Writer) int {
	flags := flag.NewFlagSet("tiffin audit", flag.ContinueOnError)
	flags.SetOutput(errs)
	day := flags.String("day", "", "one day in India, as 2026-11-30; without it, all time")
	asJSON := flags.Bool("json", false, "print JSON, as docs/audit.md describes it")
	gateway := flags.Bool("gateway", false, "compare each order with Razorpay's own list of its payments: two calls a second")
	if err := flags.Parse(args); err != nil {
		return auditFailed
	}
	if flags.NArg() > 0 {
		fmt.Fprintf(errs, "tiffin audit: %q is no option\n", flags.Arg(0))
		return auditFailed
	}
	a, err := readAudit(ctx, getenv, models.AuditScope{Day: *day}, *gateway)
	if err != nil {
		fmt.Fprintln(errs, "tiffin audit: "+err.Error())
		return auditFailed
	}
	if *asJSON {
		err = json.NewEncoder(out).Encode(a)
	} else {
		err = printAudit(out, a)
	}
	switch {
	case err != nil:
		fmt.Fprintln(errs, "tiffin audit: "+err.Error())
		return auditFailed
	case len(a.Findings) > 0:
		return auditUnexplained
	}
	return auditExplained
}

func readAudit(ctx context.Context, getenv func(string) string, scope models.AuditScope, gateway bool) (a models.Audit, err error) {
	cfg, err := readAuditConfig(getenv, gateway)
	if err != nil {
		return a, err
	}
	store, err := models.Open(ctx, cfg.DatabaseURL, 2)
	if err != nil {
		return a, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if current, err := migrations.Current(ctx, store.SQL()); err != nil {
		return a, err
	} else if !current {
		return a, errors.New("the database is not of this program's version: start the shop once, it brings it up to date")
	}
	if a, err = store.AuditPaise(ctx, scope); err != nil || !gateway {
		return a, err
	}
	client := razorpay.New(razorpay.Config{KeyID: cfg.Payments.KeyID, KeySecret: cfg.Payments.KeySecret, APIURL: cfg.APIURL})
	found, err := payments.New(store, client, cfg.Payments, slog.New(slog.DiscardHandler)).AuditGateway(ctx, scope)
	a.Add(found...)
	return a, err
}

// readAuditConfig is readConfig without what only a running shop needs.
func readAuditConfig(getenv func(string) string, gateway bool) (Config, error) {
	unused := map[string]string{"PUBLIC_URL": "https://shop.invalid", "MAIL_DIR": "-", "RAZORPAY_WEBHOOK_SECRET": "-"}
	if !gateway {
		unused["RAZORPAY_KEY_ID"], unused["RAZORPAY_KEY_SECRET"] = "rzp_test_notneeded", "not needed"
	}
	return readConfig(func(name string) string {
		needed := name == "DATABASE_URL" || gateway && (name == "RAZORPAY_KEY_ID" || name == "RAZORPAY_KEY_SECRET" || name == "RAZORPAY_API_URL")
		if needed {
			return getenv(name)
		}
		return unused[name]
	})
}

func printAudit(out io.Writer, a models.Audit) error {
	scope := "all time"
	if a.Day != "" {
		scope = "money captured on " + a.Day
	}
	fmt.Fprintf(out, "Paise audit, %s, read %s\n\n", scope, a.ReadAt.In(models.India).Format("2006-01-02 15:04:05 IST"))
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, h := range a.Headings {
		fmt.Fprintf(table, "%s\t%s\t\n", h.Title, rupees(h.Paise))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(out, "\n%d paise unexplained", a.UnexplainedPaise)
	if len(a.Findings) > 0 {
		fmt.Fprintf(out, ", in %d findings", len(a.Findings))
	}
	if a.More {
		fmt.Fprint(out, " and more than are named")
	}
	fmt.Fprintln(out)
	for _, f := range a.Findings {
		order := ""
		if f.OrderID != nil {
			order = fmt.Sprintf(", order %d", *f.OrderID)
		}
		if _, err := fmt.Fprintf(out, "  %s %s%s: %d paise. %s\n", f.Table, f.ID, order, f.Paise, f.Text); err != nil {
			return err
		}
	}
	return nil
}

// rupees writes an amount for a table of the terminal: 1234.50.
func rupees(p models.Paise) string {
	sign := ""
	if p < 0 {
		sign, p = "-", -p
	}
	return fmt.Sprintf("%s%d.%02d", sign, p/100, p%100)
}
