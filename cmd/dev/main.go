// Command dev starts what a developer needs around the shop: a private database, a stand-in for the gateway, and the shop itself.
// It knows how those are wired on one machine; it decides nothing about orders or money, and never ships.
// It promises that one Ctrl-C stops all it started, in order, and that what was sold and paid is there again at the next start.
// Read run.go; main.go only finds the command.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"tiffin/devdb"
	"tiffin/migrations"
	"tiffin/models"
)

const usage = `dev [-state folder] command

  run [-shop host:port] [-gateway host:port] [-once]
            database, stand-in gateway and shop, until Ctrl-C; the shop is rebuilt when its source changes, unless -once
  with-db -- command [argument …]
            run a command with a database server for tests, and stop the server after it
  torture [-seed N] [-rounds M] [-for duration] [-workers W] [-v]
            run the shop as processes, break everything around it by seed, and check every promise (docs/torture.md)
  migrate   bring the database of run up to this build's schema
  psql [argument …]
            open the database of run
  mutants [-only name] [-new] [-list]
            take each guard of mutants/guards.txt away, in a copy of the tree, see that its test fails, and note it in docs/mutants.md
`

func main() {
	slog.SetDefault(slog.New(slog.DiscardHandler)) // what fails here is said once, below; the shop logs for itself
	err := dev(os.Args[1:])
	switch status := exitStatus(0); {
	case err != nil && errors.As(err, &status) && err.Error() == status.Error(): // and nothing else went wrong
		os.Exit(int(status))
	case errors.Is(err, errUsage):
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "dev: "+strings.TrimPrefix(err.Error(), "devdb: "))
		os.Exit(1)
	}
}

var errUsage = errors.New("usage")

// exitStatus is how with-db's command or psql ended, which has said itself what was wrong; ours is to be the same.
type exitStatus int

func (e exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// dev is main without the exit.
func dev(args []string) error {
	flags := flag.NewFlagSet("dev", flag.ContinueOnError)
	flags.SetOutput(os.Stderr)
	flags.Usage = func() {}
	folder := flags.String("state", ".tiffin", "where the database, the gateway's books and letters are kept")
	if err := flags.Parse(args); err != nil || flags.NArg() == 0 {
		return errUsage
	}
	state, err := filepath.Abs(*folder)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends us at once, and our children with us

	command, rest := flags.Arg(0), flags.Args()[1:]
	switch command {
	case "run":
		return run(ctx, state, rest)
	case "with-db":
		if len(rest) > 0 && rest[0] == "--" {
			rest = rest[1:]
		}
		if len(rest) == 0 {
			return errUsage
		}
		return withDB(ctx, rest)
	case "torture":
		return tortured(ctx, state, rest)
	case "migrate":
		if len(rest) > 0 {
			return errUsage
		}
		return withShopDB(ctx, state, migrate)
	case "psql":
		return withShopDB(ctx, state, func(ctx context.Context, db *devdb.Server) error { return psql(ctx, db, rest) })
	case "mutants":
		return mutants(ctx, rest)
	}
	return errUsage
}

// withDB runs a command that finds a database server of its own in its environment. The command's exit is ours.
func withDB(ctx context.Context, command []string) (err error) {
	db, err := devdb.StartThrowaway(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Stop()) }()
	return foreground(ctx, command[0], command[1:], append(os.Environ(), devdb.EnvURL+"="+db.URL()))
}

// withShopDB does something with the database of run, whether that runs at the moment or not.
func withShopDB(ctx context.Context, state string, do func(context.Context, *devdb.Server) error) (err error) {
	db, err := devdb.Start(ctx, filepath.Join(state, "db"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Stop()) }()
	return do(ctx, db)
}

func migrate(ctx context.Context, db *devdb.Server) (err error) {
	store, err := models.Open(ctx, db.URL(), storeSize)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	return migrations.Up(ctx, store.SQL())
}

func psql(ctx context.Context, db *devdb.Server, args []string) error {
	bin, err := db.Programs(ctx)
	if err != nil {
		return err
	}
	program := filepath.Join(bin, "psql")
	if _, err := os.Stat(program); err != nil {
		if program, err = exec.LookPath("psql"); err != nil {
			return fmt.Errorf("psql is not installed: install your system's package postgresql-client; the database is %s", db.URL())
		}
	}
	return foreground(ctx, program, append([]string{db.URL()}, args...), os.Environ())
}

// foreground runs a program on our terminal until it ends. A Ctrl-C reaches it as it reaches us, and it decides what that means;
// a SIGTERM for us is handed on.
func foreground(ctx context.Context, program string, args, env []string) error {
	cmd := exec.Command(program, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Env = os.Stdin, os.Stdout, os.Stderr, env
	// From here on signals are the program's business: we stay to clean up after it.
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	done := make(chan struct{})
	defer close(done)
	go func() {
		for {
			select {
			case sig := <-signals:
				if sig == syscall.SIGTERM {
					_ = cmd.Process.Signal(sig) // it may have ended by itself
				}
			case <-done:
				return
			}
		}
	}()
	var exit *exec.ExitError
	if err := cmd.Wait(); errors.As(err, &exit) {
		return exitStatus(max(exit.ExitCode(), 1)) // -1 is a signal's
	} else if err != nil {
		return err
	}
	return nil
}
