package devdb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// oldest is the first major version that Tiffin's SQL was written for.
const oldest = 14

// ErrNoPrograms says that no usable PostgreSQL server programs are installed.
var ErrNoPrograms = errors.New("no PostgreSQL server programs found: run `make setup`, or install your system's package postgresql, or set PG_BIN to the folder that holds initdb and postgres")

// homes are the folders that systems put the server programs in; most of them on nobody's PATH.
var homes = []string{
	"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/usr/local/pgsql/bin",
	"/opt/homebrew/opt/postgresql*/bin", "/usr/local/opt/postgresql*/bin",
	"/Applications/Postgres.app/Contents/Versions/*/bin",
}

// findPrograms returns the folder of initdb and postgres: PG_BIN, else where PATH's initdb really lives, else the newest in the
// usual places. Data belongs to one major version, wanted; "" takes any. Errors: ErrNoPrograms when there is none of any use.
func findPrograms(ctx context.Context, wanted string) (string, error) {
	var dirs []string
	if d := os.Getenv("PG_BIN"); d != "" {
		dirs = append(dirs, d)
	} else {
		if p, err := exec.LookPath("initdb"); err == nil {
			if p, err = filepath.EvalSymlinks(p); err == nil { // PATH often holds a lone link; postgres is the target's sibling
				dirs = append(dirs, filepath.Dir(p))
			}
		}
		dirs = append(dirs, installed(homes)...)
	}
	var seen []string
	for i, d := range dirs {
		if slices.Contains(dirs[:i], d) {
			continue
		}
		out, err := exec.CommandContext(ctx, filepath.Join(d, "postgres"), "--version").Output()
		if err != nil {
			continue
		}
		if _, err := os.Stat(filepath.Join(d, "initdb")); err != nil {
			continue
		}
		major := majorVersion(string(out))
		if major < oldest || wanted != "" && wanted != strconv.Itoa(major) {
			seen = append(seen, fmt.Sprintf("%s has version %d", d, major))
			continue
		}
		return d, nil
	}
	if ctx.Err() != nil {
		return "", fmt.Errorf("devdb: look for the server programs: %w", ctx.Err())
	}
	switch {
	case wanted != "" && len(seen) > 0:
		return "", fmt.Errorf("devdb: the data needs PostgreSQL %s, but %s: install that version, or move the data away to begin anew", wanted, strings.Join(seen, ", "))
	case len(seen) > 0:
		return "", fmt.Errorf("devdb: PostgreSQL %d or later is needed, but %s: %w", oldest, strings.Join(seen, ", "), ErrNoPrograms)
	}
	return "", fmt.Errorf("devdb: %w", ErrNoPrograms)
}

// installed lists what the patterns find, newest version first: 9.6 comes after 15, and 15 after 16.
func installed(patterns []string) []string {
	var dirs []string
	for _, p := range patterns {
		found, err := filepath.Glob(p)
		if err != nil {
			continue // only a malformed pattern, of which there is none above
		}
		dirs = append(dirs, found...)
	}
	version := func(dir string) int { return firstNumber(filepath.Base(filepath.Dir(dir))) }
	slices.SortStableFunc(dirs, func(a, b string) int { return version(b) - version(a) })
	return dirs
}

// majorVersion reads "postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)"; a beta says "17beta1".
func majorVersion(out string) int {
	_, after, found := strings.Cut(out, "PostgreSQL)")
	if !found {
		return 0
	}
	return firstNumber(after)
}

// firstNumber is the first run of digits in s, 0 if there is none.
func firstNumber(s string) int {
	start := strings.IndexAny(s, "0123456789")
	if start < 0 {
		return 0
	}
	end := start
	for end < len(s) && s[end] >= '0' && s[end] <= '9' {
		end++
	}
	n, err := strconv.Atoi(s[start:end])
	if err != nil {
		return 0
	}
	return n
}
