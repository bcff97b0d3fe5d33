package subscribers_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"svc/internal/outbound/subscriber"
)

// TestASlowSenderStopsNobody: while the body of a slow request is still arriving, other requests can change settings.
// If such a request changes the same object, the slow request gets 503 and changes nothing.
func TestASlowSenderStopsNobody(t *testing.T) {
	for path, change := range map[string]struct {
		first, rest, other string
		version            func(*fixture) int64
	}{
		"/api/admin/webhooks/whk_1": {
			`{"timeoutSeconds":`, `5}`, `{"enabled":false}`,
			func(h *fixture) int64 { w, _ := h.register.Webhook("north", "whk_1"); return w.Version },
		},
		"/api/admin/alerts/recipients/rcp_1": {
			`{"label":`, `"night"}`, `{"label":"day"}`,
			func(h *fixture) int64 { p, _ := h.register.Recipient("north", "rcp_1"); return p.Version },
		},
	} {
		t.Run(path, func(t *testing.T) {
			h := open(t)
			h.register.SetWebhook(&subscriber.Webhook{ID: "whk_1", Hospital: "north", URL: "https://partner.example/", Enabled: true, RatePerSecond: 1, TimeoutSeconds: 1, Version: 1})
			h.register.SetRecipient(&subscriber.Recipient{ID: "rcp_1", Hospital: "north", Label: "desk", WebhookID: "whk_1", Version: 1})
			body, sender := io.Pipe()
			r := httptest.NewRequest(http.MethodPatch, path, body)
			r.Header.Set("Authorization", "Bearer "+h.tokens["admin"])
			slow, ended := httptest.NewRecorder(), make(chan struct{})
			go func() {
				defer close(ended)
				h.ServeHTTP(slow, r)
			}()
			if _, err := io.WriteString(sender, change.first); err != nil { // returns once the server has read the first part
				t.Fatal(err)
			}
			h.ask("foreign", http.MethodPost, "/api/admin/alerts/recipients", `{"label":"supervisor","phone":"+15555550100"}`, http.StatusOK)
			h.ask("admin", http.MethodPatch, path, change.other, http.StatusOK)
			if _, err := io.WriteString(sender, change.rest); err != nil {
				t.Fatal(err)
			}
			sender.Close()
			<-ended
			if slow.Code != http.StatusServiceUnavailable || slow.Header().Get("Retry-After") == "" || change.version(h) != 2 {
				t.Errorf("a change of what was changed meanwhile: %d %s, version %d", slow.Code, slow.Body, change.version(h))
			}
		})
	}
}
