package ingest_test

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// resourceFacts returns the facts of a FHIR body: the leaves of its resources, except those that svc ignores by
// design and those that add nothing to other leaves. byDesign lists the ignored elements of each resource type that
// svc uses.
func resourceFacts(t *testing.T, body string, byDesign map[string]map[string]bool) (all []fact) {
	t.Helper()
	tree, ok := readTree(t, body)
	if !ok {
		return nil
	}
	for _, l := range leavesOf(tree, nil, nil) {
		// A leaf belongs to the innermost enclosing resource whose type svc uses.
		v, kind, from := tree, "", 0
		for i := 0; ; i++ {
			if o, ok := v.(map[string]any); ok {
				if name, ok := o["resourceType"].(string); ok && name != "Bundle" {
					if kind == "" {
						kind, from = name, i
					} else if _, used := byDesign[name]; used && len(l.tokens) > i { // an inner resource of a type that svc uses
						kind, from = name, i
					}
				}
			}
			if i == len(l.tokens) {
				break
			}
			switch at := l.tokens[i].(type) {
			case string:
				v = v.(map[string]any)[at] //nolint:errcheck,forcetypeassert // the path comes from this tree
			case int:
				v = v.([]any)[at] //nolint:errcheck,forcetypeassert // the path comes from this tree
			}
		}
		unused, used := byDesign[kind]
		if kind == "" || !used || len(l.tokens) <= from || l.value == nil {
			continue
		}
		of := owner(tree, l.tokens[:from])
		name, _ := l.tokens[from].(string) //nolint:errcheck // "" for an index
		if unused[name] || byDesign[""][name] || name == "resourceType" || strings.HasPrefix(name, "_") || isByDesign(l, from) || saysNoMore(of, kind, l, from) {
			continue
		}
		path, resource := pathOf(l.tokens), pathOf(l.tokens[:from])
		if o, one := tree.(map[string]any); one && o["resourceType"] != nil && kind != "" && from == 0 {
			path, resource = kind+"."+path, kind
		} else if strings.HasPrefix(path, "entry[") {
			path, resource = "Bundle."+path, "Bundle."+resource
		}
		for _, choice := range []string{"value", "effective", "onset", "abatement", "medication"} {
			if strings.HasPrefix(name, choice) && len(name) > len(choice) {
				path = strings.Replace(path, "."+name, "."+choice, 1)
			}
		}
		at, other := l.tokens, anotherOf(l)
		if name == "valueCodeableConcept" { // the code, the display and the text state one fact
			at, other = l.tokens[:from+1], map[string]any{"text": "zzz"}
		}
		all = append(all, fact{path, resource, writeTree(t, put(tree, at, nil)), writeTree(t, put(tree, at, other))})
	}
	return all
}

// owner returns the object at a path of a tree.
func owner(tree any, at []any) map[string]any {
	o, _ := valueAt(tree, at).(map[string]any) //nolint:errcheck // nil if it is not an object
	return o
}

// anotherOf returns a different but still meaningful value, for leaves where most values are meaningless.
func anotherOf(l leaf) any {
	switch path := indexes.ReplaceAllString(pathOf(l.tokens), ""); {
	case strings.HasSuffix(path, "physicalType.coding.code"):
		return "wa"
	case strings.HasSuffix(path, "location.status"):
		return "complete"
	case strings.HasSuffix(path, "birthDate"):
		return "2026-03-01"
	}
	return another(l.value)
}

// saysNoMore reports whether a leaf adds nothing to the other leaves of its resource, under the rules of docs/fhir.md
// that select one of several identifiers, times, texts or location levels.
func saysNoMore(r map[string]any, kind string, l leaf, from int) bool {
	path := indexes.ReplaceAllString(pathOf(l.tokens[from:]), "")
	first, _, _ := strings.Cut(path, ".")
	code := func(name string) string {
		text := writeAny(r[name])
		return text
	}
	switch {
	case kind == "Condition" && slices.Contains(l.tokens, any("contained")): // contained_not_used names the whole resource
		return true
	case strings.HasPrefix(path, "clinicalStatus.") && path != "clinicalStatus.coding.code": // the code has precedence over the text
		return true
	case path == "focus.reference", strings.HasPrefix(path, "bodySite.coding."): // the text of the code also identifies the fetus
		return true
	case path == "contained.resourceType" && r["focus"] != nil: // the reference identifies the fetus, regardless of its target
		return true
	case slices.Contains(l.tokens, any("contained")) && r["modifierExtension"] != nil: // svc ignores the contained resource
		return true
	case kind == "Condition" && first == "clinicalStatus": // the verification status has precedence
		return regexp.MustCompile("(?i)refuted|error|differential").MatchString(code("verificationStatus")) ||
			strings.Contains(code("clinicalStatus"), `"display"`) // the code or the display is enough
	case kind == "Encounter" && slices.Contains(l.tokens, any("contained")): // a contained Encounter only identifies a visit
		return true
	case kind == "Encounter" && first == "class" && slices.Contains(l.tokens[from:], any(1)): // svc uses only the first class
		return true
	case path == "class.code" && strings.Contains(code("class"), `"display"`) && strings.Contains(code("class"), "urn:oid:1.2.840.114350."):
		return true // the display of a sender's own code determines the class
	case kind == "Encounter" && first == "location" && code("status") == `"planned"` && !strings.Contains(code("location"), `"active"`):
		return true
	case kind == "Medication" && first == "code":
		return r["ingredient"] != nil
	case kind == "Observation" && first == "code": // the Observation only groups its components
		return r["component"] != nil && !strings.Contains(writeAny(slices.Collect(maps.Keys(r))), `"value`)
	case kind == "Observation" && strings.HasPrefix(first, "value") && regexp.MustCompile("cancelled|entered-in-error").MatchString(code("status")):
		return true
	case path == "valueRange.high.value":
		return strings.Contains(code("valueRange"), `"low"`)
	case path == "encounter.reference", path == "context.reference": // the identifier has precedence
		return strings.Contains(code(first), `"identifier"`)
	case strings.HasSuffix(path, "uantity.unit"): // the unit repeats the code
		return strings.Contains(writeAny(r[first]), `"code"`)
	case strings.HasPrefix(path, "valueCodeableConcept.coding.system"): // rules find the words of the text without a code system
		return true
	case kind != "Encounter" && first == "subject": // the visit identifies the patient
		return r["encounter"] != nil || r["context"] != nil
	case kind == "Encounter" && first == "location" && isPlanned(r, l, from):
		return true
	case path == "effectivePeriod.start" || path == "effectivePeriod.end": // one of the two is enough
		return true
	case kind == "Encounter" && regexp.MustCompile("cancelled|entered-in-error").MatchString(code("status")):
		return true // only the identity of the visit is used
	case path == "identifier.value":
		list, _ := r["identifier"].([]any) //nolint:errcheck // nil if there is none
		return len(list) > 1
	case first == "reasonCode" || first == "serviceType" || first == "ingredient": // svc does not need every entry of these elements
		return true
	case kind == "Encounter" && path == "period.start":
		return code("status") == `"planned"`
	case path == "location.period.end", path == "location.period.start": // the start of the next location ends this one
		return true
	case path == "location.location.display":
		return regexp.MustCompile(`"(wa|bd|si|bu|lvl)"`).MatchString(code("location"))
	case strings.HasSuffix(path, ".text") || path == "code.text": // the text repeats the coding
		return strings.Contains(writeAny(r[first]), `"coding"`)
	}
	return false
}

