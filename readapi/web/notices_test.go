package web

import (
	"net/http"
	"regexp"
	"testing"
	"time"
)

var linkOnward = regexp.MustCompile(`<a class="btn go" href="([^"]*)">([^<]*)</a>`)

// TestNoticesLeadOn: an error page links to the page on which its reader continues, and that reader can open it. A wall
// display, which has no other page, gets no link.
func TestNoticesLeadOn(t *testing.T) {
	t.Parallel()
	p, _ := withAPI(t)
	old := p.Cookie("north", "usr_charge")
	p.Time = noon.Add(time.Hour + 30*time.Minute) // longer than a charge nurse may be idle
	viewer, charge := p.Cookie("north", "usr_viewer"), p.Cookie("north", "usr_charge")
	for name, tt := range map[string]struct {
		cookie             *http.Cookie
		method, path, form string
		to, says           string
	}{
		"used link":       {nil, "GET", "/signin/used", "", "/", "Go to the start page"},
		"used by oneself": {charge, "GET", "/signin/used", "", "/", "Go to the start page"},
		"idle":            {old, "GET", "/app", "", "/", "Sign in again"},
		"form, idle":      {old, "POST", "/app/staffing", "nurses=3", "/", "Sign in again"},
		"no session":      {nil, "POST", "/app/staffing", "nurses=3", "/", "Sign in again"},
		"ended alert":     {charge, "POST", "/app/alerts/never", "", "/app/alerts", "Alerts"},
		"here as well":    {charge, "POST", "/app/u/north/alerts/never", "", "/app/u/north/alerts", "Alerts"},
		"ended session":   {viewer, "POST", "/app/sessions/end", "session=never", "/app/sessions", "Your sessions"},
		"no page":         {viewer, "GET", "/app/never", "", "", ""}, // the navigation leads on
		"no role":         {viewer, "GET", "/app/alerts", "", "", ""},
		"wall link":       {nil, "GET", "/board/never", "", "", ""},
	} {
		got := p.Ask(tt.method, tt.path, tt.cookie, tt.form)
		link := linkOnward.FindStringSubmatch(got.Body.String())
		switch {
		case got.Code < 400:
			t.Errorf("%s: %d", name, got.Code)
		case tt.to == "" && link != nil || tt.to != "" && (link == nil || link[1] != tt.to || link[2] != tt.says):
			t.Errorf("%s: the link is %q, want %q to %q", name, link, tt.says, tt.to)
		case tt.to != "":
			if next := p.Ask("GET", link[1], tt.cookie); next.Code != http.StatusOK && next.Code != http.StatusSeeOther {
				t.Errorf("%s: %s responds with %d", name, link[1], next.Code)
			}
		}
	}
}
