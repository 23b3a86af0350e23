package standin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// The control API over HTTP: the Go one under /standin/…, with JSON whose keys are the Go names in snake case, durations like
// "90s" and instants in RFC 3339. The page at /standin posts the same things as forms.

// control is one call: what it takes is read into in, a pointer to a fresh struct or nil.
type control struct {
	method, pattern string
	do              func(s *Server, r *http.Request, ids []string, take func(into any) error) (any, error)
}

var controls = []control{
	{"GET", "books", func(s *Server, _ *http.Request, _ []string, _ func(any) error) (any, error) { return s.Books(), nil }},
	{"GET", "events", func(s *Server, _ *http.Request, _ []string, _ func(any) error) (any, error) { return s.Events(), nil }},
	{"GET", "deliveries", func(s *Server, _ *http.Request, _ []string, _ func(any) error) (any, error) {
		return s.Deliveries(), nil
	}},
	{"GET", "requests", func(s *Server, _ *http.Request, _ []string, _ func(any) error) (any, error) { return s.Requests(), nil }},
	{"GET", "refusals", func(*Server, *http.Request, []string, func(any) error) (any, error) { return RefusalNames(), nil }},

	{"POST", "pay", func(s *Server, _ *http.Request, _ []string, take func(any) error) (any, error) {
		var in PayParams
		if err := take(&in); err != nil {
			return nil, err
		}
		return s.Pay(in)
	}},
	{"POST", "payments/:/capture", onID((*Server).Capture)},
	{"POST", "payments/:/succeed", onID((*Server).SucceedLate)},
	{"POST", "payments/:/give_back", onID((*Server).GiveBack)},
	{"POST", "payments/:/fail", func(s *Server, _ *http.Request, ids []string, take func(any) error) (any, error) {
		var in struct{ Reason string }
		if err := take(&in); err != nil {
			return nil, err
		}
		return nil, s.Fail(ids[0], in.Reason)
	}},
	{"POST", "payments/:/refund", func(s *Server, _ *http.Request, ids []string, take func(any) error) (any, error) {
		var in struct{ AmountPaise int64 }
		if err := take(&in); err != nil {
			return nil, err
		}
		return s.RefundOutside(ids[0], in.AmountPaise)
	}},
	{"POST", "payments/:/dispute", func(s *Server, _ *http.Request, ids []string, take func(any) error) (any, error) {
		var in struct{ AmountPaise int64 }
		if err := take(&in); err != nil {
			return nil, err
		}
		return s.OpenDispute(ids[0], in.AmountPaise)
	}},
	{"POST", "refunds/:/settle", onID((*Server).SettleRefund)},
	{"POST", "refunds/:/fail", onID((*Server).FailRefund)},
	{"POST", "disputes/:/:", func(s *Server, _ *http.Request, ids []string, _ func(any) error) (any, error) {
		return nil, s.DecideDispute(ids[0], ids[1])
	}},

	{"GET", "faults", func(s *Server, _ *http.Request, _ []string, _ func(any) error) (any, error) { return s.Faults(), nil }},
	{"POST", "faults", func(s *Server, _ *http.Request, _ []string, take func(any) error) (any, error) {
		var f Fault
		if err := take(&f); err != nil {
			return nil, err
		}
		id, err := s.inject(f)
		return struct{ ID int }{id}, err
	}},
	{"POST", "faults/clear", plainly((*Server).ClearFaults)},
	{"DELETE", "faults", plainly((*Server).ClearFaults)},
	{"DELETE", "faults/:", func(s *Server, _ *http.Request, ids []string, _ func(any) error) (any, error) {
		id, err := strconv.Atoi(ids[0])
		if err != nil {
			return nil, fmt.Errorf("fault %q: %w", ids[0], ErrNoSuch)
		}
		s.RemoveFault(id)
		return nil, nil
	}},
	{"POST", "stalled/release", plainly((*Server).ReleaseStalled)},

	{"GET", "webhooks", func(s *Server, _ *http.Request, _ []string, _ func(any) error) (any, error) { return s.Webhooks(), nil }},
	{"PUT", "webhooks", func(s *Server, _ *http.Request, _ []string, take func(any) error) (any, error) {
		var in struct{ Webhooks []Webhook }
		if err := take(&in); err != nil {
			return nil, err
		}
		s.SetWebhooks(in.Webhooks...)
		return s.Webhooks(), nil
	}},
	{"POST", "webhooks/enable", func(s *Server, _ *http.Request, _ []string, take func(any) error) (any, error) {
		var in struct{ URL string }
		if err := take(&in); err != nil {
			return nil, err
		}
		s.EnableWebhook(in.URL)
		return s.Webhooks(), nil
	}},
	{"POST", "webhooks/rotate", func(s *Server, _ *http.Request, _ []string, take func(any) error) (any, error) {
		var in struct{ URL, Secret string }
		if err := take(&in); err != nil {
			return nil, err
		}
		s.RotateWebhookSecret(in.URL, in.Secret)
		return s.Webhooks(), nil
	}},
	{"POST", "webhook_faults", func(s *Server, _ *http.Request, _ []string, take func(any) error) (any, error) {
		var f WebhookFault
		if err := take(&f); err != nil {
			return nil, err
		}
		return nil, s.spoilWebhooks(f)
	}},
	{"POST", "webhook_faults/clear", plainly((*Server).ClearWebhookFaults)},
	{"DELETE", "webhook_faults", plainly((*Server).ClearWebhookFaults)},
	{"POST", "release", func(s *Server, _ *http.Request, _ []string, _ func(any) error) (any, error) {
		return struct{ Released int }{s.Release()}, nil
	}},
	{"POST", "events/:/deliver", func(s *Server, r *http.Request, ids []string, _ func(any) error) (any, error) {
		return s.Deliver(r.Context(), ids[0])
	}},

	{"GET", "settings", func(s *Server, _ *http.Request, _ []string, _ func(any) error) (any, error) { return s.Settings(), nil }},
	{"PATCH", "settings", changeSettings},
	{"POST", "settings", changeSettings},
	{"POST", "clock", func(s *Server, _ *http.Request, _ []string, take func(any) error) (any, error) {
		var in struct{ Advance time.Duration }
		if err := take(&in); err != nil {
			return nil, err
		}
		s.Advance(in.Advance)
		return struct{ Now time.Time }{s.Now()}, nil
	}},
}

