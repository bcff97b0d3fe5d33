package ingest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"svc/acuity"
	"svc/ingest"
	"svc/internal/httpapi"
	"svc/internal/httpapi/access"
	"svc/internal/httpapi/contract"
	"svc/internal/httpapi/problem"
)

var now = time.Date(2026, 3, 4, 15, 30, 0, 0, time.UTC)

// fixture is a service whose log records the appended observations. The test defines the outcome of
// each observation.
type fixture struct {
	http.Handler
	logged      bytes.Buffer // what slog logged
	config      ingest.Config
	key, narrow access.Key // keys of the tokens in the variables token and narrow

	mu      sync.Mutex
	stored  []*acuity.Observation
	fail    error // error that Append returns
	pending bool
	retried int // number of dead letters recorded as retried
	change  func(*acuity.Observation) acuity.Change
	viewed  []ingest.Position
}

func (d *fixture) Append(_ context.Context, o *acuity.Observation) (ingest.Position, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fail != nil {
		return ingest.Position{}, d.fail
	}
	d.stored = append(d.stored, o)
	return ingest.Position{Partition: 2, Offset: int64(len(d.stored) - 1)}, nil
}

type appliedPort struct{ *fixture }

func (d appliedPort) Wait(_ context.Context, hospital string, p ingest.Position) (acuity.Change, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.pending {
		return acuity.Change{}, ingest.ErrPending
	}
	o := d.stored[p.Offset]
	if o.Hospital != hospital || p.Partition != 2 {
		panic("another hospital or partition")
	}
	return d.change(o), nil
}

type viewPort struct{ *fixture }

func (d viewPort) Wait(_ context.Context, _ string, p ingest.Position) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.viewed = append(d.viewed, p)
	return true
}

// applyAll is a processor that applies every observation.
func applyAll(o *acuity.Observation) acuity.Change {
	c := acuity.Change{Hospital: o.Hospital, Outcome: acuity.Applied, Level: acuity.LevelYellow}
	for i := range o.Events {
		e := &o.Events[i]
		c.Items = append(c.Items, acuity.ItemResult{HasRoom: e.Place.HasRoomID, RoomID: e.Place.RoomID})
	}
	return c
}

var token, narrow string // token has all scopes; narrow may only read the status

func open(tb testing.TB) *fixture {
	tb.Helper()
	d := &fixture{change: applyAll}
	clock := func() time.Time { return now }
	register := access.NewRegister(clock)
	var key, other access.Key
	key, token = access.Mint(access.Key{Hospital: "stmary", Scopes: access.Scopes()}, now)
	other, narrow = access.Mint(access.Key{Hospital: "stmary", Scopes: []access.Scope{access.ReadStatus}}, now)
	register.SetKey(key)
	register.SetKey(other)
	register.SetHospital(access.Hospital{ID: "stmary", Zone: "America/Chicago"})
	d.key, d.narrow = key, other
	d.config = ingest.Config{
		Shell: &httpapi.Shell{Now: clock, Lookup: register.Lookup, DocsURL: "https://docs.invalid", Log: slog.New(slog.NewJSONHandler(&d.logged, nil))},
		Log:   d, Applied: appliedPort{d}, View: viewPort{d},
		Zone: register.Zone, Pseudonyms: ingest.NewPseudonyms([]byte("0123456789abcdef0123456789abcdef")),
	}
	d.Handler = mounted(d.config)
	return d
}

// mounted returns a router with the paths of package ingest, mounted as in a running process.
func mounted(c ingest.Config) http.Handler {
	r := c.Shell.Router()
	ingest.Mount(r, c)
	return r
}

