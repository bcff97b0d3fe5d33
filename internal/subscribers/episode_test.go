package subscribers_test

import (
	"testing"
	"time"

	"svc/internal/outbound"
)

func TestEpisodes(t *testing.T) {
	h := open(t)
	const path = "/api/admin/alerts/episodes"
	h.board.episodes = []outbound.Episode{
		{ID: "epi_1", Hospital: "north", Tier: "T1", OpenedAt: h.now.Add(-2 * time.Hour), ClosedAt: h.now.Add(-time.Hour)},
		{ID: "epi_2", Hospital: "north", Tier: "T3", OpenedAt: h.now},
		{ID: "epi_3", Hospital: "south", Tier: "T2", OpenedAt: h.now},
	}
	list := h.ask("admin", "GET", path, "", 200).Data.Items
	if len(list) != 2 || list[0].ID != "epi_2" || list[0].Tier != "T3" {
		t.Errorf("list %+v", list)
	}
	h.ask("admin", "POST", path+"/epi_1/ack", `{}`, 422)
	h.ask("admin", "POST", path+"/epi_3/ack", `{}`, 404)
	h.ask("admin", "POST", path+"/epi_2/ack", ``, 200)
	h.ask("admin", "POST", path+"/epi_2/ack", `{"by":"House supervisor"}`, 200)
	if len(h.orders) != 2 || h.orders[0].By != h.ids["admin"] || h.orders[1].By != "House supervisor" || h.orders[1].Episode != "epi_2" || h.orders[1].Verb != outbound.VerbAck {
		t.Errorf("orders %+v", h.orders)
	}
}
