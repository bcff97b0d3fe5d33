package terminology

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"svc/acuity"
	"svc/acuity/codes"
)

// readAs reads a text in three ways: as the category of a tracing, as the result of a test, and as the value of a
// statement about oxygen. A result of -1 means unreadable.
func readAs(text string) (category, result, oxygen int) {
	v := codes.ParseValue(text)
	number := func(a answer) int { return map[answer]int{unread: -1, no: 0, yes: 1}[a] }
	if category = categoryOf(v); category == 0 {
		category = -1
	}
	return category, number(readPositive(v)), number(oxygenRuns(&acuity.Signal{Value: v, Display: "oxygen"}))
}

func TestCategoryInText(t *testing.T) {
	for text, want := range map[string]int{
		"Category III; provider notified": 3, "CAT III/terminal brady": 3, "Category III, 0412": 3, "0412: Category III": 3,
		"Cat. 3 - Dr. at bedside": 3, "Category III per RN J. Doe": 3, "FHR Category: III": 3, "CATEGORY  III!!": 3, "Category Ⅲ": 3,
		"III; provider notified": 3, "Category II to III, MD aware": 3, "category 2/3 w OR called": 3, "Abnormal; provider notified": 3,
		"Category III, absent variability, no accelerations, charge RN aware": 3, "Category III; pitocin off, O2 by mask, MD at bedside": 3,
		"Category III, non-reassuring": 3, "categoryiii stat": 3, "catIII stat": 3,
		"Category II at 3 am": 2, "Category II, 3 decels in 30 min": 2, "Category II 3 late decels": 2, "Category II and 3 decels": 2,
		"Category II. I notified provider": 2, "Category 2 x 20 min": 2, "Stage 2 of labor, category 2": 2, "II tracing, RN aware": 2,
		"Category II, no change": 2, "Category II without accelerations": 2, "indeterminate; MD aware": 2,
		"Category I, stage III": 1, "Category I: moderate variability, accels present, no decels, pt comfortable": 1, "Category I; normal labs": 1,
		"Category I, abnormal labs": 1, "Category I for 3 hours": 1, "normal tracing, MD aware": 1,

		"no category III": -1, "not a category III": -1, "possible category III": -1, "Category III?": -1, "cannot exclude category III": -1,
		"can't rule out Category III": -1, "isn't category III": -1, "Category III ruled out": -1, "r/o category III": -1, "w/o Category III": -1,
		"no evidence of category III": -1, "never category III": -1, "no longer category III": -1, "risk for category III": -1,
		"if category III call MD": -1, "Category III resolved": -1, "denies category III": -1, "Category III unlikely": -1,
		"previously category III": -1, "history of Category III": -1, "Category III earlier": -1, "h/o category III": -1, "Category III, entered in error": -1,
		"neither category II nor III": -1, "probable cat 3": -1, "suspected Category III per RN": -1, "category II vs III": -1, "Category +/- III": -1,
		"I notified the provider": -1, "provider notified": -1, "Normal saline bolus for late decels": -1, "BP abnormal": -1, "Abnormal BP": -1,
		"3 decels": -1, "at 3": -1, "Type II diabetes": -1, "category change at 3": -1,
	} {
		if got, _, _ := readAs(text); got != want {
			t.Errorf("%q: category %d, want %d (%+v)", text, got, want, codes.ParseValue(text))
		}
	}
}

func TestResultInText(t *testing.T) {
	for text, want := range map[string]int{
		"Positive (1+)": 1, "DETECTED (Ct 31)": 1, "POS - lab called": 1, "GBS positive, penicillin ordered": 1, "Positive; provider notified": 1,
		"Present, provider notified": 1, "Streptococcus agalactiae isolated from swab": 1, "Yes - treated": 1, "GBS culture from 12/3: POS": 1,
		"light growth of Group B strep, sensitivities to follow": 1, "GBS +": 1,
		"Not detected (NAAT)": 0, "Negative; provider notified": 0, "NEGATIVE per outside lab": 0, "no group B strep isolated after 48 h": 0,
		"None detected at LabCorp": 0, "not isolated": 0, "No growth at 2 days": 0, "Negative, reported to RN": 0, "false positive": 0,
		"possible positive": -1, "positive?": -1, "cannot exclude positive": -1, "pending": -1, "result pending, provider notified": -1,
		"not done": -1, "not collected": -1, "n/a": -1, "history of GBS positive": -1, "positive in prior pregnancy": -1, "unknown": -1,
		"Positive; provider not notified": -1, "negative, previously positive": -1, "Rh positive": -1, "Rh positive, GBS negative": 0,
		"patient seen by MD": -1, "father present": -1, "no allergies": -1, "reported to provider": -1, "decreased appetite": -1, "+/-": -1,
		"inconclusive": -1, "specimen rejected": -1, "positive control valid": -1,
	} {
		if _, got, _ := readAs(text); got != want {
			t.Errorf("%q: result %d, want %d (%+v)", text, got, want, codes.ParseValue(text))
		}
	}
}

