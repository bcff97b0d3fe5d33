package subscribers_test

import (
	"context"
	"testing"
	"time"

	"svc/internal/outbound"
)

func TestEpisodes(t *testing.T) {
	h := open(t)
	const path = "/api/admin/alerts/episodes"
	h.lists.episodes = []outbound.AlertRun{
		{ID: "epi_1", Hospital: "north", Tier: "T1", OpenedAt: h.now.Add(-2 * time.Hour), ClosedAt: h.now.Add(-time.Hour)},
		{ID: "epi_2", Hospital: "north", Tier: "T3", OpenedAt: h.now, Alert: "evt_2", Unreached: true},
		{ID: "epi_3", Hospital: "south", Tier: "T2", OpenedAt: h.now},
	}
	list := h.ask("admin", "GET", path, "", 200).Data.Items
	if len(list) != 2 || list[0].ID != "epi_2" || list[0].Tier != "T3" || list[0].AlertID != "evt_2" || !list[0].Unreached {
		t.Errorf("list %+v", list)
	}
	h.ask("admin", "POST", path+"/epi_1/ack", `{}`, 422)
	h.ask("admin", "POST", path+"/epi_3/ack", `{}`, 404)
	// The notifier adds the acknowledgment to the list, and then reports that the command is done.
	h.takes = func(c *outbound.Command) {
		h.lists.progress[c.ID] = outbound.Progress{ID: c.ID, Hospital: c.Hospital, Verb: c.Verb, Done: true}
	}
	if !h.ask("admin", "POST", path+"/epi_2/ack", ``, 200).Data.Done {
		t.Error("answered before it is done")
	}
	h.ask("admin", "POST", path+"/epi_2/ack", `{"by":"House supervisor","alertId":"evt_1"}`, 200)
	h.takes = func(c *outbound.Command) {
		h.lists.progress[c.ID] = outbound.Progress{ID: c.ID, Hospital: c.Hospital, Verb: c.Verb, Done: true, Reason: "newer_alert"}
	}
	if rules := h.ask("admin", "POST", path+"/epi_2/ack", ``, 422); rules.rules() != "alertId newer_alert" {
		t.Errorf("an answer to the raise before: %s", rules.raw)
	}
	h.takes = func(*outbound.Command) { h.lists.away = context.DeadlineExceeded } // makes the progress of the command unknown
	if h.ask("admin", "POST", path+"/epi_2/ack", ``, 200).Data.Done {
		t.Error("done, though nobody knows")
	}
	for i, want := range []outbound.Command{
		{By: h.ids["admin"], EventID: "evt_2"}, {By: "House supervisor", EventID: "evt_1"}, {By: h.ids["admin"], EventID: "evt_2"}, {By: h.ids["admin"], EventID: "evt_2"},
	} {
		if c := h.orders[i]; c.By != want.By || c.EventID != want.EventID || c.Episode != "epi_2" || c.Verb != outbound.VerbAck {
			t.Errorf("order %d: %+v", i, c)
		}
	}
}
