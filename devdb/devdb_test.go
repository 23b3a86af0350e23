package devdb

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"tiffin/migrations"
)

// serveIn makes this test binary a program that starts a server in the folder it names, says so, and waits to be killed.
const serveIn = "DEVDB_TEST_SERVE_IN"

func TestMain(m *testing.M) {
	if dir := os.Getenv(serveIn); dir != "" {
		s, err := start(context.Background(), dir, throwaway)
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("serving")
		<-s.Done()
		select {} // a program that does not notice: only SIGKILL ends it
	}
	os.Exit(m.Run())
}

func TestURL(t *testing.T) {
	t.Parallel()
	t.Run("gives_the_whole_schema", func(t *testing.T) {
		db, err := sql.Open("pgx", URL(t))
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		current, err := migrations.Current(t.Context(), db)
		if err != nil || !current {
			t.Fatalf("migrations.Current = %v, %v", current, err)
		}
		if err := db.QueryRowContext(t.Context(), "SELECT FROM river_job").Scan(); !errors.Is(err, sql.ErrNoRows) {
			t.Fatalf("River's jobs: %v, want an empty table", err)
		}
	})
	t.Run("gives_each_call_its_own", func(t *testing.T) {
		one, other := URL(t), URL(t)
		execute(t, one, "CREATE TABLE mine ()")
		if got := query[int](t, other, "SELECT count(*) FROM pg_class WHERE relname = 'mine'"); got != 0 {
			t.Fatal("a table made in one database is seen in the other")
		}
	})
	t.Run("drops_it_at_the_end_though_sessions_are_open", func(t *testing.T) {
		var name string
		t.Run("test", func(t *testing.T) {
			c, err := pgx.Connect(t.Context(), URL(t))
			if err != nil {
				t.Fatal(err)
			}
			name = c.Config().Database
		})
		c, err := testCluster()
		if err != nil {
			t.Fatal(err)
		}
		if got := query[int](t, c.admin.String(), "SELECT count(*) FROM pg_database WHERE datname = '"+name+"'"); got != 0 {
			t.Fatalf("%s is still there", name)
		}
	})
	t.Run("without_schema_is_empty", func(t *testing.T) {
		if got := query[int](t, EmptyURL(t), "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"); got != 0 {
			t.Fatalf("%d tables", got)
		}
	})
}

func TestTemplate(t *testing.T) {
	t.Parallel()
	s := Private(t)
	execute(t, s.tests.admin.String(), "DROP DATABASE IF EXISTS "+must(templateName()))

	// Two processes that share nothing but the server, four tests in each.
	processes := []*cluster{{admin: s.tests.admin}, {admin: s.tests.admin}}
	t.Run("is_made_once_by_many", func(t *testing.T) {
		for i := range 8 {
			c := processes[i%2]
			t.Run(strconv.Itoa(i), func(t *testing.T) {
				t.Parallel()
				if got := query[int](t, c.database(t, c.template), "SELECT count(*) FROM pg_class WHERE relname = 'goose_db_version'"); got != 1 {
					t.Error("a clone without the schema")
				}
			})
		}
	})
	made := query[[]string](t, s.URL(), "SELECT array_agg(datname::text) FROM pg_database WHERE starts_with(datname, 'template_')")
	if want := []string{must(templateName())}; !slices.Equal(made, want) {
		t.Errorf("templates %v, want %v", made, want)
	}

	t.Run("cut_short_is_made_again", func(t *testing.T) {
		name := must(templateName())
		execute(t, s.tests.admin.String(), "ALTER DATABASE "+name+" RENAME TO "+name+"_making")
		c := &cluster{admin: s.tests.admin}
		if got := query[int](t, c.database(t, c.template), "SELECT count(*) FROM pg_class WHERE relname = 'goose_db_version'"); got != 1 {
			t.Error("a clone without the schema")
		}
	})
}

func TestThrowaway(t *testing.T) {
	t.Parallel()
	base := folder(t)
	one := throwawayIn(t, base)

	t.Run("servers_never_share", func(t *testing.T) {
		other := throwawayIn(t, base)
		if !one.Owned() || !other.Owned() || one.URL() == other.URL() {
			t.Errorf("%s and %s", one.URL(), other.URL())
		}
	})
	t.Run("remains_of_an_earlier_run_are_dropped", func(t *testing.T) {
		execute(t, one.URL(), "CREATE DATABASE test_left")
		execute(t, one.URL(), "CREATE DATABASE template_of_other_migrations")
		stop(t, one)
		one = throwawayIn(t, base)
		if got := query[int](t, one.URL(), "SELECT count(*) FROM pg_database WHERE datname IN ('test_left', 'template_of_other_migrations')"); got != 0 {
			t.Errorf("%d of the two are left", got)
		}
	})
	t.Run("unusable_data_is_replaced", func(t *testing.T) {
		stop(t, one)
		write(t, filepath.Join(base, "1", "data", "PG_VERSION"), "9\n")
		one = throwawayIn(t, base)
		if got := query[int](t, one.URL(), "SELECT 1"); got != 1 {
			t.Error("no answer")
		}
	})
}

