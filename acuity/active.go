package acuity

import (
	"cmp"
	"slices"
)

// judged is where the verdicts of rooms are put: one backing array of factors
// and one of sources for a whole unit.
type judged struct {
	factors []FactorVerdict
	sources []Source
	alone   *judged // memory for one of several patients of a room; nil: none yet
}

// judgedOf returns memory for the verdict of a room with n pieces of evidence.
func judgedOf(n int) judged {
	return judged{factors: make([]FactorVerdict, 0, n), sources: make([]Source, 0, n)}
}

// one returns memory for the verdict of one of several patients.
func (j *judged) one() *judged {
	if j.alone == nil {
		j.alone = &judged{}
	}
	j.alone.clear()
	return j.alone
}

// clear makes room for the next verdict.
func (j *judged) clear() { j.factors, j.sources = j.factors[:0], j.sources[:0] }

// size is how many pieces of evidence there are.
func (r *RoomChart) size() int {
	n := 0
	for i := range r.Patients {
		n += len(r.Patients[i].Evidence)
	}
	return n
}

// factors is a set of factors.
type factors [4]uint64

func (s *factors) add(f Factor) { s[f>>6] |= 1 << (f & 63) }

func (s *factors) has(f Factor) bool { return s[f>>6]&(1<<(f&63)) != 0 }

// active appends the active factors of the patients of one room, one entry for
// each factor, and returns them in no order that matters.
func (c *Catalogue) active(views []patient, now Instant, out *judged) []FactorVerdict {
	var seen, many factors // with an evidence, with several
	first := len(out.factors)
	for i := range views {
		v := &views[i]
		for j := range v.evidence {
			c.activate(v, &v.evidence[j], now, out, &seen, &many)
		}
		if v.quiet.Factor != 0 {
			c.activate(v, &v.quiet, now, out, &seen, &many)
		}
		if len(views) > 1 && v.hushEnd > now {
			many.add(v.hushed)
		}
	}
	if len(out.factors) == first {
		return nil
	}
	room := out.factors[first:len(out.factors):len(out.factors)]
	for i := range room {
		fv := &room[i]
		if f := fv.Factor; many.has(f) {
			all, _ := settle(views, f, now)
			all.Sources = gather(views, f, now, out)
			all.follow(views, now, out)
			*fv = all.FactorVerdict
			fv.Demand = fv.Need
			if fv.Demand == 0 {
				fv.Demand = fv.add
			}
		}
	}
	return room
}

// activate adds one evidence; of a second one of the same factor it only notes
// that there is one.
func (c *Catalogue) activate(v *patient, ev *Evidence, now Instant, out *judged, seen, many *factors) {
	f := ev.Factor
	o, on := v.judge(ev, now)
	if !on || f == 0 || int(f) >= len(c.specs) {
		return
	}
	if seen.has(f) {
		many.add(f)
		return
	}
	seen.add(f)
	if v.quietFrom != 0 && ev == &v.quiet {
		many.add(f) // its sources are those of another factor
	}
	out.sources = append(out.sources, ev.Source)
	n, at := len(out.sources), len(out.factors)
	// Every field is set in place: a literal would be built and then copied.
	if at == cap(out.factors) {
		out.factors = append(out.factors, FactorVerdict{})
	}
	out.factors = out.factors[:at+1]
	fv := &out.factors[at]
	fv.Factor, fv.Kind, fv.Severity, fv.Since, fv.AssignedBy = f, ev.Kind, o.class, ev.Start, ev.AssignedBy
	fv.Next, fv.Sources = o.next, out.sources[n-1:n:n]
	fv.Need, fv.add, fv.babies = o.need, o.add, ev.Count
	fv.Stale, fv.doubt, fv.loses = false, o.staleAt, 0
	if o.staleAt != 0 && now >= o.staleAt {
		fv.Stale, fv.doubt = true, 0
	}
	fv.Demand = o.need
	if o.need == 0 {
		fv.Demand = o.add
	}
}

// settled is an entry made of several evidences.
type settled struct {
	FactorVerdict
	held   Demand  // need of the evidence that is shown
	breaks Instant // when any of the evidence changes, seen or not; 0: never
}

