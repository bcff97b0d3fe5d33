package integrations

import (
	"bytes"
	"net/http"
	"net/url"
	"slices"
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

// apiRoom is a room from a feed that nobody has confirmed.
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

// locationsPage shows the location table, and the rooms that nobody has confirmed.
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

func (d placesRequest) newLocationRow(l *apiLocation) locationRow {
	row := locationRow{Place: formatPlace(&l.Location), Label: l.RoomLabel, Area: l.Area, By: l.By, Is: d.T("places.inside")}
	switch {
	case l.Outside:
		row.Is = d.T("places.outside")
	case l.RoomID != nil:
		row.Is = d.T("places.room", "id", *l.RoomID)
	}
	if l.PrimaryFactor != nil {
		row.Primary = d.nameFactor(*l.PrimaryFactor)
	}
	row.Link = d.pathTo("locations", "row") + "?" + url.Values{"id": {l.ID}}.Encode()
	return row
}

// formatPlace writes a place as its sender names it.
func formatPlace(l *sheets.Location) string {
	place := joinParts(" / ", l.PointOfCare, l.Room, l.Bed)
	if place == "" && l.RoomID != nil {
		return strconv.Itoa(int(*l.RoomID))
	}
	return place
}

func showLocations(d placesRequest) {
	var list apiLocations
	if _, ok := d.read(locationsAPI, &list); !ok {
		return
	}
	out := locationsPage{adminPage: d.newPage("terms.locations"), Tabs: d.listTabs("locations")}
	out.Act = &adminLink{Name: d.T("places.new"), Path: d.pathTo("locations", "row")}
	for i := range list.UnknownLocations {
		r := &list.UnknownLocations[i]
		q := url.Values{"roomId": {strconv.Itoa(int(r.RoomID))}, "roomLabel": {r.RoomLabel}, "pointOfCare": {r.PointOfCare}, "room": {r.Room}}
		out.Unknown = append(out.Unknown, locationRow{
			Place: formatPlace(&sheets.Location{PointOfCare: r.PointOfCare, Room: r.Room, RoomID: &r.RoomID}), Label: r.RoomLabel,
			Link: d.pathTo("locations", "row") + "?" + q.Encode(),
		})
	}
	first, last, p := d.cutToPage(len(list.Locations))
	out.Pager = p
	for i := range list.Locations[first:last] {
		out.Rows = append(out.Rows, d.newLocationRow(&list.Locations[first+i]))
	}
	d.show(http.StatusOK, "terms.locations", &out)
}

// locationPage shows one row of the location table.
type locationPage struct {
	adminPage
	Tabs    []adminLink
	ID      string // "": the row is new
	Version string
	Form    *form
	Factors []option
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

func showLocation(d placesRequest) {
	d.showLocation(http.StatusOK, d.r.URL.Query().Get("id"), nil, nil)
}

// showLocation shows a row of the location table, or asks for a new one.
func (d placesRequest) showLocation(status int, id string, refused *apicall.Refusal, would *effect) {
	out := locationPage{adminPage: d.newPage("places.row"), Tabs: d.listTabs("locations"), Effect: would}
	values, now := url.Values{}, url.Values{}
	for _, name := range []string{"roomId", "roomLabel", "pointOfCare", "room"} {
		values.Set(name, d.r.URL.Query().Get(name))
	}
	if id != "" {
		l, ok := d.readLocation(id)
		if !ok {
			return
		}
		out.ID, out.Version = l.ID, strconv.FormatInt(l.Version, 10)
		values = listLocationValues(&l.Location)
		now = values
	}
	out.Form = d.newForm(values, refused)
	out.Form.was = now
	names := make([]string, len(locationFields))
	for i, f := range locationFields {
		names[i] = f[0]
	}
	out.Refused = out.Form.listRefusals(names...)
	if refused.IsOvertaken() {
		out.Refused, out.Changed = []string{d.T("int.overtaken")}, d.compareValues(now, locationFields...)
	}
	out.Factors = d.listFactors(out.Form.Value("primaryFactor"))
	d.show(status, "terms.location", &out)
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

// readLocation returns a row of the table. It returns false after it has answered with a
// fault.
func (d placesRequest) readLocation(id string) (l apiLocation, ok bool) {
	var list apiLocations
	if _, ok = d.read(locationsAPI, &list); !ok {
		return l, false
	}
	for _, l := range list.Locations {
		if l.ID == id {
			return l, true
		}
	}
	d.showNotFound()
	return l, false
}

// readLocationForm returns the row of a form, as the API takes it.
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

func setLocation(d placesRequest) {
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
	refused, ok := d.sendIf(http.MethodPost, path, f.Get("version"), readLocationForm(f), &would)
	switch {
	case !ok:
	case refused != nil:
		if refused.IsOvertaken() && id == "" {
			id = d.findLocation(f)
		}
		d.showLocation(refused.PageStatus(), id, refused, nil)
	case apply:
		d.waitUntil(func() bool { return d.hasLocation(would.ID) })
		d.leaveNotice(d.pathTo("locations"), "places.done")
	default:
		d.showLocation(http.StatusOK, id, nil, d.newEffect(&would.acted, nil))
	}
}

// findLocation returns the id of the row for the place of a form; "": there is none.
func (d placesRequest) findLocation(f url.Values) string {
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

func (d placesRequest) hasLocation(id string) bool {
	var list apiLocations
	return d.fetch(locationsAPI, &list) == nil && slices.ContainsFunc(list.Locations, func(l apiLocation) bool { return l.ID == id })
}

func removeLocation(d placesRequest) {
	refused, ok := d.send(http.MethodDelete, locationsAPI+"/"+url.PathEscape(d.pathID()), d.formVersion(), nil, nil)
	switch {
	case refused != nil:
		d.r.PostForm = nil // the page shows the row as it is now
		d.showLocation(refused.PageStatus(), d.pathID(), refused, nil)
	case ok:
		d.waitUntil(func() bool { return !d.hasLocation(d.pathID()) })
		d.leaveNotice(d.pathTo("locations"), "places.removed")
	}
}

func (d placesRequest) newLocationsImport() importPage {
	out := d.newImportPage("places.import", "locations", "locations", "import")
	out.Export, out.FileColumns = d.pathTo("locations.csv"), "pointOfCare,room,bed,roomId,roomLabel,area,outside,primaryFactor"
	return out
}

func askForLocations(d placesRequest) {
	out := d.newLocationsImport()
	d.show(http.StatusOK, "terms.import", &out)
}

func importLocations(d placesRequest) {
	out := d.newLocationsImport()
	sendFile(d.termsRequest, &out, &table[sheets.Location]{
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
			row := d.newLocationRow(&apiLocation{Location: *l})
			return joinParts(", ", row.Is, row.Label, row.Area, row.Primary)
		},
	})
}

func exportLocations(d placesRequest) {
	var list struct{ Locations []sheets.Location }
	if _, ok := d.read(locationsAPI, &list); !ok {
		return
	}
	var file bytes.Buffer
	if err := sheets.WriteLocations(&file, list.Locations); err != nil {
		panic(err) // memory
	}
	d.writeCSV("locations", file.Bytes())
}
