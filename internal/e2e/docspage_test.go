package e2e

import (
	"fmt"
	"net/http"
	"testing"
	"time"
)

// TestDocsPage: a reader finds an endpoint by searching for words from the task, and no link of the table of contents
// is broken. The first example contains the address of this server. TestPages also checks this page for accessibility
// and horizontal scrolling.
func TestDocsPage(t *testing.T) {
	t.Parallel()
	b := startBrowser(t)
	d := startDev(t, t.TempDir(), "--ephemeral")
	v := b.window(t, d.BaseURL, windows[1])
	v.wants("/docs", http.StatusOK)
	if at := ask[string](v, `document.querySelector(".origin").textContent`); at != d.BaseURL {
		t.Errorf("the first example sends to %q, this is %q", at, d.BaseURL)
	}
	v.press("/")
	v.do("type", map[string]any{"text": "post census"}, nil)
	shown := `[...document.querySelectorAll("article")].filter(a => a.checkVisibility()).map(a => a.id).join()`
	v.await(fmt.Sprintf(`%s === "sendCensus"`, shown), 5*time.Second)
	if found := ask[string](v, `document.getElementById("found").textContent`); found != "1 endpoint found" {
		t.Errorf("the search says %q", found)
	}
	v.press("Escape")
	v.await(fmt.Sprintf(`%s.split(",").length === document.querySelectorAll("article").length`, shown), 5*time.Second)
	if tasks := ask[int](v, `[...document.querySelectorAll("nav a")].filter(a => !document.querySelector(a.getAttribute("href"))).length`); tasks > 0 {
		t.Errorf("%d links of the contents lead nowhere", tasks)
	}
	if faults := v.complaints(); len(faults) > 0 {
		t.Error(faults)
	}
}
