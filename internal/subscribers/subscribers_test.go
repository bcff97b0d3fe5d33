package subscribers_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"

	"svc/internal/access"
	"svc/internal/api"
	"svc/internal/audit"
	"svc/internal/outbound"
	"svc/internal/signature"
	"svc/internal/subscribers"
)

// house is the endpoints over settings in memory, at a clock of its own.
type house struct {
	*chi.Mux
	t        *testing.T
	now      time.Time
	register *subscribers.Register
	keys     *access.Register
	tokens   map[string]string
	ids      map[string]string
	acts     []audit.Act
	orders   []outbound.Command
	refuses  map[string]string // of the check of addresses, by URL
	warns    string
	storing  error
	auditing error
	log      bytes.Buffer
	board    board
}

// board is what the notifier would have told.
type board struct {
	deliveries []outbound.Delivery
	asked      outbound.Query
	progress   map[string]outbound.Progress
	health     map[string]outbound.Health
	episodes   []outbound.Episode
	away       error
	looks      int // how often it was asked anything
}

func (b *board) Deliveries(_ context.Context, q outbound.Query) (outbound.Page, error) {
	b.looks++
	b.asked = q
	if q.Cursor == "bad" {
		return outbound.Page{}, subscribers.ErrCursor
	}
	page := outbound.Page{Next: "more"}
	for _, d := range b.deliveries {
		if d.Hospital == q.Hospital && (q.Endpoint == "" || q.Endpoint == d.EndpointID) {
			page.Items = append(page.Items, d)
		}
	}
	return page, b.away
}

func (b *board) Delivery(_ context.Context, hospital, id string) (outbound.Delivery, bool, error) {
	b.looks++
	for _, d := range b.deliveries {
		if d.Hospital == hospital && d.ID == id {
			return d, true, b.away
		}
	}
	return outbound.Delivery{}, false, b.away
}

func (b *board) Health(_ context.Context, _, endpoint string) (outbound.Health, bool, error) {
	b.looks++
	h, ok := b.health[endpoint]
	return h, ok, b.away
}

func (b *board) Progress(_ context.Context, hospital, id string) (outbound.Progress, bool, error) {
	b.looks++
	p, ok := b.progress[id]
	return p, ok && p.Hospital == hospital, b.away
}

func (b *board) Episodes(_ context.Context, hospital string) (all []outbound.Episode, err error) {
	b.looks++
	for _, e := range b.episodes {
		if e.Hospital == hospital {
			all = append(all, e)
		}
	}
	return all, b.away
}

