package web_test

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/codes"
	"svc/acuity/forecast"
	"svc/acuity/help"
	"svc/acuity/score"
	"svc/internal/admin/users"
	"svc/internal/outbound"
	"svc/readapi"
	"svc/readapi/web"
	"svc/readapi/web/apicall"
	"svc/readapi/web/auth"
	"svc/readapi/web/signin"
)

// half past two at the ward, which is in Chicago.
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

// ward is the pages of hospitals in memory, with somebody signed in.
type ward struct {
	http.Handler
	t       testing.TB
	mu      sync.Mutex
	now     time.Time
	charts  map[string]*acuity.Chart
	forms   func(u *web.Unit) // changes what is told of a unit; nil: nothing
	err     error
	layouts map[string]*web.Layout
	record  recorded
	users   *users.Register
	role    users.Role
	watch   map[chan string][]string
	cookie  string
	read    int
	goes    func() time.Duration // nil: the clock stands
}

func newWard(t testing.TB, chart *acuity.Chart) *ward {
	w := &ward{
		t: t, now: half, charts: map[string]*acuity.Chart{"north": chart}, layouts: map[string]*web.Layout{},
		users: users.NewRegister(), role: users.Charge, watch: map[chan string][]string{},
	}
	w.users.SetUser(users.User{ID: "usr_1", Hospital: "north", Role: users.Charge})
	w.mount()
	return w
}

// mount makes the pages, and signs the user in.
func (w *ward) mount() {
	r := chi.NewRouter()
	web.Mount(r, web.Config{
		Units: w, Changes: w, Hospitals: w, Layouts: w, Record: &w.record, Links: w, Users: w.users, Seals: plain{}, Acts: w,
		Now: w.clock, Log: slog.New(slog.DiscardHandler),
	})
	w.Handler = r
	answer := w.do(http.MethodPost, signin.LinkPath+"link", nil)
	for _, c := range answer.Cookies() {
		w.cookie = c.Name + "=" + c.Value
	}
	if w.cookie == "" {
		w.t.Fatal("nobody is signed in")
	}
}

func (w *ward) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.at()
}

// at is the clock, for who has the lock.
func (w *ward) at() time.Time {
	if w.goes != nil {
		return w.now.Add(w.goes())
	}
	return w.now
}

// Unit implements [web.Units].
func (w *ward) Unit(_ context.Context, hospital string) (*web.Unit, error) {
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
	u := &web.Unit{Version: "g." + time.Duration(v.Version).String(), Verdict: &v, At: w.at()}
	if w.forms != nil {
		w.forms(u)
	}
	return u, nil
}

// Room implements [web.Units].
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

// change replaces the chart of a hospital, and tells of it.
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

// live has the clock of the ward go on.
func (w *ward) live() {
	began := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.goes = func() time.Duration { return time.Since(began) }
	w.forms = usual
}

// skip has so much time pass at once.
func (w *ward) skip(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

// fail has every read fail; nil: none.
func (w *ward) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.err = err
}

// reads is how often a unit was read.
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

func (w *ward) Layout(hospital string) *web.Layout { return w.layouts[hospital] }

func (w *ward) FindLink(string) (users.Link, bool) {
	return users.Link{Hospital: "north", User: "usr_1", Role: w.role, ExpiresAt: half.Add(time.Hour)}, true
}

func (w *ward) UseLink(context.Context, string) (users.User, error) {
	u, _ := w.users.User("north", "usr_1")
	return u, nil
}

func (*ward) SignOut(context.Context, string, string) error { return nil }

func (*ward) Staff(context.Context, *auth.Session, json.RawMessage, bool) (*apicall.Refusal, error) {
	return nil, nil
}

func (*ward) Acknowledge(context.Context, *auth.Session, string) (*apicall.Refusal, error) {
	return nil, nil
}

func (*ward) Episodes(context.Context, string) ([]outbound.AlertRun, error) { return nil, nil }

// plain seals by the name alone.
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

// page returns a page in a language.
func (w *ward) page(path, language string) (status int, html string) {
	w.t.Helper()
	answer := w.do(http.MethodGet, path, http.Header{"Accept-Language": {language}})
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}

// weight is how many bytes a path takes on the wire.
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

