package ingest

import (
	"bytes"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/ingest/hl7"
	"svc/internal/httpapi/syntax"
)

// Limits of the lists in one response.
const (
	maxDetails  = 100
	maxWarnings = 100
)

const usualFields = 32 // initial capacity for the fields of one body

func (s *server) reader(o *acuity.Observation) *reader {
	pseudonym := s.Pseudonyms.forHospital(o.Hospital)
	return &reader{now: o.ReceivedAt, zone: s.Zone(o.Hospital), pseudonym: pseudonym, places: Places{pseudonym: pseudonym}}
}

// object is a JSON object that is being parsed. The zero value represents a missing object and has no fields.
type object struct {
	*reader
	*shape
	path   string
	fields []member
}

// open begins to parse an object of the given shape. ok is false if raw is not an object.
func (r *reader) open(raw []byte, path string, s *shape) (o object, ok bool) {
	raw = bytes.TrimSpace(raw)
	if raw[0] != '{' {
		r.fault(path, "type:object")
		return object{}, false
	}
	from := len(r.space)
	if r.space == nil {
		r.space = make([]member, 0, usualFields)
	}
	r.space = members(r.space, raw)
	return object{r, s, path, r.space[from:]}, true
}

// close warns about each field that the decoder did not ask for. Senders choose these names, so a warning contains
// the name only if it has the form of a field name.
func (o object) close() {
	for _, f := range o.fields {
		if f.seen {
			continue
		}
		name := string(f.name)
		if !isFieldName(name) {
			name = "?"
		}
		o.warn("unknown_field", o.at(name))
	}
}

func isFieldName(s string) bool {
	for _, c := range s {
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') {
			return false
		}
	}
	return s != "" && len(s) <= 40
}

// at returns the path of a field.
func (o object) at(name string) string {
	if o.path == "" {
		return name
	}
	return o.path + "." + name
}

// item returns the path of element i of a list.
func item(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

// find returns the value of a field. A null value is treated as absent. find reports a fault if the field is
// repeated, or if it is required and absent.
func (o object) find(name string) (raw []byte, ok bool) {
	if o.reader == nil {
		return nil, false
	}
	demanded := o.field(name)
	for i := range o.fields {
		f := &o.fields[i]
		if string(f.name) != name {
			continue
		}
		f.seen = true
		if raw != nil {
			o.fault(o.at(name), "unique")
			return nil, false
		}
		raw = f.raw
	}
	if raw == nil || raw[0] == 'n' {
		if demanded.required {
			o.fault(o.at(name), "required")
		}
		return nil, false
	}
	return raw, true
}

// isNull reports whether the body has a field with the value null.
func (o object) isNull(name string) bool {
	return slices.ContainsFunc(o.fields, func(f member) bool { return string(f.name) == name && f.raw[0] == 'n' })
}

// text reads a string and removes control characters and surrounding spaces. A required string must not be empty
// after that.
func (o object) text(name string) string {
	raw, ok := o.find(name)
	if !ok {
		return ""
	}
	if raw[0] != '"' {
		o.fault(o.at(name), "type:string")
		return ""
	}
	s := strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, string(syntax.Unquote(raw))))
	switch demanded := o.field(name); {
	case s == "" && demanded.required:
		o.fault(o.at(name), "minLength:1")
	case demanded.max > 0 && int64(utf8.RuneCountInString(s)) > demanded.max: // counts characters, as JSON Schema does
		o.fault(o.at(name), "maxLength:"+strconv.FormatInt(demanded.max, 10))
		return ""
	}
	return s
}

// unread accepts a string field but ignores its value.
func (o object) unread(name string) {
	if raw, ok := o.find(name); ok && raw[0] != '"' {
		o.fault(o.at(name), "type:string")
	}
}

// integer reads a nonnegative integer. ok is false if there is no valid number.
func (o object) integer(name string) (v int64, ok bool) {
	raw, ok := o.find(name)
	if !ok {
		return 0, false
	}
	return o.whole(raw, o.at(name), o.field(name).max)
}

// integers parses a list of integers and omits invalid ones.
func (o object) integers(name string) (all []int64) {
	list, _ := o.list(name)
	for i, raw := range list {
		if v, ok := o.whole(raw, item(o.at(name), i), o.field(name).max); ok {
			all = append(all, v)
		}
	}
	return all
}

func (r *reader) whole(raw []byte, path string, most int64) (int64, bool) {
	text := string(raw)
	if isNumber(raw) {
		text = strings.TrimSuffix(text, ".0")
	}
	v, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err != nil && isNumber(raw) && strings.IndexFunc(text, func(c rune) bool { return c != '-' && (c < '0' || c > '9') }) < 0:
		r.fault(path, "max:"+strconv.FormatInt(most, 10)) // the number has more digits than any limit
	case err != nil:
		r.fault(path, "type:integer")
	case v < 0:
		r.fault(path, "min:0")
	case v > most:
		r.fault(path, "max:"+strconv.FormatInt(most, 10))
	default:
		return v, true
	}
	return 0, false
}

