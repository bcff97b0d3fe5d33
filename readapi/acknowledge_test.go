package readapi_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"svc/internal/httpapi"
	"svc/internal/httpapi/access"
	"svc/internal/httpapi/limit"
	"svc/internal/outbound"
	"svc/readapi"
)

// fakeAlerts has one open alert run.
type fakeAlerts struct {
	links   map[string]outbound.AckLink
	episode outbound.AlertRun
	orders  []outbound.Command
	away    bool
	behind  error  // not nil: the state of the alert run may be outdated
	busy    bool   // whether the notifier has yet to execute the command
	refused string // reason why the notifier refuses the command
}

var errAway = errors.New("away")

func (f *fakeAlerts) Link(_ context.Context, token string) (outbound.AckLink, bool, error) {
	l, ok := f.links[token]
	if f.away {
		return l, false, errAway
	}
	return l, ok, nil
}

func (f *fakeAlerts) Episode(_ context.Context, hospital, id string) (outbound.AlertRun, bool, error) {
	return f.episode, hospital == "mercy" && id == f.episode.ID, f.behind
}

func (f *fakeAlerts) Unit(string) (string, *time.Location) { return "Mercy <b>L&D</b>", time.UTC }

func (f *fakeAlerts) Order(_ context.Context, c *outbound.Command) error {
	f.orders = append(f.orders, *c)
	return nil
}

func (f *fakeAlerts) Done(context.Context, *outbound.Command) (outbound.Progress, bool) {
	return outbound.Progress{Done: true, Reason: f.refused}, !f.busy
}

var at = time.Date(2026, 3, 1, 14, 5, 0, 0, time.UTC)

// newAckShell returns a shell with a fixed clock, and a function that creates one alert with two links.
func newAckShell() (shell *httpapi.Shell, alerts func() *fakeAlerts) {
	clock := func() time.Time { return at }
	shell = &httpapi.Shell{Now: clock, Lookup: access.NewRegister(clock).Lookup, DocsURL: "/docs", Log: slog.New(slog.DiscardHandler)}
	alerts = func() *fakeAlerts {
		return &fakeAlerts{
			links: map[string]outbound.AckLink{
				"7KQ2M9XW3PTD": {Hospital: "mercy", Episode: "epi_1", Alert: "evt_1", Until: at.Add(time.Hour)},
				"000000000000": {Hospital: "mercy", Episode: "epi_1", Until: at},
			},
			episode: outbound.AlertRun{ID: "epi_1", Hospital: "mercy", Tier: "T2", Level: "orange", Alert: "evt_1", OpenedAt: at, ToldAt: at},
		}
	}
	return shell, alerts
}

