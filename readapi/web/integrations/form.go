package integrations

import (
	"cmp"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"svc/readapi/web/apicall"
	"svc/readapi/web/text"
)

// form is a form with the entered values and the API's errors. Its template calls {{template "admin.field"
// (.Form.Field "name" "keys.name")}}, where "keys.name" is the text key of the label. If the key followed by ".about"
// also has a text, that text explains what to enter.
type form struct {
	texts   *text.Texts
	typed   url.Values
	refused *apicall.Refusal
	fields  []formField
	placed  map[int]bool // details of the refusal that are already displayed at a field
	was     url.Values   // current values of the resource
}

// formField is a field of a form.
type formField struct {
	name  string
	label string // text key of the label, or the label itself; "": not checked for concurrent changes
	path  string // path in the API's request body; "": same as name
}

// Was returns the current values of the resource. The form sends them back for [adminRequest.compareValues].
func (f *form) Was() map[string]string {
	all := map[string]string{}
	for name, values := range f.was {
		all[name] = strings.Join(values, ", ")
	}
	return all
}

// useForm sets the form of a page, with the values of the resource or, if a form was submitted, the entered values.
// If another user has changed the resource in the meantime, the page also shows where the current values (now) differ
// from the values that the form displayed.
func (d *adminRequest) useForm(p *adminPage, values, now url.Values, fields ...formField) {
	if d.r.PostForm != nil {
		values = d.r.PostForm
	}
	p.Form = &form{texts: d.Texts, typed: values, refused: d.refused, fields: fields, placed: map[int]bool{}, was: now}
	p.Refused = p.Form.listRefusals()
	if len(fields) > 0 && d.refused.IsOvertaken() {
		p.Refused, p.Changed = []string{d.T("int.overtaken")}, d.compareValues(now, fields)
	}
}

// field is one field of a form.
type field struct {
	Name, Label, About, Value, Type string
	Code                            string // name of the field in the API; "": not displayed
	Faults                          []string
	Required                        bool
}

// Value returns the value of a field.
func (f *form) Value(name string) string { return f.typed.Get(name) }

// Has reports whether a checkbox or an option of a list is selected.
func (f *form) Has(name, value string) bool { return slices.Contains(f.typed[name], value) }

// Field returns a field with its label and its errors.
func (f *form) Field(name, label string) field {
	out := field{Name: name, Label: f.texts.T(label), About: f.texts.Or(label+".about", ""), Value: f.typed.Get(name), Type: "text"}
	out.Faults = f.Faults(name)
	return out
}

// As returns the field with a different input type, such as "date".
func (f field) As(kind string) field {
	f.Type = kind
	return f
}

// box is a checkbox, or one option of a radio group.
type box struct {
	option
	Field, Type string
}

// Box returns a box with its label.
func (f *form) Box(name, value, label string) box {
	return box{option{value, f.texts.T(label), f.Has(name, value)}, name, "checkbox"}
}

// Boxes returns a checkbox for each option of a field.
func (f *form) Boxes(name string, options []option) (all []box) {
	for _, o := range options {
		all = append(all, box{o, name, "checkbox"})
	}
	return all
}

// Radios is like [form.Boxes], but for a field with a single value.
func (f *form) Radios(name string, options []option) []box {
	all := f.Boxes(name, options)
	for i := range all {
		all[i].Type = "radio"
	}
	return all
}

// Need is like [form.Field], but for a required field.
func (f *form) Need(name, label string) field {
	out := f.Field(name, label)
	out.Required = true
	return out
}

// Faults returns the reasons why the API refuses a field or a part of the field.
func (f *form) Faults(name string) (all []string) {
	if f.refused == nil {
		return nil
	}
	path := name
	for _, other := range f.fields {
		if other.name == name {
			path = cmp.Or(other.path, name)
		}
	}
	for i, detail := range f.refused.Details {
		rest, within := strings.CutPrefix(detail.Path, path)
		if !within || rest != "" && rest[0] != '[' && rest[0] != '.' {
			continue
		}
		f.placed[i] = true
		if text := f.texts.ExplainRule(detail.Rule); !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return all
}

// listRefusals returns the reasons for a refusal that are not displayed at a field.
func (f *form) listRefusals() (all []string) {
	if f.refused == nil {
		return nil
	}
	for _, field := range f.fields {
		f.Faults(field.name)
	}
	if len(f.refused.Details) == 0 {
		return []string{f.texts.ExplainRefusal(f.refused.Code, f.refused.Message)}
	}
	if len(f.placed) > 0 {
		all = append(all, f.texts.T("refused.fields"))
	}
	for i, detail := range f.refused.Details {
		if !f.placed[i] {
			text := f.texts.ExplainRule(detail.Rule)
			if _, is := tierLevels[detail.Path]; is { // the resource cannot be removed because this tier uses it
				text = detail.Path + ": " + text
			}
			all = append(all, text)
		}
	}
	return all
}

// overtaken is a value that another user has changed since the form was displayed.
type overtaken struct{ Name, Was, Now, Yours string }

// compareValues returns the fields that another user has changed since the form was displayed. It compares the
// displayed values, which the form sends as was.<name>, with the current values in now. If no values were submitted,
// it returns nothing.
func (d *adminRequest) compareValues(now url.Values, fields []formField) (all []overtaken) {
	typed := d.r.PostForm
	for _, f := range fields {
		was, is := typed.Get("was."+f.name), strings.Join(now[f.name], ", ")
		if f.label != "" && typed != nil && was != is {
			all = append(all, overtaken{d.Or(f.label, f.label), was, is, strings.Join(typed[f.name], ", ")})
		}
	}
	return all
}

// option is one option of a list.
type option struct {
	Value, Name string
	Chosen      bool
}

// parseNumber converts an entered number to the format of the API. It returns nil if nothing was entered. Text that
// is not a number is returned unchanged, so that the API refuses it.
func parseNumber(typed string) any {
	typed = strings.TrimSpace(typed)
	var n json.Number
	switch {
	case typed == "":
		return nil
	case json.Unmarshal([]byte(typed), &n) == nil:
		return n
	}
	return typed
}

// parseCount parses an integer, or returns 0 for any other text.
func parseCount(text string) int {
	if n, err := strconv.Atoi(text); err == nil {
		return n
	}
	return 0
}

// splitWords splits a list that a person entered.
func splitWords(typed string) []string {
	return strings.FieldsFunc(typed, func(c rune) bool { return c == ',' || c == ' ' || c == ';' || c == '\n' || c == '\r' })
}

// formatVersion formats a version for forms and headers.
func formatVersion(n int64) string { return strconv.FormatInt(n, 10) }

// textOrEmpty returns the text that a pointer refers to, or "" for nil.
func textOrEmpty(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}
