package web

import (
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"svc/internal/admin/users"
	"svc/internal/seal"
)

// TestNoPageWithoutASession requests every page with every kind of invalid session. No page may show data.
func TestNoPageWithoutASession(t *testing.T) {
	t.Parallel()
	change := func(change func(*users.User)) func(*pages, *http.Cookie) {
		return func(p *pages, _ *http.Cookie) {
			u, _ := p.Users.User("north", "usr_admin")
			change(&u)
			p.Users.SetUser(u)
		}
	}
	later := func(d time.Duration) func(*pages, *http.Cookie) {
		return func(p *pages, _ *http.Cookie) { p.Time = p.Time.Add(d) }
	}
	for name, tt := range map[string]struct {
		spoil func(*pages, *http.Cookie)
		says  string // text that the page must contain; "" if the request redirects to the sign-in
	}{
		"no cookie":            {func(_ *pages, c *http.Cookie) { c.Name = "other" }, ""},
		"cookie of plain HTTP": {func(_ *pages, c *http.Cookie) { c.Name = "svc-dev" }, ""},
		"empty":                {func(_ *pages, c *http.Cookie) { c.Value = "" }, ""},
		"no base64":            {func(_ *pages, c *http.Cookie) { c.Value = "*" }, ""},
		"tampered": {func(_ *pages, c *http.Cookie) {
			raw, _ := base64.RawURLEncoding.DecodeString(c.Value) //nolint:errcheck // a session cookie is valid base64
			raw[len(raw)-1] ^= 1
			c.Value = base64.RawURLEncoding.EncodeToString(raw)
		}, ""},
		"cut short": {func(_ *pages, c *http.Cookie) { c.Value = c.Value[:len(c.Value)/2] }, ""},
		"of another key": {func(p *pages, c *http.Cookie) {
			ring, err := seal.NewKeyring("another key of the tests, as long as it")
			if err != nil {
				p.Fatal(err)
			}
			p.Seals = ring
			c.Value = p.Cookie("north", "usr_admin").Value
		}, ""},
		"sealed for something else": {func(p *pages, c *http.Cookie) {
			c.Value = base64.RawURLEncoding.EncodeToString(p.Seals.Seal("another purpose", []byte(`{"u":"usr_admin","h":"north","i":1932897600,"s":1932897600}`)))
		}, ""},
		"idle":                      {later(15 * time.Minute), "You were signed out"},
		"from the future":           {later(-2 * time.Minute), "You were signed out"},
		"ended by an administrator": {change(func(u *users.User) { u.Epoch++ }), "Your session was ended"},
		"disabled":                  {change(func(u *users.User) { u.Disabled = true }), "Your session was ended"},
		"no role any more":          {change(func(u *users.User) { u.Role = "" }), "You were signed out"},
		"over":                      {change(func(u *users.User) { u.Until = noon }), "You were signed out"},
		"gone":                      {func(p *pages, _ *http.Cookie) { p.Users.DropUser("north", "usr_admin") }, "Your session was ended"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPages(t)
			cookie := p.Cookie("north", "usr_admin")
			if got := p.Ask("GET", "/app", cookie); got.Code != http.StatusOK {
				t.Fatalf("before: %d", got.Code)
			}
			tt.spoil(p, cookie)
			for _, r := range p.guarded() {
				got := p.Ask(r.method, r.path, cookie, "nurses=3")
				leads := got.Code == http.StatusSeeOther && got.Header().Get("Location") == "/"
				switch {
				case strings.Contains(got.Body.String(), "canary"):
					t.Errorf("%s %s shows a room", r.method, r.pattern)
				case tt.says == "" && r.method == http.MethodGet && !leads && got.Code != http.StatusUnauthorized,
					tt.says == "" && r.method != http.MethodGet && got.Code != http.StatusUnauthorized,
					tt.says != "" && got.Code != http.StatusUnauthorized:
					t.Errorf("%s %s answers %d %s", r.method, r.pattern, got.Code, got.Header().Get("Location"))
				case tt.says != "" && !strings.Contains(got.Body.String(), tt.says):
					t.Errorf("%s %s does not say %q", r.method, r.pattern, tt.says)
				case tt.says != "" && !strings.Contains(got.Header().Get("Set-Cookie"), "Max-Age=0"):
					t.Errorf("%s %s leaves the cookie", r.method, r.pattern)
				}
			}
		})
	}
}

