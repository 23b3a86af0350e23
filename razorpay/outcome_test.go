package razorpay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func readFixture(t testing.TB, name string) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestOutcomeOf(t *testing.T) {
	var index []struct {
		File   string
		Status int `json:"http_status"`
	}
	if err := json.Unmarshal(readFixture(t, "errors_index.json"), &index); err != nil {
		t.Fatal(err)
	}
	// Everything not named here is a definite refusal.
	outcomes := map[string]Outcome{
		"error_auth_failed.json":                    Unauthorised,
		"error_api_key_invalid.json":                Unauthorised,
		"error_access_denied_ip.json":               Unauthorised,
		"error_string_form.json":                    Unauthorised,
		"error_rate_limited.json":                   RateLimited,
		"error_operation_in_progress.json":          Conflict,
		"error_refund_idempotency_conflict.json":    Conflict,
		"error_refund_idempotency_in_progress.json": Conflict,
		"error_server_error.json":                   Unknown,
		"error_gateway_error.json":                  Unknown,
		"error_502_html.txt":                        Unknown,
		"error_edge_no_route.json":                  Unknown, // a 404 without an error object
		"error_disputes_envelope.json":              Unknown, // a 400 without an error object
	}
	already := []string{"error_refund_already_full.json"}
	low := []string{"error_refund_low_balance.json"}
	old := []string{"error_refund_six_months.json", "error_order_too_old.json"}
	duplicate := map[string]string{
		"error_order_receipt_duplicate.json":         "",
		"error_order_receipt_duplicate_variant.json": "order_TstAbCdEf00003",
		"error_refund_receipt_duplicate.json":        "",
	}
	var listed []string
	for _, f := range index {
		listed = append(listed, f.File)
		t.Run(f.File, func(t *testing.T) {
			want, special := outcomes[f.File]
			if !special {
				want = Refused
			}
			raw := readFixture(t, f.File)
			err := error(newAPIError(f.Status, raw))
			for _, err := range []error{err, fmt.Errorf("refunding: %w", err)} {
				if got := OutcomeOf(err); got != want {
					t.Errorf("OutcomeOf(%v) = %s, want %s", err, got, want)
				}
				if got := IsAlreadyRefunded(err); got != slices.Contains(already, f.File) {
					t.Errorf("IsAlreadyRefunded = %v", got)
				}
				if got := IsLowBalance(err); got != slices.Contains(low, f.File) {
					t.Errorf("IsLowBalance = %v", got)
				}
				if got := IsTooOld(err); got != slices.Contains(old, f.File) {
					t.Errorf("IsTooOld = %v", got)
				}
				id, dup := IsDuplicateReceipt(err)
				if wantID, wantDup := duplicate[f.File]; dup != wantDup || id != wantID {
					t.Errorf("IsDuplicateReceipt = %q, %v", id, dup)
				}
			}
			checkSameError(t, raw, newAPIError(f.Status, raw))
		})
	}
	files, err := filepath.Glob("testdata/error_*")
	if err != nil {
		t.Fatal(err)
	}
	for i := range files {
		files[i] = filepath.Base(files[i])
	}
	slices.Sort(listed)
	if !slices.Equal(files, listed) {
		t.Errorf("the index names %d bodies, the folder holds %d", len(listed), len(files))
	}
}

// checkSameError compares what was read with the body, independently decoded.
func checkSameError(t *testing.T, raw []byte, got *APIError) {
	t.Helper()
	var body struct{ Error map[string]any }
	if json.Unmarshal(raw, &body) != nil || body.Error == nil {
		if got.Code != "" {
			t.Errorf("code %q out of nothing", got.Code)
		}
		return
	}
	for key, value := range map[string]string{
		"code": got.Code, "description": got.Description, "field": got.Field,
		"source": got.Source, "step": got.Step, "reason": got.Reason,
	} {
		want, _ := body.Error[key].(string)
		if want == "NA" {
			want = ""
		}
		if value != want {
			t.Errorf("%s = %q, want %q", key, value, want)
		}
	}
	metadata, _ := body.Error["metadata"].(map[string]any)
	if len(got.Metadata) != len(metadata) {
		t.Errorf("metadata %v, want %v", got.Metadata, metadata)
	}
	for key, value := range metadata {
		if got.Metadata[key] != value {
			t.Errorf("metadata %s = %q, want %q", key, got.Metadata[key], value)
		}
	}
}

