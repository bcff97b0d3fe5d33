package statefulset

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestScaledDown: svc prestop distinguishes a pod that is scaled down from one that is replaced. If the response is
// unclear, the pod remains a member of its group.
func TestScaledDown(t *testing.T) {
	for name, tt := range map[string]struct {
		pod    string
		status int
		body   string
		gone   bool
		fails  bool
	}{
		"within the replicas":  {"svc-process-1", 200, `{"spec":{"replicas":2}}`, false, false},
		"beyond the replicas":  {"svc-process-2", 200, `{"spec":{"replicas":2}}`, true, false},
		"down to nothing":      {"svc-process-0", 200, `{"spec":{"replicas":0}}`, true, false},
		"ordinals from 5":      {"svc-process-6", 200, `{"spec":{"replicas":2,"ordinals":{"start":5}}}`, false, false},
		"beyond those from 5":  {"svc-process-7", 200, `{"spec":{"replicas":2,"ordinals":{"start":5}}}`, true, false},
		"set is being deleted": {"svc-process-0", 200, `{"metadata":{"deletionTimestamp":"2031-04-05T12:00:00Z"},"spec":{"replicas":2}}`, true, false},
		"set is deleted":       {"svc-process-0", 404, `{}`, true, false},
		"no right to ask":      {"svc-process-2", 403, `{}`, false, true},
		"no answer of use":     {"svc-process-2", 200, `<html>`, false, true},
		"no replicas":          {"svc-process-2", 200, `{}`, false, true},
		"no pod of a set":      {"svc-read-6d4cf", 200, `{"spec":{"replicas":2}}`, false, true},
		"no name at all":       {"", 200, `{"spec":{"replicas":2}}`, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/apis/apps/v1/namespaces/north/statefulsets/svc-process" || r.Header.Get("Authorization") != "Bearer secret" {
					t.Errorf("asked for %s as %q", r.URL, r.Header.Get("Authorization"))
				}
				w.WriteHeader(tt.status)
				io.WriteString(w, tt.body) //nolint:errcheck // the test reads the body
			}))
			defer server.Close()
			k := &kubernetes{base: server.URL, token: "secret", namespace: "north", client: server.Client()}
			gone, err := k.scaledDown(t.Context(), tt.pod)
			if gone != tt.gone || (err != nil) != tt.fails {
				t.Errorf("gone %v, %v", gone, err)
			}
		})
	}
}
