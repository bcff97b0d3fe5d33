package hospital

import (
	"svc/acuity"
	"svc/acuity/codes"
	"svc/acuity/facts"
	"svc/acuity/registry"
)

// pastStaffing is the staffing of past hours. It has no effect on the present, so that a batch of past staffing does
// not change the current level.
type pastStaffing struct {
	facts.PastStaffingState

	unsaved bool // whether the record must be written
}

// addPastStaffing adds the staffing in a batch. It returns the start of the earliest entry that changes a closed
// hour, or 0 if there is none.
func (h *observedHours) addPastStaffing(in *registry.Intake) (earliest acuity.Instant) {
	f, list := &h.Facts, in.Observation.PastStaffing
	if len(list) == 0 {
		return 0
	}
	closed, oldest := f.Clock/registry.HourOf*registry.HourOf, f.Clock.Add(-backfillDays)
	var changed []int
	for i := range list {
		s, path := list[i], registry.ItemPath("staffing", i)+".asOf"
		if s.AsOf < oldest {
			in.Warn("staffing_too_old", path)
			continue
		}
		if s.AsOf > closed {
			in.Warn("staffing_not_past", path)
		}
		if h.staffed.Set(s) {
			h.staffed.unsaved = true
			if s.AsOf <= closed {
				earliest = codes.Soonest(earliest, s.AsOf)
				changed = append(changed, i)
			}
		}
	}
	for _, i := range changed { // the end of an entry is known only after all entries are set
		if !h.hasPastHours(list[i].AsOf, closed) {
			in.Warn("staffing_of_live_hours", registry.ItemPath("staffing", i)+".asOf")
		}
	}
	if len(f.Staffing) > 0 {
		h.endPastStaffing(f.Staffing[0].AsOf)
	}
	h.dropOldStaffing()
	if n := len(h.staffed.List) - capPastStaffing; n > 0 {
		h.staffed.List = h.staffed.List[n:]
		in.Warn("too_many_staffings", "staffing")
	}
	return earliest
}

// hasPastHours reports whether the entry that begins at an instant applies to a closed hour for which a backfill
// makes a snapshot. A backfill makes no snapshots for hours that were observed live. An entry that applies to no
// whole hour also counts.
func (h *observedHours) hasPastHours(at, closed acuity.Instant) bool {
	end := closed + 1
	if i, _ := h.staffed.Find(at); i+1 < len(h.staffed.List) {
		end = min(end, h.staffed.List[i+1].AsOf)
	}
	hours := facts.Backfill{Next: firstHour(at), Until: firstHour(end) - 1}
	return hours.Next > hours.Until || hours.Left(h.Facts.Live) > 0 // an entry between two whole hours applies to none
}

// firstHour returns the first whole hour at or after an instant.
func firstHour(at acuity.Instant) int32 { return (at + registry.HourOf - 1).Hour() }

// endPastStaffing ends the last known staffing of past hours at an instant at which staffing from another feed
// begins.
func (h *observedHours) endPastStaffing(at acuity.Instant) {
	if h.staffed.End(at) {
		h.staffed.unsaved = true
	}
}

// dropOldStaffing drops the staffing that no backfill can need, and deletes the record if none is left.
func (h *observedHours) dropOldStaffing() {
	if !h.staffed.DropOld(h.Facts.Clock.Add(-backfillDays)) {
		return
	}
	if h.staffed.unsaved = len(h.staffed.List) > 0; !h.staffed.unsaved {
		h.staffed.List = nil
		h.Keys.Drop(h.Keys.PastStaffing())
	}
}
