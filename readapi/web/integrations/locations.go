package integrations

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"svc/internal/admin/sheets"
)

const locationsAPI = "/api/admin/locations"

// apiLocation is a row of the location table in an API response.
type apiLocation struct {
	ID string
	sheets.Location
	By      string
	Version int64
}

// apiRoom is a room that a feed has named and that the location table does not confirm.
type apiRoom struct {
	RoomID                       int32
	RoomLabel, PointOfCare, Room string
}

// apiLocations is the location table in an API response.
type apiLocations struct {
	Locations        []apiLocation
	UnknownLocations []apiRoom
	Version          int64
}

var locationList = list[apiLocation]{locationsAPI, "locations"}

// locationsPage shows the location table and the unconfirmed rooms.
type locationsPage struct {
	adminPage
	Unknown []locationRow
	Rows    []locationRow
}

type locationRow struct {
	Place, Is, Label, Area, Primary, Link string
}

func newLocationRow(d *adminRequest, l *apiLocation) locationRow {
	row := locationRow{Place: formatPlace(&l.Location), Label: l.RoomLabel, Area: l.Area, Is: d.T("places.inside")}
	switch {
	case l.Outside:
		row.Is = d.T("places.outside")
	case l.RoomID != nil:
		row.Is = d.T("places.room", "id", *l.RoomID)
	}
	if l.PrimaryFactor != nil {
		row.Primary = nameFactor(d, *l.PrimaryFactor)
	}
	row.Link = d.pathTo("locations", "row") + "?" + url.Values{"id": {l.ID}}.Encode()
	return row
}

// formatPlace formats a place as the sender names it, or as the room id if the sender's names are empty.
func formatPlace(l *sheets.Location) string {
	place := joinParts(" / ", l.PointOfCare, l.Room, l.Bed)
	if place == "" && l.RoomID != nil {
		return strconv.Itoa(int(*l.RoomID))
	}
	return place
}

func showLocations(d *adminRequest) {
	var all apiLocations
	if _, ok := d.read(locationsAPI, &all); !ok {
		return
	}
	out := locationsPage{adminPage: d.newPage("terms.locations")}
	row := d.pathTo("locations", "row")
	out.Tabs, out.Act = listTermTabs(d, "locations"), &adminLink{Name: d.T("places.new"), Path: row}
	for _, r := range all.UnknownLocations {
		q := url.Values{"roomId": {strconv.Itoa(int(r.RoomID))}, "roomLabel": {r.RoomLabel}, "pointOfCare": {r.PointOfCare}, "room": {r.Room}}
		place := formatPlace(&sheets.Location{PointOfCare: r.PointOfCare, Room: r.Room, RoomID: &r.RoomID})
		out.Unknown = append(out.Unknown, locationRow{Place: place, Label: r.RoomLabel, Link: row + "?" + q.Encode()})
	}
	out.Rows = newRows(d, &out.adminPage, all.Locations, newLocationRow)
	d.show("terms.locations", &out)
}

// locationPage shows one row of the location table.
type locationPage struct {
	adminPage
	ID      string // "": the row is new
	Factors []option
	Effect  *effect
}

// locationFields are the form fields of a row.
var locationFields = []formField{
	{name: "pointOfCare", label: "places.point"},
	{name: "room", label: "places.roomname"},
	{name: "bed", label: "places.bed"},
	{name: "roomId", label: "places.id"},
	{name: "roomLabel", label: "places.label"},
	{name: "area", label: "places.area"},
	{name: "outside", label: "places.outside"},
	{name: "primaryFactor", label: "places.primary"},
}

// showLocation shows the row of the location table whose id is in the query, or the form for a new row.
func showLocation(d *adminRequest) { showLocationRow(d, d.r.URL.Query().Get("id")) }

// showLocationRow shows the row of the location table with the given id; "" means a new row.
func showLocationRow(d *adminRequest, id string) {
	out := locationPage{adminPage: d.newPage("places.row"), ID: id, Effect: d.effect}
	out.Tabs = listTermTabs(d, "locations")
	values, now := url.Values{}, url.Values{}
	for _, name := range []string{"roomId", "roomLabel", "pointOfCare", "room"} {
		values.Set(name, d.r.URL.Query().Get(name))
	}
	if id != "" {
		l, ok := locationList.find(d, func(l *apiLocation) bool { return l.ID == id })
		if !ok {
			return
		}
		now = listLocationValues(&l.Location)
		out.Version, values = formatVersion(l.Version), now
	}
	d.useForm(&out.adminPage, values, now, locationFields...)
	out.Factors = listFactors(d, out.Form.Value("primaryFactor"))
	d.show("terms.location", &out)
}

