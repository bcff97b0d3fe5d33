package devserver

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"svc/internal/admin/subscribers"
	"svc/internal/httpapi"
	"svc/internal/outbound/subscriber"
	"svc/internal/receiver/receivertest"
)

// hookServer starts the receiver of svc dev with the given webhooks in the settings.
func hookServer(t *testing.T, webhooks ...*subscriber.Webhook) string {
	t.Helper()
	register := subscribers.NewRegister()
	for _, w := range webhooks {
		register.SetWebhook(w)
	}
	router := (&httpapi.Shell{Now: time.Now, Log: slog.New(slog.DiscardHandler)}).Router()
	mountHook(router, register.Webhooks, time.Now)
	server := httptest.NewServer(router)
	t.Cleanup(server.Close)
	return server.URL + hookPath
}

func page(t *testing.T, url string) string {
	t.Helper()
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	content, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func TestHook(t *testing.T) {
	now := time.Now()
	url := hookServer(t, &subscriber.Webhook{ID: "whk_1", Hospital: "demo", Secrets: []subscriber.Secret{
		{Value: receivertest.OtherSecret, State: subscriber.SecretNext, Until: now.Add(time.Hour)},
		{Value: receivertest.Secret, State: subscriber.SecretCurrent, Until: now.Add(2 * time.Hour)},
	}}, &subscriber.Webhook{ID: "whk_2", Hospital: "demo", Secrets: []subscriber.Secret{
		{Value: "a secret that has been retired", State: subscriber.SecretPrevious, Until: now.Add(-time.Hour)},
	}})
	if got := page(t, url); !strings.Contains(got, "No deliveries yet") {
		t.Errorf("the empty page:\n%s", got)
	}
	for i, tt := range []struct {
		secret string
		status int
	}{
		{receivertest.Secret, 204},
		{receivertest.OtherSecret, 204}, // the secret that will become current is already accepted
		{"a secret that has been retired", 401},
		{"", 401},
	} {
		if got := receivertest.StatusOf(t, receivertest.SignedRequest(t, url, tt.secret, "evt_1", "<script>alert(1)</script>", now)); got != tt.status {
			t.Errorf("%d: answered %d, want %d", i, got, tt.status)
		}
	}
	var list struct {
		Items []struct {
			Signature, Endpoint string
			Times               int
			Payload             struct{ ID string }
		}
	}
	if err := json.Unmarshal([]byte(page(t, url+".json")), &list); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, item := range list.Items {
		got = append(got, fmt.Sprint(item.Signature, " ", item.Endpoint, " ", item.Times, " ", item.Payload.ID))
	}
	want := "refused  1 evt_1, refused  1 evt_1, verified whk_1 2 evt_1, verified whk_1 1 evt_1"
	if strings.Join(got, ", ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, ", "), want)
	}
	html := page(t, url)
	for _, want := range []string{`<span class="verified">verified</span>`, `<span class="refused">refused</span>`, "received 2 times", "&lt;script&gt;"} {
		if !strings.Contains(html, want) {
			t.Errorf("missing %q in\n%s", want, html)
		}
	}
	if strings.Contains(html, "<script>alert") {
		t.Error("the page holds what was sent as it is")
	}
}

// TestHookWithoutWebhooks: without webhooks, every request is refused, even if it is signed with an empty secret.
func TestHookWithoutWebhooks(t *testing.T) {
	url := hookServer(t)
	for _, secret := range []string{"", receivertest.Secret} {
		if got := receivertest.StatusOf(t, receivertest.SignedRequest(t, url, secret, "evt_1", "", time.Now())); got != http.StatusUnauthorized {
			t.Errorf("answered %d", got)
		}
	}
}
