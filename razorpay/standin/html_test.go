package standin_test

import (
	"net/url"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// formOf reads the first form of a page: where it posts to and what its hidden and text inputs hold.
func formOf(t *testing.T, page string) (action string, fields url.Values) {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	form := find(doc, func(n *html.Node) bool { return n.Data == "form" })
	if form == nil {
		t.Fatalf("no form in %s", page)
	}
	fields = url.Values{}
	for n := range form.Descendants() {
		if n.Type == html.ElementNode && n.Data == "input" && (attr(n, "type") == "hidden" || attr(n, "type") == "text") {
			fields.Add(attr(n, "name"), attr(n, "value"))
		}
	}
	return attr(form, "action"), fields
}

func find(root *html.Node, want func(*html.Node) bool) *html.Node {
	for n := range root.Descendants() {
		if n.Type == html.ElementNode && want(n) {
			return n
		}
	}
	return nil
}

func byTestID(t *testing.T, page, id string) *html.Node {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	return find(doc, func(n *html.Node) bool { return attr(n, "data-testid") == id })
}

func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}
