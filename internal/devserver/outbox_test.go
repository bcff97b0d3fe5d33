package devserver

import (
	"strings"
	"testing"
	"time"

	"svc/internal/outbound"
)

// TestOutboxPage: the page shows the message, its time and its channel.
func TestOutboxPage(t *testing.T) {
	o := newOutbox(func() time.Time { return time.Date(2031, 4, 5, 12, 3, 4, 0, time.UTC) }, "http://127.0.0.1:1")
	for _, c := range []outbound.Channel{outbound.ChannelSMS, outbound.ChannelMail} {
		o.channel(c).Send(t.Context(), outbound.Message{Hospital: "demo", To: "charge", Subject: "[RED] <L&D>", Text: "Ack http://127.0.0.1:1/a/7KQ2M9XW3PTD"})
	}
	var page strings.Builder
	if err := o.html.Execute(&page, o.items()); err != nil {
		t.Fatal(err)
	}
	row := `<td>12:03:04</td><td>sms</td><td>charge</td><td><strong>[RED] &lt;L&amp;D&gt;</strong>`
	if !strings.Contains(page.String(), row) || !strings.Contains(page.String(), `<a href="http://127.0.0.1:1/a/7KQ2M9XW3PTD">`) {
		t.Errorf("no %s in\n%s", row, &page)
	}
}
