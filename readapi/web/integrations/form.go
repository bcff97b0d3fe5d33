package integrations

import (
	"net/url"
	"slices"
	"strings"

	"svc/readapi/web/apicall"
	"svc/readapi/web/text"
)

// form is a form with what was typed into it and what the API thinks of it. Its template
// calls {{template "admin.field" (.Form.Field "name" "keys.name")}}; "keys.name" is the text of the
// label, and that with ".about" at its end is what to write, if there is one.
type form struct {
	texts   *text.Texts
	typed   url.Values
	refused *apicall.Refusal
	paths   map[string]string // of a field in the body of the API, where it is not the name
	placed  map[int]bool      // details that stand at a field
	was     url.Values        // of the thing as it is now
}

// Was returns what the thing is now, for the form to carry: see [adminRequest.compared].
func (f *form) Was() map[string]string {
	all := map[string]string{}
	for name, values := range f.was {
		all[name] = strings.Join(values, ", ")
	}
	return all
}

// form returns a form with the values of a thing as it is, or, after a refusal, with what
// was typed.
func (d *adminRequest) form(values url.Values, refused *apicall.Refusal) *form {
	if d.r.PostForm != nil {
		values = d.r.PostForm
	}
	return &form{texts: d.Texts, typed: values, refused: refused, paths: map[string]string{}, placed: map[int]bool{}}
}

// at says that a field of the form is one of another name in the body of the API.
func (f *form) at(name, path string) *form {
	f.paths[name] = path
	return f
}

// field is one field of a form.
type field struct {
	Name, Label, About, Value, Type string
	Faults                          []string
	Required                        bool
}

// Value returns what a field holds.
func (f *form) Value(name string) string { return f.typed.Get(name) }

// Has reports whether a box, or an option of a list, is chosen.
func (f *form) Has(name, value string) bool { return slices.Contains(f.typed[name], value) }

// Field returns a field with its label and what is wrong with it.
func (f *form) Field(name, label string) field {
	out := field{Name: name, Label: f.texts.T(label), About: f.texts.Or(label+".about", ""), Value: f.typed.Get(name), Type: "text"}
	out.Faults = f.Faults(name)
	return out
}

// Need returns a field that must be filled in.
func (f *form) Need(name, label string) field {
	out := f.Field(name, label)
	out.Required = true
	return out
}

// Faults are the words of the API about a field, and about what is within it.
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

// refusedWords are the words of the API that belong to none of the fields.
func (f *form) refusedWords(fields ...string) (all []string) {
	if f.refused == nil {
		return nil
	}
	for _, name := range fields {
		f.Faults(name)
	}
	all = append(all, f.texts.TranslateMessage(f.refused.Message))
	for i, detail := range f.refused.Details {
		if !f.placed[i] {
			all = append(all, strings.TrimSpace(detail.Path+": "+f.texts.ExplainRule(detail.Rule)))
		}
	}
	return all
}

// overtaken is a value that somebody else has changed since a form was shown.
type overtaken struct{ Name, Was, Now, Yours string }

// compared says what has changed since a form was shown: by the values that the form was
// made of, which it carries as was.<name>, those that the thing has now, and the typed ones.
// Names are those of the fields with the keys of their labels.
func (d *adminRequest) compared(now url.Values, names ...[2]string) (all []overtaken) {
	for _, n := range names {
		was, is, yours := d.r.PostForm.Get("was."+n[0]), strings.Join(now[n[0]], ", "), strings.Join(d.r.PostForm[n[0]], ", ")
		if was != is {
			all = append(all, overtaken{d.T(n[1]), was, is, yours})
		}
	}
	return all
}
