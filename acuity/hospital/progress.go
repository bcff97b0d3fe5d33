package hospital

import (
	"slices"

	"svc/acuity"
	"svc/acuity/terminology"
)

// progress applies new statements about the only patient of a room to its chart, without
// making it anew: most statements change one code, and one piece of her evidence. It
// returns false if more may have changed; what it did until then stays right.
func (m *chartBuilder) progress(r *room) bool {
	v, e := r.lone, &m.work.evidenceInput
	m.gatherStatements(e, binding{v, toVisit}, r)
	f := evidenceBuilder{Reader: &m.matcher.reader, e: e}
	if e.folds == nil || !f.holds(e.folds) || !e.folds.distinct {
		return false
	}
	defer f.clear()
	f.said = e.said[:0]
	moved, all := false, true
	for i := 0; i < len(e.folds.list) && all; i++ {
		f.said = append(f.said, nil)
		if e.folds.list[i].more { // a lost statement makes the chart anew
			var changed bool
			changed, all = f.progress(e.folds, i, &r.chart.Patients[0])
			moved = moved || changed
		}
	}
	e.said = f.said
	if moved { // also if the chart must be made anew
		m.work.markRoom(r, markView|markJudge)
	}
	return all
}

// progress moves the i-th identity on, and its evidence in the chart. all is false if
// more may have changed.
func (f *evidenceBuilder) progress(kept *foldCache, i int, p *acuity.PatientChart) (changed, all bool) {
	d := &kept.list[i]
	var store [4]acuity.Evidence
	if len(d.assertions) > len(store) {
		return false, false
	}
	was, meant := store[:len(d.assertions)], d.effects.total()
	for j := range d.assertions {
		was[j], _ = d.assertions[j].evidence()
	}
	f.acknowledged = d.acked
	if d.stale = !f.foldNew(kept, i); d.stale {
		return false, false
	}
	f.moveAssertions(kept, i)
	means := d.effects.total()
	before := meant
	meant.categoryI, meant.calm = max(meant.categoryI, means.categoryI), max(meant.calm, means.calm)
	if means != meant {
		return false, false // its effects on other codes changed
	}
	for j := range d.assertions {
		is, _ := d.assertions[j].evidence()
		if is == was[j] {
			continue
		}
		if !f.replace(kept, p, f.named(was[j]), f.named(is)) {
			return changed, false
		}
		changed = true
	}
	clears := func(e acuity.Evidence) bool {
		return means.clearedBy(terminology.CatalogueIndex(), e.Factor) > before.clearedBy(terminology.CatalogueIndex(), e.Factor)
	}
	if slices.ContainsFunc(p.Evidence, clears) {
		return changed, false // the chart may hold evidence that it clears
	}
	return changed, true
}

// replace replaces the evidence of an assertion in the chart; factor 0: there was or is
// none. It returns false if other sources may change it too.
func (f *evidenceBuilder) replace(kept *foldCache, p *acuity.PatientChart, was, is acuity.Evidence) bool {
	factor := max(was.Factor, is.Factor)
	switch {
	case factor == terminology.CatalogueIndex().Induction, factor == terminology.CatalogueIndex().Multiples:
		return false
	case was.Factor != 0 && was.Source.Feed != acuity.ChannelClinical:
		return false // a diagnosis of that feed may still say the same
	case is.Factor != 0:
		for i := range kept.list {
			if n := kept.list[i].effects; n != nil {
				if sum := n.total(); sum.clearedBy(terminology.CatalogueIndex(), factor) > is.Last {
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
