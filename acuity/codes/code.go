package codes

import "strings"

// System is a code system by its name in the specification.
type System string

// The code systems that the terminology map knows. SystemNone is a code that
// came without one: its system is inferred from the shape of the code.
const (
	SystemNone  System = ""
	ICD10CM     System = "ICD-10-CM"
	SNOMED      System = "SNOMED-CT"
	LOINC       System = "LOINC"
	RxNorm      System = "RxNorm"
	SystemLocal System = "local"
)

// systemNames are the names that senders use, in lower case without anything but
// letters and digits. HL7 table 0396, FHIR URIs and OIDs, and what the field does.
var systemNames = map[string]System{
	"icd10cm": ICD10CM, "icd10": ICD10CM, "i10": ICD10CM, "i10c": ICD10CM,
	"httphl7orgfhirsidicd10cm": ICD10CM, "httphl7orgfhirsidicd10": ICD10CM,
	"2168401113883690": ICD10CM, "urnoid2168401113883690": ICD10CM,
	"snomedct": SNOMED, "snomed": SNOMED, "sct": SNOMED, "snm": SNOMED, "sctus": SNOMED, "snomedctus": SNOMED,
	"httpsnomedinfosct": SNOMED, "2168401113883696": SNOMED, "urnoid2168401113883696": SNOMED,
	"loinc": LOINC, "ln": LOINC, "lnc": LOINC, "httploincorg": LOINC,
	"216840111388361": LOINC, "urnoid216840111388361": LOINC,
	"rxnorm": RxNorm, "rxn": RxNorm, "httpwwwnlmnihgovresearchumlsrxnorm": RxNorm,
	"2168401113883688": RxNorm, "urnoid2168401113883688": RxNorm,
	"local": SystemLocal, "l": SystemLocal,
}

// NormalSystem returns the code system that a sender means by name: a name of
// HL7 table 0396 ("I10", "SCT", "LN", "L", "99abc"), of the specification, a FHIR
// URI, or an OID. Without a name, and for the ambiguous "I" and "ICD", the shape
// of the code tells ICD-10-CM from anything else. Systems that no rule knows,
// ICD-9 among them, are the hospital's own business: local. The second result
// is true when the system was not named but guessed.
func NormalSystem(name, code string) (System, bool) {
	switch System(name) { // the usual case, without work
	case ICD10CM, "I10", "I10C":
		return ICD10CM, false
	case SNOMED, "SCT":
		return SNOMED, false
	case LOINC:
		return LOINC, false
	case RxNorm:
		return RxNorm, false
	case SystemLocal:
		return SystemLocal, false
	case SystemNone:
	}
	if len(name) > maxSystemName {
		return SystemLocal, true
	}
	key := strings.Map(lettersAndDigits, name)
	if s, ok := systemNames[key]; ok {
		return s, false
	}
	switch {
	case key == "" || key == "i" || key == "icd":
		if isICD10Shape(code) {
			return ICD10CM, true
		}
		return SystemLocal, true
	case strings.HasPrefix(key, "i10"), strings.HasPrefix(key, "icd10") && !strings.Contains(key, "pcs"):
		return ICD10CM, false
	case strings.HasPrefix(key, "99"):
		return SystemLocal, false
	case strings.HasPrefix(key, "httpsnomedinfosct"): // with edition and version
		return SNOMED, false
	}
	return SystemLocal, true
}

// maxSystemName is longer than any name of a code system.
const maxSystemName = 128

// lettersAndDigits maps letters of ASCII to lower case, and drops everything but them and digits.
func lettersAndDigits(r rune) rune {
	switch {
	case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
		return r
	case r >= 'A' && r <= 'Z':
		return r + 'a' - 'A'
	}
	return -1
}

// maxICD10 is the length of the longest ICD-10-CM code without its dot.
const maxICD10 = 7

// isICD10Shape reports whether a code looks like one of ICD-10-CM: letter, digit,
// digit or letter, then at most four more after an optional dot.
func isICD10Shape(code string) bool {
	code = strings.TrimSpace(code)
	if len(code) > 3 && code[3] == '.' {
		if len(code) == 4 {
			return false
		}
		code = code[:3] + code[4:]
	}
	if len(code) < 3 || len(code) > maxICD10 || isDigit(code[0]) || !isDigit(code[1]) {
		return false
	}
	return !strings.ContainsFunc(code, func(r rune) bool { return lettersAndDigits(r) < 0 })
}

// Normal returns a code for comparison within its system, trimmed: ICD-10-CM in upper case
// without its dot, local codes in upper case, all others as they are.
func Normal(system System, code string) string {
	code = strings.TrimSpace(code)
	switch system {
	case ICD10CM:
		return strings.ToUpper(strings.ReplaceAll(code, ".", ""))
	case SystemLocal:
		return strings.ToUpper(code)
	case SystemNone, SNOMED, LOINC, RxNorm:
	}
	return code
}

// Comparable returns a code and its system for comparison. A code without a system has the
// one that its shape says.
func Comparable(system System, code string) (System, string) {
	if system == SystemNone {
		system, _ = NormalSystem("", code)
	}
	return system, Normal(system, code)
}

// Pattern is a code of the catalogue or of a mapping, ready for comparison.
type Pattern struct {
	Text   string
	Prefix bool // else the whole code
}

// Matches reports whether a code fits the pattern.
func (p Pattern) Matches(code string) bool {
	return code == p.Text || p.Prefix && strings.HasPrefix(code, p.Text)
}

// Patterns returns what a code as written in the specification stands for.
// In ICD-10-CM "O15*" is a prefix, and a bare category of three characters or a
// range of them means the category and its children: no patient is ever coded
// with "O16" alone. Everything else is exact. In other systems a trailing "*" is
// a prefix, too.
func Patterns(system System, written string) []Pattern {
	if text, ok := strings.CutSuffix(strings.TrimSpace(written), "*"); ok {
		return []Pattern{{Normal(system, text), true}}
	}
	code := Normal(system, written)
	if system != ICD10CM {
		return []Pattern{{code, false}}
	}
	if from, to, ok := strings.Cut(code, "-"); ok && len(from) == 3 && len(to) == 3 {
		return categories(from, to)
	}
	return []Pattern{{code, len(code) == 3}}
}

// categories returns the categories from one to another, both included, in the
// order of characters: O09, O10, O1A … never by number.
func categories(from, to string) []Pattern {
	const second, third = "0123456789", "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	var all []Pattern
	for first := from[0]; first <= to[0]; first++ {
		for i := range len(second) {
			for j := range len(third) {
				if c := string([]byte{first, second[i], third[j]}); from <= c && c <= to {
					all = append(all, Pattern{c, true})
				}
			}
		}
	}
	return all
}
