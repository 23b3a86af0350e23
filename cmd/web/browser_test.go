//go:build e2e

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	browserlog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	browserpage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/serviceworker"
	"github.com/chromedp/chromedp"
)

// The browser side of these tests: one headless Chromium, in it a profile for each person, and in that the person's tabs. What a tab does
// is what a finger or a mouse does; what it waits for is what can be seen.

// failed has a failure leave a picture.
var failed = flag.String("failed", "", "a folder for pictures of pages on which a browser test waited in vain")

// chromium is the one browser all tests of this package share while any of them runs.
var chromium struct {
	mu    sync.Mutex
	users int
	ctx   context.Context
	close context.CancelFunc
}

// openChromium returns a context of the running browser, which it starts if there is none. It is closed, and its profile removed, when
// the last test that asked for it has ended.
func openChromium(t testing.TB) context.Context {
	t.Helper()
	chromium.mu.Lock()
	defer chromium.mu.Unlock()
	if chromium.users == 0 {
		flags := slices.Clone(chromedp.DefaultExecAllocatorOptions[:])
		flags = append(flags, chromedp.NoSandbox, chromedp.Flag("disable-gpu", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-quic", true),
			chromedp.CombinedOutput(io.Discard))
		allocated, _ := chromedp.NewExecAllocator(context.Background(), flags...) // ends with the browser, whose close waits for it
		ctx, end := chromedp.NewContext(allocated)
		if err := chromedp.Do(ctx); err != nil {
			end()
			t.Fatalf("start the browser: %v", err)
		}
		chromium.ctx, chromium.close = ctx, end
	}
	chromium.users++
	t.Cleanup(func() {
		chromium.mu.Lock()
		defer chromium.mu.Unlock()
		if chromium.users--; chromium.users == 0 {
			chromium.close()
		}
	})
	return chromium.ctx
}

// screen is what a person looks at.
type screen struct {
	width, height int64
	touch         bool
}

var (
	phone = screen{390, 844, true}
	desk  = screen{1280, 900, false}
)

// tab is one tab of one person.
type tab struct {
	t     testing.TB
	who   string
	base  string // of the shop
	ctx   context.Context
	end   context.CancelFunc
	touch bool

	mu       sync.Mutex
	closed   bool // by its person: what breaks off from then on is no fault
	faults   []string
	expected []*regexp.Regexp
	requests []*seenRequest
	workers  []*serviceworker.Registration
}

// seenRequest is one request a tab made.
type seenRequest struct {
	id    network.RequestID
	url   string
	kind  network.ResourceType
	over  bool
	bytes float64 // on the wire, head and body; 0 from the browser's cache
}

// browse opens a browser of their own for somebody, at the shop with this address.
func browse(t testing.TB, who, base string, s screen) *tab {
	t.Helper()
	return newTab(t, openChromium(t), who, base, s, chromedp.WithNewBrowserContext())
}

// beside opens one more tab for the same person.
func (b *tab) beside(s screen) *tab {
	b.t.Helper()
	return newTab(b.t, b.ctx, b.who+", second tab", b.base, s)
}

func newTab(t testing.TB, parent context.Context, who, base string, s screen, options ...chromedp.ContextOption) *tab {
	t.Helper()
	b := &tab{t: t, who: who, base: base, touch: s.touch}
	b.expect("Transition was (aborted|skipped)", // the browser's own word when somebody goes on before a page has faded in
		"htmx:sendAbort|console.error: \"htmx:afterRequest,") // htmx's, when a newer number takes the place of one on its way
	b.ctx, b.end = chromedp.NewContext(parent, append(options, chromedp.WithListener(b.hear))...)
	t.Cleanup(b.close)
	b.must("open a tab", chromedp.Do(b.ctx))
	b.resize(s)
	return b
}

// close closes the tab as its person does, and reports what its console complained about.
func (b *tab) close() {
	b.mu.Lock()
	was := b.closed
	b.closed = true
	faults := b.faults
	b.mu.Unlock()
	if was {
		return
	}
	b.end()
	for _, fault := range faults {
		if !slices.ContainsFunc(b.expected, func(e *regexp.Regexp) bool { return e.MatchString(fault) }) {
			b.t.Errorf("%s's console: %s", b.who, fault)
		}
	}
}

// expect says which complaints of the console belong to the test.
func (b *tab) expect(patterns ...string) {
	for _, p := range patterns {
		b.expected = append(b.expected, regexp.MustCompile(p))
	}
}

// hear keeps what the console says that no customer should cause: errors, exceptions, breaches of the content policy.
func (b *tab) hear(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return
	}
	switch e := event.(type) {
	case *browserlog.EventEntryAdded:
		if e.Entry.Level == browserlog.EntryLevelError || e.Entry.Source == browserlog.EntrySourceSecurity {
			b.faults = append(b.faults, fmt.Sprintf("%s: %s (%s)", e.Entry.Source, e.Entry.Text, e.Entry.URL))
		}
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeAssert {
			var words []string
			for _, a := range e.Args {
				words = append(words, string(a.Value)+a.Description)
			}
			b.faults = append(b.faults, "console."+string(e.Type)+": "+strings.Join(words, " "))
		}
	case *runtime.EventExceptionThrown:
		fault := "exception: " + e.ExceptionDetails.Text
		if e.ExceptionDetails.Exception != nil {
			fault += " " + e.ExceptionDetails.Exception.Description
		}
		b.faults = append(b.faults, fault)
	case *serviceworker.EventWorkerRegistrationUpdated:
		b.workers = e.Registrations
	case *network.EventRequestWillBeSent:
		b.requests = append(b.requests, &seenRequest{id: e.RequestID, url: e.Request.URL, kind: e.Type})
	case *network.EventRequestServedFromCache:
		b.ofRequest(e.RequestID, func(r *seenRequest) { r.over = true })
	case *network.EventLoadingFinished:
		b.ofRequest(e.RequestID, func(r *seenRequest) { r.over, r.bytes = true, e.EncodedDataLength })
	case *network.EventLoadingFailed:
		b.ofRequest(e.RequestID, func(r *seenRequest) { r.over = true })
	}
}

