package catalogue

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// The limits of one rule.
const (
	maxRuleLines = 24
	maxRuleText  = 200 // bytes per line
)

// ruleNames are the keys of the catalogue lines that a hospital may override: demand, severity and duration. The
// terminology map can override the codes that activate a factor. Labels cannot be overridden.
var ruleNames = []string{
	"demand", "track", "with-mother", "floor", "track-floor", "add", "class", "window", "stale", "per-baby", "boarder",
}

// Rule overrides values of one catalogue factor for one hospital.
type Rule struct {
	Factor  Factor
	Lines   []RuleLine // each line replaces all catalogue lines with the same name
	Comment string     // the administrator's comment, at most 200 characters
	Delete  bool       // whether to restore the catalogue's values
}

// RuleLine is the hospital's version of the catalogue lines with one name.
type RuleLine struct {
	Name string // key, such as demand, floor, add, class or window
	Text string // in catalogue syntax; "": removes the lines
}

// Compare orders lines by name.
func (l RuleLine) Compare(o RuleLine) int { return strings.Compare(l.Name, o.Name) }

// RuleFault is an error in a [Rule]. Line is the name of the line with the error; "" means the whole rule.
type RuleFault struct{ Line, Rule string }

// Faults returns the errors in a rule, or nil if the rule is valid.
func (r *Rule) Faults() []RuleFault {
	if r.Factor == 0 || int(r.Factor) > Default().Len() {
		return []RuleFault{{"", "factor"}}
	}
	if r.Delete {
		return nil
	}
	var faults []RuleFault
	switch n := len(r.Lines); {
	case n == 0:
		return []RuleFault{{"", "minItems:1"}}
	case n > maxRuleLines:
		return []RuleFault{{"", fmt.Sprintf("maxItems:%d", maxRuleLines)}}
	}
	seen := map[string]bool{}
	for _, l := range r.Lines {
		_, name := cutVariant(l.Name)
		switch {
		case !slices.Contains(ruleNames, name):
			faults = append(faults, RuleFault{l.Name, "enum:" + strings.Join(ruleNames, "|")})
		case seen[l.Name]:
			faults = append(faults, RuleFault{l.Name, "unique"})
		case len(l.Text) > maxRuleText:
			faults = append(faults, RuleFault{l.Name, fmt.Sprintf("maxLength:%d", maxRuleText)})
		case strings.ContainsAny(l.Text, "#\n\r"):
			faults = append(faults, RuleFault{l.Name, "catalogue"})
		}
		seen[l.Name] = true
	}
	if faults != nil {
		return faults
	}
	_, _, err := Default().specWith(r)
	if err == nil {
		return nil
	}
	bad := (*lineError)(nil)
	switch {
	case !errors.As(err, &bad):
		return []RuleFault{{"", "catalogue"}}
	case bad.number < 0: // the error is in a line of the rule
		return []RuleFault{{r.Lines[-bad.number-1].Name, "catalogue"}}
	case strings.Contains(bad.message, "class 4"):
		return []RuleFault{{"", "class4NeedsOneNurse"}} // docs/decisions.md#class-4-needs-a-nurse
	default:
		return []RuleFault{{"", "consistent"}}
	}
}

// cutVariant splits a name such as "severe.floor" into variant and line. For the plain variant, variant is "".
func cutVariant(name string) (variant, line string) {
	if variant, line, named := strings.Cut(name, "."); named {
		return variant, line
	}
	return "", name
}

// Lines returns the catalogue's values of the lines of a factor that a hospital may override. Several lines with the
// same name are joined by ";".
func (c *Catalogue) Lines(f Factor) []RuleLine {
	if f == 0 || int(f) > c.Len() {
		return nil
	}
	var list []RuleLine
	prefix := ""
	for _, l := range c.blocks[f-1].lines {
		if l.key == "variant" {
			prefix = l.text + "."
			continue
		}
		if !slices.Contains(ruleNames, l.key) {
			continue
		}
		name := prefix + l.key
		if n := len(list); n > 0 && list[n-1].Name == name {
			list[n-1].Text += "; " + l.text
			continue
		}
		list = append(list, RuleLine{name, l.text})
	}
	return list
}

