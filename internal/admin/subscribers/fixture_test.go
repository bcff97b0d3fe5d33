package subscribers_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"

	"svc/internal/admin/audit"
	"svc/internal/admin/subscribers"
	"svc/internal/httpapi"
	"svc/internal/httpapi/access"
	"svc/internal/httpapi/contracttest"
	"svc/internal/outbound"
	"svc/internal/outbound/subscriber"
)

// fixture serves the endpoints with settings in memory and a simulated clock.
type fixture struct {
	*chi.Mux
	t        *testing.T
	now      time.Time
	register *subscribers.Register
	keys     *access.Register
	tokens   map[string]string
	ids      map[string]string
	acts     []audit.Act
	orders   []outbound.Command
	takes    func(*outbound.Command) // simulates the notifier's reaction to a command
	refuses  map[string]string       // reasons for which the address check refuses URLs
	warns    string
	storing  error
	auditing error
	log      bytes.Buffer
	lists    fakeLists
}

// fakeLists contains the data that the notifier would report.
type fakeLists struct {
	deliveries []outbound.Delivery
	asked      subscribers.Query
	progress   map[string]outbound.Progress
	health     map[string]outbound.Health
	episodes   []outbound.AlertRun
	away       error
	looks      int // number of calls
}

func (l *fakeLists) Deliveries(_ context.Context, q subscribers.Query) (subscribers.Page, error) {
	l.looks++
	l.asked = q
	if q.Cursor == "bad" {
		return subscribers.Page{}, subscribers.ErrCursor
	}
	page := subscribers.Page{Next: "more"}
	for _, d := range l.deliveries {
		if d.Hospital == q.Hospital && (q.Endpoint == "" || q.Endpoint == d.EndpointID) {
			page.Items = append(page.Items, d)
		}
	}
	return page, l.away
}

func (l *fakeLists) Delivery(_ context.Context, hospital, id string) (outbound.Delivery, bool, error) {
	l.looks++
	for _, d := range l.deliveries {
		if d.Hospital == hospital && d.ID == id {
			return d, true, l.away
		}
	}
	return outbound.Delivery{}, false, l.away
}

func (l *fakeLists) Health(_ context.Context, _, endpoint string) (outbound.Health, bool, error) {
	l.looks++
	h, ok := l.health[endpoint]
	return h, ok, l.away
}

func (l *fakeLists) Progress(_ context.Context, hospital, id string) (outbound.Progress, bool, error) {
	l.looks++
	p, ok := l.progress[id]
	return p, ok && p.Hospital == hospital, l.away
}

func (l *fakeLists) Episodes(_ context.Context, hospital string) (all []outbound.AlertRun, err error) {
	l.looks++
	for _, e := range l.episodes {
		if e.Hospital == hospital {
			all = append(all, e)
		}
	}
	return all, l.away
}

func open(t *testing.T) *fixture {
	t.Helper()
	h := &fixture{
		t: t, now: time.Date(2031, 4, 5, 12, 0, 0, 0, time.UTC), register: subscribers.NewRegister(),
		tokens: map[string]string{}, ids: map[string]string{}, refuses: map[string]string{},
		lists: fakeLists{progress: map[string]outbound.Progress{}, health: map[string]outbound.Health{}},
	}
	clock := func() time.Time { return h.now }
	h.keys = access.NewRegister(clock)
	for name, template := range map[string]access.Key{
		"admin":   {Hospital: "north", Scopes: []access.Scope{access.Admin}},
		"partner": {Hospital: "north", Scopes: []access.Scope{access.ReadStatus}},
		"other":   {Hospital: "north", Scopes: access.Scopes()},
		"foreign": {Hospital: "south", Scopes: []access.Scope{access.Admin}},
	} {
		key, token := access.Mint(template, h.now)
		h.keys.SetKey(key)
		h.tokens[name], h.ids[name] = token, key.ID
	}
	shell := &httpapi.Shell{Now: clock, Lookup: h.keys.Lookup, DocsURL: "/docs", Log: slog.New(slog.NewTextHandler(&h.log, nil))}
	config := subscribers.Config{
		Shell: shell, Register: h.register, Lists: &h.lists, Reason: func(error) string { return "view_away" }, Key: h.keys.Key, Store: h,
		Audit: func(_ context.Context, act audit.Act) error {
			if h.auditing == nil {
				h.acts = append(h.acts, act)
			}
			return h.auditing
		},
		Order: func(_ context.Context, c *outbound.Command) error {
			if len(h.acts) == 0 {
				t.Error("a command before its act was on record")
			}
			if h.storing == nil {
				h.orders = append(h.orders, *c)
			}
			if h.takes != nil {
				h.takes(c)
			}
			return h.storing
		},
		Test: func(c *outbound.Command) string { return "dlv_of_" + c.ID },
		Check: func(_ context.Context, hospital, url string) (string, string) {
			if hospital != "north" && hospital != "south" {
				t.Errorf("checked for %q", hospital)
			}
			return h.refuses[url], h.warns
		},
		Zone: func(string) *time.Location { return time.FixedZone("west", -6*3600) },
	}
	h.Mux = shell.Router()
	subscribers.MountWrites(h, config)
	subscribers.MountReads(h, config)
	return h
}