func (b *tab) ofRequest(id network.RequestID, change func(*seenRequest)) {
	for i := len(b.requests) - 1; i >= 0; i-- {
		if b.requests[i].id == id {
			change(b.requests[i])
			return
		}
	}
}

// asked lists the requests the tab has made so far whose address holds part, oldest first.
func (b *tab) asked(part string) (list []seenRequest) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.requests {
		if strings.Contains(r.url, part) {
			list = append(list, *r)
		}
	}
	return list
}

// forget empties the list of requests.
func (b *tab) forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.requests = nil
}

// send gives the browser one command of the protocol.
func send[P, R any](b *tab, command cdp.Command[P, R], params P) R {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	answer, err := chromedp.Call(ctx, command, params)
	b.must(command.Method, err)
	return answer
}

func (b *tab) must(what string, err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatalf("%s: %s: %v", b.who, what, err)
	}
}

func (b *tab) resize(s screen) {
	b.t.Helper()
	send(b, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: s.width, Height: s.height, DeviceScaleFactor: 1, Mobile: s.touch})
	send(b, emulation.SetTouchEmulationEnabled, emulation.SetTouchEmulationEnabledParams{Enabled: s.touch})
	b.touch = s.touch
}

// prefer sets what the person's system prefers: light or dark, and no motion.
func (b *tab) prefer(scheme string) {
	b.t.Helper()
	send(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"}}})
}

// withoutScript turns scripts off, as some people do.
func (b *tab) withoutScript() {
	b.t.Helper()
	send(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
}

// ask has the browser evaluate an expression, which it does also where the page's scripts do not run.
func ask[T any](b *tab, expression string) (T, error) {
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	return chromedp.Run(ctx, chromedp.Evaluate[T](expression))
}

// read evaluates an expression that must succeed on the page as it is.
func read[T any](b *tab, expression string) T {
	b.t.Helper()
	v, err := ask[T](b, expression)
	b.must(expression, err)
	return v
}

// await waits until an expression gives a value that suits, also across pages, and says how long that took.
func await[T any](b *tab, what, expression string, suits func(T) bool) (value T, took time.Duration) {
	b.t.Helper()
	began := time.Now()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	var err error
	for time.Since(began) < patience {
		if value, err = ask[T](b, expression); err == nil && suits(value) {
			return value, time.Since(began)
		}
		if b.ctx.Err() != nil {
			break
		}
		<-tick.C
	}
	b.t.Fatalf("%s waited in vain: %s (last: %v, %v)\n%s", b.who, what, value, err, b.describe())
	return value, 0
}

// describe is what a failure shows of the page.
func (b *tab) describe() string {
	text, err := ask[string](b, `location.pathname + ' · ' + document.title + '\n' + (document.querySelector('main') || document.body).innerText.replace(/\n+/g, '\n').slice(0, 1500)`)
	if err != nil {
		return err.Error()
	}
	if *failed == "" {
		return text
	}
	file := filepath.Join(*failed, regexp.MustCompile(`\W+`).ReplaceAllString(b.t.Name()+" "+b.who, "-")+".png")
	shot, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err == nil {
		err = os.WriteFile(file, shot, 0o600)
	}
	if err != nil {
		return text + "\n" + err.Error()
	}
	return text + "\n" + file
}

// until waits for a statement about the page to come true.
func (b *tab) until(what, statement string) time.Duration {
	b.t.Helper()
	_, took := await(b, what, "!!("+statement+")", func(v bool) bool { return v })
	return took
}

// id selects a part by its anchor.
func id(anchor string) string { return `[data-testid="` + anchor + `"]` }

func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string always has a JSON form
	}
	return string(b)
}