func isNumber(raw []byte) bool { return raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9' }

// boolean parses an optional boolean.
func (o object) boolean(name string) acuity.Tristate {
	raw, ok := o.find(name)
	switch {
	case !ok:
		return acuity.Unsaid
	case raw[0] == 't':
		return acuity.Yes
	case raw[0] == 'f':
		return acuity.No
	default:
		o.fault(o.at(name), "type:boolean")
		return acuity.Unsaid
	}
}

// word reads a string that must be one of the values in the shape. It returns "" if the field is missing or invalid.
func (o object) word(name string) string {
	raw, ok := o.find(name)
	if !ok {
		return ""
	}
	if raw[0] != '"' {
		o.fault(o.at(name), "type:string")
		return ""
	}
	word := string(syntax.Unquote(raw))
	if !slices.Contains(o.field(name).words, word) {
		o.faultWord(name)
		return ""
	}
	return word
}

func (o object) faultWord(name string) {
	o.fault(o.at(name), "enum:"+strings.Join(o.field(name).words, "|"))
}

// list reads an array. present is false if the field is missing, is not an array or has too many elements.
func (o object) list(name string) (all [][]byte, present bool) {
	raw, ok := o.find(name)
	if !ok {
		return nil, false
	}
	if raw[0] != '[' {
		o.fault(o.at(name), "type:array")
		return nil, false
	}
	demanded := o.field(name)
	all, complete := elements(raw, demanded.maxItems)
	switch {
	case !complete:
		o.fault(o.at(name), "maxItems:"+strconv.Itoa(demanded.maxItems))
		return nil, false
	case len(all) < demanded.minItems:
		o.fault(o.at(name), "minItems:"+strconv.Itoa(demanded.minItems))
	}
	return all, true
}

// rows opens the rows of a body: the elements of the list with the given name or, without such a list, the body
// itself.
func (r *reader) rows(body []byte, name string, s *shape) iter.Seq[object] {
	return func(yield func(object) bool) {
		b, ok := r.open(body, "", s)
		if !ok {
			return
		}
		if b.peek(name) == nil {
			b.shape = b.field(name).inner
			yield(b)
		} else {
			list, _ := b.list(name)
			b.each(name, list)(yield)
		}
		b.close()
	}
}

// peek returns the value of a field, even of a field that is not in the shape, or nil if there is no value.
func (o object) peek(name string) (raw []byte) {
	for i := range o.fields {
		if f := &o.fields[i]; string(f.name) == name {
			f.seen = true
			if f.raw[0] != 'n' {
				raw = f.raw
			}
		}
	}
	return raw
}

// each opens the objects of a list, one after the other, and closes each after its use.
func (o object) each(name string, list [][]byte) iter.Seq[object] {
	return func(yield func(object) bool) {
		for i, raw := range list {
			if in, ok := o.open(raw, item(o.at(name), i), o.field(name).inner); ok {
				if !yield(in) {
					return
				}
				in.close()
			}
		}
	}
}

// inner opens the object in a field. The result has no fields if the object is missing.
func (o object) inner(name string) object {
	raw, ok := o.find(name)
	if !ok {
		return object{}
	}
	in, _ := o.open(raw, o.at(name), o.field(name).inner)
	return in
}

// primary reads the field primaryFactor, which is the id of a factor.
func (o object) primary() catalogue.Factor {
	const name = "primaryFactor"
	id := o.text(name)
	if id == "" {
		return 0
	}
	return o.factorID(id, o.at(name), true)
}

// factorID returns the factor with the given id. If there is none, or if it is not of the required kind, factorID
// reports a fault at the given path and returns 0.
func (r *reader) factorID(id, path string, primary bool) catalogue.Factor {
	f, ok := catalogue.FactorByID(id)
	if ok && f.IsPrimary() == primary {
		return f
	}
	if primary {
		r.unfit(path, "primaryFactor")
	} else {
		r.unfit(path, "modifier")
	}
	return 0
}

// maxSkew is how far a time may be after the time of receipt without a warning, because bedside clocks may be fast.
const maxSkew = 5 * time.Minute

// time parses a time and returns the resolved instant. A coarse time is refined by the given moments, and then by the
// time of the event or snapshot.
func (o object) time(name string, beside ...acuity.Moment) acuity.Instant {
	return o.resolve(o.moment(name), beside...)
}

// resolve returns the instant to use for a moment in the body.
func (o object) resolve(m acuity.Moment, beside ...acuity.Moment) acuity.Instant {
	return m.Resolve(o.now, append(beside, o.beside)...)
}

// moment reads a date-time (RFC 3339). The offset, the seconds and the whole time of day are optional. A time in the
// future adds a warning.
func (o object) moment(name string) acuity.Moment {
	m := o.plan(name)
	if m.From != 0 && m.From.Sub(o.now) > maxSkew {
		o.warn("time_in_future", o.at(name))
	}
	return m
}

// plan parses a date-time as moment does, but does not warn about a time in the future.
func (o object) plan(name string) acuity.Moment {
	raw, ok := o.find(name)
	if !ok {
		return acuity.Moment{}
	}
	if raw[0] != '"' {
		o.fault(o.at(name), "type:string")
		return acuity.Moment{}
	}
	m, ok := parseTime(syntax.Unquote(raw), o.zone)
	if !ok {
		o.fault(o.at(name), "date-time")
	}
	return m
}

// parseTime reads YYYY-MM-DD[THH:MM[:SS[.frac]][offset]]. A time without an offset is in the given zone.
func parseTime(text []byte, zone *time.Location) (m acuity.Moment, ok bool) {
	m, ok = hl7.ParseISO(text, zone, true)
	if !ok || m.Precision > acuity.Day {
		return acuity.Moment{}, false
	}
	return m, true
}
