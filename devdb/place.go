package devdb

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

const (
	// port only names the socket's file: the server listens on no network.
	port = "5432"

	// longestRun is the longest folder a socket's path can stand in: the kernel takes 108 bytes, 104 on a Mac, the last a zero,
	// and "/.s.PGSQL.5432.lock" has to fit too.
	longestRun = 104 - 1 - len("/.s.PGSQL."+port)
)

// place is where one server lives.
type place struct {
	data string // PGDATA
	run  string // the socket's folder; apart from the rest when that lies too deep
	log  string
	lock string // held by whoever starts the server, then by the server itself and its sessions
}

// findPlace lays out dir, and makes it. A folder that the server's account could not enter is answered with one that it can,
// below the system's own folder for such things; the same dir always gives the same place.
func findPlace(dir string) (place, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return place{}, fmt.Errorf("devdb: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return place{}, fmt.Errorf("devdb: %w", err)
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return place{}, fmt.Errorf("devdb: %w", err)
	}
	id := fmt.Sprintf("tiffin-%d-%x", os.Geteuid(), sha256.Sum256([]byte(dir)))[:32]
	acc, err := serverAccount()
	if err != nil {
		return place{}, err
	}
	if !acc.canServe(dir) {
		if dir, err = ownFolder(filepath.Join("/var/tmp", id)); err != nil {
			return place{}, err
		}
	}
	p := place{
		data: filepath.Join(dir, "data"), run: filepath.Join(dir, "run"),
		log: filepath.Join(dir, "postgres.log"), lock: filepath.Join(dir, "lock"),
	}
	if len(p.run) > longestRun {
		short, err := ownFolder(filepath.Join("/tmp", id))
		if err != nil {
			return place{}, err
		}
		p.run = filepath.Join(short, "run")
	}
	return p, nil
}

// ownFolder makes a folder with a guessable name where anybody may make one, and refuses one that somebody else made.
func ownFolder(dir string) (string, error) {
	err := os.Mkdir(dir, 0o711)
	if err == nil {
		err = os.Chmod(dir, 0o711) // whatever the umask: the server's account has to pass
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("devdb: %w", err)
	}
	fi, err := os.Lstat(dir)
	if err != nil {
		return "", fmt.Errorf("devdb: %w", err)
	}
	if !fi.IsDir() || int(owner(fi)) != os.Geteuid() || fi.Mode().Perm()&0o022 != 0 {
		return "", fmt.Errorf("devdb: %s is not a folder of this user alone: remove it", dir)
	}
	return dir, nil
}

// prepare gives the data and the socket's folder to the account that the server runs under. Safe to repeat, also after the
// program ran as somebody else or elsewhere.
func (p place) prepare() (account, error) {
	acc, err := serverAccount()
	if err != nil {
		return account{}, err
	}
	if !acc.canReach(filepath.Dir(p.data)) {
		acc.mapped = true
	}
	if err := os.Mkdir(p.run, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return account{}, fmt.Errorf("devdb: %w", err)
	}
	for _, dir := range []string{p.data, p.run} {
		if err := acc.own(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return account{}, fmt.Errorf("devdb: %w: it belongs to another user; run as that user or remove %s", err, dir)
		}
	}
	return acc, nil
}

// version is the major version of the data, "" where there is none yet.
func (p place) version() string {
	b, err := os.ReadFile(filepath.Join(p.data, "PG_VERSION"))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// initialise makes the data folder if there is none. The cluster is made beside it and renamed, so one whose making was cut short is never used.
func (p place) initialise(ctx context.Context, bin string, acc account, further []string) error {
	if p.version() != "" {
		return nil
	}
	if err := os.Remove(p.data); err != nil && !errors.Is(err, fs.ErrNotExist) { // never removes a file in it
		return fmt.Errorf("devdb: %s is there but is not a database, move it away: %w", p.data, err)
	}
	making := p.data + ".new"
	if err := os.RemoveAll(making); err != nil {
		return fmt.Errorf("devdb: %w", err)
	}
	if err := os.Mkdir(making, 0o700); err != nil {
		return fmt.Errorf("devdb: %w", err)
	}
	if err := acc.own(making); err != nil {
		return fmt.Errorf("devdb: %w", err)
	}
	// Nobody but the owner can reach the socket's folder and there is no network, so no password is needed.
	args := append([]string{"-D", making, "-U", name, "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8"}, further...)
	cmd := exec.CommandContext(ctx, filepath.Join(bin, "initdb"), args...)
	cmd.SysProcAttr, cmd.Dir, cmd.Env = acc.attributes(), "/", environment()
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("devdb: initdb: %w\n%s", err, strings.TrimSpace(string(out)))
	}
	if err := os.Rename(making, p.data); err != nil {
		return fmt.Errorf("devdb: %w", err)
	}
	return nil
}

// clear removes what a killed server left and a new one would stumble over: its pid and socket files name a process, and that
// number may belong to a stranger or to a corpse by now. A number nobody has is left to the server, which knows more to clean
// up by it. Only to be called with the lock in hand.
func (p place) clear() error {
	for _, file := range []string{filepath.Join(p.data, "postmaster.pid"), filepath.Join(p.run, ".s.PGSQL."+port+".lock")} {
		b, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("devdb: %w", err)
		}
		first, _, _ := strings.Cut(string(b), "\n")
		pid, err := strconv.Atoi(strings.TrimSpace(first))
		if err == nil && pid > 0 && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			continue
		}
		if err == nil && servesIn(pid, p.data) {
			return fmt.Errorf("devdb: process %d serves %s and was not started from here: stop it first", pid, p.data)
		}
		if err := os.Remove(file); err != nil {
			return fmt.Errorf("devdb: %w", err)
		}
	}
	return nil
}

func (p place) openLog() (*os.File, error) {
	flag := os.O_CREATE | os.O_APPEND | os.O_WRONLY
	if fi, err := os.Stat(p.log); err == nil && fi.Size() > logLimit {
		flag |= os.O_TRUNC
	}
	f, err := os.OpenFile(p.log, flag, 0o600)
	if err != nil {
		return nil, fmt.Errorf("devdb: %w", err)
	}
	return f, nil
}

// environment is ours without what would change a server or a client behind our back.
func environment() []string {
	env := []string{"LC_ALL=C.UTF-8", "TZ=UTC"}
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "PG") && !strings.HasPrefix(kv, "LC_") && !strings.HasPrefix(kv, "TZ=") {
			env = append(env, kv)
		}
	}
	return env
}