func TestStart(t *testing.T) {
	t.Parallel()
	dir := folder(t)

	t.Run("by_three_at_once_gives_one_owner", func(t *testing.T) {
		var wg sync.WaitGroup
		servers := make([]*Server, 3)
		for i := range servers {
			wg.Go(func() {
				s, err := start(t.Context(), dir, throwaway)
				if err != nil {
					t.Error(err)
					return
				}
				servers[i] = s
			})
		}
		wg.Wait()
		if t.Failed() {
			return
		}
		owned := 0
		for _, s := range servers {
			if s.Owned() {
				owned++
				defer stop(t, s)
			} else if s.Done() != nil {
				t.Error("Done of a server that is not owned")
			} else {
				stop(t, s)
			}
		}
		if owned != 1 {
			t.Errorf("%d owners", owned)
		}
		execute(t, servers[0].URL(), "CREATE TABLE kept ()")
	})

	again := func(t *testing.T) {
		t.Helper()
		s := startIn(t, dir)
		if got := query[int](t, s.URL(), "SELECT count(*) FROM pg_class WHERE relname = 'kept'"); got != 1 {
			t.Error("the data is gone")
		}
		stop(t, s)
		stop(t, s)
	}
	t.Run("finds_the_data_again", again)

	t.Run("after_kill_9_of_the_program", func(t *testing.T) {
		program, _ := serve(t, dir)
		kill(t, program)
		again(t)
	})
	t.Run("after_kill_9_of_the_program_and_the_server", func(t *testing.T) {
		program, server := serve(t, dir)
		if err := syscall.Kill(server, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		kill(t, program)
		again(t)
	})
	t.Run("beside_another_program_uses_its_server", func(t *testing.T) {
		program, _ := serve(t, dir)
		s := startIn(t, dir)
		if s.Owned() {
			t.Error("two servers on one folder")
		}
		stop(t, s)
		if got := query[int](t, s.URL(), "SELECT 1"); got != 1 {
			t.Error("stopped by one that does not own it")
		}
		if err := s.Restart(t.Context()); err == nil {
			t.Error("restarted by one that does not own it")
		}
		kill(t, program)
	})
	t.Run("when_the_old_pid_is_a_strangers", func(t *testing.T) {
		pid := strconv.Itoa(os.Getpid())
		write(t, filepath.Join(dir, "data", "postmaster.pid"), pid+"\n")
		write(t, filepath.Join(dir, "run", ".s.PGSQL.5432.lock"), pid+"\n")
		again(t)
	})
	t.Run("leaves_a_server_alone_that_was_started_by_hand", func(t *testing.T) {
		p := must(findPlace(dir))
		cmd := exec.Command(filepath.Join(must(findPrograms(t.Context(), "")), "postgres"), "-D", p.data, "-k", p.run, "-c", "listen_addresses=")
		acc := must(p.prepare())
		cmd.SysProcAttr, cmd.Dir = acc.attributes(), "/"
		logs, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() {
			_ = cmd.Process.Signal(syscall.SIGINT)
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
		}()
		for lines := bufio.NewScanner(logs); lines.Scan() && !strings.Contains(lines.Text(), "ready to accept connections"); {
		}
		s, err := start(t.Context(), dir, throwaway)
		if err == nil {
			stop(t, s)
			t.Fatal("started a second server on the same data")
		}
		if !strings.Contains(err.Error(), strconv.Itoa(cmd.Process.Pid)) {
			t.Errorf("%v does not name process %d", err, cmd.Process.Pid)
		}
	})
	t.Run("with_the_log_grown_too_large_begins_a_new_one", func(t *testing.T) {
		log := filepath.Join(dir, "postgres.log")
		if err := os.Truncate(log, logLimit+1); err != nil {
			t.Fatal(err)
		}
		again(t)
		if fi, err := os.Stat(log); err != nil || fi.Size() > logLimit {
			t.Errorf("%v, %v", fi.Size(), err)
		}
	})
	t.Run("without_the_programs_of_its_version_touches_nothing", func(t *testing.T) {
		file := filepath.Join(dir, "data", "PG_VERSION")
		version := must(os.ReadFile(file))
		write(t, file, "9\n")
		if _, err := start(t.Context(), dir, throwaway); err == nil || !strings.Contains(err.Error(), "needs PostgreSQL 9") {
			t.Errorf("error %v", err)
		}
		write(t, file, string(version))
		again(t)
	})
	t.Run("under_settings_the_server_refuses_says_its_last_words", func(t *testing.T) {
		_, err := start(t.Context(), dir, kind{settings: []string{"max_connections=none"}})
		if err == nil || !strings.Contains(err.Error(), `invalid value for parameter "max_connections"`) {
			t.Errorf("error %v", err)
		}
	})
	t.Run("is_given_up_with_its_context", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if s, err := start(ctx, dir, throwaway); err == nil {
			stop(t, s)
			t.Error("started")
		}
		again(t)
	})
}

