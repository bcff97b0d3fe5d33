package codes

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func number(op Comparator, n Milli, unit string) Value {
	return Value{Kind: ValueNumber, Op: op, Number: n, Unit: unit}
}

func words(w string) Value { return Value{Kind: ValueWords, Words: w} }

func TestParseValue(t *testing.T) {
	unreadable := Value{Kind: ValueUnreadable}
	for text, want := range map[string]Value{
		"":                          {Kind: ValueNone},
		" \t":                       {Kind: ValueNone},
		"5":                         number(Equal, 5000, ""),
		" 41.2 ":                    number(Equal, 41200, ""),
		"41.2 kg/m2":                number(Equal, 41200, unitKgPerM2),
		"41.2kg/m²":                 number(Equal, 41200, unitKgPerM2),
		">= 40":                     number(GreaterOrEqual, 40000, ""),
		"≥40 KG/M2":                 number(GreaterOrEqual, 40000, unitKgPerM2),
		">40":                       number(Greater, 40000, ""),
		"< 40":                      number(Less, 40000, ""),
		"<=39.9":                    number(LessOrEqual, 39900, ""),
		"39.9999":                   number(Equal, 39999, ""), // must not be rounded up to the limit
		"-0.5":                      number(Equal, -500, ""),
		".5":                        number(Equal, 500, ""),
		"4.1e1":                     number(Equal, 41000, ""),
		"410E-1":                    number(Equal, 41000, ""),
		"21 %":                      number(Equal, 21000, UnitPercent),
		"0.21":                      number(Equal, 210, ""),
		"2 L/min":                   number(Equal, 2000, UnitLitersPerMinute),
		"2 L/min via nasal cannula": number(Equal, 2000, UnitLitersPerMinute),
		"10 LPM non-rebreather":     number(Equal, 10000, UnitLitersPerMinute),
		"2 g/hr":                    number(Equal, 2000, "g/h"),
		"5 points":                  number(Equal, 5000, UnitScore),
		"2 {category}":              number(Equal, 2000, ""),
		"MEWS 5":                    unreadable,
		"5/15":                      unreadable,
		"1,000":                     unreadable,
		"41.2 stone":                unreadable,
		"2 L/min room air":          unreadable,
		"12345678901234567890":      unreadable,
		"5 and 6":                   unreadable,
		"Category III":              words("category iii"),
		"CAT. 3 tracing":            words("category iii"),
		"cat ii":                    words("category ii"),
		"Cat2":                      words("category ii"),
		"II":                        words("ii"),
		"Category II to III":        words("category ii iii"),
		"Abnormal":                  words("abnormal"),
		"not abnormal":              words("not abnormal"),
		"Category III, absent variability, recurrent late decels": words("category iii"),
		"Not detected":                   words("not detected"),
		"NOT-DETECTED":                   words("not detected"),
		"Positive for Group B Strep (A)": words("positive"),
		"No growth":                      words("no growth"),
		"+":                              words("positive"),
		"Room air":                       words("room air"),
		"RA":                             words("room air"),
		"nasal cannula":                  words("nasal cannula"),
		"Non-rebreather mask":            words("mask mask"),
		"true":                           words("yes"),
		"No":                             words("no"),
		"Jane Canary positive":           words("positive"),
		"ruled out":                      words("equivocal"),
		"Jane Canary":                    unreadable,
		"the":                            unreadable,
		"?":                              unreadable,
		strings.Repeat("no ", 80):        unreadable,
	} {
		if got := ParseValue(text); got != want {
			t.Errorf("ParseValue(%q) = %+v, want %+v", text, got, want)
		}
	}
}

func TestNumberValue(t *testing.T) {
	for unit, want := range map[string]Value{
		"":           number(Equal, 41200, ""),
		"kg/m2":      number(Equal, 41200, unitKgPerM2),
		"kg/m^2":     number(Equal, 41200, unitKgPerM2),
		"[lb_av]":    number(Equal, 41200, "[lb_av]"),
		"CANARY/day": {Kind: ValueUnreadable},
	} {
		if got := NumberValue(41200, unit); got != want {
			t.Errorf("NumberValue(41.2, %q) = %+v, want %+v", unit, got, want)
		}
	}
}

func FuzzParseValue(f *testing.F) {
	for _, s := range []string{"41.2 kg/m2", "Cat. III", "not detected", ">= 4e1", "2 L/min NC", "Category III; provider notified", "can't exclude cat 2/3 (r/o)", "GBS + 1+", "\xff", "Ⅲ", "٣", "non rebreather"} {
		f.Add(s)
	}
	kept := map[string]bool{}
	for _, w := range vocabulary {
		for part := range strings.FieldsSeq(w) {
			kept[part] = true
		}
	}
	spelled := map[string]bool{}
	for _, u := range units {
		spelled[u] = true
	}
	f.Fuzz(func(t *testing.T, text string) {
		v := ParseValue(text)
		for w := range strings.FieldsSeq(v.Words) {
			if !kept[w] {
				t.Errorf("ParseValue(%q) keeps %q, which is not of the vocabulary", text, w)
			}
		}
		if !spelled[v.Unit] {
			t.Errorf("ParseValue(%q) keeps unit %q", text, v.Unit)
		}
		if v.Number > maxMilli || v.Number < -maxMilli {
			t.Errorf("ParseValue(%q) = %d", text, v.Number)
		}
		if (v.Words != "") != (v.Kind == ValueWords) {
			t.Errorf("ParseValue(%q) = %+v", text, v)
		}
		if v.Kind == ValueWords {
			if again := ParseValue(v.Words); again != v {
				t.Errorf("ParseValue(%q) = %+v, and of that %+v", text, v, again)
			}
		}
	})
}

