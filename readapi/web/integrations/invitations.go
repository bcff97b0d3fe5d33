package integrations

import (
	"net/http"
	"net/url"
	"slices"
	"time"

	"svc/readapi/web/apicall"
)

// apiInvitation is an invitation that nobody has used yet, as the API tells it.
type apiInvitation struct {
	ID, Label, Role      string
	CreatedAt, ExpiresAt *time.Time
}

type invitationRow struct{ ID, Label, Role, Made, Ends string }

func newInvitationRow(d *adminRequest, v *apiInvitation) invitationRow {
	return invitationRow{v.ID, v.Label, d.Or("role."+v.Role, v.Role), d.formatTime(v.CreatedAt), d.formatTime(v.ExpiresAt)}
}

func hasInvitation(all []apiInvitation, id string) bool {
	return slices.ContainsFunc(all, func(v apiInvitation) bool { return v.ID == id })
}

// waitForInvitation waits until this process shows an invitation, or no longer shows it.
func waitForInvitation(d *adminRequest, id string, there bool) {
	d.waitUntil(func() bool {
		var list userList
		return d.fetch(usersAPI, &list) == nil && hasInvitation(list.Invitations, id) == there
	})
}

// showInvitation asks whether to withdraw the invitation of the path.
func showInvitation(d *adminRequest, status int, refused *apicall.Refusal) {
	all, ok := readUsers(d)
	if !ok {
		return
	}
	i := slices.IndexFunc(all.Invitations, func(v apiInvitation) bool { return v.ID == d.pathID() })
	if i < 0 {
		d.showNotFound()
		return
	}
	out := usersPage{adminPage: d.newPage("users.withdraw"), Invitations: []invitationRow{newInvitationRow(d, &all.Invitations[i])}}
	out.Refused = d.newForm(nil, refused).listRefusals()
	d.show(status, "users.withdraw", &out)
}

func withdrawInvitation(d *adminRequest) {
	var gone apiInvitation
	refused, ok := d.send(http.MethodDelete, usersAPI+"/invitations/"+url.PathEscape(d.pathID()), "", nil, &gone)
	switch {
	case refused != nil:
		showInvitation(d, refused.PageStatus(), refused)
	case ok:
		waitForInvitation(d, d.pathID(), false)
		d.leaveNotice(d.pathTo(), "users.withdrawn", "name", gone.Label)
	}
}
