package web_test

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/score"
	"svc/internal/admin/layout"
	"svc/internal/admin/users"
	"svc/internal/outbound"
	"svc/readapi"
	"svc/readapi/web"
	"svc/readapi/web/page"
	"svc/readapi/web/signin"
)

// half is 14:32 at the ward, which is in Chicago.
var (
	chicago = zone("America/Chicago")
	half    = time.Date(2031, 4, 5, 14, 32, 0, 0, chicago)
)

func zone(name string) *time.Location {
	z, err := time.LoadLocation(name)
	if err != nil {
		panic(err)
	}
	return z
}

func ago(d time.Duration) acuity.Instant { return acuity.At(half.Add(-d)) }

// ward serves the pages of hospitals that exist only in memory, to a signed-in user.
type ward struct {
	http.Handler
	t       testing.TB
	mu      sync.Mutex
	now     time.Time
	charts  map[string]*acuity.Chart
	forms   func(u *readapi.Unit) // changes the unit data; nil: no change
	err     error
	layouts map[string]*layout.Layout
	record  recorded
	trends  trends // replaces the recorded trends; nil: not replaced
	users   *users.Register
	role    users.Role
	watch   map[chan string][]string
	cookie  string
	read    int
	goes    func() time.Duration // time since the clock was started; nil: the clock is stopped
}

func newWard(t testing.TB, chart *acuity.Chart) *ward {
	w := &ward{
		t: t, now: half, charts: map[string]*acuity.Chart{"north": chart}, layouts: map[string]*layout.Layout{},
		users: users.NewRegister(), role: users.Charge, watch: map[chan string][]string{},
	}
	w.users.SetUser(users.User{ID: "usr_1", Hospital: "north", Role: users.Charge})
	w.mount()
	return w
}

// mount creates the pages and signs the user in.
func (w *ward) mount() {
	r := chi.NewRouter()
	acts := &web.API{Alerts: func(context.Context, string) ([]outbound.AlertRun, error) { return nil, nil }}
	web.Mount(r, web.Config{
		Config: page.Config{Hospitals: w, Users: w.users, Seals: plain{}, Now: w.clock, Log: slog.New(slog.DiscardHandler)},
		Reads:  w, Changes: w, Layouts: w, Links: w, Acts: acts,
	})
	w.Handler = r
	answer := w.do(http.MethodPost, signin.LinkPath+"link", nil)
	for _, c := range answer.Cookies() {
		w.cookie = c.Name + "=" + c.Value
	}
	if w.cookie == "" {
		w.t.Fatal("no user is signed in")
	}
}

func (w *ward) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.at()
}

// at returns the current time in the ward. The caller must hold the lock.
func (w *ward) at() time.Time {
	if w.goes != nil {
		return w.now.Add(w.goes())
	}
	return w.now
}

// Unit implements [web.Reads].
func (w *ward) Unit(_ context.Context, hospital string) (*readapi.Unit, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.read++
	chart := w.charts[hospital]
	switch {
	case w.err != nil:
		return nil, w.err
	case chart == nil:
		return nil, readapi.ErrNoUnit
	}
	v := score.Judge(chart, acuity.At(w.at()))
	u := &readapi.Unit{Version: "g." + time.Duration(v.Version).String(), Verdict: &v, At: w.at()}
	if w.forms != nil {
		w.forms(u)
	}
	return u, nil
}

// Room implements [web.Reads].
func (w *ward) Room(_ context.Context, hospital string, id int32, within time.Duration) (*readapi.RoomAhead, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return nil, w.err
	}
	for i := range w.charts[hospital].Rooms {
		room := &w.charts[hospital].Rooms[i]
		if room.ID != id {
			continue
		}
		rules := catalogue.Default()
		ahead := &readapi.RoomAhead{}
		for at, end := acuity.At(w.now), acuity.At(w.now.Add(within)); at != 0 && at <= end; {
			v := score.JudgeRoom(rules, room, at)
			if ahead.Shares == nil {
				ahead.Shares = score.ShareSeverity(rules, &v)
			}
			ahead.Steps = append(ahead.Steps, readapi.RoomStep{From: at, Verdict: v})
			if v.Until() <= at {
				break
			}
			at = v.Until()
		}
		return ahead, nil
	}
	return nil, nil
}

// Trends implements [web.Reads].
func (w *ward) Trends(ctx context.Context, hospital string, since, until time.Time) (*readapi.Trends, error) {
	if w.trends != nil {
		return w.trends.Trends(ctx, hospital, since, until)
	}
	return w.record.Trends(ctx, hospital, since, until)
}