func TestMaskDisplay(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "",
		"  Magnesium \t sulfate\r\n":    "Magnesium sulfate",
		"magnesium 1234 mg":             "magnesium 1234 mg",
		"MRN 12345 mag":                 "MRN # mag",
		"call 555-0100":                 "call #",
		"born 01/02/2003":               "born #",
		"D5 0.45":                       "D5 0.45",
		"x\x00y\x1bz":                   "xyz",
		"bad\xffbyte":                   "badbyte",
		strings.Repeat("é", 90):         strings.Repeat("é", 80),
		strings.Repeat("a", 79) + " bc": strings.Repeat("a", 79),
		"٠١٢٣٤٥":                        "#",
		"1234-":                         "1234-",
	} {
		if got := MaskDisplay(text); got != want {
			t.Errorf("MaskDisplay(%q) = %q, want %q", text, got, want)
		}
	}
}

func FuzzMaskDisplay(f *testing.F) {
	for _, s := range []string{"Magnesium sulfate 40 g", "12345", "1-2-3-4-5", "\xffé 9999", "1 2345"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := MaskDisplay(text)
		if n := utf8.RuneCountInString(got); n > MaxDisplay || !utf8.ValidString(got) {
			t.Errorf("MaskDisplay(%q) = %q", text, got)
		}
		run := 0
		for _, r := range got {
			if run++; !unicode.IsDigit(r) {
				run = 0
			}
			if run >= maskedRun {
				t.Errorf("MaskDisplay(%q) = %q", text, got)
			}
		}
		if again := MaskDisplay(got); again != got {
			t.Errorf("MaskDisplay(%q) = %q, and of that %q", text, got, again)
		}
	})
}

func TestNormalSystem(t *testing.T) {
	type result struct {
		system  System
		guessed bool
	}
	for name, want := range map[string]result{
		"I10": {ICD10CM, false}, "I10C": {ICD10CM, false}, "ICD10": {ICD10CM, false}, "ICD-10": {ICD10CM, false},
		"ICD-10-CM": {ICD10CM, false}, "icd10CM": {ICD10CM, false}, "http://hl7.org/fhir/sid/icd-10-cm": {ICD10CM, false},
		"urn:oid:2.16.840.1.113883.6.90": {ICD10CM, false}, "2.16.840.1.113883.6.90": {ICD10CM, false},
		"SCT": {SNOMED, false}, "SNOMED": {SNOMED, false}, "SNOMED-CT": {SNOMED, false}, "snomed ct": {SNOMED, false},
		"http://snomed.info/sct": {SNOMED, false}, "http://snomed.info/sct/731000124108": {SNOMED, false},
		"urn:oid:2.16.840.1.113883.6.96": {SNOMED, false}, "https://snomed.info/sct/": {SNOMED, false}, "HTTPS://loinc.org": {LOINC, false},
		"LN": {LOINC, false}, "LOINC": {LOINC, false}, "http://loinc.org": {LOINC, false},
		"urn:oid:2.16.840.1.113883.6.1": {LOINC, false},
		"RXNORM":                        {RxNorm, false}, "RxNorm": {RxNorm, false}, "http://www.nlm.nih.gov/research/umls/rxnorm": {RxNorm, false},
		"urn:oid:2.16.840.1.113883.6.88": {RxNorm, false},
		"L":                              {SystemLocal, false}, "local": {SystemLocal, false}, "99zzz": {SystemLocal, false}, "99EPC": {SystemLocal, false},
		"I9": {SystemLocal, true}, "I9C": {SystemLocal, true}, "ICD-10-PCS": {SystemLocal, true}, "EPIC": {SystemLocal, true},
		"": {ICD10CM, true}, "I": {ICD10CM, true}, "  ": {ICD10CM, true},
	} {
		s, guessed := NormalSystem(name, "O14.13")
		if s != want.system || guessed != want.guessed {
			t.Errorf("NormalSystem(%q) = %q, %t, want %q, %t", name, s, guessed, want.system, want.guessed)
		}
	}
	for code, want := range map[string]System{
		"O14.13": ICD10CM, "o1413": ICD10CM, " Z37.1 ": ICD10CM, "O16": ICD10CM, "O9A.211": ICD10CM, "T88.7XXA": ICD10CM,
		"": SystemLocal, "O1": SystemLocal, "OXY": SystemLocal, "398254007": SystemLocal, "39156-5": SystemLocal,
		"O14.": SystemLocal, "O14.13.1": SystemLocal, "O14.12345": SystemLocal, "SECOND_STAGE": SystemLocal,
	} {
		if s, guessed := NormalSystem("", code); s != want || !guessed {
			t.Errorf("NormalSystem(\"\", %q) = %q, %t, want %q, guessed", code, s, guessed, want)
		}
	}
}