// shown is the first element of a selector that can be seen.
const shown = `((s) => [...document.querySelectorAll(s)].find(e => e.checkVisibility({visibilityProperty: true}) && e.getClientRects().length))`

// see waits until a part can be seen.
func (b *tab) see(selector string) time.Duration {
	b.t.Helper()
	return b.until("to see "+selector, shown+"("+quote(selector)+")")
}

// hide waits until no part of the selector can be seen.
func (b *tab) hide(selector string) {
	b.t.Helper()
	b.until(selector+" to go away", "!"+shown+"("+quote(selector)+")")
}

// says waits until a part that can be seen holds these words.
func (b *tab) says(selector, words string) time.Duration {
	b.t.Helper()
	return b.until(fmt.Sprintf("%s to say %q", selector, words), "("+shown+"("+quote(selector)+")?.innerText.replace(/\\s+/g, ' ') || '').includes("+quote(words)+")")
}

// text is what a part says now.
func (b *tab) text(selector string) string {
	b.t.Helper()
	b.see(selector)
	return read[string](b, shown+"("+quote(selector)+").innerText.replace(/\\s+/g, ' ').trim()")
}

// all lists what every part of the selector says.
func (b *tab) all(selector string) []string {
	b.t.Helper()
	return read[[]string](b, "[...document.querySelectorAll("+quote(selector)+")].map(e => e.textContent.replace(/\\s+/g, ' ').trim())")
}

// count is how many parts there are, seen or not.
func (b *tab) count(selector string) int {
	b.t.Helper()
	return read[int](b, "document.querySelectorAll("+quote(selector)+").length")
}

// is waits until an attribute of the first part has a value.
func (b *tab) is(selector, attribute, value string) time.Duration {
	b.t.Helper()
	return b.until(fmt.Sprintf("%s %s=%q", selector, attribute, value), "document.querySelector("+quote(selector)+")?.getAttribute("+quote(attribute)+") === "+quote(value))
}

