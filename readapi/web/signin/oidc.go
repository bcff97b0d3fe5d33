package signin

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"svc/internal/admin/users"
	"svc/internal/httpapi"
	"svc/internal/httpapi/access"
	"svc/readapi/web/auth"
	"svc/readapi/web/page"
	"svc/readapi/web/text"
)

// Provider is an identity provider through which people sign in, with the OpenID Connect authorization code flow and
// PKCE. Only the provider's ID token is used.
type Provider struct {
	Issuer, ClientID, ClientSecret string
	// Callback is the URL of [CallbackPath] as registered with the provider.
	Callback    string
	GroupsClaim string
	Roles       []GroupRole
	ACR         string // required authentication context class; "": any class
	// Subject returns the keyed hashes of a person, one for each key, newest key first.
	Subject func(issuer, subject string) [][]byte
	Client  *http.Client
}

// GroupRole is the role that the members of a group have in a hospital. The hospital "*" means all hospitals.
type GroupRole struct {
	Group, Hospital string
	Role            users.Role
}

// The paths for signing in with a provider.
const (
	startPath    = "/oidc/start"
	CallbackPath = "/oidc/callback"
)

// Directory stores the users who sign in through a provider.
type Directory interface {
	// SignIn records a person's role in each hospital and begins a session. It returns the session, and the person's
	// user in each hospital to which the person has access. The error is [users.ErrNoAccess] if there is no such
	// hospital.
	SignIn(
		ctx context.Context, subjects [][]byte, label string, roles map[string]users.Role, in users.SignIn,
	) (users.Session, []users.User, error)
	// Hospitals returns the ids of all hospitals.
	Hospitals() []string
}

const (
	oidcWithin = 5 * time.Second  // timeout of one request to the provider
	oidcAgain  = 10 * time.Second // pause after a request to which the provider did not respond
	signInFor  = 10 * time.Minute // time limit of a sign-in at the provider
)

var startCookie = auth.Cookie{Suffix: "-oidc", Purpose: "svc.v1 oidc", Age: signInFor}

// errNotThere means that the provider does not respond.
var errNotThere = errors.New("the identity provider does not respond")

// Discovery reads the configuration of a provider when a person first needs the provider.
type Discovery struct {
	cfg *Provider
	now func() time.Time

	mu       sync.Mutex
	provider *provider
	failed   time.Time
}

// NewDiscovery returns a discovery for a provider.
func NewDiscovery(cfg *Provider, now func() time.Time) *Discovery {
	return &Discovery{cfg: cfg, now: now}
}

// Offer returns the link to the provider and the text of that link. The link is "" while the provider does not
// respond. Both are "" if d is nil.
func (d *Discovery) Offer(r *http.Request, t *text.Texts) (link, says string) {
	if d == nil {
		return "", ""
	}
	if _, err := d.discover(r.Context()); err != nil {
		return "", t.T("signin.away")
	}
	return startPath, t.T("signin.provider")
}

// provider is an identity provider whose configuration has been read.
type provider struct {
	*oidc.Provider

	keys  oidc.KeySet
	signs []string // names of the provider's signature algorithms that svc accepts
	style oauth2.AuthStyle
}

// signatures are the accepted signature algorithms. They use asymmetric keys, so that a provider can publish the
// public keys.
var signatures = []string{
	oidc.RS256, oidc.RS384, oidc.RS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.EdDSA,
}

// newProvider reads a provider's metadata: the URL of its keys, its signature algorithms and its authentication
// method.
func newProvider(p *oidc.Provider, client *http.Client) (*provider, error) {
	var told struct {
		Keys  string   `json:"jwks_uri"`
		Signs []string `json:"id_token_signing_alg_values_supported"`
		Ways  []string `json:"token_endpoint_auth_methods_supported"`
	}
	if err := p.Claims(&told); err != nil {
		return nil, fmt.Errorf("decode the identity provider's metadata: %w", err)
	}
	unknown := func(name string) bool { return !slices.Contains(signatures, name) }
	keys := oidc.NewRemoteKeySet(oidc.ClientContext(context.Background(), client), told.Keys)
	// Without an explicit style, the library would try both styles, so that each failure would cause two requests.
	style := oauth2.AuthStyleInHeader // the default (OpenID Connect Discovery 1.0, section 3)
	if len(told.Ways) > 0 && !slices.Contains(told.Ways, "client_secret_basic") {
		style = oauth2.AuthStyleInParams
	}
	return &provider{p, keys, slices.DeleteFunc(told.Signs, unknown), style}, nil
}

