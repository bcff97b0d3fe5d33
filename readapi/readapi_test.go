package readapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/codes"
	"svc/acuity/forecast"
	"svc/internal/httpapi"
	"svc/internal/httpapi/access"
	"svc/readapi"
)

var update = flag.Bool("update", false, "write the golden files")

const minutes = time.Minute

var noon = acuity.At(time.Date(2031, 4, 5, 12, 0, 0, 0, time.UTC))

// fixture is the read API with charts in memory and a simulated clock.
type fixture struct {
	reads *readapi.Reads
	http.Handler
	health  *fakeHealth
	now     acuity.Instant
	chart   *acuity.Chart
	token   readapi.Token
	err     error
	behind  error         // error from currentCharts, or nil; outdated charts can still be read
	partial bool          // whether Read returns only the difference from the reader's state
	last    readapi.State // the last returned state, in full
	given   atomic.Int32  // number of returned states
	decoded atomic.Int32  // number of decoded rooms
	reading func()        // called when a state is read, if set
	learned fakeForecasts

	settings fakeSettings
	recorded recorded
}

// currentCharts are a fixture's charts, which can be read only while they are current.
type currentCharts struct{ *fixture }

func (c currentCharts) Token(ctx context.Context, hospital string) (readapi.Token, error) {
	if c.behind != nil {
		return readapi.Token{}, c.behind
	}
	return c.fixture.Token(ctx, hospital)
}

func (c currentCharts) Read(ctx context.Context, hospital string, since readapi.Token) (readapi.State, error) {
	if c.behind != nil {
		return readapi.State{}, c.behind
	}
	return c.fixture.Read(ctx, hospital, since)
}

func (h *fixture) Token(_ context.Context, hospital string) (readapi.Token, error) {
	return h.token, h.fault(hospital)
}

func (h *fixture) fault(hospital string) error {
	switch {
	case h.err != nil:
		return fmt.Errorf("read: %w", h.err)
	case hospital != "north" || h.chart == nil:
		return readapi.ErrNoUnit
	}
	return nil
}

func (h *fixture) Read(_ context.Context, hospital string, since readapi.Token) (readapi.State, error) {
	h.given.Add(1)
	if err := h.fault(hospital); err != nil {
		return readapi.State{}, err
	}
	s := readapi.State{Token: h.token}
	unit, err := json.Marshal(&h.chart.Unit)
	s.Unit = string(unit)
	for i := range h.chart.Rooms {
		room, fault := json.Marshal(&h.chart.Rooms[i])
		err = errors.Join(err, fault)
		s.Rooms = append(s.Rooms, readapi.Room{ID: h.chart.Rooms[i].ID, Chart: string(room)})
	}
	if h.reading != nil {
		h.reading()
	}
	last := h.last
	h.last = s
	if h.partial && since == last.Token {
		return changedSince(s, last), err
	}
	return s, err
}

// changedSince returns a state as the difference from an earlier one.
func changedSince(s, last readapi.State) readapi.State {
	s.Partial = true
	for _, room := range last.Rooms {
		if !slices.ContainsFunc(s.Rooms, func(r readapi.Room) bool { return r.ID == room.ID }) {
			s.Gone = append(s.Gone, room.ID)
		}
	}
	s.Rooms = slices.DeleteFunc(slices.Clone(s.Rooms), func(r readapi.Room) bool { return slices.Contains(last.Rooms, r) })
	return s
}

func (h *fixture) DecodeUnit(encoded string, u *acuity.UnitChart) error {
	return json.Unmarshal([]byte(encoded), u)
}

func (h *fixture) DecodeRoom(encoded string, r *acuity.RoomChart) error {
	h.decoded.Add(1)
	return json.Unmarshal([]byte(encoded), r)
}

func newFixture(chart *acuity.Chart) *fixture {
	h := &fixture{health: &fakeHealth{}, now: noon, chart: chart, learned: fakeForecasts{model: forecast.NewModel("north")}, token: readapi.Token{Generation: "g", Version: 1}}
	register := access.NewRegister(func() time.Time { return h.now.Time() })
	for token, key := range map[string]access.Key{
		"svc_north":  {ID: "key_1", Hospital: "north", Scopes: []access.Scope{access.Admin, access.ReadPredict, access.ReadUnitState}},
		"svc_south":  {ID: "key_2", Hospital: "south", Scopes: []access.Scope{access.ReadUnitState}},
		"svc_narrow": {ID: "key_3", Hospital: "north", Scopes: []access.Scope{access.ReadStatus}},
	} {
		key.Hash = access.Hash(token)
		register.SetKey(key)
	}
	shell := &httpapi.Shell{
		Now: func() time.Time { return h.now.Time() }, Lookup: register.Lookup,
		DocsURL: "https://docs.example", Log: slog.New(slog.DiscardHandler),
	}
	router := shell.Router()
	h.reads = readapi.Mount(router, readapi.Config{Charts: currentCharts{h}, Dated: h, Health: h.health, LocalSettings: &h.settings, Forecasts: &h.learned, Hours: h.recorded.read, Shell: shell})
	h.Handler = router
	return h
}