// isPlanned reports whether a location of an Encounter is only planned or reserved.
func isPlanned(r map[string]any, l leaf, from int) bool {
	place, _ := r["location"].(map[string]any) //nolint:errcheck // nil if it is not an object
	if list, ok := r["location"].([]any); ok && len(l.tokens) > from+1 {
		place, _ = list[l.tokens[from+1].(int)].(map[string]any) //nolint:errcheck // nil if it is not an object
	}
	return regexp.MustCompile("planned|reserved").MatchString(writeAny(place["status"]))
}

// isByDesign reports whether docs/fhir.md lists a part of an element as not read.
func isByDesign(l leaf, from int) bool {
	names := []string{}
	for _, token := range l.tokens[from:] {
		if name, ok := token.(string); ok {
			names = append(names, name)
		}
	}
	last := names[len(names)-1]
	holder := ""
	if len(names) > 1 {
		holder = names[len(names)-2]
	}
	if slices.ContainsFunc(names[1:], func(n string) bool { return n == "extension" || strings.HasPrefix(n, "_") }) || len(names) > 1 && last == "id" {
		return true
	}
	switch last {
	case "version", "userSelected":
		return holder == "coding" || holder == "class"
	case "type":
		return true // the type of a reference
	case "display":
		return slices.Contains([]string{"subject", "encounter", "context", "partOf"}, names[0]) && len(names) == 2 // a person's name
	case "system":
		if slices.Contains([]string{"class", "category", "clinicalStatus", "verificationStatus", "dataAbsentReason", "interpretation"}, names[0]) ||
			slices.Contains(names, "physicalType") {
			return true
		}
	}
	if names[0] == "dataAbsentReason" || len(names) > 1 && names[1] == "dataAbsentReason" {
		return true // only the presence of the element matters
	}
	in := func(holders ...string) bool {
		return slices.ContainsFunc(names[:len(names)-1], func(n string) bool { return slices.Contains(holders, n) })
	}
	return names[0] == "meta" && last != "lastUpdated" && last != "versionId" || in("identifier") && last != "value" && last != "use" ||
		in("referenceRange", "strength") || in("valueQuantity", "low", "high", "valueRange") && (last == "system" || last == "code")
}

// leftOut returns the elements that docs/reference/fhir-elements.md lists as not read, by resource type. The key ""
// holds the elements that are not read in any resource.
func leftOut(t *testing.T) map[string]map[string]bool {
	t.Helper()
	page, err := os.ReadFile("../docs/reference/fhir-elements.md")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]map[string]bool{}
	for _, row := range regexp.MustCompile(`(?m)^\| (\w+) \| (.*) \|$`).FindAllSubmatch(page, -1) {
		kind := strings.TrimSuffix(string(row[1]), "every")
		all[kind] = map[string]bool{}
		for _, name := range regexp.MustCompile("`(\\w+)`").FindAllSubmatch(row[2], -1) {
			all[kind][string(name[1])] = true
		}
	}
	delete(all[""], "lastUpdated")
	delete(all[""], "versionId")
	if len(all) != 9 { // the header, the row for every type, and seven types
		t.Fatalf("%d rows: %v", len(all), all)
	}
	return all
}

func TestNoFactOfFHIRIsSilent(t *testing.T) {
	byDesign, p := leftOut(t), newProbe(t)
	silent, n := map[string][]string{}, 0
	for name, body := range filesOf(t, "fhir/testdata/*.json") {
		whole := p.send(t, "fhir", body)
		for _, f := range resourceFacts(t, body, byDesign) {
			if n++; !p.noticed(t, "fhir", whole, f) {
				kind := indexes.ReplaceAllString(f.path, "")
				silent[kind] = append(silent[kind], name+" "+f.path)
			}
		}
	}
	if n < 1000 {
		t.Errorf("only %d facts", n)
	}
	report(t, silent)
	t.Log(n, "facts")
}
