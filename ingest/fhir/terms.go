package fhir

import (
	"bytes"
	"slices"
	"strings"
	"time"
	"unicode"

	"svc/acuity"
	"svc/acuity/adt"
	"svc/acuity/codes"
	"svc/acuity/terminology"
	"svc/ingest/hl7"
)

// terms converts the codes and values of a document to the form that may be stored. It caches the results, because
// the same displays, codes and units recur.
type terms struct {
	*document
	masked  map[string]string
	sought  map[string]string      // words that rules use, by text
	units   map[string]codes.Value // values with a parsed unit but without a number, by unit as sent
	systems map[string]codes.System
	fetuses map[string]string // fetus labels, by text
}

// string returns a text without control characters and surrounding spaces, or "" if the text has more than the given
// number of bytes.
func (d *document) string(p span, most int) string {
	b := bytes.TrimSpace(d.bytes(p))
	if len(b) == 0 || len(b) > most {
		return ""
	}
	return cached(&d.plain, b, printable)
}

// cached returns read(text), from the cache if possible.
func cached[V any](cache *map[string]V, text []byte, read func(text string) V) V {
	v, known := (*cache)[string(text)]
	if !known {
		if *cache == nil {
			*cache = map[string]V{}
		}
		key := string(text)
		v = read(key)
		(*cache)[key] = v
	}
	return v
}

// printable returns a text without control characters and surrounding spaces.
func printable(s string) string {
	if strings.ContainsFunc(s, unicode.IsControl) {
		s = strings.Map(func(r rune) rune {
			if unicode.IsControl(r) {
				return -1
			}
			return r
		}, s)
	}
	return strings.TrimSpace(s)
}

// cutPlace shortens the name of a place to at most maxPlace bytes.
func cutPlace(name string) string {
	if len(name) <= maxPlace {
		return name
	}
	return strings.TrimSpace(strings.ToValidUTF8(name[:maxPlace], ""))
}

// display returns the name of a code in the form that may be stored.
func (t *terms) display(p span) string {
	if p.empty() {
		return ""
	}
	return cached(&t.masked, t.bytes(p), func(text string) string { return codes.MaskDisplay(text[:min(len(text), maxText)]) })
}

// system returns the code system that a URI identifies. Without a URI, it guesses the system from the code, and
// guessed is true.
func (t *terms) system(p span, code string) (system codes.System, guessed bool) {
	uri, _, _ := bytes.Cut(t.bytes(p), []byte("|")) // the URI may end in |version
	switch string(uri) {
	case "http://snomed.info/sct":
		return codes.SNOMED, false
	case "http://loinc.org":
		return codes.LOINC, false
	case "http://hl7.org/fhir/sid/icd-10-cm":
		return codes.ICD10CM, false
	case "http://www.nlm.nih.gov/research/umls/rxnorm":
		return codes.RxNorm, false
	case "":
		return codes.NormalSystem("", code)
	}
	return cached(&t.systems, uri, func(uri string) codes.System {
		system, _ := codes.NormalSystem(uri, "")
		return system
	}), false
}

// codes appends the codings of a concept, without empty ones and duplicates, and then the words in its text that
// rules use. field is the path of the concept in the resource.
func (t *terms) codes(dst []acuity.Coding, r *resource, c *concept, field string) []acuity.Coding {
	for i := range t.codings[c.first:c.last] {
		sent := &t.codings[c.first:c.last][i]
		if sent.code.empty() {
			if reduced := t.reduced(sent.display); reduced != "" {
				dst = add(dst, acuity.Coding{Display: reduced})
			}
			continue
		}
		code := t.string(sent.code, maxCode)
		if code == "" {
			t.warn(r, "code_unreadable", field)
			continue
		}
		system, guessed := t.system(sent.system, code)
		if guessed {
			t.warn(r, "system_assumed", field)
		}
		dst = add(dst, acuity.Coding{System: system, Code: code, Display: t.display(sent.display)})
	}
	if reduced := t.reduced(c.text); reduced != "" {
		dst = add(dst, acuity.Coding{Display: reduced})
	}
	return dst
}

// add appends a coding, unless the list is full or already contains the coding.
func add(dst []acuity.Coding, c acuity.Coding) []acuity.Coding {
	if len(dst) == maxCodings || slices.Contains(dst, c) {
		return dst
	}
	return append(dst, c)
}

