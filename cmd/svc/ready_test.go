package main

import (
	"bytes"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestReadyCommand: svc ready succeeds if the process is ready. If the process is not ready, svc ready prints the
// process's report on one line.
func TestReadyCommand(t *testing.T) {
	t.Parallel()
	serve := func(status int, body string) (port string) {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/readyz" {
				t.Errorf("asked for %s", r.URL)
			}
			w.WriteHeader(status)
			w.Write([]byte(body)) //nolint:errcheck // the client under test reads the response
		}))
		t.Cleanup(server.Close)
		_, port, err := net.SplitHostPort(server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		return port
	}
	ready, starting := serve(200, "ready\n"), serve(503, "kafka: no broker responds\nstart: waiting\n")
	for name, tt := range map[string]struct {
		args     []string
		variable string
		code     int
		message  string
	}{
		"ready":                         {[]string{"127.0.0.1:" + ready}, "", 0, ""},
		"every address of the machine":  {nil, "0.0.0.0:" + ready, 0, ""},
		"no host":                       {nil, ":" + ready, 0, ""},
		"the argument has precedence":   {[]string{"127.0.0.1:" + ready}, "127.0.0.1:" + starting, 0, ""},
		"not ready":                     {nil, "127.0.0.1:" + starting, 1, "svc ready: not ready: kafka: no broker responds; start: waiting\n"},
		"no address":                    {[]string{"9090"}, "", 1, "svc ready: \"9090\" is not HOST:PORT\n"},
		"a process that does not serve": {[]string{"127.0.0.1:1"}, "", 1, "svc ready: not ready: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out, faults bytes.Buffer
			code := run(t.Context(), append([]string{"ready"}, tt.args...), env{
				LookupEnv: func(variable string) (string, bool) {
					return tt.variable, variable == "SVC_PRIVATE_LISTEN" && tt.variable != ""
				},
				Stdout: &out, Stderr: &faults,
			})
			if code != tt.code || !strings.HasPrefix(faults.String(), tt.message) || tt.message == "" && faults.Len() > 0 {
				t.Errorf("code %d, %q, want %d, %q", code, &faults, tt.code, tt.message)
			}
		})
	}
}
