package ingest

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"svc/acuity"
	"svc/internal/httpapi"
	"svc/internal/httpapi/problem"
	"svc/internal/httpapi/syntax"
)

// shape describes a JSON object in a body. It is derived from the struct tags from which the OpenAPI document is
// generated, so the document and the reader have the same rules.
type shape struct {
	name   string
	fields map[string]*field
}

// field holds the constraints on one field of a shape.
type field struct {
	required           bool     // whether the JSON tag lacks omitempty
	max                int64    // maxLength of a text in characters, or maximum of a number; 0: none
	minItems, maxItems int      // for a list
	words              []string // accepted values (enum); nil: any
	inner              *shape   // shape of the object, or of the objects in the list
}

var shapes sync.Map // reflect.Type to *shape

// shapeOf returns the shape that a struct describes.
func shapeOf[T any]() *shape { return shapeOfType(reflect.TypeFor[T]()) }

func shapeOfType(t reflect.Type) *shape {
	if known, ok := shapes.Load(t); ok {
		return known.(*shape) //nolint:errcheck,forcetypeassert // only shapes are stored
	}
	s := &shape{name: t.Name(), fields: map[string]*field{}}
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		s.fields[name] = &field{
			required: options == "",
			max:      max(number(f, "maxLength"), number(f, "maximum")),
			minItems: int(number(f, "minItems")), maxItems: int(number(f, "maxItems")),
			words: words(f), inner: innerOf(f.Type),
		}
	}
	shapes.Store(t, s)
	return s
}

// innerOf returns the shape of the objects in a field, or nil if the field has no objects.
func innerOf(t reflect.Type) *shape {
	for t.Kind() == reflect.Slice || t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	return shapeOfType(t)
}

// number returns the number in a struct tag, or 0 if there is no such tag.
func number(f reflect.StructField, tag string) int64 {
	text, ok := f.Tag.Lookup(tag)
	if !ok {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		panic(fmt.Sprintf("%s of %s: %v", tag, f.Name, err)) // a bug: shapes are defined in this program
	}
	return n
}

// words returns the words in the enum tag of a struct field.
func words(f reflect.StructField) []string {
	text, ok := f.Tag.Lookup("enum")
	if !ok {
		return nil
	}
	return slices.Clip(strings.Split(text, ","))
}

// field returns the constraints on a field. It panics if the shape lacks the field.
func (s *shape) field(name string) *field {
	f := s.fields[name]
	if f == nil {
		panic(fmt.Sprintf("%s has no field %s", s.name, name))
	}
	return f
}

// itemsAtMost returns the maximum number of elements of the list with the given name in a body.
func itemsAtMost[T any](name string) int64 { return int64(shapeOf[T]().field(name).maxItems) }

// Decode parses the body of one request of a JSON feed (adt, census, clinical, roster, staffing) into o, in the same
// way as the handler of that feed but without a server. The caller sets the channel, the hospital and the time of
// receipt in o. Decode leaves o.Request nil, because a body alone does not identify a request. If the body breaks
// rules, the error lists them.
func Decode(o *acuity.Observation, body []byte, zone *time.Location, pseudonyms Pseudonyms) ([]acuity.Warning, error) {
	body = syntax.TrimBOM(body)
	refusal := httpapi.CheckJSON(body)
	in := &reader{now: o.ReceivedAt, zone: zone, pseudonym: pseudonyms.forHospital(o.Hospital)}
	if refusal == nil {
		switch o.Channel {
		case acuity.ChannelADT:
			o.Events = []acuity.Event{in.event(body, "")}
		case acuity.ChannelCensus:
			o.Census = in.census(body)
		case acuity.ChannelClinical:
			in.clinical(body, o)
		case acuity.ChannelRoster:
			o.Roster = in.roster(body)
		case acuity.ChannelStaffing:
			o.Staffing = in.staffing(body)
		case acuity.ChannelBatch, acuity.ChannelFHIR, acuity.ChannelHL7,
			acuity.ChannelTerminology, acuity.ChannelRules, acuity.ChannelLocations, acuity.ChannelSettings:
			return nil, fmt.Errorf("the body of %s is not a single JSON value", o.Channel)
		}
		refusal = in.problem()
	}
	if refusal != nil {
		return nil, brokenRules{refusal}
	}
	return slices.Clip(in.warnings), nil
}

// brokenRules is a problem in the form of an error. It names rules and paths, never values.
type brokenRules struct{ *httpapi.Problem }

// Error implements [error].
func (r brokenRules) Error() string {
	text := []string{r.Message}
	for _, d := range r.Details {
		text = append(text, d.Path+": "+d.Rule)
	}
	return strings.Join(text, " ")
}

// reader decodes one body and collects every rule that the body breaks, so that the sender sees them all at once. The
// collected rules never contain a value from the body.
type reader struct {
	now       acuity.Instant
	zone      *time.Location
	beside    acuity.Moment // time of the event or snapshot being parsed; used to make its coarse times exact
	pseudonym func(kind, value string) string

	faults   []httpapi.Detail // rules broken by a malformed body
	misfits  []httpapi.Detail // rules broken by a well-formed body: parts are contradictory or name something that does not exist
	warnings []acuity.Warning

	places  Places
	notices []Notice // refused parts of an accepted body, and FHIR issues
	warned  int      // number of warnings among the notices
	unused  int      // number of unused facts that these warnings report

	space []member // shared memory for the fields of all objects
}

func (r *reader) fault(path, rule string) {
	if len(r.faults) < maxDetails {
		r.faults = append(r.faults, httpapi.Detail{Path: path, Rule: rule})
	}
}

func (r *reader) unfit(path, rule string) {
	if len(r.misfits) < maxDetails {
		r.misfits = append(r.misfits, httpapi.Detail{Path: path, Rule: rule})
	}
}

// warnMore is the code of the last listed warning if others are omitted.
const warnMore = "more_not_listed"

func (r *reader) warn(code, path string) {
	switch n := len(r.warnings); {
	case n < maxWarnings:
		r.warnings = append(r.warnings, acuity.Warning{Code: code, Path: path})
	case n == maxWarnings:
		r.warnings = append(r.warnings, acuity.Warning{Code: warnMore})
	}
}

// problem returns the error response for a body that must be refused, or nil if the body is accepted.
func (r *reader) problem() *httpapi.Problem {
	switch {
	case len(r.faults) > 0:
		return &httpapi.Problem{
			Kind: problem.Invalid, Message: "The body breaks the rules listed in details.", Details: append(r.faults, r.misfits...),
		}
	case len(r.misfits) > 0:
		return &httpapi.Problem{
			Kind: problem.Unprocessable, Message: "The body is well formed but cannot be applied; see details.", Details: r.misfits,
		}
	default:
		return nil
	}
}
