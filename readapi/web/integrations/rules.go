package integrations

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"svc/acuity/catalogue"
)

const rulesAPI = "/api/admin/rules"

func rulesSection() *section {
	return &section{
		name:  "rules",
		shows: map[string]handler{"": {serve: showRules}, "/{id}": {serve: showRule}, "/{id}/past": {serve: showPast}},
		acts:  map[string]handler{"/{id}": {serve: actOnRule}},
	}
}

// apiRule is a factor with the hospital's own values, in an API response.
type apiRule struct {
	FactorID, Comment string
	Values, Defaults  map[string]string
	Version           int64
	At                *time.Time
}

// rulesPage lists the factors for which the hospital has its own values, and offers all factors for selection.
type rulesPage struct {
	adminPage
	Rows         []ruleRow
	Factors      []option
	RulesVersion string
}

type ruleRow struct {
	Factor, Link, Comment, At string
	Lines                     []ruleLine
}

// ruleLine is a line of the catalogue with the hospital's own value. Code is the line's name in the API.
type ruleLine struct{ Code, Name, Catalogue, Own string }

// cutVariant splits the name of a line in the API, such as "floor", or "severe.floor" of a factor's variant.
func cutVariant(code string) (variant, line string) {
	if variant, line, varied := strings.Cut(code, "."); varied {
		return variant, line
	}
	return "", code
}

// nameLine returns the label of a line.
func nameLine(d *adminRequest, code string) string {
	variant, line := cutVariant(code)
	name := d.Or("rules.line."+line, line)
	if variant == "" {
		return name
	}
	return name + " (" + d.Or("rules.variant."+variant, variant) + ")"
}

var ruleList = list[apiRule]{rulesAPI, "rules"}

func showRules(d *adminRequest) {
	if id := d.r.URL.Query().Get("factor"); id != "" { // a factor was selected from the list
		http.Redirect(d.w, d.r, d.pathTo(id), http.StatusSeeOther)
		return
	}
	var all struct {
		Rules        []apiRule
		RulesVersion string
	}
	if _, ok := d.read(rulesAPI, &all); !ok {
		return
	}
	out := rulesPage{adminPage: d.newPage("int.rules"), Factors: listFactors(d, ""), RulesVersion: all.RulesVersion}
	for i := range all.Rules {
		r := &all.Rules[i]
		row := ruleRow{Factor: nameFactor(d, r.FactorID), Link: d.pathTo(r.FactorID), Comment: r.Comment, At: d.formatTime(r.At)}
		for name, text := range r.Values {
			row.Lines = append(row.Lines, ruleLine{name, nameLine(d, name), r.Defaults[name], text})
		}
		slices.SortFunc(row.Lines, func(a, b ruleLine) int { return strings.Compare(a.Code, b.Code) })
		out.Rows = append(out.Rows, row)
	}
	d.show("rules.list", &out)
}

// rulePage shows the values of one factor.
type rulePage struct {
	adminPage
	ID      string
	Lines   []field
	More    []field // lines that the hospital can add to this factor
	Comment field
	Effect  *effect
	Past    string // path for trying the entered values on recorded data; "": none
}

// primaryLines and modifierLines are the lines that a hospital may add to a primary factor and to a modifier.
var (
	primaryLines  = []string{"demand", "track", "with-mother", "class", "stale", "boarder"}
	modifierLines = []string{"floor", "track-floor", "add", "class", "window", "stale", "per-baby"}
)

const linePrefix = "l."

// readFactor returns the factor in the path. If there is no such factor, it sends an error page and returns false.
func readFactor(d *adminRequest) (f catalogue.Factor, ok bool) {
	if f, ok = catalogue.FactorByID(d.pathID()); !ok {
		d.showNotFound()
	}
	return f, ok
}

