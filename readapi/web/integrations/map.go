package integrations

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"svc/internal/admin/sheets"
	"svc/readapi/web/apicall"
)

// mapPage is the terminology map.
type mapPage struct {
	adminPage
	Tabs   []adminLink
	Search string
	Rows   []mapRow
	Pager  pager
}

type mapRow struct {
	ID, System, Code, Kind, Factor, Value, Comment, By, Link string
}

func (d termsRequest) mapRow(m *apiMapping) *mapRow {
	row := &mapRow{ID: m.ID, System: m.System, Code: m.Code, Factor: d.factorNamed(m.FactorID), Comment: m.Comment, By: m.By, Kind: d.T("kind.any")}
	if m.Kind != nil {
		row.Kind = d.Or("kind."+*m.Kind, *m.Kind)
	}
	if m.Value != nil {
		row.Value = m.Value.Op + " " + m.Value.Than.String()
	}
	row.Link = d.at("code") + "?" + url.Values{"system": {m.System}, "code": {m.Code}, "kind": {deref(m.Kind)}, "id": {m.ID}}.Encode()
	return row
}

func showMap(on *adminRequest) {
	d := termsRequest{localRequest{on}}
	all, ok := d.mappings()
	if !ok {
		return
	}
	out := mapPage{adminPage: d.page("terms.map"), Tabs: d.terminologyTabs("map"), Search: strings.TrimSpace(d.r.URL.Query().Get("code"))}
	if out.Search != "" {
		var found []apiMapping
		for i := range all {
			if strings.Contains(strings.ToLower(all[i].Code+" "+all[i].FactorID), strings.ToLower(out.Search)) {
				found = append(found, all[i])
			}
		}
		all = found
	}
	first, last, p := d.pages(len(all))
	out.Pager = p
	for i := range all[first:last] {
		out.Rows = append(out.Rows, *d.mapRow(&all[first+i]))
	}
	d.show(http.StatusOK, "terms.map", &out)
}

// takeMappingBack takes a row of the map back, or says what that would change.
func takeMappingBack(on *adminRequest) {
	d := termsRequest{localRequest{on}}
	f, path := d.r.PostForm, mapAPI+"/"+url.PathEscape(d.id())
	system, code, kind := f.Get("system"), f.Get("code"), f.Get("kind")
	if f.Get("do") == "preview" {
		var would acted
		refused, ok := d.do(http.MethodDelete, path+"?dryRun=true", d.version(), nil, &would)
		if ok {
			c, known := d.code(system, code, kind)
			if !known {
				return
			}
			d.r.PostForm = nil // the row is shown as it is
			d.showCode(statusOf(refused), system, code, kind, refused, d.effectOf(&would, c.Rooms))
		}
		return
	}
	refused, ok := d.do(http.MethodDelete, path, d.version(), nil, nil)
	switch {
	case refused != nil:
		d.showCode(refused.PageStatus(), system, code, kind, refused, nil)
	case ok:
		d.settle(func() bool { return d.mapped(d.id()) == "" })
		d.done(d.at("map"), "terms.taken", "code", code)
	}
}

// statusOf is the status of a page about what the API may have refused.
func statusOf(refused *apicall.Refusal) int {
	if refused == nil {
		return http.StatusOK
	}
	return refused.PageStatus()
}

func exportMap(on *adminRequest) {
	d := termsRequest{localRequest{on}}
	var list struct{ Mappings []sheets.Mapping }
	if _, ok := d.read(mapAPI+"?limit=20000", &list); !ok {
		return
	}
	var file bytes.Buffer
	if err := sheets.WriteMappings(&file, list.Mappings); err != nil {
		panic(err) // memory
	}
	d.download("terminology", file.Bytes())
}

// download answers with a file of CSV.
func (d termsRequest) download(what string, file []byte) {
	h := d.w.Header()
	h.Set("Content-Type", "text/csv; charset=utf-8")
	h.Set("Content-Disposition", fmt.Sprintf(`attachment; filename="%s-%s.csv"`, what, d.now().In(d.Zone).Format("2006-01-02")))
	d.w.Write(file) //nolint:errcheck // nobody is there to be told
}
