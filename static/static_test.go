package static

import (
	"bytes"
	"compress/gzip"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
)

// open finds a file by its plain name, through the same two steps a page and a browser take.
func open(t *testing.T, name string) (body, br, gz []byte, contentType string) {
	t.Helper()
	body, br, gz, contentType, ok := Open(strings.TrimPrefix(Path(name), Prefix))
	if !ok {
		t.Fatalf("Path(%q) names a file that Open does not find", name)
	}
	return body, br, gz, contentType
}

// The byte budgets of the design: what one cold visit may cost on the wire.
func TestBytesOnTheWire(t *testing.T) {
	for name, most := range map[string]int{"app.css": 8 << 10, "print.css": 2 << 10, "print.js": 1 << 10, "app.js": 20 << 10, "staff.js": 24 << 10, "icons.svg": 4 << 10} {
		_, br, gz, _ := open(t, name)
		t.Logf("%-10s %6d br %6d gz, at most %d", name, len(br), len(gz), most)
		if len(br) == 0 || len(br) > most {
			t.Errorf("%s: %d bytes with brotli, at most %d", name, len(br), most)
		}
	}
	_, app, _, _ := open(t, "app.js")
	if _, offer, _, _ := open(t, "push.js"); len(app)+len(offer) > 20<<10 { // an order's page has both
		t.Errorf("app.js and push.js together: %d and %d bytes with brotli, at most %d", len(app), len(offer), 20<<10)
	}
	var own bytes.Buffer
	w := brotli.NewWriterLevel(&own, brotli.BestCompression)
	if _, err := w.Write(bundle(nil, bundles["app.js"].own)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if own.Len() > 4<<10 {
		t.Errorf("our own customer script: %d bytes, at most 4096", own.Len())
	}

	fonts, sum := 0, 0
	for name, a := range byName {
		switch path.Dir(name) {
		case "fonts":
			fonts, sum = fonts+1, sum+len(a.body)
		case "art":
			if _, br, _, _ := open(t, name); len(br) > 3584 {
				t.Errorf("%s: %d bytes with brotli, at most 3584", name, len(br))
			}
		}
	}
	if fonts != 3 || sum > 25<<10 {
		t.Errorf("%d fonts of %d bytes, want 3 and at most 25600", fonts, sum)
	}
}

func TestCompressedBodiesAreTheSameBody(t *testing.T) {
	for name := range byName {
		body, br, gz, contentType := open(t, name)
		if contentType == "" || len(body) == 0 {
			t.Errorf("%s: empty body or content type", name)
		}
		if ext := path.Ext(name); ext == ".woff2" || ext == ".png" {
			if br != nil || gz != nil {
				t.Errorf("%s is compressed twice", name)
			}
			continue
		}
		plain, err := io.ReadAll(brotli.NewReader(bytes.NewReader(br)))
		if err != nil || !bytes.Equal(plain, body) {
			t.Errorf("%s: brotli body differs: %v", name, err)
		}
		r, err := gzip.NewReader(bytes.NewReader(gz))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if plain, err = io.ReadAll(r); err != nil || !bytes.Equal(plain, body) {
			t.Errorf("%s: gzip body differs: %v", name, err)
		}
	}
}

func TestUnknownNames(t *testing.T) {
	for _, name := range []string{"", "app.css", "app.000000000000.css", "../static.go", "art/", "vendor/htmx.min.js", "base.js"} {
		if _, _, _, _, ok := Open(name); ok {
			t.Errorf("Open(%q) found a file", name)
		}
	}
	if Art("no-such-dish") != Path("art/dish.svg") || Art("") != Path("art/dish.svg") || Art("../icons") != Path("art/dish.svg") {
		t.Error("an unknown art key must show the plain plate")
	}
	if Art("biryani") != Path("art/biryani.svg") {
		t.Error("a known art key must show its picture")
	}
	defer func() {
		if recover() == nil {
			t.Error("Path of an unknown name must panic")
		}
	}()
	Path("nope.css")
}

func TestHashedNames(t *testing.T) {
	form := regexp.MustCompile(`^/static/[a-z0-9/-]+\.[0-9a-f]{12}\.(css|js|svg|png|woff2)$`)
	for name := range byName {
		if !form.MatchString(Path(name)) {
			t.Errorf("%s is served as %s", name, Path(name))
		}
	}
}

// The stylesheet runs under style-src 'self' and font-src 'self': every address in it is ours and hashed.
func TestStylesheetNamesOnlyServedFiles(t *testing.T) {
	body, _, _, _ := open(t, "app.css")
	urls := regexp.MustCompile(`url\(([^)]*)\)`).FindAllSubmatch(body, -1)
	if len(urls) != 3 {
		t.Errorf("%d addresses in the stylesheet, want the three fonts", len(urls))
	}
	for _, u := range urls {
		if _, _, _, _, ok := Open(strings.TrimPrefix(string(u[1]), Prefix)); !ok {
			t.Errorf("the stylesheet names %s, which is not served", u[1])
		}
	}
	if bytes.Contains(body, []byte("/*")) || bytes.Contains(body, []byte("@import")) {
		t.Error("comments or imports left in the stylesheet")
	}
}

// Scripts run under script-src 'self' without eval.
func TestOwnScriptsNeedNoEval(t *testing.T) {
	for _, name := range []string{"base.js", "app.js", "staff.js", "print.js"} {
		if m := regexp.MustCompile(`\beval\(|new Function|innerHTML|insertAdjacentHTML|document\.write|on\w+=`).Find(read(name)); m != nil {
			t.Errorf("%s contains %q", name, m)
		}
	}
}

func TestVendoredFilesHaveANotice(t *testing.T) {
	notices := string(readNotices(t))
	for _, want := range []string{"htmx.org 2.0.11", "htmx-ext-sse 2.2.4", "idiomorph 0.8.0", "lucide-static 1.62.0", "The Figtree Project Authors", "The Fraunces Project Authors", "SIL OPEN FONT LICENSE Version 1.1", "ISC License"} {
		if !strings.Contains(notices, want) {
			t.Errorf("THIRD_PARTY_NOTICES.md does not say %q", want)
		}
	}
	names, err := fs.Glob(files, "vendor/*.js")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if !strings.Contains(notices, path.Base(name)) {
			t.Errorf("THIRD_PARTY_NOTICES.md does not mention %s", name)
		}
	}
}

func readNotices(t *testing.T) []byte {
	t.Helper()
	b, err := os.ReadFile("THIRD_PARTY_NOTICES.md")
	if err != nil {
		t.Fatal(err)
	}
	return b
}
