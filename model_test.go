package tiffin_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// sizes are the names in #ifdef that plant no mistake: scripts/model says the same.
var sizes = map[string]bool{"PRESSES": true, "FAILS": true, "OUTSIDE": true, "AGAIN": true, "REFUSALS": true, "TAIL_LOST": true}

// TestModelPageIsTrue keeps docs/model.md beside the models and the code: every planted mistake has its row, and what the page says a
// model stands for exists. That the models hold, and the mistakes are found, is for Spin to say (scripts/model).
func TestModelPageIsTrue(t *testing.T) {
	page, err := os.ReadFile("docs/model.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| (\\w+) \\| `([A-Z_]+)` \\|").FindAllStringSubmatch(string(page), -1) {
		rows[m[1]+" "+m[2]] = true
	}
	files, err := filepath.Glob("docs/model/*.pml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no models: %v", err)
	}
	planted := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		model := strings.TrimSuffix(filepath.Base(file), ".pml")
		if !strings.Contains(string(page), "model/"+filepath.Base(file)) {
			t.Errorf("docs/model.md does not name %s", file)
		}
		seen := map[string]bool{}
		for _, m := range regexp.MustCompile(`(?m)^#ifn?def ([A-Z_]+)$`).FindAllStringSubmatch(string(text), -1) {
			mistake := model + " " + m[1]
			if sizes[m[1]] || seen[mistake] {
				continue
			}
			seen[mistake] = true
			planted++
			if !rows[mistake] {
				t.Errorf("docs/model.md has no row for %s", mistake)
			}
			delete(rows, mistake)
		}
	}
	for mistake := range rows {
		t.Errorf("docs/model.md has a row for %s, which is planted nowhere", mistake)
	}
	if planted < 8 {
		t.Errorf("only %d mistakes are planted", planted)
	}
	places := regexp.MustCompile("`([a-z_/]+\\.go): ([A-Za-z, ]+)`").FindAllStringSubmatch(string(page), -1)
	if len(places) < 10 {
		t.Errorf("only %d places in the code are named", len(places))
	}
	for _, m := range places {
		code, err := os.ReadFile(m[1])
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		for _, name := range strings.Split(m[2], ", ") {
			if !regexp.MustCompile(`(?m)^func (\([^)]*\) )?` + name + `\(`).Match(code) {
				t.Errorf("%s has no function %s", m[1], name)
			}
		}
	}
}
