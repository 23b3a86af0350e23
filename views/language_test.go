package views

import (
	"context"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// keysInCode finds what T and Key are called with in every package that speaks to customers.
func keysInCode(t *testing.T) map[string]string {
	t.Helper()
	keys := map[string]string{}
	var files []string
	for _, dir := range []string{".", "../handlers", "../jobs"} {
		found, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	set := token.NewFileSet()
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(set, file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			at := -1
			switch name := calledName(call.Fun); {
			case name == "T" && len(call.Args) > 1:
				at = 1
			case name == "Key" && len(call.Args) == 1:
				at = 0
			}
			if at < 0 {
				return true
			}
			where := set.Position(call.Pos()).String()
			if key, literal := stringOf(call.Args[at]); literal {
				keys[key] = where
			}
			return true
		})
	}
	return keys
}

// calledName is f of f(…) and of views.f(…); methods of other things do not count.
func calledName(fun ast.Expr) string {
	switch f := fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		if of, ok := f.X.(*ast.Ident); ok && of.Name == "views" {
			return f.Sel.Name
		}
	}
	return ""
}

func stringOf(e ast.Expr) (string, bool) {
	switch v := e.(type) {
	case *ast.BasicLit:
		if v.Kind == token.STRING {
			text, err := strconv.Unquote(v.Value)
			return text, err == nil
		}
	case *ast.BinaryExpr:
		left, ok := stringOf(v.X)
		right, alsoOK := stringOf(v.Y)
		return left + right, ok && alsoOK && v.Op == token.ADD
	}
	return "", false
}

var verb = regexp.MustCompile(`%(?:\[\d+\])?[a-z%]`)

// verbs lists the places of a sentence by argument, so that %[2]s … %[1]s equals %s … %s.
func verbs(s string) []string {
	var found []string
	next := 1
	for _, v := range verb.FindAllString(s, -1) {
		if v == "%%" {
			continue
		}
		if strings.HasPrefix(v, "%[") {
			found = append(found, v)
			continue
		}
		found = append(found, "%["+strconv.Itoa(next)+"]"+v[1:])
		next++
	}
	slices.Sort(found)
	return slices.Compact(found)
}

func TestEveryWordIsInEveryLanguage(t *testing.T) {
	keys := keysInCode(t)
	files, err := fs.Glob(languageFiles, "language/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		raw, err := languageFiles.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var read languageFile
		if err := json.Unmarshal(raw, &read); err != nil {
			t.Fatal(err)
		}
		for key, where := range keys {
			counts := slices.ContainsFunc(verbs(key), func(v string) bool { return strings.HasSuffix(v, "d") })
			if _, has := read.Words[key]; !has && (counts || file != "language/en-IN.json") {
				t.Errorf("%s lacks %q of %s", file, key, where)
			}
			if counts && verbs(key)[0] != "%[1]d" {
				t.Errorf("%s: %q counts something that is not its first argument", where, key)
			}
		}
		for _, key := range slices.Sorted(maps.Keys(read.Words)) {
			if keys[key] == "" {
				t.Errorf("%s: nobody says %q any more", file, key)
			}
			forms := map[string]string{}
			if json.Unmarshal(read.Words[key], &forms) != nil {
				var one string
				if err := json.Unmarshal(read.Words[key], &one); err != nil {
					t.Errorf("%s: %q is neither words nor forms: %v", file, key, err)
				}
				forms["other"] = one
			}
			if forms["other"] == "" {
				t.Errorf("%s: %q has no words", file, key)
			}
			for _, text := range forms {
				if !slices.Equal(verbs(text), verbs(key)) {
					t.Errorf("%s: %q and %q have different places: %v, %v", file, key, text, verbs(key), verbs(text))
				}
			}
		}
	}
}

func TestALanguageIsChosen(t *testing.T) {
	for _, c := range []struct{ chosen, accepts, want string }{
		{"", "", "en-IN"},
		{"hi", "en-IN", "hi"},
		{"xx", "hi-IN,en;q=0.5", "hi"},
		{"", "en-US,en;q=0.9,hi;q=0.8", "en-IN"},
		{"", "hi", "hi"},
		{"", "ta,fr", "en-IN"},
		{"hi\r\nX: 1", ";;;,\x00", "en-IN"},
	} {
		if got := MatchLanguage(c.chosen, c.accepts); got != c.want {
			t.Errorf("MatchLanguage(%q, %q) = %q, want %q", c.chosen, c.accepts, got, c.want)
		}
	}
	if got := T(WithLanguage(context.Background(), "hi"), "Try again"); got != "फिर से कोशिश करें" {
		t.Errorf("in Hindi: %q", got)
	}
	if got := T(WithLanguage(context.Background(), "no-such"), "Only %s left, %d%% off", "two", 5); got != "Only two left, 5% off" {
		t.Errorf("what no language has: %q", got)
	}
}
