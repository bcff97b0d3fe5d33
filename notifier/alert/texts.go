package alert

import (
	"embed"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"svc/acuity"
	"svc/notifier/event"
)

//go:embed en.json es.json
var files embed.FS

// texts holds the wording of all messages in one language, by key. All languages have the same keys.
type texts struct {
	language string
	words    map[string]string
}

// defaultLanguage is the language of events, and of messages to recipients without a language.
const defaultLanguage = "en"

var allTexts = loadTexts()

func loadTexts() map[string]*texts {
	all := map[string]*texts{}
	for _, language := range []string{defaultLanguage, "es"} {
		content, err := files.ReadFile(language + ".json")
		if err != nil {
			panic(err) // the file is embedded
		}
		t := &texts{language: language}
		if err := json.Unmarshal(content, &t.words); err != nil {
			panic(fmt.Errorf("%s.json: %w", language, err))
		}
		all[language] = t
	}
	return all
}

// textsIn returns the texts in a language. For an unsupported language, it returns those in the default language, so
// that the alert is sent anyway.
func textsIn(language string) *texts {
	if t := allTexts[language]; t != nil {
		return t
	}
	return allTexts[defaultLanguage]
}

// text returns the text for a key. pairs alternates the names and values of placeholders: the value of n replaces
// {n}. Placeholders within values are not replaced.
func (t *texts) text(key string, pairs ...string) string {
	text, ok := t.words[key]
	if !ok {
		return "[" + key + "]" // tests look for this
	}
	if len(pairs) == 0 {
		return text
	}
	gaps := make([]string, len(pairs))
	for i, p := range pairs {
		if gaps[i] = p; i%2 == 0 {
			gaps[i] = "{" + p + "}"
		}
	}
	return strings.NewReplacer(gaps...).Replace(text)
}

// count returns the suffix of a text's key for n items: singular or plural. English and Spanish have the same two
// forms.
func count(n int32) string {
	if n == 1 {
		return ".one"
	}
	return ".other"
}

// fullTime returns an instant with its date and time zone, as in e-mails.
func (t *texts) fullTime(at time.Time) string {
	return t.text("time", "clock", at.Format(clock), "zone", at.Format("MST"), "month", t.text("month."+strconv.Itoa(int(at.Month()))),
		"day", strconv.Itoa(at.Day()), "year", strconv.Itoa(at.Year()))
}

// clock is the format of the time of day.
const clock = "15:04"

// level returns the name of a level in capitals.
func (t *texts) level(l acuity.Level) string { return strings.ToUpper(t.text("color." + l.String())) }

// room returns the name of a room in the language: its label, or a name with its number, such as "Room 4".
func (t *texts) room(r *Room) string {
	if event.IsLabel(r.Label) {
		return r.Label
	}
	return t.text("room", "n", strconv.Itoa(int(r.ID)))
}

// nurses returns a number of nurses as text, such as "2 nurses".
func (t *texts) nurses(n int32) string { return t.text("nurses"+count(n), "n", strconv.Itoa(int(n))) }

// decimal returns a number with one decimal.
func (t *texts) decimal(n float64) string {
	return strings.Replace(strconv.FormatFloat(n, 'f', 1, 64), ".", t.text("decimal"), 1)
}
