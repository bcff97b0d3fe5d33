package webhook

import (
	"net/http"
	"strings"
	"time"

	"svc/acuity"
	"svc/internal/outbound"
	"svc/internal/signature"
	"svc/notifier/event"
)

// Reproduce returns the text of the request that a test of a webhook was, and that was sent at an
// instant. It makes the request again from the event, the secrets valid at the time, and the level
// of the unit. The text is empty if it cannot be made again.
func Reproduce(hook *outbound.Webhook, c *outbound.Command, level acuity.Level, sent time.Time) string {
	e, err := event.Test(c, level)
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
