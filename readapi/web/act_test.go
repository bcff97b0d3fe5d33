package web

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"svc/internal/admin/audit"
	"svc/internal/outbound"
)

// fakeAPI replaces the API that the pages call.
type fakeAPI struct {
	got    []string // "path token body"
	acts   []string
	answer string
	status int
	away   error // error that the audit log and the alerts return
}

func (f *fakeAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body) //nolint:errcheck // reads from memory
	f.got = append(f.got, r.Method+" "+r.URL.Path+" "+r.Header.Get("Authorization")+" "+string(body))
	w.WriteHeader(f.status)
	io.WriteString(w, f.answer) //nolint:errcheck // writes to memory
}

// withAPI returns the pages with a fake API behind them.
func withAPI(t *testing.T) (*pages, *fakeAPI) {
	t.Helper()
	p, f := newPages(t), &fakeAPI{answer: `{"ok":true,"data":{}}`, status: http.StatusOK}
	token := func(what string) func(hospital, user string) string {
		return func(hospital, user string) string { return what + "/" + hospital + "/" + user }
	}
	p.config.Acts = &API{
		Handler: f, StaffToken: token("staff"), AckToken: token("ack"), Now: p.config.Now,
		Alerts: func(_ context.Context, hospital string) ([]outbound.AlertRun, error) {
			return []outbound.AlertRun{
				{ID: "epi_" + hospital, Level: "orange", OpenedAt: noon.Add(-time.Hour)},
				{ID: "epi_old", Level: "red", OpenedAt: noon.Add(-9 * time.Hour), ClosedAt: noon.Add(-8 * time.Hour)},
			}, f.away
		},
		Audit: func(_ context.Context, act audit.Act) error {
			f.acts = append(f.acts, act.Hospital+" "+act.By+" "+act.Action)
			return f.away
		},
	}
	p.mount()
	return p, f
}

// TestStaffing: the page leaves the validation of the form's values to the API. If the API refuses them, the response
// contains the form with the reason.
func TestStaffing(t *testing.T) {
	t.Parallel()
	const refusal = `{"ok":false,"error":{"code":"invalid","message":"The body breaks a rule.","details":[{"path":"nursesOnDuty","rule":"range:0-1000"}]}}`
	done := []string{"north usr_charge " + ActStaff}
	for name, tt := range map[string]struct {
		form, body string // submitted form, and the body that the API receives; "": the API receives nothing
		status     int    // status of the API's answer
		answer     string
		code       int
		says       string
		acts       []string
	}{
		"three":                 {"nurses=3&call=no", `{"callStaffAvailable":false,"nursesOnDuty":3}`, 200, `{"ok":true}`, 303, "", done},
		"nothing of call staff": {"nurses=4", `{"nursesOnDuty":4}`, 200, `{"ok":true}`, 303, "", done},
		"with call staff":       {"nurses=+12+&call=yes", `{"callStaffAvailable":true,"nursesOnDuty":12}`, 200, `{"ok":true}`, 303, "", done},
		"letters":               {"nurses=three&call=no", `{"callStaffAvailable":false,"nursesOnDuty":"three"}`, 400, refusal, 422, "Enter a whole number of nurses, from 0 to 1000.", append(done, "north usr_charge "+ActStaff+audit.Failed)},
		"nothing":               {"nurses=&call=no", `{"callStaffAvailable":false,"nursesOnDuty":""}`, 400, refusal, 422, "Enter a whole number of nurses", append(done, "north usr_charge "+ActStaff+audit.Failed)},
		"one it refuses":        {"nurses=3&call=no", `{"callStaffAvailable":false,"nursesOnDuty":3}`, 400, refusal, 422, "Enter a number from 0 to 1000.", append(done, "north usr_charge "+ActStaff+audit.Failed)},
		"markup":                {"nurses=%22%3E%3Cb%3E&call=no", `{"callStaffAvailable":false,"nursesOnDuty":"\"\u003e\u003cb\u003e"}`, 400, refusal, 422, `value="&#34;&gt;&lt;b&gt;"`, append(done, "north usr_charge "+ActStaff+audit.Failed)},
		"API is away":           {"nurses=3&call=no", `{"callStaffAvailable":false,"nursesOnDuty":3}`, 503, `{"ok":false}`, 503, "Not available right now", append(done, "north usr_charge "+ActStaff+audit.Unclear)},
		"no API there":          {"nurses=3&call=no", `{"callStaffAvailable":false,"nursesOnDuty":3}`, 502, ``, 503, "Not available right now", append(done, "north usr_charge "+ActStaff+audit.Unclear)},
		"too much":              {"nurses=" + strings.Repeat("3", 5000), "", 200, "", 422, "could not be read", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, f := withAPI(t)
			f.status, f.answer = tt.status, tt.answer
			got := p.Ask("POST", "/app/staffing", p.Cookie("north", "usr_charge"), tt.form)
			if got.Code != tt.code || !strings.Contains(got.Body.String(), tt.says) || tt.code == 503 && got.Header().Get("Retry-After") == "" {
				t.Errorf("%d: %s", got.Code, got.Body)
			}
			var want []string
			if tt.body != "" {
				want = []string{"POST /api/ingest/staffing Bearer staff/north/usr_charge " + tt.body}
			}
			if !slices.Equal(f.got, want) {
				t.Errorf("the API got %q", f.got)
			}
			if !slices.Equal(f.acts, tt.acts) {
				t.Errorf("on record %q", f.acts)
			}
		})
	}
}

