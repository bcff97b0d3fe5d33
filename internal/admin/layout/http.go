package layout

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"svc/internal/admin/audit"
	"svc/internal/httpapi"
	"svc/internal/httpapi/access"
	"svc/internal/httpapi/contract"
	"svc/internal/httpapi/problem"
)

// Config lists the dependencies of the endpoints.
type Config struct {
	Shell  *httpapi.Shell
	Office *Office
}

// MountWrites adds the endpoint that sets the layout.
func MountWrites(r chi.Router, c Config) { contract.Mount(r, c.Shell, &server{c}, writes()) }

// MountReads adds the endpoint that returns the layout.
func MountReads(r chi.Router, c Config) { contract.Mount(r, c.Shell, &server{c}, reads()) }

// Operations are the API operations on the layout.
func Operations() []contract.Operation {
	return append(contract.Operations(writes()), contract.Operations(reads())...)
}

type server struct{ Config }

const (
	path     = "/api/admin/layout"
	maxBody  = 256 << 10 // bytes
	within   = 5 * time.Second
	tryAgain = 2 * time.Second
)

func writes() []contract.Route[*server] {
	return []contract.Route[*server]{{Operation: contract.Operation{
		Method: http.MethodPut, Path: path, Scope: access.Admin, ID: "setLayout", Group: "Administration",
		Summary: "Set the floor plan of the unit",
		About: "Rooms that the layout does not name are shown below it. Rooms and landmarks must not overlap. " +
			"A request that would change nothing writes nothing, and its response has the warning `unchanged`.",
		Parameters: []contract.Parameter{
			{Name: "If-Match", In: "header", Example: "*", Pattern: "tag", About: "Entity tag of the layout when it was read; if it has " +
				"changed since then, the request fails."},
		},
		Bodies: []contract.Body{{Type: "application/json", Shape: layoutShape{}, Limit: maxBody, Examples: []contract.Example{
			{Name: "Two rooms and a desk", Text: `{"columns":4,"rows":2,"rooms":[{"roomId":1,"x":1,"y":1},{"roomId":2,"x":2,"y":1,"w":2}],"landmarks":[{"label":"Nurses' station","x":1,"y":2,"w":4}]}`},
		}}},
		Data: savedLayout{}, Tagged: true, Refuses: []problem.Kind{problem.Precondition},
		Limits: map[string]int64{"layoutRooms": MostRooms, "layoutLandmarks": MostLandmarks, "layoutColumns": MostCells, "layoutRows": MostCells},
	}, Serve: (*server).set}}
}

func reads() []contract.Route[*server] {
	return []contract.Route[*server]{{Operation: contract.Operation{
		Method: http.MethodGet, Path: path, Scope: access.Admin, ID: "getLayout", Group: "Administration",
		Summary: "Get the floor plan of the unit", Data: layoutRow{}, Tagged: true, Refuses: []problem.Kind{problem.Missing},
	}, Serve: (*server).get}}
}

type layoutShape struct {
	Columns   int32       `json:"columns" minimum:"1" maximum:"24" doc:"Columns of the grid."`
	Rows      int32       `json:"rows" minimum:"1" maximum:"24" doc:"Rows of the grid."`
	Rooms     []roomShape `json:"rooms" minItems:"1" maxItems:"400"`
	Landmarks []markShape `json:"landmarks,omitempty" maxItems:"50"`
}

type roomShape struct {
	RoomID int32 `json:"roomId" minimum:"0" maximum:"2147483647"`
	X      int32 `json:"x" minimum:"1" maximum:"24" doc:"Column, from 1."`
	Y      int32 `json:"y" minimum:"1" maximum:"24" doc:"Row, from 1."`
	W      int32 `json:"w,omitempty" minimum:"1" maximum:"24" doc:"Columns. Default 1."`
	H      int32 `json:"h,omitempty" minimum:"1" maximum:"24" doc:"Rows. Default 1."`
}

type markShape struct {
	Label string `json:"label" pattern:"label" maxLength:"40" doc:"Name of the landmark."`
	X     int32  `json:"x" minimum:"1" maximum:"24" doc:"Column, from 1."`
	Y     int32  `json:"y" minimum:"1" maximum:"24" doc:"Row, from 1."`
	W     int32  `json:"w,omitempty" minimum:"1" maximum:"24" doc:"Columns. Default 1."`
	H     int32  `json:"h,omitempty" minimum:"1" maximum:"24" doc:"Rows. Default 1."`
}

type layoutRow struct {
	Columns   int32       `json:"columns"`
	Rows      int32       `json:"rows"`
	Rooms     []roomShape `json:"rooms"`
	Landmarks []markShape `json:"landmarks"`
	Version   int64       `json:"version"` // also the entity tag
}

