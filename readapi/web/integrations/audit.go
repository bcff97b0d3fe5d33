package integrations

import (
	"cmp"
	"encoding/csv"
	"net/http"
	"net/url"
	"strings"
	"time"

	"svc/internal/admin/audit"
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

// auditRow is an entry of the audit log. Code is the action and the reason as the API names them.
type auditRow struct {
	At, Action, Code string
	By, Subject      named
	Before, After    version
}

// named is the name of a person, a key or a factor, followed by its id. ID is "" if Name is the id.
type named struct{ Name, ID string }

// version is a version of a resource. Short begins a long hash, of which Full is the whole.
type version struct{ Short, Full string }

// shortHash is the number of displayed characters of a hash.
const shortHash = 7

func newVersion(v *string) version {
	full := textOrEmpty(v)
	if len(full) <= shortHash+1 {
		return version{Short: full}
	}
	return version{full[:shortHash] + "…", full}
}

// auditGroups are the groups of actions: a group is the part of an action's name before the dot.
var auditGroups = []string{
	"key", "webhook", "delivery", "command", "alert", "alert-tier", "alert-recipient", "dead-letter", "terminology", "locations",
	"rules", "settings", "layout", "hospital", "wall", "user", "link", "session", "act", "staffing",
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
	names := map[string]string{audit.CommandLine: d.T("audit.cli")}
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

func findName(names map[string]string, id string) named {
	if name := names[id]; name == "" || id == audit.CommandLine {
		return named{Name: cmp.Or(name, id)}
	}
	return named{names[id], id}
}

// nameAction returns the label of an action. The record of a failed action says so.
func nameAction(d *adminRequest, action string) string {
	done, failed := strings.CutSuffix(action, audit.Failed)
	done, unclear := strings.CutSuffix(done, audit.Unclear)
	name := d.Or("audit.act."+done, done)
	switch {
	case failed:
		return name + ": " + d.T("audit.failed")
	case unclear:
		return name + ": " + d.T("audit.unclear")
	}
	return name
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
		row := auditRow{
			At: d.formatTime(a.At), Action: nameAction(d, a.Action), Code: joinParts(": ", a.Action, textOrEmpty(a.Reason)),
			By: findName(names, a.By), Subject: findName(names, a.Subject), Before: newVersion(a.Before), After: newVersion(a.After),
		}
		if strings.HasPrefix(a.Action, "rules.") {
			row.Subject = named{nameFactor(d, a.Subject), a.Subject}
		}
		out.Rows = append(out.Rows, row)
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
