package subscribers_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"svc/internal/httpapi/access"
	"svc/internal/outbound"
	"svc/internal/outbound/sending"
)

// TestPartnersOwnDeliveries: a reader key of an endpoint, or a successor of the key, can read the endpoint's
// deliveries regardless of its scopes. For all other keys, the endpoint does not exist.
func TestPartnersOwnDeliveries(t *testing.T) {
	h := open(t)
	hook := h.ask("admin", "POST", hooks, `{"url":"https://partner.example/svc","readerKeyIds":["`+h.ids["partner"]+`"]}`, 200).Data.ID
	answered := sending.Attempt{N: 1, Class: sending.ClassStatus, Status: 500, Response: "what the endpoint said"}
	h.lists.deliveries = []outbound.Delivery{
		{ID: "dlv_1", Hospital: "north", EndpointID: hook, State: outbound.Pending, Attempts: []sending.Attempt{answered}},
		{ID: "dlv_2", Hospital: "north", EndpointID: "whk_other"},
	}
	path := "/api/v1/webhooks/" + hook + "/deliveries"
	got := h.ask("partner", "GET", path+"?state=pending&limit=7&since=2031-04-05T05:00:00", "", 200)
	if len(got.Data.Items) != 1 || got.Data.Items[0].ID != "dlv_1" || len(got.Data.Items[0].Attempts) != 1 || strings.Contains(got.raw, "endpoint said") || got.Data.Next != "more" {
		t.Errorf("own %s", got.raw)
	}
	since := time.Date(2031, 4, 5, 11, 0, 0, 0, time.UTC) // 05:00 in the hospital's time zone, which is six hours behind UTC
	if q := h.lists.asked; q.Endpoint != hook || q.Hospital != "north" || q.State != outbound.Pending || q.Limit != 7 || !q.Since.Equal(since) {
		t.Errorf("asked %+v", q)
	}
	for _, who := range []string{"admin", "other", "foreign"} {
		h.ask(who, "GET", path, "", 404)
	}
	h.tokens["nobody"] = "svc_0"
	h.ask("nobody", "GET", path, "", 401)
	named, _ := h.keys.Key(h.ids["partner"])
	next, token := access.Mint(access.Key{Hospital: "north", Source: named.Lineage()}, h.now)
	h.keys.SetKey(next)
	h.tokens["next"] = token
	h.ask("next", "GET", path, "", 200)
	if all := h.ask("admin", "GET", hooks+"/"+hook+"/deliveries", "", 200); *all.Data.Items[0].Attempts[0].Response != "what the endpoint said" {
		t.Errorf("administrators see %s", all.raw)
	}
	if all := h.ask("admin", "GET", "/api/admin/deliveries", "", 200); len(all.Data.Items) != 2 {
		t.Errorf("all: %s", all.raw)
	}
	h.ask("foreign", "GET", "/api/admin/deliveries/dlv_1", "", 404)
	h.lists.away = context.DeadlineExceeded
	h.ask("admin", "GET", "/api/admin/deliveries", "", 503)
	if list := h.ask("admin", "GET", hooks, "", 200); !strings.Contains(list.raw, `"status":null`) {
		t.Errorf("with the view away: %s", list.raw)
	}
}
