package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// say runs the command line with nothing around it and returns what it says.
func say(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, faults bytes.Buffer
	code = run(context.Background(), args, world{env: environment(), stdout: &out, stderr: &faults, now: time.Now})
	return code, out.String(), faults.String()
}

// TestFaultsOfACommandLine wants all of them at once, one a line, on standard
// error, and nothing started.
func TestFaultsOfACommandLine(t *testing.T) {
	nowhere := filepath.Join(t.TempDir(), "none")
	for name, tt := range map[string]struct {
		args []string
		want []string // one in each line
	}{
		"no such command": {[]string{"serve"}, []string{"no command"}},
		"unknown role":    {[]string{"run", "read,write,ingest,think"}, []string{`"write"`, `"think"`}},
		"unknown flag":    {[]string{"dev", "-colour"}, []string{"-colour"}},
		"dev": {
			[]string{"dev", "-data", "", "-listen", "0.0.0.0:1", "-kafka-port", "70000", "-log-level", "loud", "more"},
			[]string{"-listen", "-log-level", "-data", "-kafka-port", `"more"`},
		},
		"simulate": {
			[]string{"simulate", "-profile", "huge", "-births", "7", "-for", "long", "-timezone", "Mars/Base", "-speed", "0", "-start", "soon", "-from", "0", "-to", "dev", "-data", nowhere, "more"},
			[]string{`"more"`, "-for", "-speed", "-timezone", "-start", "-from", "-profile", "-births", "start svc dev"},
		},
		"mint": {
			[]string{"keys", "mint", "-data", nowhere, "-scopes", "ingest:adt,fly", "-expires", "soon"},
			[]string{"-hospital", "-name", "fly", "-expires", "-kafka"},
		},
		"mint, unknown flag": {[]string{"keys", "mint", "-colour"}, []string{"-colour"}},
		"reseal":             {[]string{"secrets", "reseal", "-data", nowhere}, []string{"-secrets-key: must be given", "-kafka"}},
		"reseal, bad key":    {[]string{"secrets", "reseal", "-data", nowhere, "-secrets-key", "short"}, []string{"-secrets-key"}},
		"list":               {[]string{"keys", "list", "-data", nowhere}, []string{"-kafka"}},
		"rotate":             {[]string{"keys", "rotate", "-data", nowhere, "-overlap", "2h"}, []string{"-id", "-overlap", "-kafka"}},
		"create": {
			[]string{"hospitals", "create", "-data", nowhere, "-id", "No Id", "-timezone", "Mars/Base"},
			[]string{"-name", "hospital id", "timezone", "-kafka"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := say(t, tt.args...)
			lines := strings.Split(strings.TrimSpace(stderr), "\n")
			if code != 2 || stdout != "" || len(lines) != len(tt.want) {
				t.Fatalf("code %d, says %q and %q; want code 2 and %d lines", code, stdout, stderr, len(tt.want))
			}
			for i, line := range lines {
				if !strings.HasPrefix(line, "svc") || !strings.Contains(line, tt.want[i]) {
					t.Errorf("line %d is %q, want %q in it", i, line, tt.want[i])
				}
			}
			if _, err := os.Stat(nowhere); err == nil {
				t.Error("it made the data folder")
			}
		})
	}
}

func TestHelp(t *testing.T) {
	for name, tt := range map[string]struct {
		args []string
		want []string
	}{
		"svc":      {nil, []string{"svc dev", "svc keys", "-help"}},
		"dev":      {[]string{"dev", "-h"}, []string{"usage: svc dev", "-data", "-ephemeral"}},
		"simulate": {[]string{"simulate", "-help"}, []string{"usage: svc simulate", "-seed", "-profile", "-speed", "-to"}},
		"role":     {[]string{"read", "-help"}, []string{"usage: svc read", "-redis", "SVC_REDIS_FILE"}},
		"verbs":    {[]string{"keys", "--help"}, []string{"svc keys mint", "svc keys revoke"}},
		"verb":     {[]string{"keys", "mint", "-h"}, []string{"usage: svc keys mint", "-scopes", "-kafka-sasl-password", "SVC_KAFKA_SASL_PASSWORD_FILE"}},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := say(t, tt.args...)
			if code != 0 || stderr != "" {
				t.Errorf("code %d, says %q", code, stderr)
			}
			for _, want := range tt.want {
				if !strings.Contains(stdout, want) {
					t.Errorf("%q is not in\n%s", want, stdout)
				}
			}
		})
	}
}

// TestWhenAKeyEnds takes the earlier of expiry and revocation, which lies ahead
// while a rotation overlaps.
func TestWhenAKeyEnds(t *testing.T) {
	const early, late = "2031-04-05T12:00:00.000Z", "2031-04-06T12:00:00.000Z"
	for name, tt := range map[string]struct{ expires, revoked, want string }{
		"never":           {"", "", ""},
		"expires":         {early, "", early},
		"revoked":         {"", early, early},
		"revoked first":   {late, early, early},
		"expires earlier": {early, late, early},
	} {
		row := keyRow{ExpiresAt: tt.expires, RevokedAt: tt.revoked}
		if got := row.ends(); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// TestStoppedBeforeKafkaAnswers is a role that is stopped while it still waits
// for its brokers: no fault.
func TestStoppedBeforeKafkaAnswers(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var out, faults bytes.Buffer
	code := run(ctx, []string{"read", "-kafka", "127.0.0.1:1"}, world{env: environment(), stdout: &out, stderr: &faults, now: time.Now})
	if code != 0 || strings.Contains(faults.String(), "svc read:") {
		t.Errorf("code %d, says %q", code, &faults)
	}
}
