// Package devdb runs private PostgreSQL servers from the server programs installed on this machine.
//
// It knows where those programs are found, how to run them without being root, and how to tell a dead server's remains from a live one.
// It must not know the shop: the schema comes from package migrations, and nothing that ships imports devdb.
// It promises that a server ends with the program that started it, however that ends, and that Start works after any such end.
// Read server.go first, then database.go for the databases tests get.
package devdb

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// name is both the superuser of a server made here and the database its URL opens.
	name = "tiffin"

	// startLimit bounds Start and Restart. A first start runs initdb, which has been seen to take twelve seconds on a busy
	// machine; crash recovery of a large database is the other slow case.
	startLimit = 90 * time.Second

	// stopLimit is how long a fast shutdown may take before the server is told to quit without its final checkpoint. It loses
	// nothing then either: the next start recovers from the log.
	stopLimit = 20 * time.Second

	// pollEvery is the pause between two looks at a server that is coming up or going away. A start takes some 100 ms, so a
	// longer pause would be felt in every test run.
	pollEvery = 20 * time.Millisecond

	// memory is a file system without a disk, where there is one. A database is some 600 files, and each test makes and drops one:
	// seen to take 20 ms there and 330 ms on the disk of a virtual machine.
	memory = "/dev/shm"

	// memoryNeeded is the free space under which the disk is taken: containers often have 64 MB of memory there, and a server
	// that runs out of space fails tests for no fault of theirs.
	memoryNeeded = 2 << 30

	// logLimit is the size above which the server's log starts afresh.
	logLimit = 10 << 20
)

// kind is what a server is for.
type kind struct {
	initdb   []string // further arguments of initdb
	settings []string // further settings of the server
}

// keeping is for data that outlives its runs: the installed defaults, fsync among them.
var keeping = kind{settings: []string{"max_connections=100"}}

// throwaway is for tests. fsync=off loses data only when the machine itself stops, never when a
// process is killed, so crash tests stay honest as long as synchronous_commit and full_page_writes keep their defaults.
// Packages are tested in parallel, each test with its own pool: hence the connections.
var throwaway = kind{
	initdb:   []string{"--no-sync", "--wal-segsize=1"}, // small segments, since what stays may stay in memory
	settings: []string{"fsync=off", "max_connections=300", "min_wal_size=8MB", "max_wal_size=512MB"},
}

// Server is one private PostgreSQL. Its methods may be called from several goroutines.
type Server struct {
	place place
	kind

	mu   sync.Mutex
	proc *Child // the postmaster; nil when it belongs to another program, or is down

	tests cluster // see database.go
}

// Start runs the server whose data lives under dir, which is made if missing and kept when the server stops.
// A server that another program already runs there is used and not owned: it goes when that program stops it.
// Safe to call again after any kind of end: of this program, of the server, or of both. The caller calls Stop.
// Errors: ErrNoPrograms when no server is installed, otherwise a sentence that ends with the server's own last words.
func Start(ctx context.Context, dir string) (*Server, error) { return start(ctx, dir, keeping) }

func start(ctx context.Context, dir string, k kind) (*Server, error) {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	s, err := newServer(dir, k)
	if err != nil {
		return nil, err
	}
	for {
		lock, err := tryLock(s.place.lock)
		if err != nil {
			return nil, err
		}
		if lock != nil {
			defer lock.Close()
			if err := s.launch(ctx, lock); err != nil {
				return nil, err
			}
			return s, nil
		}
		// The lock is held by a running server, or by a program just about to run one.
		if s.answers(ctx, name) == nil {
			return s, nil
		}
		if pause(ctx) != nil {
			return nil, fmt.Errorf("devdb: %s is held by another program, and no server answers there", dir)
		}
	}
}

// StartThrowaway runs a server for tests, in a folder of the system's for passing things that no other one uses. It never waits
// for the disk, and what it stores is worth nothing: remains of an earlier run are cleared away, or, where they cannot be used,
// removed. The folder stays, since an initialised one starts ten times as fast. The caller calls Stop, or just ends.
func StartThrowaway(ctx context.Context) (*Server, error) {
	parent := os.TempDir()
	if roomy(memory) {
		parent = memory
	}
	base, err := ownFolder(filepath.Join(parent, fmt.Sprintf("tiffin-test-%d", os.Geteuid())))
	if err != nil {
		return nil, err
	}
	return startThrowaway(ctx, base)
}

