// Package tiffin is empty but for this test: who may import whom, and why not the other way round.
// It knows every room and every module by name, and reads import lists alone; it must not know what a room does.
// It promises that a new room, a new arrow or a new module fails here until somebody has thought about it.
// Read house first: it is the picture of the program, written as data.
package tiffin

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
)

// module is our own path, the first word of every import of ours.
const module = "tiffin"

// room is what one package may import besides the standard library.
type room struct {
	ours    string            // rooms of ours, by their folders
	outside string            // modules, or packages of modules, and all below them
	never   map[string]string // what tempts here, standard library included, and why it must not be
}

// house is every package there is. Nothing else may import, or be.
var house = map[string]room{
	// What ships.
	"cmd/web": {
		ours:    "handlers jobs payments models razorpay mail push live migrations static",
		outside: "github.com/prometheus/client_golang",
		never: map[string]string{
			"views": "main wires and decides nothing, so it has nothing to show",
		},
	},
	"handlers": {
		ours:    "views payments models live static photos",
		outside: "github.com/gofiber/fiber/v2 github.com/valyala/fasthttp github.com/a-h/templ riverqueue.com/riverui github.com/prometheus/client_golang github.com/andybalholm/brotli golang.org/x/sync",
		never: map[string]string{
			"razorpay":                    "money is spoken of with the gateway in payments only, or a second way to become paid grows here",
			"gorm.io":                     "a query here would be a decision no test reaches without HTTP; all SQL is in models",
			"database/sql":                "all SQL is in models",
			"github.com/jackc/pgx":        "all SQL is in models",
			"jobs":                        "one front door does not go through the other; work for later is a row that models inserts",
			"mail":                        "a letter is a row and a job, or it is lost with the process",
			"github.com/wneessen":         "a letter is a row and a job, or it is lost with the process",
			"github.com/riverqueue/river": "jobs are inserted by models in the caller's transaction, and worked in jobs",
		},
	},
	"jobs": {
		ours:    "views payments models mail push",
		outside: "github.com/riverqueue/river riverqueue.com/riverui github.com/a-h/templ",
		never: map[string]string{
			"handlers": "the clock has no request to answer",
			"net/http": "the clock has no request to answer",
			"razorpay": "money is spoken of with the gateway in payments only",
			"gorm.io":  "all SQL is in models",
			"live":     "what changed is notified by the transaction that changed it",
		},
	},
	"payments": {
		ours:    "models razorpay",
		outside: "github.com/google/uuid golang.org/x/sync",
		never: map[string]string{
			"handlers":                    "the counting room has no windows: what it decides must not depend on who asked",
			"views":                       "it counts, others show",
			"net/http":                    "HTTP is for the rooms at both ends: handlers and razorpay",
			"html/template":               "it counts, others show",
			"github.com/gofiber":          "HTTP is for handlers",
			"gorm.io":                     "all SQL is in models",
			"database/sql":                "all SQL is in models",
			"github.com/razorpay":         "its errors cannot be trusted; razorpay wraps it",
			"mail":                        "no mail while a transaction is open: a row and a job instead",
			"live":                        "what changed is notified by the transaction that changed it",
			"github.com/riverqueue/river": "jobs are inserted by models in the caller's transaction",
		},
	},
	"models": {
		outside: "gorm.io/gorm gorm.io/driver/postgres github.com/jackc/pgx/v5 github.com/riverqueue/river github.com/google/uuid golang.org/x/crypto/argon2",
		never: map[string]string{
			"payments": "the shop's rows know nobody; what needs them imports them",
			"razorpay": "a network call would soon stand inside a transaction",
			"mail":     "a network call would soon stand inside a transaction",
			"net/http": "a network call would soon stand inside a transaction",
			"live":     "changes are told by pg_notify, at commit",
			"views":    "how a row looks is not its own business",
		},
	},
	"views": {
		ours:    "models static",
		outside: "github.com/a-h/templ golang.org/x/text",
		never: map[string]string{
			"payments":           "a page shows what it is given and asks nobody anything",
			"net/http":           "a page shows what it is given and asks nobody anything",
			"database/sql":       "a page shows what it is given and asks nobody anything",
			"os":                 "a page shows what it is given and asks nobody anything",
			"github.com/gofiber": "a page is also a letter's body, and then there is no request",
		},
	},
	"razorpay": {
		outside: "github.com/razorpay/razorpay-go",
		never: map[string]string{
			"models":   "it says what Razorpay says; our orders are none of its business",
			"payments": "it says what Razorpay says; our orders are none of its business",
		},
	},
	"mail": {
		outside: "github.com/wneessen/go-mail",
		never:   map[string]string{"log/slog": "a log may not hold names or codes, and letters are full of both"},
	},
	"push": {
		outside: "github.com/SherClockHolmes/webpush-go",
		never: map[string]string{
			"models":   "it sends what it is given to whom it is told, and knows no order",
			"log/slog": "whoever reads an endpoint knows a browser",
		},
	},
	"live": {
		outside: "github.com/jackc/pgx/v5",
		never:   map[string]string{"models": "it carries topics, never data"},
	},
	"migrations": {
		outside: "github.com/pressly/goose/v3 github.com/riverqueue/river/rivermigrate github.com/riverqueue/river/riverdriver",
		never:   map[string]string{"gorm.io": "the schema is SQL, and has one truth"},
	},
	"static": {outside: "github.com/andybalholm/brotli"},
	"photos": {
		outside: "golang.org/x/image",
		never: map[string]string{
			"models":   "it turns bytes into bytes",
			"net/http": "it turns bytes into bytes",
		},
	},

	// What never ships.
	"push/standin": {
		never: map[string]string{"push": "an understudy that shared the sender's code would share its mistakes"},
	},
	"razorpay/standin": {
		ours:  "razorpay",
		never: map[string]string{"models": "an understudy that peeked at our rows would prove nothing"},
	},
	"devdb": {
		ours:    "migrations",
		outside: "github.com/jackc/pgx/v5",
	},
	"cmd/dev": {
		ours:    "devdb razorpay/standin models migrations cmd/dev/torture",
		outside: "github.com/jackc/pgx/v5",
		never:   map[string]string{"cmd/web": "it runs the shop as a process, as it ships"},
	},
	"cmd/dev/torture": {
		ours:    "devdb razorpay razorpay/standin models migrations",
		outside: "github.com/jackc/pgx/v5",
		never: map[string]string{
			"cmd/web":  "it tortures the shop as a process, as it ships",
			"payments": "what it judges by must not be what it judges",
			"handlers": "it knows pages as customers do, by what they send",
		},
	},
	".": {}, // this test
}