// discover returns the provider. It returns an error while the provider does not respond.
func (d *Discovery) discover(ctx context.Context) (*provider, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.provider != nil {
		return d.provider, nil
	}
	if now := d.now(); now.Before(d.failed.Add(oidcAgain)) {
		return nil, errNotThere
	}
	// A browser that disconnects must not make the provider look unavailable to other browsers.
	ctx, cancel := context.WithTimeout(oidc.ClientContext(context.WithoutCancel(ctx), d.cfg.Client), oidcWithin)
	defer cancel()
	told, err := oidc.NewProvider(ctx, d.cfg.Issuer)
	var p *provider
	if err == nil {
		p, err = newProvider(told, d.cfg.Client) //nolint:contextcheck // the provider fetches keys for as long as the process runs
	}
	if err != nil {
		d.failed = d.now()
		return nil, fmt.Errorf("%w: %w", errNotThere, err)
	}
	d.provider = p
	return p, nil
}

func (d *Discovery) newOAuth(p *provider) *oauth2.Config {
	endpoint := p.Endpoint()
	endpoint.AuthStyle = p.style
	return &oauth2.Config{
		ClientID: d.cfg.ClientID, ClientSecret: d.cfg.ClientSecret, Endpoint: endpoint, RedirectURL: d.cfg.Callback,
		Scopes: []string{oidc.ScopeOpenID, "profile"},
	}
}

// start is the state that a browser stores during a sign-in at the provider.
type start struct {
	State    string `json:"s"`
	Nonce    string `json:"n"`
	Verifier string `json:"v"`
	Begun    int64  `json:"b"` // Unix seconds
	// Again means that an existing session at the provider is not sufficient: the person must authenticate at or
	// after Begun.
	Again bool `json:"a,omitempty"`
}

// usedStates records the values of [start].State that the callback has received. Each value is accepted once, so that
// the cookie of one sign-in causes only one request to the provider.
type usedStates struct {
	mu  sync.Mutex
	all map[string]time.Time // when each state was used
}

// use marks a state as used, and reports whether it was unused before.
func (u *usedStates) use(state string, now time.Time) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.all == nil {
		u.all = map[string]time.Time{}
	}
	_, again := u.all[state]
	if len(u.all) >= statesAtMost {
		maps.DeleteFunc(u.all, func(_ string, at time.Time) bool { return now.Sub(at) > signInFor })
	}
	if len(u.all) >= statesAtMost {
		clear(u.all) // the rate limit keeps a single address from sending this many states, but many addresses together can
	}
	u.all[state] = now
	return !again
}

const statesAtMost = 10_000

// beginSignIn sends the browser to the provider. It sets a cookie that is valid for ten minutes, and changes nothing
// else. Other sites cannot start a sign-in, because only a form on these pages can.
//
// The response is a page that continues automatically, not a redirect. The Content-Security-Policy of these pages
// forbids forms that lead to another site, and browsers also apply it to redirects after a form.
func (s *site) beginSignIn(w http.ResponseWriter, r *http.Request) {
	if s.LimitTries(w, r) {
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, formAtMost)
	if r.ParseForm() != nil {
		s.ShowFault(w, r, http.StatusUnprocessableEntity, nil, "fault.form")
		return
	}
	p, err := s.Discovery.discover(r.Context())
	if err != nil {
		s.ShowUnavailable(w, r, nil, "sign-in not started", err)
		return
	}
	st := start{
		State: users.Token(), Nonce: users.Token(), Verifier: oauth2.GenerateVerifier(),
		Begun: s.Now().Unix(), Again: r.PostForm.Get("again") != "",
	}
	s.Cookies.Set(w, startCookie, st)
	options := []oauth2.AuthCodeOption{oidc.Nonce(st.Nonce), oauth2.S256ChallengeOption(st.Verifier)}
	if s.Discovery.cfg.ACR != "" {
		options = append(options, oauth2.SetAuthURLParam("acr_values", s.Discovery.cfg.ACR))
	}
	if st.Again {
		options = append(options, oauth2.SetAuthURLParam("prompt", "login"), oauth2.SetAuthURLParam("max_age", "0"))
	}
	out := s.NewWriter(r, nil)
	n := page.Notice{Frame: s.NewFrame(r, out, nil, out.T("title.signin")), Heading: out.T("title.signin"), Say: out.T("signin.forward.say")}
	n.Forward, n.Button = s.Discovery.newOAuth(p).AuthCodeURL(st.State, options...), out.T("signin.forward")
	w.Header().Set("Refresh", "0;url="+n.Forward)
	page.WritePage(w, r, http.StatusOK, n.Render())
}

