package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"svc/internal/cli"
)

var update = flag.Bool("update", false, "rewrite testdata/ and the generated parts of docs/")

const key32 = "0123456789abcdef0123456789abcdef"

func environment(pairs ...string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1], true
			}
		}
		return "", false
	}
}

// say runs a command with an empty environment and returns its output.
func say(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, faults bytes.Buffer
	code = run(context.Background(), args, env{LookupEnv: environment(), Stdout: &out, Stderr: &faults, Now: time.Now})
	return code, out.String(), faults.String()
}

// TestFaultsOfACommandLine: all errors are reported together on standard error, one per line. The command does not
// start.
func TestFaultsOfACommandLine(t *testing.T) {
	nowhere := filepath.Join(t.TempDir(), "none")
	for name, tt := range map[string]struct {
		args []string
		want []string // one substring per line
	}{
		"no such command": {[]string{"serve"}, []string{"unknown command"}},
		"unknown role":    {[]string{"run", "read,write,ingest,think"}, []string{`"write"`, `"think"`}},
		"unknown flag":    {[]string{"dev", "--colour"}, []string{"--colour"}},
		"dev": {
			[]string{"dev", "--data", "", "--listen", "0.0.0.0:1", "--kafka-port", "70000", "--log-level", "loud", "more"},
			[]string{`"more"`, "--listen", "--log-level", "--data", "--kafka-port"},
		},
		"simulate": {
			[]string{"simulate", "--profile", "huge", "--births", "7", "--for", "long", "--timezone", "Mars/Base", "--speed", "0", "--start", "soon", "--from", "0", "--to", "dev", "--data", nowhere, "more"},
			[]string{`"more"`, "--profile", "--for", "--speed", "--timezone", "--start", "--from", "--births", "start svc dev"},
		},
		"mint": {
			[]string{"keys", "mint", "--data", nowhere, "--scopes", "ingest:adt,fly", "--expires", "soon"},
			[]string{"--hospital", "--name", "fly", "--expires", "--kafka"},
		},
		"rounds": {
			[]string{"verify", "--data", nowhere, "--continuous", "--every", "0"},
			[]string{"--every", "--kafka"},
		},
		"rounds of one": {
			[]string{"verify", "--data", nowhere, "--every", "1s", "--metrics", "127.0.0.1:0"},
			[]string{"--every: requires --continuous", "--metrics: requires --continuous", "--kafka"},
		},
		"window": {
			[]string{"export", "--data", nowhere, "--topic", "verdicts", "--out", nowhere, "--from", "2026-03-02", "--to", "2026-03-01"},
			[]string{"--to: must be after --from", "--kafka"},
		},
		"a wrong topic": {[]string{"export", "--data", nowhere, "--topic", "facts", "--out", nowhere}, []string{"--topic: must be", "--kafka"}},
		"lifetime of a link": {
			[]string{"admin", "link", "--data", nowhere, "--hospital", "h", "--ttl", "2d"}, []string{"--ttl: must be a duration", "--kafka"},
		},
		"two keys": {
			[]string{"status", "--api", "http://127.0.0.1:1", "--key", "svc_1", "--key-file", nowhere},
			[]string{"--key, --key-file: give only one", "--key-file"},
		},
		"two keys of a sender":    {[]string{"send", "-", "--to", "http://127.0.0.1:1", "--key", "svc_1", "--key-file", nowhere}, []string{"--key, --key-file: give only one", "--key-file"}},
		"no address":              {[]string{"webhooks", "list", "--api", "127.0.0.1:8080", "--key", "svc_1"}, []string{"--api: must be an address such as https://"}},
		"address of another kind": {[]string{"webhooks", "list", "--api", "ftp://127.0.0.1", "--key", "svc_1"}, []string{"--api: must be an address such as https://"}},
		"pace":                    {[]string{"replay", "--data", nowhere, "--speed", "nan"}, []string{"--speed", "--kafka"}},
		"speed of the demo":       {[]string{"dev", "--data", nowhere, "--demo", "--speed", "5"}, []string{"--speed: the demo runs in real time"}},
		"mint, unknown flag":      {[]string{"keys", "mint", "--colour"}, []string{"--colour"}},
		"reseal":                  {[]string{"secrets", "reseal", "--data", nowhere}, []string{"--secrets-key: required", "--kafka"}},
		"reseal, bad key":         {[]string{"secrets", "reseal", "--data", nowhere, "--secrets-key", "short"}, []string{"--secrets-key", "--kafka"}},
		"list":                    {[]string{"keys", "list", "--data", nowhere}, []string{"--kafka"}},
		"rotate":                  {[]string{"keys", "rotate", "--data", nowhere, "--overlap", "2h"}, []string{"KEY: required", "--overlap", "--kafka"}},
		"create, two ids":         {[]string{"hospitals", "create", "a", "--id", "b", "--name", "N", "--timezone", "UTC", "--data", nowhere}, []string{"ID, --id: give exactly one", "--kafka"}},
		"create, no id":           {[]string{"hospitals", "create", "--name", "N", "--timezone", "UTC", "--data", nowhere}, []string{"ID, --id: give exactly one", "--kafka"}},
		"create, bare id":         {[]string{"hospitals", "create", "No-Id", "--name", "N", "--timezone", "UTC", "--data", nowhere}, []string{"hospital id", "--kafka"}},
		"create": {
			[]string{"hospitals", "create", "--data", nowhere, "--id", "No Id", "--timezone", "Mars/Base"},
			[]string{"--name", "hospital id", "timezone", "--kafka"},
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

// TestFlagWinsOverVariables: a flag takes precedence over its variable, and over the variable of another flag with the
// same purpose. A user who names a server must not reach the server that the environment names.
func TestFlagWinsOverVariables(t *testing.T) {
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Header.Get("Authorization"))
		fmt.Fprint(w, `{"ok":true,"data":{"webhooks":[]}}`)
	}))
	defer server.Close()
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte("svc_file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const elsewhere = "http://127.0.0.1:1"
	for name, tt := range map[string]struct {
		env  map[string]string
		args []string
		key  string
	}{
		"--api over SVC_API":      {map[string]string{"SVC_API": elsewhere}, []string{"--api", server.URL, "--key", "svc_flag"}, "svc_flag"},
		"--key over SVC_KEY_FILE": {map[string]string{"SVC_KEY_FILE": file}, []string{"--api", server.URL, "--key", "svc_flag"}, "svc_flag"},
		"--key-file over SVC_KEY": {map[string]string{"SVC_KEY": "svc_variable"}, []string{"--api", server.URL, "--key-file", file}, "svc_file"},
		"variables alone":         {map[string]string{"SVC_API": server.URL, "SVC_KEY_FILE": file}, nil, "svc_file"},
	} {
		t.Run(name, func(t *testing.T) {
			asked = nil
			var out, faults bytes.Buffer
			lookup := func(name string) (string, bool) { value, ok := tt.env[name]; return value, ok }
			code := run(t.Context(), append([]string{"webhooks", "list"}, tt.args...), env{LookupEnv: lookup, Stdout: &out, Stderr: &faults, Now: time.Now})
			if code != 0 || !slices.Equal(asked, []string{"Bearer " + tt.key}) {
				t.Errorf("code %d, asked with %q, says %s", code, asked, &faults)
			}
		})
	}
}

