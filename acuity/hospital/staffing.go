package hospital

import (
	"cmp"
	"slices"

	"svc/acuity"
	"svc/acuity/adt"
	"svc/acuity/facts"
	"svc/acuity/registry"
)

// setStaffing sets the number of nurses from now on or from a future time. It ignores a number that is older than the
// current one.
func setStaffing(f *facts.UnitState, in *registry.Intake, s *acuity.Staffing) {
	n := *s
	if n.AsOf == 0 {
		n.AsOf = in.Observation.ReceivedAt
	}
	now := f.Clock
	dropReplaced(f, now)
	list := f.Staffing
	if n.AsOf <= now {
		if len(list) > 0 && list[0].AsOf <= now {
			if n.AsOf < list[0].AsOf {
				in.Outcome, in.Reason = acuity.Ignored, "staffing_older"
				in.Warn("staffing_older", "asOf")
				return
			}
			if n.Call == acuity.Unsaid {
				n.Call = list[0].Call
			}
			list = list[1:]
		}
		f.Staffing = slices.Insert(slices.Clone(list), 0, n)
		return
	}
	i, found := slices.BinarySearchFunc(list, n.AsOf, func(s acuity.Staffing, at acuity.Instant) int { return cmp.Compare(s.AsOf, at) })
	list = slices.Clone(list)
	if found {
		list[i] = n
	} else if list = slices.Insert(list, i, n); len(list) > capPlans {
		list = list[:capPlans]
		in.Warn("too_many_plans", "asOf")
	}
	f.Staffing = list
}

// dropReplaced drops the entries that a plan has replaced. A plan that does not mention call staff inherits the
// previous call state.
func dropReplaced(f *facts.UnitState, now acuity.Instant) {
	list := f.Staffing
	for len(list) > 1 && list[1].AsOf <= now {
		if list[1].Call == acuity.Unsaid {
			list = slices.Clone(list)
			list[1].Call = list[0].Call
		}
		list = list[1:]
	}
	f.Staffing = list
}

// setRoster sets the roster, unless a newer one is known.
func setRoster(f *facts.UnitState, in *registry.Intake, r *acuity.Roster) {
	n := *r
	if n.AsOf == 0 {
		n.AsOf = in.Observation.ReceivedAt
	}
	if n.AsOf > in.Observation.ReceivedAt {
		if n.AsOf > in.Observation.ReceivedAt.Add(adt.ClockSlack) {
			in.Warn("time_in_future", "asOf")
		}
		n.AsOf = in.Observation.ReceivedAt
	}
	if f.Roster != nil && n.AsOf < f.Roster.AsOf {
		in.Outcome, in.Reason = acuity.Ignored, "roster_older"
		in.Warn("roster_older", "asOf")
		return
	}
	if len(n.Nurses) > capRoster {
		n.Nurses = n.Nurses[:capRoster]
		in.Warn("too_many_nurses", "nurses")
	}
	f.Roster = &n
}
