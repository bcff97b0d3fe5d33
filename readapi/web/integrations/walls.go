package integrations

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"svc/readapi/web/apicall"
)

const wallsAPI = "/api/admin/walls"

func wallsSection() *section {
	return &section{
		name: "walls", counts: true,
		shows: map[string]func(*adminRequest){"": func(d *adminRequest) { showWalls(d, http.StatusOK, nil) }, "/{id}/revoke": func(d *adminRequest) { showWall(d, http.StatusOK) }},
		acts:  map[string]act{"": {makeWall, true}, "/{id}/revoke": {revokeWall, true}},
	}
}

// apiWall is a screen as the API tells it.
type apiWall struct {
	ID, Label, URL string
	CreatedAt      *time.Time
}

type wallsPage struct {
	adminPage
	Form  *form
	Rows  []wallRow
	Pager pager
}

type wallRow struct{ ID, Label, Made string }

func readWalls(d *adminRequest) (all []apiWall, ok bool) {
	var list struct{ Walls []apiWall }
	_, ok = d.read(wallsAPI, &list)
	return list.Walls, ok
}

func showWalls(d *adminRequest, status int, refused *apicall.Refusal) {
	all, ok := readWalls(d)
	if !ok {
		return
	}
	out := wallsPage{adminPage: d.newPage("int.walls"), Form: d.newForm(nil, refused)}
	out.Refused = out.Form.listRefusals("label")
	first, last, p := d.cutToPage(len(all))
	for _, w := range all[first:last] {
		out.Rows = append(out.Rows, wallRow{w.ID, w.Label, d.formatTime(w.CreatedAt)})
	}
	out.Pager = p
	d.show(status, "walls.list", &out)
}

func makeWall(d *adminRequest) {
	var made apiWall
	refused, ok := d.send(http.MethodPost, wallsAPI, "", map[string]any{"label": d.r.PostForm.Get("label")}, &made)
	switch {
	case refused != nil:
		showWalls(d, refused.PageStatus(), refused)
	case ok:
		waitForWall(d, made.ID, true)
		d.leaveSecret(d.pathTo(), &once{Say: d.T("walls.once", "name", made.Label), Value: d.absoluteURL(made.URL)})
	}
}

// absoluteURL returns a link of the API for another browser. While the operator has set no
// public address, it adds the address of this page.
func (d *adminRequest) absoluteURL(link string) string {
	if strings.HasPrefix(link, "/") {
		return d.apiAddress() + link
	}
	return link
}

// apiAddress returns the address of the API that the operator has set, else that of this
// page.
func (d *adminRequest) apiAddress() string {
	if d.Administration.URL != "" {
		return d.Administration.URL
	}
	scheme := "http://"
	if d.Secure {
		scheme = "https://"
	}
	return scheme + d.r.Host
}

// waitForWall waits until this process shows a wall, or no longer shows it.
func waitForWall(d *adminRequest, id string, there bool) {
	d.waitUntil(func() bool {
		var list struct{ Walls []apiWall }
		return d.fetch(wallsAPI, &list) == nil && there == slices.ContainsFunc(list.Walls, func(w apiWall) bool { return w.ID == id })
	})
}

func showWall(d *adminRequest, status int) {
	all, ok := readWalls(d)
	if !ok {
		return
	}
	i := slices.IndexFunc(all, func(w apiWall) bool { return w.ID == d.pathID() })
	if i < 0 {
		d.showNotFound()
		return
	}
	out := wallsPage{adminPage: d.newPage("walls.revoke"), Rows: []wallRow{{all[i].ID, all[i].Label, d.formatTime(all[i].CreatedAt)}}}
	d.show(status, "walls.revoke", &out)
}

func revokeWall(d *adminRequest) {
	var gone apiWall
	if refused, ok := d.send(http.MethodDelete, wallsAPI+"/"+url.PathEscape(d.pathID()), "", nil, &gone); ok && refused == nil {
		waitForWall(d, d.pathID(), false)
		d.leaveNotice(d.pathTo(), "walls.revoked", "name", gone.Label)
	} else if ok {
		showWall(d, refused.PageStatus())
	}
}
