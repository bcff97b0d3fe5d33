// Package text provides the wording of the pages in each language.
package text

import (
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"golang.org/x/text/language"

	"svc/acuity/catalogue"
	"svc/internal/httpapi/rules"
)

//go:embed *.json
var files embed.FS

// languages contains the languages of the pages. The first one is the default.
var languages = []language.Tag{language.English, language.Spanish}

// Texts contains the wording of the pages in one language, by key.
type Texts struct {
	Language string
	words    map[string]string
	decimal  string // decimal separator
}

var (
	allTexts = loadTexts()
	matcher  = language.NewMatcher(languages)
)

func loadTexts() map[string]*Texts {
	all := map[string]*Texts{}
	for _, tag := range languages {
		name := tag.String()
		content, err := files.ReadFile(name + ".json")
		if err != nil {
			panic(err) // the files are embedded
		}
		t := &Texts{Language: name, decimal: "."}
		if tag == language.Spanish {
			t.decimal = ","
		}
		if err := json.Unmarshal(content, &t.words); err != nil {
			panic(fmt.Errorf("%s.json: %w", name, err))
		}
		all[name] = t
	}
	return all
}

// For returns the texts in the browser's preferred language.
func For(r *http.Request) *Texts {
	_, i := language.MatchStrings(matcher, r.Header.Get("Accept-Language"))
	return allTexts[languages[i].String()]
}

// In returns the texts of a language, such as "en", or nil if there are none.
func In(language string) *Texts { return allTexts[language] }

// T returns the text of a key. pairs alternates names and values: the value that follows "name" replaces the placeholder
// {name}. The name n also selects the plural form, which is the text of key.one or key.other.
func (t *Texts) T(key string, pairs ...any) string {
	text, ok := t.words[key]
	for i := 0; i+1 < len(pairs); i += 2 {
		if !ok && pairs[i] == "n" {
			text, ok = t.words[key+pluralEnding(pairs[i+1])]
		}
	}
	if !ok {
		return "[" + key + "]" // tests search the pages for this placeholder
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		text = strings.ReplaceAll(text, "{"+fmt.Sprint(pairs[i])+"}", fmt.Sprint(pairs[i+1]))
	}
	return text
}

// pluralEnding returns the suffix of a text key for n items, which selects the singular or the plural. English and
// Spanish have the same two forms.
func pluralEnding(n any) string {
	if fmt.Sprint(n) == "1" {
		return ".one"
	}
	return ".other"
}

// Or returns the text of a key, or a default if the language has none.
func (t *Texts) Or(key, other string) string {
	if text, ok := t.words[key]; ok {
		return text
	}
	return other
}

// FormatNumber formats a number with the given number of decimals. A number that is rounded to 0 has no minus sign.
func (t *Texts) FormatNumber(v float64, decimals int) string {
	number := strconv.FormatFloat(v, 'f', decimals, 64)
	if strings.Trim(number, "-0.") == "" {
		number = strings.TrimPrefix(number, "-")
	}
	return strings.Replace(number, ".", t.decimal, 1)
}

// FormatAge formats a duration in seconds, minutes, hours or days, depending on its length.
func (t *Texts) FormatAge(d time.Duration) string {
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

// FormatHours formats a number of minutes as hours. If the number is below 100 and not a whole number of hours, it is
// formatted as minutes. A nonbreaking space keeps the number and its unit of measure on one line.
func (t *Texts) FormatHours(minutes int) string {
	text := t.T("age.h", "n", t.FormatNumber(float64(minutes)/60, 1)) //nolint:mnd // minutes per hour
	switch {
	case minutes%60 == 0:
		text = t.T("age.h", "n", minutes/60) //nolint:mnd // minutes per hour
	case minutes < 100: //nolint:mnd // shown as minutes
		text = t.T("age.min", "n", minutes)
	}
	return strings.ReplaceAll(text, " ", "\u00a0")
}

// FactorName returns the name of a factor.
func (t *Texts) FactorName(f catalogue.Factor) string { return t.T("factor." + f.ID()) }

// ExplainRule explains how to fix a field that breaks a rule of the API, such as maxLength:100. The explanation
// includes the limit. A text with the key rule.<word>.<limit> takes precedence over one with the key rule.<word>.
// Without either text, ExplainRule returns the API's explanation or, if there is none, the rule itself; no form can
// break such a rule.
func (t *Texts) ExplainRule(rule string) string {
	word, bound, _ := strings.Cut(rule, ":")
	if v, err := strconv.ParseFloat(bound, 64); err == nil {
		bound = strconv.FormatFloat(v, 'f', -1, 64) // such as 1e9
	}
	key := "rule." + word
	if specific := key + "." + cmp.Or(bound, "reached"); t.Or(specific, "") != "" {
		key = specific
	}
	if _, known := t.words[key]; !known {
		if about, explained := rules.Explain(rule); explained {
			return about.About
		}
		return rule
	}
	from, to, _ := strings.Cut(bound, "-")
	return t.T(key, "n", bound, "from", from, "to", to, "words", strings.ReplaceAll(bound, "|", ", "))
}

// ExplainNotice returns the message for a feed's warning or refusal. code is the code of the warning or refusal, a
// broken rule, or the HTTP status with which a body was refused. For any other code, ExplainNotice returns "".
func (t *Texts) ExplainNotice(code string) string {
	about := rules.Message(code)
	if about == "" || t.Language != language.Spanish.String() {
		return about
	}
	return cmp.Or(rules.SpanishMessage(code), t.ExplainRule(code))
}

// ExplainRefusal explains what a person must do after an API refusal that lists no broken rule. For a code without a
// text, it returns the API's message.
func (t *Texts) ExplainRefusal(code, message string) string { return t.Or("refused."+code, message) }