func TestStartWhereSomethingElseIs(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	precious := filepath.Join(dir, "data", "precious")
	if err := os.Mkdir(filepath.Dir(precious), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, precious, "x")
	if s, err := start(t.Context(), dir, throwaway); err == nil {
		stop(t, s)
		t.Error("started on somebody's files")
	}
	if _, err := os.Stat(precious); err != nil {
		t.Error(err)
	}
}

func TestStartAfterAnInterruptedFirstStart(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	for _, d := range []string{"data", "data.new"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(dir, "data.new", "PG_VERSION"), "15\n")
	s := startIn(t, dir)
	if got := query[int](t, s.URL(), "SELECT 1"); got != 1 {
		t.Error("no answer")
	}
}

func TestKeepingServerKeepsItsDefaults(t *testing.T) {
	t.Parallel()
	s, err := Start(t.Context(), folder(t))
	if err != nil {
		t.Fatal(err)
	}
	defer stop(t, s)
	for _, setting := range []string{"fsync", "synchronous_commit", "full_page_writes"} {
		if got := query[string](t, s.URL(), "SHOW "+setting); got != "on" {
			t.Errorf("%s is %s", setting, got)
		}
	}
	if got := query[string](t, s.URL(), "SHOW listen_addresses"); got != "" {
		t.Errorf("listens on %q", got)
	}
}

func TestPrivateServerSurvivesItsCrash(t *testing.T) {
	t.Parallel()
	s := Private(t)
	u := s.TestURL(t)
	execute(t, u, "CREATE TABLE orders_seen AS SELECT 1 AS n")
	open, err := pgx.Connect(t.Context(), u)
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close(context.Background())

	done := s.Done()
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	<-done
	if err := open.Ping(t.Context()); err == nil {
		t.Error("a session outlived the crash")
	}
	if err := s.Kill(); err != nil {
		t.Error("again:", err)
	}
	if err := s.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := query[int](t, u, "SELECT n FROM orders_seen"); got != 1 {
		t.Error("what was committed is gone")
	}
	if err := s.Restart(t.Context()); err != nil { // from a running one
		t.Fatal(err)
	}
	if got := query[int](t, u, "SELECT n FROM orders_seen"); got != 1 {
		t.Error("what was committed is gone")
	}
}

func TestLongPathsGetTheirSocketElsewhere(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(folder(t), strings.Repeat("long/", 20))
	p := must(findPlace(dir))
	t.Cleanup(func() { os.RemoveAll(filepath.Dir(p.run)) })
	if len(p.run) > longestRun || strings.HasPrefix(p.run, dir) {
		t.Fatalf("the socket is in %s", p.run)
	}
	s := startIn(t, dir)
	if got := query[int](t, s.URL(), "SELECT 1"); got != 1 {
		t.Error("no answer")
	}
}

// A clone below /root, where only root may pass. As an ordinary user these are folders like any other.
func TestFoldersOnlyTheirOwnerMayEnter(t *testing.T) {
	dir := folder(t)
	start := func(t *testing.T) {
		t.Helper()
		s := startIn(t, dir)
		if got := query[int](t, s.URL(), "SELECT 1"); got != 1 {
			t.Error("no answer")
		}
		stop(t, s)
	}
	for _, mode := range []os.FileMode{0o700, 0o755, 0o700} { // and when that changes between two starts
		t.Run(mode.String(), func(t *testing.T) {
			if err := os.Chmod(dir, mode); err != nil {
				t.Fatal(err)
			}
			start(t)
		})
	}
	t.Run("without_user_namespaces", func(t *testing.T) {
		works := mappingWorks
		mappingWorks = func() bool { return false }
		defer func() { mappingWorks = works }()
		p := must(findPlace(dir))
		if os.Geteuid() == 0 {
			t.Cleanup(func() { os.RemoveAll(filepath.Dir(p.data)) })
			if strings.HasPrefix(p.data, dir) {
				t.Errorf("the data is in %s, where the server cannot go", p.data)
			}
		}
		start(t)
	})
}

func TestRoomy(t *testing.T) {
	t.Parallel()
	if roomy("/proc") { // has no blocks at all
		t.Error("/proc")
	}
	if roomy(filepath.Join(t.TempDir(), "missing")) {
		t.Error("a folder that is not there")
	}
}

