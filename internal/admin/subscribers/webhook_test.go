package subscribers_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"svc/internal/httpapi/access"
	"svc/internal/outbound"
	"svc/internal/outbound/subscriber"
)

const hooks = "/api/admin/webhooks"

func TestLifeOfAWebhook(t *testing.T) {
	h := open(t)
	h.warns = "name_unresolved"
	made := h.ask("admin", "POST", hooks, `{"url":"https://partner.example/svc","readerKeyIds":["`+h.ids["partner"]+`"],"colour":1}`, 200)
	if d := made.Data; !strings.HasPrefix(d.ID, "whk_") || len(d.ID) != 20 || !strings.HasPrefix(d.Secret, "whsec_") || len(d.Secret) != 50 ||
		fmt.Sprint(d.Events) != "[surge.level_changed room.rescored]" || d.Rooms != nil || !d.Enabled || d.Version != 1 || made.header.Get("ETag") != `"1"` ||
		fmt.Sprint(d.Warnings) != "[{unknown_field colour} {name_unresolved url}]" || d.Status != "active" || len(d.Secrets) != 1 || d.Secrets[0].State != "current" {
		t.Errorf("made %s", made.raw)
	}
	path := hooks + "/" + made.Data.ID
	h.warns = ""

	got := h.ask("admin", "GET", path, "", 200)
	if strings.Contains(got.raw, made.Data.Secret) || got.header.Get("ETag") != `"1"` {
		t.Errorf("read %s", got.raw)
	}
	changed := h.ask("admin", "PATCH", path, `{"rooms":[4,1],"enabled":false}`, 200, "If-Match", `"1"`)
	if d := changed.Data; d.Version != 2 || d.Enabled || d.Status != "disabled" || d.Reason != "paused" || fmt.Sprint(d.Rooms) != "[4 1]" ||
		d.URL != "https://partner.example/svc" || len(d.ReaderKeyIDs) != 1 || fmt.Sprint(d.Events) != fmt.Sprint(made.Data.Events) {
		t.Errorf("changed %s", changed.raw)
	}
	h.ask("admin", "PATCH", path, `{"rooms":[4]}`, 412, "If-Match", `"1"`)
	back := h.ask("admin", "PATCH", path, `{"rooms":null,"events":["surge.alert"]}`, 200, "If-Match", `"9", "2"`)
	if back.Data.Rooms != nil || fmt.Sprint(back.Data.Events) != "[surge.alert]" || back.Data.Enabled {
		t.Errorf("back %s", back.raw)
	}
	hook, _ := h.register.Webhook("north", made.Data.ID)
	if hook.Secrets[0].Value != made.Data.Secret {
		t.Error("the secret was lost by a change")
	}
	if list := h.ask("admin", "GET", hooks, "", 200); len(list.Data.Webhooks) != 1 {
		t.Errorf("list %s", list.raw)
	}
	if list := h.ask("foreign", "GET", hooks, "", 200); len(list.Data.Webhooks) != 0 {
		t.Errorf("another hospital sees %s", list.raw)
	}
	for _, method := range []string{"GET", "PATCH", "DELETE"} {
		h.ask("foreign", method, path, `{}`, 404)
		h.ask("other", method, path, `{}`, 403)
	}
	h.ask("admin", "DELETE", path, "", 412, "If-Match", `"1"`)
	h.ask("admin", "DELETE", path, "", 200, "If-Match", `"3"`)
	h.ask("admin", "GET", path, "", 404)
	var acts []string
	for _, a := range h.acts {
		if a.Subject != made.Data.ID || a.By != h.ids["admin"] || a.Hospital != "north" || !a.At.Equal(h.now) {
			t.Errorf("act %+v", a)
		}
		acts = append(acts, a.Action+" "+a.Before+">"+a.After)
	}
	if want := "[webhook.create >1 webhook.change 1>2 webhook.change 2>3 webhook.delete 3>]"; fmt.Sprint(acts) != want {
		t.Errorf("audit %v\nwant %s", acts, want)
	}
}