// bed is a room with factors, by their ids; "@" and a duration after one tells for how
// long it has been so.
func bed(id int32, label, area string, factors ...string) acuity.RoomChart {
	r := acuity.RoomChart{ID: id, Label: label, Area: area, Status: acuity.RoomOccupied, Listed: true}
	p := acuity.PatientChart{Visit: "canary-visit", Mother: true, Arrived: ago(6 * time.Hour)}
	for _, text := range factors {
		switch text {
		case "empty":
			r.Status = acuity.RoomEmpty
			return r
		case "blocked":
			r.Status = acuity.RoomBlocked
			return r
		}
		name, since, _ := strings.Cut(text, "@")
		for d := (50 * time.Minute); ; {
			if since != "" {
				var err error
				if d, err = time.ParseDuration(since); err != nil {
					panic(err)
				}
			}
			f, known := catalogue.FactorByID(name)
			if !known {
				panic(name)
			}
			e := acuity.Evidence{Factor: f, Kind: acuity.BySignal, Start: ago(d), Last: ago(d), Source: acuity.Source{Feed: acuity.ChannelClinical, System: codes.RxNorm, Code: "6585"}}
			if f.IsPrimary() {
				e.Kind, e.AssignedBy, e.Source = acuity.ByADT, "census", acuity.Source{Feed: acuity.ChannelADT}
			}
			p.Evidence = append(p.Evidence, e)
			break
		}
	}
	r.Patients = []acuity.PatientChart{p}
	return r
}

// unit is the unit of the prototype: 23 rooms in four areas.
func unit() *acuity.Chart {
	c := &acuity.Chart{Hospital: "north", Unit: acuity.UnitChart{
		Run:     acuity.LevelRun{Since: ago(24 * time.Minute), Prior: acuity.LevelYellow, HasPrior: true},
		Version: 48213, Since: ago(5 * time.Minute), Clock: ago(5 * time.Minute), ObservedAt: ago(time.Minute),
		Staffing:  []acuity.Staffing{{AsOf: ago(3 * time.Hour), Nurses: 15, Call: acuity.Yes}, {AsOf: acuity.At(half.Add(268 * time.Minute)), Nurses: 14, Call: acuity.Yes}},
		HasCensus: true, CensusAt: ago(4 * time.Minute), TotalRooms: 23, Unplaced: 1,
	}}
	c.Rooms = []acuity.RoomChart{
		bed(1, "T1", "Triage", "triage-initial@12m"), bed(2, "T2", "Triage", "triage-rom@2h"), bed(3, "T3", "Triage", "triage-medical-eval@1h"), bed(4, "T4", "Triage", "empty"),
		bed(5, "L1", "Labor", "labor-standard@3h"), bed(6, "L2", "Labor", "labor-epidural@2h"), bed(7, "L3", "Labor", "labor-induction@5h", "high-mag@3h", "high-preeclampsia@5h"),
		bed(8, "L4", "Labor", "labor-standard@4h", "labor-fhr-cat-ii@20m"), bed(9, "L5", "Labor", "labor-active-lt4@2h"), bed(10, "L6", "Labor", "labor-standard@6h", "labor-fhr-cat-iii@5m"),
		bed(11, "L7", "Labor", "labor-vaginal-birth@27m"), bed(12, "L8", "Labor", "empty"), bed(13, "L9", "Labor", "ap-stable@6h", "high-mag@40m", "high-preeclampsia@6h", "high-gbs-positive@8h"), bed(14, "L10", "Labor", "blocked"),
		bed(15, "OR1", "Operating rooms", "csection-intraop@30m"), bed(16, "OR2", "Operating rooms", "empty"),
		bed(17, "P11", "Postpartum", "pp-csection@82m"), bed(18, "P12", "Postpartum", "pp-couplet@9h"), bed(19, "P13", "Postpartum", "pp-couplet@7h", "pp-csection-day@7h"), bed(20, "P14", "Postpartum", "pp-couplet@20h"),
		bed(21, "P15", "Postpartum", "pp-immediate-recovery-vag@87m"), bed(22, "P16", "Postpartum", "pp-couplet@80h"), bed(23, "P17", "Postpartum", "pp-couplet@11h", "high-bereavement@11h"), bed(24, "P18", "Postpartum", "empty"),
	}
	return c
}

// drawn is where the rooms of that unit lie.
func drawn() *web.Layout {
	l := &web.Layout{Columns: 9, Rows: 5}
	at := func(id int32, x, y int) { l.Rooms = append(l.Rooms, web.Place{Room: id, X: x, Y: y, W: 1, H: 1}) }
	for i, p := range [][2]int{{1, 1}, {2, 1}, {1, 3}, {2, 3}, {3, 1}, {4, 1}, {5, 1}, {6, 1}, {7, 1}, {8, 1}, {9, 1}, {7, 3}, {8, 3}, {9, 3}, {5, 3}, {6, 3}, {1, 5}, {2, 5}, {3, 5}, {4, 5}, {5, 5}, {6, 5}, {7, 5}, {8, 5}} {
		at(int32(i+1), p[0], p[1])
	}
	l.Landmarks = []web.Landmark{{"Triage", 1, 2, 2, 1}, {"Labor", 3, 2, 7, 1}, {"Operating rooms", 5, 4, 2, 1}, {"Postpartum", 1, 4, 4, 1}, {"Nurses’ station", 3, 3, 2, 1}, {"Nursery", 9, 5, 1, 1}}
	return l
}

