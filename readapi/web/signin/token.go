package signin

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// verify checks an ID token. The error is [errNotThere] if the provider's keys cannot be fetched, and [errRefused] if
// the token is invalid.
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

// watchedKeys sets its field away if the provider's keys could not be fetched. The verifier's error does not show
// this, because the verifier does not wrap the error from fetching the keys.
type watchedKeys struct {
	oidc.KeySet

	away bool
}

// VerifySignature implements [oidc.KeySet]. Only an error from fetching the keys wraps another error.
func (k *watchedKeys) VerifySignature(ctx context.Context, token string) ([]byte, error) {
	payload, err := k.KeySet.VerifySignature(ctx, token)
	k.away = err != nil && errors.Unwrap(err) != nil
	return payload, err //nolint:wrapcheck // the library's error is unchanged
}

// errRefused means that the response of the provider is not a valid sign-in.
var errRefused = errors.New("the identity provider's response is not valid")

// errNotAgain means that the provider does not confirm that it authenticated the person again.
var errNotAgain = fmt.Errorf("%w: auth_time", errRefused)

// refusal returns a stable code for the reason why a response from the provider is not a valid sign-in.
func refusal(err error) string {
	_, what, _ := strings.Cut(err.Error(), ": ")
	return "provider_" + strings.ReplaceAll(strings.ToLower(what), " ", "_")
}

// claims are the claims of an ID token that the sign-in uses.
type claims struct {
	Name      string `json:"name"`
	Preferred string `json:"preferred_username"`
	ACR       string `json:"acr"`
	// Party is the client to which the token was issued. It is set if the audience includes other clients.
	Party string `json:"azp"`
	// ProvedAt is when the person authenticated, in Unix seconds. It is 0 if the provider does not say.
	ProvedAt float64 `json:"auth_time"`
}

// clockSkew is the maximum difference between the provider's clock and the local one.
const clockSkew = time.Minute

// issuedWithin is the maximum age of a token that the provider has just issued.
const issuedWithin = 5 * time.Minute

// mostSubject is the maximum length of an account's subject, in characters (OpenID Connect Core 1.0, section 2).
const mostSubject = 255

// checkClaims checks the claims that the library does not check. It returns when the person authenticated, or the
// zero time if the provider does not say.
func (s *site) checkClaims(id *oidc.IDToken, c *claims, st *start) (provedAt time.Time, err error) {
	now, cfg := s.Now(), s.Discovery.cfg
	if c.ProvedAt != 0 {
		provedAt = time.Unix(int64(c.ProvedAt), 0)
	}
	switch {
	case subtle.ConstantTimeCompare([]byte(id.Nonce), []byte(st.Nonce)) != 1:
		return provedAt, fmt.Errorf("%w: nonce", errRefused)
	case strings.TrimSpace(id.Subject) == "" || len(id.Subject) > mostSubject:
		return provedAt, fmt.Errorf("%w: subject", errRefused)
	case c.Party != "" && c.Party != cfg.ClientID, c.Party == "" && len(id.Audience) > 1:
		return provedAt, fmt.Errorf("%w: authorized party", errRefused)
	case id.IssuedAt.Sub(now) > clockSkew, now.Sub(id.IssuedAt) > issuedWithin:
		return provedAt, fmt.Errorf("%w: issued at", errRefused)
	case cfg.ACR != "" && c.ACR != cfg.ACR:
		return provedAt, fmt.Errorf("%w: acr", errRefused)
	case provedAt.Sub(now) > clockSkew,
		st.Again && (provedAt.IsZero() || time.Unix(st.Begun, 0).Sub(provedAt) > clockSkew):
		return provedAt, errNotAgain
	}
	return provedAt, nil
}

// person is the provider's information about a person.
type person struct {
	subject, label string
	groups         []string
	provedAt       time.Time // zero: the provider does not say
}

// exchangeCode exchanges the authorization code for an ID token, checks the token, and returns the person.
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
		return nil, fmt.Errorf("%w: exchange the code", errNotThere) // omits the cause, which may contain the code
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
	if err = errors.Join(id.Claims(&c), id.Claims(&all)); err != nil {
		return nil, fmt.Errorf("%w: claims", errRefused)
	}
	out := &person{subject: id.Subject, label: chooseLabel(c.Name, c.Preferred)}
	if out.provedAt, err = s.checkClaims(id, &c, &st); err != nil {
		return out, err
	}
	if json.Unmarshal(all[s.Discovery.cfg.GroupsClaim], &out.groups) != nil {
		one := ""
		if json.Unmarshal(all[s.Discovery.cfg.GroupsClaim], &one) == nil {
			out.groups = []string{one}
		}
	}
	return out, nil
}
