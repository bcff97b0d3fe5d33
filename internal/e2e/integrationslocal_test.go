package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// strange returns a hospital that has sent unmapped codes and locations, and a client for an administrator of the
// hospital.
func strange(t *testing.T, d *dev, id string) (w *ward, admin *partner) {
	t.Helper()
	w = d.ward(t, id, "Mercy Maternity")
	w.sendUnknownCodes(t)
	key := cli(t, w.env, append([]string{"keys", "mint", "--hospital", id, "--name", "administrators", "--scopes", "admin"}, w.args...)...)
	admin = newPartner(d.BaseURL, id, key)
	eventually(t, 10*time.Second, func() error {
		a, err := admin.do(http.MethodGet, "/api/admin/terminology/worklist", "", "")
		if err == nil && a.status != http.StatusOK {
			err = fmt.Errorf("status %d", a.status)
		}
		return err
	})
	return w, admin
}

// sendUnknownCodes sends three occupied rooms, and unmapped codes and an unmapped location.
func (w *ward) sendUnknownCodes(t *testing.T) {
	t.Helper()
	w.accepted(t, "census", census(t, 8, "labor-standard", "pp-couplet", "empty"))
	w.accepted(t, "staffing", staffing(5, true))
	w.accepted(t, "clinical", `{"roomId":1,"signals":[{"kind":"medication","system":"local","code":"HIGH_MAG","display":"mag drip","status":"active"},{"kind":"lab","system":"local","code":"QBL","value":1600}]}`)
	w.accepted(t, "adt", `{"eventType":"admit","occurredAt":"`+time.Now().UTC().Format(time.RFC3339)+`","visitId":"VNCANARY77","location":{"pointOfCare":"BIRTHCENTER","room":"B9"}}`)
}

const integrations = "/app/integrations"

// TestIntegrationsPages inspects the pages of feeds, terminology, rules and alerts in both themes and at three widths,
// and does their tasks with the mouse.
func TestIntegrationsPages(t *testing.T) {
	t.Parallel()
	b := startBrowser(t)
	d := startDev(t, t.TempDir(), "--ephemeral")
	w, admin := strange(t, d, "mercy")
	v := b.window(t, d.BaseURL, windows[1])
	v.signIn(w.link(t, "admin"))

	// The sample that is shown for each feed is accepted unchanged.
	v.wants(integrations+"/feeds/connect", http.StatusOK)
	feeds := ask[[]struct{ ID, Address, Type, Sample string }](v, `[...document.querySelectorAll("[id^=sample-]")].map(e => {
		const id = e.id.slice(7), text = what => document.getElementById(what + "-" + id).textContent;
		return { id, address: text("address"), type: text("type"), sample: e.textContent };
	})`)
	if len(feeds) != 8 {
		t.Errorf("%d feeds are described", len(feeds))
	}
	sampled := d.ward(t, "sampled", "Mercy Maternity")
	for _, f := range feeds {
		path, ours := strings.CutPrefix(f.Address, "POST "+d.BaseURL)
		a, err := sampled.do(http.MethodPost, path, strings.TrimPrefix(f.Type, "Content-Type: "), f.Sample)
		if !ours || err != nil || a.status != http.StatusOK || strings.Contains(string(a.raw), "MSA|AE") || strings.Contains(string(a.raw), "MSA|AR") {
			t.Errorf("%s, %s: %v, %+v", f.Address, f.Type, err, a)
		}
	}
	v.inspect("feeds-connect")
	v.wants(integrations+"/feeds", http.StatusOK)
	v.inspect("feeds")
	v.wants(integrations+"/feeds/letters", http.StatusOK)

	// Preview a code, map it, and remove the mapping.
	v.wants(integrations+"/terminology", http.StatusOK)
	v.click("a[href*=HIGH_MAG]")
	v.await(`location.pathname.endsWith("/code")`, 10*time.Second)
	v.click("input[value=high-mag]")
	v.click("main button[value=preview]")
	v.await(`document.querySelector(".effect")`, 10*time.Second)
	if said := ask[string](v, `document.querySelector(".effect").innerText`); !strings.Contains(said, "LDR 1") || !strings.Contains(said, "Magnesium") {
		t.Errorf("the preview says %q", said)
	}
	if got := admin.worklist(t, "?status=mapped"); got.Total != 0 {
		t.Error("a preview has mapped the code")
	}
	v.inspect("terminology-code")
	v.click("main button[value=apply]")
	v.await(`document.querySelector("[role=status].told, .told")`, 10*time.Second)
	if got := admin.worklist(t, "?status=mapped"); got.Total != 1 {
		t.Errorf("%d codes are mapped", got.Total)
	}
	v.click("main button[value=remove]") // removes the mapping again
	v.await(`location.pathname.endsWith("/map")`, 10*time.Second)
	if got := admin.worklist(t, "?status=mapped"); got.Total != 0 {
		t.Error("the mapping was not undone")
	}

	// Map locations, and import both tables as files.
	v.wants(integrations+"/terminology/locations", http.StatusOK)
	v.inspect("locations")
	v.click("a[href*=BIRTHCENTER]")
	v.await(`location.pathname.endsWith("/row")`, 10*time.Second)
	v.do("fill", map[string]any{"selector": "input[name=roomId]", "text": "9"}, nil)
	v.click("main button[value=apply]")
	v.await(`location.pathname.endsWith("/locations")`, 10*time.Second)
	v.wants(integrations+"/terminology/import", http.StatusOK)
	v.do("fill", map[string]any{"selector": "textarea", "text": "system,code,factorId\nlocal,QBL,no-such-factor\n"}, nil)
	v.click("main button[value=preview]")
	v.await(`document.querySelector("[role=alert]")`, 10*time.Second)
	if said := ask[string](v, `document.querySelector("[role=alert]").innerText`); !strings.HasPrefix(said, "line 2: factorId") {
		t.Errorf("a wrong row is answered by %q", said)
	}
	v.complaints() // drops the console message about the 422
	v.inspect("terminology-import")

	// Preview how a changed rule affects the present and would have affected the past.
	v.wants(integrations+"/rules/labor-standard", http.StatusOK)
	v.do("fill", map[string]any{"selector": "input[name='l.demand']", "text": "2"}, nil)
	v.click("main button[value=preview]")
	v.await(`document.querySelector("a[href*='/past?']")`, 10*time.Second)
	v.inspect("rule")
	v.click("a[href*='/past?']")
	v.await(`location.pathname.endsWith("/past") && !document.querySelector("progress")`, 30*time.Second)
	v.inspect("rule-past")
	v.wants(integrations+"/rules", http.StatusOK)
}
