package readapi

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/go-chi/chi/v5"

	"svc/internal/access"
	"svc/internal/api"
	"svc/internal/audit"
)

// MountAudit adds the list of administrative acts.
func MountAudit(r chi.Router, shell *api.Shell, list audit.List) {
	api.Mount(r, shell, &acts{shell, list}, auditRoutes())
}

type acts struct {
	shell *api.Shell
	list  audit.List
}

// The pages of the list of acts.
const (
	actsUsual   = 50
	actsAtMost  = 200
	auditWithin = 10 * time.Second
)

func auditRoutes() []api.Route[*acts] {
	return []api.Route[*acts]{{Operation: api.Operation{
		Method: http.MethodGet, Path: "/api/admin/audit", Scope: access.Admin, ID: "listAudit", Group: "Administration",
		Summary: "What administrators did, newest first",
		About:   "Each act is on record before it takes effect: one without a state after it may have failed. Kept for 400 days.",
		Parameters: []api.Parameter{
			{Name: "limit", In: "query", Example: "50", About: "1 to 200; 50 if not given."},
			{Name: "cursor", In: "query", Example: "1", About: "nextCursor of the page before."},
			{Name: "since", In: "query", Example: "2026-03-04T00:00:00Z", About: "Not before this time."},
			{Name: "until", In: "query", Example: "2036-03-05T00:00:00Z", About: "Before this time."},
			{Name: "action", In: "query", Example: "key.", About: "Only this action; with a dot at its end all that begin so."},
		},
		Data: auditPage{}, Refuses: []api.Kind{api.Invalid}, Limits: map[string]int64{"auditPerPage": actsAtMost},
	}, Serve: (*acts).serve}}
}

type auditPage struct {
	Items      []auditItem `json:"items"`
	NextCursor *string     `json:"nextCursor"` // null: there are no more
}

type auditItem struct {
	At      api.Time `json:"at"`
	By      string   `json:"by"` // id of the key, or: command line
	Action  string   `json:"action"`
	Subject string   `json:"subject"`
	Before  *string  `json:"before"` // version of the subject; null: there was none
	After   *string  `json:"after"`  // null: there is none any more
}

func (a *acts) serve(w http.ResponseWriter, r *http.Request) {
	q, broken := queryOf(r)
	if len(broken) > 0 {
		api.Fail(w, r, api.Problem{Kind: api.Invalid, Details: broken})
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), auditWithin)
	defer cancel()
	found, err := a.list(ctx, q)
	if err != nil {
		a.shell.Log.WarnContext(r.Context(), "audit not read", "error", err)
		api.Fail(w, r, api.Problem{Kind: api.Unavailable, RetryAfter: retryAfter})
		return
	}
	page := auditPage{Items: make([]auditItem, len(found.Acts))}
	for i, act := range found.Acts {
		page.Items[i] = auditItem{api.Time(act.At), act.By, act.Action, act.Subject, some(act.Before), some(act.After)}
	}
	if found.Cursor > 0 {
		page.NextCursor = some(strconv.FormatInt(found.Cursor, 10))
	}
	api.OK(w, r, page)
}

func some(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// queryOf reads the query of a request, and names what is wrong with it.
func queryOf(r *http.Request) (q audit.Query, broken []api.Detail) {
	given := r.URL.Query()
	q = audit.Query{Hospital: api.Caller(r.Context()).Hospital, Action: given.Get("action"), Limit: actsUsual}
	fault := func(name, rule string) { broken = append(broken, api.Detail{Path: name, Rule: rule}) }
	var err error
	if text := given.Get("limit"); text != "" {
		if q.Limit, err = strconv.Atoi(text); err != nil || q.Limit < 1 || q.Limit > actsAtMost {
			fault("limit", "integer:1-"+strconv.Itoa(actsAtMost))
		}
	}
	if text := given.Get("cursor"); text != "" {
		if q.Before, err = strconv.ParseInt(text, 10, 64); err != nil || q.Before < 1 {
			fault("cursor", "cursor")
		}
	}
	for name, at := range map[string]*time.Time{"since": &q.Since, "until": &q.Until} {
		if text := given.Get(name); text != "" {
			if *at, err = time.Parse(time.RFC3339, text); err != nil {
				fault(name, "format:date-time")
			}
		}
	}
	return q, broken
}
