package readapi

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/go-chi/chi/v5"

	"svc/internal/admin/audit"
	"svc/internal/httpapi"
	"svc/internal/httpapi/access"
	"svc/internal/httpapi/contract"
	"svc/internal/httpapi/problem"
)

// MountAudit adds the audit log. zone returns the time zone of a hospital.
func MountAudit(r chi.Router, shell *httpapi.Shell, list audit.List, zone func(hospital string) *time.Location) {
	contract.Mount(r, shell, &acts{shell, list, zone}, auditRoutes())
}

type acts struct {
	shell *httpapi.Shell
	list  audit.List
	zone  func(hospital string) *time.Location
}

// The default and maximum page sizes of the audit log, and the timeout of a request.
const (
	actsUsual   = 50
	actsAtMost  = 200
	auditWithin = 10 * time.Second
)

func auditRoutes() []contract.Route[*acts] {
	return []contract.Route[*acts]{{Operation: contract.Operation{
		Method: http.MethodGet, Path: "/api/admin/audit", Scope: access.Admin, ID: "listAudit", Group: "Administration",
		Summary: "List the actions of administrators, newest first",
		About: "Each action is recorded before it takes effect. A failed action has a second record whose action ends in .failed, " +
			"or in .unclear if its outcome is unknown. session.refuse and act.refuse are refused requests. Kept for 400 days.",
		Parameters: []contract.Parameter{
			contract.Limit(actsUsual, actsAtMost), contract.Cursor(), contract.Since(), contract.Until(),
			{Name: "action", In: "query", Example: "key.", About: "Only this action, including failures; with a dot at its end, all actions " +
				"with this prefix."},
		},
		Data: auditPage{}, Refuses: []problem.Kind{problem.Unprocessable}, Limits: map[string]int64{"auditPerPage": actsAtMost},
	}, Serve: (*acts).serve}}
}

type auditPage struct {
	Items      []auditItem `json:"items"`
	NextCursor *string     `json:"nextCursor"` // null: this is the last page
}

type auditItem struct {
	At      httpapi.Time `json:"at"`
	By      string       `json:"by"` // id of the API key or user, or "command line"
	Action  string       `json:"action"`
	Subject string       `json:"subject"`
	Before  *string      `json:"before"` // version of the subject before the action; null: the subject did not exist
	After   *string      `json:"after"`  // version of the subject after the action; null: the subject no longer exists
	Reason  *string      `json:"reason"` // stable code: why a request was refused or a session ended; null: no reason
}

func (a *acts) serve(w http.ResponseWriter, r *http.Request) {
	q, given := a.parseQuery(r)
	if given.Refused(w, r) {
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), auditWithin)
	defer cancel()
	found, err := a.list(ctx, q)
	if err != nil {
		a.shell.Log.WarnContext(r.Context(), "audit not read", "error", err)
		httpapi.Fail(w, r, httpapi.Problem{Kind: problem.Unavailable, RetryAfter: retryAfter})
		return
	}
	page := auditPage{Items: make([]auditItem, len(found.Acts))}
	for i, act := range found.Acts {
		page.Items[i] = auditItem{httpapi.Time(act.At), act.By, act.Action, act.Subject, some(act.Before), some(act.After), some(act.Reason)}
	}
	if found.Cursor > 0 {
		page.NextCursor = some(strconv.FormatInt(found.Cursor, 10))
	}
	httpapi.OK(w, r, page)
}

// parseQuery parses the query of a request and collects the errors in it.
func (a *acts) parseQuery(r *http.Request) (audit.Query, *httpapi.Query) {
	given, hospital := httpapi.QueryOf(r), httpapi.Caller(r.Context()).Hospital
	since, until := given.Period(a.zone(hospital))
	return audit.Query{
		Hospital: hospital, Action: given.Text("action"),
		Limit: int(given.Whole("limit", actsUsual, 1, actsAtMost)), Before: given.Whole("cursor", 0, 1, httpapi.MostWhole),
		Since: since, Until: until,
	}, given
}
