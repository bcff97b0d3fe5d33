// Package terminology maps a code with its value to factors.
//
//   - An [Index] holds the codes in the catalogue.
//   - [Mappings] hold the codes that one hospital has mapped.
//   - A [Reader] applies both to signals, conditions and diagnoses.
//   - A [Match] is what one statement implies for one factor.
//   - A [MatchedSignal] is the text of a signal with its matches. Equal signals share one MatchedSignal.
//
// The package retains no text that could identify a person: [ReduceDisplay] keeps only words that occur in rules.
package terminology

import (
	"slices"
	"strings"
	"sync"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/codes"
)

// Match is what one statement or diagnosis implies for one factor.
type Match struct {
	Factor  catalogue.Factor
	Variant uint8
	Count   uint8 // number of babies; 0: unknown
	Kind    acuity.EvidenceKind
	On      bool // whether the statement asserts the factor; false: it ends the factor, or its value does not reach the limit
}

// MatchState is the degree to which a statement could be read.
type MatchState uint8

// The match states, in ascending order.
const (
	Unmapped   MatchState = iota // neither a rule nor a mapping contains the code
	Unreadable                   // the code is known but the value is not readable, so the statement has no effect
	Matched                      // the statement was read, even if its answer is "no"
)

// Index finds the catalogue routes for a code.
type Index struct {
	diagnoses, signals codes.Tables[route]
	display            []route // routes that match by words, in catalogue order
	lexicon            lexicon

	// The factors that the code treats individually, for example to resolve contradictory statements.
	Magnesium, Obesity, CategoryII, CategoryIII, EarlyWarning, Acknowledged, Induction, Multiples catalogue.Factor

	Becoming catalogue.FactorSet // factors that replace another factor when that factor is not asserted again
	Fetal    catalogue.FactorSet // factors that concern a fetus, not the mother
}

// route is a catalogue route with its factor and the bits of its words.
type route struct {
	*catalogue.Route
	factor catalogue.Factor
	words  uint64 // bits of the route's words, see meaning.sought
	strict bool   // whether a route that matches by words ignores codes from other systems
}

// fetalFactors are the factors that concern one fetus.
var fetalFactors = []string{
	"labor-fhr-cat-ii", "labor-fhr-cat-iii", "high-decreased-fetal-movement", "high-iufd", "high-fetal-anomaly", "high-prolapsed-cord",
}

// CatalogueIndex returns the index of the default catalogue. A hospital's rules do not change routes, so all hospitals
// share the index.
var CatalogueIndex = sync.OnceValue(func() *Index { return newIndex(catalogue.Default()) })

