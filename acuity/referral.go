package acuity

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// referral is what was said about one patient without naming a visit, until it
// is 24 h old: it is bound to a visit of hers when that is known, by whatever
// feed (clinical-decisions F3). A retraction that names nothing but its resource
// waits in one of its own.
type referral struct {
	referralName
	said   []filed // in order of arrival; of a visit, or of nobody: it waits
	marked bool
}

// referralName is how a patient was named: by number, by reference, or neither.
type referralName struct{ patient, subject, resource string }

// subjectOf returns whom a signal is about, made known if it was not; nobody
// beyond the cap.
func (u *Unit) subjectOf(s *Signal) holder {
	if s.Visit != "" {
		if v := u.visitCalled(s.Visit); v != nil {
			return holder{v: v}
		}
		if len(u.unknown) >= u.limits.unknown || !u.roomForVisit() {
			return holder{}
		}
		return holder{v: u.visit(s.Visit)}
	}
	name := referralName{patient: s.Patient, subject: s.Subject}
	if name == (referralName{}) {
		name.resource = wholeOf(s.Resource)
	}
	if r := u.referralOf(name); r != nil {
		return holder{ref: r}
	}
	return holder{}
}

// referralOf returns the referral of a name; nil beyond the cap.
func (u *Unit) referralOf(name referralName) *referral {
	r := u.referrals[name]
	if r == nil && len(u.referrals) < u.limits.unknown {
		r = &referral{referralName: referralName{strings.Clone(name.patient), strings.Clone(name.subject), strings.Clone(name.resource)}}
		u.referrals[r.referralName] = r
		for _, n := range r.names() {
			u.referred[n] = append(u.referred[n], r)
		}
	}
	return r
}

// names returns the names of the patient.
func (r *referral) names() []string {
	list := make([]string, 0, 2)
	if r.patient != "" {
		list = append(list, r.patient)
	}
	if r.subject != "" && r.subject != r.patient {
		list = append(list, r.subject)
	}
	return list
}

func (u *Unit) markReferral(r *referral) {
	if !r.marked {
		r.marked = true
		u.work.referrals = append(u.work.referrals, r)
	}
}

// dismiss forgets a referral.
func (u *Unit) dismiss(r *referral) {
	delete(u.referrals, r.referralName)
	for _, n := range r.names() {
		left := slices.DeleteFunc(u.referred[n], func(o *referral) bool { return o == r })
		if len(left) == 0 {
			delete(u.referred, n)
		} else {
			u.referred[n] = left
		}
	}
}

// refer finds anew whose the statements of the marked referrals are.
func (u *Unit) refer() {
	for _, r := range u.work.referrals {
		r.marked = false
		newest := r.newest()
		for i := range r.said {
			h := &r.said[i]
			was, is := u.bindingOf(&h.Heard), binding{kind: toNobody}
			at := h.ReceivedAt
			if whole := h.whole(); whole != "" {
				at = newest[whole]
			}
			if v := u.bindPatient(r, at); v != nil {
				is = binding{v, toVisit}
			}
			if was == is {
				continue
			}
			u.stirBound(was)
			h.bind(is)
			u.waits = true
			u.stirBound(is)
		}
	}
	u.work.referrals = u.work.referrals[:0]
}

// newest returns, of each resource that statements are about, when its newest version
// was received: the versions of one resource belong together.
func (r *referral) newest() map[string]Instant {
	at := make(map[string]Instant, len(r.said))
	for i := range r.said {
		if whole := r.said[i].whole(); whole != "" {
			at[whole] = max(at[whole], r.said[i].ReceivedAt)
		}
	}
	return at
}

