package score

import (
	"cmp"
	"slices"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/codes"
)

// roomMemory is preallocated memory for the verdicts of rooms: one array for the factors of a whole unit and one for
// their evidence.
type roomMemory struct {
	factors  []FactorVerdict
	evidence []acuity.Evidence
	// nextSourceLoss is the next instant at which a factor loses one of several sources without becoming inactive, or
	// 0 if there is none.
	nextSourceLoss acuity.Instant
	alone          *roomMemory // memory for one of several patients of a room; allocated on demand
}

// allocateMemory returns memory for the verdicts of rooms that have n pieces of evidence in total.
func allocateMemory(n int) roomMemory {
	return roomMemory{factors: make([]FactorVerdict, 0, n), evidence: make([]acuity.Evidence, 0, n)}
}

// forOnePatient returns the memory for the verdict of one of several patients.
func (m *roomMemory) forOnePatient() *roomMemory {
	if m.alone == nil {
		m.alone = &roomMemory{}
	}
	m.alone.clear()
	return m.alone
}

// clear empties the memory for reuse.
func (m *roomMemory) clear() { m.factors, m.evidence = m.factors[:0], m.evidence[:0] }

// findActive appends the active factors of the patients of one room, one entry for each factor, in an unspecified
// order.
func findActive(c *catalogue.Catalogue, views []patient, now acuity.Instant, out *roomMemory) []FactorVerdict {
	first, base := len(out.factors), len(out.evidence)
	a := activation{c: c, now: now, out: out}
	for i := range views {
		v := &views[i]
		for j := range v.evidence {
			if fv := a.addEvidence(v, &v.evidence[j]); fv != nil {
				fv.from = uint16(len(out.evidence) - base) //nolint:gosec // see FactorVerdict
				fv.shown, fv.sources = fv.from, 1
				out.evidence = append(out.evidence, v.evidence[j])
			}
		}
		if v.silence.factor != 0 {
			silent := v.silence.evidence()
			if a.addEvidence(v, &silent) != nil {
				a.many.Add(silent.Factor) // so that the entry gets the sources of the factor that was not asserted again
			}
		}
		if len(views) > 1 && v.suppressedUntil > now {
			a.many.Add(v.suppressed)
		}
	}
	out.nextSourceLoss = 0
	if len(out.factors) == first {
		return nil
	}
	room := out.factors[first:len(out.factors):len(out.factors)]
	if a.many == (catalogue.FactorSet{}) {
		return room
	}
	for i := range room {
		fv := &room[i]
		if f := fv.Factor; a.many.Has(f) {
			all, _ := mergeEvidence(views, f, now)
			all.shown = uint16(len(out.evidence) - base) //nolint:gosec // see FactorVerdict
			out.evidence = append(out.evidence, all.face)
			behind := listEvidence(views, f, now, out)
			all.from, all.sources = all.shown+1, uint16(len(behind)) //nolint:gosec // see FactorVerdict
			out.nextSourceLoss = codes.Soonest(out.nextSourceLoss, all.findNext(views, behind, now, out))
			*fv = all.FactorVerdict
			fv.Demand = cmp.Or(fv.Need, fv.add)
		}
	}
	return room
}

// activation turns the evidence of one room into factor entries.
type activation struct {
	c          *catalogue.Catalogue
	now        acuity.Instant
	out        *roomMemory
	seen, many catalogue.FactorSet // seen: factors with an entry; many: factors whose entry mergeEvidence replaces
}

// addEvidence adds one piece of evidence and returns its entry, or nil if the piece does not count. If the factor
// already has an entry, addEvidence only adds the factor to a.many and returns nil.
func (a *activation) addEvidence(v *patient, ev *acuity.Evidence) *FactorVerdict {
	f, e := ev.Factor, a.c.Requirement(ev.Factor, ev.Variant)
	o, on := v.judgeBy(e, ev, a.now)
	if !on || f == 0 || int(f) > a.c.Len() {
		return nil
	}
	if a.seen.Has(f) {
		a.many.Add(f)
		return nil
	}
	a.seen.Add(f)
	doubt := e.StaleAt(ev.Start, ev.Last)
	past := v.isPast(e, ev, &o)
	stale := doubt != 0 && a.now >= doubt && !past
	if stale || past {
		doubt = 0
	}
	a.out.factors = append(a.out.factors, FactorVerdict{
		Factor: f, Kind: ev.Kind, Severity: o.Class, Since: ev.Start, Next: o.Next, Stale: stale, Past: past, doubt: doubt,
		Demand: cmp.Or(o.Need, o.Add), Need: o.Need, add: o.Add, babies: ev.Count,
	})
	return &a.out.factors[len(a.out.factors)-1]
}

// mergedEntry is a factor entry that combines several pieces of evidence.
type mergedEntry struct {
	FactorVerdict
	face       acuity.Evidence  // evidence that is shown; zero: the factor replaced a factor that was not asserted again
	assignedBy string           // rule that assigned the factor, according to the shown piece
	held       catalogue.Demand // demand according to the shown piece
	breaks     acuity.Instant   // when any piece of evidence next changes, shown or not; 0: never
}