// TestSessionsEnd checks the maximum length and the idle timeout of the sessions of each role.
func TestSessionsEnd(t *testing.T) {
	t.Parallel()
	for role, limit := range map[users.Role]users.Limit{
		users.Viewer: {Idle: 4 * time.Hour, Absolute: 13 * time.Hour}, users.Charge: {Idle: time.Hour, Absolute: 13 * time.Hour}, users.Admin: {Idle: 15 * time.Minute, Absolute: 8 * time.Hour},
	} {
		t.Run(string(role), func(t *testing.T) {
			t.Parallel()
			p := newPages(t)
			idle := p.Cookie("north", "usr_"+string(role))
			p.Time = noon.Add(limit.Idle - time.Second)
			if got := p.Ask("GET", "/app", idle); got.Code != http.StatusOK {
				t.Errorf("a second before the end: %d", got.Code)
			}
			p.Time = noon.Add(limit.Idle)
			if got := p.Ask("GET", "/app", idle); got.Code != http.StatusUnauthorized {
				t.Errorf("idle: %d", got.Code)
			}
			p.Time = noon
			busy := p.Cookie("north", "usr_"+string(role))
			for p.Time.Before(noon.Add(limit.Absolute - limit.Idle/2)) {
				p.Time = p.Time.Add(limit.Idle / 2)
				got := p.Ask("GET", "/app", busy)
				if got.Code != http.StatusOK || len(got.Result().Cookies()) != 1 {
					t.Fatalf("busy, after %v: %d", p.Time.Sub(noon), got.Code)
				}
				busy = got.Result().Cookies()[0]
			}
			p.Time = noon.Add(limit.Absolute)
			if got := p.Ask("GET", "/app", busy); got.Code != http.StatusUnauthorized {
				t.Errorf("after the longest time: %d", got.Code)
			}
		})
	}
}

// TestRoles requests every page with every role. A page must refuse the roles that do not include its required role,
// and no others.
func TestRoles(t *testing.T) {
	t.Parallel()
	p := newPages(t)
	for _, r := range p.guarded() {
		if r.streams() {
			continue
		}
		for _, role := range users.Roles() {
			got := p.Ask(r.method, r.path, p.Cookie("north", "usr_"+string(role)))
			refused := got.Code == http.StatusForbidden
			if refused == role.Covers(r.need()) || got.Code == http.StatusUnauthorized {
				t.Errorf("%s %s as %s: %d", r.method, r.pattern, role, got.Code)
			}
		}
	}
}

// ownAddress matches the page's own path in the form that switches the theme.
var ownAddress = regexp.MustCompile(`name="to" value="[^"]*"`)

// TestOtherHospitalsStayUnseen: no page for a person of the hospital south shows data of north.
func TestOtherHospitalsStayUnseen(t *testing.T) {
	t.Parallel()
	p := newPages(t)
	for _, r := range p.guarded() {
		if r.streams() || r.method != http.MethodGet {
			continue
		}
		for _, path := range []string{r.path, r.path + "?hospital=north", r.path + "?hospitalId=north&h=north"} {
			got := p.Ask(r.method, path, p.Cookie("south", "usr_south"))
			body := ownAddress.ReplaceAllString(got.Body.String(), "") // the path contains the requested hospital
			if strings.Contains(body, "north") {
				t.Errorf("%s shows something of north", path)
			}
		}
	}
}

// TestRoleChangesAtOnce: a session always has its user's current role.
func TestRoleChangesAtOnce(t *testing.T) {
	t.Parallel()
	p := newPages(t)
	cookie := p.Cookie("north", "usr_charge")
	u, _ := p.Users.User("north", "usr_charge")
	u.Role = users.Viewer
	p.Users.SetUser(u)
	if got := p.Ask("POST", "/app/staffing", cookie, "nurses=3"); got.Code != http.StatusForbidden {
		t.Errorf("staffing by who was a charge nurse: %d", got.Code)
	}
}

