package subscribers_test

import (
	"errors"
	"fmt"
	"testing"

	"svc/internal/outbound"
)

// TestUnchanged: a change whose values are the current ones writes no version and no audit record, and says so. The
// response has the current version and row.
func TestUnchanged(t *testing.T) {
	h := open(t)
	hook := hooks + "/" + h.ask("admin", "POST", hooks, `{"url":"https://partner.example/svc","rooms":[4]}`, 200).Data.ID
	const recipients, tier = "/api/admin/alerts/recipients", "/api/admin/alerts/tiers/T2"
	person := recipients + "/" + h.ask("admin", "POST", recipients, `{"label":"Charge nurse","email":"charge@ward.example"}`, 200).Data.ID
	h.ask("admin", "PUT", tier, `{"recipients":[],"ackMinutes":7}`, 200)
	acts := len(h.acts)
	for _, tt := range []struct{ method, path, body string }{
		{"PATCH", hook, `{}`},
		{"PATCH", hook, `{"url":"https://partner.example/svc","events":["surge.level_changed","room.rescored"],"rooms":[4],"enabled":true,"ratePerSecond":50,"timeoutSeconds":10,"readerKeyIds":[]}`},
		{"PATCH", person, `{}`},
		{"PATCH", person, `{"label":" Charge nurse","email":"charge@ward.example","phone":null,"language":"en"}`},
		{"PUT", tier, `{"ackMinutes":7,"action":" "}`},
		{"PUT", "/api/admin/alerts/tiers/T3", `{}`},
	} {
		version := `"1"`
		if tt.path == "/api/admin/alerts/tiers/T3" { // has its defaults
			version = `"0"`
		}
		got := h.ask("admin", tt.method, tt.path, tt.body, 200, "If-Match", version)
		if w := got.Data.Warnings; got.header.Get("ETag") != version || len(w) == 0 || fmt.Sprint(w[len(w)-1]) != "{unchanged }" {
			t.Errorf("%s %s: %s %s", tt.path, tt.body, got.header.Get("ETag"), got.raw)
		}
		h.ask("admin", tt.method, tt.path, tt.body, 412, "If-Match", `"9"`)
	}
	if len(h.acts) != acts {
		t.Errorf("on record: %+v", h.acts[acts:])
	}
}

// TestWebhookThatFailed: a webhook that svc has disabled is enabled by a change, or by a request to enable it, but not
// by a request that changes nothing. If it is unknown whether the webhook is disabled, a request enables it.
func TestWebhookThatFailed(t *testing.T) {
	for body, enables := range map[string]bool{`{}`: false, `{"ratePerSecond":50}`: false, `{"enabled":true}`: true, `{"ratePerSecond":20}`: true} {
		for _, away := range []bool{false, true} {
			h := open(t)
			id := h.ask("admin", "POST", hooks, `{"url":"https://partner.example/svc"}`, 200).Data.ID
			h.lists.health[id] = outbound.Health{Status: "disabled", Reason: "failing"}
			if away {
				h.lists.away = errors.New("away")
			}
			h.ask("admin", "PATCH", hooks+"/"+id, body, 200)
			if hook, _ := h.register.Webhook("north", id); (hook.Version == 2) != enables {
				t.Errorf("%s: version %d", body, hook.Version)
			}
		}
	}
}

// TestWebhookStaysDisabled: to disable a webhook again changes nothing.
func TestWebhookStaysDisabled(t *testing.T) {
	h := open(t)
	id := h.ask("admin", "POST", hooks, `{"url":"https://partner.example/svc"}`, 200).Data.ID
	for range 2 {
		h.ask("admin", "PATCH", hooks+"/"+id, `{"enabled":false}`, 200)
		h.lists.health[id] = outbound.Health{Status: "disabled", Reason: "paused"}
	}
	if hook, _ := h.register.Webhook("north", id); hook.Version != 2 {
		t.Errorf("version %d", hook.Version)
	}
}
