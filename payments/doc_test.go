package payments

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// S2.56: the plain-language page names only what exists. A word in backquotes is a function of payments or models, a file, or a view.
func TestThePlainPageNamesOnlyWhatExists(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/payments.md")
	must(t, err)
	var code strings.Builder
	for _, pattern := range []string{"*.go", "../models/*.go", "../migrations/*.sql"} {
		files, err := filepath.Glob(pattern)
		must(t, err)
		for _, name := range files {
			text, err := os.ReadFile(name)
			must(t, err)
			code.Write(text)
		}
	}
	names := regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(string(page), -1)
	if len(names) < 12 {
		t.Fatalf("only %d names", len(names))
	}
	for _, m := range names {
		name := m[1]
		if strings.ContainsAny(name, "./") {
			if _, err := os.Stat(filepath.Join("..", name)); err != nil {
				if _, err := os.Stat(filepath.Join("../docs", name)); err != nil {
					t.Errorf("%s is no file", name)
				}
			}
			continue
		}
		if !regexp.MustCompile(`(func (\([a-z]+ \*?[A-Za-z]+\) )?|CREATE VIEW )` + name + `\b`).MatchString(code.String()) {
			t.Errorf("%s is named and does not exist", name)
		}
	}
}