func startThrowaway(ctx context.Context, base string) (*Server, error) {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	for n := 1; ; n++ {
		s, err := newServer(filepath.Join(base, strconv.Itoa(n)), throwaway)
		if err != nil {
			return nil, err
		}
		lock, err := tryLock(s.place.lock)
		if err != nil {
			return nil, err
		}
		if lock == nil {
			continue
		}
		defer lock.Close()
		first := s.launchSwept(ctx, lock)
		if first == nil {
			return s, nil
		}
		if ctx.Err() != nil || errors.Is(first, ErrNoPrograms) {
			return nil, first
		}
		// Another version's data, or a machine that went down while fsync was off: begin again.
		if err := os.RemoveAll(s.place.data); err != nil {
			return nil, errors.Join(first, err)
		}
		if err := s.launchSwept(ctx, lock); err != nil {
			return nil, errors.Join(first, err)
		}
		return s, nil
	}
}

// launchSwept starts a server for tests and clears away what the tests of an earlier run left in it.
func (s *Server) launchSwept(ctx context.Context, lock *os.File) error {
	if err := s.launch(ctx, lock); err != nil {
		return err
	}
	if err := s.sweep(ctx); err != nil {
		return errors.Join(err, s.Stop())
	}
	return nil
}

func newServer(dir string, k kind) (*Server, error) {
	p, err := findPlace(dir)
	if err != nil {
		return nil, err
	}
	s := &Server{place: p, kind: k}
	s.tests.admin = s.url("postgres")
	return s, nil
}

// URL names the server's own database, for pgx, GORM and psql alike.
func (s *Server) URL() string {
	u := s.url(name)
	return u.String()
}

func (s *Server) url(database string) url.URL {
	return url.URL{
		Scheme: "postgres", User: url.User(name), Path: "/" + database,
		RawQuery: url.Values{"host": {s.place.run}, "port": {port}}.Encode(),
	}
}

// Programs is the folder of the server's own programs, psql among them where it is installed.
func (s *Server) Programs(ctx context.Context) (string, error) {
	return findPrograms(ctx, s.place.version())
}

// Owned says whether this program started the server, so that Stop ends it.
func (s *Server) Owned() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.proc != nil
}

// Done is closed when a server that this program started has ended, for whatever reason. It is nil for one that is not owned.
func (s *Server) Done() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc == nil {
		return nil
	}
	return s.proc.Done()
}

// Stop ends a server that this program started: sessions are cut off, data is written out, nothing is left running.
// Safe to repeat; does nothing to a server that is not owned.
func (s *Server) Stop() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stop()
}

func (s *Server) stop() error {
	p := s.proc
	if p == nil {
		return nil
	}
	s.proc = nil
	if err := p.Stop(stopLimit, syscall.SIGINT, syscall.SIGQUIT); err != nil { // fast, then immediate
		return fmt.Errorf("devdb: the server ended badly: %w%s", err, s.lastWords())
	}
	return nil
}

// Kill ends a server that this program started as a crash would: SIGKILL, no goodbye. It returns when the last of its
// processes has gone. What was committed is there again after Restart. Safe to repeat.
func (s *Server) Kill() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc == nil {
		return nil
	}
	p := s.proc
	s.proc = nil
	if err := p.Kill(); err != nil {
		return fmt.Errorf("devdb: kill the server: %w", err)
	}
	// Sessions notice the loss of their postmaster and leave, each when it next waits for something.
	ctx, cancel := context.WithTimeout(context.Background(), stopLimit)
	defer cancel()
	for {
		lock, err := tryLock(s.place.lock)
		if err != nil {
			return err
		}
		if lock != nil {
			return lock.Close()
		}
		if pause(ctx) != nil {
			return errors.New("devdb: sessions of the killed server still run")
		}
	}
}