// reduced returns only those words of a free text that rules use, because the other words could identify a person.
func (t *terms) reduced(p span) string {
	if p.empty() {
		return ""
	}
	return cached(&t.sought, t.bytes(p), func(text string) string { return terminology.ReduceDisplay(text[:min(len(text), maxText)]) })
}

// serviceOf returns the service of an Encounter: its first code, unless another code or a display is more specific
// about the kind of location.
func (t *terms) serviceOf(c *concept) string {
	if c.first == c.last && c.text.empty() {
		return ""
	}
	code := ""
	var names []string
	for i := range t.codings[c.first:c.last] {
		sent := &t.codings[c.first:c.last][i]
		if next := t.string(sent.code, maxService); code == "" {
			code = next
		} else {
			names = append(names, next)
		}
		names = append(names, t.string(sent.display, maxText))
	}
	return adt.Service(code, append(names, t.string(c.text, maxText))...)
}

// valueCodes maps codes to words in the value vocabulary: SNOMED CT qualifiers, LOINC answers, and HL7 v3
// ObservationInterpretation.
var valueCodes = map[string]string{
	"10828004": "positive", "260385009": "negative", "260373001": "detected", "260415000": "not detected",
	"LA6576-8": "positive", "LA6577-6": "negative", "LA11882-0": "detected", "LA11883-8": "not detected",
	"POS": "positive", "NEG": "negative", "DET": "detected", "ND": "not detected", "IND": "equivocal", "E": "equivocal",
}

// valueOf reduces a value to what may be stored. field is the path of the element that contains the value.
func (t *terms) valueOf(r *resource, s *acuity.Signal, v *value, field string) codes.Value {
	switch v.kind {
	case aQuantity:
		return t.measured(r, s, &v.quantity, field+"value")
	case aRange:
		return t.ranged(r, s, v, field+"value")
	case aText:
		return parseValue(t.bytes(v.text))
	case aConcept:
		return t.wordOf(&v.concept)
	case aValue:
		return codes.Value{Kind: codes.ValueUnreadable}
	case noValue:
		for i := range t.codings[v.interpret.first:v.interpret.last] {
			if word := valueCodes[string(t.bytes(t.codings[v.interpret.first:v.interpret.last][i].code))]; word != "" {
				return codes.ParseValue(word)
			}
		}
	}
	return codes.Value{}
}

// parseValue parses the text of a value but ignores the name of a fetus: "Fetus 2: Category I" is not Category II.
func parseValue(text []byte) codes.Value {
	_, rest := terminology.CutFetus(string(text))
	return codes.ParseValue(rest)
}

// measured reads a Quantity. If the rule for the signal's code expects a different unit, measured drops the number;
// it keeps a number without any unit, with a warning (docs/decisions.md#missing-units).
func (t *terms) measured(r *resource, s *acuity.Signal, q *quantity, field string) codes.Value {
	number := codes.ParseValue(string(t.bytes(q.value)))
	if number.Kind != codes.ValueNumber || number.Unit != "" {
		if !q.value.empty() {
			t.warn(r, "value_unreadable", field)
		}
		return codes.Value{Kind: codes.ValueUnreadable}
	}
	unit, unitless := t.bytes(q.code), false
	v := t.inUnit(number.Number, unit)
	if v.Kind != codes.ValueNumber || len(unit) == 0 {
		unit = t.bytes(q.unit)
		unitless = q.code.empty() && len(unit) == 0
		v = t.inUnit(number.Number, unit)
	}
	v.Op = number.Op
	switch string(t.bytes(q.comparator)) {
	case "<":
		v.Op = codes.Less
	case "<=":
		v.Op = codes.LessOrEqual
	case ">":
		v.Op = codes.Greater
	case ">=":
		v.Op = codes.GreaterOrEqual
	}
	if wanted := unitOf(s); wanted != "" && v.Unit != wanted {
		if unitless {
			t.warn(r, "unit_missing", field)
			return v
		}
		t.warn(r, "unit", field)
		return codes.Value{Kind: codes.ValueUnreadable}
	}
	if v.Kind != codes.ValueNumber {
		v = codes.Value{Kind: codes.ValueUnreadable}
	}
	return v
}

// inUnit returns a number with a unit. It caches the parsed units, because the same units recur.
func (t *terms) inUnit(n codes.Milli, unit []byte) codes.Value {
	v := cached(&t.units, unit, func(unit string) codes.Value { return codes.NumberValue(0, unit) })
	v.Number = n
	if v.Kind != codes.ValueNumber {
		v.Number = 0
	}
	return v
}

