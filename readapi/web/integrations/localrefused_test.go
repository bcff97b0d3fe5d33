package integrations

import (
	"net/http"
	"strings"
	"testing"
)

// TestLocalOvertaken: if two people edit at the same time, the second sees the change of the first and does not
// overwrite it.
func TestLocalOvertaken(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ path, form, refuses, says string }{
		"a code":      {"terminology/code", inCode + "&rowkind=medication&factor=high-mag&do=apply&was.factor=", "POST /api/admin/terminology", "<td></td><td>high-eclampsia</td><td>high-mag</td>"},
		"a location":  {"terminology/locations/row", "id=room-9&pointOfCare=BIRTH&room=B9&roomLabel=Mine&was.roomLabel=Old&version=4&do=apply", "POST /api/admin/locations", "<td>Old</td><td>Birth 9</td><td>Mine</td>"},
		"a rule":      {"rules/high-mag", "l.floor=2&was.l.floor=3&version=6&do=apply", "PUT /api/admin/rules/high-mag", "<td>3</td><td>1 until 90m, 1/2</td><td>2</td>"},
		"a tier":      {"alerts/tiers/T2", "ackMinutes=5&was.ackMinutes=7&version=2", "PUT /api/admin/alerts/tiers/T2", "<td>7</td><td>10</td><td>5</td>"},
		"a recipient": {"alerts/recipients/rcp_1", "label=Mine&was.label=Old&version=9", "PATCH /api/admin/alerts/recipients/rcp_1", "<td>Old</td><td>Charge nurse</td><td>Mine</td>"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, cookie := local(t)
			a.answers[tt.refuses], a.answers["GET /api/admin/terminology?limit=20000"] = overtook, mapOf
			got := a.Ask("POST", "/app/integrations/"+tt.path, cookie, tt.form)
			if body := got.Body.String(); got.Code != http.StatusPreconditionFailed || !strings.Contains(body, tt.says) || !strings.Contains(body, "Someone else changed this") {
				t.Errorf("%d lacks %s: %s", got.Code, tt.says, body)
			}
			if acts := a.acts(); len(acts) != 1 {
				t.Errorf("%+v", acts)
			}
		})
	}
}

// TestUndoAfterAnotherChange: a person who undoes a change after another person has made a further change sees the
// current values. The form is not empty, because an empty form would delete all values.
func TestUndoAfterAnotherChange(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ path, form, refuses, says string }{
		"a rule":       {"rules/high-mag", "version=6&do=reset", "DELETE /api/admin/rules/high-mag", `name="l.floor" type="text" value="1 until 90m, 1/2"`},
		"its preview":  {"rules/high-mag", "version=6&do=resetpreview", "DELETE /api/admin/rules/high-mag?dryRun=true", `name="l.floor" type="text" value="1 until 90m, 1/2"`},
		"a mapping":    {"terminology/map/map-1", inCode + "&version=6&do=remove", "DELETE /api/admin/terminology/map-1", `<option value="high-eclampsia" selected>`},
		"that preview": {"terminology/map/map-1", inCode + "&version=6&do=preview", "DELETE /api/admin/terminology/map-1?dryRun=true", `<option value="high-eclampsia" selected>`},
		"a recipient":  {"alerts/recipients/rcp_1/remove", "version=9", "DELETE /api/admin/alerts/recipients/rcp_1", `name="label" type="text" value="Charge nurse"`},
		"a location":   {"terminology/locations/row/room-9", "version=4", "DELETE /api/admin/locations/room-9", `name="roomLabel" type="text" value="Birth 9"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, cookie := local(t)
			a.answers[tt.refuses], a.answers["GET /api/admin/terminology?limit=20000"] = overtook, mapOf
			got := a.Ask("POST", "/app/integrations/"+tt.path, cookie, tt.form)
			if body := got.Body.String(); got.Code != http.StatusPreconditionFailed || !strings.Contains(body, tt.says) || !strings.Contains(body, "Someone else changed this") || strings.Contains(body, "Value you entered") {
				t.Errorf("%d lacks %s: %s", got.Code, tt.says, body)
			}
		})
	}
}

// TestLocalRefused: after a refusal, a field shows what to enter, and the form keeps its values.
func TestLocalRefused(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ path, form, refuses, detail, field string }{
		"a limit":     {"terminology/code", inCode + "&factor=high-mag&op=%3E&than=many&do=apply", "POST /api/admin/terminology", `{"path":"value.than","rule":"type:number"}`, `value="many" autocomplete="off" aria-invalid="true" aria-describedby="a-than"`},
		"a room":      {"terminology/locations/row", "roomId=x&do=apply", "POST /api/admin/locations", `{"path":"roomId","rule":"type:integer"}`, `value="x" autocomplete="off" aria-invalid="true" aria-describedby="a-roomId"`},
		"a value":     {"rules/high-mag", "l.floor=much&do=apply", "PUT /api/admin/rules/high-mag", `{"path":"values.floor","rule":"demand"}`, `value="much" autocomplete="off" aria-invalid="true" aria-describedby="a-l.floor"`},
		"minutes":     {"alerts/tiers/T2", "ackMinutes=9999&version=3", "PUT /api/admin/alerts/tiers/T2", `{"path":"ackMinutes","rule":"range:0-1440"}`, `value="9999" autocomplete="off" aria-invalid="true" aria-describedby="a-ackMinutes"`},
		"an address":  {"alerts/recipients/new", "label=A&email=%3Cb%3E", "POST /api/admin/alerts/recipients", `{"path":"email","rule":"format:email"}`, `value="&lt;b&gt;" autocomplete="off" aria-invalid="true" aria-describedby="a-email"`},
		"a language":  {"alerts/recipients/new", "label=A&email=a%40example.org&language=fr", "POST /api/admin/alerts/recipients", `{"path":"language","rule":"enum:en|es"}`, `<select id="f-language" name="language" aria-invalid="true">`},
		"one in use":  {"alerts/recipients/rcp_1/remove", "version=1", "DELETE /api/admin/alerts/recipients/rcp_1", `{"path":"T2","rule":"in_use"}`, "<p>T2: An alert tier or recipient still uses this entry."},
		"no address":  {"alerts/recipients/rcp_1/test", "channel=sms", "POST /api/admin/alerts/test", `{"path":"channel","rule":"no_address"}`, "<p>The recipient has no address for this channel."},
		"it is over":  {"alerts/episodes/epi_1", "", "POST /api/admin/alerts/episodes/epi_1/ack", `{"path":"","rule":"closed"}`, "<p>This has already ended. No action is needed."},
		"it is taken": {"terminology/map/map-1", inCode + "&do=remove", "DELETE /api/admin/terminology/map-1", `{"path":"","rule":"maxItems"}`, "<p>You have reached the limit."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, cookie := local(t)
			a.answers[tt.refuses] = `422 {"code":"unprocessable","message":"See details.","details":[` + tt.detail + `]}`
			got := a.Ask("POST", "/app/integrations/"+tt.path, cookie, tt.form)
			if got.Code != http.StatusUnprocessableEntity || !strings.Contains(got.Body.String(), tt.field) {
				t.Errorf("%d lacks %s: %s", got.Code, tt.field, got.Body)
			}
		})
	}
}
