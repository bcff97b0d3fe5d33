package httpapi

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"
)

// PathValue returns a part of the path that the route names, as it was meant: a
// client may send any character of it as its percent code, and most send the colon so.
func PathValue(r *http.Request, name string) string {
	value := chi.URLParam(r, name)
	if r.URL.RawPath == "" { // chi goes by it where it is there, else by the decoded path
		return value
	}
	if meant, err := url.PathUnescape(value); err == nil {
		return meant
	}
	return value
}

// Query reads the query of a request and collects every rule that it breaks.
type Query struct {
	values url.Values
	faults []Detail
}

// QueryOf returns the query of a request.
func QueryOf(r *http.Request) *Query { return &Query{values: r.URL.Query()} }

// Text returns a text; "" if it is not there.
func (q *Query) Text(name string) string { return q.values.Get(name) }

// Whole returns a number from least to most; preset if it is not there.
func (q *Query) Whole(name string, preset, least, most int64) int64 {
	if !q.values.Has(name) {
		return preset
	}
	n, err := strconv.ParseInt(q.values.Get(name), 10, 64)
	if err != nil || n < least || n > most {
		q.Fault(name, "integer:"+strconv.FormatInt(least, 10)+"-"+strconv.FormatInt(most, 10))
	}
	return n
}

// One returns one of the words; "" if it is not there.
func (q *Query) One(name string, words ...string) string {
	word := q.values.Get(name)
	if q.values.Has(name) && !slices.Contains(words, word) {
		q.Fault(name, "enum:"+strings.Join(words, "|"))
	}
	return word
}

// Time returns an instant, of the zone if it has no offset; the zero time if it is not
// there.
func (q *Query) Time(name string, zone *time.Location) time.Time {
	if !q.values.Has(name) {
		return time.Time{}
	}
	at, ok := ParseTime(q.values.Get(name), zone)
	if !ok {
		q.Fault(name, "date-time")
	}
	return at
}

// Fault notes a rule that a part of the query breaks.
func (q *Query) Fault(name, rule string) { q.faults = append(q.faults, Detail{Path: name, Rule: rule}) }

// Refused answers if the query breaks a rule.
func (q *Query) Refused(w http.ResponseWriter, r *http.Request) bool {
	if len(q.faults) > 0 {
		Fail(w, r, Problem{Kind: Invalid, Details: q.faults})
	}
	return len(q.faults) > 0
}

// MostWhole is the greatest number that a query may ask for, where nothing else
// bounds it.
const MostWhole = 1<<53 - 1 // which every reader of JSON keeps exact

// Limit is that of a list.
func Limit(usual, most int) Parameter {
	n := strconv.Itoa(usual)
	return Parameter{Name: "limit", In: "query", Example: n, About: "How many are listed; " + n + " if not given.", Least: 1, Most: int64(most)}
}

// Cursor is that of lists whose pages begin after a number.
func Cursor() Parameter {
	return Parameter{Name: "cursor", In: "query", Example: "1", About: "nextCursor of the page before.", Least: 1, Most: MostWhole}
}

// Since bounds a list in time.
func Since() Parameter {
	return Parameter{Name: "since", In: "query", Example: "2026-03-04T00:00:00Z", About: "Not before this time.", Format: "date-time"}
}

// Until bounds a list in time.
func Until() Parameter {
	return Parameter{Name: "until", In: "query", Example: "2036-03-05T00:00:00Z", About: "Before this time.", Format: "date-time"}
}
