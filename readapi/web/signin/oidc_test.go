package signin

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"svc/internal/admin/users"
	"svc/readapi/web/page/pagetest"
)

// issuer is a small identity provider with real signatures.
type issuer struct {
	*httptest.Server
	key *rsa.PrivateKey

	mu     sync.Mutex
	claims map[string]any // of the next token, over the right ones
	codes  map[string]url.Values
	sign   *rsa.PrivateKey // that signs; nil: key
	away   bool
	lost   bool // its keys cannot be fetched
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	i := &issuer{key: key, claims: map[string]any{}, codes: map[string]url.Values{}}
	mux := http.NewServeMux()
	answer := func(w http.ResponseWriter, v any) {
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(v) //nolint:errcheck // memory
	}
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]any{
			"issuer": i.URL, "authorization_endpoint": i.URL + "/authorize", "token_endpoint": i.URL + "/token", "jwks_uri": i.URL + "/keys",
			"id_token_signing_alg_values_supported": []string{"RS256"},
		})
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		i.mu.Lock()
		lost := i.lost
		i.mu.Unlock()
		if lost {
			http.Error(w, "lost", http.StatusInternalServerError)
			return
		}
		answer(w, map[string]any{"keys": []any{map[string]any{
			"kty": "RSA", "use": "sig", "alg": "RS256", "kid": "1", "n": raw(key.N.Bytes()), "e": raw(big.NewInt(int64(key.E)).Bytes()),
		}}})
	})
	mux.HandleFunc("POST /token", i.token)
	i.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i.mu.Lock()
		away := i.away
		i.mu.Unlock()
		if away {
			http.Error(w, "away", http.StatusServiceUnavailable)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(i.Close)
	return i
}

func raw(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// token exchanges a code, once, for who has the verifier.
func (i *issuer) token(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	asked, known := i.codes[r.FormValue("code")]
	delete(i.codes, r.FormValue("code"))
	id, secret, _ := r.BasicAuth()
	sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
	if !known || id != "svc" || secret != "s3cret" || asked.Get("code_challenge_method") != "S256" || asked.Get("code_challenge") != raw(sum[:]) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		w.Write([]byte(`{"error":"invalid_grant"}`)) //nolint:errcheck // memory
		return
	}
	claims := map[string]any{
		"iss": i.URL, "aud": "svc", "sub": "ada", "exp": pagetest.Noon.Add(time.Hour).Unix(), "iat": pagetest.Noon.Unix(), "nonce": asked.Get("nonce"),
		"name": "Ada\nL.", "groups": []string{"nurses"}, "acr": "mfa",
	}
	maps.Copy(claims, i.claims)
	head, _ := json.Marshal(map[string]string{"alg": "RS256", "kid": "1"}) //nolint:errcheck // texts
	body, _ := json.Marshal(claims)                                        //nolint:errcheck // of the test
	text := raw(head) + "." + raw(body)
	digest := sha256.Sum256([]byte(text))
	key := i.key
	if i.sign != nil {
		key = i.sign
	}
	signed, _ := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, digest[:]) //nolint:errcheck // a key of the test
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(map[string]any{"access_token": "x", "token_type": "Bearer", "id_token": text + "." + raw(signed)}) //nolint:errcheck // memory
}

// directory is users in memory.
type directory struct{ p *pages }

func (d directory) Hospitals() []string { return []string{"north", "south"} }

func (d directory) SignIn(_ context.Context, subjects [][]byte, label string, roles map[string]users.Role) ([]users.User, error) {
	var all []users.User
	for _, hospital := range d.Hospitals() {
		if role, ok := roles[hospital]; ok {
			u := users.User{ID: "usr_" + string(subjects[0]), Hospital: hospital, Label: label, Role: role}
			d.p.Users.SetUser(u)
			all = append(all, u)
		}
	}
	if len(all) == 0 {
		return nil, users.ErrNoAccess
	}
	return all, nil
}

// provided is the pages with an issuer.
func provided(t *testing.T) (*pages, *issuer) {
	t.Helper()
	p, i := newPages(t), newIssuer(t)
	p.config.Directory = directory{p}
	p.config.Discovery = NewDiscovery(&Provider{
		Issuer: i.URL, ClientID: "svc", ClientSecret: "s3cret", Callback: "https://svc.example" + CallbackPath, GroupsClaim: "groups", ACR: "mfa",
		Roles: []GroupRole{
			{"nurses", "north", users.Viewer}, {"leads", "north", users.Charge}, {"leads", "south", users.Viewer}, {"it", "*", users.Admin}, {"lost", "nowhere", users.Admin},
		},
		Subject: func(_, subject string) [][]byte { return [][]byte{[]byte(subject)} }, Client: i.Client(),
	}, p.Now)
	p.mount()
	return p, i
}

// begin goes to the issuer, and returns what it was asked with the cookie of the browser.
func (p *pages) begin() (url.Values, *http.Cookie) {
	p.Helper()
	got := p.Ask("GET", startPath, nil)
	to, err := url.Parse(got.Header().Get("Location"))
	if err != nil || got.Code != http.StatusSeeOther || len(got.Result().Cookies()) != 1 {
		p.Fatalf("begun: %d to %s", got.Code, to)
	}
	return to.Query(), got.Result().Cookies()[0]
}

