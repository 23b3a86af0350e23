package devdb

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
)

// Durable gives a benchmark a server of its own that waits for the disk, as the shop's does: with the installed defaults, on a disk and
// not in memory. It is gone when the benchmark ends.
func Durable(t testing.TB) *Server {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "tiffin-bench-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o711); err != nil { // the server's account has to pass
		t.Fatal(err)
	}
	s, err := Start(context.Background(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

var tps = regexp.MustCompile(`tps = ([0-9.]+)`)

// Pgbench runs a script so many times, shared among clients, by PostgreSQL's own pgbench, and says how many a second it made. It is what
// the same statements cost without our program. defines are pgbench's variables: name, value, …
func (s *Server) Pgbench(t testing.TB, database, script string, clients, runs int, defines ...any) float64 {
	t.Helper()
	programs, err := s.Programs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"--no-vacuum", "--protocol=prepared", "--client", strconv.Itoa(clients), "--jobs", strconv.Itoa(min(clients, 2)),
		"--transactions", strconv.Itoa(max(runs/clients, 1)), "--file", script}
	for i := 0; i < len(defines); i += 2 {
		args = append(args, fmt.Sprintf("--define=%v=%v", defines[i], defines[i+1]))
	}
	out, err := exec.CommandContext(t.Context(), filepath.Join(programs, "pgbench"), append(args, database)...).CombinedOutput()
	if err != nil {
		t.Fatalf("pgbench: %v\n%s", err, out)
	}
	found := tps.FindSubmatch(out)
	if found == nil {
		t.Fatalf("pgbench says no rate:\n%s", out)
	}
	rate, err := strconv.ParseFloat(string(found[1]), 64)
	if err != nil {
		t.Fatal(err)
	}
	return rate
}