// Restart brings the server up again at the same URL, after Stop or Kill or from a running one, which is stopped first.
// Sessions that were open are lost. Not for a server that another program owns.
func (s *Server) Restart(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.stop(); err != nil {
		return err
	}
	lock, err := tryLock(s.place.lock)
	if err != nil {
		return err
	}
	if lock == nil {
		return fmt.Errorf("devdb: restart: the server in %s belongs to another program", s.place.data)
	}
	defer lock.Close()
	return s.launchLocked(ctx, lock)
}

func (s *Server) launch(ctx context.Context, lock *os.File) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.launchLocked(ctx, lock)
}

// launchLocked starts the server while lock is held. The server inherits the lock and so do its sessions, hence whoever gets
// the lock later knows that every process of the earlier server has gone, and may clear away what it left.
func (s *Server) launchLocked(ctx context.Context, lock *os.File) error {
	acc, err := s.place.prepare()
	if err != nil {
		return err
	}
	bin, err := findPrograms(ctx, s.place.version())
	if err != nil {
		return err
	}
	if err := s.place.initialise(ctx, bin, acc, s.initdb); err != nil {
		return err
	}
	if err := s.place.clear(); err != nil {
		return err
	}
	out, err := s.place.openLog()
	if err != nil {
		return err
	}
	defer out.Close()

	args := []string{"-D", s.place.data, "-k", s.place.run, "-p", port}
	for _, set := range append([]string{"listen_addresses=", "unix_socket_permissions=0700", "timezone=UTC"}, s.settings...) {
		args = append(args, "-c", set)
	}
	cmd := exec.Command(filepath.Join(bin, "postgres"), args...)
	cmd.SysProcAttr = acc.attributes()
	cmd.Dir, cmd.Env = "/", environment() // its account may not be able to enter where we stand
	cmd.Stdout, cmd.Stderr = out, out
	cmd.ExtraFiles = []*os.File{lock}
	p, err := StartChild(cmd, syscall.SIGINT)
	if err != nil {
		return err
	}
	s.proc = p

	for {
		if err = s.answers(ctx, "postgres"); err == nil {
			err = s.makeDatabase(ctx)
		}
		if err == nil {
			return nil
		}
		select {
		case <-p.Done():
			s.proc = nil
			return fmt.Errorf("devdb: the server did not start: %w%s", p.Err(), s.lastWords())
		case <-ctx.Done():
			s.proc = nil
			return errors.Join(fmt.Errorf("devdb: the server did not answer in time: %w%s", err, s.lastWords()), p.Kill())
		case <-time.After(pollEvery):
		}
	}
}

func (s *Server) answers(ctx context.Context, database string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	u := s.url(database)
	c, err := pgx.Connect(ctx, u.String())
	if err != nil {
		return err
	}
	return c.Close(ctx)
}

// makeDatabase makes the database that URL opens. Safe to repeat.
func (s *Server) makeDatabase(ctx context.Context) error {
	c, err := pgx.Connect(ctx, s.tests.admin.String())
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	var there bool
	if err := c.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", name).Scan(&there); err != nil || there {
		return err
	}
	_, err = c.Exec(ctx, "CREATE DATABASE "+name)
	return err
}

// lastWords is the end of the server's log, for an error's text.
func (s *Server) lastWords() string {
	b, err := os.ReadFile(s.place.log)
	if err != nil {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	return fmt.Sprintf("\nthe end of %s:\n  %s", s.place.log, strings.Join(lines[max(0, len(lines)-8):], "\n  "))
}

// tryLock returns the locked file, or nil when another process holds it. Closing the file lets go, unless a server inherited it.
func tryLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if errors.Is(err, fs.ErrPermission) {
		return nil, fmt.Errorf("devdb: %w: it was made by another user; run as that user or remove %s", err, filepath.Dir(path))
	}
	if err != nil {
		return nil, fmt.Errorf("devdb: %w", err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return f, nil
	}
	f.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, nil
	}
	return nil, fmt.Errorf("devdb: lock %s: %w", path, err)
}

// roomy says whether dir is there and has room for a server.
func roomy(dir string) bool {
	var st syscall.Statfs_t
	return syscall.Statfs(dir, &st) == nil && uint64(st.Bavail)*uint64(st.Bsize) >= memoryNeeded
}

func pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(pollEvery):
		return nil
	}
}
