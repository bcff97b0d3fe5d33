package devserver

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"

	"svc/internal/outbound/sending"
	"svc/internal/outbound/subscriber"
)

// TestOutboxPage: the page shows the message, its time in the hospital's time zone, and its channel.
func TestOutboxPage(t *testing.T) {
	o := newOutbox(func() time.Time { return time.Date(2031, 4, 5, 12, 3, 4, 0, time.UTC) }, "http://127.0.0.1:1")
	zone, err := time.LoadLocation("America/Chicago")
	if err != nil {
		t.Fatal(err)
	}
	o.zone = func(string) *time.Location { return zone }
	for _, c := range []subscriber.Channel{subscriber.ChannelSMS, subscriber.ChannelMail} {
		o.channel(c).Send(t.Context(), sending.Message{Hospital: "demo", To: "charge", Subject: "[RED] <L&D>", Text: "Ack http://127.0.0.1:1/a/7KQ2M9XW3PTD"})
	}
	var page strings.Builder
	if err := o.html.Execute(&page, o.items()); err != nil {
		t.Fatal(err)
	}
	row := `<td>07:03:04 CDT</td><td>sms</td><td>charge</td><td><strong>[RED] &lt;L&amp;D&gt;</strong>`
	if !strings.Contains(page.String(), row) || !strings.Contains(page.String(), `<a href="http://127.0.0.1:1/a/7KQ2M9XW3PTD">`) {
		t.Errorf("no %s in\n%s", row, &page)
	}
}

// TestPagesOfThisMachine: if the host name of a foreign site resolves to this machine, the site can read neither the
// pages of svc dev nor their JSON lists.
func TestPagesOfThisMachine(t *testing.T) {
	r := chi.NewRouter()
	newOutbox(time.Now, "http://127.0.0.1:1").mount(r, "/dev/outbox")
	for host, want := range map[string]int{
		"127.0.0.1:8080": 200, "localhost:8080": 200, "LOCALHOST": 200, "[::1]:8080": 200, "10.0.0.7": 200,
		"evil.example": 421, "evil.example:8080": 421, "127.0.0.1.evil.example": 421, "localhost.evil.example:8080": 421, "": 421,
	} {
		for _, path := range []string{"/dev/outbox", "/dev/outbox.json"} {
			asked := httptest.NewRequest(http.MethodGet, path, http.NoBody)
			asked.Host = host
			w := httptest.NewRecorder()
			r.ServeHTTP(w, asked)
			if w.Code != want {
				t.Errorf("%s of %q: %d, want %d", path, host, w.Code, want)
			}
		}
	}
}
