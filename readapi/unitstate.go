package readapi

import (
	"bytes"
	"encoding/json"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/score"
	"svc/internal/httpapi"
)

// level is the data of GET /api/v1/level.
type level struct {
	Level            string `json:"level"`
	DrivingAxis      string `json:"drivingAxis"`
	DrivingAxisLabel string `json:"drivingAxisLabel"`
	RatioShortfall   int32  `json:"ratioShortfall"` // in whole nurses
}

// unitState is the data of GET /api/v1/unit-state. It holds nothing of the request, such
// as its time, so that equal states have equal entity tags.
type unitState struct {
	Level     string `json:"level"`
	LevelRank uint8  `json:"levelRank"`

	LevelSince httpapi.Time `json:"levelSince"` // null: unknown
	PriorLevel *string      `json:"priorLevel"` // before levelSince; null: none, or unknown

	DrivingAxis      string `json:"drivingAxis"`
	DrivingAxisLabel string `json:"drivingAxisLabel"`
	Axes             []axis `json:"axes"`

	RatioShortfall     int32    `json:"ratioShortfall"`
	RatioShortfallFTE  decimal  `json:"ratioShortfallFte"`
	NursesRequired     decimal  `json:"nursesRequired"`
	NursesOnDuty       *int32   `json:"nursesOnDuty"`
	CallStaffAvailable *bool    `json:"callStaffAvailable"`
	NurseAcuityRatio   *decimal `json:"nurseAcuityRatio"`

	Roster *roster `json:"roster"`
	Rooms  []raw   `json:"rooms"` // each one an encoded room

	UnplacedPatients int32        `json:"unplacedPatients"`
	DataQuality      []quality    `json:"dataQuality"`
	Version          int64        `json:"version"`
	AsOf             httpapi.Time `json:"asOf"`
	NextChangeAt     httpapi.Time `json:"nextChangeAt"`
	RulesVersion     string       `json:"rulesVersion"`
}

// raw is encoded JSON. The JSON of a room is reused as long as the verdict on the room
// holds.
type raw = json.RawMessage

type axis struct {
	ID       string   `json:"id"`
	Label    string   `json:"label"`
	Level    *string  `json:"level"`
	Pressure decimal  `json:"pressure"`
	Value    *decimal `json:"value"`
	Status   string   `json:"status"`
	Detail   string   `json:"detail"`
	Rule     string   `json:"rule" doc:"Stable code of the condition that the axis has reached, for texts in other languages: within_limits, unknown, or one of the axis in the capabilities."`
}

type room struct {
	RoomID         int32        `json:"roomId"`
	RoomLabel      string       `json:"roomLabel"`
	Area           string       `json:"area"`
	Status         string       `json:"status"`
	Color          string       `json:"color"`
	Score          int32        `json:"score"`
	NursesRequired decimal      `json:"nursesRequired"`
	NursingLevel   string       `json:"nursingLevel"`
	PrimaryFactor  *string      `json:"primaryFactor"`
	Factors        []factor     `json:"factors"`
	NextChangeAt   httpapi.Time `json:"nextChangeAt"`
	Stale          bool         `json:"stale"`
}

type factor struct {
	ID           string       `json:"id"`
	Label        string       `json:"label"`
	Kind         string       `json:"kind"` // primary or modifier
	Section      string       `json:"section"`
	Since        httpapi.Time `json:"since"`
	Evidence     string       `json:"evidence"`
	AssignedBy   *string      `json:"assignedBy"` // the rule that chose a primary factor; null for a modifier
	Ratio        *string      `json:"ratio"`
	Severity     uint8        `json:"severity"`
	NextChangeAt httpapi.Time `json:"nextChangeAt"`
	Sources      []source     `json:"sources"`
}

type source struct {
	Feed   string `json:"feed"`
	System string `json:"system"`
	Code   string `json:"code"`
}

type quality struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

func levelOf(v *score.Verdict) *level {
	return &level{v.Level.String(), v.Driving.String(), v.DrivingLabel(), v.Shortfall}
}

