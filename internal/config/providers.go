package config

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/mail"
	"slices"
	"strconv"
	"strings"

	"svc/internal/admin/users"
	"svc/internal/authorities"
	"svc/notifier/sms"
	"svc/readapi/web/signin"
)

// SMTP is the SMTP relay for alerts by e-mail.
type SMTP struct {
	Host, Port, TLS, User, Password, From string
	Roots                                 *x509.CertPool
}

// SMS is the SMS gateway.
type SMS struct{ Driver, URL, Account, Token, From string }

// publicURLAtMost is the maximum length of the public URL, in bytes. An SMS with a link must also have space for the
// text before the link.
const publicURLAtMost = 80

func (c *Config) setPublicURL(value string) error {
	value = strings.TrimSuffix(value, "/")
	u, ok := webURL(value)
	switch {
	case value == "":
	case !ok || u.RawQuery != "" || u.Fragment != "" || u.User != nil:
		return errors.New("must be a URL such as https://svc.example")
	case len(value) > publicURLAtMost:
		return fmt.Errorf("must have at most %d characters, because each SMS contains it", publicURLAtMost)
	}
	c.PublicURL = value
	return nil
}

// channelFaults returns the errors in all e-mail and SMS options.
func (c *Config) channelFaults() (faults []error) {
	m, s := &c.SMTP, &c.SMS
	if m.Host != "" {
		if _, err := mail.ParseAddress(m.From); err != nil {
			faults = append(faults, errors.New("--smtp-from: must be an address such as svc@hospital.example"))
		}
		if (m.User == "") != (m.Password == "") {
			faults = append(faults, errors.New("--smtp-user, --smtp-password: give both or neither"))
		}
	}
	if s.Driver != "" {
		if _, ok := webURL(s.URL); !ok {
			faults = append(faults, errors.New("--sms-url: must be a URL such as https://gateway.example"))
		}
		if s.Token == "" {
			faults = append(faults, errors.New("--sms-token: required"))
		}
	}
	if s.Driver == sms.DriverTwilio && (s.Account == "" || s.From == "") {
		faults = append(faults, errors.New("--sms-account, --sms-from: required for twilio"))
	}
	return faults
}

func (c *Config) setSMTPRoots(value string) (err error) {
	c.SMTP.Roots, err = authorities.ReadWithSystem(value)
	return err
}

func (c *Config) setSMTPPort(value string) error {
	if n, err := strconv.Atoi(value); err != nil || n < 1 || n > 65535 {
		return errors.New("must be a number up to 65535")
	}
	c.SMTP.Port = value
	return nil
}

func (c *Config) setSMTPHost(value string) error {
	if _, _, err := net.SplitHostPort(value); err == nil || strings.ContainsAny(value, "/ ") {
		return errors.New("must be a host name, without a port")
	}
	c.SMTP.Host = value
	return nil
}

// OIDC is the identity provider with which people sign in.
type OIDC struct {
	Issuer, ClientID, ClientSecret string
	GroupsClaim, ACR               string
	Roles                          []signin.GroupRole
}

// setOIDCIssuer parses the provider's issuer URL.
func (c *Config) setOIDCIssuer(value string) error {
	if u, ok := webURL(value); value != "" && (!ok || u.Scheme == "http" && !isLoopback(u.Hostname())) {
		return errors.New("must be a URL such as https://login.example/realms/hospital")
	}
	c.OIDC.Issuer = value
	return nil
}

// setOIDCRoles parses the mapping from groups to roles: group=hospital:role, comma-separated.
func (c *Config) setOIDCRoles(value string) error {
	c.OIDC.Roles = nil
	for one := range strings.SplitSeq(value, ",") {
		if one = strings.TrimSpace(one); one == "" {
			continue
		}
		at := strings.LastIndex(one, "=")
		hospital, role, ok := strings.Cut(one[at+1:], ":")
		if at < 1 || !ok || hospital == "" || !slices.Contains(users.Roles(), users.Role(role)) {
			return errors.New("must have the form nurses=mercy:viewer,leads=mercy:charge,it=*:admin; roles are viewer, charge and admin")
		}
		c.OIDC.Roles = append(c.OIDC.Roles, signin.GroupRole{Group: one[:at], Hospital: hospital, Role: users.Role(role)})
	}
	return nil
}

// oidcFaults returns the errors in all OIDC options.
func (c *Config) oidcFaults() (faults []error) {
	o := &c.OIDC
	switch {
	case o.Issuer == "" && (o.ClientID != "" || len(o.Roles) > 0):
		faults = append(faults, errors.New("--oidc-issuer: required with the other OIDC options"))
	case o.Issuer == "":
	case o.ClientID == "" || len(o.Roles) == 0:
		faults = append(faults, errors.New("--oidc-issuer: requires --oidc-client-id and --oidc-roles"))
	case c.PublicURL == "" || c.SecretsKey == "":
		faults = append(faults, errors.New("--oidc-issuer: requires --public-url, for the redirect URI, and --secrets-key"))
	}
	return faults
}
