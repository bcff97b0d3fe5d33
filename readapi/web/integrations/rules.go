package integrations

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"svc/acuity"
	"svc/readapi/web/apicall"
)

const rulesAPI = "/api/admin/rules"

func rulesSection() *section {
	return &section{
		name:  "rules",
		shows: map[string]func(*adminRequest){"": showRules, "/{id}": showRule, "/{id}/past": showPast},
		acts:  map[string]act{"/{id}": {do: actOnRule}},
	}
}

// apiRule is the values of a factor that a hospital overrides, as the API tells it.
type apiRule struct {
	FactorID, Comment, By string
	Values, Defaults      map[string]string
	Version               int64
	At                    *time.Time
}

// rulesPage is the factors whose values the hospital overrides, and all others.
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

// ruleLine is a line of the catalogue with what the hospital has instead of it.
type ruleLine struct{ Name, Catalogue, Own string }

// rules returns what the hospital overrides; false: the page has answered.
func (d rulesRequest) rules() (list struct {
	Rules        []apiRule
	RulesVersion string
}, ok bool,
) {
	_, ok = d.read(rulesAPI, &list)
	return list, ok
}

func showRules(on *adminRequest) {
	d := rulesRequest{localRequest{on}}
	if id := d.r.URL.Query().Get("factor"); id != "" { // chosen from the list
		http.Redirect(d.w, d.r, d.at(id), http.StatusSeeOther)
		return
	}
	list, ok := d.rules()
	if !ok {
		return
	}
	out := rulesPage{adminPage: d.page("int.rules"), Factors: d.factors(""), RulesVersion: list.RulesVersion}
	for i := range list.Rules {
		r := &list.Rules[i]
		row := ruleRow{Factor: d.factorNamed(r.FactorID), Link: d.at(r.FactorID), Comment: r.Comment, By: r.By, At: d.when(r.At)}
		for name, text := range r.Values {
			row.Lines = append(row.Lines, ruleLine{name, r.Defaults[name], text})
		}
		slices.SortFunc(row.Lines, func(a, b ruleLine) int { return strings.Compare(a.Name, b.Name) })
		out.Rows = append(out.Rows, row)
	}
	d.show(http.StatusOK, "rules.list", &out)
}

// rulePage is the values of one factor.
type rulePage struct {
	adminPage
	ID      string
	Lines   []ruleField
	More    []ruleField // lines that the catalogue does not have
	Comment field
	Version string // of the override; "": there is none
	Effect  *effect
	Past    string // path of what the typed values would have done; "": they were not tried
	Was     []field
	Form    *form
}

// ruleField is the field of a line.
type ruleField struct {
	field
	Catalogue string
}

// plainLines are the lines that a hospital may give a factor that has no such line.
var plainLines = []string{"demand", "track", "with-mother", "floor", "track-floor", "add", "class", "window", "stale", "per-baby", "boarder"}

const linePrefix = "l."

// factorOf returns the factor of the path; false: the page has answered.
func (d rulesRequest) factorOf() (f acuity.Factor, ok bool) {
	if f, ok = acuity.FactorByID(d.id()); !ok {
		d.gone()
	}
	return f, ok
}

func showRule(on *adminRequest) { rulesRequest{localRequest{on}}.showRule(http.StatusOK, nil, nil) }

// showRule shows the values of the factor of the path. Refused and would are what the API
// said of other ones.
func (d rulesRequest) showRule(status int, refused *apicall.Refusal, would *effect) {
	f, ok := d.factorOf()
	if !ok {
		return
	}
	list, ok := d.rules()
	if !ok {
		return
	}
	out := rulePage{adminPage: d.page("rules.rule"), ID: f.ID(), Effect: would}
	out.Heading = d.FactorName(f)
	catalogue, own := map[string]string{}, map[string]string{}
	names := []string{}
	for _, l := range acuity.Default().Lines(f) {
		catalogue[l.Name], own[l.Name] = l.Text, l.Text
		names = append(names, l.Name)
	}
	values := url.Values{}
	for i := range list.Rules {
		if r := &list.Rules[i]; r.FactorID == f.ID() {
			out.Version = strconv.FormatInt(r.Version, 10)
			values.Set("comment", r.Comment)
			for name, text := range r.Values {
				own[name] = text
				if _, known := catalogue[name]; !known {
					names = append(names, name)
				}
			}
		}
	}
	slices.Sort(names[len(acuity.Default().Lines(f)):])
	more := slices.DeleteFunc(slices.Clone(plainLines), func(name string) bool { return slices.Contains(names, name) })
	for name, text := range own {
		values.Set(linePrefix+name, text)
	}
	d.fillRule(&out, values, refused, names, more, catalogue)
	d.show(status, "rules.rule", &out)
}

