package readapi

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"svc/acuity/catalogue"
	"svc/acuity/facts"
	"svc/acuity/location"
	"svc/internal/httpapi"
	"svc/internal/httpapi/access"
	"svc/internal/httpapi/contract"
	"svc/internal/httpapi/problem"
)

// LocalSettings provides the lists that a hospital's administrators maintain: code mappings, locations and feed
// settings.
type LocalSettings interface {
	// LocalSettings returns the encoded records of a hospital. The records of the worklist are included only if codes
	// is true. Any error is or wraps ErrNoUnit or ErrAway.
	LocalSettings(ctx context.Context, hospital string, codes bool) (map[string]string, error)
	DecodeState(encoded string) (facts.Record, error)
	Hospital(id string) (access.Hospital, bool)
}

// localSettingsRoutes returns the routes for the lists that administrators maintain.
func localSettingsRoutes() []contract.Route[*Reads] {
	offset := contract.Parameter{Name: "offset", In: "query", About: "Number of entries to skip.", Example: "0", Most: offsetAtMost}
	all := []contract.Route[*Reads]{
		{Operation: contract.Operation{
			Path: "/api/admin/terminology", ID: "listTerminology", Summary: "Get the terminology map",
			Parameters: []contract.Parameter{contract.Limit(mappingsUsual, mappingsAtMost), offset},
			Data:       terminologyList{},
		}, Serve: (*Reads).serveTerminology},
		{Operation: contract.Operation{
			Path: "/api/admin/terminology/worklist", ID: "listWorklist", Summary: "List unmapped codes with suggested factors",
			About: "The most frequent code is first, so codes can move to another page while data arrives. " +
				"A code that is mapped or ignored remains in the list with that status.",
			Parameters: []contract.Parameter{
				{Name: "status", In: "query", About: "Only codes with this status.", Values: []string{codeUnmapped, codeIgnored, codeMapped}},
				{Name: "code", In: "query", About: "Only this code, of any system and kind.", Example: "TRAY_COUNT"},
				contract.Limit(codesUsual, codesAtMost), offset,
			},
			Data: worklistList{},
		}, Serve: (*Reads).serveWorklist},
		{Operation: contract.Operation{
			Path: "/api/admin/rules", ID: "listRules", Data: ruleList{},
			Summary: "List the values that the hospital overrides, with the catalogue values",
		}, Serve: (*Reads).serveRules},
		{Operation: contract.Operation{
			Path: "/api/admin/locations", ID: "listLocations", Data: locationList{},
			Summary: "Get the location table and the unconfirmed rooms",
		}, Serve: (*Reads).serveLocations},
		{Operation: contract.Operation{
			Path: "/api/admin/settings", ID: "getSettings", Summary: "Get the settings of the hospital",
			Data: settingsItem{}, Refuses: []problem.Kind{problem.Missing},
		}, Serve: (*Reads).serveSettings},
	}
	for i := range all {
		o := &all[i].Operation
		o.Method, o.Group, o.Scope = http.MethodGet, "Administration", access.Admin
		o.Parameters = append([]contract.Parameter{ifNoneMatch}, o.Parameters...)
	}
	return all
}

// records holds the decoded lists that a hospital's administrators maintain.
type records struct {
	mappings []*facts.MappingState
	rules    []*facts.RuleState
	places   []*facts.PlaceState
	switches *facts.SwitchesState
	codes    []*facts.CodeState
	rooms    []*facts.RoomState // rooms that feeds added
}

// readRecords returns the records of the caller's hospital. The records of the worklist are included only if codes is
// true. For a hospital without records, the lists are empty. If readRecords returns false, it has sent an error
// response.
func (s *Reads) readRecords(w http.ResponseWriter, r *http.Request, codes bool) (*records, bool) {
	all, err := s.cfg.LocalSettings.LocalSettings(r.Context(), httpapi.Caller(r.Context()).Hospital, codes)
	if err != nil && !errors.Is(err, ErrNoUnit) {
		if !errors.Is(err, ErrAway) {
			s.cfg.Shell.Log.ErrorContext(r.Context(), "local settings not read", "error", err)
		}
		httpapi.Fail(w, r, unavailable(err))
		return nil, false
	}
	out, err := s.decodeRecords(all)
	if err != nil {
		s.cfg.Shell.Log.ErrorContext(r.Context(), "record not read", "error", err)
		httpapi.Fail(w, r, httpapi.Problem{Kind: problem.Internal})
		return nil, false
	}
	return out, true
}

