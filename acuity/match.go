package acuity

import "strings"

// match is what one statement or diagnosis says of one factor.
type match struct {
	factor  Factor
	variant uint8
	count   uint8 // babies; 0: it says nothing
	kind    EvidenceKind
	on      bool // false: the statement ends the factor, or does not reach its limit
}

// matchState is how far a statement could be read.
type matchState uint8

const (
	unmapped   matchState = iota // no rule and no mapping knows the code
	unreadable                   // the code is known, its value is not; nothing changes
	matched                      // it says something, be it "no"
)

// index finds the routes of a code.
type index struct {
	diagnoses, signals codeTables[route]
	display            []route // by words, in the order of the catalogue
	lexicon            lexicon

	// The factors that contradictions are settled for.
	mag, obesity, catII, catIII, mews, acknowledged, induction, multiples Factor

	becoming factors // that silence about another one makes of it
}

// route is a route with its factor.
type route struct {
	*Route
	factor Factor
	words  uint64 // bits of its words
	strict bool   // by words: only in its own system, or without any
}

// newIndex returns the index of the routes of a catalogue.
func newIndex(specs []Spec) *index {
	ix := &index{lexicon: newLexicon()}
	named := map[string]*Factor{
		"high-mag": &ix.mag, "high-obesity-bmi40": &ix.obesity,
		"labor-fhr-cat-ii": &ix.catII, "labor-fhr-cat-iii": &ix.catIII,
		"mews-active": &ix.mews, "mews-acknowledged": &ix.acknowledged,
		"labor-induction": &ix.induction, "labor-multiple-gestation": &ix.multiples,
	}
	sought := 0
	for f := range specs {
		s := &specs[f]
		if p := named[s.ID]; p != nil {
			*p = Factor(f)
		}
		for i := range s.Variants {
			if e := &s.Variants[i].effect; e.silent > 0 {
				ix.becoming.add(e.becomes)
			}
		}
		for i := range s.Routes {
			r := route{Route: &s.Routes[i], factor: Factor(f)}
			for _, w := range r.Words {
				w = strings.ToLower(w)
				m := ix.lexicon[w]
				if m.sought == 0 {
					m.sought = 1 << (sought % 64)
					sought++
				}
				ix.lexicon[w] = m
				r.words |= m.sought
			}
			if len(r.Words) > 0 {
				// Scores and primaries are matched by their own system's
				// names alone (scoring-decisions 50, 59), others by any (S5).
				r.strict = s.Primary || r.Needs.Kind == NeedsNumber
				ix.display = append(ix.display, r)
			}
			for _, c := range r.Codes {
				for _, p := range codePatterns(r.System, c) {
					if r.Diagnosis {
						ix.diagnoses.of(r.System).add(p, r)
					} else {
						ix.signals.of(r.System).add(p, r)
					}
				}
			}
		}
	}
	return ix
}

// take adds what a matching route says to the matches from index first on: of
// several routes of one factor the one that comes last in the catalogue counts,
// and a route that refines only sharpens.
func take(dst []match, first int, r *route, kind EvidenceKind, on bool) []match {
	i := first
	for i < len(dst) && dst[i].factor != r.factor {
		i++
	}
	if i == len(dst) {
		dst = append(dst, match{factor: r.factor, kind: kind, on: on})
	}
	m := &dst[i]
	m.on = m.on || on
	if r.Count > 0 {
		m.count = r.Count
	}
	m.variant = max(m.variant, r.Variant)
	return dst
}

// matchDiagnosis returns what a diagnosis says: the factors that it switches on.
// The second result is false if no rule and no mapping of the hospital knows the
// code. A mapping wins over the rules of the catalogue.
func (c *Catalogue) matchDiagnosis(d *Diagnosis, maps *mappings) ([]match, bool) {
	dst, known := c.appendDiagnosis(nil, d, maps)
	return dst, known
}

// identity returns system and code for comparison.
func (d *Diagnosis) identity() (System, string) {
	system := d.System
	if system == SystemNone {
		system, _ = NormalSystem("", d.Code)
	}
	return system, normalCode(system, d.Code)
}

func (c *Catalogue) appendDiagnosis(dst []match, d *Diagnosis, maps *mappings) ([]match, bool) {
	system, code := d.identity()
	first := len(dst)
	if rows := maps.find(system, code, 0); len(rows) > 0 {
		for _, m := range rows {
			if m.Factor != 0 {
				dst = append(dst, match{factor: m.Factor, kind: BySite, on: true})
			}
		}
		return dst, true
	}
	c.index.diagnoses.of(system).each(code, func(r *route) { dst = take(dst, first, r, ByDiagnosis, true) })
	for i := first; i < len(dst); i++ {
		if dst[i].factor == c.index.multiples && dst[i].count == 0 {
			dst[i].count = 2
		}
	}
	return dst, len(dst) > first
}

