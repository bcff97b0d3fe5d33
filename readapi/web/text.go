package web

import (
	"embed"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"golang.org/x/text/language"
)

//go:embed text/*.json
var textFiles embed.FS

// languages are those that the pages speak; the first is that of who asks for another.
var languages = []language.Tag{language.English, language.Spanish}

// texts are the words of the pages in one language, by key.
type texts struct {
	Language string
	words    map[string]string
	decimal  string // between whole and fraction
}

var (
	allTexts = loadTexts()
	matcher  = language.NewMatcher(languages)
)

func loadTexts() map[string]*texts {
	all := map[string]*texts{}
	for _, tag := range languages {
		name := tag.String()
		content, err := textFiles.ReadFile("text/" + name + ".json")
		if err != nil {
			panic(err) // embedded
		}
		t := &texts{Language: name, decimal: "."}
		if tag == language.Spanish {
			t.decimal = ","
		}
		if err := json.Unmarshal(content, &t.words); err != nil {
			panic(fmt.Errorf("text/%s.json: %w", name, err))
		}
		all[name] = t
	}
	return all
}

// languageCookie holds the language that somebody chose.
const languageCookie = "svc-language"

// textsFor returns the texts in the language that a person chose, or that the browser
// prefers.
func textsFor(r *http.Request) *texts {
	if c, err := r.Cookie(languageCookie); err == nil && allTexts[c.Value] != nil {
		return allTexts[c.Value]
	}
	_, i := language.MatchStrings(matcher, r.Header.Get("Accept-Language"))
	return allTexts[languages[i].String()]
}

// T returns the text of a key. Pairs of a name and a value fill its gaps: {name}. A pair
// named n also chooses among the plurals of a key: key.one, key.other.
func (t *texts) T(key string, pairs ...any) string {
	text, ok := t.words[key]
	for i := 0; i+1 < len(pairs); i += 2 {
		if !ok && pairs[i] == "n" {
			text, ok = t.words[key+plural(pairs[i+1])]
		}
	}
	if !ok {
		return "[" + key + "]" // seen by the tests
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		text = strings.ReplaceAll(text, "{"+fmt.Sprint(pairs[i])+"}", fmt.Sprint(pairs[i+1]))
	}
	return text
}

// plural is how keys end; English and Spanish have the same two.
func plural(n any) string {
	if fmt.Sprint(n) == "1" {
		return ".one"
	}
	return ".other"
}

// Or returns the text of a key, or a default if the language has none.
func (t *texts) Or(key, other string) string {
	if text, ok := t.words[key]; ok {
		return text
	}
	return other
}

// Number writes a number with so many decimals.
func (t *texts) Number(v float64, decimals int) string {
	return strings.Replace(strconv.FormatFloat(v, 'f', decimals, 64), ".", t.decimal, 1)
}

// Age writes how long ago something was: seconds, minutes, hours or days.
func (t *texts) Age(d time.Duration) string {
	switch d = max(d, 0); {
	case d < time.Minute:
		return t.T("age.s", "n", int(d.Seconds()))
	case d < 100*time.Minute:
		return t.T("age.min", "n", int(d.Minutes()))
	case d < 48*time.Hour:
		return t.T("age.h", "n", int(d.Hours()))
	}
	return t.T("age.d", "n", int(d.Hours()/24))
}