type trends interface {
	Trends(ctx context.Context, hospital string, since, until time.Time) (*readapi.Trends, error)
}

// Watch implements [web.Changes].
func (w *ward) Watch(ctx context.Context, hospitals ...string) <-chan string {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := make(chan string, 64)
	w.watch[c] = hospitals
	context.AfterFunc(ctx, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.watch, c)
	})
	return c
}

// change applies the function do to a copy of a hospital's chart, replaces the chart with the copy, and reports the
// change.
func (w *ward) change(hospital string, do func(*acuity.Chart)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := *w.charts[hospital]
	c.Rooms = append([]acuity.RoomChart{}, c.Rooms...)
	do(&c)
	c.Unit.Version++
	w.charts[hospital] = &c
	for watch, of := range w.watch {
		for _, one := range of {
			if one == hospital {
				select {
				case watch <- hospital:
				default:
				}
			}
		}
	}
}

// live starts the ward's clock.
func (w *ward) live() {
	began := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.goes = func() time.Duration { return time.Since(began) }
	w.forms = usual
}

// skip advances the clock by d.
func (w *ward) skip(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

// fail makes every subsequent read return err. If err is nil, reads succeed again.
func (w *ward) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.err = err
}

// reads returns the number of times that a unit was read.
func (w *ward) reads() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.read
}

func (*ward) Hospital(id string) (string, *time.Location, bool) {
	if id == "north" {
		return "Labor & Delivery", chicago, true
	}
	return "Maternity " + id, chicago, true
}

func (w *ward) Layout(hospital string) *layout.Layout { return w.layouts[hospital] }

func (w *ward) FindLink(string) (users.Link, bool) {
	return users.Link{Hospital: "north", User: "usr_1", Role: w.role, ExpiresAt: half.Add(time.Hour)}, true
}

func (w *ward) UseLink(context.Context, string, users.SignIn) (users.Session, error) {
	u, _ := w.users.User("north", "usr_1")
	w.alsoIn(u)
	s, _ := w.users.Session("session")
	return s, nil
}

// alsoIn makes the ward's session valid in another hospital, where the person is the given user.
func (w *ward) alsoIn(u users.User) {
	w.users.SetUser(u)
	s, known := w.users.Session("session")
	if !known {
		now := w.clock()
		s = users.Session{ID: "session", User: u.ID, Hospital: "north", BegunAt: now, ProvedAt: now, EndsAt: now.Add(13 * time.Hour)}
	}
	s.Epochs = append(s.Epochs, users.SessionEpoch{Hospital: u.Hospital, Epoch: u.Epoch})
	slices.SortFunc(s.Epochs, func(a, b users.SessionEpoch) int { return strings.Compare(a.Hospital, b.Hospital) })
	w.users.SetSession(s)
}

func (*ward) EndSessions(context.Context, string, ...users.Session) error { return nil }

func (*ward) RefuseSignIn(context.Context, [][]byte, string) {}

// plain is a fake seal that only prefixes the value with the name.
type plain struct{}

func (plain) Seal(name string, clear []byte) []byte { return append([]byte(name), clear...) }

func (plain) Open(name string, sealed []byte) ([]byte, error) {
	if !strings.HasPrefix(string(sealed), name) {
		return nil, errors.New("not sealed for this")
	}
	return sealed[len(name):], nil
}

func (w *ward) do(method, path string, header http.Header) *http.Response {
	r := httptest.NewRequest(method, path, http.NoBody)
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	if w.cookie != "" {
		r.Header.Set("Cookie", w.cookie)
	}
	for name, values := range header {
		r.Header[name] = append(r.Header[name], values...)
	}
	if c := header.Get("Cookie"); c != "" {
		r.Header.Set("Cookie", w.cookie+"; "+c)
	}
	rec := httptest.NewRecorder()
	w.ServeHTTP(rec, r)
	return rec.Result()
}

// page requests a page in the given language, and returns the status and the HTML.
func (w *ward) page(path, language string) (status int, html string) {
	w.t.Helper()
	answer := w.do(http.MethodGet, path, http.Header{"Accept-Language": {language}})
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}

// weight returns the number of compressed bytes that are transferred for a path, and the HTML.
func (w *ward) weight(path string) (bytes int, html string) {
	w.t.Helper()
	answer := w.do(http.MethodGet, path, http.Header{"Accept-Encoding": {"gzip"}})
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	if answer.Header.Get("Content-Encoding") != "gzip" {
		return len(body), string(body)
	}
	z, err := gzip.NewReader(strings.NewReader(string(body)))
	if err != nil {
		w.t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		w.t.Fatal(err)
	}
	return len(body), string(text)
}
