package openapi

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// shapes makes schemas of Go types as encoding/json writes and reads them. Its
// own rules and not those of huma, which leaves out embedded structs that are not
// exported and has no null for objects.
type shapes struct {
	schemas map[string]*huma.Schema // those of the registry of the document
	named   map[reflect.Type]string
	closed  bool // an object has no other fields: an answer; a request may have
}

const schemaPrefix = "#/components/schemas/"

// of returns the schema of a type.
func (s *shapes) of(t reflect.Type) *huma.Schema {
	if t.Kind() == reflect.Pointer {
		return orNull(s.of(t.Elem()))
	}
	if t.Implements(marshaler) && t.Kind() != reflect.Slice { // an instant or a decimal: its zero tells
		zero, err := json.Marshal(reflect.Zero(t).Interface())
		switch {
		case err != nil:
		case string(zero) == "null":
			return orNull(&huma.Schema{Type: huma.TypeString, Format: "date-time"})
		case zero[0] == '"':
			return &huma.Schema{Type: huma.TypeString}
		case zero[0] != '{':
			return &huma.Schema{Type: huma.TypeNumber}
		}
	}
	switch t.Kind() { //nolint:exhaustive // the rest is in no JSON
	case reflect.Bool:
		return &huma.Schema{Type: huma.TypeBoolean}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return &huma.Schema{Type: huma.TypeInteger}
	case reflect.Float32, reflect.Float64:
		return &huma.Schema{Type: huma.TypeNumber}
	case reflect.String:
		return &huma.Schema{Type: huma.TypeString}
	case reflect.Slice, reflect.Array:
		if t == rawJSON {
			return &huma.Schema{}
		}
		return &huma.Schema{Type: huma.TypeArray, Items: s.of(t.Elem())}
	case reflect.Map:
		return &huma.Schema{Type: huma.TypeObject, AdditionalProperties: s.of(t.Elem())}
	case reflect.Struct:
		return s.object(t)
	default:
		return &huma.Schema{}
	}
}

var (
	marshaler = reflect.TypeFor[json.Marshaler]()
	open      = reflect.TypeFor[interface{ Open() }]()
	rawJSON   = reflect.TypeFor[json.RawMessage]()
)

// object returns a reference to the schema of a struct; one without a name is
// written where it stands.
func (s *shapes) object(t reflect.Type) *huma.Schema {
	if name, ok := s.named[t]; ok {
		return &huma.Schema{Ref: schemaPrefix + name}
	}
	o := &huma.Schema{Type: huma.TypeObject, Properties: map[string]*huma.Schema{}}
	name := ""
	if t.Name() != "" {
		name = s.name(t)
		s.named[t], s.schemas[name] = name, o
	}
	if s.closed {
		o.AdditionalProperties = false
	} else if t.Implements(open) { // beside the fields that it names it has others, which count
		o.AdditionalProperties = true
	}
	s.fields(o, t, true)
	if name == "" {
		return o
	}
	return &huma.Schema{Ref: schemaPrefix + name}
}

// name returns the name of a type, with that of its package if another type has it.
func (s *shapes) name(t reflect.Type) string {
	name := strings.ToUpper(t.Name()[:1]) + t.Name()[1:]
	if _, taken := s.schemas[name]; taken {
		path := t.PkgPath()
		path = path[strings.LastIndexByte(path, '/')+1:]
		name = strings.ToUpper(path[:1]) + path[1:] + name
	}
	return name
}

// fields adds the fields of a struct, those of embedded ones too. Fields that are
// there already are not replaced: the outer one counts, as in encoding/json.
func (s *shapes) fields(o *huma.Schema, t reflect.Type, always bool) {
	var embedded []reflect.StructField
	for f := range t.Fields() {
		tag, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && tag == "" {
			embedded = append(embedded, f)
			continue
		}
		if !f.IsExported() || tag == "-" {
			continue
		}
		if tag == "" {
			tag = f.Name
		}
		if _, taken := o.Properties[tag]; taken {
			continue
		}
		omitted := strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero")
		of := f.Type
		if omitted && of.Kind() == reflect.Pointer {
			of = of.Elem() // left out instead of null
		}
		p := tagged(s.of(of), f.Tag)
		if omitted && !s.closed { // of a request: null is the same as absent
			p = orNull(p)
		}
		o.Properties[tag] = p
		if always && !omitted {
			o.Required = append(o.Required, tag)
		}
	}
	for _, f := range embedded {
		of, there := f.Type, always
		if of.Kind() == reflect.Pointer {
			of, there = of.Elem(), false
		}
		s.fields(o, of, there)
	}
}