// TestStatusAfterAChange: the response to a change that enables a webhook does not call it disabled, even if the lists
// do not contain the effect of the change yet.
func TestStatusAfterAChange(t *testing.T) {
	for name, test := range map[string]struct {
		health outbound.Health
		want   string
	}{
		"paused":             {outbound.Health{Status: "disabled"}, "active"},
		"paused and failing": {outbound.Health{Status: "disabled", FailingSince: time.Unix(1, 0)}, "failing"},
		"gone":               {outbound.Health{Status: "disabled", Reason: "gone", FailingSince: time.Unix(1, 0)}, "failing"},
		"failed":             {outbound.Health{Status: "disabled", Reason: "failing", FailingSince: time.Unix(1, 0)}, "failing"},
	} {
		t.Run(name, func(t *testing.T) {
			h := open(t)
			id := h.ask("admin", "POST", hooks, `{"url":"https://partner.example/svc"}`, 200).Data.ID
			h.lists.health = map[string]outbound.Health{id: test.health}
			if test.health.Reason != "" {
				if d := h.ask("admin", "GET", hooks+"/"+id, "", 200).Data; d.Status != "disabled" || d.Reason != test.health.Reason {
					t.Errorf("before: %s %s", d.Status, d.Reason)
				}
			}
			if d := h.ask("admin", "PATCH", hooks+"/"+id, `{"enabled":true}`, 200).Data; d.Status != test.want || d.Reason != "" {
				t.Errorf("changed: %s %s", d.Status, d.Reason)
			}
			if d := h.ask("admin", "POST", hooks+"/"+id+"/rotate", `{}`, 200).Data; d.Status != test.want || d.Reason != "" {
				t.Errorf("rotated: %s %s", d.Status, d.Reason)
			}
		})
	}
}

// TestRefusals: a refusal names each violated rule and its location, but no value. The action is not executed.
func TestRefusals(t *testing.T) {
	const url = `"url":"https://canary.example/canary"`
	for name, tt := range map[string]struct {
		method, path, body string
		status             int
		rules              string
	}{
		"nothing":                {"POST", hooks, `{}`, 400, "url minLength:1"},
		"no JSON":                {"POST", hooks, `{"url":`, 400, "url json"},
		"wrong type":             {"POST", hooks, `{"url":7}`, 400, "url type:string"},
		"address refused":        {"POST", hooks, `{"url":"https://10.0.0.1/canary"}`, 422, "url address_refused"},
		"all at once":            {"POST", hooks, `{` + url + `,"events":["canary"],"rooms":[-1],"ratePerSecond":0,"timeoutSeconds":31,"readerKeyIds":["canary"],"secret":"canary"}`, 400, "events[0] enum:ping|surge.level_changed|room.rescored|surge.alert, rooms[0] range:0-2147483647, ratePerSecond range:0.1-500, timeoutSeconds range:1-30, secret minLength:24, readerKeyIds[0] key"},
		"twice":                  {"POST", hooks, `{` + url + `,"events":["ping","ping"],"rooms":[1,1]}`, 400, "events[1] unique, rooms[1] unique"},
		"no event":               {"POST", hooks, `{` + url + `,"events":[]}`, 400, "events minItems:1"},
		"no room":                {"POST", hooks, `{` + url + `,"rooms":[]}`, 400, "rooms items:1-500"},
		"secret not ASCII":       {"POST", hooks, `{` + url + `,"secret":"canary canary canary ü canary"}`, 400, "secret ascii"},
		"long URL":               {"POST", hooks, `{"url":"https://x/` + strings.Repeat("x", 2048) + `"}`, 400, "url maxLength:2048"},
		"no such webhook":        {"PATCH", hooks + "/whk_0", `{}`, 404, ""},
		"overlap":                {"POST", hooks + "/ID/rotate", `{"overlapHours":2}`, 400, "overlapHours enum:0|1|24|168"},
		"test of what":           {"POST", hooks + "/ID/test", `{"event":"canary"}`, 400, "event enum:ping|surge.level_changed|room.rescored|surge.alert"},
		"replay of nothing":      {"POST", hooks + "/ID/replay", `{}`, 400, "since required"},
		"replay backwards":       {"POST", hooks + "/ID/replay", `{"since":"2031-04-05T12:00:00Z","until":"2031-04-05T11:00:00Z","only":"canary","events":["ping"]}`, 400, "events[0] enum:surge.level_changed|room.rescored|surge.alert, only enum:failed|missing|all, until after:since"},
		"replay only backwards":  {"POST", hooks + "/ID/replay", `{"since":"2031-04-05T12:00:00Z","until":"2031-04-05T11:00:00Z"}`, 422, "until after:since"},
		"replay of empty":        {"POST", hooks + "/ID/replay", `{"since":"2031-04-05T12:00:00Z","only":""}`, 400, "only enum:failed|missing|all"},
		"replay at no time":      {"POST", hooks + "/ID/replay", `{"since":"canary"}`, 400, "since format:date-time"},
		"retry of none":          {"POST", "/api/admin/deliveries/dlv_0/retry", ``, 404, ""},
		"stop of none":           {"POST", "/api/admin/commands/cmd_0/stop", ``, 404, ""},
		"list of what":           {"GET", "/api/admin/deliveries?channel=canary&state=canary&event=canary&limit=0&since=canary", ``, 400, "since date-time, channel enum:email|sms|webhook, state enum:pending|delivered|rejected|expired|poison|cancelled|failed|suppressed|superseded, event enum:ping|surge.level_changed|room.rescored|surge.alert, limit integer:1-200"},
		"cursor":                 {"GET", "/api/admin/deliveries?cursor=bad", ``, 422, "cursor cursor"},
		"list backwards":         {"GET", "/api/admin/deliveries?since=2031-04-05T12:00&until=2031-04-05T11:00", ``, 422, "until after:since"},
		"list of no endpoint":    {"GET", hooks + "/whk_0/deliveries", ``, 404, ""},
		"no tier":                {"PUT", "/api/admin/alerts/tiers/T4", `{}`, 404, ""},
		"tier of what":           {"PUT", "/api/admin/alerts/tiers/T1", `{"channels":["canary"],"ackMinutes":-1,"repeatMinutes":1441,"expireMinutes":0,"action":"a\nb"}`, 400, "channels[0] enum:email|sms|webhook, ackMinutes range:0-1440, repeatMinutes range:0-1440, expireMinutes range:1-1440, action line"},
		"tier for nobody":        {"PUT", "/api/admin/alerts/tiers/T1", `{"recipients":["canary"]}`, 422, "recipients[0] recipient"},
		"recipient unreachable":  {"POST", "/api/admin/alerts/recipients", `{"label":"Charge nurse"}`, 422, "email one_of:email|phone|webhookId"},
		"recipient out of reach": {"POST", "/api/admin/alerts/recipients", `{"label":"","email":"Canary <canary@x.example>","phone":"555 0100","webhookId":"whk_0"}`, 400, "label minLength:1, email format:email, phone format:e164, webhookId webhook"},
		"address with a header":  {"POST", "/api/admin/alerts/recipients", `{"label":"Charge nurse","email":"canary@x.example\r\nBcc: canary@y.example"}`, 400, "email format:email"},
		"test of nobody":         {"POST", "/api/admin/alerts/test", `{"recipientId":"canary","channel":"sms"}`, 404, ""},
		"test by what":           {"POST", "/api/admin/alerts/test", `{"recipientId":"","channel":"canary"}`, 400, "recipientId minLength:1, channel enum:email|sms|webhook"},
		"ack of none":            {"POST", "/api/admin/alerts/episodes/epi_0/ack", `{}`, 404, ""},
		"ack by an essay":        {"POST", "/api/admin/alerts/episodes/epi_0/ack", `{"by":"` + strings.Repeat("canary", 11) + `"}`, 400, "by maxLength:60"},
	} {
		t.Run(name, func(t *testing.T) {
			h := open(t)
			h.refuses["https://10.0.0.1/canary"] = "address_refused"
			made := h.ask("admin", "POST", hooks, `{"url":"https://partner.example/svc"}`, 200)
			done := len(h.acts)
			got := h.ask("admin", tt.method, strings.ReplaceAll(tt.path, "ID", made.Data.ID), tt.body, tt.status)
			if got.rules() != tt.rules {
				t.Errorf("breaks %q\nwant   %q", got.rules(), tt.rules)
			}
			if strings.Contains(got.raw, "canary") || strings.Contains(h.log.String(), "canary") {
				t.Errorf("a value is told: %s %s", got.raw, &h.log)
			}
			if len(h.acts) != done || len(h.orders) != 0 || len(h.register.Webhooks("north")) != 1 || len(h.register.Recipients("north")) != 0 {
				t.Errorf("something was done: %+v", h.acts)
			}
		})
	}
}

