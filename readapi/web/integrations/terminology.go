package integrations

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"svc/acuity/catalogue"
	"svc/internal/admin/sheets"
)

const (
	mapAPI      = "/api/admin/terminology"
	worklistAPI = mapAPI + "/worklist"
)

func terminologySection() *section {
	return &section{
		name: "terminology", counts: true,
		shows: map[string]handler{
			"": {serve: showWorklist}, "/code": {serve: showCodeOfQuery}, "/map": {serve: showMap}, "/map.csv": {serve: exportMap},
			"/import": {serve: showMapImport}, "/locations": {serve: showLocations}, "/locations/row": {serve: showLocation},
			"/locations.csv": {serve: exportLocations}, "/locations/import": {serve: showLocationsImport},
		},
		acts: map[string]handler{
			"/code": {serve: actOnCode}, "/map/{id}": {serve: undoMapping}, "/import": {serve: importMap, imports: true},
			"/locations/row": {serve: setLocation}, "/locations/row/{id}": {serve: removeLocation},
			"/locations/import": {serve: importLocations, imports: true},
		},
	}
}

// nameFactor returns the name of the factor with the given id. The id "none" means that a code has no factor.
func nameFactor(d *adminRequest, id string) string {
	if id == noFactor {
		return d.T("terms.nothing")
	}
	return d.Or("factor."+id, id)
}

// noFactor is the API's factor id for codes without a meaning.
const noFactor = "none"

// listFactors returns all factors of the catalogue, ordered by name.
func listFactors(d *adminRequest, chosen string) (all []option) {
	for f := catalogue.Factor(1); int(f) <= catalogue.Default().Len(); f++ {
		all = append(all, option{f.ID(), d.FactorName(f), f.ID() == chosen})
	}
	slices.SortFunc(all, func(a, b option) int { return strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)) })
	return all
}

// apiCode is a code on the worklist, in an API response.
type apiCode struct {
	System, Code, Display, Kind, Feed, Status string
	Count24h, CountTotal                      int64
	Rooms                                     []int32
	Suggestions                               []apiSuggestion
}

type apiSuggestion struct {
	FactorID, Reason string
	Score            int
}

// worklistPage shows the codes on the worklist, most frequent first.
type worklistPage struct {
	adminPage
	States []adminLink
	Search string
	Say    string
	Rows   []codeRow
}

type codeRow struct {
	System, Code, Kind, Display, Feed, Link string
	Day, Total                              int64
	Rooms                                   string
	Suggestion                              string
	Status                                  string
}

// listTermTabs returns the links to the pages of the section.
func listTermTabs(d *adminRequest, current string) []adminLink {
	return []adminLink{
		{Name: d.T("terms.worklist"), Path: d.pathTo(), Current: current == ""},
		{Name: d.T("terms.map"), Path: d.pathTo("map"), Current: current == "map"},
		{Name: d.T("terms.locations"), Path: d.pathTo("locations"), Current: current == "locations"},
	}
}

func showWorklist(d *adminRequest) {
	query := d.r.URL.Query()
	status := query.Get("status")
	if status != "ignored" && status != "mapped" {
		status = "unmapped"
	}
	ask := url.Values{"status": {status}, "limit": {strconv.Itoa(rowsAPage)}}
	search := strings.TrimSpace(query.Get("code"))
	if search != "" {
		ask.Set("code", search)
		ask.Del("status")
	}
	list, ok := readWorklist(d, ask, min(parseCount(query.Get("page")), furthestPage))
	if !ok {
		return
	}
	out := worklistPage{adminPage: d.newPage("int.terminology"), Search: search}
	out.Tabs = listTermTabs(d, "")
	for _, s := range []struct{ status, name string }{
		{"unmapped", d.T("terms.unmapped")}, {"ignored", d.T("terms.ignored")}, {"mapped", d.T("terms.mapped")},
	} {
		current := s.status == status && search == ""
		out.States = append(out.States, adminLink{Name: s.name, Path: d.pathTo() + "?status=" + s.status, Current: current})
	}
	for i := range list.Items {
		out.Rows = append(out.Rows, newCodeRow(d, &list.Items[i]))
	}
	out.Say = d.T("terms.codes", "n", list.Total)
	_, _, out.Pager = d.cutToPage(list.Total)
	d.show("terms.worklist", &out)
}

// furthestPage is the maximum page number in a query. The resulting offset is still valid for the API.
const furthestPage = 1 << 20

// codeList is one page of the worklist in an API response.
type codeList struct {
	Items []apiCode
	Total int
}

// find returns the first code with the given system and kind, or nil if there is none. The kind "" means any kind.
func (l *codeList) find(system, kind string) *apiCode {
	return findRow(l.Items, func(c *apiCode) bool { return c.System == system && (c.Kind == kind || kind == "") })
}

