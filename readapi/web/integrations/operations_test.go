package integrations

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"

	"svc/ingest"
	"svc/internal/admin/keys"
	"svc/internal/admin/layout"
	"svc/internal/admin/subscribers"
	"svc/internal/admin/users"
	"svc/internal/admin/walls"
	"svc/readapi"
	"svc/readapi/web/auth"
)

// covered maps each operation to the page on which an administrator can execute it, in the form "METHOD path", where
// the path is relative to /app/integrations. If there is no such page, the value is "no: " and the reason.
var covered = map[string]string{
	"mintKey": "POST /keys/new", "rotateKey": "POST /keys/{id}/rotate", "revokeKey": "POST /keys/{id}/revoke", "listKeys": "GET /keys", "getKey": "GET /keys/{id}/rotate",
	"createWebhook": "POST /webhooks/new", "changeWebhook": "POST /webhooks/{id}/edit", "deleteWebhook": "POST /webhooks/{id}/delete", "rotateSecret": "POST /webhooks/{id}/rotate",
	"listWebhooks": "GET /webhooks", "getWebhook": "GET /webhooks/{id}", "testWebhook": "POST /webhooks/{id}/test", "replayWebhook": "POST /webhooks/{id}/replay",
	"listWebhookDeliveries": "GET /webhooks/{id}", "getDelivery": "GET /webhooks/{id}/deliveries/{delivery}", "retryDelivery": "POST /webhooks/{id}/deliveries/{delivery}/retry",
	"getCommand": "GET /webhooks/{id}/commands/{command}", "stopCommand": "POST /webhooks/{id}/commands/{command}/stop",
	"makeWall": "POST /walls", "relinkWall": "POST /walls/{id}/link", "revokeWall": "POST /walls/{id}/revoke", "listWalls": "GET /walls",
	"listUsers": "GET /users", "inviteUser": "POST /users", "changeUser": "POST /users/{id}", "withdrawInvitation": "POST /users/invitations/{id}", "listAudit": "GET /audit",
	"getStatus": "GET ",

	"listDeliveries":  "no: the deliveries to an endpoint are on its page",
	"getTrends":       "no: /app/trends shows them",
	"getLayout":       "no: a plan is drawn by a program, and sent as one file",
	"setLayout":       "no: a plan is drawn by a program, and sent as one file",
	"listTerminology": "GET /terminology/map", "setTerminology": "POST /terminology/code", "deleteTerminology": "POST /terminology/map/{id}", "listWorklist": "GET /terminology",
	"ignoreCodes": "POST /terminology/code", "restoreCodes": "POST /terminology/code",
	"listRules": "GET /rules", "putRule": "POST /rules/{id}", "deleteRule": "POST /rules/{id}", "setRule": "no: putRule does the same for the factor of its path",
	"listLocations": "GET /terminology/locations", "setLocation": "POST /terminology/locations/row", "deleteLocation": "POST /terminology/locations/row/{id}",
	"getSourceStatus": "GET /feeds/sources/{id}", "listDeadLetters": "GET /feeds/letters", "getDeadLetter": "no: the list has all of it", "retryDeadLetter": "POST /feeds/letters/{id}",
	"getSettings": "no: the time zone and the habits of senders are set once, by the operator", "putSettings": "no: the time zone and the habits of senders are set once, by the operator",
	"listRecipients": "GET /alerts", "createRecipient": "POST /alerts/recipients/new", "changeRecipient": "POST /alerts/recipients/{id}", "deleteRecipient": "POST /alerts/recipients/{id}/remove", "testAlert": "POST /alerts/recipients/{id}/test",
	"listAlertTiers": "GET /alerts", "putAlertTier": "POST /alerts/tiers/{id}", "listEpisodes": "GET /alerts/episodes", "acknowledgeAlert": "POST /alerts/episodes/{id}",
}

// TestEveryOperationHasAPage: every administrator operation has either a page or a reason for having none.
func TestEveryOperationHasAPage(t *testing.T) {
	t.Parallel()
	routes := map[string]bool{}
	a := withAdmins(t)
	err := chi.Walk(a.Router, func(method, pattern string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		if rest, below := strings.CutPrefix(pattern, auth.AppPath+rootPath); below {
			routes[method+" "+rest] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, o := range slices.Concat(ingest.Operations(), readapi.Operations(), keys.Operations(), subscribers.Operations(), users.Operations(), walls.Operations(), layout.Operations()) {
		if !strings.HasPrefix(o.Path, "/api/admin/") && !strings.HasPrefix(o.Path, "/api/ingest/status") {
			continue
		}
		seen[o.ID] = true
		where, known := covered[o.ID]
		if reason, no := strings.CutPrefix(where, "no: "); !known || no && reason == "" || !no && !routes[where] {
			t.Errorf("%s (%s %s): on no page: %q", o.ID, o.Method, o.Path, where)
		}
	}
	for id := range covered {
		if !seen[id] {
			t.Errorf("there is no operation %s", id)
		}
	}
}
