//go:build e2e

package torture

import (
	"errors"
	"strings"
	"testing"
)

// The torture must be able to fail: a promise that is broken on purpose, in the rows or in the gateway's books alone, is seen, named and
// told with the command that runs the round again.
func TestPlantedViolationIsSeen(t *testing.T) {
	t.Chdir("../../..") // where the shop is built
	for _, c := range []struct{ plant, inv string }{
		{"rows", "INV-29"},
		{"facts", "INV-15"},
		{"books", "INV-7"},
	} {
		t.Run("planted "+c.plant, func(t *testing.T) {
			var said strings.Builder
			err := Run(t.Context(), Options{Seed: 7, Rounds: 1, Workers: 1, Plant: c.plant, Dir: t.TempDir(), Out: &said})
			if !errors.Is(err, ErrBroken) {
				t.Fatalf("%v\n%s", err, &said)
			}
			for _, words := range []string{"Seed 7 broke a promise", c.inv + ": ", "torture -seed 7 -rounds 1", "What was asked of it", "gateway order"} {
				if !strings.Contains(said.String(), words) {
					t.Errorf("%q was not said:\n%s", words, &said)
				}
			}
		})
	}
}
