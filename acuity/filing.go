package acuity

import "strings"

// holder is who keeps statements that name no room: a visit, or a referral.
type holder struct {
	v   *visit
	ref *referral
}

// filed returns what the holder keeps.
func (h holder) filed() []filed {
	switch {
	case h.v != nil:
		return h.v.filed
	case h.ref != nil:
		return h.ref.said
	}
	return nil
}

// nameless reports whether the holder is a retraction that waits for its resource.
func (h holder) nameless() bool { return h.ref != nil && h.ref.resource != "" }

// hearOf takes a statement about a visit, about a patient, or about a resource
// that is known.
func (u *Unit) hearOf(in *intake, i int, s *Signal, h filed) {
	to := u.subjectOf(s)
	if h.version != nil && !h.version.isDescribed() {
		to = u.follow(&h, to)
	}
	if to == (holder{}) || !u.roomToWait(in, to) {
		in.refuse(reasonReferences, item("signals", i))
		return
	}
	u.number(&h.Heard)
	u.file(to, h)
	if v := to.v; v != nil {
		u.touch(v)
		u.markVisit(v, markState)
		if r := u.whereIs(v); r != nil {
			u.markRoom(r, markTouched)
		}
		if v.isName() {
			in.warn("reference_waiting", "")
		}
		return
	}
	if v := u.bindPatient(to.ref, h.ReceivedAt); v == nil {
		in.unbound = append(in.unbound, unbound{to.ref, h.ReceivedAt})
	} else if r := u.whereIs(v); r != nil {
		u.markRoom(r, markTouched)
	}
}

// follow returns who keeps a resource of which a version is to go to somebody:
// whom its newest version names has all of them.
func (u *Unit) follow(h *filed, to holder) holder {
	whole := h.whole()
	if from, known := u.resources[whole]; known && from != to {
		var newest *filed
		list := from.filed()
		for i := range list {
			if o := &list[i]; o.whole() == whole && (newest == nil || compareVersions(newest, o) < 0) {
				newest = o
			}
		}
		switch {
		case newest == nil:
		case to == (holder{}) || to.nameless() || !from.nameless() && compareVersions(h, newest) < 0:
			if to.ref != nil && len(to.ref.said) == 0 {
				u.dismiss(to.ref)
			}
			return from
		default:
			u.take(from, to, whole)
		}
	}
	if to != (holder{}) {
		u.resources[strings.Clone(whole)] = to
	}
	return to
}

// take moves the versions of a resource.
func (u *Unit) take(from, to holder, whole string) {
	u.waits = u.waits || from.v == nil || from.v.isName()
	var taken, left []filed
	for _, h := range from.filed() {
		if h.whole() == whole {
			u.stirBound(u.bindingOf(&h.Heard))
			taken = append(taken, h)
		} else {
			left = append(left, h)
		}
	}
	if from.v != nil {
		from.v.filed = left
	} else if from.ref.said = left; len(left) == 0 {
		u.dismiss(from.ref)
	}
	for _, h := range taken {
		u.file(to, h)
	}
}

// file adds a statement to what somebody keeps.
func (u *Unit) file(to holder, h filed) {
	u.waits = u.waits || to.v == nil || to.v.isName()
	switch v := to.v; {
	case v == nil:
		h.bind(binding{kind: notBound})
		h.Settled = false
		to.ref.said = u.keepFiled(to.ref.said, h, owner{named: &to.ref.referralName})
		u.markReferral(to.ref)
	case h.version == nil:
		u.hearFor(v, h.Heard)
	default:
		h.bind(binding{v, toVisit})
		h.Settled = true
		v.filed = u.keepFiled(v.filed, h, owner{visit: v.ID})
		u.stirBound(u.bindingOf(&h.Heard))
	}
}

// unbind makes the statements of visits that are forgotten nobody's.
func (u *Unit) unbind(r *referral) {
	for i := range r.said {
		h := &r.said[i]
		if v := u.visitOfHeard(&h.Heard); v != nil && v.gone {
			h.bind(binding{kind: notBound})
			u.waits = true
			u.markReferral(r)
		}
	}
}

// gatherFiled adds to an episode the statements that are kept with a visit, or
// with its patient, for it.
func (u *Unit) gatherFiled(e *episode, v *visit) {
	add := func(h *filed) {
		u.reread(&h.Heard)
		e.filed = append(e.filed, h)
	}
	for i := range v.filed {
		add(&v.filed[i])
	}
	for _, r := range u.referralsOf(v) {
		for i := range r.said {
			if h := &r.said[i]; h.slot == v.slot {
				add(h)
			}
		}
	}
}
