package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tiffin/devdb"
	"tiffin/models"
)

// asDev makes this test binary the program itself.
const asDev = "DEV_TEST_AS_DEV"

func TestMain(m *testing.M) {
	if os.Getenv(asDev) != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestUsage(t *testing.T) {
	t.Parallel()
	for _, args := range []string{"", "nonsense", "-bad run", "run surplus", "run -bad", "with-db", "with-db --", "migrate surplus", "torture surplus", "torture -workers 0", "torture -bad"} {
		cmd := command(t, t.TempDir(), strings.Fields(args)...)
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != 2 || !strings.Contains(string(out), "dev [-state folder] command") {
			t.Errorf("dev %s: %v, %s", args, err, out)
		}
	}
}

func TestWithDB(t *testing.T) {
	t.Parallel()
	t.Run("gives_the_command_a_server_and_its_status_to_us", func(t *testing.T) {
		cmd := command(t, t.TempDir(), "with-db", "--", "sh", "-c", `echo "$`+devdb.EnvURL+`"; exit 7`)
		out, err := cmd.Output()
		if cmd.ProcessState.ExitCode() != 7 {
			t.Errorf("status %d, %v", cmd.ProcessState.ExitCode(), err)
		}
		gone(t, strings.TrimSpace(string(out)))
	})
	t.Run("hands_SIGTERM_on_and_stops_the_server_after_the_command", func(t *testing.T) {
		cmd := command(t, t.TempDir(), "with-db", "--", "sh", "-c", `trap 'echo bye; exit 9' TERM; echo "$`+devdb.EnvURL+`"; read never`)
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		lines := start(t, cmd)
		url := next(t, lines)
		c, err := pgx.Connect(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		c.Close(t.Context())
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if got := next(t, lines); got != "bye" {
			t.Errorf("the command says %q", got)
		}
		if status := wait(t, cmd); status != 9 {
			t.Errorf("status %d", status)
		}
		gone(t, url)
	})
	t.Run("tells_of_a_command_that_is_not_there", func(t *testing.T) {
		cmd := command(t, t.TempDir(), "with-db", "no-such-command")
		out, _ := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != 1 || !strings.Contains(string(out), "no-such-command") {
			t.Errorf("status %d: %s", cmd.ProcessState.ExitCode(), out)
		}
	})
}

func TestMigrateAndPsql(t *testing.T) {
	t.Parallel()
	state := folder(t)
	for range 2 {
		if out, err := command(t, state, "migrate").CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	out, err := command(t, state, "psql", "-Atc", "SELECT count(*) FROM outlets").CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "0" {
		t.Errorf("%v: %s", err, out)
	}
	cmd := command(t, state, "psql", "-c", "SELECT nonsense")
	if err := cmd.Run(); err == nil || cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("status %d, %v, want psql's own", cmd.ProcessState.ExitCode(), err)
	}
}

// TestRun builds and starts all there is, as `make run` does.
func TestRun(t *testing.T) {
	t.Parallel()
	state := folder(t)
	run := func(t *testing.T) (*exec.Cmd, shop) {
		t.Helper()
		cmd := command(t, state, "run", "-once", "-shop", "127.0.0.1:0", "-gateway", "127.0.0.1:0")
		cmd.Env = append(cmd.Env, "RAZORPAY_KEY_ID=rzp_live_mustNotGetThere", "SMTP_URL=smtp://nowhere.example")
		return cmd, greeting(t, start(t, cmd))
	}

	cmd, first := run(t)
	for _, page := range []string{first.address + "/", first.address + "/staff/login", first.address + "/readyz", first.gateway + "/standin"} {
		if status := get(t, page); status != http.StatusOK {
			t.Errorf("%s: status %d", page, status)
		}
	}
	t.Run("beside_it_psql_works", func(t *testing.T) {
		out, err := command(t, state, "psql", "-Atc", "SELECT count(*) FROM outlets").CombinedOutput()
		if err != nil || strings.TrimSpace(string(out)) != "1" {
			t.Errorf("%v: %s, want the demo's outlet", err, out)
		}
	})
	t.Run("beside_it_no_second_one_starts", func(t *testing.T) {
		other := command(t, state, "run", "-once")
		out, _ := other.CombinedOutput()
		if other.ProcessState.ExitCode() != 1 || !strings.Contains(string(out), "in use") {
			t.Errorf("status %d: %s", other.ProcessState.ExitCode(), out)
		}
		if status := get(t, first.address+"/readyz"); status != http.StatusOK {
			t.Errorf("the first one has status %d since", status)
		}
	})
	t.Run("stops_all_at_Ctrl_C", func(t *testing.T) {
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		if status := wait(t, cmd); status != 0 {
			t.Errorf("status %d", status)
		}
		closed(t, first.address)
		closed(t, first.gateway)
		if _, err := os.Stat(filepath.Join(state, "db", "data", "postmaster.pid")); err == nil {
			t.Error("the database runs on")
		}
		if log, err := os.ReadFile(filepath.Join(state, "web.log")); err != nil || strings.Contains(string(log), `"level":"ERROR"`) {
			t.Errorf("the shop's log, %v: %s", err, log)
		}
	})
	t.Run("starts_again_with_the_same_login_and_ends_with_its_parent", func(t *testing.T) {
		cmd, second := run(t)
		if second.login != first.login || second.password != first.password {
			t.Errorf("login %s %s, before %s %s", second.login, second.password, first.login, first.password)
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		wait(t, cmd)
		// The kernel tells the shop; it stops on its own time.
		deadline := time.Now().Add(time.Minute)
		for {
			c, err := net.Dial("tcp", strings.TrimPrefix(second.address, "http://"))
			if err != nil {
				break
			}
			c.Close()
			if time.Now().After(deadline) {
				t.Fatal("the shop runs on")
			}
		}
	})
	t.Run("ends_when_the_shop_does_and_when_the_database_does", func(t *testing.T) {
		for _, what := range []string{"shop", "database"} {
			s := &session{root: "../..", state: state}
			_, err := s.start(t.Context(), "127.0.0.1:0", "127.0.0.1:0")
			if err != nil {
				t.Fatal(errors.Join(err, s.stop()))
			}
			kept := make(chan error)
			go func() { kept <- s.keep(t.Context(), true) }()
			if what == "shop" {
				err = s.shop.Kill()
			} else {
				err = killServer(filepath.Join(state, "db", "data"))
			}
			if err != nil {
				t.Error(err)
			}
			if err := <-kept; err == nil || !strings.Contains(err.Error(), "the "+what+" has ended") {
				t.Errorf("%s: error %v", what, err)
			}
			if err := s.stop(); err != nil && what == "shop" {
				t.Error(err)
			}
		}
	})
}

func TestRunTellsWhatIsWrong(t *testing.T) {
	t.Parallel()
	cmd := command(t, t.TempDir(), "run")
	cmd.Dir = t.TempDir()
	out, _ := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != 1 || !strings.Contains(string(out), "go.mod") {
		t.Errorf("outside the repository: status %d: %s", cmd.ProcessState.ExitCode(), out)
	}
}

func TestEnsureStaff(t *testing.T) {
	t.Parallel()
	open := func() *models.Store {
		url := devdb.URL(t)
		store, err := models.Open(t.Context(), url, storeSize)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { store.Close() })
		if _, err := store.LoadDemo(t.Context()); err != nil {
			t.Fatal(err)
		}
		return store
	}
	ensure := func(t *testing.T, store *models.Store, file string) staffLogin {
		t.Helper()
		l, err := ensureStaff(t.Context(), store, file)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := store.SignInStaff(t.Context(), l.Login, l.Password, "127.0.0.1"); err != nil {
			t.Fatalf("login %v: %v", l, err)
		}
		return l
	}
	store, file := open(), filepath.Join(t.TempDir(), "staff.json")

	first := ensure(t, store, file)
	if fi, err := os.Stat(file); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v", fi, err)
	}
	t.Run("is_the_same_at_each_start", func(t *testing.T) {
		if again := ensure(t, store, file); again != first {
			t.Errorf("%v, then %v", first, again)
		}
	})
	t.Run("is_the_same_in_a_new_database", func(t *testing.T) {
		if again := ensure(t, open(), file); again != first {
			t.Errorf("%v, then %v", first, again)
		}
	})
	t.Run("is_another_when_the_file_is_lost", func(t *testing.T) {
		if other := ensure(t, store, filepath.Join(t.TempDir(), "staff.json")); other.Login == first.Login || other.Password == first.Password {
			t.Errorf("%v, then %v", first, other)
		}
	})
	t.Run("is_not_guessed_from_a_broken_file", func(t *testing.T) {
		broken := filepath.Join(t.TempDir(), "staff.json")
		if err := os.WriteFile(broken, []byte(`{"login":"owner"`), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ensureStaff(t.Context(), store, broken); err == nil || !strings.Contains(err.Error(), broken) {
			t.Errorf("error %v, want one that names the file", err)
		}
	})
}

func TestFreeAddress(t *testing.T) {
	t.Parallel()
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	addr := busy.Addr().String()
	got, err := freeAddress(addr)
	if err != nil || got == addr {
		t.Errorf("beside a listener: %s, %v", got, err)
	}
	if again, err := freeAddress(got, got); err != nil || again == got {
		t.Errorf("beside one that is promised: %s, %v", again, err)
	}
	for _, bad := range []string{"", "nonsense", "127.0.0.1:http-alt-nonsense", "192.0.2.1:80"} {
		if got, err := freeAddress(bad); err == nil {
			t.Errorf("%q gave %s", bad, got)
		}
	}
}

func TestNewest(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write := func(file string, at int64) {
		t.Helper()
		file = filepath.Join(root, file)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(file, time.Unix(at, 0), time.Unix(at, 0)); err != nil {
			t.Fatal(err)
		}
	}
	write("models/order.go", 100)
	write("views/menu.templ", 200)
	before := newest(root)
	if before.file != filepath.Join(root, "views/menu.templ") || before.n != 2 {
		t.Errorf("newest is %+v", before)
	}
	for _, silent := range []string{"models/order_test.go", "views/menu_templ.go", "README.md", ".tiffin/x.go", "node_modules/x.js", "views/testdata/x.go"} {
		write(silent, 300)
		if got := newest(root); got != before {
			t.Errorf("%s counts: %+v", silent, got)
		}
	}
	for i, loud := range []string{"models/cart.go", "migrations/0002_x.sql", "static/app.css", "views/pay.templ"} {
		write(loud, 400+int64(i))
		if got := newest(root); got == before {
			t.Errorf("%s does not count", loud)
		} else {
			before = got
		}
	}
	if err := os.Remove(filepath.Join(root, "models/order.go")); err != nil {
		t.Fatal(err)
	}
	if newest(root) == before {
		t.Error("a removed file does not count")
	}
}

func TestOurs(t *testing.T) {
	t.Parallel()
	env := []string{"PATH=/bin", "DATABASE_URL=x", "RAZORPAY_KEY_ID=x", "RAZORPAY_ANYTHING=x", "SMTP_URL=x", "MAIL_DIR=x", "LISTEN_ADDR=x", "METRICS_ADDR=x", "PUBLIC_URL=x", "GOFLAGS=-v"}
	if got := slices.DeleteFunc(env, ours); !slices.Equal(got, []string{"PATH=/bin", "GOFLAGS=-v"}) {
		t.Errorf("%v is handed on", got)
	}
}

// command is this program, run at the top of the repository.
func command(t *testing.T, state string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], append([]string{"-state", state}, args...)...)
	if len(args) == 0 {
		cmd.Args = cmd.Args[:1]
	}
	cmd.Env = append(os.Environ(), asDev+"=1")
	cmd.Dir = "../.."
	return cmd
}

