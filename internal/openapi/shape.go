package openapi

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// shapes creates the schema of a Go type according to the rules of encoding/json. The schemas that huma creates do
// not follow these rules: huma omits embedded unexported structs and does not allow null for objects.
type shapes struct {
	schemas map[string]*huma.Schema // the registered schemas of the document
	named   map[reflect.Type]string
	closed  bool // whether objects have no additional fields: true for responses, false for requests
}

const schemaPrefix = "#/components/schemas/"

// schemaOf returns the schema of a type.
func (s *shapes) schemaOf(t reflect.Type) *huma.Schema {
	if t.Kind() == reflect.Pointer {
		return orNull(s.schemaOf(t.Elem()))
	}
	if t.Implements(marshaler) && t.Kind() != reflect.Slice { // an instant or a decimal; the encoded zero value shows the JSON type
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
	switch t.Kind() { //nolint:exhaustive // no other kind occurs in JSON
	case reflect.Bool:
		return &huma.Schema{Type: huma.TypeBoolean}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return &huma.Schema{Type: huma.TypeInteger}
	case reflect.Float32, reflect.Float64:
		return &huma.Schema{Type: huma.TypeNumber}
	case reflect.String:
		return &huma.Schema{Type: huma.TypeString}
	case reflect.Slice, reflect.Array:
		if t == rawJSON {
			return &huma.Schema{}
		}
		return &huma.Schema{Type: huma.TypeArray, Items: s.schemaOf(t.Elem())}
	case reflect.Map:
		return &huma.Schema{Type: huma.TypeObject, AdditionalProperties: s.schemaOf(t.Elem())}
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

// object returns a reference to the schema of a struct. The schema of an unnamed struct is inline.
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
	} else if t.Implements(open) { // a type that implements open accepts additional fields
		o.AdditionalProperties = true
	}
	s.addFields(o, t, true)
	if name == "" {
		return o
	}
	return &huma.Schema{Ref: schemaPrefix + name}
}

// name returns the schema name of a type. If another type has the same name, the package name is added as a prefix.
func (s *shapes) name(t reflect.Type) string {
	name := strings.ToUpper(t.Name()[:1]) + t.Name()[1:]
	if _, taken := s.schemas[name]; taken {
		path := t.PkgPath()
		path = path[strings.LastIndexByte(path, '/')+1:]
		name = strings.ToUpper(path[:1]) + path[1:] + name
	}
	return name
}

// addFields adds the fields of a struct, including those of embedded structs. If a name occurs more than once, the
// outer field takes precedence, as in encoding/json.
func (s *shapes) addFields(o *huma.Schema, t reflect.Type, always bool) {
	var embedded []reflect.StructField
	for f := range t.Fields() {
		if names := f.Tag.Get("anyRequired"); names != "" { // at least one of these lists is required; the others may be null
			for name := range strings.SplitSeq(names, ",") {
				o.AnyOf = append(o.AnyOf, &huma.Schema{
					Required: []string{name}, Properties: map[string]*huma.Schema{name: {Type: huma.TypeArray}},
				})
			}
		}
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
			of = of.Elem() // a nil pointer is omitted, so null is not a possible value
		}
		p := applyTags(s.schemaOf(of), f.Tag)
		if omitted && !s.closed { // in a request, null means that the field is absent
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
		s.addFields(o, of, there)
	}
}

// applyTags adds the constraints in a field's struct tag to the schema.
func applyTags(p *huma.Schema, tag reflect.StructTag) *huma.Schema {
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
		p.Description = strings.TrimSpace("RFC 3339; without an offset, in the hospital's time zone. " +
			"A date, or a time to the minute, is treated as an interval. svc uses the first of these times that is in the interval: " +
			"a more exact time from the same request, the time of receipt, the end of the interval. " +
			p.Description)
	}
	if words := tag.Get("enum"); words != "" {
		of := p
		if p.Items != nil {
			of = p.Items // the tag applies to the elements of the list
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
	if tag.Get("open") != "" { // allow any element, because svc rejects an invalid element, not the whole request
		p.Items = &huma.Schema{AnyOf: []*huma.Schema{p.Items, {Description: "Only an invalid time is rejected, not the whole request."}}}
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
	if n, err := strconv.ParseFloat(tag.Get("or"), 64); err == nil { // allow the value in the or tag, even if it is outside the range
		p.AnyOf = []*huma.Schema{{Enum: []any{n}}, {Minimum: p.Minimum, Maximum: p.Maximum}}
		p.Minimum, p.Maximum = nil, nil
	}
	if p.Items != nil { // in a list, minimum and maximum apply to the elements
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

// patterns are the named regular expressions for parameters, for bodies, and for the key "pattern" in struct tags.
var patterns = map[string]string{ //nolint:gosec // patterns, not credentials
	"time": "^" + day + `([Tt ]` + clock + `([Zz]|[+-](0\d|1[0-4])(:?[0-5]\d)?)?)?$`,
	"day":  `^[` + blank + `]*$|^` + day + `([Tt ]` + clock + `([Zz]|[+-](0\d|1[0-4])(:?[0-5]\d)?)?)?$`,
	// At least one line must begin with MSH and a field separator. A byte order mark may precede MSH; at the
	// beginning of the text, frame bytes and white space may precede it, too.
	"hl7":   `(^[\t \r\n\x0b\x1c\ufeff]*|[\r\n\x0b\x1c]\ufeff?)MSH[!-/:-@\[-` + "`" + `{-~]`,
	"word":  `[^` + blank + `]`,
	"phone": `^(\+[1-9][0-9]{6,14})?$`,
	"label": `^[^` + controls + `]*[^` + blank + `][^` + controls + `]*$`,
	"line":  `^[^` + controls + `]*$`,
	// This allows the subset of RFC 5322 that mail servers actually accept.
	"email":   `^([A-Za-z0-9_%+-]+(\.[A-Za-z0-9_%+-]+)*@[A-Za-z0-9]+(-[A-Za-z0-9]+)*(\.[A-Za-z0-9]+(-[A-Za-z0-9]+)*)+)?$`,
	"cursor":  `^[0-9a-zA-Z_=.:-]{1,128}$`,
	"secret":  `^[ -~]{24,128}$`,
	"token":   `^[!-~]{1,255}$`,
	"tag":     `^(\*|"(0|[1-9][0-9]{0,17})")?$`, // a resource that was never changed may have the version 0
	"version": `^(\*|"[1-9][0-9]{0,17}")?$`,
	"none":    `^\*?$`,
	"mapped":  `[^*` + blank + `]`,
}

const (
	// blank matches control characters and Unicode white space. A string must have at least one other character. The
	// characters are listed explicitly, because \s differs between regular expression dialects.
	blank = `\x00-\x20\x7f-\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000`
	// controls matches the characters that access.HasControls finds.
	controls = `\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069`
	// day matches a date in the years 1900 to 2199.
	day = `((19|2[01])\d\d-(0[13578]|1[02])-(0[1-9]|[12]\d|3[01])` +
		`|(19|2[01])\d\d-(0[469]|11)-(0[1-9]|[12]\d|30)|(19|2[01])\d\d-02-(0[1-9]|1\d|2[0-8])|((19|2[01])(0[48]|[2468][048]|[13579][26])|2000)-02-29)`
	// clock matches a time of day, to the minute or finer.
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
