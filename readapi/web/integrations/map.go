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

// mapPage shows the terminology map.
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

func (d termsRequest) newMapRow(m *apiMapping) *mapRow {
	row := &mapRow{ID: m.ID, System: m.System, Code: m.Code, Factor: d.nameFactor(m.FactorID), Comment: m.Comment, By: m.By, Kind: d.T("kind.any")}
	if m.Kind != nil {
		row.Kind = d.Or("kind."+*m.Kind, *m.Kind)
	}
	if m.Value != nil {
		row.Value = m.Value.Op + " " + m.Value.Than.String()
	}
	row.Link = d.pathTo("code") + "?" + url.Values{"system": {m.System}, "code": {m.Code}, "kind": {textOrEmpty(m.Kind)}, "id": {m.ID}}.Encode()
	return row
}

func showMap(d termsRequest) {
	all, ok := d.readMappings()
	if !ok {
		return
	}
	out := mapPage{adminPage: d.newPage("terms.map"), Tabs: d.listTabs("map"), Search: strings.TrimSpace(d.r.URL.Query().Get("code"))}
	if out.Search != "" {
		var found []apiMapping
		for i := range all {
			if strings.Contains(strings.ToLower(all[i].Code+" "+all[i].FactorID), strings.ToLower(out.Search)) {
				found = append(found, all[i])
			}
		}
		all = found
	}
	first, last, p := d.cutToPage(len(all))
	out.Pager = p
	for i := range all[first:last] {
		out.Rows = append(out.Rows, *d.newMapRow(&all[first+i]))
	}
	d.show(http.StatusOK, "terms.map", &out)
}

// takeMappingBack removes a row of the map, or shows what that would change.
func takeMappingBack(d termsRequest) {
	f, path := d.r.PostForm, mapAPI+"/"+url.PathEscape(d.pathID())
	system, code, kind := f.Get("system"), f.Get("code"), f.Get("kind")
	if f.Get("do") == "preview" {
		var would acted
		refused, ok := d.send(http.MethodDelete, path+"?dryRun=true", d.formVersion(), nil, &would)
		if ok {
			c, known := d.readCode(system, code, kind)
			if !known {
				return
			}
			d.r.PostForm = nil // the page shows the row as it is now
			d.showCode(choosePageStatus(refused), system, code, kind, refused, d.newEffect(&would, c.Rooms))
		}
		return
	}
	refused, ok := d.send(http.MethodDelete, path, d.formVersion(), nil, nil)
	switch {
	case refused != nil:
		d.r.PostForm = nil // the page shows the row as it is now
		d.showCode(refused.PageStatus(), system, code, kind, refused, nil)
	case ok:
		d.waitUntil(func() bool { return d.readMappedFactor(d.pathID()) == "" })
		d.leaveNotice(d.pathTo("map"), "terms.taken", "code", code)
	}
}

// choosePageStatus returns the status of a page; refused is nil if the API refused nothing.
func choosePageStatus(refused *apicall.Refusal) int {
	if refused == nil {
		return http.StatusOK
	}
	return refused.PageStatus()
}

func exportMap(d termsRequest) {
	var list struct{ Mappings []sheets.Mapping }
	if _, ok := d.read(mapAPI+"?limit=20000", &list); !ok {
		return
	}
	var file bytes.Buffer
	if err := sheets.WriteMappings(&file, list.Mappings); err != nil {
		panic(err) // memory
	}
	d.writeCSV("terminology", file.Bytes())
}

// writeCSV answers with a CSV file.
func (d termsRequest) writeCSV(what string, file []byte) {
	h := d.w.Header()
	h.Set("Content-Type", "text/csv; charset=utf-8")
	h.Set("Content-Disposition", fmt.Sprintf(`attachment; filename="%s-%s.csv"`, what, d.now().In(d.Zone).Format("2006-01-02")))
	d.w.Write(file) //nolint:errcheck // nobody is there to be told
}
