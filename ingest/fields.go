package ingest

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"svc/acuity"
	"svc/internal/httpapi"
)

// The most that one answer lists.
const (
	maxDetails  = 100
	maxWarnings = 100
)

const usualFields = 32 // of a body

// reader decodes one body and collects every rule that it breaks, so that a
// sender learns of all of them at once. Nothing that it collects holds a value.
type reader struct {
	now       acuity.Instant
	zone      *time.Location
	pseudonym func(kind, value string) string

	faults   []httpapi.Detail // the body is malformed
	misfits  []httpapi.Detail // it is well formed, and cannot be applied: its parts contradict, or name what does not exist
	warnings []acuity.Warning

	places  Places
	notices []Notice // of what was refused though the body was taken, and of issues of FHIR
	warned  int      // warnings among the notices

	space []member // of all objects
}

func (s *server) reader(o *acuity.Observation) *reader {
	pseudonym := s.Pseudonyms.in(o.Hospital)
	return &reader{now: o.ReceivedAt, zone: s.Zone(o.Hospital), pseudonym: pseudonym, places: Places{pseudonym: pseudonym}}
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

func (r *reader) warn(code, path string) {
	if len(r.warnings) < maxWarnings {
		r.warnings = append(r.warnings, acuity.Warning{Code: code, Path: path})
	}
}

// problem says why the body is refused; nil if it is not.
func (r *reader) problem() *httpapi.Problem {
	switch {
	case len(r.faults) > 0:
		return &httpapi.Problem{Kind: httpapi.Invalid, Message: "The body breaks the rules listed in details.", Details: append(r.faults, r.misfits...)}
	case len(r.misfits) > 0:
		return &httpapi.Problem{Kind: httpapi.Unprocessable, Message: "The body is well formed, but cannot be applied; see details.", Details: r.misfits}
	default:
		return nil
	}
}

// object is one JSON object while it is read. The zero value is an object without
// fields, of which nothing is asked: it stands for one that is not there.
type object struct {
	*reader
	path   string
	fields []member
}

// need is whether a field must be there.
type need bool

const (
	optional need = false
	required need = true
)

// open begins to read an object; ok is false if raw is something else.
func (r *reader) open(raw []byte, path string) (o object, ok bool) {
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
	return object{r, path, r.space[from:]}, true
}

// close warns of the fields that nobody asked for. The name of such a field is
// the sender's; it is repeated only if it looks like one.
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

// find returns the value of a field. Null is the same as absent.
func (o object) find(name string, n need) ([]byte, bool) {
	var raw []byte
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
		if n == required {
			o.fault(o.at(name), "required")
		}
		return nil, false
	}
	return raw, true
}

// text reads a string of at most so many characters, without control characters
// and outer spaces. A required one must have something beside them.
func (o object) text(name string, n need, most int) string {
	raw, ok := o.find(name, n)
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
	}, string(unquote(raw))))
	switch {
	case s == "" && n == required:
		o.fault(o.at(name), "minLength:1")
	case utf8.RuneCountInString(s) > most: // as JSON Schema counts
		o.fault(o.at(name), "maxLength:"+strconv.Itoa(most))
		return ""
	}
	return s
}

// unread accepts a string field without reading what is in it.
func (o object) unread(name string) {
	if raw, ok := o.find(name, optional); ok && raw[0] != '"' {
		o.fault(o.at(name), "type:string")
	}
}

// integer reads a whole number from 0 on; ok is false if there is none to use.
func (o object) integer(name string, n need, most int64) (v int64, ok bool) {
	raw, ok := o.find(name, n)
	if !ok {
		return 0, false
	}
	return o.whole(raw, o.at(name), most)
}

func (r *reader) whole(raw []byte, path string, most int64) (int64, bool) {
	text := string(raw)
	if isNumber(raw) {
		text = strings.TrimSuffix(text, ".0")
	}
	v, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err != nil && isNumber(raw) && strings.IndexFunc(text, func(c rune) bool { return c != '-' && (c < '0' || c > '9') }) < 0:
		r.fault(path, "max:"+strconv.FormatInt(most, 10)) // more digits than any bound
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

// yes reads a boolean that may be left out.
func (o object) yes(name string) acuity.Tristate {
	raw, ok := o.find(name, optional)
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

// one reads one of the words given, exactly as they stand; -1 if there is none.
func (o object) one(name string, n need, words []string) int {
	raw, ok := o.find(name, n)
	if !ok {
		return -1
	}
	if raw[0] != '"' {
		o.fault(o.at(name), "type:string")
		return -1
	}
	i := slices.Index(words, string(unquote(raw)))
	if i < 0 {
		o.fault(o.at(name), "enum:"+strings.Join(words, "|"))
	}
	return i
}

// list reads an array of at most most elements; present is false if it is not there.
func (o object) list(name string, n need, most int) (all [][]byte, present bool) {
	raw, ok := o.find(name, n)
	if !ok {
		return nil, false
	}
	if raw[0] != '[' {
		o.fault(o.at(name), "type:array")
		return nil, false
	}
	all, complete := elements(raw, most)
	if !complete {
		o.fault(o.at(name), "maxItems:"+strconv.Itoa(most))
		return nil, false
	}
	return all, true
}

// inner begins to read an object in the object; it has no fields if it is absent.
func (o object) inner(name string) object {
	raw, ok := o.find(name, optional)
	if !ok {
		return object{}
	}
	in, _ := o.open(raw, o.at(name))
	return in
}

// primary reads primaryFactor, which must name one.
func (o object) primary() acuity.Factor {
	const name = "primaryFactor"
	id := o.text(name, optional, maxName)
	if id == "" {
		return 0
	}
	return o.factorID(id, o.at(name), true)
}

// factorID returns the factor with an id, if it exists and is of the asked kind.
func (r *reader) factorID(id, path string, primary bool) acuity.Factor {
	f, ok := acuity.FactorByID(id)
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