func TestOutcomeOfOtherErrors(t *testing.T) {
	object := func(status int, code, description string) error {
		raw, err := json.Marshal(map[string]any{"error": map[string]any{"code": code, "description": description}})
		if err != nil {
			t.Fatal(err)
		}
		return newAPIError(status, raw)
	}
	for name, c := range map[string]struct {
		err  error
		want Outcome
	}{
		"nil":                                {nil, Unknown},
		"deadline":                           {context.DeadlineExceeded, Unknown},
		"cut off":                            {io.ErrUnexpectedEOF, Unknown},
		"anything":                           {errors.New("anything"), Unknown},
		"unusable 2xx":                       {badReply("empty"), Unknown},
		"never sent":                         {fmt.Errorf("x: %w", invalid("id")), Refused},
		"404 with an object":                 {object(404, "BAD_REQUEST_ERROR", "no"), NotFound},
		"302":                                {object(302, "BAD_REQUEST_ERROR", "moved"), Unknown},
		"408":                                {object(408, "BAD_REQUEST_ERROR", "slow"), Unknown},
		"422":                                {object(422, "BAD_REQUEST_ERROR", "no"), Refused},
		"403":                                {object(403, "BAD_REQUEST_ERROR", "no"), Unauthorised},
		"503 with a bad request's code":      {object(503, "BAD_REQUEST_ERROR", "no"), Unknown},
		"400 with a server error's code":     {object(400, "SERVER_ERROR", "no"), Unknown},
		"400 with a gateway error's code":    {object(400, "GATEWAY_ERROR", "no"), Unknown},
		"400 without a code":                 {object(400, "", "no"), Unknown},
		"400, wrong secret":                  {object(400, "BAD_REQUEST_ERROR", "The api secret provided is invalid."), Unauthorised},
		"400, wrong one-time password":       {object(400, "BAD_REQUEST_ERROR", "Authentication failed due to incorrect otp"), Refused},
		"400, another order operation":       {object(400, "BAD_REQUEST_ERROR", "Request failed because another order operation is in progress."), Conflict},
		"400, idempotency key used":          {object(400, "BAD_REQUEST_ERROR", "Different request with the same idempotency key has already been processed."), Conflict},
		"429 as HTML":                        {newAPIError(429, []byte("<html>slow down</html>")), RateLimited},
		"401 with nothing":                   {newAPIError(401, nil), Unauthorised},
		"409 with nothing":                   {newAPIError(409, nil), Conflict},
		"400 as HTML":                        {newAPIError(400, []byte("<html>blocked</html>")), Unknown},
		"404 with nothing":                   {newAPIError(404, nil), Unknown},
		"400 with null":                      {newAPIError(400, []byte(`{"error":null}`)), Unknown},
		"400 with a list":                    {newAPIError(400, []byte(`{"error":["BAD_REQUEST_ERROR"]}`)), Unknown},
		"400 with a number":                  {newAPIError(400, []byte(`{"error":7}`)), Unknown},
		"400 with metadata as list and text": {newAPIError(400, []byte(`{"error":{"code":"BAD_REQUEST_ERROR","description":null,"metadata":[]}}`)), Refused},
	} {
		t.Run(name, func(t *testing.T) {
			if got := OutcomeOf(c.err); got != c.want {
				t.Errorf("OutcomeOf(%v) = %s, want %s", c.err, got, c.want)
			}
		})
	}
}

func TestErrorTexts(t *testing.T) {
	sentence := func(status int, description string) error {
		return &APIError{Status: status, Code: "BAD_REQUEST_ERROR", Description: description}
	}
	t.Run("variants are recognised", func(t *testing.T) {
		if !IsTooOld(sentence(400, "Payment is more than 6 months old, only instant refund is supported")) {
			t.Error("six months")
		}
		if !IsLowBalance(sentence(400, "not enough balance")) {
			t.Error("low balance")
		}
		if !IsAlreadyRefunded(sentence(400, "Refund has already been processed.")) {
			t.Error("already refunded")
		}
		if IsAlreadyRefunded(sentence(400, "Duplicate request. This request has already been processed.")) {
			t.Error("a duplicate receipt is no refund")
		}
	})
	t.Run("a server in trouble refuses nothing", func(t *testing.T) {
		err := sentence(500, "Your account does not have enough balance. The payment has been fully refunded already. Duplicate receipt found, more than 6 months old")
		if _, dup := IsDuplicateReceipt(err); dup || IsLowBalance(err) || IsAlreadyRefunded(err) || IsTooOld(err) {
			t.Error("a 500 is taken for a refusal")
		}
	})
	t.Run("the earlier id is found", func(t *testing.T) {
		for metadata, want := range map[string]string{
			`{"order_id":"order_TstAbCdEf00003"}`: "order_TstAbCdEf00003",
			`{"order_id":"TstAbCdEf00003"}`:       "order_TstAbCdEf00003",
			`{"refund_id":"rfnd_TstAbCdEf0003"}`:  "rfnd_TstAbCdEf0003",
			`{"order_id":"order_x/../payments"}`:  "",
			`{"order_id":"pay_TstAbCdEf00003"}`:   "",
			`[]`:                                  "",
			`"order_TstAbCdEf00003"`:              "",
		} {
			err := newAPIError(400, []byte(`{"error":{"code":"BAD_REQUEST_ERROR","description":"Order receipt should be unique.","metadata":`+metadata+`}}`))
			if id, dup := IsDuplicateReceipt(err); !dup || id != want {
				t.Errorf("%s: %q, %v", metadata, id, dup)
			}
		}
	})
	t.Run("a sentence cannot forge a log line", func(t *testing.T) {
		if s := sentence(400, "no\nlevel=INFO msg=paid").Error(); strings.Contains(s, "\n") {
			t.Errorf("%q", s)
		}
		if s := sentence(400, strings.Repeat("x", 10_000)).Error(); len(s) > 600 {
			t.Errorf("%d bytes", len(s))
		}
	})
}
