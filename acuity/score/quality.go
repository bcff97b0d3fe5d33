package score

import (
	"svc/acuity"
)

// quality lists why the verdict deserves less trust. The codes are stable:
//
//   - staffing_unknown: the nurses on duty were never sent
//   - capacity_unknown: no census was ever received
//   - skill_unknown: no roster, or an empty one
//   - staffing_from_roster: the nurses on duty are those of the roster, none were sent
//   - roster_stale: the roster is 12 h old or older
//   - double_occupied: two patients share a room for 15 min or more
//   - rooms_unplaced: patients of the unit without a room
//   - locations_unconfirmed: rooms that registered themselves
//   - primary_assumed: rooms whose demand is a default
//   - evidence_stale: factors that are older than they should be
func (t *axisInput) quality(u *acuity.UnitChart, v *Verdict) (list []Quality) {
	say := func(when bool, code, message string) {
		if when {
			list = append(list, Quality{Code: code, Message: message})
		}
	}
	say(!t.staffed, "staffing_unknown", "The nurses on duty are not known: staffing, reserve and acuity are left out.")
	say(t.rostered, "staffing_from_roster", "The nurses on duty are counted from the roster: no staffing was sent.")
	say(!t.census, "capacity_unknown", "No census was received: capacity is left out.")
	say(u.Roster == nil || len(u.Roster.Nurses) == 0, "skill_unknown", "There is no roster: the skill mix is left out.")
	say(v.RosterStale, "roster_stale", "The roster is 12 hours old or older: the skill mix is left out.")
	say(t.doubles > 0, "double_occupied", "Two patients are in one room for 15 minutes or more; both count.")
	say(t.unplaced > 0, "rooms_unplaced", "Patients without a room are not counted in the demand.")
	say(u.UnknownLocations > 0, "locations_unconfirmed", "Rooms registered themselves and were not confirmed.")
	say(t.assumed > 0, "primary_assumed", "The kind of patient is not known in a room: half a nurse is assumed.")
	say(t.stale > 0, "evidence_stale", "A factor is older than it should be; it still counts.")
	return list
}
