package tiffin_test

import (
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"
)

// docs/guarantees.md promises much; this test keeps it honest: no promise is missing, and whatever it names is there.

// row is one line of a table: its cells, as written.
type row struct {
	line  int
	cells []string
}

// rows reads the page's tables, heads and rules left out.
func rows(t *testing.T) (found []row) {
	t.Helper()
	page, err := os.ReadFile("docs/guarantees.md")
	if err != nil {
		t.Fatal(err)
	}
	for n, line := range strings.Split(string(page), "\n") {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| ---") || strings.HasPrefix(line, "| id ") || strings.HasPrefix(line, "| guard ") {
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		found = append(found, row{n + 1, cells})
	}
	return found
}

// TestGuaranteesMissNothing wants a row for every promise there is, and one only.
func TestGuaranteesMissNothing(t *testing.T) {
	want := map[string]int{}
	for pattern, last := range map[string]int{"S1.%d": 45, "S2.%d": 58, "S3.%d": 18, "S4.%d": 14, "C%d": 10, "F%d": 34, "C%03d": 78, "INV-%d": 47, "FP-%d": 50} {
		for n := 1; n <= last; n++ {
			want[fmt.Sprintf(pattern, n)] = 1
		}
	}
	guards := 0
	for _, r := range rows(t) {
		switch len(r.cells) {
		case 4:
			if want[r.cells[0]] != 1 {
				t.Errorf("line %d: %s is no promise, or has a row already", r.line, r.cells[0])
			}
			delete(want, r.cells[0])
		case 3:
			guards++
		default:
			t.Errorf("line %d has %d cells", r.line, len(r.cells))
		}
		for _, cell := range r.cells {
			if cell == "" {
				t.Errorf("line %d has an empty cell", r.line)
			}
		}
	}
	for id := range want {
		t.Errorf("%s has no row", id)
	}
	if guards < 40 {
		t.Errorf("only %d guards were taken away", guards)
	}
}

var (
	place = regexp.MustCompile("`([^`]+)`")
	proof = regexp.MustCompile(`([a-z0-9_/]+_test\.go): ((?:Test|Fuzz)\w+)((?: "[^"]+")*)`)
	quote = regexp.MustCompile(`"([^"]+)"`)
)

// TestGuaranteesNameWhatExists opens every file the page names and looks for the words it is said to hold. A promise without a test says
// that it is for later.
func TestGuaranteesNameWhatExists(t *testing.T) {
	texts := map[string]string{}
	read := func(name string) (string, bool) {
		if text, ok := texts[name]; ok {
			return text, text != ""
		}
		if strings.HasSuffix(name, "/") {
			info, err := fs.Stat(os.DirFS("."), strings.TrimSuffix(name, "/"))
			return "", err == nil && info.IsDir()
		}
		text, err := os.ReadFile(name)
		texts[name] = string(text)
		return string(text), err == nil
	}
	tests := 0
	for _, r := range rows(t) {
		where, shown := r.cells[len(r.cells)-2], r.cells[len(r.cells)-1]
		for _, m := range place.FindAllStringSubmatch(where, -1) {
			name, words, _ := strings.Cut(m[1], ": ")
			text, ok := read(name)
			if !ok {
				t.Errorf("line %d: there is no %s", r.line, name)
				continue
			}
			for _, word := range strings.Split(words, ", ") {
				if !strings.Contains(text, word) {
					t.Errorf("line %d: %s does not hold %q", r.line, name, word)
				}
			}
		}
		proofs := proof.FindAllStringSubmatch(shown, -1)
		if later := strings.Contains(shown, "later: "); len(proofs) == 0 && !later {
			t.Errorf("line %d names no test", r.line)
		}
		if rest := strings.Trim(proof.ReplaceAllString(shown, ""), "; "); rest != "" && !strings.Contains(rest, "later: ") && !strings.HasPrefix(rest, "none alone: ") {
			t.Errorf("line %d: %q is no test", r.line, rest)
		}
		for _, m := range proofs {
			tests++
			text, ok := read(m[1])
			if !ok || !strings.Contains(text, "func "+m[2]+"(") {
				t.Errorf("line %d: there is no %s in %s", r.line, m[2], m[1])
				continue
			}
			_, body, _ := strings.Cut(text, "func "+m[2]+"(")
			body, _, _ = strings.Cut(body, "\n}\n")
			for _, q := range quote.FindAllStringSubmatch(m[3], -1) {
				if !strings.Contains(body, q[1]) {
					t.Errorf("line %d: %s in %s says nothing of %q", r.line, m[2], m[1], q[1])
				}
			}
		}
	}
	if tests < 400 {
		t.Errorf("only %d tests are named", tests)
	}
}