func (s *Reads) decodeRecords(all map[string]string) (*records, error) {
	out := &records{}
	for _, encoded := range all {
		state, err := s.cfg.LocalSettings.DecodeState(encoded)
		if err != nil {
			return nil, err //nolint:wrapcheck // the interface returns this package's errors
		}
		switch state := state.(type) {
		case *facts.MappingState:
			out.mappings = append(out.mappings, state)
		case *facts.RuleState:
			out.rules = append(out.rules, state)
		case *facts.PlaceState:
			out.places = append(out.places, state)
		case *facts.SwitchesState:
			out.switches = state
		case *facts.CodeState:
			out.codes = append(out.codes, state)
		case *facts.RoomState:
			out.rooms = append(out.rooms, state)
		}
	}
	return out, nil
}

// authored describes the last write of a resource.
type authored struct {
	Version int64        `json:"version"` // version for the If-Match header
	By      string       `json:"by"`      // id of the API key
	At      httpapi.Time `json:"at"`
}

// page is a part of a list.
type page struct{ limit, offset int }

// readPage parses ?limit and ?offset. If it returns false, it has sent an error response.
func readPage(w http.ResponseWriter, r *http.Request, preset, most int) (page, bool) {
	q := httpapi.QueryOf(r)
	p := page{int(q.Whole("limit", int64(preset), 1, int64(most))), int(q.Whole("offset", 0, 0, offsetAtMost))}
	return p, !q.Refused(w, r)
}

// The default and maximum page sizes of the terminology map and the worklist. offsetAtMost is greater than the length
// of any list.
const (
	mappingsUsual, mappingsAtMost = 1000, 20_000
	codesUsual, codesAtMost       = 100, 1000
	offsetAtMost                  = 1 << 30
)

// pageOf returns the items of a page.
func pageOf[T any](p page, list []T) []T {
	from := min(p.offset, len(list))
	return list[from:min(from+p.limit, len(list))]
}

// answerList responds with a list and its entity tag, so that a client that already has the list does not get it
// again.
func answerList(w http.ResponseWriter, r *http.Request, data any) {
	answer(w, r, newRendered(encode(data)))
}

type ruleItem struct {
	FactorID string            `json:"factorId"`
	Label    string            `json:"label"`
	Values   map[string]string `json:"values"`   // current values, by line of the catalogue
	Defaults map[string]string `json:"defaults"` // values in the catalogue, by line
	Comment  string            `json:"comment"`
	authored
}

type ruleList struct {
	Rules        []ruleItem `json:"rules"`
	RulesVersion string     `json:"rulesVersion"`
}

func (s *Reads) serveRules(w http.ResponseWriter, r *http.Request) {
	all, ok := s.readRecords(w, r, false)
	if !ok {
		return
	}
	slices.SortFunc(all.rules, func(a, b *facts.RuleState) int { return strings.Compare(a.Factor.ID(), b.Factor.ID()) })
	out := ruleList{Rules: []ruleItem{}}
	var inForce []catalogue.Rule
	for _, rule := range all.rules {
		item := ruleItem{
			FactorID: rule.Factor.ID(), Label: rule.Factor.Label(), Values: map[string]string{}, Defaults: map[string]string{},
			Comment: rule.Comment, authored: authored{rule.Version, rule.By, instant(rule.At)},
		}
		for _, l := range rule.Lines {
			item.Values[l.Name] = l.Text
		}
		for _, l := range catalogue.Default().Lines(rule.Factor) {
			item.Defaults[l.Name] = l.Text
		}
		out.Rules = append(out.Rules, item)
		inForce = append(inForce, catalogue.Rule{Factor: rule.Factor, Lines: rule.Lines})
	}
	slices.SortFunc(inForce, func(a, b catalogue.Rule) int { return cmp.Compare(a.Factor, b.Factor) })
	out.RulesVersion = catalogue.Default().With(inForce).Version()
	answerList(w, r, out)
}

