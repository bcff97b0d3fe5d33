package signin

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"svc/internal/admin/users"
	"svc/internal/testkit/oidctest"
	"svc/readapi/web/auth"
	"svc/readapi/web/page/pagetest"
)

// directory stores the users in memory.
type directory struct{ p *pages }

func (d directory) Hospitals() []string { return []string{"north", "south"} }

func (d directory) SignIn(
	_ context.Context, subjects [][]byte, label string, roles map[string]users.Role, in users.SignIn,
) (users.Session, []users.User, error) {
	var all []users.User
	for _, hospital := range d.Hospitals() {
		if role, ok := roles[hospital]; ok {
			u := users.User{ID: "usr_" + string(subjects[0]), Hospital: hospital, Label: label, Role: role}
			d.p.Users.SetUser(u)
			all = append(all, u)
		}
	}
	if len(all) == 0 {
		return users.Session{}, nil, users.ErrNoAccess
	}
	s := d.p.Begin(all[0].ID, all[0].Hospital)
	s.ProvedAt = in.ProvedAt
	d.p.Users.SetSession(s)
	return s, all, nil
}

// provided returns the pages with an identity provider.
func provided(t *testing.T) (*pages, *oidctest.Issuer) {
	t.Helper()
	p, i := newPages(t), oidctest.New(t, func() time.Time { return pagetest.Noon })
	p.config.Directory = directory{p}
	p.config.Discovery = NewDiscovery(&Provider{
		Issuer: i.URL, ClientID: oidctest.ClientID, ClientSecret: oidctest.ClientSecret, Callback: "https://svc.example" + CallbackPath, GroupsClaim: "groups", ACR: "mfa",
		Roles: []GroupRole{
			{"nurses", "north", users.Viewer}, {"leads", "north", users.Charge}, {"leads", "south", users.Viewer}, {"it", "*", users.Admin}, {"lost", "nowhere", users.Admin},
		},
		Subject: func(_, subject string) [][]byte { return [][]byte{[]byte(subject)} }, Client: i.Client(),
	}, p.Now)
	p.mount()
	return p, i
}

// begin starts a sign-in. It returns the query of the redirect to the provider, and the cookie that the browser gets.
func (p *pages) begin(form ...string) (url.Values, *http.Cookie) {
	p.Helper()
	got := p.Ask("POST", startPath, nil, form...)
	to, err := url.Parse(strings.TrimPrefix(got.Header().Get("Refresh"), "0;url="))
	if err != nil || got.Code != http.StatusOK || len(got.Result().Cookies()) != 1 || got.Header().Get("Location") != "" {
		p.Fatalf("begun: %d to %s", got.Code, to)
	}
	return to.Query(), got.Result().Cookies()[0]
}

// TestProvider: a person signs in with an identity provider and gets the roles of their groups.
func TestProvider(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		claims map[string]any
		to     string
		role   users.Role // role in north
	}{
		"one hospital":     {nil, "/app", users.Viewer},
		"two hospitals":    {map[string]any{"groups": []string{"other", "leads", "nurses"}}, "/app/units", users.Charge},
		"all hospitals":    {map[string]any{"groups": []string{"it"}}, "/app/units", users.Admin},
		"one group, alone": {map[string]any{"groups": "nurses"}, "/app", users.Viewer},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, i := provided(t)
			i.Claims = maps.Clone(tt.claims)
			if i.Claims == nil {
				i.Claims = map[string]any{}
			}
			if got := p.Ask("GET", "/", nil); !strings.Contains(got.Body.String(), startPath) {
				t.Error("the first page does not lead to the provider")
			}
			asked, cookie := p.begin()
			if asked.Get("client_id") != "svc" || asked.Get("response_type") != "code" || asked.Get("redirect_uri") != "https://svc.example"+CallbackPath ||
				!strings.Contains(asked.Get("scope"), "openid") || asked.Get("acr_values") != "mfa" || asked.Get("nonce") == "" {
				t.Errorf("asked %v", asked)
			}
			i.Codes["c1"] = asked
			got := p.Ask("GET", CallbackPath+"?code=c1&state="+asked.Get("state"), cookie)
			if got.Code != http.StatusSeeOther || got.Header().Get("Location") != tt.to {
				t.Fatalf("%d to %s: %s", got.Code, got.Header().Get("Location"), got.Body)
			}
			var session *http.Cookie
			for _, c := range got.Result().Cookies() {
				if c.Name == "__Host-svc" {
					session = c
				}
			}
			if session == nil || p.Ask("GET", "/app", session).Code != http.StatusOK {
				t.Error("no user is signed in")
			}
			if u, _ := p.Users.User("north", "usr_ada"); u.Role != tt.role || u.Label != "AdaL." {
				t.Errorf("user %+v", u)
			}
			// A repeated callback does not sign anyone in, because its state has already been used.
			if got := p.Ask("GET", CallbackPath+"?code=c1&state="+asked.Get("state"), cookie); got.Code != http.StatusForbidden || !slices.Equal(p.links.Refused, []string{"unknown provider_replay"}) {
				t.Errorf("once more: %d, on record %q", got.Code, p.links.Refused)
			}
		})
	}
}

