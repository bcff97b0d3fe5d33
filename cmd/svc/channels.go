package main

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/mail"
	"net/url"
	"strconv"
	"strings"
	"time"

	"svc/internal/outbound"
	letters "svc/notifier/mail"
	"svc/notifier/sms"
	"svc/notifier/webhook"
)

// smtpConfig is the SMTP relay for alerts by e-mail.
type smtpConfig struct {
	Host, Port, TLS, User, Password, From string
	Roots                                 *x509.CertPool
}

// smsConfig is the SMS gateway.
type smsConfig struct{ Driver, URL, Account, Token, From string }

// publicURLAtMost is in bytes. It leaves room in an SMS for the words before the link.
const publicURLAtMost = 80

func publicURL(c *config, value string) error {
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
func (c *config) channelFaults() (faults []error) {
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

// mailer returns the sender of e-mail; nil if none is configured.
func (c *config) mailer(now func() time.Time) (outbound.Sender, error) { //nolint:ireturn // or nothing
	if c.SMTP.Host == "" {
		return nil, nil //nolint:nilnil // e-mail is off
	}
	port, err := strconv.Atoi(c.SMTP.Port)
	if err != nil {
		return nil, fmt.Errorf("port of SMTP: %w", err)
	}
	s, err := letters.New(letters.Config{
		Host: c.SMTP.Host, Port: port, Implicit: c.SMTP.TLS == "tls", User: c.SMTP.User, Password: c.SMTP.Password, From: c.SMTP.From,
		Roots: c.SMTP.Roots, Now: now,
	})
	if err != nil {
		return nil, fmt.Errorf("e-mail: %w", err)
	}
	return s, nil
}

// gateway returns the SMS gateway; nil if none is configured.
func (c *config) gateway(now func() time.Time) (sms.Gateway, error) { //nolint:ireturn // or nothing
	if c.SMS.Driver == "" {
		return nil, nil //nolint:nilnil // SMS is off
	}
	g, err := sms.New(sms.Config{
		Driver: c.SMS.Driver, URL: c.SMS.URL, Account: c.SMS.Account, Token: c.SMS.Token, From: c.SMS.From, Callback: c.PublicURL, Now: now,
	})
	if err != nil {
		return nil, fmt.Errorf("SMS: %w", err)
	}
	return g, nil
}

// channels returns the senders to people. A channel that is not configured fails at once and says
// so; the notifier then uses another one.
func (c *config) channels(now func() time.Time) (map[outbound.Channel]outbound.Sender, error) {
	all := map[outbound.Channel]outbound.Sender{outbound.ChannelMail: off{}, outbound.ChannelSMS: off{}}
	if c.Senders != nil {
		return c.Senders, nil
	}
	mailer, err := c.mailer(now)
	if err != nil {
		return nil, err
	}
	gateway, err := c.gateway(now)
	if err != nil {
		return nil, err
	}
	if mailer != nil {
		all[outbound.ChannelMail] = mailer
	}
	if gateway != nil {
		all[outbound.ChannelSMS] = gateway
	}
	return all, nil
}

// off is a channel that is not configured.
type off struct{}

// Send implements [outbound.Sender].
func (off) Send(context.Context, outbound.Message) outbound.Result {
	return outbound.Result{Class: outbound.ClassBlocked, Final: true, Took: 1, Response: "the channel is not configured"}
}

func smtpRoots(c *config, value string) (err error) {
	c.SMTP.Roots, err = webhook.Roots(value)
	return err
}

func smtpPort(c *config, value string) error {
	if n, err := strconv.Atoi(value); err != nil || n < 1 || n > 65535 {
		return errors.New("must be a number up to 65535")
	}
	c.SMTP.Port = value
	return nil
}

func smtpHost(c *config, value string) error {
	if _, _, err := net.SplitHostPort(value); err == nil || strings.ContainsAny(value, "/ ") {
		return errors.New("must be a host name, without a port")
	}
	c.SMTP.Host = value
	return nil
}