// answer contains the parts of a response that tests read.
type answer struct {
	status int
	header http.Header
	raw    string
	OK     bool
	Data   struct {
		Applied                                   bool
		Outcome, Position, Level                  *string
		Activated, Expired                        []json.RawMessage
		Unmapped                                  []struct{ System, Code, Display string }
		Warnings                                  []struct{ Code, Path string }
		RoomID                                    *int32
		RoomLabel                                 *string
		Received, Rooms, Occupied, Empty, Blocked int
		Active                                    []string
		Nurses, NursesOnDuty                      int
		CallStaffAvailable                        *bool
		SkillMix                                  map[string]int
		Tenure                                    map[string]*float64
		AsOf, EventType, Visit, Ack, AckCode      string
		ControlID                                 *string
		Counts                                    map[string]int
		Results                                   []struct {
			Index  int
			Status string
			Error  *struct {
				Code    string
				Details []httpapi.Detail
			}
		}
		Acks []struct {
			AckCode, ControlID, EventType string
			Outcome                       *string
		}
	}
	Error struct {
		Code, Message, Docs, Ack, AckCode, ControlID string
		Details                                      []httpapi.Detail
	}
	Meta struct{ RequestID, HospitalID string }
}

func (a *answer) details() string { return details(a.Error.Details) }

func details(all []httpapi.Detail) string {
	var lines []string
	for _, d := range all {
		lines = append(lines, strings.TrimSpace(d.Path+" "+d.Rule))
	}
	return strings.Join(lines, ", ")
}

func (a *answer) warnings() string {
	var lines []string
	for _, w := range a.Data.Warnings {
		lines = append(lines, w.Code+"@"+w.Path)
	}
	return strings.Join(lines, ", ")
}

func request(path string, body io.Reader, header ...string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/api/ingest/"+path, body)
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		r.Header.Del(header[i])
		if header[i+1] != "" {
			r.Header.Set(header[i], header[i+1])
		}
	}
	return r
}

func (d *fixture) post(t *testing.T, path, body string, header ...string) *answer {
	t.Helper()
	return d.do(t, request(path, strings.NewReader(body), header...))
}

func (d *fixture) do(t *testing.T, r *http.Request) *answer {
	t.Helper()
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)
	a := &answer{status: w.Code, header: w.Header(), raw: w.Body.String()}
	if strings.HasPrefix(a.header.Get("Content-Type"), "application/json") {
		if err := json.Unmarshal([]byte(a.raw), a); err != nil {
			t.Errorf("answer: %v in %s", err, a.raw)
		}
		if !strings.Contains(a.raw, `"protocol":"svc.v1"`) || a.OK != (a.status == http.StatusOK) {
			t.Errorf("not in an envelope: %d %s", a.status, a.raw)
		}
	}
	if !documented(r, a.status) {
		t.Errorf("%s %s: the status %d is not documented", r.Method, r.URL.Path, a.status)
	}
	return a
}

// documented reports whether the document lists a status as a response to a request. It lists no response to a request
// for an unknown path, nor to a method that a path does not support.
func documented(r *http.Request, status int) bool {
	is := func(kind problem.Kind) bool { return kind.Status() == status }
	return status == http.StatusOK || !slices.ContainsFunc(ingest.Operations(), func(o contract.Operation) bool {
		return o.Method == r.Method && o.Path == r.URL.Path && !slices.ContainsFunc(o.Refusals(), is)
	})
}

// wantRefused checks that a request was refused with exactly the given details and that no part of it was appended.
func (d *fixture) wantRefused(t *testing.T, a *answer, status int, code, want string) {
	t.Helper()
	if a.status != status || a.Error.Code != code || a.details() != want {
		t.Errorf("got %d %s %q\nwant %d %s %q", a.status, a.Error.Code, a.details(), status, code, want)
	}
	if len(d.stored) > 0 {
		t.Errorf("kept %+v", d.stored[0])
	}
	if a.Error.Message == "" || a.Error.Docs != "https://docs.invalid" {
		t.Errorf("error without message or docs: %s", a.raw)
	}
}

// wantApplied checks that a request was applied, and returns the observation.
func (d *fixture) wantApplied(t *testing.T, a *answer) *acuity.Observation {
	t.Helper()
	if a.status != http.StatusOK || len(d.stored) != 1 {
		t.Fatalf("got %d %s, %d kept", a.status, a.raw, len(d.stored))
	}
	o := d.stored[0]
	if o.Hospital != "stmary" || o.Source == "" || o.ReceivedAt != acuity.At(now) {
		t.Errorf("observation of %q from %q at %v", o.Hospital, o.Source, o.ReceivedAt.Time())
	}
	return o
}