// showRule shows the values of the factor in the path.
func showRule(d *adminRequest) {
	f, ok := readFactor(d)
	if !ok {
		return
	}
	all, ok := ruleList.read(d)
	if !ok {
		return
	}
	out := rulePage{adminPage: d.newPage("rules.rule"), ID: f.ID(), Effect: d.effect}
	out.Heading = d.FactorName(f)
	defaults, now := map[string]string{}, url.Values{}
	var names, added []string // lines of the catalogue, and lines that the hospital has added
	for _, l := range catalogue.Default().Lines(f) {
		defaults[l.Name], names = l.Text, append(names, l.Name)
		now.Set(linePrefix+l.Name, l.Text)
	}
	if r := findRow(all, func(r *apiRule) bool { return r.FactorID == f.ID() }); r != nil {
		out.Version = formatVersion(r.Version)
		now.Set("comment", r.Comment)
		for name, text := range r.Values {
			now.Set(linePrefix+name, text)
			if _, known := defaults[name]; !known {
				added = append(added, name)
			}
		}
	}
	slices.Sort(added)
	names = append(names, added...)
	more := modifierLines
	if f.IsPrimary() {
		more = primaryLines
	}
	more = slices.DeleteFunc(slices.Clone(more), func(name string) bool { return slices.Contains(names, name) })
	fields := []formField{{name: "comment", label: "terms.comment"}}
	for _, name := range names {
		fields = append(fields, formField{linePrefix + name, nameLine(d, name), "values." + name})
	}
	for _, name := range more {
		fields = append(fields, formField{name: linePrefix + name, path: "values." + name})
	}
	d.useForm(&out.adminPage, now, now, fields...)
	out.Comment = out.Form.Field("comment", "terms.comment")
	for i, name := range append(names, more...) {
		line := out.Form.Field(linePrefix+name, "")
		_, key := cutVariant(name)
		line.Label, line.Code, line.About = nameLine(d, name), name, d.Or("rules.line."+key+".about", "")
		if value := defaults[name]; value != "" {
			line.About = d.T("rules.catalogue", "value", value)
		}
		if i < len(names) {
			out.Lines = append(out.Lines, line)
		} else {
			out.More = append(out.More, line)
		}
	}
	if typed := d.r.PostForm; d.effect != nil && d.refused == nil && typed.Get("do") == "preview" {
		q := url.Values{}
		for name, values := range typed {
			if strings.HasPrefix(name, linePrefix) || name == "comment" || name == "version" {
				q[name] = values
			}
		}
		out.Past = d.pathTo(out.ID, "past") + "?" + q.Encode()
	}
	d.show("rules.rule", &out)
}

// readRuleForm returns the values in a form that differ from the catalogue, keyed by line. The value nil removes a
// line.
func readRuleForm(f catalogue.Factor, form url.Values) map[string]*string {
	values, defaults := map[string]*string{}, map[string]string{}
	for _, l := range catalogue.Default().Lines(f) {
		defaults[l.Name] = l.Text
	}
	for name := range form {
		line, is := strings.CutPrefix(name, linePrefix)
		text := strings.TrimSpace(form.Get(name))
		if !is || text == strings.TrimSpace(defaults[line]) {
			continue
		}
		if values[line] = &text; text == "" {
			values[line] = nil
		}
	}
	return values
}

func actOnRule(d *adminRequest) {
	f, ok := readFactor(d)
	if !ok {
		return
	}
	form, verb, path := d.r.PostForm, d.r.PostForm.Get("do"), rulesAPI+"/"+url.PathEscape(f.ID())
	method, version, again := http.MethodPut, d.formVersionOrNew(), showRule
	var body any
	reset := strings.HasPrefix(verb, "reset")
	if reset {
		method, version, again = http.MethodDelete, d.formVersion(), untyped(showRule)
	} else {
		body = map[string]any{"values": readRuleForm(f, form), "comment": strings.TrimSpace(form.Get("comment"))}
	}
	done := verb == "reset" || verb == "apply"
	if !done {
		path += "?dryRun=true"
	}
	var would acted
	if !d.do(method, path, version, body, &would, again) {
		return
	}
	if !done {
		d.effect = newEffect(d, &would, nil)
		again(d)
		return
	}
	waitForRule(d, f.ID(), !reset)
	if reset {
		d.leaveNotice(d.pathTo(), "rules.gone", "factor", d.FactorName(f))
	} else {
		d.leaveNotice(d.pathTo(), "rules.set", "factor", d.FactorName(f))
	}
}

// waitForRule waits until this process has applied a change to a factor. If the parameter there is true, the version
// of the factor's values must differ from the version in the form. If it is false, the factor must have no values.
func waitForRule(d *adminRequest, id string, there bool) {
	before := d.formVersion()
	ruleList.wait(d, there, func(r *apiRule) bool { return r.FactorID == id && (!there || formatVersion(r.Version) != before) })
}
