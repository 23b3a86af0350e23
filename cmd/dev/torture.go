package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"tiffin/cmd/dev/torture"
)

// tortured runs rounds of torture. Without a seed one is made up, and printed.
func tortured(ctx context.Context, state string, args []string) error {
	flags := flag.NewFlagSet("torture", flag.ContinueOnError)
	flags.SetOutput(os.Stderr)
	flags.Usage = func() {}
	o := torture.Options{Dir: filepath.Join(state, "torture"), Out: os.Stdout}
	flags.Uint64Var(&o.Seed, "seed", 0, "")
	flags.IntVar(&o.Rounds, "rounds", 0, "")
	flags.DurationVar(&o.For, "for", 0, "")
	flags.IntVar(&o.Workers, "workers", 2, "")
	flags.BoolVar(&o.Verbose, "v", false, "")
	flags.StringVar(&o.Plant, "plant", "", "") // for the torture's own test: it must notice
	if err := flags.Parse(args); err != nil || flags.NArg() > 0 || o.Rounds < 0 || o.Workers < 1 {
		return errUsage
	}
	if _, err := os.Stat("go.mod"); err != nil {
		return errors.New("run it from the folder that holds go.mod, as `make sim` does")
	}
	if o.Seed == 0 {
		o.Seed = uint64(time.Now().Unix())
	}
	if o.Rounds == 0 && o.For == 0 {
		o.Rounds = 20
	}
	fmt.Printf("torture: seed %d and on, %d at a time\n", o.Seed, o.Workers)
	return torture.Run(ctx, o)
}
