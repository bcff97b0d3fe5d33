package subscribers_test

import (
	"strings"
	"testing"

	"svc/internal/outbound"
	"svc/internal/outbound/subscriber"
)

func TestRecipients(t *testing.T) {
	h := open(t)
	const path = "/api/admin/alerts/recipients"
	hook := h.ask("admin", "POST", hooks, `{"url":"https://partner.example/svc"}`, 200).Data.ID
	made := h.ask("admin", "POST", path, `{"label":" Charge nurse ","email":"canary.charge@canary-hospital.example","phone":"+15550199742"}`, 200)
	if d := made.Data; d.Label != "Charge nurse" || d.Email != "c***@c***.example" || d.Phone != "***42" || d.Version != 1 {
		t.Errorf("made %s", made.raw)
	}
	one := path + "/" + made.Data.ID
	changed := h.ask("admin", "PATCH", one, `{"phone":null,"webhookId":"`+hook+`"}`, 200, "If-Match", `"1"`)
	if d := changed.Data; d.Phone != "" || d.Email != "c***@c***.example" || d.Label != "Charge nurse" || d.Version != 2 {
		t.Errorf("changed %s", changed.raw)
	}
	// Some clients read an object, change one field and send back all fields, including the masked address.
	if got := h.ask("admin", "PATCH", one, `{"label":"Charge","email":"c***@c***.example"}`, 400); got.rules() != "email format:email" {
		t.Errorf("a mask for an address: %s", got.raw)
	}
	if p, _ := h.register.Recipient("north", made.Data.ID); p.Email != "canary.charge@canary-hospital.example" || p.Phone != "" {
		t.Error("the address was lost by a change")
	}
	if got := h.ask("admin", "DELETE", hooks+"/"+hook, "", 422); got.rules() != "recipients in_use" {
		t.Errorf("remove a webhook that somebody is called by: %s", got.raw)
	}
	if got := h.ask("admin", "PATCH", one, `{"email":null,"webhookId":null}`, 422); got.rules() != "email one_of:email|phone|webhookId" {
		t.Errorf("out of reach: %s", got.raw)
	}
	if got := h.ask("admin", "POST", "/api/admin/alerts/test", `{"recipientId":"`+made.Data.ID+`","channel":"sms"}`, 422); got.rules() != "channel no_address" {
		t.Errorf("test without a number: %s", got.raw)
	}
	h.ask("admin", "POST", "/api/admin/alerts/test", `{"recipientId":"`+made.Data.ID+`","channel":"email"}`, 200)
	h.ask("foreign", "POST", "/api/admin/alerts/test", `{"recipientId":"`+made.Data.ID+`","channel":"email"}`, 404)
	if c := h.orders[0]; c.Endpoint != made.Data.ID || c.Channel != subscriber.ChannelMail || c.Verb != outbound.VerbTest {
		t.Errorf("order %+v", c)
	}
	h.ask("admin", "DELETE", one, "", 200)
}

// TestLanguageOfRecipient: messages are in English until an administrator sets another language. Changing a different
// field does not change the language.
func TestLanguageOfRecipient(t *testing.T) {
	h := open(t)
	const path = "/api/admin/alerts/recipients"
	id := h.ask("admin", "POST", path, `{"label":"Charge nurse","phone":"+15550199742"}`, 200).Data.ID
	for _, step := range []struct{ body, want string }{
		{`{"label":"Charge"}`, "en"},
		{`{"language":"es"}`, "es"},
		{`{"label":"Charge nurse"}`, "es"},
		{`{"language":null}`, "en"},
	} {
		changed := h.ask("admin", "PATCH", path+"/"+id, step.body, 200)
		if p, _ := h.register.Recipient("north", id); p.Language != step.want || !strings.Contains(changed.raw, `"language":"`+step.want+`"`) {
			t.Errorf("after %s the language is %q: %s", step.body, p.Language, changed.raw)
		}
	}
	made := h.ask("admin", "POST", path, `{"label":"Supervisor","email":"a@canary-hospital.example","language":"es"}`, 200)
	if p, _ := h.register.Recipient("north", made.Data.ID); p.Language != "es" {
		t.Errorf("made in %q", p.Language)
	}
	if list := h.ask("admin", "GET", path, "", 200); strings.Count(list.raw, `"language":"es"`) != 1 || strings.Count(list.raw, `"language":"en"`) != 1 {
		t.Errorf("listed %s", list.raw)
	}
	for _, language := range []string{"", "ES", "es-US", "fr"} {
		body := `{"label":"A","phone":"+15550199742","language":"` + language + `"}`
		for method, at := range map[string]string{"POST": path, "PATCH": path + "/" + id} {
			if got := h.ask("admin", method, at, body, 400); got.rules() != "language enum:en|es" {
				t.Errorf("%s, language %q: %s", method, language, got.raw)
			}
		}
	}
}