// TestForeignForms: a form from another site, or without an origin, is refused.
func TestForeignForms(t *testing.T) {
	t.Parallel()
	for name, headers := range map[string][]string{
		"says nothing": {}, "another origin": {"Origin", "https://evil.example"}, "another site": {"Sec-Fetch-Site", "cross-site"},
		"another host of the site": {"Sec-Fetch-Site", "same-site", "Origin", "https://other.example.com"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPages(t)
			for _, path := range []string{"/signin/fresh", "/signout", "/theme", "/app/staffing"} {
				r := httptest.NewRequest("POST", path, strings.NewReader("nurses=3"))
				r.AddCookie(p.Cookie("north", "usr_admin"))
				for i := 0; i+1 < len(headers); i += 2 {
					r.Header.Set(headers[i], headers[i+1])
				}
				w := httptest.NewRecorder()
				p.Router.ServeHTTP(w, r)
				if w.Code != http.StatusForbidden || len(w.Result().Cookies()) != 0 {
					t.Errorf("%s: %d", path, w.Code)
				}
			}
			if l := p.links.ByToken["fresh"]; !l.UsedAt.IsZero() || len(p.links.Out) != 0 {
				t.Error("it changed something")
			}
		})
	}
}

// TestCookie: a session cookie reveals nothing and is sent only to this site.
func TestCookie(t *testing.T) {
	t.Parallel()
	p := newPages(t)
	c := p.Cookie("north", "usr_admin")
	if c.Name != "__Host-svc" || !c.Secure || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.Domain != "" || c.MaxAge != 0 {
		t.Errorf("cookie %v", c)
	}
	raw, err := base64.RawURLEncoding.DecodeString(c.Value)
	if err != nil || strings.Contains(string(raw), "usr_") || strings.Contains(string(raw), "north") {
		t.Error("the cookie can be read")
	}
}

// TestMostHospitals: the session of a person with very many hospitals still fits in a cookie.
func TestMostHospitals(t *testing.T) {
	t.Parallel()
	p := newPages(t)
	name := strings.Repeat("h", 58)
	for i := range 2700 {
		p.Users.SetUser(users.User{ID: "usr_many", Hospital: name + "-" + string(rune('a'+i%26)) + string(rune('a'+i/26%26)) + string(rune('a'+i/676)), Role: users.Viewer, Epoch: int64(1) << 40})
	}
	all := p.Users.Hospitals("usr_many")
	c := p.Cookie(all[0].Hospital, "usr_many")
	if n := len(c.String()); n > 4096 {
		t.Errorf("a cookie of %d bytes", n)
	}
}

// TestUse: a request by a person extends the session; an automatic request from a page does not.
func TestUse(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		headers []string
		method  string
		use     bool
	}{
		"a link":                   {[]string{"Sec-Fetch-Mode", "navigate", "Sec-Fetch-User", "?1"}, "GET", true},
		"refreshed by itself":      {[]string{"Sec-Fetch-Mode", "navigate"}, "GET", false},
		"a form":                   {[]string{"Sec-Fetch-Mode", "navigate"}, "POST", true},
		"fetched anew":             {[]string{"Sec-Fetch-Mode", "cors"}, "GET", false},
		"a stream":                 {[]string{"Sec-Fetch-Mode", "cors", "Accept", "text/event-stream"}, "GET", false},
		"the button to stay":       {[]string{"Sec-Fetch-Mode", "cors", "X-Stay", "1"}, "GET", true},
		"a browser without a word": {nil, "GET", true},
		"a stream without a word":  {[]string{"Accept", "text/event-stream"}, "GET", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPages(t)
			cookie := p.Cookie("north", "usr_charge")
			p.Time = noon.Add(time.Minute)
			path := "/app"
			if tt.method == "POST" {
				path = "/app/staffing"
			}
			r := httptest.NewRequest(tt.method, path, nil)
			r.Header.Set("Sec-Fetch-Site", "same-origin")
			r.AddCookie(cookie)
			for i := 0; i+1 < len(tt.headers); i += 2 {
				r.Header.Set(tt.headers[i], tt.headers[i+1])
			}
			w := httptest.NewRecorder()
			p.Router.ServeHTTP(w, r)
			if used := len(w.Result().Cookies()) > 0; used != tt.use {
				t.Errorf("use %v, answer %d", used, w.Code)
			}
		})
	}
}

