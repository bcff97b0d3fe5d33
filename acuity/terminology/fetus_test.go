package terminology

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"svc/acuity"
	"svc/acuity/codes"
)

// Senders identify a fetus in many notations, and some words only look like the name of a fetus.
func TestFetusIn(t *testing.T) {
	for text, want := range map[string]string{
		"Fetus A": "A", "fetus b": "B", "FETUS-C": "C", "Fetus: B": "B", "fetus_2": "B", "FetusB": "B", "fetusb": "B", "FETUSA": "A",
		"foetus 1": "A", "Baby A": "A", "BABY_B": "B", "babyB": "B", "baby #2": "B", "Baby no. 2": "B", "Twin 2": "B", "TWIN II": "B",
		"twin I": "A", "Twin one": "A", "twin1": "A", "Twin A of 2": "A", "Twin 1 of 2": "A", "(Twin B)": "B", "triplet C": "C", "Quad 4": "D",
		"second twin": "B", "2nd twin": "B", "First fetus": "A", "Third triplet": "C", "newborn 2": "B", "Fetal heart rate category, fetus B": "B",
		"FHR1": "A", "FHR 2": "B", "FHR-B category": "B", "Fetus ID A": "A", "fetus identifier: 2": "B",
		"Maternal care for decreased fetal movements, second trimester, fetus 1": "A",
		"Fetus A Category III, fetus A":                                          "A", "feto B": "B", "gemelo 2": "B", "Fetus 05": "E", "twin B (second twin)": "B",

		"": "", "fetus": "", "Category III": "", "fetal heart rate": "", "Fetus A and B": "", "Fetus A and fetus B": "", "twins A/B": "", "fetus 1, 2": "",
		"feto a término": "", "FHR II": "", "FHR I": "", "fetal movement, second trimester": "", "newborn 2 days": "", "infant 1 hour": "",
		"fetus 12": "", "twine": "", "first trimester": "", "US 2": "", "Fetus. A strip": "", "Twin pregnancy, one fetus or more": "", "Magnesium 2 g/h": "",
		"continuing pregnancy after death of one fetus or more, unspecified trimester": "",
	} {
		if got := FetusIn(text); got != want {
			t.Errorf("%q names %q, want %q", text, got, want)
		}
	}
	for text, want := range map[string]string{"US 2": "B", "Ultrasound transducer 1": "A", "FHR2": "B", "Toco": "", "Fetus A": "A"} {
		if got := FetusOfDevice(text); got != want {
			t.Errorf("the device %q names %q, want %q", text, got, want)
		}
	}
	for text, want := range map[string]string{"A": "A", " b ": "B", "2": "B", "II": "B", "Fetus C": "C", "abdomen": "", "": ""} {
		if got := FetusNamed(text); got != want {
			t.Errorf("%q is the name of %q, want %q", text, got, want)
		}
	}
}

// CutFetus removes the name of the fetus, so that it is not read as part of a result.
func TestCutFetus(t *testing.T) {
	for text, want := range map[string]string{
		"Fetus 2: Category I": "category i", "Category I, twin II": "category i", "Twin III Category I": "category i", "Category III of fetus B": "category iii",
		"Fetus A Category II, fetus A": "category ii", "Category II": "category ii", "FHR II": "ii", "Fetus A Category I, fetus B Category III": "category i category iii",
	} {
		if _, rest := CutFetus(text); codes.ParseValue(rest).Words != want {
			t.Errorf("%q says %q, want %q", text, codes.ParseValue(rest).Words, want)
		}
	}
}

// Every name is recognized with any wording, spacing and case, and within a longer text.
func TestFetusNames(t *testing.T) {
	nouns := rapid.SampledFrom([]string{"fetus", "foetus", "baby", "twin", "triplet", "infant"})
	labels := [][]string{{"A", "1", "one", "i"}, {"B", "2", "two", "ii"}, {"C", "3", "three", "iii"}, {"D", "4", "four", "iv"}}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 3).Draw(t, "fetus")
		name := nouns.Draw(t, "noun") + rapid.SampledFrom([]string{" ", "  ", "-", "_", " #", ": ", " no. "}).Draw(t, "gap") +
			rapid.SampledFrom(labels[n]).Draw(t, "label")
		switch rapid.IntRange(0, 2).Draw(t, "case") {
		case 0:
			name = strings.ToUpper(name)
		case 1:
			name = strings.ToLower(name)
		}
		text := rapid.SampledFrom([]string{"", "Category III ", "tracing of ", "("}).Draw(t, "before") + name +
			rapid.SampledFrom([]string{"", ")", "; provider notified", ", late decelerations"}).Draw(t, "after")
		if got, want := FetusIn(text), labels[n][0]; got != want {
			t.Fatalf("%q names %q, want %q", text, got, want)
		}
	})
}

func TestFetusOf(t *testing.T) {
	for code, want := range map[string]string{
		"O36.8121": "A", "O368122": "B", "o36.4xx3": "C", "O32.1XX9": "I", "O36.8120": "", "O36.812": "", "O14.13": "", "O30.003": "", "S72.0011": "",
	} {
		if got := FetusOf(&acuity.Diagnosis{System: codes.ICD10CM, Code: code}); got != want {
			t.Errorf("%s is of %q, want %q", code, got, want)
		}
	}
	if got := FetusOf(&acuity.Diagnosis{System: codes.SystemLocal, Code: "FHR3", Display: "Abnormal FHR, fetus B"}); got != "B" {
		t.Errorf("a local code is of %q", got)
	}
}