// What tests may import besides, in every room and in one.
const (
	testsOurs    = "devdb razorpay razorpay/standin push push/standin"
	testsOutside = "pgregory.net/rapid golang.org/x/net/html github.com/jackc/pgx/v5"
)

var testsIn = map[string]room{
	"views":   {outside: "github.com/andybalholm/brotli"}, // pages have a budget, and it is counted compressed
	"cmd/web": {outside: "github.com/chromedp/chromedp github.com/chromedp/cdproto"},
}

// neverShipped must not be reached from what ships, in no way: their whole point is to be wrong on demand, or to delete data.
var neverShipped = []string{"devdb", "razorpay/standin", "push/standin", "cmd/dev", "cmd/dev/torture"}

func TestArrows(t *testing.T) {
	for _, wrong := range check(t, os.DirFS(".")) {
		t.Error(wrong)
	}
}

// TestArrowsSeeEachViolation plants one file a time, and wants it found for its reason.
func TestArrowsSeeEachViolation(t *testing.T) {
	for _, tt := range []struct{ file, imports, want string }{
		{"handlers/pay.go", "tiffin/payments", ""},
		{"handlers/pay.go", "github.com/gofiber/fiber/v2/middleware/limiter", ""},
		{"handlers/pay.go", "net/http", ""},
		{"handlers/pay_test.go", "tiffin/razorpay/standin", ""},
		{"views/menu_templ.go", "tiffin/static", ""},
		{"models/price_test.go", "pgregory.net/rapid", ""},
		{"payments/record_test.go", "net/http/httptest", ""},
		{"payments/record_test.go", "net/http", ""},
		{"cmd/dev/main.go", "tiffin/devdb", ""},
		{"models/testdata/gen.go", "tiffin/handlers", ""},
		{".tiffin/x.go", "tiffin/handlers", ""},
		{"node_modules/x/x.go", "tiffin/handlers", ""},

		{"handlers/pay.go", "tiffin/razorpay", "second way to become paid"},
		{"handlers/pay.go", "gorm.io/gorm/clause", "all SQL is in models"},
		{"handlers/pay_test.go", "gorm.io/gorm", "all SQL is in models"},
		{"jobs/work.go", "tiffin/handlers", "no request to answer"},
		{"jobs/work.go", "tiffin/razorpay", "in payments only"},
		{"payments/record.go", "net/http", "HTTP is for the rooms at both ends"},
		{"payments/record.go", "github.com/gofiber/fiber/v2", "HTTP is for handlers"},
		{"models/order.go", "tiffin/razorpay", "inside a transaction"},
		{"models/order.go", "tiffin/views", "not its own business"},
		{"views/menu_templ.go", "tiffin/payments", "asks nobody"},
		{"views/menu_templ.go", "github.com/gofiber/fiber/v2", "no request"},
		{"razorpay/client.go", "tiffin/models", "none of its business"},
		{"cmd/web/main.go", "tiffin/devdb", "never shipped"},
		{"cmd/web/main.go", "tiffin/razorpay/standin", "never shipped"},
		{"cmd/dev/main.go", "tiffin/handlers", "not in the table"},
		{"mail/mail.go", "tiffin/models", "not in the table"},
		{"models/order.go", "github.com/shopspring/decimal", "not in the table"},
		{"models/order.go", "github.com/jackc/pgx/v5x", "not in the table"},
		{"models/order.go", "testing", "tests only"},
		{"models/order.go", "C", "no C"},
		{"models/order_faultpoint.go", "tiffin/mail", "inside a transaction"}, // whatever its build tags
		{"util/util.go", "strings", "util is not a room"},
		{"handlers/internal/x.go", "strings", "handlers/internal is not a room"},
	} {
		t.Run(tt.file+" imports "+tt.imports, func(t *testing.T) {
			got := check(t, fstest.MapFS{tt.file: {Data: []byte("//go:build faultpoint\n\npackage x\n\nimport _ " + strconv.Quote(tt.imports) + "\n")}})
			if tt.want == "" && len(got) > 0 {
				t.Errorf("found %q, want nothing", got)
			}
			if tt.want != "" && (len(got) != 1 || !strings.Contains(got[0], tt.want)) {
				t.Errorf("found %q, want one that says %q", got, tt.want)
			}
		})
	}
}

