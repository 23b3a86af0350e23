// Command web is Tiffin: a restaurant's own ordering site. It is the one program that ships.
// It knows how the rooms are wired together; it decides nothing itself.
// It promises to start only with settings that make sense, to list every one that does not, and to stop without dropping work.
// Read program.go; config.go is what it can be told.
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// sweepPause keeps a sweep's gateway calls at two a second, so that customers' calls always find room in the account's rate limit.
const sweepPause = 500 * time.Millisecond / pace

func main() {
	log := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	slog.SetDefault(log)
	if len(os.Args) > 1 && os.Args[1] == "audit" {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		code := audit(ctx, os.Args[2:], os.Getenv, os.Stdout, os.Stderr)
		stop()
		os.Exit(code)
	}
	if err := run(log); err != nil {
		fmt.Fprintln(os.Stderr, "tiffin: "+err.Error())
		os.Exit(1)
	}
}

func run(log *slog.Logger) error {
	otherMode := flag.Bool("other-mode", false, "start although the database holds orders made under a key of the other mode (test or live)")
	flag.Parse()
	cfg, err := readConfig(os.Getenv)
	if err != nil {
		return fmt.Errorf("these settings need attention:\n%w", err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	p, err := start(ctx, cfg, options{otherMode: *otherMode, log: log})
	if err != nil {
		return err
	}
	log.Info("open", "address", p.Addr(), "config", cfg)
	select {
	case <-ctx.Done():
	case err = <-p.failed:
	}
	stop() // a second Ctrl-C ends the program at once
	closing, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if closeErr := p.Close(closing); err == nil {
		err = closeErr
	}
	return err
}
