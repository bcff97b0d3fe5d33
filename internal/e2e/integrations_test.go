package e2e

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestIntegrations: an administrator connects an empty hospital, using only the pages: with the mouse, with the
// keyboard, and without JavaScript. Each secret is shown once.
func TestIntegrations(t *testing.T) {
	t.Parallel()
	b := startBrowser(t)
	d := startDev(t, t.TempDir(), "--ephemeral")
	w := d.ward(t, "mercy", "Mercy")
	v, run := b.window(t, d.BaseURL, windows[1]), b.window(t, d.BaseURL, windows[1])
	v.signIn(w.link(t, "admin"))
	run.signIn(w.link(t, "admin"))
	run.wants("/app/integrations", http.StatusOK)
	steps := func(n int) {
		run.await(fmt.Sprintf(`document.querySelectorAll(".run li")[%d]?.className === "done"`, n-1), 20*time.Second)
	}
	steps(1) // one setup step is done, because the tests' key exists
	v.wants("/app/integrations", http.StatusOK)
	v.inspect("integrations-first")

	key := v.mint("ehr")
	v.checkHidden(key, "/app/integrations/keys")
	steps(2)
	w.accepted(t, "census", census(t, 4, "labor-standard", "pp-couplet"))
	steps(3)
	w.accepted(t, "staffing", staffing(3, false))
	steps(4)
	v.wants("/app/integrations/keys/new", http.StatusOK)
	v.do("eval", map[string]any{"code": `document.querySelector("input[name=name]").required = false`}, nil)
	v.click("form.admin button.go")
	v.await(`document.querySelector("[name=name][aria-invalid=true]") !== null`, 10*time.Second)
	v.complaints() // drops the console message about the refusal
	v.inspect("integrations-keys-new")

	got := make(chan *http.Request, 8)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) //nolint:errcheck // without the body, the test fails
		r.Header.Set("Body", string(body))
		got <- r
	}))
	defer hook.Close()
	v.wants("/app/integrations/webhooks/new", http.StatusOK)
	v.do("fill", map[string]any{"selector": "input[name=url]", "text": hook.URL + "/events"}, nil)
	v.click("input[value='surge.level_changed']")
	v.click("input[value='room.rescored']")
	v.click("input[value=ping]")
	v.click("form.admin button.go")
	v.await(`document.querySelector("#secret")?.textContent.startsWith("whsec_")`, 20*time.Second)
	v.checkHidden(ask[string](v, `document.querySelector("#secret").textContent`), ask[string](v, "location.pathname"))
	steps(5)
	v.inspect("integrations-webhook")
	v.tabTo("form[action$='/test'] select")
	v.tabTo("form[action$='/test'] button")
	v.press("Enter")
	v.await(`document.querySelector("#request") !== null && document.querySelector("#state").textContent.includes("1 of 1 delivered")`, 20*time.Second)
	sent, shown := <-got, ask[string](v, `document.querySelector("#request").textContent`)
	for _, name := range []string{"Webhook-Id", "Webhook-Timestamp", "Webhook-Signature", "X-Svc-Signature", "Body"} {
		if value := sent.Header.Get(name); value == "" || !strings.Contains(shown, value) {
			t.Errorf("the page does not show %s %q: %s", name, value, shown)
		}
	}
	v.inspect("integrations-test")
	v.click("main section p:last-of-type a")
	v.loaded()
	v.click("a[href$='/replay']")
	v.await(`document.querySelector("input[name=since]") !== null`, 10*time.Second)
	v.do("fill", map[string]any{"selector": "input[name=since]", "text": "2031-01-01T00:00"}, nil)
	v.do("eval", map[string]any{"code": `document.querySelector("input[name=since]").value = new Date(Date.now() - 864e5).toISOString().slice(0, 16)`}, nil)
	v.click("form[method=get] button")
	v.await(`document.querySelector(".told") !== null`, 10*time.Second)
	v.inspect("integrations-replay")

	// Do the rest by keyboard.
	v.wants("/app/integrations/walls", http.StatusOK)
	v.tabTo("input[name=label]")
	v.do("type", map[string]any{"text": "station"}, nil)
	v.press("Enter")
	v.await(`document.querySelector("#secret")?.textContent.includes("/board/")`, 20*time.Second)
	v.checkHidden(ask[string](v, `document.querySelector("#secret").textContent`), "/app/integrations/walls")
	steps(6)
	v.wants("/app/integrations/keys", http.StatusOK)
	v.tabTo("a[href$='/keys/new']")
	v.press("Enter")
	v.await(`location.pathname.endsWith("/keys/new")`, 10*time.Second)
	v.tabTo("input[name=name]")
	v.do("type", map[string]any{"text": "by keyboard"}, nil)
	v.tabTo("input[name=scopes]")
	v.press("Space", "Enter")
	v.await(`document.querySelector("#secret")?.textContent.startsWith("svc_")`, 20*time.Second)
	v.wants("/app/integrations/keys", http.StatusOK)
	v.tabTo("a[aria-label='Revoke: by keyboard']")
	v.press("Enter")
	v.await(`location.pathname.endsWith("/revoke")`, 10*time.Second)
	v.tabTo("input[name=name]")
	v.do("type", map[string]any{"text": "by keyboard"}, nil)
	v.press("Enter")
	v.await(`document.querySelector(".told")?.textContent.includes("by keyboard")`, 20*time.Second)
	v.wants("/app/integrations/audit", http.StatusOK)
	v.inspect("integrations-audit")
	if html := v.content(); !strings.Contains(html, "key.mint") || strings.Count(html, ">webhook.create</code>") != 1 {
		t.Error("the audit lacks an act")
	}

	plain := b.window(t, d.BaseURL, viewing{width: 390, height: 844, noScript: true, language: "es-MX"})
	plain.signIn(w.link(t, "admin"))
	key = plain.mint("partner")
	plain.wants("/app/integrations/keys", http.StatusOK)
	if strings.Contains(plain.content(), key) {
		t.Error("without scripts the key is shown twice")
	}
	es := b.window(t, d.BaseURL, viewing{width: 390, height: 844, language: "es-MX"})
	es.signIn(w.link(t, "admin"))
	es.wants("/app/integrations/keys/new?preset=hr", http.StatusOK)
	es.inspect("integrations-es")
}