// usual is what is known beside the chart on a usual day.
func usual(u *web.Unit) {
	u.Forecast = outlook(float64(u.Verdict.Required)/60, u.Verdict.OnDuty)
	u.Plan = []acuity.Staffing{{AsOf: acuity.At(half.Add(268 * time.Minute)), Nurses: 14}}
	u.Feeds = []web.Feed{
		{Channel: "adt", LastReceived: u.At.Add(-12 * time.Second)},
		{Channel: "census", LastReceived: u.At.Add(-4 * time.Minute)},
		{Channel: "clinical", LastReceived: u.At.Add(-31 * time.Second)},
		{Channel: "roster", LastReceived: u.At.Add(-13 * time.Hour), Stale: true},
		{Channel: "staffing", LastReceived: u.At.Add(-22 * time.Minute), Late: true},
	}
	u.Help = []help.Step{
		{Kind: help.Nurse, At: acuity.At(half), Level: acuity.LevelYellow, Shortfall: 1},
		{Kind: help.Nurses, At: acuity.At(half), Level: acuity.LevelYellow},
		{Kind: help.Call, At: acuity.At(half), Level: acuity.LevelOrange, Shortfall: 2},
		{Kind: help.Clock, At: acuity.At(half.Add(20 * time.Minute)), Level: acuity.LevelYellow, Shortfall: 1},
	}
}

func outlook(now float64, onDuty int32) *forecast.Forecast {
	f := &forecast.Forecast{Past: measured(), At: acuity.At(half), Method: forecast.Method, HistoryHours: 600, Calibration: forecast.Calibration{Status: forecast.Calibrated, Coverage80: .81, WindowDays: 28}}
	for i := range f.Hours {
		h := &f.Hours[i]
		h.Start, h.End = acuity.At(half.Add(time.Duration(i)*time.Hour)), acuity.At(half.Add(time.Duration(i+1)*time.Hour))
		likely := now - []float64{.9, 1.2, .9, .4, 1, 1.6, 2, 2.5}[i]
		for q, by := range [...]float64{-2.2, -1.6, -.7, 0, .9, 2.2, 3} {
			h.Nurses[q] = max(likely+by*(1+float64(i)/8), 0)
		}
		h.ShortfallP50, h.ShortfallP90 = -1, -1
		if onDuty >= 0 {
			h.ShortfallP50, h.ShortfallP90 = max(int32(h.Nurses[forecast.P50])+1-onDuty, 0), max(int32(h.Nurses[forecast.P90])+1-onDuty, 0)
		}
		if h.Nurses[forecast.P90] > f.Peak.P90 {
			f.Peak = forecast.Peak{At: h.End, P90: h.Nurses[forecast.P90]}
		}
	}
	for i := range f.Points {
		p := &f.Points[i]
		p.At = acuity.At(half.Add(time.Duration(forecast.PointMinutes[i]) * time.Minute))
		p.Level, p.P = acuity.LevelYellow, [4]int32{20, 560, 400, 20}
		if i >= 5 && i < 8 {
			p.Level, p.P = acuity.LevelOrange, [4]int32{60, 220, 500, 220}
		}
	}
	return f
}

// measured is the four full hours before half past two.
func measured() (list []forecast.Measured) {
	for i, n := range []catalogue.Demand{13, 14, 15, 17} {
		nurses := int32(15)
		if i < 2 {
			nurses = 16
		}
		list = append(list, forecast.Measured{Hour: acuity.At(half).Hour() - 3 + int32(i), Required: n * catalogue.Nurse, Nurses: nurses})
	}
	return list
}

// rooms is a unit of so many rooms.
func rooms(n int) *acuity.Chart {
	c := unit()
	for i := len(c.Rooms); i < n; i++ {
		r := c.Rooms[i%23]
		r.ID = int32(i + 1)
		r.Label = r.Label[:1] + string(rune('0'+(i/10)%10)) + string(rune('0'+i%10))
		c.Rooms = append(c.Rooms, r)
	}
	c.Unit.TotalRooms = int32(n)
	c.Unit.Staffing[0].Nurses = int32(n) * 3 / 5
	return c
}
