package integrations

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"svc/internal/admin/sheets"
	"svc/internal/analysis/spreadsheet"
	"svc/readapi/web/apicall"
)

// importPage contains the form with which an administrator imports many rows from a file.
type importPage struct {
	adminPage // Version is the version of the table that was previewed

	Action      string // path to which the form is sent
	Export      string // path for downloading the current table
	FileColumns string
	Text        string // text of the file; "": the file was refused
	Rows        int
	Faults      []string
	Ready       bool // whether the file can be applied
	Effect      *effect
	Was         string // rows of the previewed table that are also in the file: a JSON object, keyed by row id
}

func newImportPage(d *adminRequest, title, tab string, parts ...string) importPage {
	out := importPage{adminPage: d.newPage(title), Action: d.pathTo(parts...)}
	out.Tabs = listTermTabs(d, tab)
	return out
}

// readUpload returns the text of an uploaded or pasted file. If it returns false, it has sent an error response.
func readUpload(d *adminRequest) (text string, ok bool) {
	if strings.HasPrefix(d.r.Header.Get("Content-Type"), "multipart/form-data") {
		if err := d.r.ParseMultipartForm(importFormAtMost); err != nil {
			d.ShowFault(d.w, d.r, http.StatusUnprocessableEntity, d.session, "fault.form")
			return "", false
		}
		defer d.r.MultipartForm.RemoveAll() //nolint:errcheck // the operating system removes any remaining files
		if file, head, err := d.r.FormFile("file"); err == nil {
			defer file.Close() //nolint:errcheck // the file was only read
			var content strings.Builder
			content.Grow(int(head.Size))
			if _, err := io.Copy(&content, file); err == nil && head.Size > 0 {
				return content.String(), true
			}
		}
	}
	return d.r.PostForm.Get("rows"), true
}

// rowsAtOnce is the maximum number of rows that the API accepts in one request.
const rowsAtOnce = 5000

// listed finds the index of the row in the path of an API error.
var listed = regexp.MustCompile(`^(?:mappings|locations)\[(\d+)\]\.?`)

// listFaults returns the API's errors for the rows of a file, each with its line number in the file.
func listFaults(d *adminRequest, refused *apicall.Refusal, line func(row int) int) (all []string) {
	for _, detail := range refused.Details {
		where := detail.Path
		if at := listed.FindStringSubmatch(detail.Path); at != nil {
			if n, err := strconv.Atoi(at[1]); err == nil {
				where = strings.TrimSpace(d.T("terms.line", "n", line(n)) + " " + strings.TrimPrefix(detail.Path, at[0]))
			}
		}
		all = append(all, where+": "+d.ExplainRule(detail.Rule))
	}
	if len(all) == 0 {
		all = append(all, d.ExplainRefusal(refused.Code, refused.Message))
	}
	return all
}

// explainFault describes an error in a file, in the language of the page.
func explainFault(d *adminRequest, err error) string {
	var f *spreadsheet.Fault
	if !errors.As(err, &f) {
		return err.Error()
	}
	line := d.T("terms.line", "n", f.Line)
	switch f.Rule {
	case spreadsheet.EmptyFile:
		return d.T("terms.emptyfile")
	case spreadsheet.UnknownColumn:
		return line + " " + d.T("terms.unknowncolumn", "n", f.Number, "columns", strings.Join(f.Columns, ", "))
	case spreadsheet.MissingColumn:
		return line + " " + d.T("terms.missingcolumn", "column", f.Column)
	case spreadsheet.StrayQuote:
		return line + " " + d.T("terms.strayquote")
	case spreadsheet.TooManyRows:
		return d.T("terms.toomany", "most", f.Number)
	case spreadsheet.TooManyFields:
		return line + " " + d.T("terms.toomanyfields", "most", f.Number)
	}
	return line + " " + f.Column + ": " + d.ExplainRule(f.Rule)
}

// table is a table whose rows can be imported from a file.
type table[T any] struct {
	path, name string // path in the API, and name of the list in the request body
	read       func(in io.Reader, most int) ([]sheets.Line[T], []*spreadsheet.Fault, error)
	now        func() (rows map[string]*T, version int64, err error) // returns the table's current rows by id, and the table's version
	about      func(*T) string                                       // returns a short name of a row
	says       func(*T) string                                       // returns the values of a row as text
	back, done string
}