// fillRule fills in the form of a rule.
func (d rulesRequest) fillRule(out *rulePage, now url.Values, refused *apicall.Refusal, names, more []string, catalogue map[string]string) {
	form := d.form(now, refused)
	out.Form = form
	fieldOf := func(name string) ruleField {
		form.at(linePrefix+name, "values."+name)
		row := ruleField{field{Name: linePrefix + name, Label: name, Value: form.Value(linePrefix + name), Type: "text", Faults: form.Faults(linePrefix + name)}, catalogue[name]}
		if row.Catalogue != "" {
			row.About = d.T("rules.catalogue", "value", row.Catalogue)
		}
		return row
	}
	compared := [][2]string{{"comment", "terms.comment"}}
	fields := []string{"comment"}
	for _, name := range names {
		out.Lines = append(out.Lines, fieldOf(name))
		fields = append(fields, linePrefix+name)
		out.Was = append(out.Was, field{Name: linePrefix + name, Value: now.Get(linePrefix + name)})
	}
	for _, name := range more {
		out.More = append(out.More, fieldOf(name))
		fields = append(fields, linePrefix+name)
	}
	out.Was = append(out.Was, field{Name: "comment", Value: now.Get("comment")})
	out.Comment = form.Field("comment", "terms.comment")
	out.Refused = form.refusedWords(fields...)
	if refused.IsOvertaken() {
		out.Refused, out.Changed = []string{d.T("int.overtaken")}, d.compared(now, compared...)
		for _, name := range names {
			was, is, yours := d.r.PostForm.Get("was."+linePrefix+name), now.Get(linePrefix+name), d.r.PostForm.Get(linePrefix+name)
			if was != is {
				out.Changed = append(out.Changed, overtaken{name, was, is, yours})
			}
		}
	}
	if out.Effect != nil && refused == nil && d.r.PostForm != nil && d.r.PostForm.Get("do") == "preview" {
		q := url.Values{}
		for name, values := range d.r.PostForm {
			if strings.HasPrefix(name, linePrefix) || name == "comment" || name == "version" {
				q[name] = values
			}
		}
		out.Past = d.at(out.ID, "past") + "?" + q.Encode()
	}
}

// ruleTyped is what a form has instead of the lines of the catalogue: by line, and nil for
// a line that is to go.
func ruleTyped(f acuity.Factor, form url.Values) map[string]*string {
	values, catalogue := map[string]*string{}, map[string]string{}
	for _, l := range acuity.Default().Lines(f) {
		catalogue[l.Name] = l.Text
	}
	for name := range form {
		line, is := strings.CutPrefix(name, linePrefix)
		text := strings.TrimSpace(form.Get(name))
		if !is || text == strings.TrimSpace(catalogue[line]) {
			continue
		}
		if values[line] = &text; text == "" {
			values[line] = nil
		}
	}
	return values
}

func actOnRule(on *adminRequest) {
	d := rulesRequest{localRequest{on}}
	f, ok := d.factorOf()
	if !ok {
		return
	}
	form, verb, path := d.r.PostForm, d.r.PostForm.Get("do"), rulesAPI+"/"+url.PathEscape(f.ID())
	body := map[string]any{"values": ruleTyped(f, form), "comment": strings.TrimSpace(form.Get("comment"))}
	var would acted
	var refused *apicall.Refusal
	switch verb {
	case "reset":
		refused, ok = d.do(http.MethodDelete, path, d.version(), nil, &would)
	case "resetpreview":
		refused, ok = d.do(http.MethodDelete, path+"?dryRun=true", d.version(), nil, &would)
	case "apply":
		refused, ok = d.doIf(http.MethodPut, path, d.version(), body, &would)
	default:
		refused, ok = d.doIf(http.MethodPut, path+"?dryRun=true", d.version(), body, &would)
	}
	switch {
	case !ok:
	case refused != nil:
		d.showRule(refused.PageStatus(), refused, nil)
	case verb == "reset":
		d.settleRule(f.ID(), false)
		d.done(d.at(), "rules.gone", "factor", d.FactorName(f))
	case verb == "apply":
		d.settleRule(f.ID(), true)
		d.done(d.at(), "rules.set", "factor", d.FactorName(f))
	default:
		if verb == "resetpreview" {
			d.r.PostForm = nil // the form shows what is
		}
		d.showRule(http.StatusOK, nil, d.effectOf(&would, nil))
	}
}

// settleRule waits until the list has an override of a factor in another version than the
// form was made of, or has none.
func (d rulesRequest) settleRule(id string, there bool) {
	before := d.version()
	d.settle(func() bool {
		var list struct{ Rules []apiRule }
		a, err := d.ask(http.MethodGet, rulesAPI, "", nil)
		if err != nil || a.Refused != nil || a.Decode(&list) != nil {
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
