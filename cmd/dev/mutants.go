package main

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"tiffin/devdb"
)

// guardsText is the table of guards; its first lines say how it is written.
//
//go:embed mutants/guards.txt
var guardsText string

// guard is one line of defence, how to take it away, and the test that must fail then.
type guard struct {
	name    string
	kind    string // what it is: unique key, CHECK, trigger, lock, …
	promise string // what it keeps true, in words
	edits   []edit
	test    guardTest
}

// edit replaces one text by another in one file, where it must stand exactly once: so the table cannot rot without a word.
type edit struct{ file, was, becomes string }

// guardTest names a test as docs/guarantees.md does: its file, its function, and words of the subtests or cases meant.
type guardTest struct {
	file, function string
	parts          []string
}

func (t guardTest) String() string {
	s := t.whole()
	for _, part := range t.parts {
		s += fmt.Sprintf(" %q", part)
	}
	return s
}

// whole names the test without its parts.
func (t guardTest) whole() string { return t.file + ": " + t.function }

// pattern is what -test.run wants; testing writes a subtest's spaces as underlines.
func (t guardTest) pattern() string {
	whole := "^" + t.function + "$"
	if len(t.parts) == 0 {
		return whole
	}
	var parts []string
	for _, part := range t.parts {
		parts = append(parts, regexp.QuoteMeta(strings.ReplaceAll(part, " ", "_")))
	}
	return whole + "/" + strings.Join(parts, "|")
}

// failedIn reports whether the test says of itself that it failed, and of one of the parts meant: a subtest, or a case that its message names.
func (t guardTest) failedIn(said string) bool {
	if died.MatchString(said) || !strings.Contains(said, "--- FAIL: "+t.function+" ") {
		return false
	}
	for _, part := range t.parts {
		subtest := regexp.QuoteMeta(strings.ReplaceAll(part, " ", "_"))
		if regexp.MustCompile(`--- FAIL: ` + t.function + `/\S*` + subtest + `|_test\.go:\d+: .*` + regexp.QuoteMeta(part)).MatchString(said) {
			return true
		}
	}
	return len(t.parts) == 0
}

var (
	died      = regexp.MustCompile(`(?m)^(panic|fatal error): `) // the time limit is a panic too
	noSchema  = regexp.MustCompile(`migrations: (read|apply|job queue): `)
	testLine  = regexp.MustCompile(`^([a-z0-9_/]+_test\.go): ((?:Test|Fuzz)\w+)((?: "[^"]+")*)$`)
	quotation = regexp.MustCompile(`"([^"]+)"`)
)

// readGuards takes the table apart. Errors name the line.
func readGuards(text string) (guards []guard, err error) {
	var file, kind string
	var was, becomes []string
	finish := func() error { // the edit that the lines before made
		if len(was) == 0 && len(becomes) == 0 {
			return nil
		}
		if len(guards) == 0 || file == "" || len(was) == 0 {
			return errors.New("a change needs a guard, a file and something to take away")
		}
		g := &guards[len(guards)-1]
		g.edits = append(g.edits, edit{file, strings.Join(was, "\n"), strings.Join(becomes, "\n")})
		was, becomes = nil, nil
		return nil
	}
	for n, line := range strings.Split(text, "\n") {
		word, rest, _ := strings.Cut(line, " ")
		var failed error
		switch {
		case word == "-" && len(becomes) > 0: // the next change in the same file
			failed = finish()
			was = []string{rest}
		case word == "-":
			was = append(was, rest)
		case word == "+":
			becomes = append(becomes, rest)
		default:
			failed = finish()
			switch {
			case strings.TrimSpace(line) == "" || word == "#":
			case word == "kind": // of the guards from here on
				kind = rest
			case word == "guard":
				guards, file = append(guards, guard{name: rest, kind: kind}), ""
			case len(guards) == 0:
				failed = errors.Join(failed, errors.New("the first word is guard"))
			case word == "keeps":
				guards[len(guards)-1].promise = rest
			case word == "in":
				file = rest
			case word == "test":
				m := testLine.FindStringSubmatch(rest)
				if m == nil {
					failed = errors.Join(failed, errors.New("a test is written file_test.go: TestName \"words of a subtest\""))
					break
				}
				t := guardTest{file: m[1], function: m[2]}
				for _, q := range quotation.FindAllStringSubmatch(m[3], -1) {
					t.parts = append(t.parts, q[1])
				}
				guards[len(guards)-1].test = t
			default:
				failed = errors.Join(failed, fmt.Errorf("what is %q?", word))
			}
		}
		if failed != nil {
			return nil, fmt.Errorf("guards.txt:%d: %w", n+1, failed)
		}
	}
	return guards, finish()
}

