package standin_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tiffin/razorpay/standin"
)

// TestRazorpaysOwnNodeSDKIsSatisfied runs nodesdk/check.mjs against the stand-in. It needs node and npm; the SDK is installed at
// its pinned version when it is not there yet.
func TestRazorpaysOwnNodeSDKIsSatisfied(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	dir, err := filepath.Abs("nodesdk")
	if err != nil {
		t.Fatal(err)
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Fatal("this test needs node (apt-get install nodejs npm): ", err)
	}
	installSDK(t, ctx, dir)

	_, base := open(t, standin.Options{})
	cmd := exec.CommandContext(ctx, node, "check.mjs")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "STANDIN_URL="+base, "STANDIN_KEY_ID="+standin.DefaultKeyID, "STANDIN_KEY_SECRET="+standin.DefaultKeySecret)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var passed []string
	for line := range strings.Lines(string(out)) {
		if step, isStep := strings.CutPrefix(strings.TrimSpace(line), "ok "); isStep {
			passed = append(passed, step)
		}
	}
	want := []string{"orders.create", "orders.fetch", "orders.all", "orders.edit", "checkout signature", "payments", "payments.capture",
		"payments.refund with idempotency", "refunds", "settlements and disputes", "errors", "webhook signatures"}
	if !slices.Equal(passed, want) {
		t.Errorf("passed %q, want %q", passed, want)
	}
}

func installSDK(t *testing.T, ctx context.Context, dir string) {
	t.Helper()
	var wanted struct{ Dependencies map[string]string }
	var there struct{ Version string }
	raw, err := os.ReadFile(filepath.Join(dir, "package.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &wanted); err != nil {
		t.Fatal(err)
	}
	if raw, err := os.ReadFile(filepath.Join(dir, "node_modules", "razorpay", "package.json")); err == nil && json.Unmarshal(raw, &there) == nil &&
		there.Version == wanted.Dependencies["razorpay"] {
		return
	}
	npm, err := exec.LookPath("npm")
	if err != nil {
		t.Fatal("this test needs npm to install the SDK (apt-get install npm): ", err)
	}
	cmd := exec.CommandContext(ctx, npm, "ci")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("npm ci in %s: %v\n%s", dir, err, out)
	}
}
