package subscribers_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"svc/internal/outbound"
	"svc/internal/outbound/subscriber"
)

// TestReplayDryRun: a dry run is sent to the notifier as a command, but is not recorded in the audit log. A
// misspelled query parameter is refused.
func TestReplayDryRun(t *testing.T) {
	h := open(t)
	hook := h.ask("admin", "POST", hooks, `{"url":"https://partner.example/svc"}`, 200).Data.ID
	acts := len(h.acts)
	h.lists.away = context.DeadlineExceeded // makes the count unknown, so that the request does not wait for it
	h.ask("admin", "POST", hooks+"/"+hook+"/replay?dryRun=true", `{"since":"2031-04-05T05:00:00","only":"all"}`, 200)
	h.lists.away = nil
	if len(h.orders) != 1 || !h.orders[0].DryRun || h.orders[0].Only != outbound.SelectAll || len(h.acts) != acts {
		t.Fatalf("ordered %+v, on record %+v", h.orders, h.acts[acts:])
	}
	for _, query := range []string{"dryRun=yes", "dry_run=true", "dryrun=true", "dryRun=true&dryRun=false"} {
		h.ask("admin", "POST", hooks+"/"+hook+"/replay?"+query, `{"since":"2031-04-05T05:00:00"}`, 400)
	}
	if len(h.orders) != 1 || len(h.acts) != acts {
		t.Errorf("ordered %+v", h.orders[1:])
	}
}

func TestCommands(t *testing.T) {
	h := open(t)
	hook := h.ask("admin", "POST", hooks, `{"url":"https://partner.example/svc"}`, 200).Data.ID
	h.lists.deliveries = []outbound.Delivery{{ID: "dlv_1", Hospital: "north", EventID: "evt_1", EndpointID: hook, Channel: subscriber.ChannelWebhook}}

	ping := h.ask("admin", "POST", hooks+"/"+hook+"/test", ``, 200)
	h.ask("admin", "POST", hooks+"/"+hook+"/test", `{"event":"room.rescored"}`, 200)
	h.ask("admin", "POST", "/api/admin/deliveries/dlv_1/retry", ``, 200)
	h.ask("foreign", "POST", "/api/admin/deliveries/dlv_1/retry", ``, 404)
	h.lists.away = context.DeadlineExceeded // makes the count unknown, so that the request does not wait for it
	again := h.ask("admin", "POST", hooks+"/"+hook+"/replay", `{"since":"2031-04-05T05:00:00","events":["surge.level_changed"]}`, 200)
	h.lists.away = nil
	if again.Data.Count != nil {
		t.Errorf("count %s", again.raw)
	}
	h.lists.progress[again.Data.CommandID] = outbound.Progress{ID: again.Data.CommandID, Hospital: "north", Verb: outbound.VerbReplay, Count: 7}
	h.lists.progress[ping.Data.CommandID] = outbound.Progress{ID: ping.Data.CommandID, Hospital: "north", Verb: outbound.VerbTest, Done: true, Delivered: 1}
	h.ask("foreign", "GET", "/api/admin/commands/"+again.Data.CommandID, ``, 404)
	if got := h.ask("admin", "GET", "/api/admin/commands/"+again.Data.CommandID, ``, 200); got.Data.Verb != "replay" || *got.Data.Count != 7 {
		t.Errorf("progress %s", got.raw)
	}
	h.ask("admin", "POST", "/api/admin/commands/"+ping.Data.CommandID+"/stop", ``, 422)
	h.ask("admin", "POST", "/api/admin/commands/"+again.Data.CommandID+"/stop", ``, 200)

	if len(h.orders) != 5 || !strings.HasPrefix(ping.Data.CommandID, "cmd_") || ping.Data.DeliveryID != "dlv_of_"+ping.Data.CommandID {
		t.Fatalf("orders %+v, %s", h.orders, ping.raw)
	}
	for i, c := range h.orders {
		if c.Hospital != "north" || c.By != h.ids["admin"] || !c.At.Equal(h.now) {
			t.Errorf("order %d: %+v", i, c)
		}
	}
	if c := h.orders[0]; c.Verb != outbound.VerbTest || c.Endpoint != hook || c.Event != "" {
		t.Errorf("ping %+v", c)
	}
	if c := h.orders[1]; c.Event != outbound.RoomRescored {
		t.Errorf("sample %+v", c)
	}
	if c := h.orders[2]; c.Verb != outbound.VerbRetry || c.Delivery != "dlv_1" || c.EventID != "evt_1" || c.Endpoint != hook {
		t.Errorf("retry %+v", c)
	}
	if c := h.orders[3]; c.Verb != outbound.VerbReplay || !c.Since.Equal(time.Date(2031, 4, 5, 11, 0, 0, 0, time.UTC)) || !c.Until.Equal(h.now) || c.Only != outbound.SelectMissing {
		t.Errorf("replay %+v", c)
	}
	if c := h.orders[4]; c.Verb != outbound.VerbStop || c.Command != again.Data.CommandID {
		t.Errorf("stop %+v", c)
	}
}