// unitOf returns the unit in which a rule expects the number of a signal.
func unitOf(s *acuity.Signal) string {
	if unit := terminology.UnitOf(s.System, s.Code); unit != "" {
		return unit
	}
	for i := range s.Also {
		if unit := terminology.UnitOf(s.Also[i].System, s.Also[i].Code); unit != "" {
			return unit
		}
	}
	return ""
}

// ranged reads a Range as "at least" its low value or, without a low value, as "at most" its high value. The
// condition of a rule is then met only if every number in the Range meets it.
func (t *terms) ranged(r *resource, s *acuity.Signal, v *value, field string) codes.Value {
	end, op := &v.quantity, codes.GreaterOrEqual
	if end.value.empty() {
		end, op = &v.high, codes.LessOrEqual
	}
	n := t.measured(r, s, end, field)
	if n.Kind == codes.ValueNumber {
		n.Op = op
	}
	return n
}

// wordOf reads a coded value from its code, display or text.
func (t *terms) wordOf(c *concept) codes.Value {
	codings := t.codings[c.first:c.last]
	for i := range codings {
		if word := valueCodes[string(t.bytes(codings[i].code))]; word != "" {
			return codes.ParseValue(word)
		}
	}
	for i := range codings {
		if v := parseValue(t.bytes(codings[i].display)); v.Kind == codes.ValueNumber || v.Kind == codes.ValueWords {
			return v
		}
	}
	v := parseValue(t.bytes(c.text))
	if v.Kind == codes.ValueNone && len(codings) > 0 {
		v.Kind = codes.ValueUnreadable
	}
	return v
}

// maxSkew is how far a time may be after the time of receipt without a warning (docs/decisions.md#future-times).
const maxSkew = 5 * time.Minute

// instant reads a date, dateTime or instant. A time without an offset is in the hospital's time zone.
func (d *document) instant(p span) (m acuity.Moment, ok bool) {
	if p.empty() {
		return acuity.Moment{}, false
	}
	return hl7.ParseISO(d.bytes(p), d.Zone, false)
}

// time reads a time of a resource, and warns if the time is unreadable or in the future. field is the path of the
// element that contains the time.
func (m *mapper) time(r *resource, p span, field string) acuity.Instant {
	at, _ := m.moment(r, p, field)
	return at
}

// moment parses a time of a resource, as [mapper.time] does, and returns the resolved instant and the time as sent. A
// coarse time is refined by the moments in refining first, and then by the resource's issue time and last update.
func (m *mapper) moment(r *resource, p span, field string, refining ...acuity.Moment) (acuity.Instant, acuity.Moment) {
	if p.empty() {
		return 0, acuity.Moment{}
	}
	sent, ok := m.instant(p)
	switch {
	case !ok:
		m.warn(r, "time_unreadable", field)
		return 0, acuity.Moment{}
	case sent.From.Sub(m.ReceivedAt) > maxSkew:
		m.warn(r, "time_in_future", field)
	}
	return m.resolve(r, sent, refining...), sent
}

// resolve returns the instant for a moment of a resource. If the moment is coarse, it is refined by the moments in
// refining first, and then by the resource's issue time and last update.
func (m *mapper) resolve(r *resource, sent acuity.Moment, refining ...acuity.Moment) acuity.Instant {
	if sent.IsExact() {
		return sent.From
	}
	issued, _ := m.instant(r.issued)
	updated, _ := m.instant(r.updated)
	return sent.Resolve(m.ReceivedAt, append(refining, issued, updated)...)
}

// effective returns when the observation was made. If that time is coarse, from is the start of its interval;
// otherwise from is 0. For a period, the time is the end or, if the end is missing or in the future, the start. If
// there is neither an instant nor a period, it is the time of issue.
func (m *mapper) effective(r *resource) (at, from acuity.Instant) {
	if at, sent := m.moment(r, r.at, "effective"); at != 0 {
		return at, sent.Start()
	}
	switch end, ok := m.instant(r.during.end); {
	case ok && end.From <= m.ReceivedAt:
		return m.resolve(r, end), end.Start()
	case !ok && !r.during.end.empty():
		m.warn(r, "time_unreadable", "effective.end")
	}
	if at, sent := m.moment(r, r.during.start, "effective.start"); at != 0 {
		return at, sent.Start()
	}
	return m.time(r, r.issued, "issued"), 0
}
