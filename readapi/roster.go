package readapi

import (
	"slices"

	"svc/acuity/catalogue"
	"svc/acuity/score"
	"svc/internal/httpapi"
)

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

// rosterOf summarizes the roster beside the verdict.
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

// shares divides evenly by every number of nurses up to twelve.
const shares = 27_720

// distinct returns the ids ascending, without duplicates, never nil.
func distinct(ids []int32) []int32 {
	sorted := append(make([]int32, 0, len(ids)), ids...)
	slices.Sort(sorted)
	return slices.Compact(sorted)
}
