package torture

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A failing seed must do the same again: its schedule is drawn from it alone.
func TestSameSeedSameSchedule(t *testing.T) {
	t.Parallel()
	drawn := map[string]uint64{}
	for seed := range uint64(200) {
		first, again := Draw(seed).String(), Draw(seed).String()
		if first != again {
			t.Fatalf("seed %d drew\n%s\nand then\n%s", seed, first, again)
		}
		_, tracks, _ := strings.Cut(first, "\n")
		if other, there := drawn[tracks]; there {
			t.Errorf("seeds %d and %d drew the same", other, seed)
		}
		drawn[tracks] = seed
	}
}

// Every place where the shop can be told to kill itself is aimed at, and no other is.
func TestEveryFaultPointIsAimedAt(t *testing.T) {
	t.Parallel()
	call := regexp.MustCompile(`FaultPoint\("([a-z_.]+)"\)`)
	var there []string
	for _, room := range []string{"models", "payments", "jobs", "handlers"} {
		files, err := filepath.Glob(filepath.Join("..", "..", "..", room, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatal(room, err)
		}
		for _, file := range files {
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range call.FindAllSubmatch(source, -1) {
				there = append(there, string(m[1]))
			}
		}
	}
	there = slices.DeleteFunc(there, func(point string) bool { return point == "push.sent_before_mark" }) // its customers have no browser; cmd/web/push_crash_test.go kills there
	aimed := slices.Sorted(slices.Values(FaultPoints))
	slices.Sort(there)
	if there = slices.Compact(there); !slices.Equal(there, aimed) {
		t.Errorf("in the code: %v\naimed at:    %v", there, aimed)
	}
	lives := map[string]int{}
	for seed := range uint64(200) {
		for _, server := range Draw(seed).Lives {
			for _, end := range server {
				point, _, _ := strings.Cut(end, ":")
				lives[point]++
			}
		}
	}
	for _, point := range FaultPoints {
		if lives[point] < 20 {
			t.Errorf("of 200 rounds, %d lives end at %s", lives[point], point)
		}
	}
}

// What can be drawn is drawn: no branch of a track is out of reach.
func TestEveryFaultIsDrawn(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	for seed := range uint64(300) {
		all.WriteString(Draw(seed).String())
	}
	want := []string{"forged signature", "customer 0's order", "presses Pay at once at servers [0 1]", "cancels order", "is gone after paying", "signs in", "takes ticket", "off the menu",
		"pauses orders", "closes the kitchen", "paise more", "more of every limited dish", "nothing is left", "signed previous", "reordered", "delayed", "lost", "held", "copied", "is sent again",
		"says yes", "says no", "all that is left of payment", "a part of payment", "fails after all", "captured, or given back", "no balance", "is disputed", "of no order of its own", "of what is left of order", "does what task", "kills server", "holds a call to",
		"stands still", "deploys server", "restarts the database", "kills the database", "cuts every connection", "folder for letters is gone", "new webhook secret", "pass\n",
		"html_502, done", "stall", "drop", "truncate", "reset", "empty_200", "empty_object", "refuse with rate_limited", "refuse with auth_failed", "refuse with refund_six_months", "delay by", "power cut", "orderly stop"}
	want = append(want, forgeries...)
	for _, a := range attempts {
		want = append(want, a.fault)
	}
	for _, words := range want {
		if !strings.Contains(all.String(), words) {
			t.Errorf("300 rounds have no %q", words)
		}
	}
}
