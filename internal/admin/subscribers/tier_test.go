package subscribers_test

import (
	"fmt"
	"testing"
)

func TestTiers(t *testing.T) {
	h := open(t)
	const tiers = "/api/admin/alerts/tiers"
	list := h.ask("admin", "GET", tiers, "", 200).Data.Tiers
	if len(list) != 3 || list[0].ExpireMinutes != 120 || list[0].AckMinutes != 0 || fmt.Sprint(list[1].Channels) != "[email sms]" || list[1].AckMinutes != 10 ||
		list[2].AckMinutes != 5 || list[2].RepeatMinutes != 60 || list[2].ExpireMinutes != 15 || list[2].Version != 0 {
		t.Errorf("defaults %+v", list)
	}
	who := h.ask("admin", "POST", "/api/admin/alerts/recipients", `{"label":"House supervisor","phone":"+15555550100"}`, 200).Data.ID
	set := h.ask("admin", "PUT", tiers+"/T2", `{"recipients":["`+who+`"],"channels":["sms"],"ackMinutes":0}`, 200, "If-Match", `"0"`)
	if d := set.Data; d.Version != 1 || fmt.Sprint(d.Channels) != "[sms]" || len(d.Warnings) != 0 {
		t.Errorf("set %s", set.raw)
	}
	h.ask("admin", "PUT", tiers+"/T2", `{}`, 412, "If-Match", `"0"`)
	if got := h.ask("admin", "DELETE", "/api/admin/alerts/recipients/"+who, "", 422); got.rules() != "T2 in_use" {
		t.Errorf("remove who is called: %s", got.raw)
	}
	again := h.ask("admin", "PUT", tiers+"/T2", `{}`, 200)
	if d := again.Data; d.Version != 2 || fmt.Sprint(d.Channels) != "[email sms]" || fmt.Sprint(d.Warnings) != "[{no_recipients recipients}]" {
		t.Errorf("back to the defaults: %s", again.raw)
	}
	h.ask("admin", "DELETE", "/api/admin/alerts/recipients/"+who, "", 200)
}