// unitStateOf returns the answer for a verdict with its encoded rooms.
func unitStateOf(v *score.Verdict, rooms []raw) *unitState {
	u := &unitState{
		Level: v.Level.String(), LevelRank: uint8(v.Level), LevelSince: instant(v.Run.Since),
		DrivingAxis: v.Driving.String(), DrivingAxisLabel: v.DrivingLabel(),
		Axes:           make([]axis, len(v.Axes)),
		RatioShortfall: v.Shortfall, RatioShortfallFTE: nurses(v.ShortfallFTE),
		NursesRequired: nurses(v.Required),
		Roster:         rosterOf(v),
		Rooms:          rooms,

		UnplacedPatients: v.Unplaced, DataQuality: []quality{},
		Version: v.Version, AsOf: instant(v.AsOf), NextChangeAt: instant(v.Next),
		RulesVersion: v.Rules,
	}
	if v.Run.HasPrior {
		prior := v.Run.Prior.String()
		u.PriorLevel = &prior
	}
	if v.OnDuty >= 0 {
		u.NursesOnDuty = &v.OnDuty
	}
	if v.Call != acuity.Unsaid {
		yes := v.Call == acuity.Yes
		u.CallStaffAvailable = &yes
	}
	if v.Ratio >= 0 {
		u.NurseAcuityRatio = &decimal{int64(v.Ratio), 2}
	}
	for i := range v.Axes {
		u.Axes[i] = axisOf(v, acuity.Axis(i))
	}
	for _, q := range v.Quality.List() {
		u.DataQuality = append(u.DataQuality, quality(q))
	}
	return u
}

func axisOf(verdict *score.Verdict, id acuity.Axis) axis {
	v := &verdict.Axes[id]
	a := axis{
		ID: id.String(), Label: id.Label(), Status: "unknown",
		Pressure: decimal{int64(v.Pressure), 1}, Detail: verdict.Detail(id), Rule: v.Rule,
	}
	if v.Known {
		level := v.Level.String()
		a.Status, a.Level = "known", &level
	}
	if v.HasValue {
		a.Value = &decimal{v.Value, 3}
	}
	return a
}

func roomOf(v *score.RoomVerdict) room {
	r := room{
		RoomID: v.ID, RoomLabel: v.Label, Area: v.Area,
		Status: v.Status.String(), Color: v.Color.String(), Score: v.Score,
		NursesRequired: nurses(v.Demand), NursingLevel: v.Demand.Nursing(),
		Factors: make([]factor, len(v.Factors)), NextChangeAt: instant(v.Next), Stale: v.Stale,
	}
	if v.Primary != 0 {
		id := v.Primary.ID()
		r.PrimaryFactor = &id
	}
	for i := range v.Factors {
		r.Factors[i] = factorOf(v, &v.Factors[i])
	}
	return r
}

func factorOf(r *score.RoomVerdict, v *score.FactorVerdict) factor {
	evidence := r.Evidence(v)
	f := factor{
		ID: v.Factor.ID(), Label: v.Factor.Label(), Kind: "modifier", Section: v.Factor.Section().String(),
		Since: instant(v.Since), Evidence: v.Kind.String(), Severity: v.Severity,
		NextChangeAt: instant(v.Next), Sources: make([]source, len(evidence)),
	}
	if v.Factor.IsPrimary() {
		f.Kind = "primary"
		if by := r.AssignedBy(v); by != "" {
			f.AssignedBy = &by
		}
	}
	f.Ratio = ratioOf(v.Need)
	for i, e := range evidence {
		f.Sources[i] = source{string(e.Source.Feed), string(e.Source.System), e.Source.Written()}
	}
	return f
}

// ratios are the texts of all ratios, shared because a state of a busy unit has hundreds.
var ratios = [...]string{"1:4", "1:3", "1:2", "1:1", "2:1", ">2:1"}

// ratioOf returns the ratio of a demand; nil: it has none.
func ratioOf(d catalogue.Demand) *string {
	text := d.Ratio()
	for i := range ratios {
		if ratios[i] == text {
			return &ratios[i]
		}
	}
	return nil
}

func instant(i acuity.Instant) httpapi.Time { return httpapi.Time(i.Time()) }

// encode returns the JSON of an answer.
func encode(answer any) raw {
	b, err := httpapi.Marshal(answer)
	if err != nil {
		panic(err) // the structs of answers have nothing that JSON cannot say
	}
	return b
}

var (
	roomsBegin = []byte(`"rooms":[`)
	comma      = []byte{','}
)

// pieces returns the answer in order: each room, and the bytes before, between and after
// the rooms. So the rooms are not copied.
func (u *unitState) pieces() [][]byte {
	bare := *u
	bare.Rooms = []raw{}
	b := encode(&bare)
	at := bytes.Index(b, roomsBegin) + len(roomsBegin)
	pieces := make([][]byte, 0, 2*len(u.Rooms)+1)
	pieces = append(pieces, b[:at])
	for i, room := range u.Rooms {
		if i > 0 {
			pieces = append(pieces, comma)
		}
		pieces = append(pieces, room)
	}
	return append(pieces, b[at:])
}