// mint creates a key from a preset, tries the command that the page shows, and returns the key.
func (v *view) mint(preset string) string {
	v.t.Helper()
	v.wants("/app/integrations/keys/new?preset="+preset, http.StatusOK)
	v.click("form.admin button.go")
	v.loaded()
	shown := regexp.MustCompile(`<code id="secret" translate="no">(svc_[0-9a-f]{64})</code>`).FindStringSubmatch(v.content())
	if shown == nil {
		v.t.Fatalf("no key is shown: %s", v.content())
	}
	line := regexp.MustCompile(`<code id="curl" translate="no">([^<]*)</code>`).FindStringSubmatch(v.content())
	if line == nil {
		v.t.Fatal("no line is shown")
	}
	command := strings.NewReplacer("&amp;", "&", "&lt;", "<", "&gt;", ">").Replace(line[1])
	out, err := exec.CommandContext(v.t.Context(), "sh", "-c", command+" -sS -w ' %{http_code}'").CombinedOutput()
	if err != nil || !strings.HasSuffix(string(out), " 200") {
		v.t.Errorf("%s: %s %v", preset, out, err)
	}
	return shown[1]
}

// checkHidden expects the browser to have no copy of a page's secret after the user has left the page.
func (v *view) checkHidden(secret, path string) {
	v.t.Helper()
	kept := `JSON.stringify([{...localStorage}, {...sessionStorage}, location.href, document.cookie, history.state])`
	if strings.Contains(ask[string](v, kept), secret) {
		v.t.Error("the browser keeps a secret")
	}
	var cookies []struct{ Name, Value string }
	v.do("cookies", nil, &cookies)
	for _, c := range cookies {
		if strings.Contains(c.Value, secret) || strings.Contains(c.Name, "flash") {
			v.t.Errorf("the cookie %s is still there", c.Name)
		}
	}
	for _, again := range []string{path, "/app", "back"} {
		if again == "back" {
			v.do("back", nil, nil)
			v.await(fmt.Sprintf("location.pathname === %q && document.readyState === 'complete'", path), 10*time.Second)
		} else {
			v.wants(again, http.StatusOK)
		}
		if strings.Contains(v.content(), secret) {
			v.t.Errorf("%s shows a secret again", again)
		}
	}
}
