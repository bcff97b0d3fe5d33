package cli

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"testing"
	"time"

	"svc/internal/analysis/simulate"
)

// TestSimulatePastByBatch sends several past days of a unit at once. Each ADT event is sent once, in a batch, and all
// batches are sent before the other requests, because the forecast learns past hours only from batches.
func TestSimulatePastByBatch(t *testing.T) {
	var paths []string
	var events []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		feed := path.Base(r.URL.Path)
		paths = append(paths, feed)
		if feed == "batch" {
			var body struct{ Events []json.RawMessage }
			if err := json.NewDecoder(r.Body).Decode(&body); err != nil || len(body.Events) == 0 || len(body.Events) > simulate.BatchEvents {
				t.Errorf("a batch of %d events: %v", len(body.Events), err)
			}
			for _, e := range body.Events {
				events = append(events, string(e))
			}
		}
		io.WriteString(w, `{"ok":true}`) //nolint:errcheck // the test checks the requests that arrive
	}))
	defer server.Close()
	args := []string{"simulate", "--profile", "large", "--for", "15d", "--start", time.Now().Add(-15 * 24 * time.Hour).UTC().Format(time.RFC3339), "--steady"}
	_, lines, _ := say(t, args...)
	var want, others []string
	for line := range strings.Lines(lines) {
		var r struct {
			Path string
			Body json.RawMessage
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		if feed := path.Base(r.Path); feed == "adt" {
			want = append(want, string(r.Body))
		} else {
			others = append(others, feed)
		}
	}
	if code, _, stderr := say(t, append(args, "--to", server.URL, "--key", "svc_1")...); code != 0 {
		t.Fatalf("code %d, says %q", code, stderr)
	}
	batches := (len(want) + simulate.BatchEvents - 1) / simulate.BatchEvents
	if strings.Join(events, "\n") != strings.Join(want, "\n") || batches < 2 {
		t.Errorf("%d events came in batches, want %d in %d", len(events), len(want), batches)
	}
	if got := strings.Join(paths, " "); got != strings.Join(append(strings.Fields(strings.Repeat("batch ", batches)), others...), " ") {
		t.Errorf("%d requests, want %d batches before %d others", len(paths), batches, len(others))
	}
	if code, _, stderr := say(t, append(args, "--speed", "2", "--from", "3", "--to", server.URL, "--key", "svc_1")...); code != 2 || !strings.Contains(stderr, "--from: requires --speed max") {
		t.Errorf("of a start in the middle of a unit in motion: code %d, says %q", code, stderr)
	}
}
