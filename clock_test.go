package tiffin_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// TestTestsAskTheShopsClock: the tests of these rooms begin at noon in India whenever they run, by shop_now(). SQL that asks the computer's
// clock instead is right before noon and wrong after it.
func TestTestsAskTheShopsClock(t *testing.T) {
	computers := regexp.MustCompile(`[^_a-zA-Z]now\(\)`)
	for _, room := range []string{"models", "payments", "handlers"} {
		files, err := filepath.Glob(filepath.Join(room, "*_test.go"))
		if err != nil || len(files) == 0 {
			t.Fatal(room, err)
		}
		for _, file := range files {
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if at := computers.FindIndex(source); at != nil {
				t.Errorf("%s asks the computer's clock: %s", file, source[max(at[0]-40, 0):at[1]])
			}
		}
	}
}