// apply gives the file without the guard. Errors: when the text is not there exactly once.
func (e edit) apply(text string) (string, error) {
	if n := strings.Count(text, e.was); n != 1 {
		return "", fmt.Errorf("%s holds this %d times, wanted once:\n%s", e.file, n, e.was)
	}
	return strings.Replace(text, e.was, e.becomes, 1), nil
}

// without gives the texts of the files a guard is taken out of, by their names.
func (g guard) without(root string) (texts map[string]string, err error) {
	texts = map[string]string{}
	for _, e := range g.edits {
		text, changed := texts[e.file]
		if !changed {
			b, err := os.ReadFile(filepath.Join(root, e.file))
			if err != nil {
				return nil, err
			}
			text = string(b)
		}
		if texts[e.file], err = e.apply(text); err != nil {
			return nil, fmt.Errorf("%s: %w", g.name, err)
		}
	}
	return texts, nil
}

// mutants is the command: take each guard away, once, and see that its test fails.
func mutants(ctx context.Context, args []string) (err error) {
	flags := flag.NewFlagSet("mutants", flag.ContinueOnError)
	flags.SetOutput(os.Stderr)
	flags.Usage = func() {}
	only := flags.String("only", "", "only guards whose name contains this")
	list := flags.Bool("list", false, "print the table instead")
	missing := flags.Bool("new", false, "only guards that docs/mutants.md has no row of: added, changed, or not caught the last time")
	if err := flags.Parse(args); err != nil || flags.NArg() > 0 {
		return errUsage
	}
	guards, err := readGuards(guardsText)
	if err != nil {
		return err
	}
	page, err := os.ReadFile(mutantsPage)
	if err != nil {
		return err
	}
	guards = slices.DeleteFunc(guards, func(g guard) bool {
		return !strings.Contains(g.name, *only) || *missing && g.rowOn(string(page)) != ""
	})
	if len(guards) == 0 {
		return fmt.Errorf("no guard's name contains %q", *only)
	}
	if *list {
		for _, g := range guards {
			fmt.Println(cmp.Or(g.rowOn(string(page)), g.row()+" not caught |"))
		}
		return nil
	}
	slices.SortStableFunc(guards, func(a, b guard) int { // the quick ones first
		return cmp.Compare(a.builds(), b.builds())
	})
	db, err := devdb.StartThrowaway(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Stop()) }()
	hunt, err := newHunt(ctx, ".", os.Stdout, append(os.Environ(), devdb.EnvURL+"="+db.URL()))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(hunt.folder)) }()
	hunt.page = mutantsPage
	return hunt.all(ctx, guards)
}

// mutantsPage is where it is written down which guards were caught: one row each, from the last run.
const mutantsPage = "docs/mutants.md"

// rowOn is the guard's line on the page; "" when it has none that fits the guard as it is now.
func (g guard) rowOn(page string) string {
	for _, line := range strings.Split(page, "\n") {
		if strings.HasPrefix(line, g.row()) {
			return line
		}
	}
	return ""
}

// note writes the guard's row on the page, or takes it away when it was not caught. Rows stand in the table's order, below the dashes, and end the page.
func note(page string, all []guard, g guard, row string) string {
	lines := strings.Split(strings.TrimRight(page, "\n"), "\n")
	lines = slices.DeleteFunc(lines, func(line string) bool { return strings.HasPrefix(line, "| "+g.name+" | ") })
	if row != "" {
		before := map[string]bool{}
		for _, other := range all {
			if other.name == g.name {
				break
			}
			before[other.name] = true
		}
		at := len(lines)
		for n := len(lines) - 1; n >= 0 && strings.HasPrefix(lines[n], "| ") && !strings.HasPrefix(lines[n], "| ---"); n-- {
			if name, _, _ := strings.Cut(strings.TrimPrefix(lines[n], "| "), " | "); before[name] {
				break
			}
			at = n
		}
		lines = slices.Insert(lines, at, row)
	}
	return strings.Join(lines, "\n") + "\n"
}

