package integrations

import (
	"net/http"
	"strings"
	"testing"
)

// TestAlertTestWaits: while the outcome of a test alert is open, its page looks again, also in a
// browser without scripts. Once the outcome is known the page stays as it is.
func TestAlertTestWaits(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		command, says string
		waits         bool
	}{
		"open":      {`{"commandId":"cmd_1","verb":"alert-test","done":false}`, "the answer is not there yet", true},
		"delivered": {`{"commandId":"cmd_1","verb":"alert-test","done":true,"delivered":1}`, "The channel has taken the test.", false},
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