// readWorklist returns the requested page of the worklist, or the last page if the page number is beyond the end. If
// it returns false, it has sent an error response.
func readWorklist(d *adminRequest, ask url.Values, at int) (list codeList, ok bool) {
	offset := max(at-1, 0) * rowsAPage
	ask.Set("offset", strconv.Itoa(offset))
	if _, ok = d.read(worklistAPI+"?"+ask.Encode(), &list); !ok || offset < list.Total || offset == 0 {
		return list, ok
	}
	ask.Set("offset", strconv.Itoa(max(list.Total-1, 0)/rowsAPage*rowsAPage))
	_, ok = d.read(worklistAPI+"?"+ask.Encode(), &list)
	return list, ok
}

func newCodeRow(d *adminRequest, c *apiCode) codeRow {
	row := codeRow{
		System: c.System, Code: c.Code, Kind: d.Or("kind."+c.Kind, c.Kind), Display: c.Display, Feed: d.Or("feed."+c.Feed, c.Feed),
		Day: c.Count24h, Total: c.CountTotal, Rooms: joinRooms(c.Rooms), Status: c.Status,
		Link: d.pathTo("code") + "?" + url.Values{"system": {c.System}, "code": {c.Code}, "kind": {c.Kind}}.Encode(),
	}
	if len(c.Suggestions) > 0 {
		row.Suggestion = nameFactor(d, c.Suggestions[0].FactorID)
	}
	return row
}

// joinRooms formats a list of room ids.
func joinRooms(ids []int32) string {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = strconv.Itoa(int(id))
	}
	return strings.Join(texts, ", ")
}

// apiMapping is a row of the terminology map in an API response.
type apiMapping struct {
	ID, System, Code, FactorID, Comment, By string
	Kind                                    *string
	Value                                   *struct {
		Op   string
		Than json.Number
	}
	Version int64
}

func (m *apiMapping) same(system, code, kind, op, than string) bool {
	mine, limit := textOrEmpty(m.Kind), ""
	if m.Value != nil {
		limit = m.Value.Op + m.Value.Than.String()
	}
	return m.System == system && m.Code == code && mine == kind && limit == op+than
}

var mappingList = list[apiMapping]{mapAPI + "?limit=20000", "mappings"}

// mapPage shows the terminology map.
type mapPage struct {
	adminPage
	Search string
	Rows   []mapRow
}

type mapRow struct {
	ID, System, Code, Kind, Factor, Value, Comment, Link string
}

func newMapRow(d *adminRequest, m *apiMapping) mapRow {
	row := mapRow{ID: m.ID, System: m.System, Code: m.Code, Factor: nameFactor(d, m.FactorID), Comment: m.Comment, Kind: d.T("kind.any")}
	if m.Kind != nil {
		row.Kind = d.Or("kind."+*m.Kind, *m.Kind)
	}
	if m.Value != nil {
		row.Value = m.Value.Op + " " + m.Value.Than.String()
	}
	q := url.Values{"system": {m.System}, "code": {m.Code}, "kind": {textOrEmpty(m.Kind)}, "id": {m.ID}}
	row.Link = d.pathTo("code") + "?" + q.Encode()
	return row
}

func showMap(d *adminRequest) {
	all, ok := mappingList.read(d)
	if !ok {
		return
	}
	out := mapPage{adminPage: d.newPage("terms.map"), Search: strings.TrimSpace(d.r.URL.Query().Get("code"))}
	out.Tabs = listTermTabs(d, "map")
	all = slices.DeleteFunc(all, func(m apiMapping) bool {
		return !strings.Contains(strings.ToLower(m.Code+" "+m.FactorID), strings.ToLower(out.Search))
	})
	out.Rows = newRows(d, &out.adminPage, all, newMapRow)
	d.show("terms.map", &out)
}

// undoMapping removes a row of the map, or shows the effect of removing it.
func undoMapping(d *adminRequest) {
	f, path := d.r.PostForm, mapAPI+"/"+url.PathEscape(d.pathID())
	system, code, kind := f.Get("system"), f.Get("code"), f.Get("kind")
	asItIs := untyped(func(d *adminRequest) { showCode(d, system, code, kind) })
	if f.Get("do") == "preview" {
		var would acted
		if d.do(http.MethodDelete, path+"?dryRun=true", d.formVersion(), nil, &would, asItIs) {
			showCodeEffect(d, &would, system, code, kind, asItIs)
		}
		return
	}
	if !d.do(http.MethodDelete, path, d.formVersion(), nil, nil, asItIs) {
		return
	}
	mappingList.wait(d, false, func(m *apiMapping) bool { return m.ID == d.pathID() })
	d.leaveNotice(d.pathTo("map"), "terms.taken", "code", code)
}

func exportMap(d *adminRequest) {
	exportCSV(d, list[sheets.Mapping]{mappingList.path, "mappings"}, "terminology", sheets.WriteMappings)
}

// exportCSV responds with a list as a CSV file.
func exportCSV[T any](d *adminRequest, of list[T], what string, write func(io.Writer, []T) error) {
	rows, ok := of.read(d)
	if !ok {
		return
	}
	h := d.w.Header()
	h.Set("Content-Type", "text/csv; charset=utf-8")
	h.Set("Content-Disposition", fmt.Sprintf(`attachment; filename="%s-%s.csv"`, what, d.now().In(d.Zone).Format("2006-01-02")))
	write(d.w, rows) //nolint:errcheck // fails only if the client has disconnected
}
