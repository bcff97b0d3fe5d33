package fhir

import (
	"svc/acuity"
	"svc/acuity/codes"
	"svc/acuity/terminology"
)

// valueCodes map codes to words in the vocabulary of values: SNOMED CT qualifiers, LOINC
// answers, and HL7 v3 ObservationInterpretation.
var valueCodes = map[string]string{
	"10828004": "positive", "260385009": "negative", "260373001": "detected", "260415000": "not detected",
	"LA6576-8": "positive", "LA6577-6": "negative", "LA11882-0": "detected", "LA11883-8": "not detected",
	"POS": "positive", "NEG": "negative", "DET": "detected", "ND": "not detected", "IND": "equivocal", "E": "equivocal",
}

// valueOf reduces a value to what may be stored. field is the path of its parent.
func (t *terms) valueOf(r *resource, s *acuity.Signal, v *value, field string) codes.Value {
	switch v.kind {
	case aQuantity:
		return t.measured(r, s, &v.quantity, field+"value")
	case aRange:
		return t.ranged(r, s, v, field+"value")
	case aText:
		return codes.ParseValue(string(t.bytes(v.text)))
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

// measured reads a Quantity. It drops a number if the rule for its code reads another
// unit (clinical-decisions S2).
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

// inUnit returns a number with a unit. It caches units, because the same few repeat.
func (t *terms) inUnit(n codes.Milli, unit []byte) codes.Value {
	v := cached(&t.units, unit, func(unit string) codes.Value { return codes.NumberValue(0, unit) })
	v.Number = n
	if v.Kind != codes.ValueNumber {
		v.Number = 0
	}
	return v
}

// unitOf returns the unit in which a rule reads the number of a signal.
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

// ranged reads a Range as "at least its lower end", else as "at most its upper end". A
// rule that holds for that value holds for the whole Range.
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

// wordOf reads a coded value by the code, by its name, or by the text.
func (t *terms) wordOf(c *concept) codes.Value {
	codings := t.codings[c.first:c.last]
	for i := range codings {
		if word := valueCodes[string(t.bytes(codings[i].code))]; word != "" {
			return codes.ParseValue(word)
		}
	}
	for i := range codings {
		if v := codes.ParseValue(string(t.bytes(codings[i].display))); v.Kind == codes.ValueNumber || v.Kind == codes.ValueWords {
			return v
		}
	}
	v := codes.ParseValue(string(t.bytes(c.text)))
	if v.Kind == codes.ValueNone && len(codings) > 0 {
		v.Kind = codes.ValueUnreadable
	}
	return v
}
