package razorpay

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	sdk "github.com/razorpay/razorpay-go"
)

const (
	// maxReply is more than the largest page asked for: 1000 settlement rows of about 1 KB. A longer reply is unusable.
	maxReply = 8 << 20
	// maxErrorBody is many times any error body seen; what lies beyond it is not read.
	maxErrorBody = 64 << 10
	// defaultTimeout bounds one call from dialling to the last byte. A claim on a gateway order lives 60 s; a call that
	// outlived it could hand out a second order.
	defaultTimeout = 8 * time.Second
)

// shared is the pool of every Client without its own Base. Idle connections go after 30 s, before the gateway's edge
// closes them under a POST, whose outcome would then be unknown. HTTP/2 connections that fell silent are pinged, or one
// dead connection would swallow every call until TCP gives up. It asks no proxy: Config.Base does where there is one.
var shared = &http.Transport{
	DialContext:           (&net.Dialer{Timeout: 3 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
	TLSHandshakeTimeout:   5 * time.Second,
	ForceAttemptHTTP2:     true,
	MaxIdleConns:          64,
	MaxIdleConnsPerHost:   64,
	IdleConnTimeout:       30 * time.Second,
	ExpectContinueTimeout: time.Second,
	HTTP2:                 &http.HTTP2Config{SendPingTimeout: 10 * time.Second, PingTimeout: 5 * time.Second},
}

// call makes one HTTP exchange through the SDK and gives the raw bytes of a 2xx reply. The SDK knows no context, loses
// the status of errors, leaks connections on them and reads amounts as floats (razorpay-go v1.4.0, requests/request.go);
// so it gets a client of its own per call, on a road of our own, and what it returns is ignored.
func (c *Client) call(ctx context.Context, ask func(s *sdk.Client) (map[string]any, error)) ([]byte, error) {
	if c.broken != nil {
		return nil, c.broken
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("razorpay: not sent: %w", err)
	}
	r := &road{ctx: ctx, base: c.base, secrets: c.secrets}
	s := sdk.NewClient(c.keyID, c.keySecret)
	s.Request.BaseURL = c.apiURL
	s.Request.HTTPClient = &http.Client{
		Transport: r,
		// The road answers a redirect with an error already. This stands behind it, because a redirected POST is a second
		// POST, or a GET that looks like its answer.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	_, err := ask(s)
	if refused, ok := errors.AsType[*APIError](err); ok {
		return nil, refused // without net/http's wrapping, which repeats the address
	}
	if r.reply == nil {
		if err == nil {
			err = errors.New("no answer")
		}
		return nil, fmt.Errorf("razorpay: %w", err)
	}
	return r.reply, nil
}

// road is the RoundTripper of one call: it carries the context, reads and closes the body whatever happens, keeps the
// bytes of a 2xx and turns everything else into *APIError. It never repeats a request; net/http below it repeats a POST
// only when not a byte of it was written.
type road struct {
	ctx     context.Context
	base    http.RoundTripper
	secrets [][]byte
	reply   []byte // nil until a whole 2xx body was read
}

func (r *road) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := r.base.RoundTrip(req.WithContext(r.ctx))
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode < 200 || res.StatusCode > 299 {
		// A body cut short still has its status, which says more than the cut.
		raw, _ := io.ReadAll(io.LimitReader(res.Body, maxErrorBody))
		return nil, newAPIError(res.StatusCode, r.scrub(raw))
	}
	raw, err := io.ReadAll(io.LimitReader(res.Body, maxReply+1))
	if err != nil {
		return nil, fmt.Errorf("reading the reply: %w", err)
	}
	if len(raw) > maxReply {
		return nil, badReply("longer than %d bytes", maxReply)
	}
	r.reply = append([]byte{}, raw...)
	kept := *res
	kept.Body = io.NopCloser(bytes.NewReader(raw))
	return &kept, nil
}

// scrub removes the key's secret from an error body: something between us and the gateway may echo the request.
func (r *road) scrub(raw []byte) []byte {
	for _, secret := range r.secrets {
		raw = bytes.ReplaceAll(raw, secret, []byte("[secret]"))
	}
	return raw
}

// secretForms are the ways the secret can stand in a text: plain and as the Authorization header has it. Real secrets
// have 24 characters; one shorter than 8 would only blot out innocent words.
func secretForms(keyID, keySecret string) [][]byte {
	if len(keySecret) < 8 {
		return nil
	}
	return [][]byte{[]byte(base64.StdEncoding.EncodeToString([]byte(keyID + ":" + keySecret))), []byte(keySecret)}
}
