package codes

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxWords bounds the words of a value or a display that are read.
const maxWords = 24

// SplitWords appends to dst the words of text: runs of letters and digits, in lower
// case. It stops at maxWords.
func SplitWords(dst []string, text string) []string {
	start := -1
	for i, r := range text {
		in := unicode.IsLetter(r) || unicode.IsDigit(r)
		switch {
		case in && start < 0:
			start = i
		case !in && start >= 0:
			dst = append(dst, strings.ToLower(text[start:i]))
			start = -1
			if len(dst) == maxWords {
				return dst
			}
		}
	}
	if start >= 0 {
		dst = append(dst, strings.ToLower(text[start:]))
	}
	return dst
}

// vocabulary holds the known words of values. A word maps to what is kept of it; "": no
// rule needs it. All other words are dropped, see valueReader.
var vocabulary = map[string]string{
	// Category of a fetal heart rate tracing (ACOG three-tier system).
	"category": "category", "cat": "category", "categories": "category",
	"i": "i", "ii": "ii", "iii": "iii", "1": "i", "2": "ii", "3": "iii",
	"one": "i", "two": "ii", "three": "iii",
	"cati": "category i", "catii": "category ii", "catiii": "category iii",
	"categoryi": "category i", "categoryii": "category ii", "categoryiii": "category iii",
	"category1": "category i", "category2": "category ii", "category3": "category iii",
	"cat1": "category i", "cat2": "category ii", "cat3": "category iii",
	"normal": "normal", "abnormal": "abnormal", "indeterminate": "indeterminate",
	"fhr": "", "fht": "", "efm": "", "fetal": "", "heart": "", "rate": "", "tracing": "", "tracings": "",
	"strip": "", "pattern": "", "interpretation": "", "class": "", "overall": "", "acog": "", "nichd": "", "tier": "",
	"moderate": "", "minimal": "", "marked": "", "variability": "", "baseline": "",
	"late": "", "variable": "", "early": "", "prolonged": "", "recurrent": "", "intermittent": "", "repetitive": "",
	"deceleration": "", "decelerations": "", "decel": "", "decels": "",
	"acceleration": "", "accelerations": "", "accel": "", "accels": "",
	"bradycardia": "", "tachycardia": "", "sinusoidal": "",

	// Results.
	"positive": "positive", "pos": "positive", "negative": "negative", "neg": "negative",
	"detected": "detected", "undetected": "not detected", "nondetected": "not detected", "notdetected": "not detected",
	"present": "present", "absent": "absent", "isolated": "isolated", "growth": "growth", "reactive": "reactive",
	"nonreactive": "not reactive", "nondetectable": "not detected", "seen": "detected", "found": "detected",
	"equivocal": "equivocal", "inconclusive": "equivocal", "invalid": "equivocal", "pending": "equivocal",
	"presumptive": "", "confirmed": "", "result": "", "culture": "", "pcr": "", "dna": "", "rna": "", "naat": "",
	"gbs": "", "group": "", "b": "", "beta": "", "strep": "", "streptococcus": "", "streptococci": "",
	"agalactiae": "", "screen": "", "test": "",

	// Yes and no.
	"yes": "yes", "y": "yes", "true": "yes", "on": "on", "active": "active", "ongoing": "active",
	"running": "active", "started": "active", "reported": "active", "decreased": "active", "pushing": "active",
	"no": "no", "n": "no", "false": "no", "not": "not", "non": "not", "none": "none", "never": "no",
	"without": "no", "off": "off", "stopped": "off", "discontinued": "off", "ended": "off", "completed": "off",
	"resolved": "off", "denies": "no", "denied": "no", "inactive": "off", "nil": "none",
	"weaned": "off", "removed": "off",

	// Doubt: a statement with one of these does not count.
	"possible": "equivocal", "possibly": "equivocal", "probable": "equivocal", "probably": "equivocal", "maybe": "equivocal",
	"may": "equivocal", "might": "equivocal", "could": "equivocal", "likely": "equivocal", "unlikely": "equivocal",
	"suspect": "equivocal", "suspected": "equivocal", "suspicious": "equivocal", "suspicion": "equivocal", "questionable": "equivocal",
	"question": "equivocal", "query": "equivocal", "rule": "equivocal", "ruled": "equivocal", "exclude": "equivocal",
	"excluded": "equivocal", "excluding": "equivocal", "excludes": "equivocal", "cannot": "equivocal", "cant": "equivocal",
	"unable": "equivocal", "uncertain": "equivocal", "unclear": "equivocal", "unsure": "equivocal", "unknown": "equivocal",
	"undetermined": "equivocal", "unconfirmed": "equivocal", "unverified": "equivocal", "awaiting": "equivocal", "await": "equivocal",
	"borderline": "equivocal", "versus": "equivocal", "vs": "equivocal", "if": "equivocal", "unless": "equivocal", "until": "equivocal",
	"risk": "equivocal", "concern": "equivocal", "concerning": "equivocal", "potential": "equivocal", "potentially": "equivocal",
	"approaching": "equivocal", "almost": "equivocal", "nearly": "equivocal", "rather": "equivocal", "instead": "equivocal",
	"error": "equivocal", "erroneous": "equivocal", "mistake": "equivocal", "wrong": "equivocal", "incorrect": "equivocal",
	"disregard": "equivocal", "cancelled": "equivocal", "canceled": "equivocal", "contaminated": "equivocal", "contaminant": "equivocal",
	"insufficient": "equivocal", "rejected": "equivocal", "unsatisfactory": "equivocal", "except": "equivocal", "differential": "equivocal",
	"?": "equivocal", "r/o": "equivocal", "n/a": "equivocal", "na": "equivocal", "watch": "equivocal", "monitor": "equivocal",
	"neither": "no", "nor": "no", "lacks": "no", "lacking": "no", "lack": "no", "w/o": "no", "nothing": "none", "free": "no",
	"cleared": "off", "gone": "off", "d/c": "off", "dc": "off", "discontinue": "off", "stop": "off",
	"evidence": "", "organism": "", "organisms": "", "sign": "", "signs": "", "hemolytic": "", "haemolytic": "", "isolate": "",
	"isolates": "", "streptococcal": "", "spp": "", "species": "", "any": "", "longer": "", "in": "", "on/off": "",

	// Oxygen.
	"room": "room", "air": "air", "ra": "room air", "roomair": "room air",
	"nasal": "nasal", "cannula": "cannula", "nc": "nasal cannula", "mask": "mask", "face": "", "facemask": "mask",
	"rebreather": "mask", "nonrebreather": "mask", "nrb": "mask", "nrbm": "mask", "venturi": "mask",
	"high": "", "flow": "", "highflow": "", "hfnc": "nasal cannula", "simple": "", "cpap": "cpap", "bipap": "bipap",
	"ventilator": "ventilator", "oxygen": "", "o2": "", "supplemental": "", "therapy": "", "tube": "",

	// Between them.
	"a": "", "an": "", "and": "", "at": "", "by": "", "for": "", "is": "", "of": "", "the": "", "via": "", "with": "",
	"to": "", "per": "", "patient": "", "this": "", "time": "", "now": "", "or": "",
}

