package replay

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/facts"
	"svc/acuity/hospital"
	"svc/internal/httpapi/rules"
	"svc/schemas"
)

// Override is a set of rules that replace the rules in the log for the same factors.
type Override []catalogue.Rule

// enforce applies the rules to a new unit.
func (rules Override) enforce(u *hospital.State, hospitalID string) error {
	for i := range rules {
		r := &rules[i]
		if r.Delete { // the catalogue's rule applies
			continue
		}
		key := schemas.Key{Hospital: hospitalID, Kind: schemas.KindRule, ID: r.Factor.ID()}
		if err := u.Restore(key.String(), &facts.RuleState{Rule: *r}); err != nil {
			return fmt.Errorf("apply a rule: %w", err)
		}
	}
	if len(rules) > 0 {
		u.Restored()
	}
	return nil
}

// strip returns the observation without its rules for the factors that rules overrides.
func (rules Override) strip(o *acuity.Observation) *acuity.Observation {
	if len(rules) == 0 || len(o.Rules) == 0 {
		return o
	}
	kept := *o
	kept.Rules = nil
	for _, said := range o.Rules {
		overridden := false
		for i := range rules {
			overridden = overridden || rules[i].Factor == said.Factor
		}
		if !overridden {
			kept.Rules = append(kept.Rules, said)
		}
	}
	return &kept
}

// ruleEntry is a rule in the format of the API, which GET and PUT /api/admin/rules use.
type ruleEntry struct {
	FactorID string             `json:"factorId"`
	Values   map[string]*string `json:"values"` // by line; null: the factor has no such line
	Comment  *string            `json:"comment"`
	Delete   bool               `json:"delete"` // whether the catalogue's rule applies, regardless of the rules in the log
}

// maxRules is the maximum size of a file with rules, in bytes.
const maxRules = 4 << 20

// ReadRules reads a file of rule overrides. JSON has the API's format: one rule, a list of rules, or an object with a
// list under rules, items or data. CSV has a header with the columns factorId, line and text. In CSV, a row with an
// empty text removes the line from the factor, and a row without a line restores the catalogue's rule for the factor.
// ReadRules returns the errors of all rules together.
func ReadRules(r io.Reader) (Override, error) {
	content, err := io.ReadAll(io.LimitReader(r, maxRules+1))
	if err != nil {
		return nil, fmt.Errorf("read rules: %w", err)
	}
	if len(content) > maxRules {
		return nil, errors.New("read rules: the file is larger than 4 MiB")
	}
	var entries []ruleEntry
	content = bytes.TrimPrefix(bytes.TrimSpace(content), []byte("\xef\xbb\xbf"))
	if len(content) > 0 && (content[0] == '{' || content[0] == '[') {
		entries, err = jsonRules(content)
	} else {
		entries, err = csvRules(content)
	}
	if err != nil {
		return nil, err
	}
	var rules Override
	var faults []error
	for i := range entries {
		rule, err := entries[i].toRule()
		if err != nil {
			faults = append(faults, err)
			continue
		}
		if slices.ContainsFunc(rules, func(o catalogue.Rule) bool { return o.Factor == rule.Factor }) {
			faults = append(faults, fmt.Errorf("factor %s appears more than once", rule.Factor.ID()))
		}
		rules = append(rules, rule)
	}
	if len(entries) == 0 {
		faults = append(faults, errors.New("the file contains no rules"))
	}
	return rules, errors.Join(faults...)
}

func jsonRules(content []byte) (entries []ruleEntry, err error) {
	if content[0] == '[' {
		if err := json.Unmarshal(content, &entries); err != nil {
			return nil, fmt.Errorf("read rules: %w", err)
		}
		return entries, nil
	}
	var object struct {
		ruleEntry
		Rules json.RawMessage `json:"rules"`
		Items json.RawMessage `json:"items"`
		Data  json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(content, &object); err != nil {
		return nil, fmt.Errorf("read rules: %w", err)
	}
	for _, inner := range []json.RawMessage{object.Rules, object.Items, object.Data} {
		if inner = bytes.TrimSpace(inner); len(inner) > 0 && (inner[0] == '[' || inner[0] == '{') {
			return jsonRules(inner)
		}
	}
	if object.FactorID == "" {
		return nil, errors.New("read rules: neither a rule nor a list of rules")
	}
	return []ruleEntry{object.ruleEntry}, nil
}

func csvRules(content []byte) (entries []ruleEntry, err error) {
	in := csv.NewReader(bytes.NewReader(content))
	in.TrimLeadingSpace = true
	rows, err := in.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("read rules: %w", err)
	}
	if len(rows) == 0 {
		return nil, nil
	}
	column := func(name string) int {
		return slices.IndexFunc(rows[0], func(s string) bool { return strings.EqualFold(strings.TrimSpace(s), name) })
	}
	factor, line, text := column("factorId"), column("line"), column("text")
	if factor < 0 || line < 0 || text < 0 {
		return nil, errors.New("read rules: the first line must name the columns factorId, line and text")
	}
	for _, row := range rows[1:] {
		i := slices.IndexFunc(entries, func(e ruleEntry) bool { return e.FactorID == row[factor] })
		if i < 0 {
			i = len(entries)
			entries = append(entries, ruleEntry{FactorID: row[factor], Values: map[string]*string{}})
		}
		if row[line] == "" {
			entries[i].Delete = true
			continue
		}
		entries[i].Values[row[line]] = &row[text]
	}
	return entries, nil
}

// toRule converts an entry to a rule, and checks it as the API does.
func (e *ruleEntry) toRule() (catalogue.Rule, error) {
	factor, known := catalogue.FactorByID(e.FactorID)
	if !known {
		return catalogue.Rule{}, fmt.Errorf("factor %q is not in the catalogue", e.FactorID)
	}
	rule := catalogue.Rule{Factor: factor, Delete: e.Delete}
	for name, text := range e.Values {
		line := catalogue.RuleLine{Name: name}
		if text != nil {
			line.Text = *text
		}
		rule.Lines = append(rule.Lines, line)
	}
	slices.SortFunc(rule.Lines, catalogue.RuleLine.Compare)
	var faults []error
	for _, f := range rule.Faults() {
		said, _ := rules.Explain(f.Rule) // every rule of a catalogue line has an explanation
		faults = append(faults, fmt.Errorf("factor %s, line %q: %s (%s)", e.FactorID, f.Line, f.Rule, strings.TrimSuffix(said.About, ".")))
	}
	return rule, errors.Join(faults...)
}