func open(t *testing.T) *house {
	t.Helper()
	h := &house{
		t: t, now: time.Date(2031, 4, 5, 12, 0, 0, 0, time.UTC), register: subscribers.NewRegister(),
		tokens: map[string]string{}, ids: map[string]string{}, refuses: map[string]string{},
		board: board{progress: map[string]outbound.Progress{}, health: map[string]outbound.Health{}},
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
	shell := &api.Shell{Now: clock, Lookup: h.keys.Lookup, DocsURL: "/docs", Log: slog.New(slog.NewTextHandler(&h.log, nil))}
	config := subscribers.Config{
		Shell: shell, Register: h.register, Board: &h.board, Key: h.keys.Key, Store: h,
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

// store does a write if it may.
func (h *house) store(do func()) error {
	if len(h.acts) == 0 {
		h.t.Error("a write before its act was on record")
	}
	if h.storing == nil {
		do()
	}
	return h.storing
}

func (h *house) Seen() int64 { return 0 }

func (h *house) PutWebhook(_ context.Context, _ int64, w *outbound.Webhook) error {
	return h.store(func() { h.register.SetWebhook(w) })
}

func (h *house) DropWebhook(_ context.Context, _ int64, hospital, id string) error {
	return h.store(func() { h.register.DropWebhook(hospital, id) })
}

func (h *house) PutRecipient(_ context.Context, _ int64, p *outbound.Recipient) error {
	return h.store(func() { h.register.SetRecipient(p) })
}

func (h *house) DropRecipient(_ context.Context, _ int64, hospital, id string) error {
	return h.store(func() { h.register.DropRecipient(hospital, id) })
}

func (h *house) PutTier(_ context.Context, _ int64, tier *outbound.Tier) error {
	return h.store(func() { h.register.SetTier(tier) })
}

// said is an answer, as far as the tests look at it.
type said struct {
	header http.Header
	raw    string
	Data   struct {
		ID, URL, Secret, Status, Reason, CommandID, DeliveryID, Email, Phone, Label, Verb, Next string
		Events, ReaderKeyIDs, Channels                                                          []string
		Rooms                                                                                   []int32
		Enabled                                                                                 bool
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
			ID, State, Tier string
			Attempts        []struct{ Response *string }
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

func (h *house) ask(who, method, path, body string, want int, headers ...string) said {
	h.t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+h.tokens[who])
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	answer := said{header: w.Header(), raw: w.Body.String()}
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != want {
		h.t.Fatalf("%s %s: %d %s, want %d (%v)", method, path, w.Code, w.Body, want, err)
	}
	return answer
}

const hooks = "/api/admin/webhooks"

func TestLifeOfAWebhook(t *testing.T) {
	h := open(t)
	h.warns = "name_unresolved"
	made := h.ask("admin", "POST", hooks, `{"url":"https://partner.example/svc","readerKeyIds":["`+h.ids["partner"]+`"],"colour":1}`, 200)
	if d := made.Data; !strings.HasPrefix(d.ID, "whk_") || len(d.ID) != 20 || !strings.HasPrefix(d.Secret, "whsec_") || len(d.Secret) != 50 ||
		fmt.Sprint(d.Events) != "[surge.level_changed room.rescored]" || d.Rooms != nil || !d.Enabled || d.Version != 1 || made.header.Get("ETag") != `"1"` ||
		fmt.Sprint(d.Warnings) != "[{unknown_field colour} {name_unresolved url}]" || d.Status != "active" || len(d.Secrets) != 1 || d.Secrets[0].State != "current" {
		t.Errorf("made %s", made.raw)
	}
	path := hooks + "/" + made.Data.ID
	h.warns = ""

	got := h.ask("admin", "GET", path, "", 200)
	if strings.Contains(got.raw, made.Data.Secret) || got.header.Get("ETag") != `"1"` {
		t.Errorf("read %s", got.raw)
	}
	changed := h.ask("admin", "PATCH", path, `{"rooms":[4,1],"enabled":false}`, 200, "If-Match", `"1"`)
	if d := changed.Data; d.Version != 2 || d.Enabled || d.Status != "disabled" || d.Reason != "paused" || fmt.Sprint(d.Rooms) != "[4 1]" ||
		d.URL != "https://partner.example/svc" || len(d.ReaderKeyIDs) != 1 || fmt.Sprint(d.Events) != fmt.Sprint(made.Data.Events) {
		t.Errorf("changed %s", changed.raw)
	}
	h.ask("admin", "PATCH", path, `{"rooms":[4]}`, 412, "If-Match", `"1"`)
	back := h.ask("admin", "PATCH", path, `{"rooms":null,"events":["surge.alert"]}`, 200, "If-Match", `"9", "2"`)
	if back.Data.Rooms != nil || fmt.Sprint(back.Data.Events) != "[surge.alert]" || back.Data.Enabled {
		t.Errorf("back %s", back.raw)
	}
	hook, _ := h.register.Webhook("north", made.Data.ID)
	if hook.Secrets[0].Value != made.Data.Secret {
		t.Error("the secret was lost by a change")
	}
	if list := h.ask("admin", "GET", hooks, "", 200); len(list.Data.Webhooks) != 1 {
		t.Errorf("list %s", list.raw)
	}
	if list := h.ask("foreign", "GET", hooks, "", 200); len(list.Data.Webhooks) != 0 {
		t.Errorf("another hospital sees %s", list.raw)
	}
	for _, method := range []string{"GET", "PATCH", "DELETE"} {
		h.ask("foreign", method, path, `{}`, 404)
		h.ask("other", method, path, `{}`, 403)
	}
	h.ask("admin", "DELETE", path, "", 412, "If-Match", `"1"`)
	h.ask("admin", "DELETE", path, "", 200, "If-Match", `"3"`)
	h.ask("admin", "GET", path, "", 404)
	var acts []string
	for _, a := range h.acts {
		if a.Subject != made.Data.ID || a.By != h.ids["admin"] || a.Hospital != "north" || !a.At.Equal(h.now) {
			t.Errorf("act %+v", a)
		}
		acts = append(acts, a.Action+" "+a.Before+">"+a.After)
	}
	if want := "[webhook.create >1 webhook.change 1>2 webhook.change 2>3 webhook.delete 3>]"; fmt.Sprint(acts) != want {
		t.Errorf("audit %v\nwant %s", acts, want)
	}
}

// TestRefusals wants each broken rule named by its place, none of the values, and
// nothing done.
func TestRefusals(t *testing.T) {
	const url = `"url":"https://canary.example/canary"`
	for name, tt := range map[string]struct {
		method, path, body string
		status             int
		rules              string
	}{
		"nothing":                {"POST", hooks, `{}`, 400, "url length:1-2048"},
		"no JSON":                {"POST", hooks, `{"url":`, 400, " json"},
		"wrong type":             {"POST", hooks, `{"url":7}`, 400, "url type:string"},
		"address refused":        {"POST", hooks, `{"url":"https://10.0.0.1/canary"}`, 422, "url address_refused"},
		"all at once":            {"POST", hooks, `{` + url + `,"events":["canary"],"rooms":[-1],"ratePerSecond":0,"timeoutSeconds":31,"readerKeyIds":["canary"],"secret":"canary"}`, 400, "events[0] enum:surge.level_changed|room.rescored|surge.alert|ping, rooms[0] minimum:0, ratePerSecond range:0.1-500, timeoutSeconds range:1-30, secret length:24-128, readerKeyIds[0] key"},
		"twice":                  {"POST", hooks, `{` + url + `,"events":["ping","ping"],"rooms":[1,1]}`, 400, "events[1] unique, rooms[1] unique"},
		"no event":               {"POST", hooks, `{` + url + `,"events":[]}`, 400, "events minItems:1"},
		"no room":                {"POST", hooks, `{` + url + `,"rooms":[]}`, 400, "rooms items:1-500"},
		"secret not ASCII":       {"POST", hooks, `{` + url + `,"secret":"canary canary canary ü canary"}`, 400, "secret ascii"},
		"long URL":               {"POST", hooks, `{"url":"https://x/` + strings.Repeat("x", 2048) + `"}`, 400, "url length:1-2048"},
		"no such webhook":        {"PATCH", hooks + "/whk_0", `{}`, 404, ""},
		"overlap":                {"POST", hooks + "/ID/rotate", `{"overlapHours":2}`, 400, "overlapHours enum:0|1|24|168"},
		"test of what":           {"POST", hooks + "/ID/test", `{"event":"canary"}`, 400, "event enum:ping|surge.level_changed|room.rescored|surge.alert"},
		"replay of nothing":      {"POST", hooks + "/ID/replay", `{}`, 400, "since required"},
		"replay backwards":       {"POST", hooks + "/ID/replay", `{"since":"2031-04-05T12:00:00Z","until":"2031-04-05T11:00:00Z","only":"canary","events":["ping"]}`, 400, "events[0] enum:surge.level_changed|room.rescored|surge.alert, only enum:failed|missing|all, until after:since"},
		"replay at no time":      {"POST", hooks + "/ID/replay", `{"since":"canary"}`, 400, "since format:date-time"},
		"retry of none":          {"POST", "/api/admin/deliveries/dlv_0/retry", ``, 404, ""},
		"stop of none":           {"DELETE", "/api/admin/commands/cmd_0", ``, 404, ""},
		"list of what":           {"GET", "/api/admin/deliveries?channel=canary&state=canary&event=canary&limit=0&since=canary", ``, 400, "channel enum:webhook|email|sms, state enum:pending|delivered|rejected|expired|poison|cancelled|failed|suppressed|superseded, event enum:surge.level_changed|room.rescored|surge.alert|ping, since date-time, limit integer:1-200"},
		"cursor":                 {"GET", "/api/admin/deliveries?cursor=bad", ``, 422, "cursor cursor"},
		"list of no endpoint":    {"GET", hooks + "/whk_0/deliveries", ``, 404, ""},
		"no tier":                {"PUT", "/api/admin/alerts/tiers/T4", `{}`, 404, ""},
		"tier of what":           {"PUT", "/api/admin/alerts/tiers/T1", `{"channels":["canary"],"ackMinutes":-1,"repeatMinutes":1441,"expireMinutes":0,"action":"a\nb"}`, 400, "channels[0] enum:webhook|email|sms, ackMinutes range:0-1440, repeatMinutes range:0-1440, expireMinutes range:1-1440, action length:0-200"},
		"tier for nobody":        {"PUT", "/api/admin/alerts/tiers/T1", `{"recipients":["canary"]}`, 422, "recipients[0] recipient"},
		"recipient unreachable":  {"POST", "/api/admin/alerts/recipients", `{"label":"Charge nurse"}`, 422, "email one_of:email|phone|webhookId"},
		"recipient out of reach": {"POST", "/api/admin/alerts/recipients", `{"label":"","email":"Canary <canary@x.example>","phone":"555 0100","webhookId":"whk_0"}`, 400, "label length:1-60, email format:email, phone format:e164, webhookId webhook"},
		"address with a header":  {"POST", "/api/admin/alerts/recipients", `{"label":"Charge nurse","email":"canary@x.example\r\nBcc: canary@y.example"}`, 400, "email format:email"},
		"test of nobody":         {"POST", "/api/admin/alerts/test", `{"recipientId":"canary","channel":"sms"}`, 404, ""},
		"test by what":           {"POST", "/api/admin/alerts/test", `{"recipientId":"","channel":"canary"}`, 400, "recipientId length:1-64, channel enum:webhook|email|sms"},
		"ack of none":            {"POST", "/api/admin/alerts/episodes/epi_0/ack", `{}`, 404, ""},
		"ack by an essay":        {"POST", "/api/admin/alerts/episodes/epi_0/ack", `{"by":"` + strings.Repeat("canary", 11) + `"}`, 400, "by length:0-60"},
	} {
		t.Run(name, func(t *testing.T) {
			h := open(t)
			h.refuses["https://10.0.0.1/canary"] = "address_refused"
			made := h.ask("admin", "POST", hooks, `{"url":"https://partner.example/svc"}`, 200)
			done := len(h.acts)
			got := h.ask("admin", tt.method, strings.ReplaceAll(tt.path, "ID", made.Data.ID), tt.body, tt.status)
			if got.rules() != tt.rules {
				t.Errorf("breaks %q\nwant   %q", got.rules(), tt.rules)
			}
			if strings.Contains(got.raw, "canary") || strings.Contains(h.log.String(), "canary") {
				t.Errorf("a value is told: %s %s", got.raw, &h.log)
			}
			if len(h.acts) != done || len(h.orders) != 0 || len(h.register.Webhooks("north")) != 1 || len(h.register.Recipients("north")) != 0 {
				t.Errorf("something was done: %+v", h.acts)
			}
		})
	}
}

func TestAsManyWebhooksAsAHospitalCanHave(t *testing.T) {
	h := open(t)
	for range outbound.MaxWebhooks {
		h.ask("admin", "POST", hooks, `{"url":"https://partner.example/svc"}`, 200)
	}
	if got := h.ask("admin", "POST", hooks, `{"url":"https://partner.example/svc"}`, 422); got.rules() != " maxItems:50" {
		t.Error(got.raw)
	}
	h.ask("foreign", "POST", hooks, `{"url":"https://partner.example/svc"}`, 200)
}

// TestRotation follows the secrets of an endpoint through the instants of two
// rotations: one write each, the rest is time.
func TestRotation(t *testing.T) {
	h := open(t)
	made := h.ask("admin", "POST", hooks, `{"url":"https://partner.example/svc"}`, 200)
	path := hooks + "/" + made.Data.ID
	states := func() string {
		t.Helper()
		var all []string
		for _, s := range h.ask("admin", "GET", path, "", 200).Data.Secrets {
			all = append(all, s.State)
		}
		return strings.Join(all, " ")
	}
	began := h.now
	turned := h.ask("admin", "POST", path+"/rotate", `{}`, 200, "If-Match", `"1"`)
	if d := turned.Data; d.Version != 2 || d.Secret == made.Data.Secret || !d.PromoteAt.Equal(began.Add(12*time.Hour)) || !d.RetireAt.Equal(began.Add(24*time.Hour)) {
		t.Errorf("rotated %s", turned.raw)
	}
	if got := h.ask("admin", "POST", path+"/rotate", `{"overlapHours":1}`, 422); got.rules() != "overlapHours rotating" {
		t.Errorf("a second rotation: %s", got.raw)
	}
	for _, step := range []struct {
		after time.Duration
		want  string
	}{
		{0, "next current"},
		{12*time.Hour - time.Millisecond, "next current"},
		{12 * time.Hour, "current previous"},
		{24*time.Hour - time.Millisecond, "current previous"},
		{24 * time.Hour, "current"},
	} {
		if h.now = began.Add(step.after); states() != step.want {
			t.Errorf("after %v: %s, want %s", step.after, states(), step.want)
		}
	}
	// A rotation while the secret before last still signs: three.
	h.now = began.Add(13 * time.Hour)
	third := h.ask("admin", "POST", path+"/rotate", `{"overlapHours":1,"secret":"a secret of the partner's own"}`, 200)
	if states() != "next current previous" || third.Data.Secret != "a secret of the partner's own" {
		t.Errorf("three: %s", states())
	}
	h.now = began.Add(14 * time.Hour)
	if states() != "current previous" {
		t.Errorf("after the second: %s", states())
	}
	hook, _ := h.register.Webhook("north", made.Data.ID)
	if at := signature.At(hook.Secrets, h.now); at[0].Value != third.Data.Secret || at[1].Value != made.Data.Secret {
		t.Errorf("signs %+v", at)
	}
	// A leak: all old ones end at once, also during an overlap.
	h.ask("admin", "POST", path+"/rotate", `{}`, 200)
	last := h.ask("admin", "POST", path+"/rotate", `{"overlapHours":0}`, 200)
	if states() != "current" || len(last.Data.Secrets) != 1 || !last.Data.PromoteAt.Equal(last.Data.RetireAt) {
		t.Errorf("after a leak: %s", last.raw)
	}
}

func TestCommands(t *testing.T) {
	h := open(t)
	hook := h.ask("admin", "POST", hooks, `{"url":"https://partner.example/svc"}`, 200).Data.ID
	h.board.deliveries = []outbound.Delivery{{ID: "dlv_1", Hospital: "north", EventID: "evt_1", EndpointID: hook, Channel: outbound.ChannelWebhook}}

	ping := h.ask("admin", "POST", hooks+"/"+hook+"/test", ``, 200)
	h.ask("admin", "POST", hooks+"/"+hook+"/test", `{"event":"room.rescored"}`, 200)
	h.ask("admin", "POST", "/api/admin/deliveries/dlv_1/retry", ``, 200)
	h.ask("foreign", "POST", "/api/admin/deliveries/dlv_1/retry", ``, 404)
	h.board.away = context.DeadlineExceeded // then the count is not known, and nothing is waited for
	again := h.ask("admin", "POST", hooks+"/"+hook+"/replay", `{"since":"2031-04-05T05:00:00","events":["surge.level_changed"]}`, 200)
	h.board.away = nil
	if again.Data.Count != nil {
		t.Errorf("count %s", again.raw)
	}
	h.board.progress[again.Data.CommandID] = outbound.Progress{ID: again.Data.CommandID, Hospital: "north", Verb: outbound.VerbReplay, Count: 7}
	h.board.progress[ping.Data.CommandID] = outbound.Progress{ID: ping.Data.CommandID, Hospital: "north", Verb: outbound.VerbTest, Done: true, Delivered: 1}
	h.ask("foreign", "GET", "/api/admin/commands/"+again.Data.CommandID, ``, 404)
	if got := h.ask("admin", "GET", "/api/admin/commands/"+again.Data.CommandID, ``, 200); got.Data.Verb != "replay" || *got.Data.Count != 7 {
		t.Errorf("progress %s", got.raw)
	}
	h.ask("admin", "DELETE", "/api/admin/commands/"+ping.Data.CommandID, ``, 422)
	h.ask("admin", "DELETE", "/api/admin/commands/"+again.Data.CommandID, ``, 200)

	if len(h.orders) != 5 || !strings.HasPrefix(ping.Data.CommandID, "cmd_") || ping.Data.DeliveryID != "dlv_of_"+ping.Data.CommandID {
		t.Fatalf("orders %+v, %s", h.orders, ping.raw)
	}
	for i, c := range h.orders {
		if c.Hospital != "north" || c.By != h.ids["admin"] || !c.At.Equal(h.now) {
			t.Errorf("order %d: %+v", i, c)
		}
	}
	if c := h.orders[0]; c.Verb != outbound.VerbTest || c.Endpoint != hook || c.Event != "" {
		t.Errorf("ping %+v", c)
	}
	if c := h.orders[1]; c.Event != outbound.RoomRescored {
		t.Errorf("sample %+v", c)
	}
	if c := h.orders[2]; c.Verb != outbound.VerbRetry || c.Delivery != "dlv_1" || c.EventID != "evt_1" || c.Endpoint != hook {
		t.Errorf("retry %+v", c)
	}
	if c := h.orders[3]; c.Verb != outbound.VerbReplay || !c.Since.Equal(time.Date(2031, 4, 5, 11, 0, 0, 0, time.UTC)) || !c.Until.Equal(h.now) || c.Only != outbound.SelectMissing {
		t.Errorf("replay %+v", c)
	}
	if c := h.orders[4]; c.Verb != outbound.VerbStop || c.Command != again.Data.CommandID {
		t.Errorf("stop %+v", c)
	}
}

// TestPartnersOwnDeliveries: the keys that an endpoint names, and their successors,
// see it, whatever their scopes; for all others it is not there.
func TestPartnersOwnDeliveries(t *testing.T) {
	h := open(t)
	hook := h.ask("admin", "POST", hooks, `{"url":"https://partner.example/svc","readerKeyIds":["`+h.ids["partner"]+`"]}`, 200).Data.ID
	answered := outbound.Attempt{N: 1, Class: outbound.ClassStatus, Status: 500, Response: "what the endpoint said"}
	h.board.deliveries = []outbound.Delivery{
		{ID: "dlv_1", Hospital: "north", EndpointID: hook, State: outbound.Pending, Attempts: []outbound.Attempt{answered}},
		{ID: "dlv_2", Hospital: "north", EndpointID: "whk_other"},
	}
	path := "/api/v1/webhooks/" + hook + "/deliveries"
	got := h.ask("partner", "GET", path+"?state=pending&limit=7", "", 200)
	if len(got.Data.Items) != 1 || got.Data.Items[0].ID != "dlv_1" || len(got.Data.Items[0].Attempts) != 1 || strings.Contains(got.raw, "endpoint said") || got.Data.Next != "more" {
		t.Errorf("own %s", got.raw)
	}
	if q := h.board.asked; q.Endpoint != hook || q.Hospital != "north" || q.State != outbound.Pending || q.Limit != 7 {
		t.Errorf("asked %+v", q)
	}
	for _, who := range []string{"admin", "other", "foreign"} {
		h.ask(who, "GET", path, "", 404)
	}
	h.tokens["nobody"] = "svc_0"
	h.ask("nobody", "GET", path, "", 401)
	named, _ := h.keys.Key(h.ids["partner"])
	next, token := access.Mint(access.Key{Hospital: "north", Source: named.Lineage()}, h.now)
	h.keys.SetKey(next)
	h.tokens["next"] = token
	h.ask("next", "GET", path, "", 200)
	if all := h.ask("admin", "GET", hooks+"/"+hook+"/deliveries", "", 200); *all.Data.Items[0].Attempts[0].Response != "what the endpoint said" {
		t.Errorf("administrators see %s", all.raw)
	}
	if all := h.ask("admin", "GET", "/api/admin/deliveries", "", 200); len(all.Data.Items) != 2 {
		t.Errorf("all: %s", all.raw)
	}
	h.ask("foreign", "GET", "/api/admin/deliveries/dlv_1", "", 404)
	h.board.away = context.DeadlineExceeded
	h.ask("admin", "GET", "/api/admin/deliveries", "", 503)
	if list := h.ask("admin", "GET", hooks, "", 200); !strings.Contains(list.raw, `"status":null`) {
		t.Errorf("with the view away: %s", list.raw)
	}
}

// TestForeignIsUnknown: what another hospital has is answered as what nobody has, for
// the same work.
func TestForeignIsUnknown(t *testing.T) {
	h := open(t)
	hook := h.ask("admin", "POST", hooks, `{"url":"https://partner.example/svc","readerKeyIds":["`+h.ids["partner"]+`"]}`, 200).Data.ID
	recipient := h.ask("admin", "POST", "/api/admin/alerts/recipients", `{"label":"House supervisor","phone":"+15555550100"}`, 200).Data.ID
	h.board.deliveries = []outbound.Delivery{{ID: "dlv_1", Hospital: "north", EndpointID: hook}}
	h.board.progress["cmd_1"] = outbound.Progress{ID: "cmd_1", Hospital: "north", Verb: outbound.VerbReplay}
	h.board.episodes = []outbound.Episode{{ID: "epi_1", Hospital: "north", OpenedAt: h.now}}
	for path, id := range map[string]string{
		"GET " + hooks + "/{id}": hook, "PATCH " + hooks + "/{id}": hook, "DELETE " + hooks + "/{id}": hook,
		"POST " + hooks + "/{id}/rotate": hook, "POST " + hooks + "/{id}/test": hook, "POST " + hooks + "/{id}/replay": hook,
		"GET " + hooks + "/{id}/deliveries": hook, "GET /api/v1/webhooks/{id}/deliveries": hook,
		"GET /api/admin/deliveries/{id}": "dlv_1", "POST /api/admin/deliveries/{id}/retry": "dlv_1",
		"GET /api/admin/commands/{id}": "cmd_1", "DELETE /api/admin/commands/{id}": "cmd_1",
		"PATCH /api/admin/alerts/recipients/{id}": recipient, "DELETE /api/admin/alerts/recipients/{id}": recipient,
		"POST /api/admin/alerts/episodes/{id}/ack": "epi_1",
	} {
		method, path, _ := strings.Cut(path, " ")
		body := `{}`
		if strings.HasSuffix(path, "/replay") {
			body = `{"since":"2031-04-05T11:00:00Z"}`
		}
		var said [2]string
		var looks [2]int
		for i, of := range []string{id, "none_of_anybody"} {
			h.board.looks = 0
			said[i] = h.ask("foreign", method, strings.ReplaceAll(path, "{id}", of), body, 404).raw
			looks[i] = h.board.looks
		}
		if said[0] != said[1] || looks[0] != looks[1] {
			t.Errorf("%s %s: of another hospital %d look-ups and %s, of nobody %d and %s", method, path, looks[0], said[0], looks[1], said[1])
		}
	}
}

func TestTiers(t *testing.T) {
	h := open(t)
	const tiers = "/api/admin/alerts/tiers"
	list := h.ask("admin", "GET", tiers, "", 200).Data.Tiers
	if len(list) != 3 || list[0].ExpireMinutes != 120 || list[0].AckMinutes != 0 || fmt.Sprint(list[1].Channels) != "[email sms]" || list[1].AckMinutes != 10 ||
		list[2].AckMinutes != 5 || list[2].RepeatMinutes != 60 || list[2].ExpireMinutes != 15 || list[2].Version != 0 {
		t.Errorf("defaults %+v", list)
	}
	who := h.ask("admin", "POST", "/api/admin/alerts/recipients", `{"label":"House supervisor","phone":"+15555550100"}`, 200).Data.ID
	set := h.ask("admin", "PUT", tiers+"/T2", `{"recipients":["`+who+`"],"channels":["sms"],"ackMinutes":0}`, 200, "If-Match", `"0"`)
	if d := set.Data; d.Version != 1 || fmt.Sprint(d.Channels) != "[sms]" || len(d.Warnings) != 0 {
		t.Errorf("set %s", set.raw)
	}
	h.ask("admin", "PUT", tiers+"/T2", `{}`, 412, "If-Match", `"0"`)
	if got := h.ask("admin", "DELETE", "/api/admin/alerts/recipients/"+who, "", 422); got.rules() != "T2 in_use" {
		t.Errorf("remove who is called: %s", got.raw)
	}
	again := h.ask("admin", "PUT", tiers+"/T2", `{}`, 200)
	if d := again.Data; d.Version != 2 || fmt.Sprint(d.Channels) != "[email sms]" || fmt.Sprint(d.Warnings) != "[{no_recipients recipients}]" {
		t.Errorf("back to the defaults: %s", again.raw)
	}
	h.ask("admin", "DELETE", "/api/admin/alerts/recipients/"+who, "", 200)
}

func TestRecipients(t *testing.T) {
	h := open(t)
	const path = "/api/admin/alerts/recipients"
	hook := h.ask("admin", "POST", hooks, `{"url":"https://partner.example/svc"}`, 200).Data.ID
	made := h.ask("admin", "POST", path, `{"label":" Charge nurse ","email":"canary.charge@canary-hospital.example","phone":"+15550199742"}`, 200)
	if d := made.Data; d.Label != "Charge nurse" || d.Email != "c***@c***.example" || d.Phone != "***42" || d.Version != 1 {
		t.Errorf("made %s", made.raw)
	}
	one := path + "/" + made.Data.ID
	changed := h.ask("admin", "PATCH", one, `{"phone":null,"webhookId":"`+hook+`"}`, 200, "If-Match", `"1"`)
	if d := changed.Data; d.Phone != "" || d.Email != "c***@c***.example" || d.Label != "Charge nurse" || d.Version != 2 {
		t.Errorf("changed %s", changed.raw)
	}
	if p, _ := h.register.Recipient("north", made.Data.ID); p.Email != "canary.charge@canary-hospital.example" || p.Phone != "" {
		t.Error("the address was lost by a change")
	}
	if got := h.ask("admin", "DELETE", hooks+"/"+hook, "", 422); got.rules() != "recipients in_use" {
		t.Errorf("remove a webhook that somebody is called by: %s", got.raw)
	}
	if got := h.ask("admin", "PATCH", one, `{"email":null,"webhookId":null}`, 422); got.rules() != "email one_of:email|phone|webhookId" {
		t.Errorf("out of reach: %s", got.raw)
	}
	if got := h.ask("admin", "POST", "/api/admin/alerts/test", `{"recipientId":"`+made.Data.ID+`","channel":"sms"}`, 422); got.rules() != "channel no_address" {
		t.Errorf("test without a number: %s", got.raw)
	}
	h.ask("admin", "POST", "/api/admin/alerts/test", `{"recipientId":"`+made.Data.ID+`","channel":"email"}`, 200)
	h.ask("foreign", "POST", "/api/admin/alerts/test", `{"recipientId":"`+made.Data.ID+`","channel":"email"}`, 404)
	if c := h.orders[0]; c.Endpoint != made.Data.ID || c.Channel != outbound.ChannelMail || c.Verb != outbound.VerbTest {
		t.Errorf("order %+v", c)
	}
	h.ask("admin", "DELETE", one, "", 200)
}

func TestEpisodes(t *testing.T) {
	h := open(t)
	const path = "/api/admin/alerts/episodes"
	h.board.episodes = []outbound.Episode{
		{ID: "epi_1", Hospital: "north", Tier: "T1", OpenedAt: h.now.Add(-2 * time.Hour), ClosedAt: h.now.Add(-time.Hour)},
		{ID: "epi_2", Hospital: "north", Tier: "T3", OpenedAt: h.now},
		{ID: "epi_3", Hospital: "south", Tier: "T2", OpenedAt: h.now},
	}
	list := h.ask("admin", "GET", path, "", 200).Data.Items
	if len(list) != 2 || list[0].ID != "epi_2" || list[0].Tier != "T3" {
		t.Errorf("list %+v", list)
	}
	h.ask("admin", "POST", path+"/epi_1/ack", `{}`, 422)
	h.ask("admin", "POST", path+"/epi_3/ack", `{}`, 404)
	h.ask("admin", "POST", path+"/epi_2/ack", ``, 200)
	h.ask("admin", "POST", path+"/epi_2/ack", `{"by":"House supervisor"}`, 200)
	if len(h.orders) != 2 || h.orders[0].By != h.ids["admin"] || h.orders[1].By != "House supervisor" || h.orders[1].Episode != "epi_2" || h.orders[1].Verb != outbound.VerbAck {
		t.Errorf("orders %+v", h.orders)
	}
}

// TestNothingWithoutARecord: what cannot be put on record is not done, what cannot
// be stored is told, and neither tells a secret.
func TestNothingWithoutARecord(t *testing.T) {
	h := open(t)
	hook := h.ask("admin", "POST", hooks, `{"url":"https://partner.example/svc"}`, 200).Data.ID
	const body = `{"url":"https://canary.example","secret":"canary canary canary canary"}`
	h.auditing = context.DeadlineExceeded
	h.ask("admin", "POST", hooks, body, 503)
	h.ask("admin", "POST", hooks+"/"+hook+"/test", ``, 503)
	h.ask("admin", "DELETE", hooks+"/"+hook, ``, 503)
	h.auditing, h.storing = nil, context.DeadlineExceeded
	h.ask("admin", "POST", hooks, body, 503)
	h.storing = fmt.Errorf("write: %w", access.ErrOvertaken)
	if got := h.ask("admin", "POST", hooks, body, 503); got.header.Get("Retry-After") == "" || !strings.Contains(got.raw, "Nothing was done") {
		t.Error(got.raw)
	}
	h.storing = fmt.Errorf("seal: %w", subscribers.ErrNoKey)
	if got := h.ask("admin", "POST", hooks, body, 422); got.rules() != " secrets_key" {
		t.Error(got.raw)
	}
	if all := h.register.Webhooks("north"); len(all) != 1 || len(h.orders) != 0 {
		t.Errorf("%d webhooks, orders %+v", len(all), h.orders)
	}
	if strings.Contains(h.log.String(), "canary") {
		t.Errorf("the log tells: %s", &h.log)
	}
}

// TestCanaries walks through everything that has a secret, a number or an address,
// and looks for them where they must not be: in any answer but the two that show a
// fresh secret, in the audit, in the log.
func TestCanaries(t *testing.T) {
	h := open(t)
	const own, email, phone = "canary-secret-of-the-partner-0", "canary.person@canary.example", "+15550177331"
	canaries := []string{own, email, phone, "0177331", "canary.person"}
	var heard strings.Builder
	ask := func(method, path, body string) said {
		t.Helper()
		got := h.ask("admin", method, path, body, 200)
		heard.WriteString(got.raw)
		return got
	}
	hook := h.ask("admin", "POST", hooks, `{"url":"https://partner.example/svc","secret":"`+own+`"}`, 200)
	if hook.Data.Secret != own {
		t.Error("not shown to who made it")
	}
	made := h.ask("admin", "POST", hooks+"/"+hook.Data.ID+"/rotate", `{}`, 200).Data.Secret
	canaries = append(canaries, made)
	p := ask("POST", "/api/admin/alerts/recipients", `{"label":"Charge nurse","email":"`+email+`","phone":"`+phone+`"}`).Data.ID
	ask("PUT", "/api/admin/alerts/tiers/T3", `{"recipients":["`+p+`"]}`)
	ask("PATCH", "/api/admin/alerts/recipients/"+p, `{"label":"Supervisor"}`)
	ask("PATCH", hooks+"/"+hook.Data.ID, `{"enabled":false}`)
	ask("POST", "/api/admin/alerts/test", `{"recipientId":"`+p+`","channel":"sms"}`)
	for _, path := range []string{hooks, hooks + "/" + hook.Data.ID, "/api/admin/alerts/recipients", "/api/admin/alerts/tiers"} {
		ask("GET", path, "")
	}
	ask("PUT", "/api/admin/alerts/tiers/T3", `{}`)
	ask("DELETE", "/api/admin/alerts/recipients/"+p, "")
	ask("DELETE", hooks+"/"+hook.Data.ID, "")
	for _, canary := range canaries {
		for where, text := range map[string]string{"an answer": heard.String(), "the log": h.log.String(), "the audit": fmt.Sprintf("%+v", h.acts), "an order": fmt.Sprintf("%+v", h.orders)} {
			if strings.Contains(text, canary) {
				t.Errorf("%q is in %s", canary, where)
			}
		}
	}
	if len(h.acts) < 10 || slices.ContainsFunc(h.acts, func(a audit.Act) bool { return a.Subject == "" }) {
		t.Errorf("acts %+v", h.acts)
	}
}