// readStart returns the state that the browser stored at the start of the sign-in. It returns false if the browser
// has no state that matches this response from the provider, or if the time limit of the sign-in has passed.
func (s *site) readStart(r *http.Request) (st start, ok bool) {
	if !s.Cookies.Open(r, startCookie, &st) || st.State == "" {
		return st, false
	}
	same := subtle.ConstantTimeCompare([]byte(st.State), []byte(r.URL.Query().Get("state"))) == 1
	return st, same && s.Now().Before(time.Unix(st.Begun, 0).Add(signInFor))
}

// chooseLabel returns the first nonempty name, without the characters that [access.HasControls] finds and truncated to
// mostLabel characters. Many providers let people choose their own names. If there is none, it returns "user".
func chooseLabel(names ...string) string {
	for _, name := range names {
		name = strings.TrimSpace(strings.Map(func(r rune) rune {
			if access.HasControls(string(r)) {
				return -1
			}
			return r
		}, name))
		if runes := []rune(name); len(runes) > 0 {
			return string(runes[:min(len(runes), mostLabel)])
		}
	}
	return "user"
}

const mostLabel = 100

// mapRoles returns, for each hospital, the highest role that any of the groups has in that hospital.
func (s *site) mapRoles(groups []string) map[string]users.Role {
	roles := map[string]users.Role{}
	give := func(hospital string, role users.Role) {
		if role.Covers(roles[hospital]) || !roles[hospital].Covers(users.Viewer) {
			roles[hospital] = role
		}
	}
	known := s.Directory.Hospitals()
	for _, g := range s.Discovery.cfg.Roles {
		switch {
		case !slices.Contains(groups, g.Group):
		case g.Hospital == "*":
			for _, hospital := range known {
				give(hospital, g.Role)
			}
		case slices.Contains(known, g.Hospital):
			give(g.Hospital, g.Role)
		}
	}
	return roles
}

// endSignIn signs a person in according to the provider's response.
func (s *site) endSignIn(w http.ResponseWriter, r *http.Request) {
	if s.LimitTries(w, r) {
		return
	}
	st, ok := s.readStart(r)
	s.Cookies.Remove(w, startCookie)
	code := r.URL.Query().Get("code")
	switch {
	case !ok || code == "":
		s.Links.RefuseSignIn(r.Context(), nil, "provider_start")
		s.ShowFault(w, r, http.StatusBadRequest, nil, "fault.start")
		return
	case !s.used.use(st.State, s.Now()):
		s.Links.RefuseSignIn(r.Context(), nil, "provider_replay")
		s.ShowFault(w, r, http.StatusForbidden, nil, "fault.tried")
		return
	}
	who, err := s.exchangeCode(r.Context(), st, code)
	switch {
	case errors.Is(err, errRefused):
		var subjects [][]byte
		if who != nil && who.subject != "" { // the token was signed by the provider
			subjects = s.Discovery.cfg.Subject(s.Discovery.cfg.Issuer, who.subject)
		}
		s.Links.RefuseSignIn(r.Context(), subjects, refusal(err))
		if errors.Is(err, errNotAgain) {
			s.ShowFault(w, r, http.StatusForbidden, nil, "fault.stale")
			return
		}
		s.ShowFault(w, r, http.StatusForbidden, nil, "fault.provider")
		return
	case err != nil:
		s.ShowUnavailable(w, r, nil, "sign-in not completed", err)
		return
	}
	subjects := s.Discovery.cfg.Subject(s.Discovery.cfg.Issuer, who.subject)
	in := s.describeSignIn(r)
	in.ProvedAt = who.provedAt
	session, all, err := s.Directory.SignIn(r.Context(), subjects, who.label, s.mapRoles(who.groups), in)
	switch {
	case errors.Is(err, users.ErrNoAccess):
		s.Links.RefuseSignIn(r.Context(), subjects, "no_access")
		s.ShowFault(w, r, http.StatusForbidden, nil, "fault.access")
	case err != nil:
		s.ShowUnavailable(w, r, nil, "sign-in not recorded", err)
	default:
		httpapi.Identify(r.Context(), session.Hospital, session.User)
		s.Cookies.BeginSession(w, &session)
		front := auth.AppPath
		if len(all) > 1 {
			front += "/units"
		}
		s.ReturnAfterSignIn(w, r, front)
	}
}