// matchSignal returns what a clinical statement says. Matches are of three
// origins: a mapping of the hospital, which wins, the id of a factor as a local
// code, and the rules of the catalogue.
func (c *Catalogue) matchSignal(s *Signal, maps *mappings) ([]match, matchState) {
	r := c.matchText(signalTextOf(s, ""), maps)
	return r.matches, r.known()
}

// reader reads statements; its matches grow with each.
type reader struct {
	c         *Catalogue
	maps      *mappings
	matches   []match
	diagnoses map[diagnosisWording]*diagnosisReadout // read already
}

// read appends what s says, and returns how far it could be read and the concept
// that its code is one of many of: the factor that stands for it, 0 if none.
func (r *reader) read(s *Signal) (matchState, Factor) {
	if s.Kind == KindCondition {
		return r.readCondition(s), 0
	}
	code := normalCode(s.System, s.Code)
	if rows := r.maps.find(s.System, code, s.Kind); len(rows) > 0 {
		return r.bySite(s, rows)
	}
	if s.System == SystemLocal || s.System == SystemNone {
		if f, ok := r.c.manual(s.Code); ok {
			r.matches = append(r.matches, match{factor: f, kind: ByManual, on: s.Status == SignalActive && !saysNo(s.Value)})
			return matched, 0
		}
	}
	return r.byRule(s, code)
}

// manual returns the factor whose id is a code.
func (c *Catalogue) manual(code string) (Factor, bool) {
	code = strings.TrimSpace(code)
	if f, ok := c.byID[code]; ok {
		return f, true
	}
	f, ok := c.byID[strings.ToLower(code)]
	return f, ok
}

func (r *reader) bySite(s *Signal, rows []*Mapping) (matchState, Factor) {
	state, concept := matched, Factor(0)
	for _, m := range rows {
		if m.Factor == 0 {
			continue
		}
		on := yes
		switch {
		case s.Status != SignalActive:
			on = no
		case m.conditional():
			if on = unread; s.Value.Kind == ValueNumber {
				on = compare(s.Value, m.Op, m.Than)
			}
		case saysNo(s.Value) && s.System == SystemLocal:
			on = no
		}
		if m.conditional() && (m.Factor == r.c.index.mews || m.Factor == r.c.index.obesity) {
			concept = m.Factor
		}
		if on == unread {
			state = unreadable
			continue
		}
		r.matches = append(r.matches, match{factor: m.Factor, kind: BySite, on: on == yes})
	}
	return state, concept
}

func (r *reader) byRule(s *Signal, code string) (matchState, Factor) {
	first, state, concept := len(r.matches), unmapped, Factor(0)
	consider := func(rt *route) {
		if rt.Kind != 0 && (rt.Kind == KindMedication) != (s.Kind == KindMedication) {
			return
		}
		if state == unmapped {
			state = unreadable
		}
		concept = max(concept, r.c.index.conceptOf(rt))
		on := no
		if s.Status == SignalActive {
			on = rt.Needs.judge(s)
		}
		if on != unread {
			state = matched
			r.matches = take(r.matches, first, rt, BySignal, on == yes)
		}
	}
	ix := r.c.index
	ix.signals.of(s.System).each(code, consider)
	if state != unmapped || s.Display == "" {
		return state, concept
	}
	said := ix.lexicon.scan(s.Display)
	if said.sought == 0 {
		return state, concept
	}
	for i := range ix.display {
		rt := &ix.display[i]
		if rt.words&said.sought == 0 || !displayFits(rt.Route, said) {
			continue
		}
		if rt.strict && s.System != rt.System && code != "" {
			continue
		}
		consider(rt)
	}
	return state, concept
}

// conceptOf returns the factor that stands for all codes of a route, if these
// are one identity: FHR category, MEWS and BMI (scoring-decisions 25).
func (ix *index) conceptOf(r *route) Factor {
	switch r.Needs.Kind {
	case NeedsCategoryII, NeedsCategoryIII:
		return ix.catIII
	case NeedsNumber:
		return r.factor
	case NeedsNothing, NeedsPositive, NeedsOxygen, NeedsNotNo:
	}
	return 0
}
