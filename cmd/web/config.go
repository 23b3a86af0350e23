package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"tiffin/payments"
	"tiffin/push"
	"tiffin/razorpay"
)

// Config is everything the program is told from outside. Nothing else reads the environment.
type Config struct {
	DatabaseURL string   // DATABASE_URL
	ListenAddr  string   // LISTEN_ADDR, 127.0.0.1:8080 if unset
	MetricsAddr string   // METRICS_ADDR, no metrics if unset; never the public address
	PublicURL   string   // PUBLIC_URL: the shop's address as customers see it, without a slash at the end
	SMTPURL     string   // SMTP_URL: smtp://user:password@host:587
	MailDir     string   // MAIL_DIR: letters become files here when there is no SMTP_URL
	APIURL      string   // RAZORPAY_API_URL, Razorpay's own if unset
	CheckoutURL string   // RAZORPAY_CHECKOUT_URL, Razorpay's own if unset
	Proxies     []string // TRUSTED_PROXIES, separated by commas: addresses or networks whose X-Forwarded-For names the visitor
	Payments    payments.Settings
	Push        push.Testing // of a test only: the environment cannot say it
}

// String shows the configuration without its secrets.
func (c Config) String() string {
	return fmt.Sprintf("listen %s, public %s, metrics %q, Razorpay key %s (%s mode) at %s", c.ListenAddr, c.PublicURL, c.MetricsAddr, c.Payments.KeyID, c.Payments.Mode(), c.APIURL)
}

// GoString and LogValue keep secrets out of every other way of printing.
func (c Config) GoString() string     { return c.String() }
func (c Config) LogValue() slog.Value { return slog.StringValue(c.String()) }

var keyID = regexp.MustCompile(`^rzp_(test|live)_[A-Za-z0-9]{8,}$`)

// readConfig reads and judges all settings and reports every fault at once. No fault's text holds a value that may be secret.
func readConfig(getenv func(string) string) (Config, error) {
	get := func(name, unset string) string {
		if v := strings.TrimSpace(getenv(name)); v != "" {
			return v
		}
		return unset
	}
	c := Config{
		DatabaseURL: get("DATABASE_URL", ""), ListenAddr: get("LISTEN_ADDR", "127.0.0.1:8080"), MetricsAddr: get("METRICS_ADDR", ""),
		PublicURL: strings.TrimRight(get("PUBLIC_URL", ""), "/"), SMTPURL: get("SMTP_URL", ""), MailDir: get("MAIL_DIR", ""),
		APIURL: strings.TrimRight(get("RAZORPAY_API_URL", razorpay.DefaultAPIURL), "/"), CheckoutURL: get("RAZORPAY_CHECKOUT_URL", razorpay.CheckoutURL),
		Payments: payments.Settings{
			KeyID: get("RAZORPAY_KEY_ID", ""), KeySecret: get("RAZORPAY_KEY_SECRET", ""), WebhookSecret: get("RAZORPAY_WEBHOOK_SECRET", ""),
			WebhookSecretPrevious: get("RAZORPAY_WEBHOOK_SECRET_PREVIOUS", ""), AccountID: get("RAZORPAY_ACCOUNT_ID", ""),
			RefundSpeed: get("RAZORPAY_REFUND_SPEED", "normal"), SweepPause: sweepPause,
		},
	}
	c.Push = push.Testing{Loopback: asksLoopback}
	c.Proxies = strings.FieldsFunc(get("TRUSTED_PROXIES", ""), func(r rune) bool { return r == ',' || r == ' ' })
	var faults []error
	fault := func(bad bool, format string, args ...any) {
		if bad {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	p := c.Payments
	fault(c.DatabaseURL == "", "DATABASE_URL is missing: the address of a PostgreSQL database")
	fault(!isAddr(c.ListenAddr), "LISTEN_ADDR is not host:port")
	fault(c.MetricsAddr != "" && !isAddr(c.MetricsAddr), "METRICS_ADDR is not host:port")
	fault(slices.ContainsFunc(c.Proxies, func(p string) bool { return !isNetwork(p) }), "TRUSTED_PROXIES is not a list of addresses or networks such as 10.0.0.0/8")
	fault(c.MetricsAddr != "" && c.MetricsAddr == c.ListenAddr, "METRICS_ADDR must not be the public address")
	fault(c.PublicURL == "", "PUBLIC_URL is missing: the shop's address as customers see it")
	fault(c.PublicURL != "" && !isWebURL(c.PublicURL), "PUBLIC_URL is not http(s)://host without a path")
	fault(c.SMTPURL == "" && c.MailDir == "", "SMTP_URL or MAIL_DIR is missing: where letters go")
	fault(!keyID.MatchString(p.KeyID), "RAZORPAY_KEY_ID is missing or not rzp_test_… or rzp_live_…")
	fault(p.KeySecret == "", "RAZORPAY_KEY_SECRET is missing")
	fault(p.WebhookSecret == "", "RAZORPAY_WEBHOOK_SECRET is missing: without it anybody could sign webhooks")
	fault(p.WebhookSecret != "" && p.WebhookSecret == p.KeySecret, "RAZORPAY_WEBHOOK_SECRET must not be the key's secret")
	fault(p.AccountID != "" && !strings.HasPrefix(p.AccountID, "acc_"), "RAZORPAY_ACCOUNT_ID is not acc_…")
	fault(p.RefundSpeed != "normal" && p.RefundSpeed != "optimum", "RAZORPAY_REFUND_SPEED is not normal or optimum")
	fault(!isWebURL(c.APIURL), "RAZORPAY_API_URL is not http(s)://host without a path")
	fault(!isScriptURL(c.CheckoutURL), "RAZORPAY_CHECKOUT_URL is not the http(s) address of a script")
	if p.Mode() == "live" {
		fault(!isRazorpays(c.APIURL), "RAZORPAY_API_URL: a live key is only ever sent to Razorpay")
		fault(!isRazorpays(c.CheckoutURL), "RAZORPAY_CHECKOUT_URL: with a live key only Razorpay's own script is loaded")
		fault(!strings.HasPrefix(c.PublicURL, "https://"), "PUBLIC_URL must be https with a live key")
	}
	if len(faults) > 0 {
		return Config{}, errors.Join(faults...)
	}
	return c, nil
}

func isAddr(s string) bool {
	_, port, err := net.SplitHostPort(s)
	return err == nil && port != ""
}

func isNetwork(s string) bool {
	_, _, err := net.ParseCIDR(s)
	return err == nil || net.ParseIP(s) != nil
}

func isWebURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.Path == "" && u.RawQuery == "" && u.Fragment == "" && u.User == nil
}

func isScriptURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && len(u.Path) > 1 && u.User == nil
}

// isRazorpays reports whether an address is https at razorpay.com or below it.
func isRazorpays(s string) bool {
	u, err := url.Parse(s)
	return err == nil && u.Scheme == "https" && (u.Hostname() == "razorpay.com" || strings.HasSuffix(u.Hostname(), ".razorpay.com"))
}

// checkoutHosts are the origins the pay page opens its content policy to. Razorpay publishes no list; the further names are those its
// own shop plugins allow (Magento, csp_whitelist.xml).
func (c Config) checkoutHosts() []string {
	hosts := []string{origin(c.CheckoutURL), origin(c.APIURL)}
	if isRazorpays(c.CheckoutURL) {
		hosts = append(hosts, "https://cdn.razorpay.com", "https://lumberjack.razorpay.com", "https://lumberjack-metrics.razorpay.com")
	}
	slices.Sort(hosts)
	return slices.Compact(hosts)
}

func origin(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}