// at waits until the tab is at an address that begins so, loaded, and returns what the address says after the shop's name.
func (b *tab) at(path string) string {
	b.t.Helper()
	want := b.base + path
	if !strings.HasPrefix(path, "/") {
		want = path // a page that is not the shop's
	}
	address, _ := await(b, "to be at "+path, `document.readyState === 'complete' ? location.href : ""`, func(href string) bool { return strings.HasPrefix(href, want) })
	return strings.TrimPrefix(address, b.base)
}

// open goes to an address of the shop, as if typed in.
func (b *tab) open(path string) {
	b.t.Helper()
	if !strings.HasPrefix(path, "http") {
		path = b.base + path
	}
	answer := send(b, browserpage.Navigate, browserpage.NavigateParams{URL: path})
	if answer.ErrorText != "" {
		b.t.Fatalf("%s: open %s: %s", b.who, path, answer.ErrorText)
	}
	b.until("the page at "+path, `document.readyState === 'complete' && location.href !== 'about:blank'`)
}

// reload presses the browser's reload, and back and forward its arrows.
func (b *tab) reload() {
	b.t.Helper()
	b.leaves(func() { send(b, browserpage.Reload, browserpage.ReloadParams{}) })
}

func (b *tab) back() {
	b.t.Helper()
	b.travel(-1)
}

func (b *tab) forward() {
	b.t.Helper()
	b.travel(1)
}

func (b *tab) travel(by int64) {
	b.t.Helper()
	history := send(b, browserpage.GetNavigationHistory, cdp.Empty{})
	entry := history.CurrentIndex + by
	if entry < 0 || entry >= int64(len(history.Entries)) {
		b.t.Fatalf("%s: there is no page to go to in the history", b.who)
	}
	send(b, browserpage.NavigateToHistoryEntry, browserpage.NavigateToHistoryEntryParams{EntryID: history.Entries[entry].ID})
	b.until("the page of the history", `document.readyState === 'complete' && location.href === `+quote(history.Entries[entry].URL))
}

// leaves does something that must load another document, and waits for that.
func (b *tab) leaves(do func()) {
	b.t.Helper()
	mark := quote(fmt.Sprint(time.Now().UnixNano()))
	read[chromedp.Void](b, "window.left = "+mark)
	do()
	b.until("another page", "document.readyState === 'complete' && window.left !== "+mark)
}

// mark remembers the document, so that untouched can tell whether it is still the same one.
func (b *tab) mark() { read[chromedp.Void](b, "window.marked = true") }

func (b *tab) untouched() {
	b.t.Helper()
	if !read[bool](b, "window.marked === true") {
		b.t.Errorf("%s's page was loaded anew", b.who)
	}
}

// point is where a part can be pressed: its middle, once it stands still, can be used, and nothing lies over it.
type point struct {
	X, Y   float64
	Why    string // why not yet
	Scroll bool   // it had to be scrolled into view just now
}

const pointAt = `((s) => {
	const e = ` + shown + `(s);
	if (!e) return {Why: 'not seen'};
	if (e.matches(':disabled')) return {Why: 'disabled'};
	const middle = () => { const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; };
	const under = (x, y) => {
		const hit = document.elementFromPoint(x, y);
		return hit === e || e.contains(hit) || hit?.closest('label')?.control === e ? '' : 'under ' + (hit?.outerHTML.slice(0, 200) || 'nothing');
	};
	let [X, Y] = middle(), Scroll = false;
	if (under(X, Y)) {
		e.scrollIntoView({block: 'center', inline: 'center', behavior: 'instant'});
		const [x, y] = middle();
		[Scroll, X, Y] = [x !== X || y !== Y, x, y];
	}
	return {X, Y, Scroll, Why: under(X, Y)};
})`