// folder is one that the database's account can enter, as an ordinary clone is.
func folder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, d := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// start runs cmd and hands over its lines.
func start(t *testing.T, cmd *exec.Cmd) *bufio.Scanner {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if cmd.Stderr == nil {
		cmd.Stderr = os.Stderr
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return bufio.NewScanner(out)
}

func next(t *testing.T, lines *bufio.Scanner) string {
	t.Helper()
	if !lines.Scan() {
		t.Fatalf("no more lines: %v", lines.Err())
	}
	return lines.Text()
}

func wait(t *testing.T, cmd *exec.Cmd) (status int) {
	t.Helper()
	var exit *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode()
}

// shop is what run prints.
type shop struct{ address, gateway, login, password string }

func greeting(t *testing.T, lines *bufio.Scanner) (s shop) {
	t.Helper()
	for {
		words := strings.Fields(next(t, lines))
		switch {
		case len(words) == 2 && words[0] == "Shop":
			s.address = words[1]
		case len(words) > 1 && words[0] == "Gateway":
			s.gateway = strings.TrimSuffix(words[1], "/standin")
		case len(words) == 6 && words[0] == "Staff":
			s.login, s.password = words[3], words[5]
		case len(words) > 0 && words[0] == "Ctrl-C":
			return s
		}
	}
}

// killServer crashes the database server whose data is in dir.
func killServer(dir string) error {
	b, err := os.ReadFile(filepath.Join(dir, "postmaster.pid"))
	if err != nil {
		return err
	}
	first, _, _ := strings.Cut(string(b), "\n")
	pid, err := strconv.Atoi(first)
	if err != nil {
		return err
	}
	return syscall.Kill(pid, syscall.SIGKILL)
}

func get(t *testing.T, url string) int {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		t.Fatal(err)
	}
	return res.StatusCode
}

func closed(t *testing.T, address string) {
	t.Helper()
	if c, err := net.Dial("tcp", strings.TrimPrefix(address, "http://")); err == nil {
		c.Close()
		t.Errorf("%s still listens", address)
	}
}

// gone asserts that no server answers at the database's url.
func gone(t *testing.T, url string) {
	t.Helper()
	if !strings.HasPrefix(url, "postgres://") {
		t.Fatalf("no url but %q", url)
	}
	if c, err := pgx.Connect(t.Context(), url); err == nil {
		c.Close(context.Background())
		t.Error("the server runs on")
	}
}
