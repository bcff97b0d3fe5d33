package ingest

import (
	"net/http"
	"slices"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/internal/httpapi"
	"svc/internal/httpapi/syntax"
)

type ruleAnswer struct {
	acted
	FactorID string `json:"factorId"`
}

// setRule sets a rule. It completely replaces the previous rule.
func setRule(in *reader, r *http.Request, body []byte, o *acuity.Observation) ([]string, func(acted) any) {
	o.Rules = []catalogue.Rule{in.rule(body, httpapi.PathValue(r, "id"))}
	return answerRule(o.Rules[0].Factor)
}

func deleteRule(_ *reader, r *http.Request, _ []byte, o *acuity.Observation) ([]string, func(acted) any) {
	f, ok := catalogue.FactorByID(httpapi.PathValue(r, "id"))
	if !ok {
		return nil, nil
	}
	o.Rules = []catalogue.Rule{{Factor: f, Delete: true}}
	return answerRule(f)
}

func answerRule(f catalogue.Factor) ([]string, func(acted) any) {
	return []string{f.ID()}, func(a acted) any { return ruleAnswer{a, f.ID()} }
}

// rule reads a rule: {factorId, values: {line: text}, comment}. The path or the body
// names the factor.
func (r *reader) rule(body []byte, id string) catalogue.Rule {
	form := shapeOf[ruleShape]()
	if id != "" {
		form = shapeOf[ruleOfPathShape]()
	}
	b, ok := r.open(body, "", form)
	if !ok {
		return catalogue.Rule{}
	}
	defer b.close()
	if id == "" {
		id = b.text("factorId")
	} else if named := b.peek("factorId"); named != nil && (named[0] != '"' || string(syntax.Unquote(named)) != id) {
		r.fault("factorId", "path") // a rule may be sent back as it was read, but its factorId must match the path
	}
	rule := catalogue.Rule{Comment: b.remark()}
	f, known := catalogue.FactorByID(id)
	if rule.Factor = f; !known && id != "" {
		r.unfit("factorId", "factor")
	}
	raw, ok := b.find("values")
	if !ok {
		return rule
	}
	values, ok := r.open(raw, "values", nil)
	if !ok {
		return rule
	}
	for _, m := range values.fields {
		line := catalogue.RuleLine{Name: string(m.name)}
		switch m.raw[0] {
		case '"':
			line.Text = string(syntax.Unquote(m.raw))
		case 'n': // null removes the line
		default:
			r.fault("values."+fieldName(string(m.name)), "type:string")
			continue
		}
		rule.Lines = append(rule.Lines, line)
	}
	slices.SortFunc(rule.Lines, catalogue.RuleLine.Compare)
	if known && len(r.faults) == 0 {
		for _, fault := range rule.Faults() {
			path := "values"
			if fault.Line != "" {
				path += "." + fieldName(fault.Line)
			}
			r.unfit(path, fault.Rule)
		}
	}
	return rule
}

// fieldName returns a name that the sender chose, or "?" if the name does not have the form of a field name.
func fieldName(name string) string {
	for _, c := range name {
		if c != '-' && c != '.' && (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return "?"
		}
	}
	if name == "" || len(name) > 40 {
		return "?"
	}
	return name
}

const ruleAbout = "Each value replaces the catalogue lines of the same name, and uses the syntax of the catalogue. Names: demand, track, " +
	"with-mother, floor, " +
	"track-floor, add, class, window, stale, per-baby, boarder; for a variant, put its name in front, as in severe.floor. " +
	"null removes the line; a semicolon separates several lines. Use dryRun first: the response lists every room and level that changes." +
	unchangedAbout

type ruleShape struct {
	FactorID string             `json:"factorId" pattern:"word" maxLength:"64"`
	Values   map[string]*string `json:"values"`
	Comment  string             `json:"comment,omitempty" maxLength:"200"`
}

type ruleOfPathShape struct {
	Values  map[string]*string `json:"values"`
	Comment string             `json:"comment,omitempty" maxLength:"200"`
}