// TestNothingIsDoneUnrecorded: if the audit record cannot be written, no request is sent to the
// API.
func TestNothingIsDoneUnrecorded(t *testing.T) {
	t.Parallel()
	p, f := withAPI(t)
	f.away = errors.New("away")
	if got := p.Ask("POST", "/app/staffing", p.Cookie("north", "usr_charge"), "nurses=3"); got.Code != http.StatusServiceUnavailable || len(f.got) != 0 {
		t.Errorf("%d, the API got %q", got.Code, f.got)
	}
}

// TestAlerts: the page lists open alerts, and a person can acknowledge only alerts of the page's hospital.
func TestAlerts(t *testing.T) {
	t.Parallel()
	p, f := withAPI(t)
	cookie := p.Cookie("north", "usr_charge")
	got := p.Ask("GET", "/app/alerts", cookie)
	if body := got.Body.String(); got.Code != http.StatusOK || !strings.Contains(body, `action="/app/alerts/epi_north"`) || strings.Contains(body, "epi_old") || strings.Contains(body, "epi_south") {
		t.Errorf("%d: %s", got.Code, body)
	}
	for _, how := range []string{`data-poll="10"`, `<noscript><meta http-equiv="refresh" content="30"></noscript>`, `/integrations.js"`} {
		if body := got.Body.String(); !strings.Contains(body, how) { // the page must show a new alert without a reload by the person
			t.Errorf("lacks %s: %s", how, body)
		}
	}
	for _, id := range []string{"epi_south", "never", "..%2f..%2fkeys"} {
		if got := p.Ask("POST", "/app/alerts/"+id, cookie); got.Code != http.StatusNotFound || len(f.got) != 0 {
			t.Errorf("%s: %d, the API got %q", id, got.Code, f.got)
		}
	}
	if got := p.Ask("POST", "/app/alerts/epi_north", cookie); got.Code != http.StatusSeeOther || got.Header().Get("Location") != "/app/alerts" ||
		!slices.Equal(f.got, []string{"POST /api/admin/alerts/episodes/epi_north/ack Bearer ack/north/usr_charge {}"}) {
		t.Errorf("%d, the API got %q", got.Code, f.got)
	}
	f.status, f.answer = 422, `{"ok":false,"error":{"code":"unprocessable","message":"The episode has ended.","details":[{"path":"","rule":"closed"}]}}`
	if got := p.Ask("POST", "/app/alerts/epi_north", cookie); got.Code != http.StatusUnprocessableEntity || !strings.Contains(got.Body.String(), "This has already ended.") || strings.Contains(got.Body.String(), "refresh") {
		t.Errorf("refused: %d: %s", got.Code, got.Body)
	}
	inSpanish := httptest.NewRequest(http.MethodPost, "/app/alerts/epi_north", nil)
	inSpanish.Header.Set("Sec-Fetch-Site", "same-origin")
	inSpanish.Header.Set("Accept-Language", "es")
	inSpanish.AddCookie(cookie)
	said := httptest.NewRecorder()
	if p.Router.ServeHTTP(said, inSpanish); !strings.Contains(said.Body.String(), "Esto ya terminó.") {
		t.Errorf("refused in Spanish: %d: %s", said.Code, said.Body)
	}
	f.away = errors.New("away")
	for method, path := range map[string]string{http.MethodGet: "/app/alerts", http.MethodPost: "/app/alerts/epi_north"} {
		got := p.Ask(method, path, cookie)
		refreshes := strings.Contains(got.Body.String(), `data-again="5"`) && strings.Contains(got.Body.String(), `/waiting.js"`) &&
			strings.Contains(got.Body.String(), `<noscript><meta http-equiv="refresh" content="5"></noscript>`)
		if got.Code != http.StatusServiceUnavailable || refreshes != (method == http.MethodGet) {
			t.Errorf("%s while the alerts are away: %d, refreshes: %v", method, got.Code, refreshes)
		}
	}
}
