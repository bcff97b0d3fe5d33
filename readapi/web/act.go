package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"svc/acuity"
	"svc/acuity/score"
	"svc/internal/admin/audit"
	"svc/internal/outbound"
	"svc/readapi/web/apicall"
	"svc/readapi/web/auth"
	"svc/readapi/web/page"
)

// API performs the actions that people take on a unit's pages. It calls the ingest and administration API, so that
// the API validates each action.
type API struct {
	Handler http.Handler
	// StaffToken and AckToken return API keys that are valid for one minute and permit one operation on behalf of a
	// user.
	StaffToken, AckToken func(hospital, user string) string
	Alerts               func(ctx context.Context, hospital string) ([]outbound.AlertRun, error)
	Audit                audit.Record
	Now                  func() time.Time
}

// ActStaff is the audit log action for setting the nurses on duty.
const ActStaff = "staffing.set"

// setStaffing sets the nurses on duty. It returns the API's refusal, or nil if the API accepts the values.
func (a *API) setStaffing(ctx context.Context, s *auth.Session, nurses json.RawMessage, call acuity.Tristate) (*apicall.Refusal, error) {
	act := audit.Act{Hospital: s.Hospital, At: a.Now(), By: s.User, Action: ActStaff, Subject: "staffing"}
	if err := a.Audit(ctx, act); err != nil {
		return nil, fmt.Errorf("record the action: %w", err)
	}
	body := map[string]any{"nursesOnDuty": nurses}
	if call != acuity.Unsaid {
		body["callStaffAvailable"] = call == acuity.Yes
	}
	refused, err := a.post(ctx, "/api/ingest/staffing", a.StaffToken(s.Hospital, s.User), body)
	how := audit.Failed
	if err != nil {
		how = audit.Unclear
	}
	if err != nil || refused != nil {
		err = errors.Join(err, a.Audit.RecordNotDone(ctx, act, how))
	}
	return refused, err
}

// acknowledge acknowledges an alert on behalf of a person. It returns the API's refusal, or nil if the API accepts
// the acknowledgment. The API writes the audit record.
func (a *API) acknowledge(ctx context.Context, s *auth.Session, episode string) (*apicall.Refusal, error) {
	return a.post(ctx, "/api/admin/alerts/episodes/"+episode+"/ack", a.AckToken(s.Hospital, s.User), map[string]any{})
}

// post sends one request to the API.
func (a *API) post(ctx context.Context, path, token string, body any) (*apicall.Refusal, error) {
	said, err := apicall.Send(ctx, a.Handler, http.MethodPost, path, http.Header{"Authorization": {"Bearer " + token}}, body)
	if err != nil {
		return nil, err
	}
	return said.Refused, nil
}

// explain returns the API's reasons for a refusal, in the language of the page.
func (p *writer) explain(refused *apicall.Refusal) string {
	if len(refused.Details) == 0 {
		return p.ExplainRefusal(refused.Code, refused.Message)
	}
	var words []string
	for _, d := range refused.Details {
		words = append(words, p.ExplainRule(d.Rule))
	}
	return strings.Join(words, " ")
}

// requireActs calls next if actions are enabled on these pages. If they are disabled, it sends a page that says so.
func (s *site) requireActs(next page.Handler) page.Handler {
	return func(w http.ResponseWriter, r *http.Request, session *auth.Session) {
		if s.Acts == nil {
			s.ShowFault(w, r, http.StatusServiceUnavailable, session, "fault.acts")
			return
		}
		next(w, r, session)
	}
}

// dutyPage is the response if the API refuses the entered number of nurses on duty. It contains the form with the
// entered values, and the reason.
type dutyPage struct {
	page.Frame

	Duty    dutyForm
	Problem string
}

// dutyForm is the form for the nurses on duty, with the current or the entered values.
type dutyForm struct {
	Nurses string // "": unknown
	Call   string // "yes" or "no"; "": unknown
}

// callWords maps the known states of staff on call to their form values.
var callWords = map[acuity.Tristate]string{acuity.Yes: "yes", acuity.No: "no"}

func newDutyForm(v *score.Verdict) dutyForm {
	form := dutyForm{Call: callWords[v.Call]}
	if v.OnDuty >= 0 {
		form.Nurses = strconv.Itoa(int(v.OnDuty))
	}
	return form
}

// parseCall parses the form value for staff on call.
func parseCall(word string) acuity.Tristate {
	for state, of := range callWords {
		if word == of {
			return state
		}
	}
	return acuity.Unsaid
}

const (
	formAtMost   = 4096
	typedAtMost  = 12   // maximum length, in bytes, of an entered value that the error page repeats in the form
	nursesAtMost = 1000 // maximum number of nurses that the API accepts
)

