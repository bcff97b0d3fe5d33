package subscribers_test

import (
	"context"
	"testing"

	"svc/internal/outbound"
)

// TestBehind: while the lists may be outdated, a request for a list is refused, and the response states the reason.
// An action on an object in an outdated list is still accepted, except that a command that the list shows as done
// cannot be stopped. An action on an unknown object gets 503 instead of 404.
func TestBehind(t *testing.T) {
	h := open(t)
	hook := h.ask("admin", "POST", hooks, `{"url":"https://partner.example/svc"}`, 200).Data.ID
	h.lists.deliveries = []outbound.Delivery{{ID: "dlv_1", Hospital: "north", EndpointID: hook}}
	h.lists.episodes = []outbound.AlertRun{{ID: "epi_1", Hospital: "north", OpenedAt: h.now}}
	h.lists.health[hook] = outbound.Health{Status: "active"}
	h.lists.progress["cmd_1"] = outbound.Progress{ID: "cmd_1", Hospital: "north", Verb: outbound.VerbReplay}
	h.lists.progress["cmd_2"] = outbound.Progress{ID: "cmd_2", Hospital: "north", Verb: outbound.VerbReplay, Done: true}
	h.lists.away = context.DeadlineExceeded
	for _, path := range []string{
		"/api/admin/deliveries", "/api/admin/deliveries/dlv_1", "/api/admin/deliveries/dlv_2", hooks + "/" + hook + "/deliveries",
		"/api/admin/commands/cmd_1", "/api/admin/commands/cmd_3", "/api/admin/alerts/episodes",
	} {
		got := h.ask("admin", "GET", path, "", 503)
		if got.rules() != "data view_away" || got.header.Get("Retry-After") == "" {
			t.Errorf("%s: %v %s", path, got.header, got.raw)
		}
	}
	orders := len(h.orders)
	h.ask("admin", "POST", "/api/admin/deliveries/dlv_1/retry", "", 200)
	h.ask("admin", "POST", "/api/admin/commands/cmd_1/stop", "", 200)
	h.ask("admin", "POST", "/api/admin/alerts/episodes/epi_1/ack", "", 200)
	if got := len(h.orders) - orders; got != 3 {
		t.Errorf("%d of 3 acts are kept", got)
	}
	for _, path := range []string{"/api/admin/deliveries/dlv_2/retry", "/api/admin/commands/cmd_2/stop", "/api/admin/commands/cmd_3/stop", "/api/admin/alerts/episodes/epi_2/ack"} {
		h.ask("admin", "POST", path, "", 503)
	}
}