func TestOwnFolder(t *testing.T) {
	t.Parallel()
	base := folder(t)
	dir := filepath.Join(base, "own")
	for range 2 {
		if got, err := ownFolder(dir); got != dir || err != nil {
			t.Fatalf("%s, %v", got, err)
		}
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(base, "link")
	if err := os.Symlink(base, link); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{dir, link} {
		if _, err := ownFolder(bad); err == nil {
			t.Errorf("took %s", bad)
		}
	}
}

func TestPrograms(t *testing.T) {
	base := t.TempDir()
	fake := func(name, version string) string {
		bin := filepath.Join(base, name, "bin")
		if err := os.MkdirAll(bin, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, f := range []string{"postgres", "initdb"} {
			if err := os.WriteFile(filepath.Join(bin, f), []byte("#!/bin/sh\necho '"+f+" (PostgreSQL) "+version+"'\n"), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		return bin
	}
	old, newer, newest := fake("9.6", "9.6.24"), fake("14", "14.9 (Debian 14.9-1)"), fake("17", "17beta1")
	usual := homes
	t.Cleanup(func() { homes = usual })
	homes = []string{filepath.Join(base, "*/bin")}
	empty := t.TempDir()
	onPath := t.TempDir()
	if err := os.Symlink(filepath.Join(newer, "initdb"), filepath.Join(onPath, "initdb")); err != nil {
		t.Fatal(err)
	}

	for _, tt := range []struct {
		name, pgBin, path, wanted, want string
		err                             string
	}{
		{"newest_by_number", "", empty, "", newest, ""},
		{"the_version_of_the_data", "", empty, "14", newer, ""},
		{"through_a_lone_link_on_the_path", "", onPath, "", newer, ""},
		{"PG_BIN_before_all", newest, onPath, "", newest, ""},
		{"too_old", old, empty, "", "", "14 or later"},
		{"no_such_version", "", empty, "16", "", "needs PostgreSQL 16"},
		{"PG_BIN_with_nothing_in_it", empty, onPath, "", "", ErrNoPrograms.Error()},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("PG_BIN", tt.pgBin)
			t.Setenv("PATH", tt.path)
			got, err := findPrograms(t.Context(), tt.wanted)
			if got != tt.want || (err == nil) != (tt.err == "") || !strings.Contains(fmt.Sprint(err), tt.err) {
				t.Errorf("got %q, %v, want %q, %q", got, err, tt.want, tt.err)
			}
		})
	}
}

// folder is a temporary one that a server's account may pass, as ordinary clones are.
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

func startIn(t *testing.T, dir string) *Server {
	t.Helper()
	s, err := start(t.Context(), dir, throwaway)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, s) })
	return s
}

func throwawayIn(t *testing.T, base string) *Server {
	t.Helper()
	s, err := startThrowaway(t.Context(), base)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, s) })
	return s
}

func stop(t *testing.T, s *Server) {
	t.Helper()
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
}

// serve runs another program that starts a server in dir, and gives the process and the server's pid.
func serve(t *testing.T, dir string) (program *exec.Cmd, server int) {
	t.Helper()
	program = exec.Command(os.Args[0])
	program.Env = append(os.Environ(), serveIn+"="+dir)
	out, err := program.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = program.Process.Kill() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if line != "serving\n" {
		t.Fatalf("the other program says %q, %v", line, err)
	}
	first, _, _ := strings.Cut(string(must(os.ReadFile(filepath.Join(dir, "data", "postmaster.pid")))), "\n")
	return program, must(strconv.Atoi(first))
}

func kill(t *testing.T, program *exec.Cmd) {
	t.Helper()
	if err := program.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := program.Wait(); !errors.As(err, &exit) {
		t.Fatal(err)
	}
}

func execute(t *testing.T, url, sql string) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	if _, err := c.Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
}

func query[T any](t *testing.T, url, sql string) T {
	t.Helper()
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	var got T
	if err := c.QueryRow(t.Context(), sql).Scan(&got); err != nil {
		t.Fatal(err)
	}
	return got
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// must stops the test binary: only for what cannot fail unless the test itself is wrong.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// A tap writes down what is sent, once each, also when a statement is prepared once and run again; and it changes nothing.
func TestTap(t *testing.T) {
	t.Parallel()
	address, tap := Tapped(t, URL(t))
	db, err := sql.Open("pgx", address)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for n := range 2 {
		var got int
		if err := tx.QueryRowContext(t.Context(), "-- a name\nSELECT  $1::int + 1", n).Scan(&got); err != nil || got != n+1 {
			t.Fatalf("%d, %v", got, err)
		}
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if got, want := tap.Take(), []string{"begin", "SELECT $1::int + 1", "SELECT $1::int + 1", "commit"}; !slices.Equal(got, want) {
		t.Errorf("sent %q, want %q", got, want)
	}
	if got := tap.Take(); len(got) != 0 {
		t.Errorf("sent %q", got)
	}
}