func TestAsManyWebhooksAsAHospitalCanHave(t *testing.T) {
	h := open(t)
	for range 50 {
		h.ask("admin", "POST", hooks, `{"url":"https://partner.example/svc"}`, 200)
	}
	if got := h.ask("admin", "POST", hooks, `{"url":"https://partner.example/svc"}`, 422); got.rules() != " maxItems:50" {
		t.Error(got.raw)
	}
	h.ask("foreign", "POST", hooks, `{"url":"https://partner.example/svc"}`, 200)
}

// TestFailedActsAreOnRecord: the audit log shows that the removal of an endpoint failed, or that its result is
// unknown.
func TestFailedActsAreOnRecord(t *testing.T) {
	for how, fault := range map[string]error{"webhook.delete.failed": access.ErrOvertaken, "webhook.delete.unclear": errors.New("away")} {
		h := open(t)
		h.register.SetWebhook(&subscriber.Webhook{Hospital: "north", ID: "whk_1", URL: "https://partner.example", Version: 3})
		h.storing = fault
		h.ask("admin", "DELETE", "/api/admin/webhooks/whk_1", "", 503)
		var got []string
		for _, a := range h.acts {
			got = append(got, a.Action+" "+a.Before+">"+a.After)
		}
		if want := []string{"webhook.delete 3>", how + " 3>"}; !slices.Equal(got, want) {
			t.Errorf("on record %q, want %q", got, want)
		}
	}
}
