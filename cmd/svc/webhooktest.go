package main

import (
	"context"
	"net/http"
	"strings"
	"time"

	"svc/acuity"
	"svc/internal/admin/settings"
	"svc/internal/outbound"
	"svc/internal/signature"
	"svc/notifier/event"
)

// testRequest returns the text of a test request that was sent to a webhook. It makes the request
// again from the event, the secrets valid at the time, and the level of the unit.
func testRequest(s *settings.Store, level func(ctx context.Context, hospital string) acuity.Level) func(ctx context.Context, hospital, webhook, command, name string, occurred, sent time.Time) string {
	return func(ctx context.Context, hospital, webhook, command, name string, occurred, sent time.Time) string {
		hook, known := s.Subscribers.Webhook(hospital, webhook)
		if !known {
			return ""
		}
		c := &outbound.Command{ID: command, Hospital: hospital, Endpoint: webhook, Channel: outbound.ChannelWebhook, At: occurred}
		if name != outbound.Ping {
			c.Event = name
		}
		e, err := event.Test(c, level(ctx, hospital))
		if err != nil {
			return ""
		}
		signed, ok := signature.Sign(hook.Secrets, e.ID, sent, e.Body)
		if !ok {
			return ""
		}
		head := [][2]string{
			{"Content-Type", "application/json"},
			{signature.HeaderID, e.ID},
			{signature.HeaderTimestamp, signed.Timestamp},
			{signature.HeaderStandard, signed.Standard},
			{signature.HeaderBody, signed.Body},
		}
		text := &strings.Builder{}
		text.WriteString(http.MethodPost + " " + hook.URL + "\n")
		for _, h := range head {
			text.WriteString(h[0] + ": " + h[1] + "\n")
		}
		text.WriteString("\n")
		text.Write(e.Body)
		return text.String()
	}
}
