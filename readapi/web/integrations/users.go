package integrations

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"svc/internal/admin/users"
	"svc/readapi/web/apicall"
)

const usersAPI = "/api/admin/users"

func usersSection() *section {
	return &section{
		name: "users", counts: true,
		shows: map[string]func(*adminRequest){"": func(d *adminRequest) { showUsers(d, http.StatusOK, nil) }, "/{id}": func(d *adminRequest) { showUser(d, http.StatusOK, nil) }},
		acts:  map[string]act{"": {inviteUser, true}, "/{id}": {changeUser, false}},
	}
}

// apiUser is a person as the API tells her.
type apiUser struct {
	ID, Label, Role, SignIn      string
	Disabled                     bool
	CreatedAt, SignedInAt, Until *time.Time
	Version                      int64
}

type usersPage struct {
	adminPage
	Form    *form
	Rows    []userRow
	Roles   []scopeRow
	TTLs    []scopeRow // how long a link may be used
	Fixed   bool       // the provider decides about the role
	Version string
	Pager   pager
}

type userRow struct{ ID, Label, Role, SignIn, SignedIn, State string }

// readUsers returns the people of the hospital; false: it has answered.
func readUsers(d *adminRequest) (all []apiUser, ok bool) {
	var list struct{ Users []apiUser }
	_, ok = d.read(usersAPI, &list)
	return list.Users, ok
}

func userRowOf(d *adminRequest, u *apiUser) userRow {
	row := userRow{ID: u.ID, Label: u.Label, Role: d.Or("role."+u.Role, u.Role), SignIn: d.T("users.link"), SignedIn: d.when(u.SignedInAt), State: d.T("users.may")}
	if u.SignIn == "provider" {
		row.SignIn = d.T("users.provider")
	}
	switch {
	case u.Disabled:
		row.State = d.T("users.locked")
	case u.Until != nil && !u.Until.After(d.now()):
		row.State = d.T("users.over")
	case u.Until != nil:
		row.State = d.T("users.until", "time", d.when(u.Until))
	}
	return row
}

func showUsers(d *adminRequest, status int, refused *apicall.Refusal) {
	all, ok := readUsers(d)
	if !ok {
		return
	}
	out := usersPage{adminPage: d.page("int.users"), Form: d.form(url.Values{"role": {string(users.Viewer)}, "ttl": {"1h"}}, refused)}
	out.Roles = roleRows(d, out.Form)
	for _, ttl := range users.Lifetimes() {
		out.TTLs = append(out.TTLs, scopeRow{Scope: ttl, Says: d.T("users.ttl." + ttl), Chosen: out.Form.Value("ttl") == ttl})
	}
	out.Refused = out.Form.refusedWords("label", "role", "ttl")
	first, last, p := d.pages(len(all))
	for i := range all[first:last] {
		out.Rows = append(out.Rows, userRowOf(d, &all[first+i]))
	}
	out.Pager = p
	d.show(status, "users.list", &out)
}

// roleRows are the roles that a person may have.
func roleRows(d *adminRequest, f *form) (rows []scopeRow) {
	for _, role := range users.Roles() {
		rows = append(rows, scopeRow{Scope: string(role), Says: d.T("role." + string(role)), Chosen: f.Value("role") == string(role)})
	}
	return rows
}

// inviteUser makes a link that signs a person in, and shows it once.
func inviteUser(d *adminRequest) {
	f := d.r.PostForm
	var made struct{ Label, URL string }
	refused, ok := d.do(http.MethodPost, usersAPI, "", map[string]any{"label": f.Get("label"), "role": f.Get("role"), "ttl": f.Get("ttl")}, &made)
	switch {
	case refused != nil:
		showUsers(d, refused.PageStatus(), refused)
	case ok:
		d.once(d.at(), &once{Say: d.T("users.once", "name", made.Label), Value: d.absolute(made.URL)})
	}
}

// userValues are what the form of a person holds.
func userValues(u *apiUser) url.Values {
	v := url.Values{"label": {u.Label}, "role": {u.Role}}
	if u.Disabled {
		v.Set("disabled", "yes")
	}
	return v
}

func showUser(d *adminRequest, status int, refused *apicall.Refusal) {
	all, ok := readUsers(d)
	if !ok {
		return
	}
	i := slices.IndexFunc(all, func(u apiUser) bool { return u.ID == d.id() })
	if i < 0 {
		d.gone()
		return
	}
	u := &all[i]
	out := usersPage{adminPage: d.page("users.change"), Form: d.form(userValues(u), refused), Rows: []userRow{userRowOf(d, u)}, Fixed: u.SignIn == "provider", Version: strconv.FormatInt(u.Version, 10)}
	out.Roles = roleRows(d, out.Form)
	out.Refused = out.Form.refusedWords("label", "role")
	if refused.IsOvertaken() {
		out.Refused = []string{d.T("int.overtaken")}
		out.Changed = d.compared(userValues(u), [2]string{"label", "users.label"}, [2]string{"role", "users.role"}, [2]string{"disabled", "users.disabled"})
	}
	out.Form.was = userValues(u)
	d.show(status, "users.change", &out)
}

func changeUser(d *adminRequest) {
	f := d.r.PostForm
	body := map[string]any{"label": f.Get("label"), "disabled": f.Get("disabled") == "yes", "endSessions": f.Get("end") == "yes"}
	if role := f.Get("role"); role != "" {
		body["role"] = role
	}
	var changed apiUser
	refused, ok := d.do(http.MethodPatch, usersAPI+"/"+url.PathEscape(d.id()), d.version(), body, &changed)
	switch {
	case refused != nil:
		showUser(d, refused.PageStatus(), refused)
	case ok:
		d.settle(func() bool {
			var list struct{ Users []apiUser }
			a, err := d.ask(http.MethodGet, usersAPI, "", nil)
			return err == nil && a.Refused == nil && a.Decode(&list) == nil && slices.ContainsFunc(list.Users, func(u apiUser) bool { return u.ID == changed.ID && u.Version >= changed.Version })
		})
		d.done(d.at(), "users.changed", "name", changed.Label)
	}
}