// TestSeveralHospitals: each hospital is shown at its path, with the person's role in that hospital. A hospital is
// not found if the person has no access to it or the session has ended in it.
func TestSeveralHospitals(t *testing.T) {
	t.Parallel()
	p := newPages(t)
	cookie := p.Cookie("north", "usr_both")
	ask := func(method, path string, want int, shows string) {
		t.Helper()
		if got := p.Ask(method, path, cookie, "nurses=3"); got.Code != want || !strings.Contains(got.Body.String(), shows) {
			t.Errorf("%s %s: %d, want %d and %q", method, path, got.Code, want, shows)
		}
	}
	ask("GET", "/app/u/north", 200, "canary of north")
	ask("GET", "/app/u/south", 200, "canary of south")
	ask("GET", "/app", 200, "canary of north")
	ask("POST", "/app/u/south/staffing", 403, "") // the person is only a viewer in south
	ask("GET", "/app/u/south/alerts", 403, "")
	for _, path := range []string{"/app/u/west", "/app/u/west/print", "/app/u/", "/app/u/%2e%2e"} {
		ask("GET", path, 404, "")
	}
	if got := p.Ask("GET", "/app/u/north", p.Cookie("south", "usr_south")); got.Code != 404 || strings.Contains(got.Body.String(), "north") {
		t.Errorf("a foreign hospital: %d", got.Code)
	}
	for name, change := range map[string]func(*users.User){"ended": func(u *users.User) { u.Epoch++ }, "disabled": func(u *users.User) { u.Disabled = true }} {
		u, _ := p.Users.User("south", "usr_both")
		before := u
		change(&u)
		p.Users.SetUser(u)
		if got := p.Ask("GET", "/app/u/south", cookie); got.Code != 404 || strings.Contains(got.Body.String(), "canary") {
			t.Errorf("%s in one hospital: %d", name, got.Code)
		}
		ask("GET", "/app/u/north", 200, "canary of north")
		if name == "ended" { // a new sign-in restores access
			cookie = p.Cookie("north", "usr_both")
			ask("GET", "/app/u/south", 200, "canary of south")
			cookie = nil
		}
		p.Users.SetUser(before)
		cookie = p.Cookie("north", "usr_both")
	}
}

// TestThemeKeepsThePage: switching the theme returns to the same page with the same query. It never redirects to
// another site or a sign-in link.
func TestThemeKeepsThePage(t *testing.T) {
	t.Parallel()
	p := newPages(t)
	cookie := p.Cookie("north", "usr_viewer")
	page := p.Ask("GET", "/app/trends?days=7", cookie).Body.String()
	if !strings.Contains(page, `<input type="hidden" name="to" value="/app/trends?days=7">`) {
		t.Error("the form does not say where it is")
	}
	for to, want := range map[string]string{
		"/app/trends?days=7": "/app/trends?days=7", "/app": "/app", "/app/u/south/rooms/4": "/app/u/south/rooms/4", "": "/app", "/": "/app",
		"//evil.example/app": "/app", "https://evil.example/app/": "/app", `/\evil.example/app/`: "/app", "/app/../signin/x": "/app", "/apple": "/app",
		"/signin/0123": "/app", "javascript:alert(1)": "/app", "/app//evil": "/app", "\n/app": "/app",
	} {
		got := p.Ask("POST", "/theme", cookie, url.Values{"to": {to}}.Encode())
		if at := got.Header().Get("Location"); got.Code != http.StatusSeeOther || at != want {
			t.Errorf("%q leads to %q, %d; want %q", to, at, got.Code, want)
		}
	}
}

// TestSlashAtTheEnd: a path with a trailing slash redirects to the page without it.
func TestSlashAtTheEnd(t *testing.T) {
	t.Parallel()
	p := newPages(t)
	for path, want := range map[string]string{"/app/integrations/": "/app/integrations", "/app/": "/app", "/app/trends/?days=7": "/app/trends?days=7"} {
		got := p.Ask("GET", path, p.Cookie("north", "usr_admin"))
		if at := got.Header().Get("Location"); got.Code != http.StatusPermanentRedirect || at != want {
			t.Errorf("%s: %d to %q", path, got.Code, at)
		}
	}
}
