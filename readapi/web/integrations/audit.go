package integrations

import (
	"encoding/csv"
	"net/http"
	"net/url"
	"time"

	"svc/internal/analysis/spreadsheet"
)

const auditAPI = "/api/admin/audit"

func auditSection() *section {
	return &section{name: "audit", shows: map[string]handler{"": {serve: showAudit}, ".csv": {serve: downloadAudit}}}
}

// apiAct is an entry of the audit log in an API response.
type apiAct struct {
	At                  *time.Time
	By, Action, Subject string
	Before, After       *string
	Reason              *string
}

// actList is one page of the audit log in an API response.
type actList struct {
	Items      []apiAct
	NextCursor *string
}

type auditPage struct {
	adminPage
	Rows    []auditRow
	Actions []option
	CSV     string
}

type auditRow struct{ At, By, Action, Subject, Before, After string }

// auditGroups are the groups of actions: a group is the part of an action's name before the dot.
var auditGroups = []string{
	"key", "webhook", "delivery", "command", "alert", "terminology", "locations", "rules", "settings", "layout",
	"wall", "user", "link", "session", "act", "staffing",
}

// readAuditQuery converts the page's query parameters to those of the API.
func readAuditQuery(d *adminRequest) url.Values {
	given, q := d.r.URL.Query(), url.Values{}
	for _, name := range []string{"action", "cursor"} {
		if v := given.Get(name); v != "" {
			q.Set(name, v)
		}
	}
	for name, clock := range map[string]string{"since": "T00:00:00", "until": "T23:59:59.999"} {
		if v := given.Get(name); len(v) == len(time.DateOnly) {
			q.Set(name, v+clock)
		} else if v != "" {
			q.Set(name, v)
		}
	}
	return q
}

// readActs returns one page of the audit log. If it returns false, it has sent an error response. A query that the
// API refuses is not an error: readActs then stores the refusal for display on the page.
func readActs(d *adminRequest, q url.Values) (all actList, ok bool) {
	refused, ok := d.send(http.MethodGet, auditAPI+"?"+q.Encode(), "", nil, &all)
	if refused != nil {
		d.refuse(refused)
	}
	return all, ok
}

// readNames returns the names of people and keys, by id.
func readNames(d *adminRequest) map[string]string {
	names := map[string]string{"command line": d.T("audit.cli")}
	var people userList
	var keys struct{ Keys []apiKey }
	if d.fetch(usersAPI, &people) == nil {
		for i := range people.Users {
			names[people.Users[i].ID] = people.Users[i].Label
		}
		for i := range people.Invitations {
			names[people.Invitations[i].ID] = people.Invitations[i].Label
		}
	}
	if d.fetch(keysAPI, &keys) == nil {
		for i := range keys.Keys {
			names[keys.Keys[i].ID] = keys.Keys[i].Name
		}
	}
	return names
}

func addName(names map[string]string, id string) string {
	if name := names[id]; name != "" && id != "command line" {
		return name + " (" + id + ")"
	} else if name != "" {
		return name
	}
	return id
}

func showAudit(d *adminRequest) {
	acts, ok := readActs(d, readAuditQuery(d))
	if !ok {
		return
	}
	out, q := auditPage{adminPage: d.newPage("int.audit"), CSV: d.pathTo() + ".csv"}, d.r.URL.Query()
	d.useForm(&out.adminPage, q, nil, formField{name: "since"}, formField{name: "until"})
	out.Pager = d.newCursorPager(textOrEmpty(acts.NextCursor))
	if len(q) > 0 {
		q.Del("cursor")
		out.CSV += "?" + q.Encode()
	}
	for _, group := range auditGroups {
		prefix := group + "."
		out.Actions = append(out.Actions, option{prefix, d.T("audit.group." + group), out.Form.Value("action") == prefix})
	}
	names := readNames(d)
	for i := range acts.Items {
		a := &acts.Items[i]
		out.Rows = append(out.Rows, auditRow{
			d.formatTime(a.At), addName(names, a.By), joinParts(": ", a.Action, textOrEmpty(a.Reason)), addName(names, a.Subject),
			textOrEmpty(a.Before), textOrEmpty(a.After),
		})
	}
	d.show("audit.list", &out)
}

// auditCSVPages is the maximum number of pages of API results that the downloaded file contains.
const auditCSVPages = 500

// downloadAudit responds with a CSV file of the audit log entries that match the filter, up to [auditCSVPages] pages
// of them.
func downloadAudit(d *adminRequest) {
	q := readAuditQuery(d)
	q.Set("limit", "200")
	acts, ok := readActs(d, q)
	if !ok {
		return
	}
	if d.refused != nil {
		d.ShowFault(d.w, d.r, http.StatusUnprocessableEntity, d.session, "fault.form")
		return
	}
	d.w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	d.w.Header().Set("Content-Disposition", `attachment; filename="audit.csv"`)
	out := csv.NewWriter(d.w)
	out.UseCRLF = true
	write := func(cells ...string) {
		for i := range cells {
			cells[i] = spreadsheet.Escape(cells[i])
		}
		out.Write(cells) //nolint:errcheck // fails only if the client has disconnected
	}
	write("at", "by", "name", "action", "subject", "before", "after", "reason")
	names := readNames(d)
	for page := 1; ; page++ {
		for i := range acts.Items {
			a := &acts.Items[i]
			at := ""
			if a.At != nil {
				at = a.At.In(d.Zone).Format(time.RFC3339)
			}
			write(at, a.By, names[a.By], a.Action, a.Subject, textOrEmpty(a.Before), textOrEmpty(a.After), textOrEmpty(a.Reason))
		}
		next := textOrEmpty(acts.NextCursor)
		if next == "" || page == auditCSVPages {
			break
		}
		q.Set("cursor", next)
		acts = actList{}
		if err := d.fetch(auditAPI+"?"+q.Encode(), &acts); err != nil {
			d.Log.WarnContext(d.r.Context(), "audit file truncated", "error", err)
			panic(http.ErrAbortHandler) // an incomplete file must not look complete
		}
	}
	out.Flush()
}
