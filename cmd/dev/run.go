package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"tiffin/devdb"
	"tiffin/migrations"
	"tiffin/models"
	"tiffin/razorpay/standin"
)

const (
	// Where the shop and the gateway listen unless told otherwise, or unless somebody else listens there already.
	usualShop    = "127.0.0.1:8080"
	usualGateway = "127.0.0.1:8090"

	// storeSize is enough for loading the demo menu: the shop has its own connections.
	storeSize = 4

	// readyLimit is how long the shop may take to come up; migrating an empty database takes seconds on a busy machine.
	readyLimit = 60 * time.Second

	// stopLimit is above what the shop itself waits for requests and jobs at work before it gives up on them, 20 s.
	stopLimit = 25 * time.Second

	// lookEvery is how often sources are looked at for changes, and readiness while the shop comes up.
	lookEvery = 500 * time.Millisecond
)

// session is one `dev run`: what it started, in order, so that it can be stopped in the opposite one.
type session struct {
	root    string // of the repository
	state   string
	db      *devdb.Server
	gateway *standin.Server
	env     []string // the shop's
	shop    *devdb.Child
	address string // the shop's, http://…
}

// run starts everything and waits for Ctrl-C, or for the shop or the database to end by themselves.
func run(ctx context.Context, state string, args []string) (err error) {
	flags := flag.NewFlagSet("run", flag.ContinueOnError)
	flags.SetOutput(os.Stderr)
	flags.Usage = func() {}
	shopAddr := flags.String("shop", usualShop, "")
	gatewayAddr := flags.String("gateway", usualGateway, "")
	once := flags.Bool("once", false, "")
	if err := flags.Parse(args); err != nil || flags.NArg() > 0 {
		return errUsage
	}
	if _, err := os.Stat("go.mod"); err != nil {
		return errors.New("run it from the folder that holds go.mod, as `make run` does")
	}

	s := &session{root: ".", state: state}
	defer func() { err = errors.Join(err, s.stop()) }()
	staff, err := s.start(ctx, *shopAddr, *gatewayAddr)
	if ctx.Err() != nil {
		return nil // Ctrl-C, and err no more than its consequence
	}
	if err != nil {
		return err
	}
	s.greet(staff)
	return s.keep(ctx, *once)
}

// keep waits for the end, and rebuilds the shop when its source changes, unless it is to be built once.
func (s *session) keep(ctx context.Context, once bool) error {
	var look <-chan time.Time
	if !once {
		ticker := time.NewTicker(lookEvery)
		defer ticker.Stop()
		look = ticker.C
	}
	seen, ended := newest(s.root), s.shop.Done()
	for {
		select {
		case <-ctx.Done():
			fmt.Println("\nStopping.")
			return nil
		case <-s.db.Done():
			return fmt.Errorf("the database has ended; its log is %s", s.short("db/postgres.log"))
		case <-ended:
			return fmt.Errorf("the shop has ended: %v\n%s", s.shop.Err(), s.lastWords())
		case <-look:
			now := newest(s.root)
			if now == seen {
				continue
			}
			err := s.reload(ctx, now.file)
			if ctx.Err() != nil {
				continue
			}
			ended = s.shop.Done()
			if err != nil {
				fmt.Println(err)
				fmt.Println("Waiting for the next change.")
			}
			if s.isDown() { // that was told above; a change may mend it
				ended = nil
			}
			seen = newest(s.root) // the build may have written sources too
		}
	}
}

func (s *session) path(name string) string { return filepath.Join(s.state, name) }

