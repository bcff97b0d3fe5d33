package main

import (
	"net/http"
	"time"

	"svc/readapi/web/signin"
)

// oidcAnswers bounds one request to the provider.
const oidcAnswers = 5 * time.Second

// providerOf returns the identity provider of the pages; nil: none is configured.
func providerOf(h *service) (*signin.Provider, error) {
	o := &h.config.OIDC
	if o.Issuer == "" {
		return nil, nil
	}
	ring, err := h.settings.Seals.For("subjects")
	if err != nil {
		return nil, err
	}
	return &signin.Provider{
		Issuer: o.Issuer, ClientID: o.ClientID, ClientSecret: o.ClientSecret, GroupsClaim: o.GroupsClaim, Roles: o.Roles, ACR: o.ACR,
		Callback: h.config.PublicURL + signin.CallbackPath, Client: &http.Client{Timeout: oidcAnswers},
		Subject: func(issuer, subject string) [][]byte { return ring.MAC(issuer + "\n" + subject) },
	}, nil
}
