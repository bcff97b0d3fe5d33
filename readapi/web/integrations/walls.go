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
	out := wallsPage{adminPage: d.page("int.walls"), Form: d.form(nil, refused)}
	out.Refused = out.Form.refusedWords("label")
	first, last, p := d.pages(len(all))
	for _, w := range all[first:last] {
		out.Rows = append(out.Rows, wallRow{w.ID, w.Label, d.when(w.CreatedAt)})
	}
	out.Pager = p
	d.show(status, "walls.list", &out)
}

func makeWall(d *adminRequest) {
	var made apiWall
	refused, ok := d.do(http.MethodPost, wallsAPI, "", map[string]any{"label": d.r.PostForm.Get("label")}, &made)
	switch {
	case refused != nil:
		showWalls(d, refused.PageStatus(), refused)
	case ok:
		settleWall(d, made.ID, true)
		d.once(d.at(), &once{Say: d.T("walls.once", "name", made.Label), Value: d.absolute(made.URL)})
	}
}

// absolute is a link of the API for another browser. It is a path while the operator has set
// no public address.
func (d *adminRequest) absolute(link string) string {
	if strings.HasPrefix(link, "/") {
		return d.address() + link
	}
	return link
}

// address is that of the API: the one that the operator has set, else that of this page.
func (d *adminRequest) address() string {
	if d.Administration.URL != "" {
		return d.Administration.URL
	}
	scheme := "http://"
	if d.Secure {
		scheme = "https://"
	}
	return scheme + d.r.Host
}

// settleWall waits until this process shows, or shows no longer, a wall.
func settleWall(d *adminRequest, id string, there bool) {
	d.settle(func() bool {
		var list struct{ Walls []apiWall }
		a, err := d.ask(http.MethodGet, wallsAPI, "", nil)
		return err == nil && a.Refused == nil && a.Decode(&list) == nil && there == slices.ContainsFunc(list.Walls, func(w apiWall) bool { return w.ID == id })
	})
}

func showWall(d *adminRequest, status int) {
	all, ok := readWalls(d)
	if !ok {
		return
	}
	i := slices.IndexFunc(all, func(w apiWall) bool { return w.ID == d.id() })
	if i < 0 {
		d.gone()
		return
	}
	out := wallsPage{adminPage: d.page("walls.revoke"), Rows: []wallRow{{all[i].ID, all[i].Label, d.when(all[i].CreatedAt)}}}
	d.show(status, "walls.revoke", &out)
}

func revokeWall(d *adminRequest) {
	var gone apiWall
	if refused, ok := d.do(http.MethodDelete, wallsAPI+"/"+url.PathEscape(d.id()), "", nil, &gone); ok && refused == nil {
		settleWall(d, d.id(), false)
		d.done(d.at(), "walls.revoked", "name", gone.Label)
	} else if ok {
		showWall(d, refused.PageStatus())
	}
}
