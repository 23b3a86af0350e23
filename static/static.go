// Package static knows the shop's fixed files: stylesheet, scripts, fonts, icons and dish pictures, all inside the program.
// It must not know HTTP, pages or any row: it hands out bytes and names.
// It promises that a hashed name always means the same bytes, so that an answer may be kept for a year; an unknown name never reaches a page.
// Read static.go first; THIRD_PARTY_NOTICES.md says whose work is in here.
package static

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"sync"

	"github.com/andybalholm/brotli"
)

// Prefix is where the handlers serve these files; every address Path returns begins with it.
const Prefix = "/static/"

//go:embed *.css *.js *.svg *.png vendor/*.js fonts/*.woff2 art/*.svg
var files embed.FS

// bundles are the scripts a page loads: one file for customers, one for staff, one for paper. Our own parts come last and share one
// function scope, so that they put no names into the page; the vendored ones are kept byte for byte.
var bundles = map[string]struct{ vendored, own []string }{
	"app.js":   {vendored: []string{"vendor/htmx.min.js", "vendor/sse.min.js"}, own: []string{"base.js", "app.js"}},
	"staff.js": {vendored: []string{"vendor/htmx.min.js", "vendor/sse.min.js", "vendor/idiomorph-ext.min.js"}, own: []string{"base.js", "staff.js"}},
	"print.js": {own: []string{"print.js"}},
	"push.js":  {own: []string{"push.js"}},
}

// types are the content types by ending. A file with another ending is not served.
var types = map[string]string{
	".css":   "text/css; charset=utf-8",
	".js":    "text/javascript; charset=utf-8",
	".svg":   "image/svg+xml",
	".png":   "image/png",
	".woff2": "font/woff2",
}

type asset struct {
	hashed      string
	contentType string
	body        []byte
	packed      func() (br, gz []byte)
}

var (
	byName   = map[string]*asset{} // "app.css"
	byHashed = map[string]*asset{} // "app.1f2e3d4c5b6a.css"
)

// Both tables are filled once, while the program starts, and never change. A fault in an embedded file stops the start:
// it can only be a mistake in the source, and a test meets it first.
func init() {
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(name, "vendor/") || path.Ext(name) == ".js" || path.Ext(name) == ".css" {
			return err
		}
		body, err := files.ReadFile(name)
		if err == nil {
			add(name, body)
		}
		return err
	})
	if err != nil {
		panic("static: " + err.Error())
	}
	for name, parts := range bundles {
		add(name, bundle(parts.vendored, parts.own))
	}
	add("app.css", stylesheet(read("app.css"))) // last: they name the fonts
	add("print.css", stylesheet(read("print.css")))
}

func read(name string) []byte {
	body, err := files.ReadFile(name)
	if err != nil {
		panic("static: " + err.Error())
	}
	return body
}

func add(name string, body []byte) {
	ext := path.Ext(name)
	sum := sha256.Sum256(body)
	a := &asset{
		hashed:      strings.TrimSuffix(name, ext) + "." + hex.EncodeToString(sum[:6]) + ext,
		contentType: types[ext],
		body:        body,
	}
	if a.contentType == "" {
		panic("static: no content type for " + name)
	}
	a.packed = sync.OnceValues(func() ([]byte, []byte) { return pack(ext, body) })
	byName[name], byHashed[a.hashed] = a, a
}

// pack compresses a text as hard as the formats allow. It runs once per file and process, when the file is first asked for:
// the best level takes a tenth of a second for a script, too long to do for all sixty files before the shop opens.
func pack(ext string, body []byte) (br, gz []byte) {
	if ext == ".woff2" || ext == ".png" {
		return nil, nil // already compressed
	}
	var b, g bytes.Buffer
	bw := brotli.NewWriterLevel(&b, brotli.BestCompression)
	gw, err := gzip.NewWriterLevel(&g, gzip.BestCompression)
	if err != nil {
		return nil, nil
	}
	// A bytes.Buffer takes every write; should a writer fail all the same, the plain body is served.
	if _, err := bw.Write(body); err != nil || bw.Close() != nil {
		return nil, nil
	}
	if _, err := gw.Write(body); err != nil || gw.Close() != nil {
		return nil, nil
	}
	return b.Bytes(), g.Bytes()
}

var wholeLineComment = regexp.MustCompile(`(?m)^[ \t]*//.*\n`)

// bundle joins scripts. Whole-line comments of our own files stay in the source and off the wire.
func bundle(vendored, own []string) []byte {
	var b bytes.Buffer
	for _, name := range vendored {
		b.Write(read(name))
		b.WriteString("\n;")
	}
	b.WriteString("\n(() => {\n")
	for _, name := range own {
		b.Write(wholeLineComment.ReplaceAll(read(name), nil))
	}
	b.WriteString("})();\n")
	return b.Bytes()
}

var (
	cssComment = regexp.MustCompile(`(?s)\s*/\*.*?\*/`)
	cssIndent  = regexp.MustCompile(`(?m)^[ \t]+|\n+$`)
	cssURL     = regexp.MustCompile(`url\(([a-z0-9/._-]+)\)`)
)

// stylesheet drops comments and indentation and replaces each url(…) by the hashed address of that file.
func stylesheet(css []byte) []byte {
	css = cssIndent.ReplaceAll(cssComment.ReplaceAll(css, nil), nil)
	return cssURL.ReplaceAllFunc(css, func(m []byte) []byte {
		return []byte("url(" + Path(string(cssURL.FindSubmatch(m)[1])) + ")")
	})
}

// Path returns the address of a file by its plain name: Path("app.css") is "/static/app.<hash>.css".
// The scripts are the bundles "app.js" (customers) and "staff.js". It panics on a name that does not exist:
// only our own source names files, and a page with a dead address must not be sent. For names from rows there is Art.
func Path(name string) string {
	a, ok := byName[name]
	if !ok {
		panic(fmt.Sprintf("static: no file %q", name))
	}
	return Prefix + a.hashed
}

// Worker is the service worker, which keeps the pages and files named here from the moment it is installed. It changes when one of the
// names does, and then keeps anew.
func Worker(keep ...string) []byte {
	list, _ := json.Marshal(keep) // texts always have a JSON form
	sum := sha256.Sum256(list)
	return append([]byte("const WHAT = "+string(list)+", kept = 'tiffin-"+hex.EncodeToString(sum[:6])+"';\n"), wholeLineComment.ReplaceAll(read("worker.js"), nil)...)
}

// Art returns the address of the drawn picture with that key ("butter-chicken"), and of the plain plate for any other
// key, the empty one included: a menu row may name a picture that a later version no longer has.
func Art(key string) string {
	if a, ok := byName["art/"+key+".svg"]; ok {
		return Prefix + a.hashed
	}
	return Path("art/dish.svg")
}

// Open finds a file by the name after Prefix, hash included ("app.1f2e3d4c5b6a.css"). br and gz are the same body
// compressed, nil where that would not help. The slices are shared: do not change them. Safe for concurrent use.
// Because the hash is in the name, the answer may carry "Cache-Control: public, max-age=31536000, immutable".
func Open(hashedName string) (body, br, gz []byte, contentType string, ok bool) {
	a, ok := byHashed[hashedName]
	if !ok {
		return nil, nil, nil, "", false
	}
	br, gz = a.packed()
	return a.body, br, gz, a.contentType, true
}
