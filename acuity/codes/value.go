package codes

import (
	"strconv"
	"strings"
)

// Milli is a decimal number in thousandths, so that comparisons with thresholds use integers.
type Milli int64

// Comparator is the relation between a value and a limit in a rule, or the comparator sent with a number ("> 4").
type Comparator uint8

// The comparators. A number sent without a comparator has Equal.
const (
	Equal Comparator = iota
	Less
	LessOrEqual
	Greater
	GreaterOrEqual
)

// ValueKind is the kind of a reduced value.
type ValueKind uint8

// The kinds of values. Text that is neither a number nor made up of known words is unreadable. Unreadable text is not
// stored, because it could identify a person.
const (
	ValueNone ValueKind = iota
	ValueNumber
	ValueWords
	ValueUnreadable
)

// Value is the value of a signal, reduced to a number with a comparator and a unit, or to words from the closed
// vocabulary.
type Value struct {
	Kind   ValueKind
	Op     Comparator
	Number Milli
	Unit   string // spelling from the closed list of units; "": no unit was sent
	Words  string // words from the vocabulary, in lower case, separated by single spaces
}

// maxValueText is the length of the longest text that ParseValue reads, in bytes. Longer text is a report rather than
// a value.
const maxValueText = 1000

// maxMilli is the largest absolute value of a number, in thousandths, that is accepted; clinical measurements are far
// smaller.
const maxMilli = 1_000_000_000_000

// ParseValue reduces the text of a clinical value to what rules can use:
//
//   - A number with an optional comparator before it and an optional unit from a closed list after it: "41.2 kg/m²",
//     ">= 40", "5", "2 L/min nasal cannula". Digits beyond the thousandth are truncated, so no value is rounded up to
//     a limit.
//   - Words from a closed vocabulary: "CAT. 3 tracing" becomes "category iii", "Not detected" becomes "not detected",
//     "RA" becomes "room air". Other words are dropped because they could identify a person. Negations and words of
//     doubt are kept, so that a shortened text never means the opposite.
//   - Any other text is unreadable.
//
// Blank text is ValueNone. ParseValue never fails and does not depend on the code of the value.
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

// measuresOxygen reports whether a text begins with an oxygen flow or fraction. The text after the measurement then
// describes the device and is not read as a value.
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

// NumberValue returns the value of a number with a separate unit, as in a FHIR Quantity. An unknown unit makes the
// value unreadable, because the number in another unit would be a different measurement. The comparator is Equal; the
// caller may change it.
func NumberValue(n Milli, unit string) Value {
	u, ok := normalUnit(unit)
	if !ok || n > maxMilli || n < -maxMilli {
		return Value{Kind: ValueUnreadable}
	}
	return Value{Kind: ValueNumber, Number: n, Unit: u}
}

// parseNumber reads a comparator, a number and a unit. The name of a device may follow an oxygen flow or fraction.
// parseNumber returns false if the text contains anything else.
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
	// An oxygen flow or fraction is often followed by the name of the device.
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

// comparators maps the spellings of comparators to Comparators, longest first.
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

// cutNumber reads a decimal number at the start of text and returns it in thousandths, truncated toward zero. It
// accepts an exponent because JSON numbers may have one.
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
	// value = digits · 10^(len(whole) + exp - len(digits)); thousandths need three more places.
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

// maxDigits is the maximum number of digits in a number.
const maxDigits = 32

// cutDigits splits text into its leading digits and the rest.
func cutDigits(text string) (digits, rest string) {
	rest = strings.TrimLeft(text, "0123456789")
	return text[:len(text)-len(rest)], rest
}

// cutExponent reads an exponent of one digit, such as "e2" or "E-3", at the start of text. It returns the exponent
// and its length in bytes, or 0, 0 if text does not begin with such an exponent.
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

// The units that occur in rules, as a Value spells them.
const (
	unitKgPerM2         = "kg/m2"
	UnitPercent         = "%"
	UnitLitersPerMinute = "L/min"
	UnitScore           = "{score}"
)

// units is the closed list of units. It maps a spelling in lower case, without spaces, to the unit in a Value. It
// includes dose units, so that the value of a running infusion is readable.
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

// unitSpelling removes blanks and unifies the Unicode variants of characters in units.
var unitSpelling = strings.NewReplacer(" ", "", "\t", "", "²", "2", "μ", "µ")

// normalUnit returns the unit as a Value spells it, and reports whether the unit is known.
func normalUnit(text string) (string, bool) {
	if len(text) > 24 {
		return "", false
	}
	text = strings.ToLower(text)
	text = unitSpelling.Replace(text)
	u, ok := units[text]
	return u, ok
}
