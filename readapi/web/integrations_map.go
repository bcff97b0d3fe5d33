package web

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"svc/internal/admin/sheets"
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
		d.showCode(refused.status(), system, code, kind, refused, nil)
	case ok:
		d.settle(func() bool { return d.mapped(d.id()) == "" })
		d.done(d.at("map"), "terms.taken", "code", code)
	}
}

// statusOf is the status of a page about what the API may have refused.
func statusOf(refused *refusal) int {
	if refused == nil {
		return http.StatusOK
	}
	return refused.status()
}

// importPage takes a file of many rows.
type importPage struct {
	adminPage
	Tabs    []adminLink
	Action  string // path of its form
	Export  string // path of the file as it is now
	Columns string
	Text    string // of the file
	Rows    int
	Faults  []string
	Ready   bool // it can be applied
	Effect  *effect
}

func (d termsRequest) importPage(title, tab string, parts ...string) importPage {
	path := d.at(parts...)
	return importPage{adminPage: d.page(title), Tabs: d.terminologyTabs(tab), Action: path}
}

// uploaded returns the text of a file that was sent, or pasted; false: it has answered.
func (d termsRequest) uploaded() (text string, ok bool) {
	if strings.HasPrefix(d.r.Header.Get("Content-Type"), "multipart/form-data") {
		if err := d.r.ParseMultipartForm(adminFormAtMost); err != nil {
			d.say(d.w, d.r, http.StatusUnprocessableEntity, d.session, "fault.form")
			return "", false
		}
		defer d.r.MultipartForm.RemoveAll() //nolint:errcheck // what is left is removed by the machine
		if file, head, err := d.r.FormFile("file"); err == nil {
			defer file.Close() //nolint:errcheck // it was read
			content, err := io.ReadAll(file)
			if err == nil && head.Size > 0 {
				return string(content), true
			}
		}
	}
	return d.r.PostForm.Get("rows"), true
}

// rowsAtOnce is how many rows of a file the API takes at once.
const rowsAtOnce = 5000

// listed is the beginning of the path of a fault in a list of rows.
var listed = regexp.MustCompile(`^(?:mappings|locations)\[(\d+)\]\.?`)

// faultsByLine says what the API refuses a file for, with the lines of the file.
func (d termsRequest) faultsByLine(refused *refusal, line func(row int) int) (all []string) {
	for _, detail := range refused.Details {
		where := detail.Path
		if at := listed.FindStringSubmatch(detail.Path); at != nil {
			if n, err := strconv.Atoi(at[1]); err == nil {
				where = strings.TrimSpace(d.T("terms.line", "n", line(n)) + " " + strings.TrimPrefix(detail.Path, at[0]))
			}
		}
		all = append(all, where+": "+d.ruleText(detail.Rule))
	}
	if len(all) == 0 {
		all = append(all, refused.Message)
	}
	return all
}

// sendFile has the API try the rows of a file, and take them if it was asked to; the rows
// are taken all or none.
func sendFile[T any](d termsRequest, out *importPage, path, name string, read func(io.Reader) ([]sheets.Line[T], []string, error), back, done string) {
	text, ok := d.uploaded()
	if !ok {
		return
	}
	rows, faults, err := read(strings.NewReader(strings.TrimPrefix(text, "\ufeff")))
	if err != nil {
		faults = append(faults, err.Error())
	}
	out.Text, out.Rows, out.Faults = text, len(rows), faults
	switch {
	case len(faults) > 0:
	case len(rows) == 0:
		out.Faults = []string{d.T("terms.norows")}
	case len(rows) > rowsAtOnce:
		out.Faults = []string{d.T("terms.toomany", "most", rowsAtOnce)}
	}
	if len(out.Faults) > 0 {
		d.show(http.StatusUnprocessableEntity, "terms.import", out)
		return
	}
	list := make([]T, len(rows))
	for i := range rows {
		list[i] = rows[i].Row
	}
	body, apply := map[string]any{name: list}, d.r.PostForm.Get("do") == "apply"
	if !apply {
		path += "?dryRun=true"
	}
	var would acted
	refused, ok := d.do(http.MethodPost, path, "", body, &would)
	switch {
	case refused != nil:
		out.Faults = d.faultsByLine(refused, func(row int) int { return rows[min(row, len(rows)-1)].Line })
		d.show(refused.status(), "terms.import", out)
	case ok && apply:
		d.done(back, done, "n", len(rows))
	case ok:
		out.Ready, out.Effect = true, d.effectOf(&would, nil)
		d.show(http.StatusOK, "terms.import", out)
	}
}

func (d termsRequest) mapImport() importPage {
	out := d.importPage("terms.import", "map", "import")
	out.Export, out.Columns = d.at("map.csv"), "system,code,kind,factorId,op,than,comment"
	return out
}

func askForMap(on *adminRequest) {
	d := termsRequest{localRequest{on}}
	out := d.mapImport()
	d.show(http.StatusOK, "terms.import", &out)
}

func importMap(on *adminRequest) {
	d := termsRequest{localRequest{on}}
	out := d.mapImport()
	sendFile(d, &out, mapAPI, "mappings", sheets.ReadMappings, d.at("map"), "terms.imported")
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
	h.Set("Content-Disposition", fmt.Sprintf(`attachment; filename="%s-%s.csv"`, what, d.now().In(d.zone).Format("2006-01-02")))
	d.w.Write(file) //nolint:errcheck // nobody is there to be told
}
