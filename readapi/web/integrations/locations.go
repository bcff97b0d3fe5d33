package integrations

import (
	"bytes"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"svc/internal/admin/sheets"
	"svc/readapi/web/apicall"
)

const locationsAPI = "/api/admin/locations"

// apiLocation is a row of the location table, as the API tells it.
type apiLocation struct {
	ID string
	sheets.Location
	By      string
	Version int64
}

// apiRoom is a room that a feed made known, and that nobody has confirmed.
type apiRoom struct {
	RoomID                       int32
	RoomLabel, PointOfCare, Room string
}

// apiLocations is the location table, as the API tells it.
type apiLocations struct {
	Locations        []apiLocation
	UnknownLocations []apiRoom
	Version          int64
}

// locationsPage is the location table, and the rooms that nobody has confirmed.
type locationsPage struct {
	adminPage
	Tabs    []adminLink
	Unknown []locationRow
	Rows    []locationRow
	Pager   pager
}

type locationRow struct {
	Place, Is, Label, Area, Primary, By, Link string
}

func (d placesRequest) locationRow(l *apiLocation) locationRow {
	row := locationRow{Place: place(&l.Location), Label: l.RoomLabel, Area: l.Area, By: l.By, Is: d.T("places.inside")}
	switch {
	case l.Outside:
		row.Is = d.T("places.outside")
	case l.RoomID != nil:
		row.Is = d.T("places.room", "id", *l.RoomID)
	}
	if l.PrimaryFactor != nil {
		row.Primary = d.factorNamed(*l.PrimaryFactor)
	}
	row.Link = d.at("locations", "row") + "?" + url.Values{"id": {l.ID}}.Encode()
	return row
}

// place is how a sender names a place.
func place(l *sheets.Location) string {
	var parts []string
	for _, part := range []string{l.PointOfCare, l.Room, l.Bed} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	if len(parts) == 0 && l.RoomID != nil {
		return strconv.Itoa(int(*l.RoomID))
	}
	return strings.Join(parts, " / ")
}

func showLocations(on *adminRequest) {
	d := placesRequest{termsRequest{localRequest{on}}}
	var list apiLocations
	if _, ok := d.read(locationsAPI, &list); !ok {
		return
	}
	out := locationsPage{adminPage: d.page("terms.locations"), Tabs: d.terminologyTabs("locations")}
	out.Act = &adminLink{Name: d.T("places.new"), Path: d.at("locations", "row")}
	for i := range list.UnknownLocations {
		r := &list.UnknownLocations[i]
		q := url.Values{"roomId": {strconv.Itoa(int(r.RoomID))}, "roomLabel": {r.RoomLabel}, "pointOfCare": {r.PointOfCare}, "room": {r.Room}}
		out.Unknown = append(out.Unknown, locationRow{
			Place: place(&sheets.Location{PointOfCare: r.PointOfCare, Room: r.Room, RoomID: &r.RoomID}), Label: r.RoomLabel,
			Link: d.at("locations", "row") + "?" + q.Encode(),
		})
	}
	first, last, p := d.pages(len(list.Locations))
	out.Pager = p
	for i := range list.Locations[first:last] {
		out.Rows = append(out.Rows, d.locationRow(&list.Locations[first+i]))
	}
	d.show(http.StatusOK, "terms.locations", &out)
}

// locationPage is one row of the location table.
type locationPage struct {
	adminPage
	Tabs    []adminLink
	ID      string // "": it is new
	Version string
	Form    *form
	Factors []option
	Was     []field
	Effect  *effect
}

// locationFields are the fields of a row with the keys of their labels.
var locationFields = [][2]string{
	{"pointOfCare", "places.point"},
	{"room", "places.roomname"},
	{"bed", "places.bed"},
	{"roomId", "places.id"},
	{"roomLabel", "places.label"},
	{"area", "places.area"},
	{"outside", "places.outside"},
	{"primaryFactor", "places.primary"},
}

func showLocation(on *adminRequest) {
	d := placesRequest{termsRequest{localRequest{on}}}
	d.showLocation(http.StatusOK, d.r.URL.Query().Get("id"), nil, nil)
}

// showLocation shows a row of the location table, or asks for a new one.
func (d placesRequest) showLocation(status int, id string, refused *apicall.Refusal, would *effect) {
	out := locationPage{adminPage: d.page("places.row"), Tabs: d.terminologyTabs("locations"), Effect: would}
	values, now := url.Values{}, url.Values{}
	for _, name := range []string{"roomId", "roomLabel", "pointOfCare", "room"} {
		values.Set(name, d.r.URL.Query().Get(name))
	}
	if id != "" {
		l, ok := d.location(id)
		if !ok {
			return
		}
		out.ID, out.Version = l.ID, strconv.FormatInt(l.Version, 10)
		values = locationValues(&l.Location)
		now = values
	}
	out.Form = d.form(values, refused)
	names := make([]string, len(locationFields))
	for i, f := range locationFields {
		names[i] = f[0]
		out.Was = append(out.Was, field{Name: f[0], Value: now.Get(f[0])})
	}
	out.Refused = out.Form.refusedWords(names...)
	if refused.IsOvertaken() {
		out.Refused, out.Changed = []string{d.T("int.overtaken")}, d.compared(now, locationFields...)
	}
	out.Factors = d.factors(out.Form.Value("primaryFactor"))
	d.show(status, "terms.location", &out)
}