// settle is the entry of one factor that several evidences or patients have:
// demand, ADD and class are the largest, the one that is shown is the gravest.
func settle(views []patient, f Factor, now Instant) (fv settled, on bool) {
	fv.Factor, fv.Stale = f, true
	newborn := false
	for i := range views {
		v := &views[i]
		for j := range v.evidence {
			if v.evidence[j].Factor == f {
				on = fv.take(v, &v.evidence[j], now, on)
			}
		}
		if v.quiet.Factor == f && f != 0 {
			on = fv.take(v, &v.quiet, now, on)
		}
		newborn = newborn || v.c.traitsOf(f)&traitNewborn != 0
	}
	fv.Stale = fv.Stale && on
	if newborn {
		fv.Need = 0
		for i := range views {
			sum, _ := views[i].track(f, now)
			fv.Need += sum
		}
	}
	return fv, on
}

// take adds one evidence to an entry.
func (fv *settled) take(v *patient, ev *Evidence, now Instant, before bool) (on bool) {
	o, on := v.judge(ev, now)
	if !on {
		if ev.Factor == v.hushed && v.hushEnd > now {
			fv.breaks = Soonest(fv.breaks, v.hushEnd) // another patient's may show now
		}
		return before
	}
	stale := o.staleAt != 0 && now >= o.staleAt
	fv.Stale = fv.Stale && stale
	fv.breaks = Soonest(fv.breaks, o.next)
	if o.staleAt != 0 && !stale {
		fv.breaks = Soonest(fv.breaks, o.staleAt)
	}
	graver := cmp.Or(
		cmp.Compare(fv.Severity, o.class), cmp.Compare(fv.held, o.need),
		cmp.Compare(ev.Start, fv.Since), cmp.Compare(ev.Kind, fv.Kind), cmp.Compare(ev.AssignedBy, fv.AssignedBy),
	) < 0
	if !before || graver {
		fv.Since, fv.Kind, fv.AssignedBy, fv.held = ev.Start, ev.Kind, ev.AssignedBy, o.need
	}
	fv.Severity = max(fv.Severity, o.class)
	fv.Need, fv.add, fv.babies = max(fv.Need, o.need), max(fv.add, o.add), max(fv.babies, ev.Count)
	return true
}

// follow finds when an entry with several evidences changes: a step that another
// evidence hides is no change, but its source may be gone. What is free of out is
// used for a while.
func (fv *settled) follow(views []patient, now Instant, out *judged) {
	used := len(out.sources)
	for at := fv.breaks; at > now; {
		then, on := settle(views, fv.Factor, at)
		if !on || !then.shows(fv) {
			fv.Next = at
			return
		}
		if then.Stale && !fv.Stale && fv.doubt == 0 {
			fv.doubt = at
		}
		if fv.loses == 0 && !slices.Equal(fv.Sources, gather(views, fv.Factor, at, out)) {
			fv.loses = at
		}
		out.sources = out.sources[:used]
		if then.breaks <= at {
			return
		}
		at = then.breaks
	}
}

// shows reports whether two entries of a factor look the same.
func (fv *settled) shows(other *settled) bool {
	return fv.Since == other.Since && fv.Kind == other.Kind && fv.AssignedBy == other.AssignedBy &&
		fv.Severity == other.Severity && fv.Need == other.Need && fv.add == other.add
}

// gather lists the sources of a factor, each once, in an order of their own.
func gather(views []patient, f Factor, now Instant, out *judged) []Source {
	first := len(out.sources)
	for i := range views {
		v := &views[i]
		from := f
		if v.quiet.Factor == f {
			if _, on := v.judge(&v.quiet, now); on {
				from = v.quietFrom
			}
		}
		for j := range v.evidence {
			ev := &v.evidence[j]
			_, on := v.judge(ev, now)
			if ev.Factor == f && on || ev.Factor == from && from != f {
				out.sources = append(out.sources, ev.Source)
			}
		}
	}
	list := out.sources[first:]
	slices.SortFunc(list, func(a, b Source) int {
		return cmp.Or(cmp.Compare(a.Feed, b.Feed), cmp.Compare(a.System, b.System), cmp.Compare(a.Code, b.Code))
	})
	list = slices.Compact(list)
	out.sources = out.sources[:first+len(list)]
	return slices.Clip(list)
}
