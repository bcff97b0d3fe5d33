package adt

import (
	"slices"
	"strings"
	"testing"

	"svc/acuity"
)

func TestParseReasons(t *testing.T) {
	for text, want := range map[string]string{
		"":                                 "",
		" - ":                              "",
		"Contractions, 39w2d":              "other",
		"Induction of labor":               "induction",
		"INDUCTION":                        "induction",
		"Not for induction":                "induction", // the negation ends at "for", which begins a new part
		"No induction":                     "other",
		"Leaking fluid":                    "rupture",
		"r/o ROM":                          "rupture", // not a denial: the patient came to have a rupture ruled out
		"ROM ruled out":                    "other",
		"ROM: negative":                    "other",
		"Denies leaking or fever, for IOL": "induction",
		"denies leaking and bleeding; NST": "fetal-test",
		"NST/BPP":                          "fetal-test",
		"Non-stress test":                  "fetal-test",
		"non-reassuring tracing":           "labor-complication",
		"Scheduled repeat C-section":       "cesarean",
		"C/S":                              "other",
		"repeat c/s":                       "cesarean",
		"previous cesarean, TOLAC":         "other",
		"Hx of c-section; here for scheduled cesarean": "cesarean",
		"prior cesarean induction":                     "induction",
		"Cesarean cancelled":                           "other",
		"early labor":                                  "early-labor",
		"dilated <4cm":                                 "early-labor",
		"dilation < 4 cm":                              "early-labor",
		"dilated 6 cm":                                 "other",
		"foley bulb, then pitocin":                     "ripening induction",
		"placental abruption":                          "labor-complication",
		"umbilical cord prolapse":                      "labor-complication",
		"cerclage removal":                             "cerclage-removal",
		"Cerclage":                                     "cerclage",
		"D&C":                                          "curettage",
		"D & E":                                        "curettage",
		"EXIT procedure":                               "exit-procedure",
		"intrauterine transfusion":                     "fetal-transfusion",
		"blood transfusion":                            "other",
		"MVA, abdominal trauma":                        "medical-complaint",
		"feverfew":                                     "other",
		"asthma":                                       "medical-complaint",
		"w/o fever":                                    "other",
		"pp readmission, unstable":                     "unstable complication",
		"no complications":                             "other",
		"complications: none":                          "other",
		"epidural in place":                            "epidural",
		"intermittent auscultation":                    "auscultation",
		"awaiting bed":                                 "admit-order",
		"Admit order placed":                           "admit-order",
		"baby in NICU":                                 "hold",
		"multi-system anomalies":                       "multisystem",
		"critical":                                     "critical",
		"fetal\nsurgery":                               "other", // two lines are two parts
	} {
		if got := strings.Join(ReasonCodes(ParseReasons(text)), " "); got != want {
			t.Errorf("ParseReasons(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestReasonsThereAndBack(t *testing.T) {
	all := acuity.Reasons(1)<<len(places().reasons) - 1
	if got := ReasonsOf(append(ReasonCodes(all), "of another version")); got != all {
		t.Errorf("back: %b, want %b", got, all)
	}
	if ReasonCodes(0) != nil || ReasonsOf(nil) != 0 {
		t.Error("nothing is not nothing")
	}
	// Records store the names of hints, so the number of a hint may change but its name must not.
	want := []string{"medical-complaint", "rupture", "fetal-test"}
	if got := ReasonCodes(all)[:3]; !slices.Equal(got, want) {
		t.Errorf("first reasons %v, want %v", got, want)
	}
}

// Each documented phrase is found, alone and within a sentence, and is not found when it is
// negated.
func TestEveryPhraseOfAReason(t *testing.T) {
	for first, list := range places().phrases {
		for _, p := range list {
			if p.reasons == 0 {
				continue
			}
			text := strings.Join(append([]string{first}, p.rest...), " ")
			if got := ParseReasons(text); got&p.reasons != p.reasons {
				t.Errorf("%q gives %v", text, ReasonCodes(got))
			}
			if got := ParseReasons("pt 39w, " + strings.ToUpper(text) + ", stable"); got&p.reasons != p.reasons {
				t.Errorf("%q in a sentence gives %v", text, ReasonCodes(got))
			}
			if got := ParseReasons("denies " + text); got != noHints() && !strings.HasPrefix(text, "admit") {
				t.Errorf("%q denied gives %v", text, ReasonCodes(got))
			}
		}
	}
}

func FuzzParseReasons(f *testing.F) {
	for _, s := range []string{"", "Induction", "no ROM, C/S", "<4 cm", "\x80\xff&<", strings.Repeat("rom ", 300)} {
		f.Add(s)
	}
	all := acuity.Reasons(1)<<len(places().reasons) - 1
	f.Fuzz(func(t *testing.T, text string) {
		r := ParseReasons(text)
		if r&^all != 0 {
			t.Errorf("unknown reason in %b", r)
		}
		if ReasonsOf(ReasonCodes(r)) != r {
			t.Error("not the same back")
		}
		if r != ParseReasons(strings.ToUpper(text)) && strings.ToUpper(text) == strings.ToValidUTF8(strings.ToUpper(text), "") && isASCII(text) {
			t.Error("capitals count")
		}
	})
}

func isASCII(s string) bool { return strings.IndexFunc(s, func(r rune) bool { return r > 127 }) < 0 }

func BenchmarkParseReasons(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		_ = ParseReasons("Denies leaking or fever; 39w2d, for induction of labor")
	}
}
