package codes

import (
	"strconv"
	"strings"
)

// Milli is a decimal number in thousandths, so that thresholds compare integers.
type Milli int64

// Comparator is how a value compares with a limit, or the comparator that was sent with
// a number.
type Comparator uint8

// The comparators. Equal is also the plain number.
const (
	Equal Comparator = iota
	Less
	LessOrEqual
	Greater
	GreaterOrEqual
)

// ValueKind is what the value of a signal could be reduced to.
type ValueKind uint8

// The kinds of value. A text that is neither a number nor known words is unreadable and
// is not kept: it could be about a person.
const (
	ValueNone ValueKind = iota
	ValueNumber
	ValueWords
	ValueUnreadable
)

// Value is the value of a signal, reduced to a number with comparator and unit
// or to words of the closed vocabulary.
type Value struct {
	Kind   ValueKind
	Op     Comparator
	Number Milli
	Unit   string // of the closed list of units; "": none was given
	Words  string // vocabulary words, lower case, one space between
}

// maxValueText bounds the text of ParseValue, in bytes. Longer texts are reports.
const maxValueText = 1000

// maxMilli bounds the numbers that are kept. No measurement comes near.
const maxMilli = 1_000_000_000_000

// ParseValue reduces the text of a clinical value to what rules can use:
//
//   - a number, with an optional comparator before it and an optional unit of a
//     closed list after it: "41.2 kg/m²", ">= 40", "5", "2 L/min nasal cannula".
//     Digits beyond the thousandth are cut, so no value is rounded up to a limit;
//   - words of a closed vocabulary: "CAT. 3 tracing" is "category iii", "Not
//     detected" is "not detected", "RA" is "room air". All other words are dropped,
//     because they could be about a person. Denials and doubts stay, so that half of a
//     sentence never says the opposite of the whole.
//   - everything else is unreadable.
//
// Blank text is ValueNone. ParseValue never fails and does not depend on the code of
// the value.
func ParseValue(text string) Value {
	if len(text) > maxValueText {
		return Value{Kind: ValueUnreadable}
	}
	text = strings.TrimSpace(text)
	if text == "" {
		return Value{Kind: ValueNone}
	}
	if v, ok := parseNumber(text); ok {
		return v
	}
	if words, ok := normalWords(text); ok && !measuresOxygen(text) {
		return Value{Kind: ValueWords, Words: words}
	}
	return Value{Kind: ValueUnreadable}
}

// measuresOxygen reports whether a text begins with a flow or a fraction. What follows
// is no reading of its own.
func measuresOxygen(text string) bool {
	_, text = cutComparator(text)
	_, rest, ok := cutNumber(text)
	fields := strings.Fields(rest)
	for k := min(len(fields), 2); ok && k >= 1; k-- {
		if u, known := normalUnit(strings.Join(fields[:k], "")); known && (u == UnitLitersPerMinute || u == UnitPercent) {
			return true
		}
	}
	return false
}

// NumberValue returns the value of a number with a separate unit, as in a FHIR Quantity.
// An unknown unit makes it unreadable: a number without its unit would be another
// measurement. The caller adds the comparator, if there is one.
func NumberValue(n Milli, unit string) Value {
	u, ok := normalUnit(unit)
	if !ok || n > maxMilli || n < -maxMilli {
		return Value{Kind: ValueUnreadable}
	}
	return Value{Kind: ValueNumber, Number: n, Unit: u}
}

// parseNumber reads comparator, number and unit, which must be all of the text.
func parseNumber(text string) (Value, bool) {
	v := Value{Kind: ValueNumber}
	v.Op, text = cutComparator(text)
	n, rest, ok := cutNumber(text)
	if !ok {
		return Value{}, false
	}
	v.Number = n
	if rest = strings.TrimSpace(rest); rest == "" {
		return v, true
	}
	if v.Unit, ok = normalUnit(rest); ok {
		return v, true
	}
	// A flow or fraction of oxygen is often followed by the device.
	fields := strings.Fields(rest)
	for k := min(len(fields)-1, 3); k >= 1; k-- {
		u, known := normalUnit(strings.Join(fields[:k], ""))
		if known && (u == UnitLitersPerMinute || u == UnitPercent) &&
			onlyOxygenDevice(strings.Join(fields[k:], " ")) {
			v.Unit = u
			return v, true
		}
	}
	return Value{}, false
}

// comparators are the ways to qualify a number, longest first.
var comparators = []struct {
	text string
	op   Comparator
}{
	{">=", GreaterOrEqual},
	{"=>", GreaterOrEqual},
	{"≥", GreaterOrEqual},
	{"<=", LessOrEqual},
	{"=<", LessOrEqual},
	{"≤", LessOrEqual},
	{">", Greater},
	{"<", Less},
	{"=", Equal},
}

func cutComparator(text string) (Comparator, string) {
	for _, c := range comparators {
		if rest, ok := strings.CutPrefix(text, c.text); ok {
			return c.op, strings.TrimSpace(rest)
		}
	}
	return Equal, text
}

