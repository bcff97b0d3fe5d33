package acuity

import (
	"strings"

	"svc/acuity/codes"
)

// match is what one statement or diagnosis says about one factor.
type match struct {
	factor  Factor
	variant uint8
	count   uint8 // babies; 0: unknown
	kind    EvidenceKind
	on      bool // false: the statement ends the factor, or does not reach its limit
}

// matchState is how far a statement could be read.
type matchState uint8

const (
	unmapped   matchState = iota // no rule and no mapping knows the code
	unreadable                   // the code is known, its value is not; nothing changes
	matched                      // the statement says something, even "no"
)

// index finds the routes of a code.
type index struct {
	diagnoses, signals codes.Tables[route]
	display            []route // by words, in the order of the catalogue
	lexicon            lexicon

	// The factors whose contradictions are settled.
	mag, obesity, catII, catIII, mews, acknowledged, induction, multiples Factor

	becoming factors // factors that silence about another one becomes
}

// route is a route with its factor.
type route struct {
	*Route
	factor Factor
	words  uint64 // bits of its words
	strict bool   // by words: only in its own system, or without a system
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
				for _, p := range codes.Patterns(r.System, c) {
					if r.Diagnosis {
						ix.diagnoses.Table(r.System).Add(p, r)
					} else {
						ix.signals.Table(r.System).Add(p, r)
					}
				}
			}
		}
	}
	return ix
}

// appendMatch adds what a matching route says to the matches from index first on. Of
// several routes of one factor the last in the catalogue counts, and a route that
// refines only adds detail.
func appendMatch(dst []match, first int, r *route, kind EvidenceKind, on bool) []match {
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

// matchDiagnosis returns the factors that a diagnosis switches on; false: no rule and no
// mapping of the hospital knows the code. A mapping wins over the catalogue.
func matchDiagnosis(c *Catalogue, d *Diagnosis, maps *mappings) ([]match, bool) {
	dst, known := appendDiagnosisMatches(c, nil, d, maps)
	return dst, known
}

// identity returns system and code for comparison.
func (d *Diagnosis) identity() (codes.System, string) {
	system := d.System
	if system == codes.SystemNone {
		system, _ = codes.NormalSystem("", d.Code)
	}
	return system, codes.Normal(system, d.Code)
}

func appendDiagnosisMatches(c *Catalogue, dst []match, d *Diagnosis, maps *mappings) ([]match, bool) {
	system, code := d.identity()
	first := len(dst)
	if rows := maps.find(system, code, 0); len(rows) > 0 {
		for _, m := range rows {
			if m.Factor != 0 {
				dst = append(dst, match{factor: m.Factor, kind: ByLocalRule, on: true})
			}
		}
		return dst, true
	}
	c.index.diagnoses.Table(system).Each(code, func(r *route) { dst = appendMatch(dst, first, r, ByDiagnosis, true) })
	for i := first; i < len(dst); i++ {
		if dst[i].factor == c.index.multiples && dst[i].count == 0 {
			dst[i].count = 2
		}
	}
	return dst, len(dst) > first
}

// matchSignal returns what a clinical statement says. Matches come from a mapping of the
// hospital, which wins, from the id of a factor as a local code, and from the rules of
// the catalogue.
func matchSignal(c *Catalogue, s *Signal, maps *mappings) ([]match, matchState) {
	r := matchText(c, signalTextOf(s, ""), maps)
	return r.matches, r.known()
}

// reader reads statements. Its matches grow with each.
type reader struct {
	c         *Catalogue
	maps      *mappings
	matches   []match
	diagnoses map[diagnosisText]*matchedDiagnosis // cache
}

// read appends what s says. It returns how far s could be read, and the concept of its
// code: the factor that stands for several codes; 0: none.
func (r *reader) read(s *Signal) (matchState, Factor) {
	if s.Kind == KindCondition {
		return r.readCondition(s), 0
	}
	code := codes.Normal(s.System, s.Code)
	if rows := r.maps.find(s.System, code, s.Kind); len(rows) > 0 {
		return r.readLocal(s, rows)
	}
	if s.System == codes.SystemLocal || s.System == codes.SystemNone {
		if f, ok := findManual(r.c, s.Code); ok {
			r.matches = append(r.matches, match{factor: f, kind: ByManual, on: s.Status == SignalActive && !saysNo(s.Value)})
			return matched, 0
		}
	}
	return r.byRule(s, code)
}

// findManual returns the factor with a code as its id.
func findManual(c *Catalogue, code string) (Factor, bool) {
	code = strings.TrimSpace(code)
	if f, ok := c.byID[code]; ok {
		return f, true
	}
	f, ok := c.byID[strings.ToLower(code)]
	return f, ok
}

// readLocal reads a signal by the hospital's mappings.
func (r *reader) readLocal(s *Signal, rows []*Mapping) (matchState, Factor) {
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
			if on = unread; s.Value.Kind == codes.ValueNumber {
				on = compare(s.Value, m.Op, m.Than)
			}
		case saysNo(s.Value) && s.System == codes.SystemLocal:
			on = no
		}
		if m.conditional() && (m.Factor == r.c.index.mews || m.Factor == r.c.index.obesity) {
			concept = m.Factor
		}
		if on == unread {
			state = unreadable
			continue
		}
		r.matches = append(r.matches, match{factor: m.Factor, kind: ByLocalRule, on: on == yes})
	}
	return state, concept
}

// byRule reads a signal by the rules of the catalogue.
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
			r.matches = appendMatch(r.matches, first, rt, BySignal, on == yes)
		}
	}
	ix := r.c.index
	ix.signals.Table(s.System).Each(code, consider)
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

// conceptOf returns the factor that stands for all codes of a route that are one
// identity: FHR category, MEWS and BMI (scoring-decisions 25); 0: none.
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