// bindPatient returns the visit that a statement about a patient belongs to: of
// those that were open at its receipt the one admitted last; else the first that
// was admitted within 24 h after it; nil: none yet. A newborn only if the patient
// is no mother.
func (u *Unit) bindPatient(r *referral, at Instant) *visit {
	var best *visit
	rank := func(v *visit) int {
		s := &v.timeline
		switch {
		case s.openedAt == 0:
			return 0
		case s.openedAt <= at && (s.closedAt == 0 || s.closedAt > at):
			return 2
		case s.openedAt > at && s.openedAt <= at.Add(settleAfter):
			return 1
		}
		return 0
	}
	better := func(v *visit) bool {
		x := rank(v)
		if x == 0 || best == nil {
			return x > 0
		}
		if v.timeline.newborn != best.timeline.newborn {
			return best.timeline.newborn
		}
		if y := rank(best); x != y {
			return x > y
		}
		later := cmp.Or(cmp.Compare(v.timeline.openedAt, best.timeline.openedAt), cmp.Compare(v.ID, best.ID))
		if x == 1 {
			return later < 0
		}
		return later > 0
	}
	for _, name := range u.namesOf(r.names()) {
		for _, v := range u.patients[name] {
			if better(v) {
				best = v
			}
		}
	}
	return best
}

// namesOf returns the names with all others that visits or Patients tell to be of
// the same patient: a number and a reference. Of a patient who has too many, these
// names alone.
func (u *Unit) namesOf(names []string) []string {
	given := len(names)
	add := func(more []string) bool {
		for _, n := range more {
			if !slices.Contains(names, n) {
				names = append(names, n)
			}
			if len(names) > capNames {
				return false
			}
		}
		return true
	}
	for i := 0; i < len(names); i++ {
		for _, v := range u.patients[names[i]] {
			if !add(v.names) {
				return names[:given]
			}
		}
		if !add(u.persons[names[i]]) {
			return names[:given]
		}
	}
	return names
}

// referralsOf returns the referrals of a visit's patient.
func (u *Unit) referralsOf(v *visit) []*referral {
	if len(u.referrals) == 0 {
		return nil
	}
	names := slices.Clone(v.names)
	var list []*referral
	for _, n := range u.namesOf(names) {
		for _, r := range u.referred[n] {
			if !slices.Contains(list, r) {
				list = append(list, r)
			}
		}
	}
	return list
}

// markNames asks for the referrals of a visit's patient anew.
func (u *Unit) markNames(v *visit) {
	for _, r := range u.referralsOf(v) {
		u.markReferral(r)
	}
}

// settleReferrals makes final whose the statements are that were received 24 h
// ago; those of nobody are lost, and with them the names that are nothing else.
func (u *Unit) settleReferrals(now Instant) {
	due := func(h *Heard) bool { return h.ReceivedAt.Add(settleAfter) <= now }
	byName := func(a, b *referral) int {
		return cmp.Or(cmp.Compare(a.patient, b.patient), cmp.Compare(a.subject, b.subject), cmp.Compare(a.resource, b.resource))
	}
	for _, r := range slices.SortedFunc(maps.Values(u.referrals), byName) {
		var old, left []filed
		fresh := r.newest()
		for _, h := range r.said {
			if at := fresh[h.whole()]; due(&h.Heard) && (h.whole() == "" || at.Add(settleAfter) <= now) {
				old = append(old, h)
			} else {
				left = append(left, h)
			}
		}
		if len(old) == 0 {
			continue
		}
		if r.said = left; len(left) == 0 {
			u.dismiss(r)
		}
		for _, h := range old {
			v := u.visitOfHeard(&h.Heard)
			if v == nil {
				u.unfile(&h)
				continue
			}
			u.file(holder{v: v}, h)
			u.markVisit(v, markState)
		}
	}
	for v := range u.unknown {
		for _, h := range v.threads.byArrival(due) {
			u.lose(&h)
		}
		v.threads.remove(due)
		v.filed = slices.DeleteFunc(v.filed, func(h filed) bool {
			if due(&h.Heard) {
				u.unfile(&h)
			}
			return due(&h.Heard)
		})
	}
}
