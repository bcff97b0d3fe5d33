package config

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/mail"
	"net/url"
	"strconv"
	"strings"

	"svc/notifier/sms"
	"svc/notifier/webhook"
)

// SMTP is the SMTP relay for alerts by e-mail.
type SMTP struct {
	Host, Port, TLS, User, Password, From string
	Roots                                 *x509.CertPool
}

// SMS is the SMS gateway.
type SMS struct{ Driver, URL, Account, Token, From string }

// publicURLAtMost is in bytes. It leaves room in an SMS for the words before the link.
const publicURLAtMost = 80

func publicURL(c *Config, value string) error {
	value = strings.TrimSuffix(value, "/")
	u, err := url.Parse(value)
	switch {
	case value == "":
	case err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil:
		return errors.New("must be as in https://svc.example")
	case len(value) > publicURLAtMost:
		return fmt.Errorf("must have at most %d characters: it is in every SMS", publicURLAtMost)
	}
	c.PublicURL = value
	return nil
}

// channelFaults returns the faults of the options of e-mail and SMS together.
func (c *Config) channelFaults() (faults []error) {
	m, s := &c.SMTP, &c.SMS
	if m.Host != "" {
		if _, err := mail.ParseAddress(m.From); err != nil {
			faults = append(faults, errors.New("--smtp-from: must be an address, as in svc@hospital.example"))
		}
		if (m.User == "") != (m.Password == "") {
			faults = append(faults, errors.New("--smtp-user, --smtp-password: give both or neither"))
		}
	}
	if s.Driver != "" {
		if u, err := url.Parse(s.URL); err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
			faults = append(faults, errors.New("--sms-url: must be as in https://gateway.example"))
		}
		if s.Token == "" {
			faults = append(faults, errors.New("--sms-token: must be given"))
		}
	}
	if s.Driver == sms.DriverTwilio && (s.Account == "" || s.From == "") {
		faults = append(faults, errors.New("--sms-account, --sms-from: must be given with twilio"))
	}
	return faults
}

func smtpRoots(c *Config, value string) (err error) {
	c.SMTP.Roots, err = webhook.Roots(value)
	return err
}

func smtpPort(c *Config, value string) error {
	if n, err := strconv.Atoi(value); err != nil || n < 1 || n > 65535 {
		return errors.New("must be a number up to 65535")
	}
	c.SMTP.Port = value
	return nil
}

func smtpHost(c *Config, value string) error {
	if _, _, err := net.SplitHostPort(value); err == nil || strings.ContainsAny(value, "/ ") {
		return errors.New("must be a host name, without a port")
	}
	c.SMTP.Host = value
	return nil
}