func TestOxygenInText(t *testing.T) {
	for text, want := range map[string]int{
		"Room air, sats 98": 0, "oxygen discontinued per protocol": 0, "weaned to RA by RT": 0, "nasal cannula per RT": 1, "non-rebreather, RT called": 1,
		"no distress on nasal cannula": 1, "does not require oxygen": -1, "2 L/min room air": 1,
	} {
		if _, _, got := readAs(text); got != want {
			t.Errorf("%q: oxygen %d, want %d (%+v)", text, got, want, codes.ParseValue(text))
		}
	}
}

var (
	clearReadings = []string{
		"Category III", "CAT 3", "Cat. II", "category ii to iii", "Category I", "Positive", "POS", "Detected", "growth", "isolated",
		"Not detected", "Negative", "no growth", "Group B Strep not isolated", "Category III, absent variability",
	}
	neutralWords = []string{
		"provider", "notified", "Smith", "RN", "at", "bedside", "0412", "31", "Ct", "terminal", "brady", "called", "per", "protocol",
		"the", "and", "for", "tracing", "patient", "aware", "OR", "ready", "(1+)", "12/3", "x2",
	}
	denials = []string{
		"no", "not", "never", "without", "cannot exclude", "can't rule out", "possible", "possibly", "suspected", "r/o", "denies", "unlikely",
		"isn't", "no longer", "probable", "questionable", "risk of", "if", "no evidence of", "ruled out", "?",
	}
)

// Meaningless words before or after a text never change the category or the test result that the text is read as.
func TestNeutralWordsChangeNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SampledFrom(clearReadings).Draw(t, "reading")
		words := rapid.SliceOfN(rapid.SampledFrom(neutralWords), 1, 8).Draw(t, "words")
		around := strings.Join(words, " ")
		with := text + rapid.SampledFrom([]string{"; ", ", ", " - ", " (", ". "}).Draw(t, "between") + around
		if rapid.Bool().Draw(t, "before") {
			with = around + ": " + text
		}
		a, b, _ := readAs(text)
		if x, y, _ := readAs(with); x != a || y != b {
			t.Fatalf("%q: %d %d (%+v)\n%q: %d %d (%+v)", text, a, b, codes.ParseValue(text), with, x, y, codes.ParseValue(with))
		}
	})
}

// Inserting a negation or a word of doubt into a text never creates a category or a positive test result that the
// text did not have. A reading that directly follows such a word is neither a category nor a positive result.
func TestDenialNeverReads(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(rapid.SampledFrom(slices.Concat(clearReadings, neutralWords, denials, []string{";", "III", "2", "I", "normal", "present"})), 0, 8).Draw(t, "words")
		deny := rapid.SampledFrom(denials).Draw(t, "denial")
		at := rapid.IntRange(0, len(list)).Draw(t, "at")
		text, with := strings.Join(list, " "), strings.Join(slices.Insert(slices.Clone(list), at, deny), " ")
		a, b, _ := readAs(text)
		if x, y, _ := readAs(with); x > 0 && a < 0 || y > 0 && b != 1 {
			t.Fatalf("%q: %d %d\n%q: %d %d (%+v)", text, a, b, with, x, y, codes.ParseValue(with))
		}
		reading := rapid.SampledFrom(clearReadings).Draw(t, "reading")
		if x, y, _ := readAs(deny + " " + reading); x > 0 || y > 0 {
			t.Fatalf("%q: %d %d", deny+" "+reading, x, y)
		}
	})
}

func TestCompare(t *testing.T) {
	ops := []codes.Comparator{codes.Equal, codes.Less, codes.LessOrEqual, codes.Greater, codes.GreaterOrEqual}
	meets := func(x codes.Milli, op codes.Comparator, than codes.Milli) bool {
		switch op {
		case codes.Equal:
			return x == than
		case codes.Less:
			return x < than
		case codes.LessOrEqual:
			return x <= than
		case codes.Greater:
			return x > than
		case codes.GreaterOrEqual:
			return x >= than
		}
		return false
	}
	// The limits are even and x is every integer, so an odd x represents a number between two adjacent limits.
	for _, stated := range ops {
		for _, op := range ops {
			for n := codes.Milli(0); n <= 12; n += 2 {
				all, none := true, true
				for x := codes.Milli(-4); x <= 16; x++ {
					if meets(x, stated, n) {
						all = all && meets(x, op, 6)
						none = none && !meets(x, op, 6)
					}
				}
				want := unread
				switch {
				case all:
					want = yes
				case none:
					want = no
				}
				if got := compare(numberValue(stated, n, ""), op, 6); got != want {
					t.Errorf("%d %d against %d 6 = %d, want %d", stated, n, op, got, want)
				}
			}
		}
	}
}

// numberValue and wordsValue return the same values as [codes.ParseValue].
func numberValue(op codes.Comparator, n codes.Milli, unit string) codes.Value {
	return codes.Value{Kind: codes.ValueNumber, Op: op, Number: n, Unit: unit}
}

func wordsValue(w string) codes.Value { return codes.Value{Kind: codes.ValueWords, Words: w} }