// setStaffing sets the number of nurses on duty. If the API refuses the entered values, the response is a page that
// contains the form with these values, and the reason.
func (s *site) setStaffing(w http.ResponseWriter, r *http.Request, session *auth.Session) {
	r.Body = http.MaxBytesReader(w, r.Body, formAtMost)
	if r.ParseForm() != nil {
		s.ShowFault(w, r, http.StatusUnprocessableEntity, session, "fault.form")
		return
	}
	typed, call := strings.TrimSpace(r.PostForm.Get("nurses")), parseCall(r.PostForm.Get("call"))
	nurses := json.RawMessage(typed)
	if !json.Valid(nurses) { // any other text is sent as a JSON string
		nurses, _ = json.Marshal(typed) //nolint:errcheck // a string can always be encoded
	}
	refused, err := s.Acts.setStaffing(r.Context(), session, nurses, call)
	switch {
	case err != nil:
		s.ShowUnavailable(w, r, session, "staffing not sent", err)
	case refused != nil:
		p := s.writer(r, session)
		out := dutyPage{Frame: s.NewFrame(r, p.Writer, session, p.T("duty")), Duty: dutyForm{Call: callWords[call]}, Problem: p.explain(refused)}
		if n, wrong := strconv.Atoi(typed); wrong != nil || n < 0 || n > nursesAtMost {
			out.Problem = p.T("duty.number", "most", nursesAtMost)
		}
		if len(typed) <= typedAtMost {
			out.Duty.Nurses = typed
		}
		page.WritePage(w, r, http.StatusUnprocessableEntity, templates.Render("dutyagain", out))
	default:
		http.Redirect(w, r, session.Base, http.StatusSeeOther)
	}
}

// alertsPage shows the open alerts, including those that have been acknowledged.
type alertsPage struct {
	page.Frame

	Rows    []alertRow
	Problem string
}

type alertRow struct {
	ID, Level, Opened, State string
	Ask                      bool // whether to show the button that acknowledges the alert
}

// alertsPoll is the refresh interval of the alerts page, in seconds.
const alertsPoll = 10

func (s *site) listAlerts(w http.ResponseWriter, r *http.Request, session *auth.Session) {
	s.showAlerts(w, r, session, http.StatusOK, "")
}

func (s *site) showAlerts(w http.ResponseWriter, r *http.Request, session *auth.Session, status int, problem string) {
	all, err := s.Acts.Alerts(r.Context(), session.Hospital)
	if err != nil {
		s.ShowUnavailable(w, r, session, "alerts not read", err)
		return
	}
	p := s.writer(r, session)
	unit, err := s.Reads.Unit(r.Context(), session.Hospital)
	if err != nil {
		unit = nil // without the unit, the page does not say when the level began
	}
	out := alertsPage{Frame: s.NewFrame(r, p.Writer, session, p.T("alerts")), Problem: problem}
	for i := range all {
		e := &all[i]
		if !e.ClosedAt.IsZero() {
			continue
		}
		since := p.FormatMoment(acuity.At(e.OpenedAt), s.Now())
		row := alertRow{ID: e.ID, Level: p.Or("level."+e.Level, e.Level), Opened: p.T("alerts.began", "time", since)}
		if unit != nil && unit.Verdict.Level.String() == e.Level && unit.Verdict.Run.Since != 0 {
			if level := p.FormatMoment(unit.Verdict.Run.Since, s.Now()); level != since {
				row.Opened = p.T("alerts.since", "time", level, "began", since)
			}
		}
		if row.Ask = e.AckedAt.IsZero(); row.Ask {
			row.State = p.T("alerts.open")
		} else {
			row.State = p.T("alerts.taken", "time", p.FormatMoment(acuity.At(e.AckedAt), s.Now()))
		}
		out.Rows = append(out.Rows, row)
	}
	if status == http.StatusOK { // after an error, the URL is that of the submitted form, which cannot be reloaded
		out.Poll, out.Refresh = alertsPoll, page.RefreshSeconds
	}
	page.WritePage(w, r, status, templates.Render("alerts", out))
}

func (s *site) acknowledgeAlert(w http.ResponseWriter, r *http.Request, session *auth.Session) {
	id := chi.URLParam(r, "id")
	all, err := s.Acts.Alerts(r.Context(), session.Hospital)
	// An alert of another hospital is also treated as missing.
	if err == nil && !slices.ContainsFunc(all, func(e outbound.AlertRun) bool { return e.ID == id }) {
		s.ShowFault(w, r, http.StatusNotFound, session, "fault.alert")
		return
	}
	var refused *apicall.Refusal
	if err == nil {
		refused, err = s.Acts.acknowledge(r.Context(), session, id)
	}
	switch {
	case err != nil:
		s.ShowUnavailable(w, r, session, "alert not acknowledged", err)
	case refused != nil:
		s.showAlerts(w, r, session, http.StatusUnprocessableEntity, s.writer(r, session).explain(refused))
	default:
		http.Redirect(w, r, session.Base+"/alerts", http.StatusSeeOther)
	}
}