// TestProviderRefused: if the callback or the provider's token is invalid, or the provider is down, no one is signed
// in, and the response is a page with a message.
func TestProviderRefused(t *testing.T) {
	t.Parallel()
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	claim := func(name string, value any) func(*pages, *oidctest.Issuer, url.Values, *http.Cookie) {
		return func(_ *pages, i *oidctest.Issuer, _ url.Values, _ *http.Cookie) { i.Claims[name] = value }
	}
	for name, tt := range map[string]struct {
		spoil func(p *pages, i *oidctest.Issuer, q url.Values, c *http.Cookie)
		code  int
	}{
		"another state": {func(_ *pages, _ *oidctest.Issuer, q url.Values, _ *http.Cookie) { q.Set("state", "x") }, 400},
		"no state":      {func(_ *pages, _ *oidctest.Issuer, q url.Values, _ *http.Cookie) { q.Del("state") }, 400},
		"no code":       {func(_ *pages, _ *oidctest.Issuer, q url.Values, _ *http.Cookie) { q.Del("code") }, 400},
		"no cookie":     {func(_ *pages, _ *oidctest.Issuer, _ url.Values, c *http.Cookie) { c.Name = "x" }, 400},
		"tampered cookie": {func(_ *pages, _ *oidctest.Issuer, _ url.Values, c *http.Cookie) {
			c.Value = c.Value[:40] + "AAAA" + c.Value[44:]
		}, 400},
		"session for a cookie": {func(p *pages, _ *oidctest.Issuer, _ url.Values, c *http.Cookie) {
			c.Value = p.Cookie("north", "usr_admin").Value
		}, 400},
		"too late": {func(p *pages, _ *oidctest.Issuer, _ url.Values, _ *http.Cookie) {
			p.Time = pagetest.Noon.Add(signInFor)
		}, 400},
		"another code": {func(_ *pages, _ *oidctest.Issuer, q url.Values, _ *http.Cookie) { q.Set("code", "c2") }, 403},
		"another verifier": {func(_ *pages, i *oidctest.Issuer, _ url.Values, _ *http.Cookie) {
			i.Codes["c1"].Set("code_challenge", "x")
		}, 403},
		"another nonce":     {claim("nonce", "x"), 403},
		"another audience":  {claim("aud", "x"), 403},
		"another issuer":    {claim("iss", "https://evil.example"), 403},
		"expired":           {claim("exp", pagetest.Noon.Add(-time.Second).Unix()), 403},
		"empty subject":     {claim("sub", ""), 403},
		"blank subject":     {claim("sub", " "), 403},
		"long subject":      {claim("sub", strings.Repeat("a", 256)), 403},
		"no subject":        {func(_ *pages, i *oidctest.Issuer, _ url.Values, _ *http.Cookie) { i.Claims["sub"] = nil }, 403},
		"foreign party":     {claim("azp", "other"), 403},
		"several audiences": {claim("aud", []string{"svc", "other"}), 403},
		"issued long ago":   {claim("iat", pagetest.Noon.Add(-6*time.Minute).Unix()), 403},
		"issued in 1970":    {claim("iat", 0), 403},
		"issued tomorrow":   {claim("iat", pagetest.Noon.Add(24*time.Hour).Unix()), 403},
		"proved tomorrow":   {claim("auth_time", pagetest.Noon.Add(24*time.Hour).Unix()), 403},
		"another acr":       {claim("acr", "password"), 403},
		"another key":       {func(_ *pages, i *oidctest.Issuer, _ url.Values, _ *http.Cookie) { i.Sign = other }, 403},
		"no group":          {claim("groups", []string{}), 403},
		"foreign groups":    {claim("groups", []string{"visitors", "lost"}), 403},
		"groups of numbers": {claim("groups", []int{1}), 403},
		"keys are away":     {func(_ *pages, i *oidctest.Issuer, _ url.Values, _ *http.Cookie) { i.Lost = true }, 503},
		"issuer is away":    {func(_ *pages, i *oidctest.Issuer, _ url.Values, _ *http.Cookie) { i.Away = true }, 503},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, i := provided(t)
			asked, cookie := p.begin()
			i.Codes["c1"] = asked
			q := url.Values{"code": {"c1"}, "state": {asked.Get("state")}}
			i.Lock()
			tt.spoil(p, i, q, cookie)
			i.Unlock()
			got := p.Ask("GET", CallbackPath+"?"+q.Encode(), cookie)
			if tt.code < 500 && len(p.links.Refused) != 1 {
				t.Errorf("on record %q", p.links.Refused)
			}
			if got.Code != tt.code || !strings.Contains(got.Body.String(), "<h1") {
				t.Errorf("%d: %s", got.Code, got.Body)
			}
			if tt.code == http.StatusServiceUnavailable && got.Header().Get("Retry-After") == "" {
				t.Error("nothing says when to come again")
			}
			for _, c := range got.Result().Cookies() {
				if c.Name == "__Host-svc" && c.Value != "" {
					t.Error("somebody is signed in")
				}
			}
		})
	}
}

