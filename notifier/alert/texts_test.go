package alert

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"svc/acuity"
	"svc/notifier/endpointqueue"
)

// keyCall matches the key of a text in the code. A plus after the string means that the string is only the beginning
// of the key.
var keyCall = regexp.MustCompile(`(?:\.text\(|\.short\(t, )"([a-z._]+)"(\+| \+)?(count)?`)

// usedKeys returns the keys that the code of the package uses.
func usedKeys(t *testing.T) map[string]bool {
	t.Helper()
	endings := map[string][]string{}
	for l := range acuity.Level(4) {
		endings["color."] = append(endings["color."], l.String())
	}
	for a := range acuity.Axis(acuity.AxisCount) {
		endings["axis."] = append(endings["axis."], a.String())
	}
	for month := range 12 {
		endings["month."] = append(endings["month."], strconv.Itoa(month+1))
	}
	for n := endpointqueue.FailingHour; n <= endpointqueue.Recovered; n++ {
		endings["notice."] = append(endings["notice."], n.String())
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, m := range keyCall.FindAllStringSubmatch(string(content), -1) {
			switch key := m[1]; {
			case m[3] != "" || strings.Contains(m[0], ".short("):
				used[key+".one"], used[key+".other"] = true, true
			case m[2] != "":
				if len(endings[key]) == 0 {
					t.Errorf("%s: the endings of %q are unknown to this test", file, key)
				}
				for _, ending := range endings[key] {
					used[key+ending] = true
				}
			default:
				used[key] = true
			}
		}
	}
	return used
}

var gap = regexp.MustCompile(`\{[a-z]+\}`)

// TestTextsAreComplete: every language has exactly the texts whose keys the code uses, with the same placeholders.
func TestTextsAreComplete(t *testing.T) {
	used := usedKeys(t)
	if len(used) < 50 {
		t.Fatalf("only %d keys were found", len(used))
	}
	english := textsIn(defaultLanguage)
	for _, language := range slices.Sorted(maps.Keys(allTexts)) {
		words := textsIn(language).words
		if textsIn(language).language != language {
			t.Fatalf("%s has no texts", language)
		}
		for key := range used {
			if words[key] == "" {
				t.Errorf("%s.json has no %q", language, key)
			}
		}
		for key, text := range words {
			if !used[key] {
				t.Errorf("%s.json: no code uses %q", language, key)
			}
			got, want := gap.FindAllString(text, -1), gap.FindAllString(english.words[key], -1)
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("%s.json, %s: gaps %v, in English %v", language, key, got, want)
			}
		}
	}
	if got := textsIn("xx"); got != english {
		t.Errorf("an unknown language is %s", got.language)
	}
}

// TestTextsAreThoseOfThePages: the names of levels and the texts of axes are the same in messages and on the pages.
func TestTextsAreThoseOfThePages(t *testing.T) {
	for _, language := range slices.Sorted(maps.Keys(allTexts)) {
		content, err := os.ReadFile("../../readapi/web/text/" + language + ".json")
		if err != nil {
			t.Fatal(err)
		}
		var pages map[string]string
		if err := json.Unmarshal(content, &pages); err != nil {
			t.Fatal(err)
		}
		texts := textsIn(language)
		for a := range acuity.Axis(acuity.AxisCount) {
			if got, want := texts.text("axis."+a.String()), pages["why."+a.String()]; got != want {
				t.Errorf("%s: %s is %q in messages, %q on the pages", language, a, got, want)
			}
		}
		for l := range acuity.Level(4) {
			if got, want := texts.text("color."+l.String()), pages["color."+l.String()]; got != want {
				t.Errorf("%s: %s is %q in messages, %q on the pages", language, l, got, want)
			}
		}
	}
}

// TestSMSStaysInTheGSMAlphabet: an SMS drops the accents that GSM 03.38 lacks, such as that of í, because they would
// halve its capacity. It keeps characters that GSM 03.38 has, such as ñ and é. No character of a text becomes a
// question mark.
func TestSMSStaysInTheGSMAlphabet(t *testing.T) {
	for _, language := range slices.Sorted(maps.Keys(allTexts)) {
		for _, key := range slices.Sorted(maps.Keys(textsIn(language).words)) {
			if text := textsIn(language).words[key]; strings.Contains(gsm(text), "?") {
				t.Errorf("%s.json, %s: %q has a character that an SMS cannot have", language, key, text)
			}
		}
	}
	a := raised()
	a.Unit, a.Effect.Driving = "Maternidad Ñandú", acuity.AxisReserve
	const want = "NARANJA (antes AMARILLO) Maternidad Ñandu 14:05. Faltan 2 enfermeras: Sin personal para el proximo ingreso. " +
		"Confirmar https://svc.example/a/7KQ2M9XW3PTD"
	if got := a.SMS("es"); got != want {
		t.Errorf("SMS %q, want %q", got, want)
	}
	test := TestSMS("es", strings.Repeat("N", maxUnit), time.Date(2026, 3, 1, 14, 5, 0, 0, time.UTC))
	if !strings.HasSuffix(test, "Este teléfono recibe las alertas de la unidad. No tiene que hacer nada.") || septets(test) > maxSMS {
		t.Errorf("test SMS of %d septets: %s", septets(test), test)
	}
}