func listLocationValues(l *sheets.Location) url.Values {
	v := url.Values{"pointOfCare": {l.PointOfCare}, "room": {l.Room}, "bed": {l.Bed}, "roomLabel": {l.RoomLabel}, "area": {l.Area}}
	if l.RoomID != nil {
		v.Set("roomId", strconv.Itoa(int(*l.RoomID)))
	}
	if l.Outside {
		v.Set("outside", "true")
	}
	v.Set("primaryFactor", textOrEmpty(l.PrimaryFactor))
	return v
}

// readLocationForm returns the row from a form, in the API's format.
func readLocationForm(f url.Values) map[string]any {
	body := map[string]any{}
	for _, name := range []string{"pointOfCare", "room", "bed", "roomLabel", "area", "primaryFactor"} {
		if text := strings.TrimSpace(f.Get(name)); text != "" {
			body[name] = text
		}
	}
	if id := parseNumber(f.Get("roomId")); id != nil {
		body["roomId"] = id
	}
	if f.Get("outside") == "true" {
		body["outside"] = true
	}
	return body
}

func setLocation(d *adminRequest) {
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
	refusedRow := func(d *adminRequest) {
		if d.refused.IsOvertaken() && id == "" {
			id = findLocation(d, f)
		}
		showLocationRow(d, id)
	}
	switch {
	case !d.do(http.MethodPost, path, d.formVersionOrNew(), readLocationForm(f), &would, refusedRow):
	case apply:
		locationList.wait(d, true, func(l *apiLocation) bool { return l.ID == would.ID })
		d.leaveNotice(d.pathTo("locations"), "places.done")
	default:
		d.effect = newEffect(d, &would.acted, nil)
		showLocationRow(d, id)
	}
}

// findLocation returns the id of the row for the place that is entered in a form, or "" if there is none.
func findLocation(d *adminRequest, f url.Values) string {
	var list apiLocations
	if d.fetch(locationsAPI, &list) != nil {
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

func removeLocation(d *adminRequest) {
	id := d.pathID()
	asItIs := untyped(func(d *adminRequest) { showLocationRow(d, id) })
	if !d.do(http.MethodDelete, locationsAPI+"/"+url.PathEscape(id), d.formVersion(), nil, nil, asItIs) {
		return
	}
	locationList.wait(d, false, func(l *apiLocation) bool { return l.ID == id })
	d.leaveNotice(d.pathTo("locations"), "places.removed")
}

func newLocationsImport(d *adminRequest) importPage {
	out := newImportPage(d, "places.import", "locations", "locations", "import")
	out.Export, out.FileColumns = d.pathTo("locations.csv"), "pointOfCare,room,bed,roomId,roomLabel,area,outside,primaryFactor"
	return out
}

func showLocationsImport(d *adminRequest) {
	out := newLocationsImport(d)
	d.show("terms.import", &out)
}

func importLocations(d *adminRequest) {
	out := newLocationsImport(d)
	sendFile(d, &out, &table[sheets.Location]{
		path: locationsAPI, name: "locations", read: sheets.ReadLocations, back: d.pathTo("locations"), done: "places.imported",
		now: func() (map[string]*sheets.Location, int64, error) {
			var list apiLocations
			if err := d.fetch(locationsAPI, &list); err != nil {
				return nil, 0, err
			}
			rows := map[string]*sheets.Location{}
			for i := range list.Locations {
				rows[list.Locations[i].ID] = &list.Locations[i].Location
			}
			return rows, list.Version, nil
		},
		about: formatPlace,
		says: func(l *sheets.Location) string {
			row := newLocationRow(d, &apiLocation{Location: *l})
			return joinParts(", ", row.Is, row.Label, row.Area, row.Primary)
		},
	})
}

func exportLocations(d *adminRequest) {
	exportCSV(d, list[sheets.Location]{locationsAPI, "locations"}, "locations", sheets.WriteLocations)
}