// TestBrowserGoesAway: if a browser disconnects before the first page is complete, the provider remains available to
// others.
func TestBrowserGoesAway(t *testing.T) {
	t.Parallel()
	p, _ := provided(t)
	gone, leave := context.WithCancel(t.Context())
	leave()
	p.Router.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(gone, http.MethodGet, "/", nil))
	if got := p.Ask("GET", "/", nil); !strings.Contains(got.Body.String(), startPath) {
		t.Errorf("%d: %s", got.Code, got.Body)
	}
}

// TestProviderIsAway: while the provider is down, the first page says so, and sign-in links still work. Once the
// provider responds, people can sign in with it again.
func TestProviderIsAway(t *testing.T) {
	t.Parallel()
	p, i := provided(t)
	i.Away = true
	got := p.Ask("GET", "/", nil)
	if got.Code != http.StatusOK || strings.Contains(got.Body.String(), startPath) || !strings.Contains(got.Body.String(), "is not responding") {
		t.Errorf("away: %d %s", got.Code, got.Body)
	}
	if got := p.Ask("POST", startPath, nil); got.Code != http.StatusServiceUnavailable || got.Header().Get("Retry-After") == "" {
		t.Errorf("begun while it is away: %d", got.Code)
	}
	if got := p.Ask("POST", "/signin/fresh", nil); got.Code != http.StatusSeeOther {
		t.Errorf("a link while it is away: %d", got.Code)
	}
	i.Lock()
	i.Away = false
	i.Unlock()
	p.Time = p.Time.Add(oidcAgain)
	if got := p.Ask("GET", "/", nil); !strings.Contains(got.Body.String(), startPath) {
		t.Error("it is back, and not offered")
	}
}

// TestASVS684Freshness (ASVS 6.8.4, 7.6.2): a sign-in is fresh only if the provider confirms when the person
// authenticated. That time must be within the last hour or, if the person was asked to sign in again, during the new
// sign-in.
func TestASVS684Freshness(t *testing.T) {
	t.Parallel()
	noon := pagetest.Noon
	for name, tt := range map[string]struct {
		proved any // the auth_time claim
		again  bool
		code   int
		fresh  bool
	}{
		"not told":                       {nil, false, 303, false},
		"a minute ago":                   {noon.Add(-time.Minute).Unix(), false, 303, true},
		"at the hour":                    {noon.Add(-auth.FreshFor).Unix(), false, 303, true},
		"more than an hour ago":          {noon.Add(-auth.FreshFor - time.Second).Unix(), false, 303, false},
		"six hours ago":                  {noon.Add(-6 * time.Hour).Unix(), false, 303, false},
		"again, now":                     {noon.Unix(), true, 303, true},
		"again, within the skew":         {noon.Add(-time.Minute).Unix(), true, 303, true},
		"again, not told":                {nil, true, 403, false},
		"again, before it began":         {noon.Add(-2 * time.Minute).Unix(), true, 403, false},
		"again, six hours ago":           {noon.Add(-6 * time.Hour).Unix(), true, 403, false},
		"again, in an hour":              {noon.Add(time.Hour).Unix(), true, 403, false},
		"again, as text":                 {"now", true, 403, false},
		"again, before the Common Era":   {-1e12, true, 403, false},
		"again, with a part of a second": {float64(noon.Unix()) + .5, true, 303, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, i := provided(t)
			var form []string
			if tt.again {
				form = []string{"again=1"}
			}
			asked, cookie := p.begin(form...)
			if (asked.Get("max_age") == "0") != tt.again || (asked.Get("prompt") == "login") != tt.again {
				t.Errorf("asked %v", asked)
			}
			i.Codes["c1"] = asked
			if tt.proved != nil {
				i.Claims["auth_time"] = tt.proved
			}
			got := p.Ask("GET", CallbackPath+"?code=c1&state="+asked.Get("state"), cookie)
			if got.Code != tt.code {
				t.Fatalf("%d: %s", got.Code, got.Body)
			}
			if all := p.Users.Sessions("usr_ada"); tt.code == 303 {
				s := auth.Session{ProvedAt: all[0].ProvedAt}
				if s.IsFresh(noon) != tt.fresh {
					t.Errorf("fresh: %v, proved at %v", !tt.fresh, s.ProvedAt)
				}
			} else if len(all) > 0 || len(p.links.Refused) != 1 {
				t.Errorf("signed in %v, on record %q", all, p.links.Refused)
			}
		})
	}
}

