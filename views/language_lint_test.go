package views

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	templparser "github.com/a-h/templ/parser/v2"
)

// notForCustomers are the components and functions, in files that customers' words are in too, whose words only staff read, or that are in
// English by law. What begins with staff need not be named.
var notForCustomers = []string{"lateForm", "laterTickets", "cashForm", "cookShortages", "shortageForCook", "ticketForm", "KitchenTicketPage", "ticketHead", "ticketFoot", "copyLabel", "ticketPromise",
	"outletFields", "showStaffOutlet", "answerOutlet", "saveOutlet", "checkContacts", "whyNotAsk", "reportShortage", "changeReview",
	"PaperPage", "paperLineName", "placeOfSupply", "paidBy", "moneyLabel", "refundNow", "valueLabel", "sumLabel", "taxLabel", "InWords", "inWords", "states", "secondHalf", "structured"}

func isForStaff(name string) bool {
	return strings.HasPrefix(strings.ToLower(name), "staff") || slices.Contains(notForCustomers, name)
}

var hasWord = regexp.MustCompile(`\p{L}{2,}`)

// TestTemplatesSayNothingThemselves: no component for customers has words of its own, in a branch that no sample shows either.
func TestTemplatesSayNothingThemselves(t *testing.T) {
	files, err := filepath.Glob("*.templ")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		if strings.HasPrefix(file, "staff_") {
			continue
		}
		parsed, err := templparser.Parse(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, node := range parsed.Nodes {
			component, ok := node.(*templparser.HTMLTemplate)
			if !ok {
				continue
			}
			name, _, _ := strings.Cut(component.Expression.Value, "(")
			if isForStaff(name) {
				continue
			}
			eachNode(reflect.ValueOf(component.Children), func(n any) {
				switch n := n.(type) {
				case *templparser.Text:
					if n.Value != "+91" && hasWord.MatchString(n.Value) {
						t.Errorf("%s: %s says %q without T", file, name, n.Value)
					}
				case *templparser.StringExpression:
					wordless(t, file, name, n.Expression.Value)
				case *templparser.ConstantAttribute:
					if key, ok := n.Key.(templparser.ConstantAttributeKey); ok && slices.Contains(readAttributes, key.Name) && hasWord.MatchString(n.Value) {
						t.Errorf("%s: %s says %s=%q without T", file, name, key.Name, n.Value)
					}
				case *templparser.ExpressionAttribute:
					if key, ok := n.Key.(templparser.ConstantAttributeKey); ok && slices.Contains(readAttributes, key.Name) {
						wordless(t, file, name, n.Expression.Value)
					}
				}
			})
		}
	}
}

// eachNode visits every node of a template's tree.
func eachNode(v reflect.Value, visit func(any)) {
	switch v.Kind() {
	case reflect.Interface:
		if !v.IsNil() {
			eachNode(v.Elem(), visit)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			visit(v.Interface())
			eachNode(v.Elem(), visit)
		}
	case reflect.Slice:
		for i := range v.Len() {
			eachNode(v.Index(i), visit)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				eachNode(v.Field(i), visit)
			}
		}
	}
}

// wordless wants no words in an expression but those of T.
func wordless(t *testing.T, file, name, expression string) {
	t.Helper()
	parsed, err := parser.ParseExpr(expression)
	if err != nil {
		return // more than one expression: "name, err"
	}
	eachLiteral(parsed, func(text string) {
		if hasWord.MatchString(text) {
			t.Errorf("%s: %s says %q without T", file, name, text)
		}
	})
}

// eachLiteral visits the strings of a syntax tree that stand in text: not those that calls of T, Key and of other functions get.
func eachLiteral(n ast.Node, visit func(string)) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr, *ast.IndexExpr:
			return false
		case *ast.BasicLit:
			if text, ok := stringOf(n); ok {
				visit(text)
			}
		}
		return true
	})
}

// sentence is a literal that people could be meant to read: it begins with a capital letter and has several words.
var sentence = regexp.MustCompile(`^[A-Z][\p{L}’']* .*\p{L}|^[A-Z].*[a-z]{2,}[.!?]$`)

// TestCodeSaysNothingItself: outside of templates too, what looks like a sentence for customers is said by T or marked by Key.
func TestCodeSaysNothingItself(t *testing.T) {
	set := token.NewFileSet()
	var files []string
	for _, pattern := range []string{"*.go", "../handlers/*.go"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	for _, file := range files {
		base := filepath.Base(file)
		if strings.HasPrefix(base, "staff_") || base == "metrics.go" || strings.HasSuffix(base, "_test.go") || strings.HasSuffix(base, "_templ.go") {
			continue
		}
		parsed, err := parser.ParseFile(set, file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, declared := range parsed.Decls {
			if slices.ContainsFunc(declaredNames(declared), isForStaff) {
				continue
			}
			ast.Inspect(declared, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.ImportSpec, *ast.Field:
					return false
				case *ast.CallExpr:
					switch calledName(n.Fun) {
					case "T", "Key":
						return false
					}
					if of, ok := n.Fun.(*ast.SelectorExpr); ok && slices.Contains([]string{"Errorf", "New", "MustCompile", "NewDesc"}, of.Sel.Name) {
						return false
					}
				case *ast.BasicLit:
					if text, ok := stringOf(n); ok && sentence.MatchString(text) {
						t.Errorf("%s: %q is not said by T", set.Position(n.Pos()), text)
					}
				}
				return true
			})
		}
	}
}

func declaredNames(d ast.Decl) (names []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		names = append(names, d.Name.Name)
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			if value, ok := spec.(*ast.ValueSpec); ok {
				for _, name := range value.Names {
					names = append(names, name.Name)
				}
			}
		}
	}
	return names
}