// TestHouseIsDrawnRight checks the table itself: no room that is not there, nothing both allowed and forbidden.
func TestHouseIsDrawnRight(t *testing.T) {
	for name, r := range house {
		for _, other := range strings.Fields(r.ours) {
			if _, there := house[other]; !there {
				t.Errorf("%s may import %s, which is no room", name, other)
			}
			if !slices.Contains(neverShipped, name) && slices.Contains(neverShipped, other) {
				t.Errorf("%s ships and may import %s, which never does", name, other)
			}
		}
		for banned := range r.never {
			if allowed(banned, r.ours) || allowed(banned, r.outside) {
				t.Errorf("%s both may and must never import %s", name, banned)
			}
		}
	}
}

// check reads the imports of every Go file under root, whatever its build tags, and gives a sentence for each that is not allowed.
func check(t *testing.T, root fs.FS) (wrong []string) {
	t.Helper()
	err := fs.WalkDir(root, ".", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := path.Base(file)
		if d.IsDir() {
			if file != "." && (strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") || base == "testdata" || base == "node_modules") {
				return fs.SkipDir
			}
			if _, err := fs.Stat(root, path.Join(file, "go.mod")); err == nil && file != "." {
				return fs.SkipDir // another module
			}
			return nil
		}
		if path.Ext(file) != ".go" {
			return nil
		}
		name := path.Dir(file)
		r, there := house[name]
		if !there {
			wrong = append(wrong, fmt.Sprintf("%s: %s is not a room of the house", file, name))
			return nil
		}
		src, err := fs.ReadFile(root, file)
		if err != nil {
			return err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, src, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range parsed.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			if why := forbidden(name, r, strings.HasSuffix(file, "_test.go"), imported); why != "" {
				wrong = append(wrong, fmt.Sprintf("%s must not import %s: %s", file, imported, why))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return wrong
}

// forbidden says why the room name must not import imported; "" if it may.
func forbidden(name string, r room, test bool, imported string) string {
	target, ours := strings.CutPrefix(imported, module+"/")
	if ours && target == name { // a test from outside its package
		return ""
	}
	if ours && allowed(target, r.ours) || !ours && allowed(imported, r.outside) {
		return ""
	}
	if test {
		own := testsIn[name]
		if ours && (allowed(target, testsOurs) || allowed(target, own.ours)) || !ours && (allowed(imported, testsOutside) || allowed(imported, own.outside)) {
			return ""
		}
	}
	if slices.Contains(neverShipped, target) && !slices.Contains(neverShipped, name) {
		return target + " is never shipped"
	}
	first, _, _ := strings.Cut(imported, "/")
	standard := !ours && !strings.Contains(first, ".")
	for banned, why := range r.never {
		if ours && target == banned || !ours && within(imported, banned) && !(test && standard) { // a test may well start a server
			return why
		}
	}
	switch {
	case imported == "C":
		return "no C: the program is to build wherever Go does"
	case imported == "testing" && !test && name != "devdb":
		return "that is for tests only"
	case !standard:
		return "that arrow is not in the table, and a new one is a design change"
	}
	return ""
}

// allowed says whether the list holds p: a room by its name, a module with all its packages.
func allowed(p, list string) bool {
	return slices.ContainsFunc(strings.Fields(list), func(entry string) bool {
		if strings.Contains(entry, ".") {
			return within(p, entry)
		}
		return p == entry
	})
}

// within says whether the package p is prefix or lies below it.
func within(p, prefix string) bool { return p == prefix || strings.HasPrefix(p, prefix+"/") }