// aim waits until a part can be pressed and says where.
func (b *tab) aim(selector string) point {
	b.t.Helper()
	var last point
	where, _ := await(b, "to press "+selector, pointAt+"("+quote(selector)+")", func(p point) bool {
		steady := p.Why == "" && !p.Scroll && last == p
		if last = p; p.Why == "" && !steady {
			b.frame()
		}
		return steady
	})
	return where
}

// frame waits until the browser has drawn the page as it is now. A tap is aimed at what is drawn: one sent between scrolling and drawing
// would hit what was there before, and one on a page that has not been drawn yet is dropped.
func (b *tab) frame() {
	b.t.Helper()
	send(b, browserpage.CaptureScreenshot, browserpage.CaptureScreenshotParams{Clip: &browserpage.Viewport{Width: 1, Height: 1, Scale: 1}})
}

// press taps or clicks a part.
func (b *tab) press(selector string) {
	b.t.Helper()
	b.tap(b.aim(selector))
}

// pressTwice taps or clicks a part twice, as quickly as a nervous hand.
func (b *tab) pressTwice(selector string) {
	b.t.Helper()
	where := b.aim(selector)
	b.tap(where)
	b.tap(where)
}

func (b *tab) tap(p point) {
	b.t.Helper()
	action := chromedp.MouseClickXY(p.X, p.Y)
	if b.touch {
		action = chromedp.TapXY(p.X, p.Y)
	}
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	b.must("press", chromedp.Do(ctx, action))
}

// fill types into a field in place of what stands there.
func (b *tab) fill(selector, text string) {
	b.t.Helper()
	b.press(selector)
	b.until(selector+" to have the focus", "document.activeElement?.matches("+quote(selector)+")")
	read[chromedp.Void](b, "document.activeElement.select()")
	send(b, input.InsertText, input.InsertTextParams{Text: text})
	b.until(selector+" to be filled", "document.activeElement?.value === "+quote(text))
}

// key presses a key.
func (b *tab) key(keys string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	b.must("press a key", chromedp.Do(ctx, chromedp.KeyEvent(keys)))
}

// beforeAnyScript runs a script of the test's own at the start of every further document of the tab.
func (b *tab) beforeAnyScript(source string) {
	b.t.Helper()
	send(b, browserpage.AddScriptToEvaluateOnNewDocument, browserpage.AddScriptToEvaluateOnNewDocumentParams{Source: source})
}

// shopLog is what a shop in this process writes: the end of it for a failure, and every error.
type shopLog struct {
	syncBuffer
	faults syncBuffer
}

func (l *shopLog) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte(`"level":"ERROR"`)) {
		if _, err := l.faults.Write(line); err != nil {
			return 0, err
		}
	}
	return l.syncBuffer.Write(line)
}

// shop is the program itself, started in this process as main starts it. That it logs an error fails the test.
func (w *town) shop() (base string) {
	w.t.Helper()
	addr := freeAddr(w.t) // the address customers see has to be known before the shop listens there
	settings := map[string]string{"LISTEN_ADDR": addr, "PUBLIC_URL": "http://" + addr}
	for _, line := range w.env {
		name, value, _ := strings.Cut(line, "=")
		settings[name] = value
	}
	cfg, err := readConfig(func(name string) string { return settings[name] })
	must(w.t, err)
	cfg.Push = w.push
	said := &shopLog{}
	p, err := start(context.WithoutCancel(w.t.Context()), cfg, options{log: slog.New(slog.NewJSONHandler(said, nil))})
	if err != nil {
		w.t.Fatalf("start: %v\n%s", err, said.last())
	}
	w.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		must(w.t, p.Close(ctx))
		if faults := said.faults.last(); faults != "" {
			w.t.Errorf("the shop logged errors:\n%s", faults)
		} else if w.t.Failed() {
			w.t.Logf("the shop's log:\n%s", said.last())
		}
	})
	return "http://" + p.Addr()
}
