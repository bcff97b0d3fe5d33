package config

import (
	"errors"
	"net"
	"net/url"
	"slices"
	"strings"

	"svc/internal/admin/users"
	"svc/readapi/web/signin"
)

// OIDC is the identity provider for the sign-in of people.
type OIDC struct {
	Issuer, ClientID, ClientSecret string
	GroupsClaim, ACR               string
	Roles                          []signin.GroupRole
}

// oidcIssuer parses the address of the provider.
func oidcIssuer(c *Config, value string) error {
	u, err := url.Parse(value)
	if value != "" {
		ip := net.ParseIP(u.Hostname())
		loopback := u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
		if err != nil || u.Host == "" || u.Scheme != "https" && (u.Scheme != "http" || !loopback) {
			return errors.New("must be as in https://login.example/realms/hospital")
		}
	}
	c.OIDC.Issuer = value
	return nil
}

// oidcRoles parses the roles of groups: group=hospital:role, separated by commas.
func oidcRoles(c *Config, value string) error {
	c.OIDC.Roles = nil
	for one := range strings.SplitSeq(value, ",") {
		if one = strings.TrimSpace(one); one == "" {
			continue
		}
		at := strings.LastIndex(one, "=")
		hospital, role, ok := strings.Cut(one[at+1:], ":")
		if at < 1 || !ok || hospital == "" || !slices.Contains(users.Roles(), users.Role(role)) {
			return errors.New("must be as in nurses=mercy:viewer,leads=mercy:charge,it=*:admin; roles are viewer, charge and admin")
		}
		c.OIDC.Roles = append(c.OIDC.Roles, signin.GroupRole{Group: one[:at], Hospital: hospital, Role: users.Role(role)})
	}
	return nil
}

// oidcFaults returns the faults of the options of OIDC together.
func (c *Config) oidcFaults() (faults []error) {
	o := &c.OIDC
	switch {
	case o.Issuer == "" && (o.ClientID != "" || len(o.Roles) > 0):
		faults = append(faults, errors.New("--oidc-issuer: must be given with the other options of OIDC"))
	case o.Issuer == "":
	case o.ClientID == "" || len(o.Roles) == 0:
		faults = append(faults, errors.New("--oidc-issuer: needs --oidc-client-id and --oidc-roles"))
	case c.PublicURL == "" || c.SecretsKey == "":
		faults = append(faults, errors.New("--oidc-issuer: needs --public-url, to which the provider leads back, and --secrets-key"))
	}
	return faults
}