// onlyOxygenDevice reports whether text names ways of giving oxygen and nothing else.
func onlyOxygenDevice(text string) bool {
	words, ok := normalWords(text)
	if !ok {
		return false
	}
	for w := range strings.SplitSeq(words, " ") {
		switch w {
		case "nasal", "cannula", "mask", "cpap", "bipap", "ventilator", "on", "":
		default:
			return false
		}
	}
	return true
}

// MaxDisplay is the length of a display name that is kept, in characters.
const MaxDisplay = 80

// maskedRun is the number of digits from which on a number in a display name
// could identify a person.
const maskedRun = 5

// MaskDisplay makes a display name fit to be kept: at most 80 characters, white
// space single, control characters gone, and numbers of five digits or more,
// also when written with points, dashes or slashes (a date, a telephone number),
// replaced by "#".
func MaskDisplay(s string) string {
	if IsDisplay(s) {
		return s
	}
	s = CleanDisplay(s)
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if unicode.IsDigit(r) {
			end, digits := digitRun(s[i:])
			if digits >= maskedRun {
				b.WriteByte('#')
			} else {
				b.WriteString(s[i : i+end])
			}
			i += end
			continue
		}
		b.WriteRune(r)
		i += size
	}
	masked, count := b.String(), 0
	for i := range masked {
		if count == MaxDisplay {
			return strings.TrimSpace(masked[:i])
		}
		count++
	}
	return masked
}

// IsDisplay reports whether a display name is as [MaskDisplay] keeps it: short,
// printable ASCII, white space single, and not even as many digits as would be masked.
func IsDisplay[Text string | []byte](s Text) bool {
	if len(s) > MaxDisplay {
		return false
	}
	digits, space := 0, true
	for i := range len(s) {
		switch c := s[i]; {
		case c < ' ' || c > '~' || c == ' ' && space:
			return false
		case isDigit(c):
			digits++
		}
		space = s[i] == ' '
	}
	return digits < maskedRun && (len(s) == 0 || !space)
}

// CleanDisplay returns s without control characters, bytes that are no UTF-8, and
// superfluous white space. It reads no more than could ever be kept.
func CleanDisplay(s string) string {
	s = s[:min(len(s), 16*MaxDisplay)]
	var b strings.Builder
	space := false
	for _, r := range s {
		switch {
		case unicode.IsSpace(r):
			space = b.Len() > 0
		case r == utf8.RuneError || !unicode.IsPrint(r):
		default:
			if space {
				b.WriteByte(' ')
				space = false
			}
			b.WriteRune(r)
		}
	}
	return b.String()
}

// digitRun returns the length in bytes of the number at the start of s, and its
// digits; single points, dashes and slashes between digits belong to it.
func digitRun(s string) (end, digits int) {
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if unicode.IsDigit(r) {
			digits++
			i += size
			end = i
			continue
		}
		if i != end || (r != '.' && r != '-' && r != '/') {
			break
		}
		i += size
	}
	return end, digits
}