// cutNumber reads a decimal number at the start of text, in thousandths, cut
// towards zero. An exponent is read too, because JSON numbers may have one.
func cutNumber(text string) (n Milli, rest string, ok bool) {
	text, negative := strings.CutPrefix(text, "-")
	if !negative {
		text = strings.TrimPrefix(text, "+")
	}
	whole, rest := cutDigits(text)
	fraction := ""
	if after, pointed := strings.CutPrefix(rest, "."); pointed {
		if digits, left := cutDigits(after); digits != "" {
			fraction, rest = digits, left
		}
	}
	digits := whole + fraction
	if digits == "" || len(digits) > maxDigits {
		return 0, "", false
	}
	exp, used := cutExponent(rest)
	// value = digits · 10^(len(whole) + exp - len(digits)); thousandths need 3 more places.
	for k := range max(len(whole)+exp+3, 0) {
		n *= 10
		if k < len(digits) {
			n += Milli(digits[k] - '0')
		}
		if n > maxMilli {
			return 0, "", false
		}
	}
	if negative {
		n = -n
	}
	return n, rest[used:], true
}

// maxDigits bounds the digits of a number.
const maxDigits = 32

// cutDigits splits the digits off the start of a text.
func cutDigits(text string) (digits, rest string) {
	rest = strings.TrimLeft(text, "0123456789")
	return text[:len(text)-len(rest)], rest
}

// cutExponent reads "e2", "E-3" and returns it with its length; 0, 0 if there is none.
func cutExponent(text string) (exp, used int) {
	if text == "" || text[0]|0x20 != 'e' {
		return 0, 0
	}
	digits, rest := cutDigits(strings.TrimLeft(text[1:], "+-"))
	used = len(text) - len(rest)
	exp, err := strconv.Atoi(text[1:used])
	if err != nil || len(digits) != 1 {
		return 0, 0
	}
	return exp, used
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// The units that rules look at, as they are spelled in a Value.
const (
	unitKgPerM2         = "kg/m2"
	UnitPercent         = "%"
	UnitLitersPerMinute = "L/min"
	UnitScore           = "{score}"
)

// units is the closed list, by spelling in lower case without spaces. Units of doses are
// on it so that the value of a running infusion stays readable.
var units = map[string]string{
	"": "", "1": "", "{category}": "", "category": "",
	"kg/m2": unitKgPerM2, "kg/m^2": unitKgPerM2, "kg/m**2": unitKgPerM2, "kg/sqm": unitKgPerM2,
	"kg/squaremeter": unitKgPerM2, "kg.m-2": unitKgPerM2, "kgm2": unitKgPerM2, "kg/(m2)": unitKgPerM2,
	"%": UnitPercent, "percent": UnitPercent, "pct": UnitPercent,
	"l/min": UnitLitersPerMinute, "lpm": UnitLitersPerMinute, "l": UnitLitersPerMinute,
	"liter": UnitLitersPerMinute, "liters": UnitLitersPerMinute, "liters/min": UnitLitersPerMinute,
	"l/m": UnitLitersPerMinute, "liters/minute": UnitLitersPerMinute, "literperminute": UnitLitersPerMinute,
	"litersperminute": UnitLitersPerMinute, "l/minute": UnitLitersPerMinute,
	"{score}": UnitScore, "score": UnitScore, "{points}": UnitScore, "points": UnitScore, "point": UnitScore,
	"pts": UnitScore, "{#}": UnitScore,
	"g/h": "g/h", "g/hr": "g/h", "gm/hr": "g/h", "g/hour": "g/h",
	"mg/h": "mg/h", "mg/hr": "mg/h", "mg/min": "mg/min",
	"ml/h": "mL/h", "ml/hr": "mL/h", "cc/hr": "mL/h",
	"mcg/min": "ug/min", "ug/min": "ug/min", "µg/min": "ug/min",
	"mcg/kg/min": "ug/kg/min", "ug/kg/min": "ug/kg/min", "µg/kg/min": "ug/kg/min",
	"mu/min": "mU/min", "munits/min": "mU/min", "milliunits/min": "mU/min", "m[iu]/min": "mU/min",
	"u/h": "U/h", "u/hr": "U/h", "units/h": "U/h", "units/hr": "U/h", "[iu]/h": "U/h",
	"g": "g", "gm": "g", "mg": "mg", "ml": "mL", "mcg": "ug", "ug": "ug",
	"mmhg": "mm[Hg]", "mm[hg]": "mm[Hg]", "bpm": "/min", "/min": "/min", "{beats}/min": "/min",
	"beats/min": "/min", "mg/dl": "mg/dL", "kg": "kg", "lb": "[lb_av]", "[lb_av]": "[lb_av]", "cm": "cm",
}

// unitSpelling brings spellings of one unit together.
var unitSpelling = strings.NewReplacer(" ", "", "\t", "", "²", "2", "μ", "µ")

// normalUnit returns this package's spelling of a unit.
func normalUnit(text string) (string, bool) {
	if len(text) > 24 {
		return "", false
	}
	text = strings.ToLower(text)
	text = unitSpelling.Replace(text)
	u, ok := units[text]
	return u, ok
}