// start brings up the database, the gateway and the shop, and gives the login to print.
func (s *session) start(ctx context.Context, shopAddr, gatewayAddr string) (staffLogin, error) {
	// The database first: it can have one owner only, and so has the rest of the folder.
	if err := s.openDatabase(ctx); err != nil {
		return staffLogin{}, err
	}
	if err := os.Remove(s.path("web.log")); err != nil && !errors.Is(err, fs.ErrNotExist) { // one run, one log
		return staffLogin{}, err
	}
	fmt.Println("Preparing the database and building the shop. The first time this takes a minute or two.")
	built := make(chan error, 1)
	go func() { built <- s.build(ctx) }()
	staff, err := s.fill(ctx)
	if err := errors.Join(<-built, err); err != nil {
		return staffLogin{}, err
	}

	shopAddr, err = freeAddress(shopAddr)
	if err != nil {
		return staffLogin{}, err
	}
	gatewayAddr, err = freeAddress(gatewayAddr, shopAddr)
	if err != nil {
		return staffLogin{}, err
	}
	s.address = "http://" + shopAddr
	s.gateway = standin.New(standin.Options{
		StateFile: s.path("gateway.json"),
		Webhooks:  []standin.Webhook{{URL: s.address + "/webhooks/razorpay", Secret: standin.DefaultWebhookSecret}},
		Logf:      func(format string, args ...any) { fmt.Printf("gateway: "+format+"\n", args...) },
	})
	gateway, err := s.gateway.Start(gatewayAddr)
	if err != nil {
		return staffLogin{}, err
	}

	s.env = append(slices.DeleteFunc(os.Environ(), ours),
		"DATABASE_URL="+s.db.URL(), "LISTEN_ADDR="+shopAddr, "PUBLIC_URL="+s.address, "MAIL_DIR="+s.path("mail"),
		"RAZORPAY_KEY_ID="+s.gateway.KeyID(), "RAZORPAY_KEY_SECRET="+s.gateway.KeySecret(), "RAZORPAY_ACCOUNT_ID="+s.gateway.AccountID(),
		"RAZORPAY_WEBHOOK_SECRET="+standin.DefaultWebhookSecret, "RAZORPAY_API_URL="+gateway, "RAZORPAY_CHECKOUT_URL="+gateway+"/v1/checkout.js")
	return staff, s.open(ctx)
}

// ours says whether a variable is one of the shop's settings: a real key in the developer's own environment must not get here.
func ours(variable string) bool {
	name, _, _ := strings.Cut(variable, "=")
	return strings.HasPrefix(name, "RAZORPAY_") || slices.Contains([]string{"DATABASE_URL", "LISTEN_ADDR", "METRICS_ADDR", "PUBLIC_URL", "SMTP_URL", "MAIL_DIR"}, name)
}

func (s *session) openDatabase(ctx context.Context) (err error) {
	if s.db, err = devdb.Start(ctx, s.path("db")); err != nil {
		return err
	}
	if !s.db.Owned() {
		return fmt.Errorf("the database in %s is in use: another `make run` or `make psql` is open, end that first", s.state)
	}
	return nil
}

