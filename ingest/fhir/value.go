package fhir

import (
	"svc/acuity"
)

// valueCodes map codes to words in the vocabulary of values: SNOMED CT qualifiers, LOINC
// answers, and HL7 v3 ObservationInterpretation.
var valueCodes = map[string]string{
	"10828004": "positive", "260385009": "negative", "260373001": "detected", "260415000": "not detected",
	"LA6576-8": "positive", "LA6577-6": "negative", "LA11882-0": "detected", "LA11883-8": "not detected",
	"POS": "positive", "NEG": "negative", "DET": "detected", "ND": "not detected", "IND": "equivocal", "E": "equivocal",
}

// valueOf reduces a value to what may be stored. field is the path of its parent.
func (d *decoder) valueOf(r *resource, s *acuity.Signal, v *value, field string) acuity.Value {
	switch v.kind {
	case aQuantity:
		return d.measured(r, s, &v.quantity, field+"value")
	case aRange:
		return d.ranged(r, s, v, field+"value")
	case aText:
		return acuity.ParseValue(string(d.bytes(v.text)))
	case aConcept:
		return d.wordOf(&v.concept)
	case aValue:
		return acuity.Value{Kind: acuity.ValueUnreadable}
	case noValue:
		for i := range d.codings[v.interpret.first:v.interpret.last] {
			if word := valueCodes[string(d.bytes(d.codings[v.interpret.first:v.interpret.last][i].code))]; word != "" {
				return acuity.ParseValue(word)
			}
		}
	}
	return acuity.Value{}
}

// measured reads a Quantity. It drops a number whose unit is not that of the rule for its
// code (clinical-decisions S2).
func (d *decoder) measured(r *resource, s *acuity.Signal, q *quantity, field string) acuity.Value {
	number := acuity.ParseValue(string(d.bytes(q.value)))
	if number.Kind != acuity.ValueNumber || number.Unit != "" {
		if !q.value.empty() {
			d.warn(r, "value_unreadable", field)
		}
		return acuity.Value{Kind: acuity.ValueUnreadable}
	}
	unit, unitless := d.bytes(q.code), false
	v := d.inUnit(number.Number, unit)
	if v.Kind != acuity.ValueNumber || len(unit) == 0 {
		unit = d.bytes(q.unit)
		unitless = q.code.empty() && len(unit) == 0
		v = d.inUnit(number.Number, unit)
	}
	v.Op = number.Op
	switch string(d.bytes(q.comparator)) {
	case "<":
		v.Op = acuity.Less
	case "<=":
		v.Op = acuity.LessOrEqual
	case ">":
		v.Op = acuity.Greater
	case ">=":
		v.Op = acuity.GreaterOrEqual
	}
	if wanted := d.unitOf(s); wanted != "" && v.Unit != wanted {
		if unitless {
			d.warn(r, "unit_missing", field)
			return v
		}
		d.warn(r, "unit", field)
		return acuity.Value{Kind: acuity.ValueUnreadable}
	}
	if v.Kind != acuity.ValueNumber {
		v = acuity.Value{Kind: acuity.ValueUnreadable}
	}
	return v
}

// inUnit returns a number with a unit. It caches units, because the same few repeat.
func (d *decoder) inUnit(n acuity.Milli, unit []byte) acuity.Value {
	v, known := d.units[string(unit)]
	if !known {
		v = acuity.NumberValue(0, string(unit))
		if d.units == nil {
			d.units = map[string]acuity.Value{}
		}
		d.units[string(unit)] = v
	}
	v.Number = n
	if v.Kind != acuity.ValueNumber {
		v.Number = 0
	}
	return v
}

// unitOf returns the unit in which a rule reads the number of a signal.
func (d *decoder) unitOf(s *acuity.Signal) string {
	if unit := acuity.UnitOf(s.System, s.Code); unit != "" {
		return unit
	}
	for i := range s.Also {
		if unit := acuity.UnitOf(s.Also[i].System, s.Also[i].Code); unit != "" {
			return unit
		}
	}
	return ""
}

// ranged reads a Range as "at least its lower end", else as "at most its upper end". A
// rule that holds for that value holds for the whole Range.
func (d *decoder) ranged(r *resource, s *acuity.Signal, v *value, field string) acuity.Value {
	end, op := &v.quantity, acuity.GreaterOrEqual
	if end.value.empty() {
		end, op = &v.high, acuity.LessOrEqual
	}
	n := d.measured(r, s, end, field)
	if n.Kind == acuity.ValueNumber {
		n.Op = op
	}
	return n
}

// wordOf reads a coded value by the code, by its name, or by the text.
func (d *decoder) wordOf(c *concept) acuity.Value {
	codings := d.codings[c.first:c.last]
	for i := range codings {
		if word := valueCodes[string(d.bytes(codings[i].code))]; word != "" {
			return acuity.ParseValue(word)
		}
	}
	for i := range codings {
		if v := acuity.ParseValue(string(d.bytes(codings[i].display))); v.Kind == acuity.ValueNumber || v.Kind == acuity.ValueWords {
			return v
		}
	}
	v := acuity.ParseValue(string(d.bytes(c.text)))
	if v.Kind == acuity.ValueNone && len(codings) > 0 {
		v.Kind = acuity.ValueUnreadable
	}
	return v
}
