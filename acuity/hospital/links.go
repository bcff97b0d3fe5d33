package hospital

import "slices"

// capClaims is the number of visits that may name one account, or one Encounter as their
// whole. Beyond it the number is no account: some senders put the same into each message.
const capClaims = 50

// claimants returns the visits that name an account or a whole; nil: none, or too many.
func (j *joins) claimants(index map[string][]*visit, name string) []*visit {
	if list := index[name]; len(list) <= capClaims {
		return list
	}
	return nil
}

// readLinks reads from the events of a visit which others it names.
func (j *joins) readLinks(v *visit) {
	var accounts, wholes []string
	byPatient := false
	add := func(list []string, name string) []string {
		if name == "" || name == v.ID || slices.Contains(list, name) {
			return list
		}
		return append(list, name)
	}
	for i := range v.events {
		e := &v.events[i]
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
	of := &v.joined
	j.index(j.accounts, v, of.accounts(), accounts)
	j.index(j.wholes, v, of.wholes(), wholes)
	if of.links = nil; len(accounts)+len(wholes) > 0 {
		of.links = &links{accounts, wholes}
	}
	if byPatient != of.byPatient {
		if of.byPatient = byPatient; byPatient {
			j.holders++
		} else {
			j.holders--
		}
	}
}

// index replaces the names under which an index has a visit. If a name gets more
// claimants than may be, or no longer has, all of them are joined anew.
func (j *joins) index(index map[string][]*visit, v *visit, before, after []string) {
	if slices.Equal(before, after) {
		return
	}
	for _, name := range before {
		if !slices.Contains(after, name) {
			j.touchCrowd(index[name], capClaims+1)
			removeFrom(index, name, v)
		}
	}
	for _, name := range after {
		if !slices.Contains(before, name) {
			index[name] = append(index[name], v)
			j.touchCrowd(index[name], capClaims+1)
		}
	}
}

// touchCrowd touches the claimants of a name if there are n of them.
func (j *joins) touchCrowd(list []*visit, n int) {
	if len(list) != n {
		return
	}
	for _, o := range list {
		j.touch(o)
	}
}

// touch touches a visit; nil: none.
func (j *joins) touch(v *visit) {
	if v != nil {
		j.work.markVisit(v, touched)
	}
}

// neighbors calls f with the visits that may be one with a visit.
func (j *joins) neighbors(v *visit, f func(*visit)) {
	if len(j.accounts)+len(j.wholes) > 0 {
		name := func(name string) {
			for _, o := range j.claimants(j.accounts, name) {
				f(o)
			}
			for _, o := range j.claimants(j.wholes, name) {
				f(o)
			}
		}
		name(v.ID)
		last := ""
		for i := range v.events {
			if e := v.events[i].Encounter; e != "" && e != last {
				name(e)
				last = e
			}
		}
		for _, a := range v.joined.accounts() {
			if len(j.accounts[a]) > capClaims {
				continue
			}
			for _, o := range j.accounts[a] {
				f(o)
			}
			if o := j.names.visitCalled(a); o != nil {
				f(o)
			}
		}
		for _, w := range v.joined.wholes() {
			if len(j.wholes[w]) > capClaims {
				continue
			}
			for _, o := range j.wholes[w] {
				f(o)
			}
			if o := j.names.visitCalled(w); o != nil {
				f(o)
			}
		}
	}
}

// touchReachable touches the visits that may be one with a visit, and those of her patient if a
// message names the patient alone.
func (j *joins) touchReachable(v *visit) {
	alone := len(v.names) == 0
	j.neighbors(v, func(o *visit) {
		if o == v || alone && len(o.names) == 0 {
			return
		}
		j.touch(o)
	})
	if j.holders == 0 || alone {
		return
	}
	for _, name := range j.names.namesOf(slices.Clone(v.names)) {
		for _, o := range j.names.patients[name] {
			if v.joined.byPatient || o.joined.byPatient {
				j.touch(o)
			}
		}
	}
}

// warnOfParts tells how the Encounter of an event is part of others, if it is so in a way
// that does not join them.
func (j *joins) warnOfParts(in *intake, i int, v *visit) {
	e := &in.o.Events[i]
	if e.Account != "" && len(j.accounts[e.Account]) > capClaims {
		in.warn("account_shared", in.eventPath(i))
	}
	if e.Resource == "" || e.MotherVisit == "" || e.Void {
		return
	}
	whole := j.names.visitCalled(e.MotherVisit)
	switch {
	case len(j.wholes[e.MotherVisit]) > capClaims:
		in.warn("part_of_limit", in.eventPath(i))
	case j.isCycle(v):
		in.warn("part_of_cycle", in.eventPath(i))
	case whole != nil && whole.whole() != v.whole() && !v.whole().timeline.Newborn:
		in.warn("part_of_unknown_patient", in.eventPath(i))
	}
}

// isCycle reports whether a visit is part of itself, through others.
func (j *joins) isCycle(v *visit) bool {
	seen := []*visit{v}
	for i := 0; i < len(seen) && i <= capClaims; i++ {
		for _, w := range seen[i].joined.wholes() {
			o := j.names.visitCalled(w)
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