// TestProvider signs in by an identity provider.
func TestProvider(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		claims map[string]any
		to     string
		role   users.Role // in north
	}{
		"one hospital":     {nil, "/app", users.Viewer},
		"two hospitals":    {map[string]any{"groups": []string{"other", "leads", "nurses"}}, "/app/units", users.Charge},
		"all hospitals":    {map[string]any{"groups": []string{"it"}}, "/app/units", users.Admin},
		"one group, alone": {map[string]any{"groups": "nurses"}, "/app", users.Viewer},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, i := provided(t)
			i.claims = maps.Clone(tt.claims)
			if i.claims == nil {
				i.claims = map[string]any{}
			}
			if got := p.Ask("GET", "/", nil); !strings.Contains(got.Body.String(), startPath) {
				t.Error("the first page does not lead to the provider")
			}
			asked, cookie := p.begin()
			if asked.Get("client_id") != "svc" || asked.Get("response_type") != "code" || asked.Get("redirect_uri") != "https://svc.example"+CallbackPath ||
				!strings.Contains(asked.Get("scope"), "openid") || asked.Get("acr_values") != "mfa" || asked.Get("nonce") == "" {
				t.Errorf("asked %v", asked)
			}
			i.codes["c1"] = asked
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
				t.Error("nobody is signed in")
			}
			if u, _ := p.Users.User("north", "usr_ada"); u.Role != tt.role || u.Label != "AdaL." {
				t.Errorf("user %+v", u)
			}
			// The same answer once more signs nobody in: the code is used.
			if got := p.Ask("GET", CallbackPath+"?code=c1&state="+asked.Get("state"), cookie); got.Code != http.StatusForbidden {
				t.Errorf("once more: %d", got.Code)
			}
		})
	}
}

// TestProviderRefused: an answer that does not hold signs nobody in, and the page says what to
// do.
func TestProviderRefused(t *testing.T) {
	t.Parallel()
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	claim := func(name string, value any) func(*pages, *issuer, url.Values, *http.Cookie) {
		return func(_ *pages, i *issuer, _ url.Values, _ *http.Cookie) { i.claims[name] = value }
	}
	for name, tt := range map[string]struct {
		spoil func(p *pages, i *issuer, q url.Values, c *http.Cookie)
		code  int
	}{
		"another state": {func(_ *pages, _ *issuer, q url.Values, _ *http.Cookie) { q.Set("state", "x") }, 400},
		"no state":      {func(_ *pages, _ *issuer, q url.Values, _ *http.Cookie) { q.Del("state") }, 400},
		"no code":       {func(_ *pages, _ *issuer, q url.Values, _ *http.Cookie) { q.Del("code") }, 400},
		"no cookie":     {func(_ *pages, _ *issuer, _ url.Values, c *http.Cookie) { c.Name = "x" }, 400},
		"tampered cookie": {func(_ *pages, _ *issuer, _ url.Values, c *http.Cookie) {
			c.Value = c.Value[:40] + "AAAA" + c.Value[44:]
		}, 400},
		"session for a cookie": {func(p *pages, _ *issuer, _ url.Values, c *http.Cookie) {
			c.Value = p.Cookie("north", "usr_admin").Value
		}, 400},
		"too late":          {func(p *pages, _ *issuer, _ url.Values, _ *http.Cookie) { p.Time = pagetest.Noon.Add(signInFor) }, 400},
		"another code":      {func(_ *pages, _ *issuer, q url.Values, _ *http.Cookie) { q.Set("code", "c2") }, 403},
		"another verifier":  {func(_ *pages, i *issuer, _ url.Values, _ *http.Cookie) { i.codes["c1"].Set("code_challenge", "x") }, 403},
		"another nonce":     {claim("nonce", "x"), 403},
		"another audience":  {claim("aud", "x"), 403},
		"another issuer":    {claim("iss", "https://evil.example"), 403},
		"expired":           {claim("exp", pagetest.Noon.Add(-time.Second).Unix()), 403},
		"another acr":       {claim("acr", "password"), 403},
		"another key":       {func(_ *pages, i *issuer, _ url.Values, _ *http.Cookie) { i.sign = other }, 403},
		"no group":          {claim("groups", []string{}), 403},
		"foreign groups":    {claim("groups", []string{"visitors", "lost"}), 403},
		"groups of numbers": {claim("groups", []int{1}), 403},
		"keys are away":     {func(_ *pages, i *issuer, _ url.Values, _ *http.Cookie) { i.lost = true }, 503},
		"issuer is away":    {func(_ *pages, i *issuer, _ url.Values, _ *http.Cookie) { i.away = true }, 503},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, i := provided(t)
			asked, cookie := p.begin()
			i.codes["c1"] = asked
			q := url.Values{"code": {"c1"}, "state": {asked.Get("state")}}
			i.mu.Lock()
			tt.spoil(p, i, q, cookie)
			i.mu.Unlock()
			got := p.Ask("GET", CallbackPath+"?"+q.Encode(), cookie)
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

// TestProviderIsAway: the first page says that the provider does not answer, and links work.
// When the provider is back, so is the sign-in.
// TestBrowserGoesAway: a browser that does not wait for the first page leaves the provider to others.
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

func TestProviderIsAway(t *testing.T) {
	t.Parallel()
	p, i := provided(t)
	i.away = true
	got := p.Ask("GET", "/", nil)
	if got.Code != http.StatusOK || strings.Contains(got.Body.String(), startPath) || !strings.Contains(got.Body.String(), "does not answer") {
		t.Errorf("away: %d %s", got.Code, got.Body)
	}
	if got := p.Ask("GET", startPath, nil); got.Code != http.StatusServiceUnavailable || got.Header().Get("Retry-After") == "" {
		t.Errorf("begun while it is away: %d", got.Code)
	}
	if got := p.Ask("POST", "/signin/fresh", nil); got.Code != http.StatusSeeOther {
		t.Errorf("a link while it is away: %d", got.Code)
	}
	i.mu.Lock()
	i.away = false
	i.mu.Unlock()
	p.Time = p.Time.Add(oidcAgain)
	if got := p.Ask("GET", "/", nil); !strings.Contains(got.Body.String(), startPath) {
		t.Error("it is back, and not offered")
	}
}