func (h *fixture) get(t testing.TB, path string, headers ...string) *http.Response {
	t.Helper()
	return h.do(t, http.MethodGet, path, append([]string{"Authorization", "Bearer svc_north"}, headers...)...)
}

func (h *fixture) do(t testing.TB, method, path string, headers ...string) *http.Response {
	t.Helper()
	r := httptest.NewRequest(method, path, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

// data returns the data in a 200 response.
func data(t interface {
	Helper()
	Fatalf(string, ...any)
}, r *http.Response,
) string {
	t.Helper()
	var body struct {
		Data json.RawMessage
		Meta struct{ HospitalID string }
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil || r.StatusCode != http.StatusOK || body.Meta.HospitalID != "north" {
		t.Fatalf("status %d, hospital %q, %v", r.StatusCode, body.Meta.HospitalID, err)
	}
	return string(body.Data)
}

func code(t *testing.T, r *http.Response) string {
	t.Helper()
	var body struct{ Error struct{ Code string } }
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		t.Fatal(err)
	}
	return body.Error.Code
}

func evidence(t interface{ Fatalf(string, ...any) }, id string, kind acuity.EvidenceKind, start acuity.Instant, source acuity.Source) acuity.Evidence {
	f, ok := catalogue.FactorByID(id)
	if !ok {
		t.Fatalf("no factor %s", id)
	}
	return acuity.Evidence{Factor: f, Kind: kind, Start: start, Last: start, Source: source}
}

// worked returns the example unit of docs/scoring.md: eight nurses for a demand of 8.5.
func worked(t testing.TB) *acuity.Chart {
	c := &acuity.Chart{Hospital: "north", Unit: acuity.UnitChart{
		Version: 17, Since: noon.Add(-3 * minutes), Clock: noon,
		Run:       acuity.LevelRun{Since: noon.Add(-50 * minutes), Prior: acuity.LevelGreen, HasPrior: true},
		HasCensus: true, CensusAt: noon.Add(-10 * minutes), TotalRooms: 20,
		Staffing: []acuity.Staffing{{AsOf: noon.Add(-60 * minutes), Nurses: 8, Call: acuity.Yes}},
		Unplaced: 1,
		Roster: &acuity.Roster{AsOf: noon.Add(-4 * 60 * minutes), Nurses: []acuity.RosterNurse{
			{ExternalID: "nurse-a", JobCode: "RN", Skill: 2, HiredDays: 22375 - 4000, Rooms: []int32{3, 1}},
			{ExternalID: "nurse-b", Skill: 1, HiredDays: 22375 - 400, Rooms: []int32{3, 99, 3}},
			{ExternalID: "nurse-c", Skill: 0, HiredDays: 22375 - 100},
			{ExternalID: "nurse-d", Skill: -1},
		}},
	}}
	adt := acuity.Source{Feed: acuity.ChannelADT}
	add := func(label string, list ...acuity.Evidence) {
		c.Rooms = append(c.Rooms, acuity.RoomChart{
			ID: int32(len(c.Rooms) + 1), Label: label, Area: "L&D", Status: acuity.RoomOccupied, Listed: true,
			Patients: []acuity.PatientChart{{Visit: "canary-visit", Mother: true, Arrived: noon.Add(-180 * minutes), Evidence: list}},
		})
	}
	for i := range 5 {
		add(fmt.Sprintf("LDR %d", i+1), evidence(t, "labor-standard", acuity.ByADT, noon.Add(-90*minutes), adt))
	}
	add("Triage 1", evidence(t, "triage-initial", acuity.ByADT, noon.Add(-5*minutes), adt))
	add("AP 1", evidence(t, "high-mag", acuity.BySignal, noon.Add(-61*minutes),
		acuity.Source{Feed: acuity.ChannelClinical, System: codes.RxNorm, Code: "6585"}))
	c.Rooms[6].Patients[0].Evidence = append(c.Rooms[6].Patients[0].Evidence, evidence(t, "ap-stable", acuity.ByCensus, noon.Add(-300*minutes), acuity.Source{Feed: acuity.ChannelCensus}))
	for i := range 6 {
		add(fmt.Sprintf("PP %d", i+1), evidence(t, "pp-couplet", acuity.ByADT, noon.Add(-200*minutes), adt))
	}
	c.Rooms = append(c.Rooms, acuity.RoomChart{ID: 40, Label: "OR 1", Status: acuity.RoomBlocked, Listed: true})
	return c
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	var pretty bytes.Buffer
	got = strings.Replace(got, catalogue.Default().Version(), "the version of the rules", 1) // a change to any rule changes the version
	if err := json.Indent(&pretty, []byte(got), "", "  "); err != nil {
		t.Fatal(err)
	}
	pretty.WriteByte('\n')
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, pretty.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if pretty.String() != string(want) {
		t.Errorf("%s differs:\n%s", file, pretty.String())
	}
}

func TestGolden(t *testing.T) {
	h := newFixture(worked(t))
	golden(t, "unit-state.json", data(t, h.get(t, "/api/v1/unit-state")))
	golden(t, "level.json", data(t, h.get(t, "/api/v1/level")))
	golden(t, "unit-state-empty.json", data(t, newFixture(&acuity.Chart{Hospital: "north", Unit: acuity.UnitChart{Version: 1, Since: noon, Clock: noon}}).get(t, "/api/v1/unit-state")))
}

func TestNoPseudonymLeaves(t *testing.T) {
	if strings.Contains(data(t, newFixture(worked(t)).get(t, "/api/v1/unit-state")), "canary") {
		t.Error("the pseudonym of a visit is in the answer")
	}
}

func TestErrors(t *testing.T) {
	for name, c := range map[string]struct {
		method, path, token string
		err                 error
		status              int
		code                string
	}{
		"no key":           {"GET", "/api/v1/level", "", nil, 401, "unauthorized"},
		"no scope":         {"GET", "/api/v1/level", "svc_narrow", nil, 403, "forbidden_scope"},
		"no state":         {"GET", "/api/v1/unit-state", "svc_south", nil, 404, "not_found"},
		"no state, level":  {"GET", "/api/v1/level", "svc_south", nil, 404, "not_found"},
		"away":             {"GET", "/api/v1/unit-state", "svc_north", readapi.ErrAway, 503, "internal"},
		"broken":           {"GET", "/api/v1/level", "svc_north", errors.New("broken"), 500, "internal"},
		"unknown path":     {"GET", "/api/v1/nothing", "svc_north", nil, 404, "not_found"},
		"unknown, no key":  {"GET", "/nothing", "", nil, 404, "not_found"},
		"method":           {"POST", "/api/v1/level", "svc_north", nil, 405, "invalid_request"},
		"method, no key":   {"DELETE", "/api/v1/unit-state", "", nil, 405, "invalid_request"},
		"away, not no key": {"GET", "/api/v1/level", "svc_unknown", readapi.ErrAway, 401, "unauthorized"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newFixture(worked(t))
			h.err = c.err
			r := h.do(t, c.method, c.path, "Authorization", "Bearer "+c.token)
			if got := code(t, r); r.StatusCode != c.status || got != c.code {
				t.Errorf("%d %s, want %d %s", r.StatusCode, got, c.status, c.code)
			}
			if (r.Header.Get("Retry-After") != "") != (c.status == 503) {
				t.Errorf("Retry-After %q with %d", r.Header.Get("Retry-After"), c.status)
			}
			if c.status == 405 && r.Header.Get("Allow") != "GET, HEAD, OPTIONS" {
				t.Errorf("Allow %q", r.Header.Get("Allow"))
			}
			if r.Header.Get("Etag") != "" {
				t.Error("an error has an entity tag")
			}
		})
	}
}

// TestWithheldVerdicts: a reader gets an error with the reason, never a verdict that may be wrong. The same applies
// to conditional requests.
func TestWithheldVerdicts(t *testing.T) {
	for rule, fault := range map[string]error{
		"processing_behind": readapi.ErrBehind, "view_incomplete": readapi.ErrIncomplete, "view_away": readapi.ErrAway,
	} {
		for _, path := range []string{"/api/v1/level", "/api/v1/unit-state", "/api/v1/predict"} {
			t.Run(rule+path, func(t *testing.T) {
				h := newFixture(worked(t))
				h.chart.Unit.ObservedAt, h.learned.model = noon, observedFor(40)
				well := h.get(t, path)
				if well.StatusCode != http.StatusOK {
					t.Fatalf("%d before the fault", well.StatusCode)
				}
				h.err = fmt.Errorf("partition 3: %w", fault)
				for _, headers := range [][]string{nil, {"If-None-Match", well.Header.Get("Etag")}} {
					r := h.get(t, path, headers...)
					var body struct {
						Error struct {
							Code, Message string
							Details       []struct{ Path, Rule string }
						}
					}
					if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
						t.Fatal(err)
					}
					e := &body.Error
					if r.StatusCode != http.StatusServiceUnavailable || r.Header.Get("Retry-After") != "2" || e.Code != "internal" || len(e.Details) != 1 || e.Details[0].Path != "data" || e.Details[0].Rule != rule {
						t.Errorf("%d, Retry-After %q: %+v", r.StatusCode, r.Header.Get("Retry-After"), e)
					}
					if strings.Contains(e.Message, "partition") {
						t.Errorf("a partner is told %q", e.Message)
					}
				}
				h.err = nil
				if r := h.get(t, path); r.StatusCode != http.StatusOK {
					t.Errorf("%d after the fault", r.StatusCode)
				}
			})
		}
	}
}

