package ingest_test

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
)

// pick returns a random element of a list.
func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

// coarser returns a time with less precision.
func coarser(r *rand.Rand, v string, lengths ...int) string {
	n := pick(r, lengths)
	return v[:min(n, len(v))]
}

// mutateMessage changes the form of an HL7 message.
func mutateMessage(r *rand.Rand, text string) string {
	lines := strings.Split(strings.NewReplacer("\r\n", "\r", "\n", "\r").Replace(text), "\r")
	i := r.IntN(len(lines))
	fields := strings.Split(lines[i], "|")
	n := r.IntN(len(fields))
	if n < 2 && i == 0 {
		n = len(fields) - 1
	}
	field := func(value string) {
		fields[n] = value
		lines[i] = strings.Join(fields, "|")
	}
	join := func() string { return strings.Join(lines, "\r") }
	switch pick(r, ways) {
	case "drop":
		lines = slices.Delete(lines, i, i+1)
	case "double":
		lines = slices.Insert(lines, i, lines[i])
	case "swap":
		j := r.IntN(len(lines))
		lines[i], lines[j] = lines[j], lines[i]
	case "blank":
		field(pick(r, []string{"", " ", `""`, "\t", "^^", "~", "&"}))
	case "indent":
		lines[i] = pick(r, []string{" ", "\t", "\u00a0", "\ufeff", "  "}) + lines[i]
	case "case":
		if n == 0 && i > 0 {
			field(strings.ToLower(fields[0]))
		} else {
			field(strings.ToUpper(fields[n]))
		}
	case "escape":
		field(fields[n] + pick(r, []string{`\T\`, `\F\`, `\X41\`, `\Xzz\`, `\.br\`, `\Q\`, `\`, `\E\`}))
	case "repeat":
		field(fields[n] + "~" + fields[n])
	case "components":
		parts := strings.Split(fields[n], "^")
		slices.Reverse(parts)
		field(strings.Join(parts, "^"))
	case "coarse":
		for j := range lines {
			lines[j] = hl7Time.ReplaceAllStringFunc(lines[j], func(v string) string { return coarser(r, v, 4, 6, 8, 10, 12, 14) })
		}
	case "unnumbered":
		lines[i] = strings.NewReplacer("VN1", "", "VN9001", "", "MRN1", "").Replace(lines[i])
		return regexp.MustCompile(`VN\w*`).ReplaceAllString(join(), "")
	case "event":
		event := pick(r, []string{"A01", "A02", "A03", "A04", "A05", "A06", "A08", "A11", "A12", "A13", "A17", "A40", "Z99", ""})
		return regexp.MustCompile(`ADT\^[A-Z0-9]*`).ReplaceAllString(join(), "ADT^"+event)
	case "value":
		field(canary + "1")
	case "more":
		lines = slices.Insert(lines, i, pick(r, []string{
			"ZPV|" + canary, "DG1|9||O14.13^" + canary + "^I10", "OBX|1|TX|" + canary, canary + " is a line", "PV1|2|I", "dg1|8||O72.1^x^I10", "DG1|7||^Preeclampsia", "NTE",
		}))
	case "ends":
		return strings.Join(lines, pick(r, []string{"\n", "\r\n", "\r\r", `\r`, "\x0b", "\x1c\r"}))
	case "delimiters":
		return strings.NewReplacer("^", "$", "~", "*").Replace(join())
	case "batch":
		return "BHS|^~\\&|A\r" + join() + "\r" + join() + "\rBTS|2"
	case "cut":
		return text[:r.IntN(len(text)+1)]
	}
	return join()
}

// ways names the changes to the form of a request.
var ways = []string{
	"drop", "double", "swap", "blank", "indent", "case", "escape", "repeat", "components", "coarse", "unnumbered", "event",
	"value", "more", "ends", "delimiters", "batch", "cut",
}

var (
	hl7Time  = regexp.MustCompile(`20260\d{9}([+-]\d{4})?`)
	jsonTime = regexp.MustCompile(`^20\d\d-\d\d-\d\dT`)
)

// mutateJSON changes the form of a JSON body.
func mutateJSON(r *rand.Rand, m mutant, bases []mutant) string {
	d := json.NewDecoder(strings.NewReader(m.body))
	d.UseNumber()
	var tree any
	if d.Decode(&tree) != nil {
		return m.body
	}
	at := pick(r, placesOf(tree, nil))
	v := valueAt(tree, at)
	set := func(value any) string { return writeAny(put(tree, at, value)) }
	text, isText := v.(string)
	switch pick(r, ways) {
	case "drop":
		if len(at) > 0 {
			return set(nil)
		}
	case "double":
		if list, ok := v.([]any); ok && len(list) > 0 {
			return set(append(slices.Clone(list), list[0]))
		}
		return set([]any{v, v})
	case "swap":
		if list, ok := v.([]any); ok {
			list = slices.Clone(list)
			slices.Reverse(list)
			return set(list)
		}
	case "blank":
		return set(pick(r, []any{"", " ", []any{}, map[string]any{}, "\u00a0"}))
	case "case":
		if isText {
			return set(strings.ToUpper(text))
		}
	case "escape":
		if isText {
			return set(text + pick(r, []string{"\u0000", "\u202e", "\n", "é", "\\", " "}))
		}
	case "coarse":
		for _, l := range leavesOf(tree, nil, nil) {
			if v, ok := l.value.(string); ok && jsonTime.MatchString(v) {
				tree = put(tree, l.tokens, coarser(r, v, 4, 7, 10, 13, 16, 19))
			}
		}
		return writeAny(tree)
	case "unnumbered":
		for _, l := range leavesOf(tree, nil, nil) {
			if len(l.tokens) == 0 {
				continue
			}
			if name, ok := l.tokens[len(l.tokens)-1].(string); ok && slices.Contains([]string{"visitId", "encounter", "reference", "id"}, name) && r.IntN(2) == 0 {
				if _, list := l.tokens[max(len(l.tokens)-2, 0)].(int); !list {
					tree = put(tree, l.tokens, nil)
				}
			}
		}
		return writeAny(tree)
	case "value":
		return set(pick(r, []any{canary + "1", json.Number("7"), true, []any{canary}, map[string]any{"text": canary}}))
	case "more":
		if o, ok := v.(map[string]any); ok {
			o = maps.Clone(o)
			o[canaryField] = canary
			return set(o)
		}
	case "components": // text instead of a coding
		if o, ok := v.(map[string]any); ok && o["coding"] != nil {
			return set(map[string]any{"text": "Preeclampsia"})
		}
	case "batch":
		if m.feed == "fhir" {
			other := pick(r, bases)
			var more any
			if other.feed == m.feed && json.Unmarshal([]byte(other.body), &more) == nil {
				return writeAny([]any{tree, more})
			}
		}
	case "event":
		if text := string(writeAny(tree)); m.feed == "adt" || m.feed == "batch" {
			return strings.Replace(text, `"A01"`, `"`+pick(r, []string{"A02", "A03", "A04", "A08", "A11", "A12", "A13", "A99"})+`"`, 1)
		}
	case "cut":
		return m.body[:r.IntN(len(m.body)+1)]
	}
	return writeAny(tree)
}

// canaryField is a field name that no feed has, and that answers must name.
const canaryField = "unknownField"

// valueAt returns the value at a path in a tree.
func valueAt(tree any, at []any) any {
	for _, token := range at {
		switch token := token.(type) {
		case string:
			tree = tree.(map[string]any)[token] //nolint:errcheck,forcetypeassert // the path comes from this tree
		case int:
			tree = tree.([]any)[token] //nolint:errcheck,forcetypeassert // the path comes from this tree
		}
	}
	return tree
}
