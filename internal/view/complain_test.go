package view_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"svc/internal/view"
)

// TestComplaints: if an operator must fix a failure, the log names the option to check, at most once every five
// minutes.
func TestComplaints(t *testing.T) {
	embedded, err := view.Embed()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(embedded.Close)
	for name, tt := range map[string]struct{ command, refusal, want string }{
		"wrong password": {"PING", "WRONGPASS invalid username-password pair", `redis refuses a command; check user, password and rights`},
		"missing right":  {"PING", "NOPERM this user has no permissions to run the 'ping' command", `redis refuses a command`},
		"no INFO":        {"INFO", "NOPERM this user has no permissions to run the 'info' command", `redis refuses a command`},
		"a cluster":      {"PING", "MOVED 3999 127.0.0.1:6381", "Redis is a cluster: add cluster=true to the URL in --redis"},
		"a replica":      {"PING", "READONLY You can't write against a read only replica.", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var lines bytes.Buffer
			now := time.Now()
			v, err := view.Open(view.Config{
				URL: embedded.URL(), Now: func() time.Time { return now }, Log: slog.New(slog.NewTextHandler(&lines, nil)),
			})
			if err != nil {
				t.Fatal(err)
			}
			defer v.Close()
			embedded.Hook(func(command string) string {
				if command == tt.command {
					return tt.refusal
				}
				return ""
			})
			defer embedded.Hook(nil)
			times := 0
			ping := func() {
				if err := v.Ping(t.Context()); (err == nil) != (tt.command == "INFO") {
					t.Errorf("ping: %v", err)
				}
				times = strings.Count(lines.String(), "option=--redis ")
			}
			ping()
			ping()
			if tt.want == "" {
				if lines.Len() > 0 {
					t.Errorf("log %s", &lines)
				}
				return
			}
			if times != 1 || !strings.Contains(lines.String(), tt.want) || !strings.Contains(lines.String(), tt.refusal) {
				t.Errorf("log %s", &lines)
			}
			if now = now.Add(5 * time.Minute); tt.command != "PING" {
				return // INFO is sent only on a new connection
			}
			if ping(); times != 2 {
				t.Errorf("after five minutes, log %s", &lines)
			}
		})
	}
}

// TestComplaintOfAbsence: if nothing listens at an address, the log names the address and its option.
func TestComplaintOfAbsence(t *testing.T) {
	var lines bytes.Buffer
	v, err := view.Open(view.Config{URL: "redis://127.0.0.1:1/0", Now: time.Now, Log: slog.New(slog.NewTextHandler(&lines, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	if err := v.Ping(t.Context()); err == nil {
		t.Error("a Redis that does not exist responds")
	}
	if !strings.Contains(lines.String(), `msg="redis unavailable" option=--redis error=`) {
		t.Errorf("log %s", &lines)
	}
}
