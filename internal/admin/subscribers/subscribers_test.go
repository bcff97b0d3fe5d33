package subscribers_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"svc/internal/admin/audit"
	"svc/internal/admin/subscribers"
	"svc/internal/httpapi/access"
	"svc/internal/outbound"
)

// TestForeignIsUnknown: a request for another hospital's object gets the same response as a request for an unknown
// object, after the same number of calls to Lists.
func TestForeignIsUnknown(t *testing.T) {
	h := open(t)
	hook := h.ask("admin", "POST", hooks, `{"url":"https://partner.example/svc","readerKeyIds":["`+h.ids["partner"]+`"]}`, 200).Data.ID
	recipient := h.ask("admin", "POST", "/api/admin/alerts/recipients", `{"label":"House supervisor","phone":"+15555550100"}`, 200).Data.ID
	h.lists.deliveries = []outbound.Delivery{{ID: "dlv_1", Hospital: "north", EndpointID: hook}}
	h.lists.progress["cmd_1"] = outbound.Progress{ID: "cmd_1", Hospital: "north", Verb: outbound.VerbReplay}
	h.lists.episodes = []outbound.AlertRun{{ID: "epi_1", Hospital: "north", OpenedAt: h.now}}
	for route, id := range map[string]string{
		"GET " + hooks + "/{id}": hook, "PATCH " + hooks + "/{id}": hook, "DELETE " + hooks + "/{id}": hook,
		"POST " + hooks + "/{id}/rotate": hook, "POST " + hooks + "/{id}/test": hook, "POST " + hooks + "/{id}/replay": hook,
		"GET " + hooks + "/{id}/deliveries": hook, "GET /api/v1/webhooks/{id}/deliveries": hook,
		"GET /api/admin/deliveries/{id}": "dlv_1", "POST /api/admin/deliveries/{id}/retry": "dlv_1",
		"GET /api/admin/commands/{id}": "cmd_1", "POST /api/admin/commands/{id}/stop": "cmd_1",
		"PATCH /api/admin/alerts/recipients/{id}": recipient, "DELETE /api/admin/alerts/recipients/{id}": recipient,
		"POST /api/admin/alerts/episodes/{id}/ack": "epi_1",
	} {
		method, path, _ := strings.Cut(route, " ")
		body := `{}`
		if strings.HasSuffix(path, "/replay") {
			body = `{"since":"2031-04-05T11:00:00Z"}`
		}
		var said [2]string
		var looks [2]int
		for i, of := range []string{id, "none_of_anybody"} {
			h.lists.looks = 0
			said[i] = h.ask("foreign", method, strings.ReplaceAll(path, "{id}", of), body, 404).raw
			looks[i] = h.lists.looks
		}
		if said[0] != said[1] || looks[0] != looks[1] {
			t.Errorf("%s %s: of another hospital %d look-ups and %s, of nobody %d and %s", method, path, looks[0], said[0], looks[1], said[1])
		}
	}
}

// TestNothingWithoutARecord: if the audit record or the setting cannot be written, the action is not executed and the
// response is an error. The process log then contains no secret.
func TestNothingWithoutARecord(t *testing.T) {
	h := open(t)
	hook := h.ask("admin", "POST", hooks, `{"url":"https://partner.example/svc"}`, 200).Data.ID
	const body = `{"url":"https://canary.example","secret":"canary canary canary canary"}`
	h.auditing = context.DeadlineExceeded
	h.ask("admin", "POST", hooks, body, 503)
	h.ask("admin", "POST", hooks+"/"+hook+"/test", ``, 503)
	h.ask("admin", "DELETE", hooks+"/"+hook, ``, 503)
	h.auditing, h.storing = nil, context.DeadlineExceeded
	h.ask("admin", "POST", hooks, body, 503)
	h.storing = fmt.Errorf("write: %w", access.ErrOvertaken)
	if got := h.ask("admin", "POST", hooks, body, 503); got.header.Get("Retry-After") == "" || !strings.Contains(got.raw, "Nothing was changed") {
		t.Error(got.raw)
	}
	h.storing = fmt.Errorf("seal: %w", subscribers.ErrNoKey)
	if got := h.ask("admin", "POST", hooks, body, 422); got.rules() != " secrets_key" {
		t.Error(got.raw)
	}
	if all := h.register.Webhooks("north"); len(all) != 1 || len(h.orders) != 0 {
		t.Errorf("%d webhooks, orders %+v", len(all), h.orders)
	}
	if strings.Contains(h.log.String(), "canary") {
		t.Errorf("the log tells: %s", &h.log)
	}
}

// TestCanaries calls the operations that process a secret, a phone number or an e-mail address. None of these values
// may be in the audit log, in the process log, in a command, or in a response, except in the two responses that show
// a new secret.
func TestCanaries(t *testing.T) {
	h := open(t)
	const own, email, phone = "canary-secret-of-the-partner-0", "canary.person@canary.example", "+15550177331"
	canaries := []string{own, email, phone, "0177331", "canary.person"}
	var heard strings.Builder
	ask := func(method, path, body string) said {
		t.Helper()
		got := h.ask("admin", method, path, body, 200)
		heard.WriteString(got.raw)
		return got
	}
	hook := h.ask("admin", "POST", hooks, `{"url":"https://partner.example/svc","secret":"`+own+`"}`, 200)
	if hook.Data.Secret != own {
		t.Error("not shown to who made it")
	}
	made := h.ask("admin", "POST", hooks+"/"+hook.Data.ID+"/rotate", `{}`, 200).Data.Secret
	canaries = append(canaries, made)
	p := ask("POST", "/api/admin/alerts/recipients", `{"label":"Charge nurse","email":"`+email+`","phone":"`+phone+`"}`).Data.ID
	ask("PUT", "/api/admin/alerts/tiers/T3", `{"recipients":["`+p+`"]}`)
	ask("PATCH", "/api/admin/alerts/recipients/"+p, `{"label":"Supervisor"}`)
	ask("PATCH", hooks+"/"+hook.Data.ID, `{"enabled":false}`)
	ask("POST", "/api/admin/alerts/test", `{"recipientId":"`+p+`","channel":"sms"}`)
	for _, path := range []string{hooks, hooks + "/" + hook.Data.ID, "/api/admin/alerts/recipients", "/api/admin/alerts/tiers"} {
		ask("GET", path, "")
	}
	ask("PUT", "/api/admin/alerts/tiers/T3", `{}`)
	ask("DELETE", "/api/admin/alerts/recipients/"+p, "")
	ask("DELETE", hooks+"/"+hook.Data.ID, "")
	for _, canary := range canaries {
		for where, text := range map[string]string{"an answer": heard.String(), "the log": h.log.String(), "the audit": fmt.Sprintf("%+v", h.acts), "an order": fmt.Sprintf("%+v", h.orders)} {
			if strings.Contains(text, canary) {
				t.Errorf("%q is in %s", canary, where)
			}
		}
	}
	if len(h.acts) < 10 || slices.ContainsFunc(h.acts, func(a audit.Act) bool { return a.Subject == "" }) {
		t.Errorf("acts %+v", h.acts)
	}
}
