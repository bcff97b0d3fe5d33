package integrations

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

const (
	mapAPI      = "/api/admin/terminology"
	worklistAPI = mapAPI + "/worklist"
)

func terminologySection() *section {
	return &section{
		name: "terminology", counts: true,
		shows: map[string]func(*adminRequest){
			"": forSection(showWorklist), "/code": forSection(showCode), "/map": forSection(showMap), "/map.csv": forSection(exportMap), "/import": forSection(askForMap),
			"/locations": forPlaces(showLocations), "/locations/row": forPlaces(showLocation), "/locations.csv": forPlaces(exportLocations), "/locations/import": forPlaces(askForLocations),
		},
		acts: map[string]act{
			"/code": {do: forSection(actOnCode)}, "/map/{id}": {do: forSection(takeMappingBack)}, "/import": {do: forSection(importMap)},
			"/locations/row": {do: forPlaces(setLocation)}, "/locations/row/{id}": {do: forPlaces(removeLocation)}, "/locations/import": {do: forPlaces(importLocations)},
		},
	}
}

// apiCode is a code that a sender used and nobody has mapped, as the API tells it.
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

// worklistPage shows the codes that nobody has mapped, the most frequent first.
type worklistPage struct {
	adminPage
	Tabs     []adminLink
	States   []adminLink
	Search   string
	Say      string
	Rows     []codeRow
	Pager    pager
	Ignored  bool // the list shows the codes that are ignored
	Unmapped bool
}

type codeRow struct {
	System, Code, Kind, Display, Feed, Link string
	Day, Total                              int64
	Rooms                                   string
	Suggestion                              string
	Status                                  string
}

// listTabs returns the links to the pages of the section.
func (d termsRequest) listTabs(current string) (tabs []adminLink) {
	for _, t := range []struct{ path, name string }{
		{"", d.T("terms.worklist")}, {"map", d.T("terms.map")}, {"locations", d.T("terms.locations")},
	} {
		link := adminLink{Name: t.name, Path: d.pathTo(), Current: t.path == current}
		if t.path != "" {
			link.Path = d.pathTo(t.path)
		}
		tabs = append(tabs, link)
	}
	return tabs
}

func showWorklist(d termsRequest) {
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
	list, ok := d.readWorklist(ask, min(parseCount(query.Get("page")), furthestPage))
	if !ok {
		return
	}
	out := worklistPage{adminPage: d.newPage("int.terminology"), Tabs: d.listTabs(""), Search: search, Ignored: status == "ignored", Unmapped: status == "unmapped"}
	for _, s := range []struct{ status, name string }{{"unmapped", d.T("terms.unmapped")}, {"ignored", d.T("terms.ignored")}, {"mapped", d.T("terms.mapped")}} {
		out.States = append(out.States, adminLink{Name: s.name, Path: d.pathTo() + "?status=" + s.status, Current: s.status == status && search == ""})
	}
	for i := range list.Items {
		out.Rows = append(out.Rows, d.newCodeRow(&list.Items[i]))
	}
	out.Say = d.T("terms.codes", "n", list.Total)
	_, _, out.Pager = d.cutToPage(list.Total)
	d.show(http.StatusOK, "terms.worklist", &out)
}

// furthestPage bounds the page of a query, so that its offset is one that the API takes.
const furthestPage = 1 << 20

// codeList is a page of the worklist, as the API tells it.
type codeList struct {
	Items []apiCode
	Total int
}

// find returns the code of a system and kind, "" for any; nil: the list has none.
func (l *codeList) find(system, kind string) *apiCode {
	at := slices.IndexFunc(l.Items, func(c apiCode) bool { return c.System == system && (c.Kind == kind || kind == "") })
	if at < 0 {
		return nil
	}
	return &l.Items[at]
}

// readWorklist returns a page of the worklist. Beyond the end of the list it returns the last
// page. It returns false after it has answered with a fault.
func (d termsRequest) readWorklist(ask url.Values, at int) (list codeList, ok bool) {
	offset := max(at-1, 0) * rowsAPage
	ask.Set("offset", strconv.Itoa(offset))
	if _, ok = d.read(worklistAPI+"?"+ask.Encode(), &list); !ok || offset < list.Total || offset == 0 {
		return list, ok
	}
	ask.Set("offset", strconv.Itoa(max(list.Total-1, 0)/rowsAPage*rowsAPage))
	_, ok = d.read(worklistAPI+"?"+ask.Encode(), &list)
	return list, ok
}

// parseCount reads a whole number; 0: the text is none.
func parseCount(text string) int {
	if n, err := strconv.Atoi(text); err == nil {
		return n
	}
	return 0
}

func (d termsRequest) newCodeRow(c *apiCode) codeRow {
	row := codeRow{
		System: c.System, Code: c.Code, Kind: d.Or("kind."+c.Kind, c.Kind), Display: c.Display, Feed: d.Or("feed."+c.Feed, c.Feed),
		Day: c.Count24h, Total: c.CountTotal, Rooms: joinRooms(c.Rooms), Status: c.Status,
		Link: d.pathTo("code") + "?" + url.Values{"system": {c.System}, "code": {c.Code}, "kind": {c.Kind}}.Encode(),
	}
	if len(c.Suggestions) > 0 {
		row.Suggestion = d.nameFactor(c.Suggestions[0].FactorID)
	}
	return row
}

// joinRooms writes the ids of rooms.
func joinRooms(ids []int32) string {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = strconv.Itoa(int(id))
	}
	return strings.Join(texts, ", ")
}

// apiMapping is a row of the terminology map, as the API tells it.
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

// readMappings returns the terminology map. It returns false after it has answered with a
// fault.
func (d termsRequest) readMappings() (all []apiMapping, ok bool) {
	var list struct{ Mappings []apiMapping }
	_, ok = d.read(mapAPI+"?limit=20000", &list)
	return list.Mappings, ok
}
