package integrations

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestCommandIsNotReadYet: the page of a new command waits until the notifier has read the command,
// even in a browser without JavaScript. After a minute, the command is reported as not found.
func TestCommandIsNotReadYet(t *testing.T) {
	t.Parallel()
	for path, tt := range map[string]struct{ order, says string }{
		"alerts/recipients/rcp_1/test":          {"POST /api/admin/alerts/test", "waiting for a response"},
		"webhooks/whk_a/test":                   {"POST /api/admin/webhooks/whk_a/test", "<h2>Test</h2>"},
		"webhooks/whk_a/deliveries/dlv_9/retry": {"POST /api/admin/deliveries/dlv_9/retry", "<h2>Retry</h2>"},
	} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			a, cookie := local(t)
			a.answers["GET /api/admin/webhooks/whk_a"] = hookA
			a.answers["GET /api/admin/deliveries/dlv_9"] = `{"id":"dlv_9","endpointId":"whk_a"}`
			a.answers[tt.order] = `{"commandId":"cmd_9"}`
			ordered := a.Ask("POST", "/app/integrations/"+path, cookie, "channel=email&event=ping")
			for range 2 {
				got := a.follow(ordered, cookie)
				if body := got.Body.String(); got.Code != http.StatusOK || !strings.Contains(body, tt.says) || !strings.Contains(body, `data-poll="1"`) || !strings.Contains(body, `<meta http-equiv="refresh" content="2">`) {
					t.Fatalf("%d: %s", got.Code, body)
				}
				for _, c := range got.Result().Cookies() {
					if c.MaxAge < 0 {
						t.Errorf("the browser forgets %s: the next look finds no command", c.Name)
					}
				}
			}
			if got := a.Ask("GET", ordered.Header().Get("Location"), cookie); got.Code != http.StatusNotFound {
				t.Errorf("of another person's order: %d", got.Code)
			}
			a.Time = a.Time.Add(time.Minute)
			if got := a.follow(ordered, cookie); got.Code != http.StatusNotFound {
				t.Errorf("a minute later: %d", got.Code)
			}
		})
	}
}

// TestLivePages: new data is shown without a reload by the user, even in a browser without JavaScript. The answer to
// a form does not refresh itself, because its path cannot be requested as a page.
func TestLivePages(t *testing.T) {
	t.Parallel()
	a, cookie := local(t)
	const noscript = `<noscript><meta http-equiv="refresh" content="30"></noscript>`
	for _, path := range []string{"feeds", "alerts/episodes"} {
		if body := a.Ask("GET", "/app/integrations/"+path, cookie).Body.String(); !strings.Contains(body, noscript) || !strings.Contains(body, `data-poll="10"`) {
			t.Errorf("%s: %s", path, body)
		}
	}
	a.answers["POST /api/admin/alerts/episodes/epi_1/ack"] = overtook
	if body := a.Ask("POST", "/app/integrations/alerts/episodes/epi_1", cookie).Body.String(); strings.Contains(body, noscript) || strings.Contains(body, "data-poll") {
		t.Errorf("refused: %s", body)
	}
}

// TestAlertTestWaits: while the outcome of a test alert is pending, its page refreshes itself, even
// in a browser without JavaScript. Once the outcome is known, the page no longer refreshes.
func TestAlertTestWaits(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		command, says string
		waits         bool
	}{
		"open":      {`{"commandId":"cmd_1","verb":"alert-test","done":false}`, "waiting for a response", true},
		"delivered": {`{"commandId":"cmd_1","verb":"alert-test","done":true,"delivered":1}`, "Test sent and accepted.", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, cookie := local(t)
			a.answers["GET /api/admin/commands/cmd_1"] = tt.command
			got := a.Ask("GET", "/app/integrations/alerts/tests/cmd_1", cookie)
			body := got.Body.String()
			if got.Code != http.StatusOK || !strings.Contains(body, tt.says) {
				t.Fatalf("%d lacks %q: %s", got.Code, tt.says, body)
			}
			for _, how := range []string{`data-poll="1"`, `<noscript><meta http-equiv="refresh" content="2"></noscript>`} {
				if strings.Contains(body, how) != tt.waits {
					t.Errorf("%s: %v, want %v", how, !tt.waits, tt.waits)
				}
			}
		})
	}
}