type savedLayout struct {
	layoutRow
	Warnings []httpapi.Warning `json:"warnings"`
}

// layoutBody is a layoutShape in a request. Its numbers are pointers, so that a missing number differs from 0.
type layoutBody struct {
	Columns int32 `json:"columns"`
	Rows    int32 `json:"rows"`
	Rooms   []struct {
		RoomID *int32 `json:"roomId"`
		X      int32  `json:"x"`
		Y      int32  `json:"y"`
		W      *int32 `json:"w"`
		H      *int32 `json:"h"`
	} `json:"rooms"`
	Landmarks []struct {
		Label string `json:"label"`
		X     int32  `json:"x"`
		Y     int32  `json:"y"`
		W     *int32 `json:"w"`
		H     *int32 `json:"h"`
	} `json:"landmarks"`
}

// layout returns the layout in the request, and a broken rule for each room whose id is missing or negative.
func (in *layoutBody) layout(hospital string) (l *Layout, broken []httpapi.Detail) {
	l = &Layout{Hospital: hospital, Columns: in.Columns, Rows: in.Rows}
	for i, p := range in.Rooms {
		path := "rooms[" + strconv.Itoa(i) + "].roomId"
		switch {
		case p.RoomID == nil:
			broken = append(broken, httpapi.Detail{Path: path, Rule: "required"})
			continue
		case *p.RoomID < 0:
			broken = append(broken, httpapi.Detail{Path: path, Rule: "min:0"})
		}
		l.Rooms = append(l.Rooms, Place{*p.RoomID, p.X, p.Y, orOne(p.W), orOne(p.H)})
	}
	for _, m := range in.Landmarks {
		l.Landmarks = append(l.Landmarks, Landmark{m.Label, m.X, m.Y, orOne(m.W), orOne(m.H)})
	}
	return l, broken
}

// orOne returns a width or a height; if it is missing, the result is 1.
func orOne(sent *int32) int32 {
	if sent == nil {
		return 1
	}
	return *sent
}

func rowOf(l *Layout) layoutRow {
	row := layoutRow{l.Columns, l.Rows, []roomShape{}, []markShape{}, l.Version}
	for _, p := range l.Rooms {
		row.Rooms = append(row.Rooms, roomShape{p.Room, p.X, p.Y, p.W, p.H})
	}
	for _, m := range l.Landmarks {
		row.Landmarks = append(row.Landmarks, markShape(m))
	}
	return row
}

func (s *server) get(w http.ResponseWriter, r *http.Request) {
	l := s.Office.Register.Layout(httpapi.Caller(r.Context()).Hospital)
	if l == nil {
		httpapi.Fail(w, r, httpapi.Problem{Kind: problem.Missing, Message: "The unit has no floor plan yet."})
		return
	}
	httpapi.OKVersion(w, r, versionText(l.Version), rowOf(l))
}

func (s *server) set(w http.ResponseWriter, r *http.Request) {
	var in layoutBody
	warnings, ok := httpapi.ReadJSON(w, r, maxBody, &in)
	if !ok {
		return
	}
	caller := httpapi.Caller(r.Context())
	l, broken := in.layout(caller.Hospital)
	if broken = append(broken, l.Check()...); len(broken) > 0 {
		httpapi.Fail(w, r, httpapi.Problem{Kind: problem.Invalid, Details: broken})
		return
	}
	for i := range l.Landmarks {
		l.Landmarks[i].Label = strings.TrimSpace(l.Landmarks[i].Label)
	}
	ctx, cancel := context.WithTimeout(r.Context(), within)
	defer cancel()
	err := audit.Retry(ctx, func() error {
		seen, before := s.Office.Seen(), int64(0)
		old := s.Office.Register.Layout(caller.Hospital)
		if old != nil {
			before = old.Version
		}
		if !httpapi.MatchVersion(w, r, versionText(before)) {
			return nil
		}
		if old != nil && old.sameAs(l) {
			httpapi.OKVersion(w, r, versionText(before), savedLayout{rowOf(old), append(warnings, httpapi.Warning{Code: "unchanged"})})
			return nil
		}
		err := s.Office.set(ctx, caller.ID, seen, before, l)
		if err == nil {
			httpapi.OKVersion(w, r, versionText(l.Version), savedLayout{rowOf(l), warnings})
		}
		return err
	})
	if err != nil {
		s.Shell.Log.WarnContext(r.Context(), "layout not written", "error", err)
		httpapi.Fail(w, r, httpapi.Problem{Kind: problem.Unavailable, RetryAfter: tryAgain})
	}
}
