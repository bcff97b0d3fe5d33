package integrations

import (
	"net/http"
	"net/url"
	"time"

	"svc/internal/admin/users"
)

const usersAPI = "/api/admin/users"

func usersSection() *section {
	return &section{
		name: "users", counts: true,
		shows: map[string]handler{
			"": {serve: showUsers}, "/{id}": {serve: showUser}, "/invitations/{id}": {serve: showInvitation},
		},
		acts: map[string]handler{"": {serve: inviteUser}, "/{id}": {serve: changeUser}, "/invitations/{id}": {serve: withdrawInvitation}},
	}
}

// apiUser is a person in an API response.
type apiUser struct {
	ID, Label, Role, SignIn      string
	Disabled                     bool
	CreatedAt, SignedInAt, Until *time.Time
	Version                      int64
}

// apiInvitation is an unused invitation in an API response.
type apiInvitation struct {
	ID, Label, Role      string
	CreatedAt, ExpiresAt *time.Time
}

var (
	userRows       = list[apiUser]{usersAPI, "users"}
	invitationRows = list[apiInvitation]{usersAPI, "invitations"}
)

type usersPage struct {
	adminPage
	Rows        []userRow
	Invitations []invitationRow
	Roles       []option
	TTLs        []option // possible lifetimes of a link
	Fixed       bool     // whether the role is set by the identity provider
}

type userRow struct{ ID, Label, Role, SignIn, SignedIn, State string }

// userList contains the users and invitations of a hospital, in an API response.
type userList struct {
	Users       []apiUser
	Invitations []apiInvitation
}

func newUserRow(d *adminRequest, u *apiUser) userRow {
	row := userRow{
		ID: u.ID, Label: u.Label, Role: d.Or("role."+u.Role, u.Role), SignIn: d.T("users.link"), SignedIn: d.formatTime(u.SignedInAt),
		State: d.T("users.may"),
	}
	if row.SignedIn == "" {
		row.SignedIn = d.T("unknown")
	}
	if u.SignIn == "provider" {
		row.SignIn = d.T("users.provider")
	}
	switch {
	case u.Disabled:
		row.State = d.T("users.locked")
	case u.Role == "none":
		row.State = d.T("users.norole")
	case u.Until != nil && !u.Until.After(d.now()):
		row.State = d.T("users.over")
	case u.Until != nil:
		row.State = d.T("users.until", "time", d.formatTime(u.Until))
	}
	return row
}

type invitationRow struct{ ID, Label, Role, Made, Ends string }

func newInvitationRow(d *adminRequest, v *apiInvitation) invitationRow {
	return invitationRow{v.ID, v.Label, d.Or("role."+v.Role, v.Role), d.formatTime(v.CreatedAt), d.formatTime(v.ExpiresAt)}
}

func showUsers(d *adminRequest) {
	var all userList
	if _, ok := d.read(usersAPI, &all); !ok {
		return
	}
	out := usersPage{adminPage: d.newPage("int.users")}
	values := url.Values{"role": {string(users.Viewer)}, "ttl": {"1h"}}
	d.useForm(&out.adminPage, values, nil, formField{name: "label"}, formField{name: "role"}, formField{name: "ttl"})
	out.Roles = listRoles(d, out.Form)
	for _, ttl := range users.Lifetimes() {
		out.TTLs = append(out.TTLs, option{ttl, d.T("users.ttl." + ttl), out.Form.Has("ttl", ttl)})
	}
	out.Rows = newRows(d, &out.adminPage, all.Users, newUserRow)
	for i := range all.Invitations {
		out.Invitations = append(out.Invitations, newInvitationRow(d, &all.Invitations[i]))
	}
	d.show("users.list", &out)
}

// listRoles returns the roles that a person can have.
func listRoles(d *adminRequest, f *form) (all []option) {
	for _, role := range users.Roles() {
		all = append(all, option{string(role), d.T("role." + string(role)), f.Value("role") == string(role)})
	}
	return all
}

// inviteUser creates a sign-in link for a person and displays it once.
func inviteUser(d *adminRequest) {
	f := d.r.PostForm
	var made struct{ ID, Label, URL string }
	body := map[string]any{"label": f.Get("label"), "role": f.Get("role"), "ttl": f.Get("ttl")}
	if !d.do(http.MethodPost, usersAPI, "", body, &made, showUsers) {
		return
	}
	invitationRows.wait(d, true, func(v *apiInvitation) bool { return v.ID == made.ID })
	d.leaveSecret(d.pathTo(), &once{Say: d.T("users.once", "name", made.Label), Value: d.absoluteURL(made.URL)})
}

// showInvitation shows the confirmation page for withdrawing the invitation in the path.
func showInvitation(d *adminRequest) {
	if v, ok := invitationRows.find(d, func(v *apiInvitation) bool { return v.ID == d.pathID() }); ok {
		d.show("users.withdraw", &usersPage{adminPage: d.newPage("users.withdraw"), Invitations: []invitationRow{newInvitationRow(d, v)}})
	}
}

func withdrawInvitation(d *adminRequest) {
	var gone apiInvitation
	if !d.do(http.MethodDelete, usersAPI+"/invitations/"+url.PathEscape(d.pathID()), "", nil, &gone, showInvitation) {
		return
	}
	invitationRows.wait(d, false, func(v *apiInvitation) bool { return v.ID == d.pathID() })
	d.leaveNotice(d.pathTo(), "users.withdrawn", "name", gone.Label)
}

// userFields are the form fields of a person.
var userFields = []formField{
	{name: "label", label: "users.label"}, {name: "role", label: "users.role"}, {name: "disabled", label: "users.disabled"},
}

func showUser(d *adminRequest) {
	u, ok := userRows.find(d, func(u *apiUser) bool { return u.ID == d.pathID() })
	if !ok {
		return
	}
	values := url.Values{"label": {u.Label}, "role": {u.Role}}
	if u.Disabled {
		values.Set("disabled", "yes")
	}
	out := usersPage{adminPage: d.newPage("users.change"), Rows: []userRow{newUserRow(d, u)}, Fixed: u.SignIn == "provider"}
	d.useForm(&out.adminPage, values, values, userFields...)
	out.Version, out.Roles = formatVersion(u.Version), listRoles(d, out.Form)
	d.show("users.change", &out)
}

func changeUser(d *adminRequest) {
	f := d.r.PostForm
	body := map[string]any{"label": f.Get("label"), "disabled": f.Get("disabled") == "yes", "endSessions": f.Get("end") == "yes"}
	if role := f.Get("role"); role != "" {
		body["role"] = role
	}
	var changed apiUser
	if !d.do(http.MethodPatch, usersAPI+"/"+url.PathEscape(d.pathID()), d.formVersion(), body, &changed, showUser) {
		return
	}
	userRows.wait(d, true, func(u *apiUser) bool { return u.ID == changed.ID && u.Version >= changed.Version })
	d.leaveNotice(d.pathTo(), "users.changed", "name", changed.Label)
}