type locationItem struct {
	ID            string  `json:"id"`
	PointOfCare   string  `json:"pointOfCare"`
	Room          string  `json:"room"`
	Bed           string  `json:"bed"`
	RoomID        *int32  `json:"roomId"`
	RoomLabel     string  `json:"roomLabel"`
	Area          string  `json:"area"`
	Outside       bool    `json:"outside"`
	PrimaryFactor *string `json:"primaryFactor"`
	authored
}

// unknownLocation is a room that a feed has added. To confirm the room, an administrator sends it back as a location,
// with the same roomId or a different one.
type unknownLocation struct {
	RoomID      int32  `json:"roomId"`
	RoomLabel   string `json:"roomLabel"`
	PointOfCare string `json:"pointOfCare"`
	Room        string `json:"room"`
}

type locationList struct {
	Locations        []locationItem    `json:"locations"`
	UnknownLocations []unknownLocation `json:"unknownLocations"`
	Version          int64             `json:"version"` // version of the table, for the If-Match header of a request that changes many rows
}

func (s *Reads) serveLocations(w http.ResponseWriter, r *http.Request) {
	all, ok := s.readRecords(w, r, false)
	if !ok {
		return
	}
	out := locationList{Locations: []locationItem{}, UnknownLocations: []unknownLocation{}}
	versions := map[string]int64{}
	for _, p := range all.places {
		versions[location.RowID(&p.Place)] = p.Version
		item := locationItem{
			ID: location.RowID(&p.Place), PointOfCare: p.PointOfCare, Room: p.Room, Bed: p.Bed, RoomLabel: p.Label, Area: p.Area,
			Outside: p.Outside, authored: authored{p.Version, p.By, instant(p.At)},
		}
		if p.HasRoomID {
			item.RoomID = &p.RoomID
		}
		if p.Primary != 0 {
			item.PrimaryFactor = new(p.Primary.ID())
		}
		out.Locations = append(out.Locations, item)
	}
	slices.SortFunc(out.Locations, func(a, b locationItem) int {
		return cmp.Or(strings.Compare(a.PointOfCare, b.PointOfCare), strings.Compare(a.Room, b.Room),
			strings.Compare(a.Bed, b.Bed), strings.Compare(a.ID, b.ID))
	})
	out.Version = facts.TableVersion(versions)
	for _, room := range all.rooms {
		out.UnknownLocations = append(out.UnknownLocations, unknownLocation{room.ID, room.Label, room.PointOfCare, room.Room})
	}
	slices.SortFunc(out.UnknownLocations, func(a, b unknownLocation) int { return cmp.Compare(a.RoomID, b.RoomID) })
	answerList(w, r, out)
}

type senderItem struct {
	KeyID          string `json:"keyId"`
	OriginalMode   bool   `json:"originalMode"`
	ProductionOnly bool   `json:"productionOnly"`
}

type settingsItem struct {
	Timezone           string       `json:"timezone"`
	TrustA08Location   bool         `json:"trustA08Location"`
	StaffingFromRoster bool         `json:"staffingFromRoster"`
	Senders            []senderItem `json:"senders"`
	Complete           bool         `json:"complete"` // false: the last change did not set the time zone and the senders; set them again
	authored
}

func (s *Reads) serveSettings(w http.ResponseWriter, r *http.Request) {
	all, ok := s.readRecords(w, r, false)
	if !ok {
		return
	}
	hospital, known := s.cfg.LocalSettings.Hospital(httpapi.Caller(r.Context()).Hospital)
	if !known {
		httpapi.Fail(w, r, httpapi.Problem{Kind: problem.Missing})
		return
	}
	out := settingsItem{Timezone: hospital.Zone, Senders: []senderItem{}, Complete: true}
	if sw := all.switches; sw != nil {
		out.TrustA08Location, out.StaffingFromRoster = sw.TrustA08Location, sw.StaffingFromRoster
		out.authored = authored{sw.Version, sw.By, instant(sw.At)}
		out.Complete = hospital.Version >= sw.Version
	}
	for _, sender := range hospital.Senders {
		out.Senders = append(out.Senders, senderItem{sender.Key, sender.OriginalMode, sender.ProductionOnly})
	}
	answerList(w, r, out)
}
