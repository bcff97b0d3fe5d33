package httpapi

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"svc/internal/httpapi/problem"
)

// PathValue returns a decoded parameter of the route. A client may percent-encode any character in it, and most clients
// encode the colon.
func PathValue(r *http.Request, name string) string {
	value := chi.URLParam(r, name)
	if r.URL.RawPath == "" { // chi matches RawPath if it is set, and the decoded path otherwise
		return value
	}
	if meant, err := url.PathUnescape(value); err == nil {
		return meant
	}
	return value
}

// Query reads the query of a request and collects every broken rule.
type Query struct {
	values url.Values
	faults []Detail
}

// QueryOf returns the query of a request.
func QueryOf(r *http.Request) *Query { return &Query{values: r.URL.Query()} }

// Text returns a string parameter, or "" if it is missing.
func (q *Query) Text(name string) string { return q.values.Get(name) }

// Whole returns an integer parameter, which must be in the range [least, most]. If the parameter is missing, Whole
// returns preset.
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

// One returns a parameter whose value must be one of the given words, or "" if the parameter is missing.
func (q *Query) One(name string, words ...string) string {
	word := q.values.Get(name)
	if q.values.Has(name) && !slices.Contains(words, word) {
		q.Fault(name, "enum:"+strings.Join(words, "|"))
	}
	return word
}

// Time returns an instant, or the zero time if the parameter is missing. A time without an offset is interpreted in
// zone.
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

// afterSince is the rule for an end that is not after its beginning.
const afterSince = "after:since"

// Period returns the parameters since and until, either of which may be missing. If both are given, until must be after
// since: otherwise, the list would be empty, and the client would not know why.
func (q *Query) Period(zone *time.Location) (since, until time.Time) {
	since, until = q.Time("since", zone), q.Time("until", zone)
	if !since.IsZero() && !until.IsZero() && !until.After(since) {
		q.Fault("until", afterSince)
	}
	return since, until
}

// ParseTime reads a time in the forms that administrators type: RFC 3339, a date and time without an offset, with or
// without seconds, or just a date. A time without an offset is interpreted in zone.
func ParseTime(text string, zone *time.Location) (time.Time, bool) {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", time.DateOnly} {
		if at, err := time.ParseInLocation(layout, text, zone); err == nil {
			return at.UTC().Truncate(time.Millisecond), true
		}
	}
	return time.Time{}, false
}

// Fault adds a broken rule for a parameter.
func (q *Query) Fault(name, rule string) { q.faults = append(q.faults, Detail{Path: name, Rule: rule}) }

// Refused reports whether the query breaks a rule. If it does, Refused has sent an error response: 422 if each parameter
// is valid, but they contradict each other.
func (q *Query) Refused(w http.ResponseWriter, r *http.Request) bool {
	if len(q.faults) == 0 {
		return false
	}
	kind := problem.Unprocessable
	if slices.ContainsFunc(q.faults, func(d Detail) bool { return d.Rule != afterSince }) {
		kind = problem.Invalid
	}
	Fail(w, r, Problem{Kind: kind, Details: q.faults})
	return true
}

// MostWhole is the maximum of an integer parameter without a smaller limit.
const MostWhole = 1<<53 - 1 // JSON decoders represent integers exactly up to this value
