package torture

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"
)

const (
	requestLimit = 20 * time.Second // of one request: above the shop's own limit
	tries        = 60               // of one press at a shop that is down or busy
	tryAgain     = 30 * time.Millisecond
)

// browser is somebody with cookies and no script.
type browser struct {
	r      *round
	mu     sync.Mutex
	cookie map[string]string
}

func newBrowser(r *round) *browser { return &browser{r: r, cookie: map[string]string{}} }

// page is an answer. Status 0 says that there was none: the connection was refused, or broke.
type page struct {
	status   int
	location string // path and query
	body     string
}

// request is what a form or a link sends.
type request struct {
	method, path string
	form         url.Values
	json         string
	foreign      bool // from another site: without cookies
}

func (b *browser) send(ctx context.Context, at int, q request) page {
	s := b.r.servers[at%len(b.r.servers)]
	ctx, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	body := q.json
	if q.form != nil {
		body = q.form.Encode()
	}
	r, err := http.NewRequestWithContext(ctx, q.method, s.url+q.path, strings.NewReader(body))
	if err != nil {
		b.r.fail("torture", nil, "request: %v", err)
		return page{}
	}
	switch {
	case q.json != "":
		r.Header.Set("Content-Type", "application/json")
	case q.form != nil:
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if !q.foreign {
		b.mu.Lock()
		for name, value := range b.cookie {
			r.AddCookie(&http.Cookie{Name: name, Value: value})
		}
		b.mu.Unlock()
	}
	answer, err := b.r.client.Do(r)
	if err != nil {
		return page{}
	}
	defer answer.Body.Close()
	b.mu.Lock()
	for _, c := range answer.Cookies() {
		b.cookie[c.Name] = c.Value
	}
	b.mu.Unlock()
	var text bytes.Buffer
	if _, err := io.Copy(&text, answer.Body); err != nil {
		return page{}
	}
	b.r.answered(answer.StatusCode)
	return page{answer.StatusCode, withoutHost(answer.Header.Get("Location")), text.String()}
}

func withoutHost(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	u.Scheme, u.Host = "", ""
	return u.String()
}

// insist presses again while the shop is down or asks for patience, as people do. It gives up after a second or two.
func (b *browser) insist(ctx context.Context, at int, q request) (p page) {
	for range tries {
		if p = b.send(ctx, at, q); p.status != 0 && p.status != http.StatusServiceUnavailable {
			return p
		}
		if !rest(ctx, tryAgain) {
			break
		}
	}
	return p
}

// atOnce sends the same request to several servers, or several times to one, at the same moment.
func (b *browser) atOnce(ctx context.Context, at []int, q request) []page {
	pages := make([]page, len(at))
	var all sync.WaitGroup
	for i, s := range at {
		all.Go(func() { pages[i] = b.insist(ctx, s, q) })
	}
	all.Wait()
	if len(at) > 1 {
		b.r.tally.add("pressed twice at once")
	}
	return pages
}

// rest waits, and reports whether there is a point in going on.
func rest(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

var hidden = regexp.MustCompile(`name="(_csrf|checkout_key|review)"[^>]*value="([^"]*)"`)

// fields are the hidden fields a page's forms carry.
func fields(body string) map[string]string {
	found := map[string]string{}
	for _, m := range hidden.FindAllStringSubmatch(body, -1) {
		found[m[1]] = m[2]
	}
	return found
}

func get(path string) request { return request{method: http.MethodGet, path: path} }

func post(path string, pairs ...string) request {
	form := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		form.Add(pairs[i], pairs[i+1])
	}
	return request{method: http.MethodPost, path: path, form: form}
}
