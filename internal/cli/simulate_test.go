package cli

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestSimulateLines: the same arguments print the same lines; --from omits the first lines.
func TestSimulateLines(t *testing.T) {
	args := []string{"simulate", "--profile", "small", "--for", "2d", "--seed", "3"}
	code, all, stderr := say(t, args...)
	if code != 0 || !strings.Contains(stderr, " lines in ") || strings.Count(all, "\n") < 50 {
		t.Fatalf("code %d, %d bytes, says %q", code, len(all), stderr)
	}
	for line := range strings.Lines(all) {
		var r struct {
			At   time.Time
			Path string
			Body map[string]any
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil || r.At.IsZero() || !strings.HasPrefix(r.Path, "/api/ingest/") || len(r.Body) == 0 {
			t.Fatalf("%v in %s", err, line)
		}
	}
	if _, again, _ := say(t, args...); again != all {
		t.Error("the second run prints something else")
	}
	if _, rest, _ := say(t, append(args, "--from", "11")...); rest != strings.Join(strings.SplitAfter(all, "\n")[10:], "") {
		t.Error("--from 11 does not leave out ten lines")
	}
}

// TestSimulateTo sends requests to a server that is sometimes busy. Every request arrives once and in order, and a
// retry waits for the time in Retry-After.
func TestSimulateTo(t *testing.T) {
	var mu sync.Mutex
	var got []string
	var early bool
	var refused time.Time
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Header.Get("Authorization") != "Bearer svc_1" || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%v %v", err, r.Header)
		}
		switch asked++; asked {
		case 5:
			refused = time.Now()
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		case 6:
			early = time.Since(refused) < time.Second
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		got = append(got, r.URL.Path+" "+string(body))
		io.WriteString(w, `{"ok":true}`) //nolint:errcheck // the test checks the requests that arrive
	}))
	defer server.Close()
	args := []string{"simulate", "--profile", "census-only", "--for", "6h", "--start", "2026-03-01T12:00:00Z"}
	_, lines, _ := say(t, args...)
	code, stdout, stderr := say(t, append(args, "--to", server.URL, "--key", "svc_1")...)
	if code != 0 || stdout != "" || !strings.Contains(stderr, "HTTP 200 ") || !strings.Contains(stderr, "2 retried") {
		t.Errorf("code %d, says %q, %q", code, stdout, stderr)
	}
	if early {
		t.Error("tried again before the second that the server asked for")
	}
	var want []string
	for line := range strings.Lines(lines) {
		var r struct {
			Path string
			Body json.RawMessage
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		want = append(want, r.Path+" "+string(r.Body))
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%d requests came, %d lines are printed", len(got), len(want))
	}
	server.Close()
	if code, _, stderr = say(t, append(args, "--to", server.URL, "--key", "svc_1", "--retry-for", "10ms", "--from", "4")...); code != 1 || !strings.Contains(stderr, "continue with --from 4") {
		t.Errorf("of a server that is gone: code %d, says %q", code, stderr)
	}
}

// TestSimulateStops: if the context is canceled while svc simulate waits until the next request is due, the command
// ends without an error.
func TestSimulateStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	stopping := writerFunc(func(p []byte) (int, error) {
		cancel()
		return len(p), nil
	})
	code := run(ctx, []string{"simulate", "--speed", "1", "--for", "12h"}, Env{LookupEnv: noEnvironment, Stdout: stopping, Stderr: io.Discard, Now: time.Now})
	if code != 0 {
		t.Errorf("code %d", code)
	}
}

// TestSimulateInterrupted: if svc simulate is interrupted while it writes lines, it fails, and the lines of a second run
// with the --from that the error names complete the output.
func TestSimulateInterrupted(t *testing.T) {
	args := []string{"simulate", "--profile", "small", "--for", "12w"}
	_, all, _ := say(t, args...)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out, faults strings.Builder
	stopping := writerFunc(func(p []byte) (int, error) {
		cancel()
		return out.Write(p)
	})
	code := run(ctx, args, Env{LookupEnv: noEnvironment, Stdout: stopping, Stderr: &faults, Now: time.Now})
	_, from, named := strings.Cut(faults.String(), "svc simulate: interrupted; to write the missing lines, continue with --from ")
	if code != 1 || !named {
		t.Fatalf("code %d, says %q", code, faults.String())
	}
	if _, rest, _ := say(t, append(args, "--from", strings.TrimSpace(from))...); out.String()+rest != all {
		t.Error("the two parts are not the whole output")
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
