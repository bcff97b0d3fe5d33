package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"svc/internal/config"
	"svc/internal/outbound"
	letters "svc/notifier/mail"
	"svc/notifier/sms"
)

// mailer returns the sender of e-mail; nil if none is configured.
func mailer(c *config.Config, now func() time.Time) (outbound.Sender, error) { //nolint:ireturn // or nothing
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
func gateway(c *config.Config, now func() time.Time) (sms.Gateway, error) { //nolint:ireturn // or nothing
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
func channels(c *config.Config, now func() time.Time) (map[outbound.Channel]outbound.Sender, error) {
	all := map[outbound.Channel]outbound.Sender{outbound.ChannelMail: off{}, outbound.ChannelSMS: off{}}
	if c.Senders != nil {
		return c.Senders, nil
	}
	post, err := mailer(c, now)
	if err != nil {
		return nil, err
	}
	texts, err := gateway(c, now)
	if err != nil {
		return nil, err
	}
	if post != nil {
		all[outbound.ChannelMail] = post
	}
	if texts != nil {
		all[outbound.ChannelSMS] = texts
	}
	return all, nil
}

// off is a channel that is not configured.
type off struct{}

// Send implements [outbound.Sender].
func (off) Send(context.Context, outbound.Message) outbound.Result {
	return outbound.Result{Class: outbound.ClassBlocked, Final: true, Took: 1, Response: "the channel is not configured"}
}
