package readapi

import (
	"slices"

	"svc/acuity"
	"svc/internal/api"
)

type roster struct {
	AsOf        api.Time     `json:"asOf"`
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

// assignment is what one nurse has to do.
type assignment struct {
	ExternalID string  `json:"externalId"`
	SkillLevel *int8   `json:"skillLevel"`
	RoomIDs    []int32 `json:"roomIds"`
	Demand     decimal `json:"demand"` // nurses; a room that several nurses share is divided among them
}

// rosterOf summarizes the roster beside the verdict, as at the roster's own
// time: a day later it is the same roster.
func rosterOf(v *acuity.Verdict) *roster {
	if v.Roster == nil {
		return nil
	}
	list := v.Roster.Nurses
	r := &roster{
		AsOf: instant(v.Roster.AsOf), Nurses: len(list), Stale: v.RosterStale,
		Tenure: tenureOf(list, v.Roster.AsOf), Assignments: make([]assignment, len(list)),
	}
	sharing := map[int32]int64{}
	for i := range list {
		for _, id := range distinct(list[i].Rooms) {
			sharing[id]++
		}
	}
	demand := make(map[int32]acuity.Demand, len(v.Rooms))
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
		whole := int64(acuity.Nurse) * shares
		a.Demand = decimal{(load*100 + whole/2) / whole, 2}
		r.Assignments[i] = a
		switch n.Skill {
		case 0:
			r.SkillMix.Novice++
		case 1:
			r.SkillMix.Experienced++
		case 2:
			r.SkillMix.Expert++
		default:
			r.SkillMix.Unknown++
			continue
		}
		r.Assignments[i].SkillLevel = &n.Skill
	}
	return r
}

// shares divides the demand of a room among up to twelve nurses without a rest.
const shares = 27_720

// distinct returns the ids ascending, each once, never nil.
func distinct(ids []int32) []int32 {
	sorted := append(make([]int32, 0, len(ids)), ids...)
	slices.Sort(sorted)
	return slices.Compact(sorted)
}

// Days of a year in the Gregorian calendar, times 10,000, so that years are
// compared as integers.
const (
	yearDays = 3_652_425
	dayParts = 10_000
)

// tenureOf counts the nurses by years since they were hired.
func tenureOf(nurses []acuity.RosterNurse, at acuity.Instant) (t tenure) {
	today := at.Time().Unix() / (24 * 60 * 60)
	var known []int64 // days
	for i := range nurses {
		if nurses[i].HiredDays == 0 {
			t.Unknown++
			continue
		}
		days := max(today-int64(nurses[i].HiredDays), 0)
		known = append(known, days)
		switch parts := days * dayParts; {
		case parts < yearDays:
			t.Under1++
		case parts < 5*yearDays:
			t.From1to5++
		case parts < 10*yearDays:
			t.From5to10++
		default:
			t.Over10++
		}
	}
	if len(known) > 0 {
		slices.Sort(known)
		twice := known[(len(known)-1)/2] + known[len(known)/2]
		t.MedianYears = &decimal{(twice*dayParts*10 + yearDays) / (2 * yearDays), 1}
	}
	return t
}
