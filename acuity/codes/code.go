package codes

import "strings"

// System names a code system in the specification's spelling.
type System string

// The code systems of the terminology map. SystemNone marks a code that was sent without a system; the system is
// inferred from the shape of the code.
const (
	SystemNone  System = ""
	ICD10CM     System = "ICD-10-CM"
	SNOMED      System = "SNOMED-CT"
	LOINC       System = "LOINC"
	RxNorm      System = "RxNorm"
	SystemLocal System = "local"
)

// systemNames maps the names that senders use for a code system, reduced to lowercase letters and digits, to the
// System. The names come from HL7 table 0396, FHIR URIs, OIDs and common usage.
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

// NormalSystem returns the code system to which a sender's name refers. A name may be from HL7 table 0396 ("I10",
// "SCT", "LN", "L", "99abc"), the specification's own name, a FHIR URI or an OID. If name is empty, or is the ambiguous
// "I" or "ICD", the shape of the code decides between ICD-10-CM and local. Any other system, such as ICD-9, counts as
// local. The second result is true if the name does not determine the system, so that the system was inferred from the
// code or assumed to be local.
func NormalSystem(name, code string) (System, bool) {
	switch System(name) { // the common case needs no normalization
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
	if len(name) > len(secure) && strings.EqualFold(name[:len(secure)], secure) {
		key = "http" + key[len("https"):] // the URIs of code systems begin with http:
	}
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
	case strings.HasPrefix(key, "httpsnomedinfosct"): // the URI may be followed by an edition and a version
		return SNOMED, false
	}
	return SystemLocal, true
}

const secure = "https://"

// maxSystemName is the maximum length of a system name in bytes; longer names are not read. Every known name is
// shorter.
const maxSystemName = 128

// lettersAndDigits is a mapping for strings.Map: it converts ASCII letters to lower case, keeps digits and drops every
// other character.
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

// isICD10Shape reports whether a code has the shape of an ICD-10-CM code: a letter, a digit, and a letter or digit,
// followed by at most four more letters or digits, with an optional dot before them.
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

// Normal returns the normal form of a code, in which codes of the same system can be compared. The code is trimmed;
// ICD-10-CM codes are in upper case without the dot, local codes in upper case, and codes of other systems unchanged.
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

// Comparable returns the system and the normal form of a code. If system is SystemNone, it infers the system from the
// shape of the code.
func Comparable(system System, code string) (System, string) {
	if system == SystemNone {
		system, _ = NormalSystem("", code)
	}
	return system, Normal(system, code)
}

// Pattern matches either one code or all codes with a prefix, within one system. Text is in the form that Normal
// returns.
type Pattern struct {
	Text   string
	Prefix bool // whether Text is a prefix instead of the whole code
}

// Matches reports whether the pattern matches a code in normal form.
func (p Pattern) Matches(code string) bool {
	return code == p.Text || p.Prefix && strings.HasPrefix(code, p.Text)
}

// Patterns returns the patterns for a code or range in the specification's notation. In ICD-10-CM, "O15*" is a
// prefix, and a category of three characters or a range of categories includes all their subcategories, because a
// category such as "O16" alone is never coded. Any other ICD-10-CM code matches exactly. In other systems, a trailing
// "*" also marks a prefix.
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

// categories returns a prefix pattern for each ICD-10-CM category in [from, to], in ASCII order: O09, O10, O1A and so
// on.
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