// store executes a write, or returns the error that the test has set in storing.
func (h *fixture) store(do func()) error {
	if len(h.acts) == 0 {
		h.t.Error("a write before its act was on record")
	}
	if h.storing == nil {
		do()
	}
	return h.storing
}

func (h *fixture) Seen() int64 { return 0 }

func (h *fixture) PutWebhook(_ context.Context, _ int64, w *subscriber.Webhook) error {
	return h.store(func() { h.register.SetWebhook(w) })
}

func (h *fixture) DropWebhook(_ context.Context, _ int64, hospital, id string) error {
	return h.store(func() { h.register.DropWebhook(hospital, id) })
}

func (h *fixture) PutRecipient(_ context.Context, _ int64, p *subscriber.Recipient) error {
	return h.store(func() { h.register.SetRecipient(p) })
}

func (h *fixture) DropRecipient(_ context.Context, _ int64, hospital, id string) error {
	return h.store(func() { h.register.DropRecipient(hospital, id) })
}

func (h *fixture) PutTier(_ context.Context, _ int64, tier *subscriber.Tier) error {
	return h.store(func() { h.register.SetTier(tier) })
}

// said contains the parts of a response that tests read.
type said struct {
	header http.Header
	raw    string
	Data   struct {
		ID, URL, Secret, Status, Reason, CommandID, DeliveryID, Email, Phone, Label, Verb, Next string
		Events, ReaderKeyIDs, Channels                                                          []string
		Rooms                                                                                   []int32
		Enabled, Done                                                                           bool
		Version                                                                                 int64
		Secrets                                                                                 []struct{ ID, State string }
		Warnings                                                                                []struct{ Code, Path string }
		Webhooks                                                                                []struct{ ID string }
		Tiers                                                                                   []struct {
			ID                                       string
			AckMinutes, RepeatMinutes, ExpireMinutes int
			Channels                                 []string
			Version                                  int64
		}
		PromoteAt, RetireAt time.Time
		Count               *int
		Items               []struct {
			ID, State, Tier, AlertID string
			Unreached                bool
			Attempts                 []struct{ Response *string }
		}
	}
	Error struct {
		Code    string
		Details []struct{ Path, Rule string }
	}
}

func (s *said) rules() string {
	var all []string
	for _, d := range s.Error.Details {
		all = append(all, d.Path+" "+d.Rule)
	}
	return strings.Join(all, ", ")
}

func (h *fixture) ask(who, method, path, body string, want int, headers ...string) said {
	h.t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+h.tokens[who])
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	contracttest.CheckTag(h.t, subscribers.Operations(), r, w)
	answer := said{header: w.Header(), raw: w.Body.String()}
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != want {
		h.t.Fatalf("%s %s: %d %s, want %d (%v)", method, path, w.Code, w.Body, want, err)
	}
	return answer
}