// mergeEvidence returns the entry of a factor with several pieces of evidence or several patients, and reports
// whether the factor is active. Demand, ADD and class are the maxima over the pieces that count now, but the demands
// of several newborns add up. The entry shows the piece with the highest class; among pieces of the same class, the
// one with the greatest demand; among pieces with the same demand, the one that began first.
func mergeEvidence(views []patient, f catalogue.Factor, now acuity.Instant) (fv mergedEntry, on bool) {
	fv.Factor, fv.Stale, fv.Past = f, true, true
	newborn := false
	for i := range views {
		v := &views[i]
		for j := range v.evidence {
			if v.evidence[j].Factor == f && fv.addEvidence(v, &v.evidence[j], now, &on) {
				fv.face = v.evidence[j]
			}
		}
		if v.silence.factor == f && f != 0 {
			silent := v.silence.evidence()
			if fv.addEvidence(v, &silent, now, &on) {
				fv.face = acuity.Evidence{}
			}
		}
		newborn = newborn || v.c.Traits(f).IsNewborn()
	}
	if fv.Past = fv.Past && on; fv.Past || !on {
		fv.Stale = false
	}
	if newborn {
		fv.Need = 0
		for i := range views {
			sum, _ := views[i].sumNewborns(f, now)
			fv.Need += sum
		}
	}
	return fv, on
}

// addEvidence adds one piece of evidence, and reports whether the entry now shows this piece. It sets *active if the
// piece counts now.
func (fv *mergedEntry) addEvidence(v *patient, ev *acuity.Evidence, now acuity.Instant, active *bool) (shown bool) {
	e := v.c.Requirement(ev.Factor, ev.Variant)
	o, on := v.judgeBy(e, ev, now)
	if !on {
		if ev.Factor == v.suppressed && v.suppressedUntil > now {
			fv.breaks = codes.Soonest(fv.breaks, v.suppressedUntil) // from this instant, another patient's evidence may be shown
		}
		return false
	}
	past := v.isPast(e, ev, &o)
	fv.Past = fv.Past && past
	doubt := e.StaleAt(ev.Start, ev.Last)
	stale := doubt != 0 && now >= doubt
	fv.Stale = fv.Stale && (stale || past)
	fv.breaks = codes.Soonest(fv.breaks, o.Next)
	if !stale {
		fv.breaks = codes.Soonest(fv.breaks, doubt)
	}
	graver := cmp.Or(
		cmp.Compare(fv.Severity, o.Class), cmp.Compare(fv.held, o.Need),
		cmp.Compare(ev.Start, fv.Since), cmp.Compare(ev.Kind, fv.Kind), cmp.Compare(ev.AssignedBy, fv.assignedBy),
	) < 0
	if shown = graver || !*active; shown {
		fv.Since, fv.Kind, fv.assignedBy, fv.held = ev.Start, ev.Kind, ev.AssignedBy, o.Need
	}
	*active = true
	fv.Severity = max(fv.Severity, o.Class)
	fv.Need, fv.add, fv.babies = max(fv.Need, o.Need), max(fv.add, o.Add), max(fv.babies, ev.Count)
	return shown
}

// findNext sets fv.Next to the next instant at which the shown entry changes, and fv.doubt to an earlier instant at
// which the entry becomes stale, if there is one. Before fv.Next, a source can end without changing the entry,
// because other evidence for the factor outweighs it. findNext returns the first instant at which a source ends in
// this way, or 0 if there is none. It uses the free part of out as scratch memory.
func (fv *mergedEntry) findNext(views []patient, behind []acuity.Evidence, now acuity.Instant, out *roomMemory) (loses acuity.Instant) {
	used := len(out.evidence)
	for at := fv.breaks; at > now; {
		then, on := mergeEvidence(views, fv.Factor, at)
		if !on || !then.isShownLike(fv) {
			fv.Next = at
			return loses
		}
		if then.Stale && !fv.Stale && fv.doubt == 0 {
			fv.doubt = at
		}
		if loses == 0 && !sameSources(behind, listEvidence(views, fv.Factor, at, out)) {
			loses = at
		}
		out.evidence = out.evidence[:used]
		if then.breaks <= at {
			return loses
		}
		at = then.breaks
	}
	return loses
}

// isShownLike reports whether two entries for the same factor look the same to readers.
func (fv *mergedEntry) isShownLike(other *mergedEntry) bool {
	return fv.Since == other.Since && fv.Kind == other.Kind && fv.assignedBy == other.assignedBy &&
		fv.Severity == other.Severity && fv.Need == other.Need && fv.add == other.add && fv.Past == other.Past
}

// listEvidence appends the evidence of a factor to out, one piece for each source, in the order of the sources.
func listEvidence(views []patient, f catalogue.Factor, now acuity.Instant, out *roomMemory) []acuity.Evidence {
	first := len(out.evidence)
	for i := range views {
		v := &views[i]
		from := f
		if v.silence.factor == f {
			silent := v.silence.evidence()
			if _, on := v.judge(&silent, now); on {
				from = v.silence.from
			}
		}
		for j := range v.evidence {
			ev := &v.evidence[j]
			_, on := v.judge(ev, now)
			if ev.Factor == f && on || ev.Factor == from && from != f {
				out.evidence = append(out.evidence, *ev)
			}
		}
	}
	list := out.evidence[first:]
	slices.SortFunc(list, func(a, b acuity.Evidence) int {
		return cmp.Or(
			cmp.Compare(a.Source.Feed, b.Source.Feed), cmp.Compare(a.Source.System, b.Source.System), cmp.Compare(a.Source.Code, b.Source.Code),
			cmp.Compare(a.Fetus, b.Fetus),
		)
	})
	list = slices.CompactFunc(list, sameSource)
	out.evidence = out.evidence[:first+len(list)]
	return slices.Clip(list)
}

func sameSource(a, b acuity.Evidence) bool { return a.Source == b.Source && a.Fetus == b.Fetus }

func sameSources(a, b []acuity.Evidence) bool { return slices.EqualFunc(a, b, sameSource) }