// row begins the guard's line on the page; the seconds of the last run end it.
func (g guard) row() string {
	var files []string
	for _, e := range g.edits {
		if file := "`" + e.file + "`"; !slices.Contains(files, file) {
			files = append(files, file)
		}
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %s |", g.name, g.kind, g.promise, strings.Join(files, ", "), g.test)
}

// hunt is a copy of the tree in which guards are taken away.
type hunt struct {
	folder string // of ours alone
	tree   string // the copy
	env    []string
	out    io.Writer
	page   string            // where caught guards are written down; "" nowhere
	passes map[string]string // a test's file and function → what it said when it failed with every guard in place; "" passed
}

// newHunt copies what git knows of the tree at root, and what it does not know yet, as it is on disk.
func newHunt(ctx context.Context, root string, out io.Writer, env []string) (*hunt, error) {
	listed, err := exec.CommandContext(ctx, "git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		return nil, fmt.Errorf("git ls-files: %w", err)
	}
	folder, err := os.MkdirTemp("", "tiffin-mutants-")
	if err != nil {
		return nil, err
	}
	h := &hunt{folder: folder, tree: filepath.Join(folder, "tree"), env: env, out: out, passes: map[string]string{}}
	for _, name := range strings.Split(strings.TrimSuffix(string(listed), "\x00"), "\x00") {
		if err := h.copy(root, name); err != nil {
			return nil, errors.Join(err, os.RemoveAll(folder))
		}
	}
	if err := h.schemaFromDisk(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(folder))
	}
	return h, nil
}

// schemaFromDisk lets the copy's tests read the migrations when they run, not when they are built: another schema needs no other program.
func (h *hunt) schemaFromDisk() error {
	folder := filepath.Join(h.tree, "migrations")
	file := filepath.Join(folder, "migrations.go")
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // another tree: one of a test
	}
	for _, e := range []edit{{file, `"embed"`, `"os"`}, {file, "//go:embed *.sql\nvar Files embed.FS", fmt.Sprintf("var Files = os.DirFS(%q)", folder)}} {
		if err != nil {
			return err
		}
		var changed string
		changed, err = e.apply(string(text))
		text = []byte(changed)
	}
	return errors.Join(err, os.WriteFile(file, text, 0o644))
}

// builds is how many programs have to be built for the guard to be taken away: none when only the schema is changed.
func (g guard) builds() int {
	if slices.ContainsFunc(g.edits, func(e edit) bool { return path.Ext(e.file) != ".sql" }) {
		return 1
	}
	return 0
}

func (h *hunt) copy(root, name string) error {
	from, to := filepath.Join(root, name), filepath.Join(h.tree, name)
	info, err := os.Stat(from)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
		return nil // deleted here, not yet for git
	}
	if err != nil {
		return err
	}
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, text, info.Mode().Perm())
}

// errNotAllCaught is the command's answer when a guard could go without a test failing.
var errNotAllCaught = errors.New("not every guard's loss was noticed")

// all takes the guards away one after the other and prints what happened.
func (h *hunt) all(ctx context.Context, guards []guard) error {
	for _, g := range guards { // a table that does not fit the source is said before any work
		if _, err := g.without(h.tree); err != nil {
			return err
		}
	}
	table, err := readGuards(guardsText)
	if err != nil {
		return err
	}
	began, caught := time.Now(), 0
	for _, g := range guards {
		since := time.Now()
		verdict, said, err := isVain, h.passes[g.test.whole()], error(nil)
		if _, ran := h.passes[g.test.whole()]; !ran {
			said, err = h.before(ctx, g.test, guards)
			since = time.Now()
		}
		if err == nil && said == "" {
			verdict, said, err = h.take(ctx, g)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", g.name, err)
		}
		took, row := time.Since(since).Seconds(), ""
		fmt.Fprintf(h.out, "%-9s %-58s %5.1f s  %s\n", verdict, g.name, took, g.test)
		if verdict == isCaught {
			caught++
			row = fmt.Sprintf("%s %.0f |", g.row(), took)
		} else {
			fmt.Fprintln(h.out, said)
		}
		if h.page == "" {
			continue
		}
		text, err := os.ReadFile(h.page)
		if err == nil {
			err = os.WriteFile(h.page, []byte(note(string(text), table, g, row)), 0o644)
		}
		if err != nil {
			return err
		}
	}
	fmt.Fprintf(h.out, "mutants: %d guards taken away, %d caught, %d not, in %s\n", len(guards), caught, len(guards)-caught, time.Since(began).Round(time.Second))
	if caught < len(guards) {
		return errNotAllCaught
	}
	return nil
}

