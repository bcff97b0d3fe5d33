package integrations

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"svc/acuity/catalogue"
	"svc/readapi/web/apicall"
)

const rulesAPI = "/api/admin/rules"

func rulesSection() *section {
	return &section{
		name:  "rules",
		shows: map[string]func(*adminRequest){"": forSection(showRules), "/{id}": forSection(showRule), "/{id}/past": forSection(showPast)},
		acts:  map[string]act{"/{id}": {do: forSection(actOnRule)}},
	}
}

// apiRule is a factor with the values of the hospital, as the API tells it.
type apiRule struct {
	FactorID, Comment, By string
	Values, Defaults      map[string]string
	Version               int64
	At                    *time.Time
}

// rulesPage shows the factors that have values of the hospital, then all others.
type rulesPage struct {
	adminPage
	Rows         []ruleRow
	Factors      []option
	RulesVersion string
}

type ruleRow struct {
	Factor, Link, Comment, By, At string
	Lines                         []ruleLine
}

// ruleLine is a line of the catalogue with the value of the hospital.
type ruleLine struct{ Name, Catalogue, Own string }

// readRules returns the values of the hospital. It returns false after it has answered with a
// fault.
func (d rulesRequest) readRules() (list struct {
	Rules        []apiRule
	RulesVersion string
}, ok bool,
) {
	_, ok = d.read(rulesAPI, &list)
	return list, ok
}

func showRules(d rulesRequest) {
	if id := d.r.URL.Query().Get("factor"); id != "" { // chosen from the list
		http.Redirect(d.w, d.r, d.pathTo(id), http.StatusSeeOther)
		return
	}
	list, ok := d.readRules()
	if !ok {
		return
	}
	out := rulesPage{adminPage: d.newPage("int.rules"), Factors: d.listFactors(""), RulesVersion: list.RulesVersion}
	for i := range list.Rules {
		r := &list.Rules[i]
		row := ruleRow{Factor: d.nameFactor(r.FactorID), Link: d.pathTo(r.FactorID), Comment: r.Comment, By: r.By, At: d.formatTime(r.At)}
		for name, text := range r.Values {
			row.Lines = append(row.Lines, ruleLine{name, r.Defaults[name], text})
		}
		slices.SortFunc(row.Lines, func(a, b ruleLine) int { return strings.Compare(a.Name, b.Name) })
		out.Rows = append(out.Rows, row)
	}
	d.show(http.StatusOK, "rules.list", &out)
}

// rulePage shows the values of one factor.
type rulePage struct {
	adminPage
	ID      string
	Lines   []ruleField
	More    []ruleField // lines that the catalogue does not have for the factor
	Comment field
	Version string // of the values of the hospital; "": there are none
	Effect  *effect
	Past    string // path of the trial of the typed values; "": there is none
	Form    *form
}

// ruleField is the field of a line.
type ruleField struct {
	field
	Catalogue string
}

// plainLines are the lines that a hospital may add to any factor.
var plainLines = []string{"demand", "track", "with-mother", "floor", "track-floor", "add", "class", "window", "stale", "per-baby", "boarder"}

const linePrefix = "l."

// readFactor returns the factor of the path. It returns false after it has answered that
// there is none.
func (d rulesRequest) readFactor() (f catalogue.Factor, ok bool) {
	if f, ok = catalogue.FactorByID(d.pathID()); !ok {
		d.showNotFound()
	}
	return f, ok
}

func showRule(d rulesRequest) { d.showRule(http.StatusOK, nil, nil) }

// showRule shows the values of the factor of the path. Refused and would are the answer of
// the API to other values.
func (d rulesRequest) showRule(status int, refused *apicall.Refusal, would *effect) {
	f, ok := d.readFactor()
	if !ok {
		return
	}
	list, ok := d.readRules()
	if !ok {
		return
	}
	out := rulePage{adminPage: d.newPage("rules.rule"), ID: f.ID(), Effect: would}
	out.Heading = d.FactorName(f)
	defaults, own := map[string]string{}, map[string]string{}
	names := []string{}
	for _, l := range catalogue.Default().Lines(f) {
		defaults[l.Name], own[l.Name] = l.Text, l.Text
		names = append(names, l.Name)
	}
	values := url.Values{}
	for i := range list.Rules {
		if r := &list.Rules[i]; r.FactorID == f.ID() {
			out.Version = strconv.FormatInt(r.Version, 10)
			values.Set("comment", r.Comment)
			for name, text := range r.Values {
				own[name] = text
				if _, known := defaults[name]; !known {
					names = append(names, name)
				}
			}
		}
	}
	slices.Sort(names[len(catalogue.Default().Lines(f)):])
	more := slices.DeleteFunc(slices.Clone(plainLines), func(name string) bool { return slices.Contains(names, name) })
	for name, text := range own {
		values.Set(linePrefix+name, text)
	}
	d.fillRule(&out, values, refused, names, more, defaults)
	d.show(status, "rules.rule", &out)
}

