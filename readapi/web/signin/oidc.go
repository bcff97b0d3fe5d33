package signin

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"svc/internal/admin/users"
	"svc/readapi/web/auth"
	"svc/readapi/web/text"
)

// Provider is an identity provider by which people sign in: OpenID Connect, the code flow
// with PKCE. Only its ID token is used.
type Provider struct {
	Issuer, ClientID, ClientSecret string
	// Callback is the address of [CallbackPath], as the provider knows it.
	Callback    string
	GroupsClaim string
	Roles       []GroupRole
	ACR         string // that a sign-in must have; "": any
	// Subject returns the keyed hashes of a person, the hash by the newest key first.
	Subject func(issuer, subject string) [][]byte
	Client  *http.Client
}

// GroupRole is the role of a group in a hospital; "*": in all of them.
type GroupRole struct {
	Group, Hospital string
	Role            users.Role
}

// The paths of the sign-in by a provider.
const (
	startPath    = "/oidc/start"
	CallbackPath = "/oidc/callback"
)

// Directory keeps the users that a provider signs in.
type Directory interface {
	// SignIn records the roles of a person by hospital, and returns the users of the person,
	// at least one. The error is [users.ErrNoAccess] if there is none.
	SignIn(ctx context.Context, subjects [][]byte, label string, roles map[string]users.Role) ([]users.User, error)
	// Hospitals returns the ids of all hospitals.
	Hospitals() []string
}

const (
	oidcWithin = 5 * time.Second  // for one question to the provider
	oidcAgain  = 10 * time.Second // after it did not answer
	signInFor  = 10 * time.Minute // at the provider
)

var startCookie = auth.Cookie{Suffix: "-oidc", Purpose: "svc.v1 oidc", Age: signInFor}

// errNotThere says that the provider was asked a moment ago and did not answer.
var errNotThere = errors.New("the identity provider does not answer")

// Discovery reads the description of a provider when somebody needs it.
type Discovery struct {
	cfg *Provider
	now func() time.Time

	mu       sync.Mutex
	provider *provider
	failed   time.Time
}

// NewDiscovery returns the discovery of a provider.
func NewDiscovery(cfg *Provider, now func() time.Time) *Discovery {
	return &Discovery{cfg: cfg, now: now}
}

// Offer returns the link to the provider, and what a page says of it. The link is "" while
// the provider does not answer. Both are "" if there is no discovery.
func (d *Discovery) Offer(r *http.Request, t *text.Texts) (link, says string) {
	if d == nil {
		return "", ""
	}
	if _, err := d.discover(r.Context()); err != nil {
		return "", t.T("signin.away")
	}
	return startPath, t.T("signin.provider")
}

// provider is an identity provider whose description is known.
type provider struct {
	*oidc.Provider

	keys  oidc.KeySet
	signs []string // names of its signature algorithms
}

// signatures are the algorithms whose keys a provider publishes.
var signatures = []string{
	oidc.RS256, oidc.RS384, oidc.RS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.EdDSA,
}

// newProvider reads where the keys of a provider are.
func newProvider(p *oidc.Provider, client *http.Client) (*provider, error) {
	var told struct {
		Keys  string   `json:"jwks_uri"`
		Signs []string `json:"id_token_signing_alg_values_supported"`
	}
	if err := p.Claims(&told); err != nil {
		return nil, fmt.Errorf("its own description: %w", err)
	}
	unknown := func(name string) bool { return !slices.Contains(signatures, name) }
	keys := oidc.NewRemoteKeySet(oidc.ClientContext(context.Background(), client), told.Keys)
	return &provider{p, keys, slices.DeleteFunc(told.Signs, unknown)}, nil
}

// verify checks an ID token. The error is [errNotThere] while the keys of the provider cannot
// be fetched, else [errRefused].
func (p *provider) verify(ctx context.Context, issuer, clientID, token string, now func() time.Time) (*oidc.IDToken, error) {
	keys := &watchedKeys{KeySet: p.keys}
	id, err := oidc.NewVerifier(issuer, keys, &oidc.Config{ClientID: clientID, SupportedSigningAlgs: p.signs, Now: now}).Verify(ctx, token)
	switch {
	case keys.away:
		return nil, fmt.Errorf("%w: fetch its keys", errNotThere)
	case err != nil:
		return nil, fmt.Errorf("%w: ID token", errRefused)
	}
	return id, nil
}