// tagged adds what the tags of a field say.
func tagged(p *huma.Schema, tag reflect.StructTag) *huma.Schema {
	if p.Ref != "" {
		if tag.Get("doc") != "" {
			return &huma.Schema{AllOf: []*huma.Schema{p}, Description: tag.Get("doc")}
		}
		return p
	}
	p.Description = tag.Get("doc")
	if format := tag.Get("format"); format != "" {
		p.Format = format
	}
	if tag.Get("pattern") == "time" {
		p.Description = strings.TrimSpace("RFC 3339; without an offset the time of the hospital. " + p.Description)
	}
	if words := tag.Get("enum"); words != "" {
		of := p
		if p.Items != nil {
			of = p.Items // of what the list holds
		}
		for word := range strings.SplitSeq(words, ",") {
			n, err := strconv.Atoi(word)
			if of.Type == huma.TypeInteger && err == nil {
				of.Enum = append(of.Enum, n)
			} else {
				of.Enum = append(of.Enum, word)
			}
		}
	}
	if tag.Get("uniqueItems") != "" {
		p.UniqueItems = true
	}
	if tag.Get("open") != "" { // what breaks the shape is told one by one
		p.Items = &huma.Schema{AnyOf: []*huma.Schema{p.Items, {Description: "Anything else is rejected alone, not the whole request."}}}
	}
	if name := tag.Get("pattern"); name != "" {
		p.Pattern = patterns[name]
	}
	if kinds := tag.Get("types"); kinds != "" {
		for kind := range strings.SplitSeq(kinds, ",") {
			one := &huma.Schema{Type: kind}
			if kind == huma.TypeArray {
				one.Items = &huma.Schema{}
			}
			p.AnyOf = append(p.AnyOf, one)
		}
	}
	for name, to := range map[string]**float64{"minimum": &p.Minimum, "maximum": &p.Maximum} {
		if n, err := strconv.ParseFloat(tag.Get(name), 64); err == nil {
			*to = &n
		}
	}
	if n, err := strconv.ParseFloat(tag.Get("or"), 64); err == nil { // or exactly this, beside the bounds
		p.AnyOf = []*huma.Schema{{Enum: []any{n}}, {Minimum: p.Minimum, Maximum: p.Maximum}}
		p.Minimum, p.Maximum = nil, nil
	}
	if p.Items != nil { // of what the list holds
		p.Items.Minimum, p.Items.Maximum, p.Minimum, p.Maximum = p.Minimum, p.Maximum, nil, nil
	}
	for name, to := range map[string]**int{
		"minLength": &p.MinLength, "maxLength": &p.MaxLength, "minItems": &p.MinItems, "maxItems": &p.MaxItems,
	} {
		if n, err := strconv.Atoi(tag.Get(name)); err == nil {
			*to = &n
		}
	}
	return p
}

// patterns are what a parameter, a body, or the tag pattern of a field may name.
var patterns = map[string]string{ //nolint:gosec // forms of texts, no credentials
	"time": "^" + day + `([Tt ]` + clock + `([Zz]|[+-](0\d|1[0-4])(:?[0-5]\d)?)?)?$`,
	"day":  `^[` + blank + `]*$|^` + day + `([Tt ]` + clock + `([Zz]|[+-](0\d|1[0-4])(:?[0-5]\d)?)?)?$`,
	// A segment MSH begins a line, with its field separator. A mark of byte order may
	// come before it, and before the first those of frames, and blanks.
	"hl7":   `(^[\t \r\n\x0b\x1c\ufeff]*|[\r\n\x0b\x1c]\ufeff?)MSH[!-/:-@\[-` + "`" + `{-~]`,
	"word":  `[^` + blank + `]`,
	"phone": `^(\+[1-9][0-9]{6,14})?$`,
	"label": `^[^\x00-\x1f\x7f]*[^` + blank + `][^\x00-\x1f\x7f]*$`,
	"line":  `^[^\x00-\x1f\x7f]*$`,
	// A part of what RFC 5322 allows, and all that mail servers take.
	"email":   `^([A-Za-z0-9_%+-]+(\.[A-Za-z0-9_%+-]+)*@[A-Za-z0-9]+(-[A-Za-z0-9]+)*(\.[A-Za-z0-9]+(-[A-Za-z0-9]+)*)+)?$`,
	"cursor":  `^[0-9a-zA-Z_=.:-]{1,128}$`,
	"secret":  `^[ -~]{24,128}$`,
	"token":   `^[!-~]{1,255}$`,
	"version": `^(\*|(W/)?"[1-9][0-9]{0,17}")?$`,
	"none":    `^\*?$`,
	"mapped":  `[^*` + blank + `]`,
}

const (
	// blank are control characters and what Unicode calls white space, of which a
	// text does not consist. Written out: \s is another set in every language.
	blank = `\x00-\x20\x7f-\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000`
	// day is a day of the years 1900 to 2199.
	day = `((19|2[01])\d\d-(0[13578]|1[02])-(0[1-9]|[12]\d|3[01])|(19|2[01])\d\d-(0[469]|11)-(0[1-9]|[12]\d|30)|(19|2[01])\d\d-02-(0[1-9]|1\d|2[0-8])|((19|2[01])(0[48]|[2468][048]|[13579][26])|2000)-02-29)`
	// clock is a time of a day, to the minute or finer.
	clock = `([01]\d|2[0-3]):[0-5]\d(:[0-5]\d([.,]\d+)?)?`
)

func orNull(p *huma.Schema) *huma.Schema {
	if p.AnyOf != nil {
		p.AnyOf = append(p.AnyOf, &huma.Schema{Type: "null"})
		return p
	}
	if p.Ref != "" || p.Type == "" || p.Type == huma.TypeInteger && p.Enum != nil {
		return &huma.Schema{AnyOf: []*huma.Schema{p, {Type: "null"}}}
	}
	p.Nullable = true
	if p.Enum != nil {
		p.Enum = append(p.Enum, nil)
	}
	return p
}