// What may come of taking a guard away.
const (
	isCaught   = "caught"
	isSurvivor = "SURVIVED" // its test passes without it
	isBroken   = "BROKEN"   // it does not compile: that proves nothing
	isVain     = "VAIN"     // its test fails with the guard in place, or for another reason than its own: a panic, the time limit, what stands before it
)

// before runs a test with every guard in place, only those of its parts that guards need; said is why it is of no use, "" if it passes.
func (h *hunt) before(ctx context.Context, t guardTest, guards []guard) (said string, err error) {
	if said, err = h.build(ctx, t, h.whole(t)); err == nil && said == "" {
		needed := guardTest{file: t.file, function: t.function}
		for _, g := range guards {
			if g.test.whole() != t.whole() {
				continue
			}
			if len(g.test.parts) == 0 {
				needed.parts = nil
				break
			}
			needed.parts = append(needed.parts, g.test.parts...)
		}
		var ok bool
		if ok, said, err = h.run(ctx, needed, h.whole(t)); ok {
			said = ""
		}
	}
	h.passes[t.whole()] = said
	return said, err
}

// take does one guard: it goes, the package still compiles, its test fails, and it comes back.
func (h *hunt) take(ctx context.Context, g guard) (verdict, said string, failed error) {
	texts, err := g.without(h.tree)
	if err != nil {
		return "", "", err
	}
	for name, text := range texts {
		file := filepath.Join(h.tree, name)
		original, err := os.ReadFile(file)
		if err != nil {
			return "", "", err
		}
		defer func() { failed = errors.Join(failed, os.WriteFile(file, original, 0o644)) }()
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return "", "", err
		}
	}
	program := h.whole(g.test)
	if g.builds() > 0 {
		program = filepath.Join(h.folder, "mutant")
		if said, err := h.build(ctx, g.test, program); err != nil || said != "" {
			return isBroken, said, err
		}
	}
	ok, said, err := h.run(ctx, g.test, program)
	switch {
	case err != nil:
		return "", "", err
	case noSchema.MatchString(said):
		return isBroken, said, nil
	case ok:
		return isSurvivor, said, nil
	case !g.test.failedIn(said):
		return isVain, said, nil
	}
	return isCaught, said, nil
}

// whole names the program of a test's package with every guard in place.
func (h *hunt) whole(t guardTest) string {
	return filepath.Join(h.folder, "whole_"+strings.ReplaceAll(path.Dir(t.file), "/", "_"))
}

// build compiles a test's package into program; said is the compiler's complaint.
func (h *hunt) build(ctx context.Context, t guardTest, program string) (said string, err error) {
	if _, err := os.Stat(program); err == nil && program == h.whole(t) {
		return "", nil
	}
	cmd := exec.CommandContext(ctx, "go", "test", "-c", "-ldflags=-s -w", "-o", program, "./"+path.Dir(t.file))
	cmd.Dir, cmd.Env = h.tree, h.env
	out, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && ctx.Err() == nil {
		return string(out), nil
	}
	return "", err
}

// run runs those tests of program that t names, in their own folder as go test does.
func (h *hunt) run(ctx context.Context, t guardTest, program string) (ok bool, said string, err error) {
	cmd := exec.CommandContext(ctx, program, "-test.run", t.pattern(), "-test.timeout", "3m", "-test.paniconexit0")
	cmd.Dir, cmd.Env = filepath.Join(h.tree, path.Dir(t.file)), h.env
	out, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && ctx.Err() == nil {
		return false, string(out), nil
	}
	return err == nil, string(out), err
}