// fillRule fills in the form of a rule.
func (d rulesRequest) fillRule(out *rulePage, now url.Values, refused *apicall.Refusal, names, more []string, defaults map[string]string) {
	form := d.newForm(now, refused)
	out.Form, form.was = form, now
	fieldOf := func(name string) ruleField {
		form.usePath(linePrefix+name, "values."+name)
		row := ruleField{field{Name: linePrefix + name, Label: name, Value: form.Value(linePrefix + name), Type: "text", Faults: form.Faults(linePrefix + name)}, defaults[name]}
		if row.Catalogue != "" {
			row.About = d.T("rules.catalogue", "value", row.Catalogue)
		}
		return row
	}
	compared := [][2]string{{"comment", "terms.comment"}}
	fields := []string{"comment"}
	for _, name := range names {
		out.Lines = append(out.Lines, fieldOf(name))
		fields, compared = append(fields, linePrefix+name), append(compared, [2]string{linePrefix + name, name})
	}
	for _, name := range more {
		out.More = append(out.More, fieldOf(name))
		fields = append(fields, linePrefix+name)
	}
	out.Comment = form.Field("comment", "terms.comment")
	out.Refused = form.listRefusals(fields...)
	if refused.IsOvertaken() {
		out.Refused, out.Changed = []string{d.T("int.overtaken")}, d.compareValues(now, compared...)
	}
	if out.Effect != nil && refused == nil && d.r.PostForm != nil && d.r.PostForm.Get("do") == "preview" {
		q := url.Values{}
		for name, values := range d.r.PostForm {
			if strings.HasPrefix(name, linePrefix) || name == "comment" || name == "version" {
				q[name] = values
			}
		}
		out.Past = d.pathTo(out.ID, "past") + "?" + q.Encode()
	}
}

// readRuleForm returns the values of a form by the line of the catalogue; nil removes the
// value of a line.
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

func actOnRule(d rulesRequest) {
	f, ok := d.readFactor()
	if !ok {
		return
	}
	form, verb, path := d.r.PostForm, d.r.PostForm.Get("do"), rulesAPI+"/"+url.PathEscape(f.ID())
	body := map[string]any{"values": readRuleForm(f, form), "comment": strings.TrimSpace(form.Get("comment"))}
	var would acted
	var refused *apicall.Refusal
	switch verb {
	case "reset":
		refused, ok = d.send(http.MethodDelete, path, d.formVersion(), nil, &would)
	case "resetpreview":
		refused, ok = d.send(http.MethodDelete, path+"?dryRun=true", d.formVersion(), nil, &would)
	case "apply":
		refused, ok = d.sendIf(http.MethodPut, path, d.formVersion(), body, &would)
	default:
		refused, ok = d.sendIf(http.MethodPut, path+"?dryRun=true", d.formVersion(), body, &would)
	}
	switch {
	case !ok:
	case refused != nil:
		if strings.HasPrefix(verb, "reset") {
			d.r.PostForm = nil // the form shows the values as they are now
		}
		d.showRule(refused.PageStatus(), refused, nil)
	case verb == "reset":
		d.waitForRule(f.ID(), false)
		d.leaveNotice(d.pathTo(), "rules.gone", "factor", d.FactorName(f))
	case verb == "apply":
		d.waitForRule(f.ID(), true)
		d.leaveNotice(d.pathTo(), "rules.set", "factor", d.FactorName(f))
	default:
		if verb == "resetpreview" {
			d.r.PostForm = nil // the form shows the values as they are now
		}
		d.showRule(http.StatusOK, nil, d.newEffect(&would, nil))
	}
}

// waitForRule waits until this process shows the change of a factor: values of another version
// than the form had, or no values.
func (d rulesRequest) waitForRule(id string, there bool) {
	before := d.formVersion()
	d.waitUntil(func() bool {
		var list struct{ Rules []apiRule }
		if d.fetch(rulesAPI, &list) != nil {
			return false
		}
		for i := range list.Rules {
			if list.Rules[i].FactorID == id {
				return there && strconv.FormatInt(list.Rules[i].Version, 10) != before
			}
		}
		return !there
	})
}
