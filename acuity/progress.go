package acuity

import "slices"

// progress brings the chart of a room up to statements that came about its only
// patient, without making it anew: most move on one identity, and of her evidence
// one piece says so. It returns false if more has changed, or may have; what it
// did until then stays right.
func (u *Unit) progress(r *room) bool {
	v, e := r.lone, &u.work.episode
	u.gather(e, binding{v, toVisit}, r)
	f := folder{reader: &u.work.reader, e: e}
	if e.folds == nil || !f.holds(e.folds) || !e.folds.distinct {
		return false
	}
	defer f.clear()
	f.said = e.said[:0]
	moved, all := false, true
	for i := 0; i < len(e.folds.list) && all; i++ {
		f.said = append(f.said, nil)
		if e.folds.list[i].more { // a loss has the chart made anew
			var changed bool
			changed, all = f.progress(e.folds, i, &r.chart.Patients[0])
			moved = moved || changed
		}
	}
	e.said = f.said
	if moved { // also if the chart is made anew then
		u.markRoom(r, markView|markJudge)
	}
	return all
}

// progress moves the i-th identity on, and what the chart has of it. The second
// result is false if that is not all.
func (f *folder) progress(kept *folds, i int, p *PatientChart) (changed, all bool) {
	d := &kept.list[i]
	var store [4]Evidence
	if len(d.runs) > len(store) {
		return false, false
	}
	was, meant := store[:len(d.runs)], d.noting.sum()
	for j := range d.runs {
		was[j], _ = d.runs[j].evidence()
	}
	f.acknowledged = d.acked
	if d.stale = !f.hearMore(kept, i); d.stale {
		return false, false
	}
	f.follow(kept, i)
	means := d.noting.sum()
	before := meant
	meant.categoryI, meant.calm = max(meant.categoryI, means.categoryI), max(meant.calm, means.calm)
	if means != meant {
		return false, false // it says otherwise what counts of others
	}
	for j := range d.runs {
		is, _ := d.runs[j].evidence()
		if is == was[j] {
			continue
		}
		if !f.replace(kept, p, f.named(was[j]), f.named(is)) {
			return changed, false
		}
		changed = true
	}
	clears := func(e Evidence) bool {
		return means.clearedBy(f.c.index, e.Factor) > before.clearedBy(f.c.index, e.Factor)
	}
	if slices.ContainsFunc(p.Evidence, clears) {
		return changed, false // it may be cleared
	}
	return changed, true
}

// replace puts the evidence of a run in the place of what it was, of no factor if
// there was or is none; false if others have a say in it.
func (f *folder) replace(kept *folds, p *PatientChart, was, is Evidence) bool {
	factor := max(was.Factor, is.Factor)
	switch {
	case factor == f.c.index.induction, factor == f.c.index.multiples:
		return false
	case was.Factor != 0 && was.Source.Feed != ChannelClinical:
		return false // a diagnosis of the same feed may go on saying the same
	case is.Factor != 0:
		for i := range kept.list {
			if n := kept.list[i].noting; n != nil {
				if sum := n.sum(); sum.clearedBy(f.c.index, factor) > is.Last {
					return false
				}
			}
		}
	}
	at, there := findEvidence(p.Evidence, &was)
	if was.Factor != 0 {
		if !there {
			return false // it was cleared
		}
		p.Evidence = slices.Delete(p.Evidence, at, at+1)
	}
	if is.Factor != 0 {
		if at, there = findEvidence(p.Evidence, &is); there {
			return false // a diagnosis says it already
		}
		p.Evidence = slices.Insert(p.Evidence, at, is)
	}
	return true
}
