package readapi

import (
	"bytes"
	"encoding/json"
	"slices"

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

// unitState is the data of GET /api/v1/unit-state. It contains nothing that depends on the request, such as the
// request's time, so that equal states have equal entity tags.
type unitState struct {
	Level     string `json:"level"`
	LevelRank uint8  `json:"levelRank"`

	LevelSince httpapi.Time `json:"levelSince"` // null: unknown
	PriorLevel *string      `json:"priorLevel"` // level before levelSince; null: none or unknown

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
	Rooms  []raw   `json:"rooms"` // encoded rooms

	UnplacedPatients int32        `json:"unplacedPatients"`
	DataQuality      []quality    `json:"dataQuality"`
	Version          int64        `json:"version"`
	AsOf             httpapi.Time `json:"asOf"`
	NextChangeAt     httpapi.Time `json:"nextChangeAt"`
	RulesVersion     string       `json:"rulesVersion"`
}

// raw is encoded JSON. A room's JSON is reused while the verdict on the room is valid.
type raw = json.RawMessage

type axis struct {
	ID       string   `json:"id"`
	Label    string   `json:"label"`
	Level    *string  `json:"level"`
	Pressure decimal  `json:"pressure"`
	Value    *decimal `json:"value"`
	Status   string   `json:"status"`
	Detail   string   `json:"detail"`
	Rule     string   `json:"rule" doc:"Stable code of the axis's condition, for translations: within_limits, unknown, or a code of the axis in the capabilities."`
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
	DataQuality    []quality    `json:"dataQuality"` // reasons why the verdict on this room, but not on other rooms, may be unreliable
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
	// Fetus is the label of the fetus that the source is about, "A" to "I". It is null if the source does not name a
	// fetus or identifies it by a reference.
	Fetus *string `json:"fetus"`
}

type quality struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

func levelOf(v *score.Verdict) *level {
	return &level{v.Level.String(), v.Driving.String(), v.DrivingLabel(), v.Shortfall}
}

// unitStateOf returns the response for a verdict whose rooms are already encoded.
func unitStateOf(v *score.Verdict, rooms []raw) *unitState {
	u := &unitState{
		Level: v.Level.String(), LevelRank: uint8(v.Level), LevelSince: instant(v.Run.Since),
		DrivingAxis: v.Driving.String(), DrivingAxisLabel: v.DrivingLabel(),
		Axes:           make([]axis, len(v.Axes)),
		RatioShortfall: v.Shortfall, RatioShortfallFTE: nurses(v.ShortfallFTE),
		NursesRequired: nurses(v.Required), NursesOnDuty: known(v.OnDuty),
		Roster: rosterOf(v),
		Rooms:  rooms,

		UnplacedPatients: v.Unplaced, DataQuality: qualityOf(v.Quality),
		Version: v.Version, AsOf: instant(v.AsOf), NextChangeAt: instant(v.Next),
		RulesVersion: v.Rules,
	}
	if v.Run.HasPrior {
		u.PriorLevel = new(v.Run.Prior.String())
	}
	if v.Call != acuity.Unsaid {
		u.CallStaffAvailable = new(v.Call == acuity.Yes)
	}
	if v.Ratio >= 0 {
		u.NurseAcuityRatio = &decimal{int64(v.Ratio), 2}
	}
	for i := range v.Axes {
		u.Axes[i] = axisOf(v, acuity.Axis(i))
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
		a.Status, a.Level = "known", new(v.Level.String())
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
		DataQuality: qualityOf(v.Quality()),
	}
	if v.Primary != 0 {
		r.PrimaryFactor = new(v.Primary.ID())
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
		Since: instant(v.Since), Evidence: v.Kind.String(), Ratio: some(v.Need.Ratio()), Severity: v.Severity,
		NextChangeAt: instant(v.Next), Sources: make([]source, len(evidence)),
	}
	if v.Factor.IsPrimary() {
		f.Kind, f.AssignedBy = "primary", some(r.AssignedBy(v))
	}
	for i, e := range evidence {
		f.Sources[i] = source{Feed: string(e.Source.Feed), System: string(e.Source.System), Code: e.Source.Written()}
		if len(e.Fetus) == 1 {
			f.Sources[i].Fetus = &evidence[i].Fetus
		}
	}
	return f
}

// qualityOf returns the reasons why the verdict may be unreliable.
func qualityOf(set score.QualitySet) []quality {
	list := []quality{}
	for _, q := range set.List() {
		list = append(list, quality(q))
	}
	return list
}

var (
	roomsBegin = []byte(`"rooms":[`)
	comma      = []byte{','}
)

// pieces returns the response as consecutive byte slices: each room, and the bytes before, between and after the
// rooms. The rooms are not copied.
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

type roster struct {
	AsOf        httpapi.Time `json:"asOf"`
	Nurses      int          `json:"nurses"`
	SkillMix    skillMix     `json:"skillMix"`
	Tenure      tenure       `json:"tenure"`
	Stale       bool         `json:"stale"`
	Assignments []assignment `json:"assignments"`
}

type skillMix struct {
	Novice      int `json:"novice"`
	Experienced int `json:"experienced"`
	Expert      int `json:"expert"`
	Unknown     int `json:"unknown"`
}

type tenure struct {
	Under1      int      `json:"under1y"`
	From1to5    int      `json:"y1to5"`
	From5to10   int      `json:"y5to10"`
	Over10      int      `json:"over10y"`
	Unknown     int      `json:"unknown"`
	MedianYears *decimal `json:"medianYears"` // null if no hire date is known
}

// assignment is the workload of one nurse.
type assignment struct {
	ExternalID string  `json:"externalId"`
	SkillLevel *int8   `json:"skillLevel"`
	RoomIDs    []int32 `json:"roomIds"`
	Demand     decimal `json:"demand"` // in nurses; nurses who share a room share its demand equally
}

// rosterOf summarizes the roster of a verdict.
func rosterOf(v *score.Verdict) *roster {
	if v.Roster == nil {
		return nil
	}
	list := v.Roster.Nurses
	m := v.Roster.Makeup()
	r := &roster{
		AsOf: instant(v.Roster.AsOf), Nurses: len(list), Stale: v.RosterStale,
		SkillMix:    skillMix{m.Novice, m.Experienced, m.Expert, m.Unrated},
		Tenure:      tenure{m.Under1, m.From1to5, m.From5to10, m.Over10, m.Unhired, nil},
		Assignments: make([]assignment, len(list)),
	}
	if m.Median >= 0 {
		r.Tenure.MedianYears = &decimal{int64(m.Median), 1}
	}
	sharing := map[int32]int64{}
	for i := range list {
		for _, id := range distinct(list[i].Rooms) {
			sharing[id]++
		}
	}
	demand := make(map[int32]catalogue.Demand, len(v.Rooms))
	for i := range v.Rooms {
		demand[v.Rooms[i].ID] = v.Rooms[i].Demand
	}
	for i := range list {
		n := &list[i]
		a := assignment{ExternalID: n.ExternalID, RoomIDs: distinct(n.Rooms)}
		load := int64(0)
		for _, id := range a.RoomIDs {
			load += int64(demand[id]) * shares / sharing[id]
		}
		whole := int64(catalogue.Nurse) * shares
		a.Demand = decimal{(load*100 + whole/2) / whole, 2}
		r.Assignments[i] = a
		if n.Skill >= 0 {
			r.Assignments[i].SkillLevel = &n.Skill
		}
	}
	return r
}

// shares is the number of parts into which a unit of demand is divided. It is divisible by every number of nurses up to
// twelve, so that rooms shared by up to twelve nurses cause no rounding error.
const shares = 27_720

// distinct returns the ids in ascending order and without duplicates. The result is never nil.
func distinct(ids []int32) []int32 {
	sorted := append(make([]int32, 0, len(ids)), ids...)
	slices.Sort(sorted)
	return slices.Compact(sorted)
}