// specWith returns the entry of a factor in which the lines of a rule replace the catalogue's lines. It also returns
// the canonical form of the rule's lines.
func (c *Catalogue) specWith(r *Rule) (Spec, string, error) {
	b := c.blocks[r.Factor-1]
	var canonical strings.Builder
	for i, l := range r.Lines {
		variant, name := cutVariant(l.Name)
		var err error
		if b.lines, err = replaceLines(b.lines, variant, name, l.Text, -i-1); err != nil {
			return Spec{}, "", err
		}
		fmt.Fprintln(&canonical, l.Name, strings.Join(strings.Fields(l.Text), " "))
	}
	spec, err := c.buildSpec(&b)
	return spec, canonical.String(), err
}

// replaceLines replaces the lines that have the given name in the given variant by the lines in text, and returns all
// lines of the block. The new lines get the given line number.
func replaceLines(lines []line, variant, name, text string, number int) ([]line, error) {
	from := 0
	if variant != "" {
		from = 1 + slices.IndexFunc(lines, func(l line) bool { return l.key == "variant" && l.text == variant })
		if from == 0 {
			return nil, &lineError{number, name, "no such variant"}
		}
	}
	to := from
	for to < len(lines) && lines[to].key != "variant" {
		to++
	}
	out := slices.Clone(lines[:from])
	for _, l := range lines[from:to] {
		if l.key != name {
			out = append(out, l)
		}
	}
	for part := range strings.SplitSeq(text, ";") {
		if part = strings.Join(strings.Fields(part), " "); part != "" {
			out = append(out, line{number, name, part})
		}
	}
	return append(out, lines[to:]...), nil
}

// catalogues caches catalogues that include hospital rules, keyed by the canonical text of the rules.
var catalogues = struct {
	sync.Mutex
	known map[string]*Catalogue
}{known: map[string]*Catalogue{}}

// capCatalogues is the maximum size of the cache; when it is full, the cache is cleared.
const capCatalogues = 1000

// With returns the catalogue with a hospital's rules. Hospitals with equal rules share one cached catalogue. With
// ignores a rule that is invalid in this release: the release that accepted the rule validated it, and the
// catalogue's values are a safe substitute.
func (c *Catalogue) With(rules []Rule) *Catalogue {
	if len(rules) == 0 {
		return c
	}
	var key strings.Builder
	for i := range rules {
		fmt.Fprintf(&key, "%d %t %q\n", rules[i].Factor, rules[i].Delete, rules[i].Lines)
	}
	catalogues.Lock()
	defer catalogues.Unlock()
	if known := catalogues.known[key.String()]; known != nil {
		return known
	}
	if len(catalogues.known) >= capCatalogues {
		clear(catalogues.known)
	}
	made := c.with(rules)
	catalogues.known[key.String()] = made
	return made
}

func (c *Catalogue) with(rules []Rule) *Catalogue {
	sorted := slices.Clone(rules)
	slices.SortStableFunc(sorted, func(a, b Rule) int { return cmp.Compare(a.Factor, b.Factor) })
	out := *c
	out.specs = slices.Clone(c.specs)
	digest := sha256.New()
	for i := range sorted {
		r := &sorted[i]
		if r.Delete || r.Faults() != nil {
			continue
		}
		spec, lines, err := c.specWith(r)
		if err != nil {
			continue
		}
		out.specs[r.Factor] = spec
		out.traits[r.Factor] = findTraits(&spec) | c.traits[r.Factor]&traitTwin
		digest.Write(fmt.Appendln(nil, spec.ID, lines))
	}
	out.version = c.version + "+" + hex.EncodeToString(digest.Sum(nil))[:8]
	return &out
}