func TestEntityTags(t *testing.T) {
	h := newFixture(worked(t))
	first := h.get(t, "/api/v1/unit-state")
	tag := first.Header.Get("Etag")
	if !strings.HasPrefix(tag, `W/"`) || first.Header.Get("Cache-Control") != "private, no-cache" {
		t.Errorf("headers %v", first.Header)
	}
	h.now = h.now.Add(minutes) // a later request for the same state
	for name, c := range map[string]struct {
		header string
		status int
	}{
		"the tag":        {tag, 304},
		"as strong":      {strings.TrimPrefix(tag, "W/"), 304},
		"in a list":      {`"other", ` + tag, 304},
		"any":            {"*", 304},
		"another":        {`W/"other"`, 200},
		"level's":        {h.get(t, "/api/v1/level").Header.Get("Etag"), 200},
		"without quotes": {strings.Trim(strings.TrimPrefix(tag, "W/"), `"`), 200},
	} {
		r := h.get(t, "/api/v1/unit-state", "If-None-Match", c.header)
		if r.StatusCode != c.status || r.Header.Get("Etag") != tag {
			t.Errorf("%s: %d with tag %s", name, r.StatusCode, r.Header.Get("Etag"))
		}
		if c.status == 304 && r.ContentLength > 0 {
			t.Errorf("%s: 304 with a body", name)
		}
	}
	h.now = noon.Add(16 * minutes) // the demand for triage-initial decreases at 12:15, 20 min after it began
	if r := h.get(t, "/api/v1/unit-state", "If-None-Match", tag); r.StatusCode != 200 {
		t.Errorf("after a change by time: %d", r.StatusCode)
	}
	if r := h.do(t, http.MethodHead, "/api/v1/level", "Authorization", "Bearer svc_north"); r.StatusCode != 200 || r.Header.Get("Etag") == "" || r.Header.Get("Content-Length") == "" {
		t.Errorf("HEAD: %d %v", r.StatusCode, r.Header)
	}
}