func locationValues(l *sheets.Location) url.Values {
	v := url.Values{"pointOfCare": {l.PointOfCare}, "room": {l.Room}, "bed": {l.Bed}, "roomLabel": {l.RoomLabel}, "area": {l.Area}}
	if l.RoomID != nil {
		v.Set("roomId", strconv.Itoa(int(*l.RoomID)))
	}
	if l.Outside {
		v.Set("outside", "true")
	}
	v.Set("primaryFactor", deref(l.PrimaryFactor))
	return v
}

// location returns a row of the table; false: the page has answered.
func (d placesRequest) location(id string) (l apiLocation, ok bool) {
	var list apiLocations
	if _, ok = d.read(locationsAPI, &list); !ok {
		return l, false
	}
	for _, l := range list.Locations {
		if l.ID == id {
			return l, true
		}
	}
	d.gone()
	return l, false
}

// locationTyped is the row that a form asks for, as the API takes it.
func locationTyped(f url.Values) map[string]any {
	body := map[string]any{}
	for _, name := range []string{"pointOfCare", "room", "bed", "roomLabel", "area", "primaryFactor"} {
		if text := strings.TrimSpace(f.Get(name)); text != "" {
			body[name] = text
		}
	}
	if id := number(f.Get("roomId")); id != nil {
		body["roomId"] = id
	}
	if f.Get("outside") == "true" {
		body["outside"] = true
	}
	return body
}

func setLocation(on *adminRequest) {
	d := placesRequest{termsRequest{localRequest{on}}}
	f := d.r.PostForm
	id := f.Get("id")
	path, apply := locationsAPI, f.Get("do") == "apply"
	if !apply {
		path += "?dryRun=true"
	}
	var would struct {
		acted
		ID string
	}
	refused, ok := d.doIf(http.MethodPost, path, f.Get("version"), locationTyped(f), &would)
	switch {
	case !ok:
	case refused != nil:
		if refused.IsOvertaken() && id == "" {
			id = d.sameLocation(f)
		}
		d.showLocation(refused.PageStatus(), id, refused, nil)
	case apply:
		d.settle(func() bool { return d.hasLocation(would.ID) })
		d.done(d.at("locations"), "places.done")
	default:
		d.showLocation(http.StatusOK, id, nil, d.effectOf(&would.acted, nil))
	}
}

// sameLocation returns the row about the place of a form; "": there is none.
func (d placesRequest) sameLocation(f url.Values) string {
	var list apiLocations
	a, err := d.ask(http.MethodGet, locationsAPI, "", nil)
	if err != nil || a.Refused != nil || a.Decode(&list) != nil {
		return ""
	}
	same := func(a, b string) bool {
		return strings.EqualFold(strings.Join(strings.Fields(a), " "), strings.Join(strings.Fields(b), " "))
	}
	for i := range list.Locations {
		l := &list.Locations[i]
		if same(l.PointOfCare, f.Get("pointOfCare")) && same(l.Room, f.Get("room")) && same(l.Bed, f.Get("bed")) {
			return l.ID
		}
	}
	return ""
}

func (d placesRequest) hasLocation(id string) bool {
	var list apiLocations
	a, err := d.ask(http.MethodGet, locationsAPI, "", nil)
	if err != nil || a.Refused != nil || a.Decode(&list) != nil {
		return false
	}
	for i := range list.Locations {
		if list.Locations[i].ID == id {
			return true
		}
	}
	return false
}

func removeLocation(on *adminRequest) {
	d := placesRequest{termsRequest{localRequest{on}}}
	refused, ok := d.do(http.MethodDelete, locationsAPI+"/"+url.PathEscape(d.id()), d.version(), nil, nil)
	switch {
	case refused != nil:
		d.r.PostForm = nil // the row is shown as it is now
		d.showLocation(refused.PageStatus(), d.id(), refused, nil)
	case ok:
		d.settle(func() bool { return !d.hasLocation(d.id()) })
		d.done(d.at("locations"), "places.removed")
	}
}

func (d placesRequest) locationsImport() importPage {
	out := d.importPage("places.import", "locations", "locations", "import")
	out.Export, out.Columns = d.at("locations.csv"), "pointOfCare,room,bed,roomId,roomLabel,area,outside,primaryFactor"
	return out
}

func askForLocations(on *adminRequest) {
	d := placesRequest{termsRequest{localRequest{on}}}
	out := d.locationsImport()
	d.show(http.StatusOK, "terms.import", &out)
}

func importLocations(on *adminRequest) {
	d := placesRequest{termsRequest{localRequest{on}}}
	out := d.locationsImport()
	sendFile(d.termsRequest, &out, &table[sheets.Location]{
		path: locationsAPI, name: "locations", read: sheets.ReadLocations, back: d.at("locations"), done: "places.imported",
		now: func() (map[string]*sheets.Location, int64, error) {
			var list apiLocations
			if err := d.list(locationsAPI, &list); err != nil {
				return nil, 0, err
			}
			rows := map[string]*sheets.Location{}
			for i := range list.Locations {
				rows[list.Locations[i].ID] = &list.Locations[i].Location
			}
			return rows, list.Version, nil
		},
		about: place,
		says: func(l *sheets.Location) string {
			row := d.locationRow(&apiLocation{Location: *l})
			return commaList(row.Is, row.Label, row.Area, row.Primary)
		},
	})
}

func exportLocations(on *adminRequest) {
	d := placesRequest{termsRequest{localRequest{on}}}
	var list struct{ Locations []sheets.Location }
	if _, ok := d.read(locationsAPI, &list); !ok {
		return
	}
	var file bytes.Buffer
	if err := sheets.WriteLocations(&file, list.Locations); err != nil {
		panic(err) // memory
	}
	d.download("locations", file.Bytes())
}
