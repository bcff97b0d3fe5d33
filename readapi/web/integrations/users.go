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
		shows: map[string]func(*adminRequest){
			"": func(d *adminRequest) { showUsers(d, http.StatusOK, nil) }, "/{id}": func(d *adminRequest) { showUser(d, http.StatusOK, nil) },
			"/invitations/{id}": func(d *adminRequest) { showInvitation(d, http.StatusOK, nil) },
		},
		acts: map[string]act{"": {inviteUser, true}, "/{id}": {changeUser, false}, "/invitations/{id}": {withdrawInvitation, true}},
	}
}

// apiUser is a person as the API tells it.
type apiUser struct {
	ID, Label, Role, SignIn      string
	Disabled                     bool
	CreatedAt, SignedInAt, Until *time.Time
	Version                      int64
}

type usersPage struct {
	adminPage
	Form        *form
	Rows        []userRow
	Invitations []invitationRow
	Roles       []option
	TTLs        []option // how long a link may be used
	Fixed       bool     // the provider decides about the role
	Version     string
	Pager       pager
}

type userRow struct{ ID, Label, Role, SignIn, SignedIn, State string }

// userList is the people of a hospital as the API tells them.
type userList struct {
	Users       []apiUser
	Invitations []apiInvitation
}

// readUsers returns the people of the hospital. It returns false after it has answered with
// a fault.
func readUsers(d *adminRequest) (all userList, ok bool) {
	_, ok = d.read(usersAPI, &all)
	return all, ok
}

func newUserRow(d *adminRequest, u *apiUser) userRow {
	row := userRow{ID: u.ID, Label: u.Label, Role: d.Or("role."+u.Role, u.Role), SignIn: d.T("users.link"), SignedIn: d.formatTime(u.SignedInAt), State: d.T("users.may")}
	if u.SignIn == "provider" {
		row.SignIn = d.T("users.provider")
	}
	switch {
	case u.Disabled:
		row.State = d.T("users.locked")
	case u.Until != nil && !u.Until.After(d.now()):
		row.State = d.T("users.over")
	case u.Until != nil:
		row.State = d.T("users.until", "time", d.formatTime(u.Until))
	}
	return row
}

func showUsers(d *adminRequest, status int, refused *apicall.Refusal) {
	all, ok := readUsers(d)
	if !ok {
		return
	}
	out := usersPage{adminPage: d.newPage("int.users"), Form: d.newForm(url.Values{"role": {string(users.Viewer)}, "ttl": {"1h"}}, refused)}
	out.Roles = listRoles(d, out.Form)
	for _, ttl := range users.Lifetimes() {
		out.TTLs = append(out.TTLs, option{Value: ttl, Name: d.T("users.ttl." + ttl), Chosen: out.Form.Value("ttl") == ttl})
	}
	out.Refused = out.Form.listRefusals("label", "role", "ttl")
	first, last, p := d.cutToPage(len(all.Users))
	for i := range all.Users[first:last] {
		out.Rows = append(out.Rows, newUserRow(d, &all.Users[first+i]))
	}
	for i := range all.Invitations {
		out.Invitations = append(out.Invitations, newInvitationRow(d, &all.Invitations[i]))
	}
	out.Pager = p
	d.show(status, "users.list", &out)
}

// listRoles returns the roles that a person may have.
func listRoles(d *adminRequest, f *form) (rows []option) {
	for _, role := range users.Roles() {
		rows = append(rows, option{Value: string(role), Name: d.T("role." + string(role)), Chosen: f.Value("role") == string(role)})
	}
	return rows
}

// inviteUser makes a link that signs a person in, and shows it once.
func inviteUser(d *adminRequest) {
	f := d.r.PostForm
	var made struct{ ID, Label, URL string }
	refused, ok := d.send(http.MethodPost, usersAPI, "", map[string]any{"label": f.Get("label"), "role": f.Get("role"), "ttl": f.Get("ttl")}, &made)
	switch {
	case refused != nil:
		showUsers(d, refused.PageStatus(), refused)
	case ok:
		waitForInvitation(d, made.ID, true)
		d.leaveSecret(d.pathTo(), &once{Say: d.T("users.once", "name", made.Label), Value: d.absoluteURL(made.URL)})
	}
}

// listUserValues returns the values of the form of a person.
func listUserValues(u *apiUser) url.Values {
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
	i := slices.IndexFunc(all.Users, func(u apiUser) bool { return u.ID == d.pathID() })
	if i < 0 {
		d.showNotFound()
		return
	}
	u := &all.Users[i]
	out := usersPage{adminPage: d.newPage("users.change"), Form: d.newForm(listUserValues(u), refused), Rows: []userRow{newUserRow(d, u)}, Fixed: u.SignIn == "provider", Version: strconv.FormatInt(u.Version, 10)}
	out.Roles = listRoles(d, out.Form)
	out.Refused = out.Form.listRefusals("label", "role")
	if refused.IsOvertaken() {
		out.Refused = []string{d.T("int.overtaken")}
		out.Changed = d.compareValues(listUserValues(u), [2]string{"label", "users.label"}, [2]string{"role", "users.role"}, [2]string{"disabled", "users.disabled"})
	}
	out.Form.was = listUserValues(u)
	d.show(status, "users.change", &out)
}

func changeUser(d *adminRequest) {
	f := d.r.PostForm
	body := map[string]any{"label": f.Get("label"), "disabled": f.Get("disabled") == "yes", "endSessions": f.Get("end") == "yes"}
	if role := f.Get("role"); role != "" {
		body["role"] = role
	}
	var changed apiUser
	refused, ok := d.send(http.MethodPatch, usersAPI+"/"+url.PathEscape(d.pathID()), d.formVersion(), body, &changed)
	switch {
	case refused != nil:
		showUser(d, refused.PageStatus(), refused)
	case ok:
		d.waitUntil(func() bool {
			var list userList
			return d.fetch(usersAPI, &list) == nil && slices.ContainsFunc(list.Users, func(u apiUser) bool { return u.ID == changed.ID && u.Version >= changed.Version })
		})
		d.leaveNotice(d.pathTo(), "users.changed", "name", changed.Label)
	}
}