func TestAsOf(t *testing.T) {
	h := newFixture(worked(t))
	for name, c := range map[string]struct {
		at   acuity.Instant
		want string
	}{
		"as written":           {noon, "2031-04-05T11:57:00.000Z"},
		"our clock is behind":  {noon.Add(-minutes), "2031-04-05T11:57:00.000Z"},
		"just before the step": {noon.Add(15*minutes) - 1, "2031-04-05T11:57:00.000Z"},
		"at the step":          {noon.Add(15 * minutes), "2031-04-05T12:15:00.000Z"},
		"after the step":       {noon.Add(40 * minutes), "2031-04-05T12:15:00.000Z"},
		"after several": { // the roster becomes stale at 20:00
			noon.Add(8 * 60 * minutes), "2031-04-05T20:00:00.000Z",
		},
	} {
		h.now = c.at
		var got struct{ AsOf string }
		if err := json.Unmarshal([]byte(data(t, h.get(t, "/api/v1/unit-state"))), &got); err != nil || got.AsOf != c.want {
			t.Errorf("%s: %s, want %s (%v)", name, got.AsOf, c.want, err)
		}
	}
	if h.given.Load() != 1 {
		t.Errorf("the chart was asked for %d times", h.given.Load())
	}
}

func ask(h http.Handler, path string, headers []string) *http.Response {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.Header.Set(headers[0], headers[1])
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}
