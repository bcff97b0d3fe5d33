package identity

import (
	"slices"

	"svc/acuity/registry"
)

// capClaims is the maximum number of visits that may name the same account, or that may be part of the same
// Encounter. If more visits name an account or an Encounter, none of them are joined through that name, because some
// senders put the same number into every message.
const capClaims = 50

// claimants returns the visits that an index lists under the name of an account or of a whole Encounter. It returns
// nil if there are none or too many.
func (j *Joins) claimants(index map[string][]*registry.Visit, name string) []*registry.Visit {
	if list := index[name]; len(list) <= capClaims {
		return list
	}
	return nil
}

// readLinks finds the references to other visits in the events of a visit.
func (j *Joins) readLinks(v *registry.Visit) {
	var accounts, wholes []string
	byPatient := false
	add := func(list []string, name string) []string {
		if name == "" || name == v.ID || slices.Contains(list, name) {
			return list
		}
		return append(list, name)
	}
	for i := range v.Events {
		e := &v.Events[i]
		byPatient = byPatient || e.ByPatient
		if e.Account != "" {
			accounts = add(accounts, e.Account)
		}
		if e.Resource != "" && e.MotherVisit != "" && !e.Void {
			wholes = add(wholes, e.MotherVisit)
		}
	}
	slices.Sort(accounts)
	slices.Sort(wholes)
	of := &v.Joined
	j.updateIndex(j.Accounts, v, of.Accounts(), accounts)
	j.updateIndex(j.Wholes, v, of.Wholes(), wholes)
	if of.Links = nil; len(accounts)+len(wholes) > 0 {
		of.Links = &registry.Links{Accounts: accounts, Wholes: wholes}
	}
	if byPatient != of.ByPatient {
		if of.ByPatient = byPatient; byPatient {
			j.Holders++
		} else {
			j.Holders--
		}
	}
}

// updateIndex replaces the names under which an index lists a visit. If the number of claimants of a name crosses the
// cap, all claimants of that name are joined again.
func (j *Joins) updateIndex(index map[string][]*registry.Visit, v *registry.Visit, before, after []string) {
	if slices.Equal(before, after) {
		return
	}
	for _, name := range before {
		if !slices.Contains(after, name) {
			j.touchClaimants(index[name], capClaims+1)
			removeFrom(index, name, v)
		}
	}
	for _, name := range after {
		if !slices.Contains(before, name) {
			index[name] = append(index[name], v)
			j.touchClaimants(index[name], capClaims+1)
		}
	}
}

// touchClaimants touches the visits in a list of claimants if there are exactly n of them.
func (j *Joins) touchClaimants(list []*registry.Visit, n int) {
	if len(list) != n {
		return
	}
	for _, o := range list {
		j.touch(o)
	}
}

// touch touches a visit unless it is nil.
func (j *Joins) touch(v *registry.Visit) {
	if v != nil {
		j.Work.MarkVisit(v, registry.Touched)
	}
}

// eachNeighbor calls f for each visit that may be joined with v.
func (j *Joins) eachNeighbor(v *registry.Visit, f func(*registry.Visit)) {
	if len(j.Accounts)+len(j.Wholes) > 0 {
		name := func(name string) {
			for _, o := range j.claimants(j.Accounts, name) {
				f(o)
			}
			for _, o := range j.claimants(j.Wholes, name) {
				f(o)
			}
		}
		// A name may have moved to another visit: if an Encounter was received first under its reference and later
		// with a visit number, the reference now names the visit with that number. The former visit still has the
		// reference as its id, so it is a neighbor too.
		called := func(name string) {
			o, former := j.Names.VisitCalled(name), j.Visits[name]
			if o != nil {
				f(o)
			}
			if former != nil && former != o {
				f(former)
			}
		}
		name(v.ID)
		last := ""
		for i := range v.Events {
			if e := v.Events[i].Encounter; e != "" && e != last {
				name(e)
				last = e
			}
		}
		for _, a := range v.Joined.Accounts() {
			if len(j.Accounts[a]) > capClaims {
				continue
			}
			for _, o := range j.Accounts[a] {
				f(o)
			}
			called(a)
		}
		for _, w := range v.Joined.Wholes() {
			if len(j.Wholes[w]) > capClaims {
				continue
			}
			for _, o := range j.Wholes[w] {
				f(o)
			}
			called(w)
		}
	}
}

// touchReachable touches the visits that may be joined with a visit. If the messages of the visit name only the
// patient, it also touches the patient's other visits; if not, it touches those whose messages name only the patient.
func (j *Joins) touchReachable(v *registry.Visit) {
	alone := len(v.Names) == 0
	j.eachNeighbor(v, func(o *registry.Visit) {
		if o == v || alone && len(o.Names) == 0 {
			return
		}
		j.touch(o)
	})
	if j.Holders == 0 || alone {
		return
	}
	for _, name := range j.Names.NamesOf(slices.Clone(v.Names)) {
		for _, o := range j.Names.Patients[name] {
			if v.Joined.ByPatient || o.Joined.ByPatient {
				j.touch(o)
			}
		}
	}
}

// WarnOfParts warns if too many visits name the account in an event, or if the event's Encounter is part of another
// Encounter but their visits cannot be joined.
func (j *Joins) WarnOfParts(in *registry.Intake, i int, v *registry.Visit) {
	e := &in.Observation.Events[i]
	if e.Account != "" && len(j.Accounts[e.Account]) > capClaims {
		in.Warn("account_shared", in.EventPath(i))
	}
	if e.Resource == "" || e.MotherVisit == "" || e.Void {
		return
	}
	whole := j.Names.VisitCalled(e.MotherVisit)
	switch {
	case len(j.Wholes[e.MotherVisit]) > capClaims:
		in.Warn("part_of_limit", in.EventPath(i))
	case j.isCycle(v):
		in.Warn("part_of_cycle", in.EventPath(i))
	case whole != nil && whole.Whole() != v.Whole() && !v.Whole().Timeline.Newborn:
		in.Warn("part_of_unknown_patient", in.EventPath(i))
	}
}

// isCycle reports whether a visit is directly or indirectly part of itself.
func (j *Joins) isCycle(v *registry.Visit) bool {
	seen := []*registry.Visit{v}
	for i := 0; i < len(seen) && i <= capClaims; i++ {
		for _, w := range seen[i].Joined.Wholes() {
			o := j.Names.VisitCalled(w)
			if o == v {
				return true
			}
			if o != nil && !slices.Contains(seen, o) {
				seen = append(seen, o)
			}
		}
	}
	return false
}