// fill brings the database up to this build's schema and, when it is empty, loads the demo.
func (s *session) fill(ctx context.Context) (staff staffLogin, err error) {
	store, err := models.Open(ctx, s.db.URL(), storeSize)
	if err != nil {
		return staffLogin{}, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if err := migrations.Up(ctx, store.SQL()); err != nil {
		return staffLogin{}, err
	}
	if _, err := store.LoadDemo(ctx); err != nil {
		return staffLogin{}, err
	}
	return ensureStaff(ctx, store, s.path("staff.json"))
}

// open starts the newly built shop and waits until it is ready.
func (s *session) open(ctx context.Context) error {
	if err := os.Rename(s.path("bin/web.new"), s.path("bin/web")); err != nil {
		return err
	}
	log, err := os.OpenFile(s.path("web.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(s.path("bin/web"))
	cmd.Env, cmd.Stdout, cmd.Stderr = s.env, log, log
	if s.shop, err = devdb.StartChild(cmd, syscall.SIGTERM); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	for !ready(ctx, s.address) {
		select {
		case <-s.shop.Done():
			return fmt.Errorf("the shop did not start: %v\n%s", s.shop.Err(), s.lastWords())
		case <-ctx.Done():
			return fmt.Errorf("the shop did not become ready\n%s", s.lastWords())
		case <-time.After(lookEvery / 10):
		}
	}
	return nil
}

func ready(ctx context.Context, address string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"/readyz", nil)
	if err != nil {
		return false
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	res.Body.Close()
	return res.StatusCode == http.StatusOK
}

// reload builds the shop anew and, if that succeeds, puts it in the place of the running one. After an error of the build the
// running one goes on; after one of its start there is none.
func (s *session) reload(ctx context.Context, changed string) error {
	fmt.Printf("%s has changed, building.\n", changed)
	if err := s.goTool(ctx, "tool", "templ", "generate"); err != nil {
		return err
	}
	if err := s.build(ctx); err != nil {
		return err
	}
	if !s.isDown() {
		if err := s.shop.Stop(stopLimit, syscall.SIGTERM); err != nil {
			fmt.Printf("The old shop did not stop well: %v\n", err)
		}
	}
	if err := s.open(ctx); err != nil {
		return err
	}
	fmt.Println("The shop is open again.")
	return nil
}

func (s *session) isDown() bool {
	select {
	case <-s.shop.Done():
		return true
	default:
		return false
	}
}

// stop ends everything in order: the shop first, which still needs the other two, then the gateway, then the database.
func (s *session) stop() error {
	var errs []error
	if s.shop != nil && !s.isDown() {
		if err := s.shop.Stop(stopLimit, syscall.SIGTERM); err != nil {
			errs = append(errs, fmt.Errorf("the shop did not stop well: %w\n%s", err, s.lastWords()))
		}
	}
	if s.gateway != nil {
		errs = append(errs, s.gateway.Close())
	}
	if s.db != nil {
		errs = append(errs, s.db.Stop())
	}
	return errors.Join(errs...)
}

// greet says what a newcomer wants to know, and nothing else.
func (s *session) greet(staff staffLogin) {
	gateway := strings.TrimSuffix(s.setting("RAZORPAY_API_URL"), "/")
	fmt.Printf(`
  Tiffin is open.

  Shop      %s
  Pay       press Pay, and a stand-in for Razorpay opens with everything filled in. You are the bank:
            Succeed, Fail, Leave pending or Succeed late. No money moves.
  Gateway   %s/standin   refunds, late money, faults on demand
  Staff     %s/staff   login %s   password %s

  Letters   %s
  Log       %s
  Ctrl-C stops everything; what was ordered and paid stays.

`, s.address, gateway, s.address, staff.Login, staff.Password, s.short("mail"), s.short("web.log"))
}

func (s *session) setting(name string) string {
	for _, kv := range slices.Backward(s.env) {
		if value, found := strings.CutPrefix(kv, name+"="); found {
			return value
		}
	}
	return ""
}

// short is a path as one would type it here.
func (s *session) short(name string) string {
	here, err := os.Getwd()
	if err != nil {
		return s.path(name)
	}
	rel, err := filepath.Rel(here, s.path(name))
	if err != nil || strings.HasPrefix(rel, "..") {
		return s.path(name)
	}
	return rel
}

// lastWords is the end of the shop's log.
func (s *session) lastWords() string {
	b, err := os.ReadFile(s.path("web.log"))
	if err != nil {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	return "the end of " + s.short("web.log") + ":\n  " + strings.Join(lines[max(0, len(lines)-15):], "\n  ")
}

// freeAddress is addr, or, where somebody listens there already, the same host with a port that is free, and not one of taken.
func freeAddress(addr string, taken ...string) (string, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return "", fmt.Errorf("%s is not host:port: %w", addr, err)
	}
	for _, try := range []string{addr, net.JoinHostPort(host, "0")} {
		l, err := net.Listen("tcp", try)
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		if err != nil {
			return "", err
		}
		free := l.Addr().String()
		if err := l.Close(); err != nil {
			return "", err
		}
		if !slices.Contains(taken, free) {
			return free, nil
		}
	}
	return "", fmt.Errorf("no port of %s is free", host)
}

// build makes the shop's program, to be put in its place by open.
func (s *session) build(ctx context.Context) error {
	return s.goTool(ctx, "build", "-o", s.path("bin/web.new"), "./cmd/web")
}

func (s *session) goTool(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = s.root
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("go %s: %w\n%s", args[0], err, strings.TrimSpace(string(out)))
	}
	return nil
}

// stamp is the state of the sources: the newest of them.
type stamp struct {
	file string
	at   time.Time
	n    int // and how many, so that a removal shows
}

// newest looks at what the shop is built of. Tests and what is generated change nothing.
func newest(root string) (s stamp) {
	_ = filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // gone while we looked: the next look will tell
		}
		base := d.Name()
		if d.IsDir() {
			if file != root && (strings.HasPrefix(base, ".") || base == "node_modules" || base == "testdata") {
				return fs.SkipDir
			}
			return nil
		}
		if strings.HasSuffix(base, "_test.go") || strings.HasSuffix(base, "_templ.go") {
			return nil
		}
		switch filepath.Ext(base) {
		case ".go", ".templ", ".sql", ".css", ".js", ".svg":
		default:
			return nil
		}
		s.n++
		if fi, err := d.Info(); err == nil && fi.ModTime().After(s.at) {
			s.file, s.at = file, fi.ModTime()
		}
		return nil
	})
	return s
}
