// Package receivertest sends deliveries to a receiver of webhooks, for tests.
package receivertest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"svc/internal/outbound/subscriber"
	"svc/internal/signature"
)

// Signing secrets for tests.
const (
	Secret      = "whsec_AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcY" //nolint:gosec // a secret that only tests use
	OtherSecret = "whsec_GBcWFRQTEhEQDw4NDAsKCQgHBgUEAwIB" //nolint:gosec // as above
)

// SignedRequest returns a delivery as svc sends it.
func SignedRequest(t *testing.T, url, secret, id, summary string, at time.Time) *http.Request {
	t.Helper()
	body, err := json.Marshal(map[string]any{"protocol": "svc.v1", "id": id, "event": "ping", "hospitalId": "demo", "summary": summary})
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	signed, _ := signature.Sign([]subscriber.Secret{{Value: secret, State: subscriber.SecretCurrent}}, id, at, body)
	r.Header.Set(signature.HeaderBody, signed.Body)
	r.Header.Set(signature.HeaderID, id)
	r.Header.Set(signature.HeaderTimestamp, signed.Timestamp)
	r.Header.Set(signature.HeaderStandard, signed.Standard)
	return r
}

// StatusOf sends a request and returns the status of the response.
func StatusOf(t *testing.T, r *http.Request) int {
	t.Helper()
	answer, err := http.DefaultClient.Do(r) //nolint:gosec // the URL is that of a receiver on this machine
	if err != nil {
		t.Fatal(err)
	}
	if err := answer.Body.Close(); err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode
}
