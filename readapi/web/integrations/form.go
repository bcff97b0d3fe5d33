package integrations

import (
	"net/url"
	"slices"
	"strings"

	"svc/readapi/web/apicall"
	"svc/readapi/web/text"
)

// form is a form with what was typed into it and what the API refuses of it. Its template
// calls {{template "admin.field" (.Form.Field "name" "keys.name")}}. "keys.name" is the
// key of the label. The text of that key with ".about" at its end, if there is one, says what
// to write.
type form struct {
	texts   *text.Texts
	typed   url.Values
	refused *apicall.Refusal
	paths   map[string]string // of fields in the body of the API, by name, where they differ
	placed  map[int]bool      // details of the refusal that stand at a field
	was     url.Values        // values of the thing as it is now
}

// Was returns the values that the thing has now. The form carries them for
// [adminRequest.compareValues].
func (f *form) Was() map[string]string {
	all := map[string]string{}
	for name, values := range f.was {
		all[name] = strings.Join(values, ", ")
	}
	return all
}

// newForm returns a form with the values of a thing as it is. After a refusal the form has
// what was typed.
func (d *adminRequest) newForm(values url.Values, refused *apicall.Refusal) *form {
	if d.r.PostForm != nil {
		values = d.r.PostForm
	}
	return &form{texts: d.Texts, typed: values, refused: refused, paths: map[string]string{}, placed: map[int]bool{}}
}

// usePath says which path in the body of the API a field of the form has.
func (f *form) usePath(name, path string) *form {
	f.paths[name] = path
	return f
}

// field is one field of a form.
type field struct {
	Name, Label, About, Value, Type string
	Faults                          []string
	Required                        bool
}

// Value returns the value of a field.
func (f *form) Value(name string) string { return f.typed.Get(name) }

// Has reports whether a box is ticked, or an option of a list chosen.
func (f *form) Has(name, value string) bool { return slices.Contains(f.typed[name], value) }

// Field returns a field with its label and what is wrong with it.
func (f *form) Field(name, label string) field {
	out := field{Name: name, Label: f.texts.T(label), About: f.texts.Or(label+".about", ""), Value: f.typed.Get(name), Type: "text"}
	out.Faults = f.Faults(name)
	return out
}

// As returns the field as an input of another type, such as "date".
func (f field) As(kind string) field {
	f.Type = kind
	return f
}

// box is a box to tick, or one of a list of which one can be chosen.
type box struct {
	option
	Field, Type string
}

// Box returns a box with its label.
func (f *form) Box(name, value, label string) box {
	return box{option{value, f.texts.T(label), f.Has(name, value)}, name, "checkbox"}
}

// Boxes returns a box for each option of a field.
func (f *form) Boxes(name string, options []option) (all []box) {
	for _, o := range options {
		all = append(all, box{o, name, "checkbox"})
	}
	return all
}

// Radios returns what [form.Boxes] returns, for a field with one value.
func (f *form) Radios(name string, options []option) []box {
	all := f.Boxes(name, options)
	for i := range all {
		all[i].Type = "radio"
	}
	return all
}

// Need returns a field that nobody may leave empty.
func (f *form) Need(name, label string) field {
	out := f.Field(name, label)
	out.Required = true
	return out
}

// Faults returns why the API refuses a field, or a part of it.
func (f *form) Faults(name string) (all []string) {
	if f.refused == nil {
		return nil
	}
	path := name
	if other, ok := f.paths[name]; ok {
		path = other
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

// listRefusals returns why the API refuses the form beside the faults of the fields named.
func (f *form) listRefusals(fields ...string) (all []string) {
	if f.refused == nil {
		return nil
	}
	for _, name := range fields {
		f.Faults(name)
	}
	all = append(all, f.texts.TranslateMessage(f.refused.Message))
	for i, detail := range f.refused.Details {
		if !f.placed[i] {
			all = append(all, strings.TrimPrefix(detail.Path+": "+f.texts.ExplainRule(detail.Rule), ": "))
		}
	}
	return all
}

// overtaken is a value that somebody else has changed since the form was shown.
type overtaken struct{ Name, Was, Now, Yours string }

// compareValues returns the fields that somebody else has changed since the form was shown.
// The form carries the values that it showed as was.<name>; now are the values of the thing
// now. Names are the fields with the keys of their labels, or with the labels. An act without values shows none.
func (d *adminRequest) compareValues(now url.Values, names ...[2]string) (all []overtaken) {
	if d.r.PostForm == nil {
		return nil
	}
	for _, n := range names {
		was, is, yours := d.r.PostForm.Get("was."+n[0]), strings.Join(now[n[0]], ", "), strings.Join(d.r.PostForm[n[0]], ", ")
		if was != is {
			all = append(all, overtaken{d.Or(n[1], n[1]), was, is, yours})
		}
	}
	return all
}
