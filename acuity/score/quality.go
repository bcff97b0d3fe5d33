package score

import (
	"svc/acuity"
)

// Quality is a reason to trust a verdict less. Its code is stable.
type Quality struct{ Code, Message string }

// QualitySet is a set of reasons: bit i stands for the i-th of qualities.
type QualitySet uint16

const (
	staffingUnknown = iota
	staffingFromRoster
	capacityUnknown
	skillUnknown
	rosterStale
	doubleOccupied
	roomsUnplaced
	locationsUnconfirmed
	primaryAssumed
	evidenceStale
)

var qualities = [...]Quality{
	staffingUnknown:      {"staffing_unknown", "The nurses on duty are not known: staffing, reserve and acuity are left out."},
	staffingFromRoster:   {"staffing_from_roster", "The nurses on duty are counted from the roster: no staffing was sent."},
	capacityUnknown:      {"capacity_unknown", "No census was received: capacity is left out."},
	skillUnknown:         {"skill_unknown", "There is no roster: the skill mix is left out."},
	rosterStale:          {"roster_stale", "The roster is 12 hours old or older: the skill mix is left out."},
	doubleOccupied:       {"double_occupied", "Two patients are in one room for 15 minutes or more; both count."},
	roomsUnplaced:        {"rooms_unplaced", "Patients without a room are not counted in the demand."},
	locationsUnconfirmed: {"locations_unconfirmed", "Rooms registered themselves and were not confirmed."},
	primaryAssumed:       {"primary_assumed", "The kind of patient is not known in a room: half a nurse is assumed."},
	evidenceStale:        {"evidence_stale", "A factor is older than it should be; it still counts."},
}

// quality returns why the verdict deserves less trust.
func (t *axisInput) quality(u *acuity.UnitChart, v *Verdict) (set QualitySet) {
	for i, holds := range [len(qualities)]bool{
		staffingUnknown:      !t.staffed,
		staffingFromRoster:   t.rostered,
		capacityUnknown:      !t.census,
		skillUnknown:         u.Roster == nil || len(u.Roster.Nurses) == 0,
		rosterStale:          v.RosterStale,
		doubleOccupied:       t.doubles > 0,
		roomsUnplaced:        t.unplaced > 0,
		locationsUnconfirmed: u.UnknownLocations > 0,
		primaryAssumed:       t.assumed > 0,
		evidenceStale:        t.stale > 0,
	} {
		if holds {
			set |= 1 << i
		}
	}
	return set
}

// List returns the reasons in their order.
func (s QualitySet) List() []Quality {
	list := make([]Quality, 0, len(qualities))
	for i, q := range qualities {
		if s&(1<<i) != 0 {
			list = append(list, q)
		}
	}
	return list
}

// Has reports whether the set has the reason with a code.
func (s QualitySet) Has(code string) bool {
	for i, q := range qualities {
		if q.Code == code {
			return s&(1<<i) != 0
		}
	}
	return false
}