// TestASVS762ExplicitSignIn (ASVS 7.6.2): other sites cannot start a sign-in at the provider, and no page starts one
// automatically.
func TestASVS762ExplicitSignIn(t *testing.T) {
	t.Parallel()
	p, _ := provided(t)
	for name, headers := range map[string][]string{
		"a cross-site form":           {"POST", "Sec-Fetch-Site", "cross-site"},
		"a form of a sibling":         {"POST", "Sec-Fetch-Site", "same-site"},
		"a form of another origin":    {"POST", "Origin", "https://evil.example"},
		"a form that says nothing":    {"POST", "", ""},
		"a link of another site":      {"GET", "Sec-Fetch-Site", "cross-site"},
		"a link of ours":              {"GET", "Sec-Fetch-Site", "same-origin"},
		"a link in the bar of a page": {"GET", "Sec-Fetch-Site", "none"},
	} {
		r := httptest.NewRequest(headers[0], startPath+"?again=1", nil)
		if headers[1] != "" {
			r.Header.Set(headers[1], headers[2])
		}
		w := httptest.NewRecorder()
		p.Router.ServeHTTP(w, r)
		if w.Code < 400 || len(w.Result().Cookies()) > 0 || w.Header().Get("Refresh") != "" {
			t.Errorf("%s: %d", name, w.Code)
		}
	}
}

// TestASVS1052Subject (ASVS 10.5.2): a person is identified only by the subject in the token. A token without a
// subject, or with a different subject, does not identify that person.
func TestASVS1052Subject(t *testing.T) {
	t.Parallel()
	p, i := provided(t)
	for n, tt := range []struct {
		subject any
		code    int
		user    string
	}{{"ada", 303, "usr_ada"}, {"bob", 303, "usr_bob"}, {"", 403, ""}, {nil, 403, ""}, {"Ada", 303, "usr_Ada"}} {
		i.Claims["sub"], i.Claims["name"], i.Claims["preferred_username"], i.Claims["email"] = tt.subject, "ada", "ada", "ada@example.org"
		asked, cookie := p.begin()
		i.Codes["c1"] = asked
		if got := p.Ask("GET", CallbackPath+"?code=c1&state="+asked.Get("state"), cookie); got.Code != tt.code {
			t.Errorf("%d: %d", n, got.Code)
		}
		if tt.user != "" && len(p.Users.Sessions(tt.user)) != 1 {
			t.Errorf("%d: %s is not signed in", n, tt.user)
		}
	}
	if len(p.Users.Sessions("usr_")) > 0 {
		t.Error("a person without a subject is signed in")
	}
}

// TestCallbackAsksTheProviderOnce: the cookie of one sign-in causes only one request to the provider, however often
// the browser sends the cookie.
func TestCallbackAsksTheProviderOnce(t *testing.T) {
	t.Parallel()
	p, i := provided(t)
	asked, cookie := p.begin()
	for range 300 {
		p.Ask("GET", CallbackPath+"?code=guess&state="+asked.Get("state"), cookie)
	}
	i.Lock()
	defer i.Unlock()
	if i.Tokens != 1 {
		t.Errorf("the provider was asked %d times", i.Tokens)
	}
}
