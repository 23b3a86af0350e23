package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// root is the repository, seen from this package's folder.
const root = "../.."

// TestGuardsFitTheSource keeps the table from rotting: what is to be taken away stands in the source once, the test that shall notice
// exists, and docs/mutants.md has the row. That the test fails without the guard is for `dev mutants` to say.
func TestGuardsFitTheSource(t *testing.T) {
	t.Parallel()
	guards, err := readGuards(guardsText)
	if err != nil {
		t.Fatal(err)
	}
	if len(guards) < 40 {
		t.Errorf("only %d guards", len(guards))
	}
	page, err := os.ReadFile(filepath.Join(root, "docs/mutants.md"))
	if err != nil {
		t.Fatal(err)
	}
	if rows := strings.Count(string(page), "\n| ") - 2; rows > len(guards) {
		t.Errorf("docs/mutants.md has %d rows for %d guards", rows, len(guards))
	}
	seen := map[string]bool{}
	for _, g := range guards {
		switch {
		case g.name == "" || seen[g.name]:
			t.Errorf("guard %q is there twice, or has no name", g.name)
		case g.promise == "" || g.kind == "" || len(g.edits) == 0 || g.test.function == "":
			t.Errorf("%s: kind, keeps, in and test are needed", g.name)
		}
		seen[g.name] = true
		texts, err := g.without(root)
		if err != nil {
			t.Error(err)
		}
		for name, text := range texts {
			if was, err := os.ReadFile(filepath.Join(root, name)); err == nil && string(was) == text {
				t.Errorf("%s: nothing is taken out of %s", g.name, name)
			}
		}
		source, err := os.ReadFile(filepath.Join(root, g.test.file))
		if err != nil {
			t.Errorf("%s: %v", g.name, err)
			continue
		}
		_, body, found := strings.Cut(string(source), "\nfunc "+g.test.function+"(")
		body, _, _ = strings.Cut(body, "\n}\n")
		if !found {
			t.Errorf("%s: there is no %s in %s", g.name, g.test.function, g.test.file)
		}
		for _, part := range g.test.parts {
			if !strings.Contains(body, part) {
				t.Errorf("%s: %s says nothing of %q", g.name, g.test.function, part)
			}
		}
		if g.rowOn(string(page)) == "" {
			t.Errorf("docs/mutants.md does not say that %s was caught: dev mutants -new", g.name)
		}
	}
}

func TestReadGuards(t *testing.T) {
	t.Parallel()
	guards, err := readGuards("# a table\n\nguard one\nkeeps order\nin a.go\n- x\n-\n- y\n+ z\n- q\nin b.go\n- \tp\n+\ntest a/b_test.go: TestX \"words here\" \"more\"\n\nguard two\nin a.go\n- x\n+ y\ntest a_test.go: TestY\n")
	if err != nil || len(guards) != 2 {
		t.Fatalf("%d guards, %v", len(guards), err)
	}
	want := []edit{{"a.go", "x\n\ny", "z"}, {"a.go", "q", ""}, {"b.go", "\tp", ""}}
	if g := guards[0]; g.name != "one" || g.promise != "order" || !slices.Equal(g.edits, want) || g.test.pattern() != "^TestX$/words_here|more" {
		t.Errorf("read %+v, run as %s", g, g.test.pattern())
	}
	if g := guards[1]; g.test.pattern() != "^TestY$" || g.test.String() != "a_test.go: TestY" {
		t.Errorf("read %+v", g)
	}
	for name, text := range map[string]string{
		"a word nobody knows":    "guard a\nkeep b\n",
		"a change without file":  "guard a\n- b\n+ c\n",
		"nothing to take away":   "guard a\nin b.go\n+ c\n",
		"a change before guards": "in b.go\n- c\n",
		"a test without a file":  "guard a\ntest TestX\n",
	} {
		if _, err := readGuards(text); err == nil || !strings.Contains(err.Error(), "guards.txt:") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestGuardIsThereOnce(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"a guard b": "a  b", "a b": "holds this 0 times", "guard guard": "holds this 2 times"} {
		got, err := (edit{"f.go", "guard", ""}).apply(text)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) {
			t.Errorf("%q gives %q, want %q", text, got, want)
		}
	}
}

// TestHunt runs the command's work on a program of three lines: only a test that fails for want of its guard catches.
func TestHunt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module toy\n\ngo 1.26\n",
		"toy.go": "package toy\n\nfunc half(n int) int {\n\tif n < 0 {\n\t\treturn 0\n\t}\n\tif n > 99 {\n\t\treturn 50\n\t}\n\treturn n / 2\n}\n",
		"toy_test.go": `package toy

import "testing"

func TestHalf(t *testing.T) {
	t.Run("below nothing", func(t *testing.T) {
		if half(-4) != 0 {
			t.Error("less than nothing")
		}
	})
	t.Run("above all", func(t *testing.T) {
		if half(200) > 100 {
			t.Error("too much")
		}
	})
}

func TestTable(t *testing.T) {
	for name, n := range map[string]int{"minus one": -2, "minus two": -4} {
		if half(n) != 0 {
			t.Errorf("%s: less than nothing", name)
		}
	}
}

func TestNever(t *testing.T) { t.Error("always") }

func TestPanics(t *testing.T) {
	if half(-4) < 0 {
		panic("not a failure")
	}
}
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("git", "-C", dir, "init", "-q").CombinedOutput(); err != nil {
		t.Fatalf("git init: %v: %s", err, out)
	}
	guards, err := readGuards(`
guard below
in toy.go
- n < 0
+ n < -99
test toy_test.go: TestHalf "below nothing"

guard above
in toy.go
- n > 99
+ n > 999
test toy_test.go: TestHalf "above all"

guard below, by the wrong part
in toy.go
- n < 0
+ n < -99
test toy_test.go: TestHalf "above all"

guard case
in toy.go
- n < 0
+ n < -3
test toy_test.go: TestTable "minus one"

guard another case
in toy.go
- n < 0
+ n < -3
test toy_test.go: TestTable "minus two"

guard grammar
in toy.go
- n < 0
+ n <
test toy_test.go: TestHalf

guard always
in toy.go
- n < 0
+ n < -99
test toy_test.go: TestNever

guard panic
in toy.go
- n < 0
+ n < -99
test toy_test.go: TestPanics
`)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	h, err := newHunt(t.Context(), dir, &out, os.Environ())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(h.folder) })
	if err := h.all(t.Context(), guards); err != errNotAllCaught {
		t.Errorf("all said %v", err)
	}
	for _, want := range []string{"caught    below ", "SURVIVED  above ", "SURVIVED  below, by the wrong part ", "caught    case ", "VAIN      another case ", "BROKEN    grammar ", "VAIN      always ", "VAIN      panic ", "8 guards taken away, 2 caught, 6 not"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("nothing of %q in\n%s", want, out.String())
		}
	}
	for name := range map[string]bool{"toy.go": true} {
		was, _ := os.ReadFile(filepath.Join(dir, name))
		is, _ := os.ReadFile(filepath.Join(h.tree, name))
		if string(was) != string(is) {
			t.Errorf("%s was not put back:\n%s", name, is)
		}
	}
	if err := h.all(t.Context(), []guard{{name: "gone", edits: []edit{{"toy.go", "n < 77", ""}}}}); err == nil || !strings.Contains(err.Error(), "holds this 0 times") {
		t.Errorf("a guard that is not there: %v", err)
	}
}