func TestAcknowledgePage(t *testing.T) {
	shell, alerts := newAckShell()
	for name, tt := range map[string]struct {
		method, path string
		change       func(*fakeAlerts)
		status       int
		want         string
		ask          bool
		orders       int
	}{
		"a look changes nothing":              {"GET", "/a/7KQ2M9XW3PTD", nil, 200, "has not been acknowledged yet", true, 0},
		"spelled in small letters":            {"GET", "/a/7kq2m9xw3ptd", nil, 200, "has not been acknowledged yet", true, 0},
		"an answer":                           {"POST", "/a/7KQ2M9XW3PTD", nil, 200, "Acknowledged at 14:05", false, 1},
		"an answer that is not done yet":      {"POST", "/a/7KQ2M9XW3PTD", func(f *fakeAlerts) { f.busy = true }, 200, "Your acknowledgment was received", false, 1},
		"an answer to the raise before":       {"POST", "/a/7KQ2M9XW3PTD", func(f *fakeAlerts) { f.episode.Alert = "evt_2" }, 200, "a newer alert", false, 0},
		"a raise at the moment of the answer": {"POST", "/a/7KQ2M9XW3PTD", func(f *fakeAlerts) { f.refused = "newer_alert" }, 200, "a newer alert", false, 1},
		"over at the moment of the answer":    {"POST", "/a/7KQ2M9XW3PTD", func(f *fakeAlerts) { f.refused = "no_episode" }, 200, "This alert has ended", false, 1},
		"answered before":                     {"POST", "/a/7KQ2M9XW3PTD", func(f *fakeAlerts) { f.episode.AckedAt = at }, 200, "Acknowledged at 14:05", false, 0},
		"over":                                {"POST", "/a/7KQ2M9XW3PTD", func(f *fakeAlerts) { f.episode.ClosedAt = at }, 200, "This alert ended at", false, 0},
		"a day old":                           {"POST", "/a/000000000000", nil, 404, "is not valid", false, 0},
		"guessed":                             {"POST", "/a/ZZZZZZZZZZZZ", nil, 404, "is not valid", false, 0},
		"the episode is gone":                 {"GET", "/a/7KQ2M9XW3PTD", func(f *fakeAlerts) { f.episode.ID = "epi_2" }, 404, "is not valid", false, 0},
		"nothing can be looked up":            {"POST", "/a/7KQ2M9XW3PTD", func(f *fakeAlerts) { f.away = true }, 503, "could not be confirmed", false, 0},
		"a look while nobody knows":           {"GET", "/a/7KQ2M9XW3PTD", func(f *fakeAlerts) { f.behind = errAway }, 503, "not available. You can still", true, 0},
		"an answer while nobody knows":        {"POST", "/a/7KQ2M9XW3PTD", func(f *fakeAlerts) { f.behind, f.busy = errAway, true }, 200, "Your acknowledgment was received", false, 1},
		"over, while nobody knows":            {"GET", "/a/7KQ2M9XW3PTD", func(f *fakeAlerts) { f.behind, f.episode.AckedAt = errAway, at }, 503, "Not available right now", false, 0},
		"answered, while nobody knows":        {"POST", "/a/7KQ2M9XW3PTD", func(f *fakeAlerts) { f.behind, f.episode.AckedAt = errAway, at }, 503, "could not be confirmed", false, 0},
		"a method that is not there":          {"PUT", "/a/7KQ2M9XW3PTD", nil, 405, "invalid_request", false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			f := alerts()
			if tt.change != nil {
				tt.change(f)
			}
			r := shell.Router()
			readapi.MountAcknowledge(r, shell, f)
			w := httptest.NewRecorder()
			r.ServeHTTP(w, httptest.NewRequest(tt.method, tt.path, http.NoBody))
			page := w.Body.String()
			if w.Code != tt.status || !strings.Contains(page, tt.want) || strings.Contains(page, "<form") != tt.ask || len(f.orders) != tt.orders {
				t.Errorf("%d, %d orders: %s", w.Code, len(f.orders), page)
			}
			if tt.orders == 1 {
				if c := f.orders[0]; c.Verb != outbound.VerbAck || c.Episode != "epi_1" || c.EventID != "evt_1" || c.Hospital != "mercy" || c.By != "link" || c.ID == "" {
					t.Errorf("order %+v", c)
				}
			}
			if strings.Contains(page, "<b>") {
				t.Error("the name of the unit is not escaped")
			}
			if csp := w.Header().Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") || !strings.Contains(csp, "frame-ancestors 'none'") || w.Header().Get("Cache-Control") != "no-store" {
				t.Errorf("headers %v", w.Header())
			}
		})
	}
}

// TestAcknowledgeInSpanish: the page behind the link uses the phone's language.
func TestAcknowledgeInSpanish(t *testing.T) {
	t.Parallel()
	shell, alerts := newAckShell()
	r := shell.Router()
	readapi.MountAcknowledge(r, shell, alerts())
	for path, want := range map[string]string{"/a/7KQ2M9XW3PTD": "Esta alerta aún no se ha confirmado.", "/a/ZZZZZZZZZZZZ": "Este enlace no es válido"} {
		w := httptest.NewRecorder()
		asked := httptest.NewRequest(http.MethodGet, path, http.NoBody)
		asked.Header.Set("Accept-Language", "es-US")
		r.ServeHTTP(w, asked)
		if page := w.Body.String(); !strings.Contains(page, want) || !strings.Contains(page, `<html lang="es">`) {
			t.Errorf("%s: %s", path, page)
		}
	}
}

// TestAcknowledgeTries: a client that repeatedly requests pages of invalid links from one IP address gets 429.
func TestAcknowledgeTries(t *testing.T) {
	t.Parallel()
	shell, alerts := newAckShell()
	shell.Strangers = limit.NewStrangers(limit.Rate{PerSecond: 0.1, Burst: 3}, shell.Now)
	r := shell.Router()
	readapi.MountAcknowledge(r, shell, alerts())
	for n, want := range []int{404, 404, 404, 429, 429} {
		w := httptest.NewRecorder()
		r.ServeHTTP(w, httptest.NewRequest([]string{"GET", "POST"}[n%2], fmt.Sprintf("/a/ZZZZZZZZZZZ%d", n), http.NoBody))
		if w.Code != want || want == 429 && (w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), "Too many attempts from this network")) {
			t.Errorf("try %d: %d, Retry-After %q: %s", n, w.Code, w.Header().Get("Retry-After"), w.Body)
		}
	}
}