func changeSettings(s *Server, _ *http.Request, _ []string, take func(any) error) (any, error) {
	var err error
	s.Configure(func(t *Settings) {
		changed := *t
		if err = take(&changed); err == nil {
			changed.fill()
			err = changed.check()
		}
		if err == nil {
			*t = changed
		}
	})
	return s.Settings(), err
}

func onID(do func(*Server, string) error) func(*Server, *http.Request, []string, func(any) error) (any, error) {
	return func(s *Server, _ *http.Request, ids []string, _ func(any) error) (any, error) {
		return nil, do(s, ids[0])
	}
}

func plainly(do func(*Server)) func(*Server, *http.Request, []string, func(any) error) (any, error) {
	return func(s *Server, _ *http.Request, _ []string, _ func(any) error) (any, error) {
		do(s)
		return nil, nil
	}
}

// errUnreadable is a control call the API cannot make sense of.
var errUnreadable = errors.New("standin: unreadable")

func (s *Server) serveControl(w http.ResponseWriter, r *http.Request, path string) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	if site := r.Header.Get("Sec-Fetch-Site"); r.Method != http.MethodGet && !slices.Contains([]string{"", "same-origin", "none"}, site) {
		http.Error(w, "the control pages take no posts from other pages", http.StatusForbidden)
		return
	}
	if path == "/standin" {
		if r.Method != http.MethodGet {
			http.Error(w, "GET only", http.StatusMethodNotAllowed)
			return
		}
		write(w, page200("control", s.overview(r.URL.Query().Get("note"))))
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostBody))
	if err != nil {
		http.Error(w, "body too large or cut short", http.StatusRequestEntityTooLarge)
		return
	}
	parts := strings.Split(strings.TrimPrefix(path, "/standin/"), "/")
	for _, c := range controls {
		ids, found := match(strings.Split(c.pattern, "/"), parts)
		if c.method != r.Method || !found {
			continue
		}
		fromPage := strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www-form-urlencoded")
		out, err := c.do(s, r, ids, func(into any) error { return take(body, fromPage, into) })
		s.replyControl(w, r, out, err, fromPage)
		return
	}
	write(w, answer{status: http.StatusNotFound, body: encode(object{{"error", "no such control: " + r.Method + " " + path}})})
}

func match(pattern, parts []string) (ids []string, found bool) {
	if len(pattern) != len(parts) {
		return nil, false
	}
	for i, p := range pattern {
		if p == ":" {
			ids = append(ids, parts[i])
		} else if p != parts[i] {
			return nil, false
		}
	}
	return ids, true
}

