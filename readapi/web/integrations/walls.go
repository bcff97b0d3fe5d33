package integrations

import (
	"net/http"
	"net/url"
	"strings"
	"time"
)

const wallsAPI = "/api/admin/walls"

func wallsSection() *section {
	return &section{
		name: "walls", counts: true,
		shows: map[string]handler{"": {serve: showWalls}, "/{id}/revoke": {serve: showWall}},
		acts:  map[string]handler{"": {serve: makeWall}, "/{id}/link": {serve: relinkWall}, "/{id}/revoke": {serve: revokeWall}},
	}
}

// apiWall is a screen in an API response.
type apiWall struct {
	ID, Label, URL string
	CreatedAt      *time.Time
	UsedAt         *time.Time // when a screen used the link; nil: not yet
}

var wallList = list[apiWall]{wallsAPI, "walls"}

type wallsPage struct {
	adminPage
	Rows []wallRow
}

type wallRow struct{ ID, Label, Made, Used string }

func newWallRow(d *adminRequest, w *apiWall) wallRow {
	row := wallRow{w.ID, w.Label, d.formatTime(w.CreatedAt), d.formatTime(w.UsedAt)}
	if w.UsedAt == nil {
		row.Used = d.T("walls.unused")
	}
	return row
}

func showWalls(d *adminRequest) {
	all, ok := wallList.read(d)
	if !ok {
		return
	}
	out := wallsPage{adminPage: d.newPage("int.walls")}
	d.useForm(&out.adminPage, nil, nil, formField{name: "label"})
	out.Rows = newRows(d, &out.adminPage, all, newWallRow)
	d.show("walls.list", &out)
}

func makeWall(d *adminRequest) {
	var made apiWall
	if !d.do(http.MethodPost, wallsAPI, "", map[string]any{"label": d.r.PostForm.Get("label")}, &made, showWalls) {
		return
	}
	wallList.wait(d, true, func(w *apiWall) bool { return w.ID == made.ID })
	d.leaveSecret(d.pathTo(), &once{Say: d.T("walls.once", "name", made.Label), Value: d.absoluteURL(made.URL)})
}

// absoluteURL returns a link from the API as an absolute URL, which can be opened in another browser. If the operator
// has not configured a public URL, the result starts with the address of this page.
func (d *adminRequest) absoluteURL(link string) string {
	if strings.HasPrefix(link, "/") {
		return d.apiAddress() + link
	}
	return link
}

// apiAddress returns the configured URL of the API or, if there is none, that of this page.
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

// relinkWall creates a new link for a screen and displays it once.
func relinkWall(d *adminRequest) {
	var made apiWall
	if !d.do(http.MethodPost, wallsAPI+"/"+url.PathEscape(d.pathID())+"/link", "", nil, &made, showWalls) {
		return
	}
	wallList.wait(d, true, func(w *apiWall) bool { return w.ID == made.ID && w.UsedAt == nil })
	d.leaveSecret(d.pathTo(), &once{Say: d.T("walls.once", "name", made.Label), Value: d.absoluteURL(made.URL)})
}

// showWall shows the confirmation page for revoking the screen in the path.
func showWall(d *adminRequest) {
	if w, ok := wallList.find(d, func(w *apiWall) bool { return w.ID == d.pathID() }); ok {
		d.show("walls.revoke", &wallsPage{adminPage: d.newPage("walls.revoke"), Rows: []wallRow{newWallRow(d, w)}})
	}
}

func revokeWall(d *adminRequest) {
	var gone apiWall
	if !d.do(http.MethodDelete, wallsAPI+"/"+url.PathEscape(d.pathID()), "", nil, &gone, showWall) {
		return
	}
	wallList.wait(d, false, func(w *apiWall) bool { return w.ID == d.pathID() })
	d.leaveNotice(d.pathTo(), "walls.revoked", "name", gone.Label)
}