// watchedKeys notes whether the keys could not be fetched. The verifier does not wrap the
// error, so nobody could tell.
type watchedKeys struct {
	oidc.KeySet

	away bool
}

// VerifySignature implements [oidc.KeySet]. Only the error of a fetch wraps another one.
func (k *watchedKeys) VerifySignature(ctx context.Context, token string) ([]byte, error) {
	payload, err := k.KeySet.VerifySignature(ctx, token)
	k.away = err != nil && errors.Unwrap(err) != nil
	return payload, err //nolint:wrapcheck // its words are the library's
}

// discover returns the provider. The error says that the provider does not answer now.
func (d *Discovery) discover(ctx context.Context) (*provider, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.provider != nil {
		return d.provider, nil
	}
	if now := d.now(); now.Before(d.failed.Add(oidcAgain)) {
		return nil, errNotThere
	}
	// A browser that goes away must not make the provider look away to all others.
	ctx, cancel := context.WithTimeout(oidc.ClientContext(context.WithoutCancel(ctx), d.cfg.Client), oidcWithin)
	defer cancel()
	told, err := oidc.NewProvider(ctx, d.cfg.Issuer)
	var p *provider
	if err == nil {
		p, err = newProvider(told, d.cfg.Client) //nolint:contextcheck // it fetches keys as long as the process runs
	}
	if err != nil {
		d.failed = d.now()
		return nil, fmt.Errorf("%w: %w", errNotThere, err)
	}
	d.provider = p
	return p, nil
}

func (d *Discovery) newOAuth(p *provider) *oauth2.Config {
	return &oauth2.Config{
		ClientID: d.cfg.ClientID, ClientSecret: d.cfg.ClientSecret, Endpoint: p.Endpoint(), RedirectURL: d.cfg.Callback,
		Scopes: []string{oidc.ScopeOpenID, "profile"},
	}
}

// start is what a browser keeps while its person is at the provider.
type start struct {
	State    string `json:"s"`
	Nonce    string `json:"n"`
	Verifier string `json:"v"`
	Until    int64  `json:"t"` // Unix seconds
}

// beginSignIn leads to the provider. It sets a cookie of ten minutes and changes nothing
// else.
func (s *site) beginSignIn(w http.ResponseWriter, r *http.Request) {
	p, err := s.Discovery.discover(r.Context())
	if err != nil {
		s.ShowUnavailable(w, r, nil, "sign-in not begun", err)
		return
	}
	st := start{users.Token(), users.Token(), oauth2.GenerateVerifier(), s.Now().Add(signInFor).Unix()}
	s.Cookies.Set(w, startCookie, st)
	options := []oauth2.AuthCodeOption{oidc.Nonce(st.Nonce), oauth2.S256ChallengeOption(st.Verifier)}
	if s.Discovery.cfg.ACR != "" {
		options = append(options, oauth2.SetAuthURLParam("acr_values", s.Discovery.cfg.ACR))
	}
	if r.URL.Query().Get("again") != "" { // a session at the provider is not enough
		options = append(options, oauth2.SetAuthURLParam("prompt", "login"), oauth2.SetAuthURLParam("max_age", "0"))
	}
	http.Redirect(w, r, s.Discovery.newOAuth(p).AuthCodeURL(st.State, options...), http.StatusSeeOther)
}

// readStart returns what the browser kept; false: it kept nothing for this answer of the
// provider.
func (s *site) readStart(r *http.Request) (st start, ok bool) {
	if !s.Cookies.Open(r, startCookie, &st) || st.State == "" {
		return st, false
	}
	same := subtle.ConstantTimeCompare([]byte(st.State), []byte(r.URL.Query().Get("state"))) == 1
	return st, same && s.Now().Before(time.Unix(st.Until, 0))
}

// errRefused says that the answer of the provider signs nobody in.
var errRefused = errors.New("the answer of the identity provider does not hold")