// newIndex returns an index of the routes in a catalogue.
func newIndex(c *catalogue.Catalogue) *Index {
	ix := &Index{lexicon: newLexicon()}
	named := map[string]*catalogue.Factor{
		"high-mag": &ix.Magnesium, "high-obesity-bmi40": &ix.Obesity,
		"labor-fhr-cat-ii": &ix.CategoryII, "labor-fhr-cat-iii": &ix.CategoryIII,
		"mews-active": &ix.EarlyWarning, "mews-acknowledged": &ix.Acknowledged,
		"labor-induction": &ix.Induction, "labor-multiple-gestation": &ix.Multiples,
	}
	sought := 0
	for f := catalogue.Factor(0); int(f) <= c.Len(); f++ {
		s := c.Spec(f)
		if p := named[s.ID]; p != nil {
			*p = f
		}
		if slices.Contains(fetalFactors, s.ID) {
			ix.Fetal.Add(f)
		}
		for i := range s.Variants {
			if e := &s.Variants[i].Requirement; e.Silent > 0 {
				ix.Becoming.Add(e.Becomes)
			}
		}
		for i := range s.Routes {
			r := route{Route: &s.Routes[i], factor: f}
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
				// Scores and primary factors match by words only in their own code system
				// (docs/decisions.md#score-words, #oxytocin-section), other factors in any code system
				// (docs/decisions.md#display-rules).
				r.strict = s.Primary || r.Needs.Kind == catalogue.NeedsNumber
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

// appendMatch adds a route to the matches. All routes for one factor are combined into one match: the match is on if
// on was true for any of these routes, its variant is the highest, and its count is that of the last route with a
// count.
func appendMatch(dst []Match, r *route, kind acuity.EvidenceKind, on bool) []Match {
	i := slices.IndexFunc(dst, func(m Match) bool { return m.Factor == r.factor })
	if i < 0 {
		i = len(dst)
		dst = append(dst, Match{Factor: r.factor, Kind: kind, On: on})
	}
	m := &dst[i]
	m.On = m.On || on
	if r.Count > 0 {
		m.Count = r.Count
	}
	m.Variant = max(m.Variant, r.Variant)
	return dst
}

// matchDiagnosis returns the factors that a diagnosis activates, and reports whether the catalogue or the hospital
// maps the code. The hospital's mappings take precedence over the catalogue.
func matchDiagnosis(d *acuity.Diagnosis, maps *Mappings) (dst []Match, known bool) {
	system, code := codes.Comparable(d.System, d.Code)
	if rows := maps.find(system, code, 0); len(rows) > 0 {
		for _, m := range rows {
			if m.Factor != 0 {
				dst = append(dst, Match{Factor: m.Factor, Kind: acuity.ByLocalRule, On: true})
			}
		}
		return dst, true
	}
	CatalogueIndex().diagnoses.Table(system).Each(code, func(r *route) {
		dst = appendMatch(dst, r, acuity.ByDiagnosis, true)
	})
	for i := range dst {
		if dst[i].Factor == CatalogueIndex().Multiples && dst[i].Count == 0 {
			dst[i].Count = 2
		}
	}
	return dst, len(dst) > 0
}

// Reader matches statements to factors, using the catalogue and the hospital's mappings. A Reader is not safe for
// concurrent use.
type Reader struct {
	Catalogue *catalogue.Catalogue
	Mappings  *Mappings
	matches   []Match
	diagnoses map[diagnosisText]*matchedDiagnosis // cache
}

// read appends the matches of s to the reader's matches. It returns the match state of s and the concept of its code.
// A concept is a factor that identifies several interchangeable codes; 0 means that the code has no concept.
func (r *Reader) read(s *acuity.Signal) (MatchState, catalogue.Factor) {
	if s.Kind == catalogue.KindCondition {
		return r.readCondition(s), 0
	}
	code := codes.Normal(s.System, s.Code)
	if rows := r.Mappings.find(s.System, code, s.Kind); len(rows) > 0 {
		return r.readLocal(s, rows)
	}
	if s.System == codes.SystemLocal || s.System == codes.SystemNone {
		if f, ok := catalogue.FactorByID(strings.ToLower(strings.TrimSpace(s.Code))); ok { // a factor id, in any case
			r.matches = append(r.matches, Match{Factor: f, Kind: acuity.ByManual, On: s.Status == acuity.SignalActive && !isNo(s.Value)})
			return Matched, 0
		}
	}
	return r.readByRule(s, code)
}

// readLocal reads a signal using the hospital's mappings.
func (r *Reader) readLocal(s *acuity.Signal, rows []*acuity.Mapping) (MatchState, catalogue.Factor) {
	state, concept := Matched, catalogue.Factor(0)
	for _, m := range rows {
		if m.Factor == 0 {
			continue
		}
		on := yes
		switch {
		case s.Status != acuity.SignalActive:
			on = no
		case hasCondition(m):
			if on = unread; s.Value.Kind == codes.ValueNumber {
				on = compare(s.Value, m.Op, m.Than)
			}
		case isNo(s.Value) && s.System == codes.SystemLocal:
			on = no
		}
		if hasCondition(m) && (m.Factor == CatalogueIndex().EarlyWarning || m.Factor == CatalogueIndex().Obesity) {
			concept = m.Factor
		}
		if on == unread {
			state = Unreadable
			continue
		}
		r.matches = append(r.matches, Match{Factor: m.Factor, Kind: acuity.ByLocalRule, On: on == yes})
	}
	return state, concept
}

// readByRule reads a signal using the catalogue routes.
func (r *Reader) readByRule(s *acuity.Signal, code string) (MatchState, catalogue.Factor) {
	state, concept := Unmapped, catalogue.Factor(0)
	consider := func(rt *route) {
		if rt.Kind != 0 && (rt.Kind == catalogue.KindMedication) != (s.Kind == catalogue.KindMedication) {
			return
		}
		if state == Unmapped {
			state = Unreadable
		}
		concept = max(concept, CatalogueIndex().conceptOf(rt))
		on := no
		if s.Status == acuity.SignalActive {
			on = meets(rt.Needs, s)
		}
		if on != unread {
			state = Matched
			r.matches = appendMatch(r.matches, rt, acuity.BySignal, on == yes)
		}
	}
	ix := CatalogueIndex()
	ix.signals.Table(s.System).Each(code, consider)
	if state != Unmapped || s.Display == "" {
		return state, concept
	}
	words := ix.lexicon.scan(s.Display)
	if words.sought == 0 {
		return state, concept
	}
	for i := range ix.display {
		rt := &ix.display[i]
		if rt.words&words.sought == 0 || !displayFits(rt.Route, words) {
			continue
		}
		if rt.strict && s.System != rt.System && code != "" {
			continue
		}
		consider(rt)
	}
	return state, concept
}

// conceptOf returns the factor that identifies the interchangeable codes of a route: FHR category, MEWS or BMI
// (docs/decisions.md#signal-identity). It returns 0 if the route has no such factor.
func (ix *Index) conceptOf(r *route) catalogue.Factor {
	switch r.Needs.Kind {
	case catalogue.NeedsCategoryII, catalogue.NeedsCategoryIII:
		return ix.CategoryIII
	case catalogue.NeedsNumber:
		return r.factor
	case catalogue.NeedsNothing, catalogue.NeedsPositive, catalogue.NeedsOxygen, catalogue.NeedsNotNo:
	}
	return 0
}

// readCondition reads a FHIR Condition as a diagnosis, using only its code.
func (r *Reader) readCondition(s *acuity.Signal) MatchState {
	d := acuity.Diagnosis{System: s.System, Code: s.Code}
	matched := r.Diagnosis(&d)
	if !matched.Known {
		return Unmapped
	}
	for _, m := range matched.Matches {
		m.On = s.Status == acuity.SignalActive
		r.matches = append(r.matches, m)
	}
	return Matched
}