// sendFile sends the rows of a file to the API, as a dry run unless the form confirms the import. The API applies all
// rows or none, and only if the table is unchanged since the preview.
func sendFile[T any](d *adminRequest, out *importPage, of *table[T]) {
	text, ok := readUpload(d)
	if !ok {
		return
	}
	rows, faults, err := of.read(strings.NewReader(strings.TrimPrefix(text, "\ufeff")), rowsAtOnce)
	out.Rows = len(rows)
	for _, f := range faults {
		out.Faults = append(out.Faults, explainFault(d, f))
	}
	if err != nil {
		out.Faults = append(out.Faults, explainFault(d, err))
	}
	switch {
	case len(out.Faults) > 0:
	case len(rows) == 0:
		out.Faults = []string{d.T("terms.norows")}
	}
	if len(out.Faults) > 0 {
		d.status = http.StatusUnprocessableEntity
		d.show("terms.import", out)
		return
	}
	all := make([]T, len(rows))
	for i := range rows {
		all[i] = rows[i].Row
	}
	body := map[string]any{of.name: all}
	// A form without a version has had no preview, so nothing can be applied yet.
	if d.r.PostForm.Get("do") == "apply" && d.formVersion() != "" {
		refused, ok := d.send(http.MethodPost, of.path, d.formVersion(), body, nil)
		switch {
		case !ok:
			return
		case refused == nil:
			d.waitUntil(func() bool {
				_, version, err := of.now()
				return err == nil && formatVersion(version) != d.formVersion()
			})
			d.leaveNotice(of.back, of.done, "n", len(rows))
			return
		case !refused.IsOvertaken():
			showFileFaults(d, out, rows, refused)
			return
		}
		d.refuse(refused)
		out.Refused = []string{d.T("int.overtaken")}
	}
	out.Text = text
	previewFile(d, out, of, rows, body)
}

// showFileFaults shows the API's errors for the rows of a file.
func showFileFaults[T any](d *adminRequest, out *importPage, rows []sheets.Line[T], refused *apicall.Refusal) {
	d.refuse(refused)
	out.Text = ""
	out.Faults = listFaults(d, refused, func(row int) int { return rows[min(row, len(rows)-1)].Line })
	d.show("terms.import", out)
}

// previewFile shows the changes that a file would make to the table, and any changes that another user has made since
// the last preview.
func previewFile[T any](d *adminRequest, out *importPage, of *table[T], rows []sheets.Line[T], body any) {
	now, version, err := of.now() // read before the dry run, so that the API refuses the file if the table changes after this read
	if err != nil {
		d.ShowUnavailable(d.w, d.r, d.session, "not read", err)
		return
	}
	var would struct {
		acted
		Mappings []struct{ ID string }
		IDs      []string
	}
	refused, ok := d.send(http.MethodPost, of.path+"?dryRun=true", "", body, &would)
	switch {
	case !ok:
		return
	case refused != nil:
		showFileFaults(d, out, rows, refused)
		return
	}
	ids := would.IDs
	for _, m := range would.Mappings {
		ids = append(ids, m.ID)
	}
	before, says := map[string]string{}, map[string]string{}
	if d.refused != nil {
		// The form contains the value that this page sent with the previous preview.
		//nolint:errcheck // this page wrote it; invalid JSON matches no row
		json.Unmarshal([]byte(d.r.PostForm.Get("was")), &before)
	}
	for i, id := range ids[:min(len(ids), len(rows))] {
		if row, there := now[id]; there {
			says[id] = of.says(row)
		}
		if d.refused != nil && before[id] != says[id] {
			out.Changed = append(out.Changed, overtaken{of.about(&rows[i].Row), before[id], says[id], of.says(&rows[i].Row)})
		}
	}
	was, err := json.Marshal(says)
	if err != nil {
		panic(err) // strings can always be encoded
	}
	out.Version, out.Was = formatVersion(version), string(was)
	out.Ready, out.Effect = true, newEffect(d, &would.acted, nil)
	d.show("terms.import", out)
}

// joinParts joins the nonempty parts with a separator.
func joinParts(by string, parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), by)
}

func newMapImport(d *adminRequest) importPage {
	out := newImportPage(d, "terms.import", "map", "import")
	out.Export, out.FileColumns = d.pathTo("map.csv"), "system,code,kind,factorId,op,than,comment"
	return out
}

func showMapImport(d *adminRequest) {
	out := newMapImport(d)
	d.show("terms.import", &out)
}

func importMap(d *adminRequest) {
	out := newMapImport(d)
	sendFile(d, &out, &table[sheets.Mapping]{
		path: mapAPI, name: "mappings", read: sheets.ReadMappings, back: d.pathTo("map"), done: "terms.imported",
		now: func() (map[string]*sheets.Mapping, int64, error) {
			var list struct {
				Mappings []sheets.Mapping
				Version  int64
			}
			if err := d.fetch(mapAPI+"?limit=20000", &list); err != nil {
				return nil, 0, err
			}
			rows := map[string]*sheets.Mapping{}
			for i := range list.Mappings {
				rows[list.Mappings[i].ID] = &list.Mappings[i]
			}
			return rows, list.Version, nil
		},
		about: func(m *sheets.Mapping) string {
			limit := ""
			if m.Value != nil {
				limit = m.Value.Op + " " + m.Value.Than.String()
			}
			return joinParts(", ", m.System, m.Code, m.KindName(), limit)
		},
		says: func(m *sheets.Mapping) string { return joinParts(", ", nameFactor(d, m.FactorID), m.Comment) },
	})
}