// TestKeyFile: if a key file is empty or contains more than one key, the error says so.
func TestKeyFile(t *testing.T) {
	for name, content := range map[string]string{"empty": "", "blank": " \n", "two": "svc_1\nsvc_2\n"} {
		file := filepath.Join(t.TempDir(), "key")
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"status", "--api", "http://127.0.0.1:1"}, {"send", "-", "--to", "http://127.0.0.1:1"}} {
			code, _, stderr := say(t, append(args, "--key-file", file)...)
			if code != 2 || !strings.Contains(stderr, "--key-file: must contain one key") {
				t.Errorf("%s, %s: code %d, says %q", name, args[0], code, stderr)
			}
		}
	}
}

func writeDevFile(t *testing.T, dir string, d *cli.DevFile) {
	t.Helper()
	content, err := json.Marshal(d)
	if err == nil {
		err = os.WriteFile(cli.DevFilePath(dir), content, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestSvcDevHasEnded: dev.json remains when svc dev exits. A command that uses the file then reports that svc dev has
// exited, rather than that an address does not respond.
func TestSvcDevHasEnded(t *testing.T) {
	ended := httptest.NewServer(nil)
	ended.Close()
	dir := t.TempDir()
	writeDevFile(t, dir, &cli.DevFile{
		BaseURL: ended.URL, Kafka: strings.TrimPrefix(ended.URL, "http://"), Redis: "redis://127.0.0.1:1", AdminKey: "svc_1", APIKey: "svc_1",
	})
	for _, args := range [][]string{
		{"keys", "list"}, {"verify"}, {"backtest", "--hospital", "demo", "--out", dir}, {"status"}, {"webhooks", "list"}, {"send", "commands.go"}, {"simulate", "--to", "dev"},
	} {
		code, stdout, stderr := say(t, append(args, "--data", dir)...)
		if code != 2 || stdout != "" || !strings.Contains(stderr, "start svc dev (the svc dev that wrote "+cli.DevFilePath(dir)+" is not running)") || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%q: code %d, says %q and %q", args, code, stdout, stderr)
		}
	}
}

// TestStoppedBeforeKafkaAnswers: stopping a role that is still waiting for its brokers is not an
// error.
func TestStoppedBeforeKafkaAnswers(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var out, faults bytes.Buffer
	code := run(ctx, []string{"read", "--kafka", "127.0.0.1:1"}, env{LookupEnv: environment(), Stdout: &out, Stderr: &faults, Now: time.Now})
	if code != 0 || strings.Contains(faults.String(), "svc read:") {
		t.Errorf("code %d, says %q", code, &faults)
	}
}