func (s *Server) replyControl(w http.ResponseWriter, r *http.Request, out any, err error, fromPage bool) {
	if fromPage {
		to := "/standin"
		if err != nil {
			to += "?" + (url.Values{"note": {err.Error()}}).Encode()
		}
		http.Redirect(w, r, to, http.StatusSeeOther)
		return
	}
	status := http.StatusOK
	switch {
	case errors.Is(err, ErrNoSuch):
		status = http.StatusNotFound
	case errors.Is(err, ErrNotPossible):
		status = http.StatusConflict
	case err != nil:
		status = http.StatusBadRequest
	}
	if err != nil {
		out = struct{ Error string }{err.Error()}
	}
	write(w, answer{status: status, body: encode(toSnake(reflect.ValueOf(out)))})
}

// take reads a JSON object or a form into a struct. Keys it does not have are refused.
func take(body []byte, form bool, into any) error {
	values := map[string]any{}
	if form {
		parsed, err := url.ParseQuery(string(body))
		if err != nil {
			return fmt.Errorf("%w: %v", errUnreadable, err)
		}
		for k, v := range parsed {
			if v[0] != "" {
				values[k] = v[0]
			}
		}
	} else if len(bytes.TrimSpace(body)) > 0 {
		d := json.NewDecoder(bytes.NewReader(body))
		d.UseNumber()
		if err := d.Decode(&values); err != nil {
			return fmt.Errorf("%w: %v", errUnreadable, err)
		}
	}
	return fill(reflect.ValueOf(into).Elem(), values)
}

var durationType, timeType = reflect.TypeFor[time.Duration](), reflect.TypeFor[time.Time]()

// fill sets a struct's fields from values under their snake-case names.
func fill(v reflect.Value, values map[string]any) error {
	known := map[string]reflect.Value{}
	for i := range v.NumField() {
		if f := v.Type().Field(i); f.IsExported() {
			known[snakeCase(f.Name)] = v.Field(i)
		}
	}
	for name, value := range values {
		field, found := known[name]
		if !found {
			return fmt.Errorf("%w: there is no %q", errUnreadable, name)
		}
		if err := set(field, value); err != nil {
			return fmt.Errorf("%w: %s: %v", errUnreadable, name, err)
		}
	}
	return nil
}

func set(field reflect.Value, value any) error {
	text := fmt.Sprint(value)
	switch field.Kind() {
	case reflect.String:
		if _, isText := value.(string); !isText {
			return fmt.Errorf("%v is not a string", value)
		}
		field.SetString(text)
	case reflect.Bool:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return err
		}
		field.SetBool(b)
	case reflect.Int, reflect.Int64:
		if field.Type() == durationType {
			d, err := time.ParseDuration(text)
			if err != nil {
				return err
			}
			field.SetInt(int64(d))
			return nil
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return err
		}
		field.SetInt(n)
	case reflect.Map:
		m, isMap := value.(map[string]any)
		if !isMap {
			return fmt.Errorf("not an object")
		}
		out := map[string]string{}
		for k, v := range m {
			out[k] = fmt.Sprint(v)
		}
		field.Set(reflect.ValueOf(out))
	case reflect.Slice:
		list, isList := value.([]any)
		if !isList {
			return fmt.Errorf("not a list")
		}
		out := reflect.MakeSlice(field.Type(), len(list), len(list))
		for i, item := range list {
			var err error
			if inner, isObject := item.(map[string]any); isObject && out.Index(i).Kind() == reflect.Struct {
				err = fill(out.Index(i), inner)
			} else {
				err = set(out.Index(i), item)
			}
			if err != nil {
				return err
			}
		}
		field.Set(out)
	default:
		return fmt.Errorf("cannot be set")
	}
	return nil
}

// toSnake turns structs into objects with snake-case keys, for encode.
func toSnake(v reflect.Value) any {
	if !v.IsValid() {
		return object{{"ok", true}}
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return toSnake(v.Elem())
	case reflect.Struct:
		if v.Type() == timeType {
			if t := v.Interface().(time.Time); !t.IsZero() {
				return t.Format(time.RFC3339Nano)
			}
			return nil
		}
		o := object{}
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				o = append(o, pair{snakeCase(f.Name), toSnake(v.Field(i))})
			}
		}
		return o
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return string(v.Bytes())
		}
		list := []any{}
		for i := range v.Len() {
			list = append(list, toSnake(v.Index(i)))
		}
		return list
	case reflect.Int64:
		if v.Type() == durationType {
			return time.Duration(v.Int()).String()
		}
	}
	return v.Interface()
}

func snakeCase(name string) string {
	var b strings.Builder
	runes := []rune(name)
	for i, r := range runes {
		if unicode.IsUpper(r) && i > 0 && (unicode.IsLower(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