// claims are the claims of an ID token that the sign-in uses.
type claims struct {
	Name      string `json:"name"`
	Preferred string `json:"preferred_username"`
	ACR       string `json:"acr"`
}

// person is a person as the provider names him or her.
type person struct {
	subject, label string
	groups         []string
}

// exchangeCode exchanges the code for an ID token, and checks the token.
func (s *site) exchangeCode(ctx context.Context, st start, code string) (*person, error) {
	p, err := s.Discovery.discover(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(oidc.ClientContext(ctx, s.Discovery.cfg.Client), oidcWithin)
	defer cancel()
	token, err := s.Discovery.newOAuth(p).Exchange(ctx, code, oauth2.VerifierOption(st.Verifier))
	refused, ok := errors.AsType[*oauth2.RetrieveError](err)
	switch {
	case ok && refused.Response.StatusCode < http.StatusInternalServerError:
		return nil, fmt.Errorf("%w: %s", errRefused, refused.ErrorCode)
	case err != nil:
		return nil, fmt.Errorf("%w: exchange the code", errNotThere) // the error may hold the code
	}
	raw, ok := token.Extra("id_token").(string)
	if !ok {
		return nil, fmt.Errorf("%w: no ID token", errRefused)
	}
	id, err := p.verify(ctx, s.Discovery.cfg.Issuer, s.Discovery.cfg.ClientID, raw, s.Now)
	if err != nil {
		return nil, err
	}
	var c claims
	all := map[string]json.RawMessage{}
	if err := errors.Join(id.Claims(&c), id.Claims(&all)); err != nil {
		return nil, fmt.Errorf("%w: claims", errRefused)
	}
	switch {
	case subtle.ConstantTimeCompare([]byte(id.Nonce), []byte(st.Nonce)) != 1:
		return nil, fmt.Errorf("%w: nonce", errRefused)
	case s.Discovery.cfg.ACR != "" && c.ACR != s.Discovery.cfg.ACR:
		return nil, fmt.Errorf("%w: acr", errRefused)
	}
	out := &person{subject: id.Subject, label: chooseLabel(c.Name, c.Preferred)}
	if json.Unmarshal(all[s.Discovery.cfg.GroupsClaim], &out.groups) != nil {
		one := ""
		if json.Unmarshal(all[s.Discovery.cfg.GroupsClaim], &one) == nil {
			out.groups = []string{one}
		}
	}
	return out, nil
}

// chooseLabel returns the first name that is not empty, without control characters.
func chooseLabel(names ...string) string {
	for _, name := range names {
		name = strings.TrimSpace(strings.Map(func(r rune) rune {
			if unicode.IsControl(r) {
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

// mapRoles returns the greatest role of the groups in each hospital.
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

// endSignIn signs a person in by the answer of the provider.
func (s *site) endSignIn(w http.ResponseWriter, r *http.Request) {
	st, ok := s.readStart(r)
	s.Cookies.Remove(w, startCookie)
	code := r.URL.Query().Get("code")
	if !ok || code == "" {
		s.ShowFault(w, r, http.StatusBadRequest, nil, "fault.start")
		return
	}
	who, err := s.exchangeCode(r.Context(), st, code)
	switch {
	case errors.Is(err, errRefused):
		s.Log.WarnContext(r.Context(), "sign-in refused", "error", err)
		s.ShowFault(w, r, http.StatusForbidden, nil, "fault.provider")
		return
	case err != nil:
		s.ShowUnavailable(w, r, nil, "sign-in not ended", err)
		return
	}
	subjects := s.Discovery.cfg.Subject(s.Discovery.cfg.Issuer, who.subject)
	all, err := s.Directory.SignIn(r.Context(), subjects, who.label, s.mapRoles(who.groups))
	switch {
	case errors.Is(err, users.ErrNoAccess):
		s.ShowFault(w, r, http.StatusForbidden, nil, "fault.access")
	case err != nil:
		s.ShowUnavailable(w, r, nil, "sign-in not on record", err)
	default:
		s.Cookies.BeginSession(w, &all[0])
		front := auth.AppPath
		if len(all) > 1 {
			front += "/units"
		}
		s.ReturnAfterSignIn(w, r, front)
	}
}
