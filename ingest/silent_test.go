package ingest_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"svc/acuity"
	"svc/acuity/facts"
	"svc/acuity/hospital"
)

// No fact of a request may be ignored silently. These tests use a sender's definition of a fact: a leaf of the JSON,
// or a component of an HL7 field. They call no decoder. A fact has an effect if the request without it, or with a
// different value in its place, results in a different state or answer. A fact without an effect must be named in the
// answer, or listed in docs/ as not read by design.

// unitProbe answers requests, each with a new unit.
type unitProbe struct {
	*fixture
	unit *hospital.State
}

func newProbe(tb testing.TB) *unitProbe {
	p := &unitProbe{fixture: open(tb)}
	p.change = func(o *acuity.Observation) acuity.Change {
		for more := true; more; {
			_, more = p.unit.Advance(o.ReceivedAt)
		}
		return p.unit.Apply(o, 1)
	}
	return p
}

// told holds the parts of an answer that refer to facts.
type told struct {
	Data struct {
		Outcome                       json.RawMessage
		Warnings, Issues              []struct{ Code, Path, Expression, Severity string }
		Unmapped                      []struct{ Code string }
		Activated, Expired            json.RawMessage
		Resources, Counts, Results    json.RawMessage
		RoomID, Active, Level         json.RawMessage
		SkillMix, Tenure, AckCode     json.RawMessage
		Ack                           string
		NursesOnDuty, EventType, AsOf json.RawMessage
	}
	Error struct {
		Code, Ack, AckCode string
		Details            []struct{ Path, Rule string }
	}
}

// effect is the result of a request: the final state, and the answer to its sender.
type effect struct {
	print    string
	places   []string // the locations that the answer names
	out      []string // resources that are ignored, as the answer names them
	unmapped bool     // the answer names an unmapped code, so the values of that code have no meaning
	whole    bool     // the whole request was refused
}

func (p *unitProbe) send(t *testing.T, path, body string) effect {
	t.Helper()
	p.unit, p.stored = hospital.New("stmary"), nil
	a := p.do(t, request(path, strings.NewReader(body)))
	var said told
	if err := json.Unmarshal([]byte(a.raw), &said); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d\n", a.status)
	text, err := json.Marshal(said)
	if err != nil {
		t.Fatal(err)
	}
	b.Write(text)
	b.WriteString(p.records(t))
	print := ackID.ReplaceAllString(b.String(), "") // the id of an acknowledgment is random
	for _, o := range p.stored {                    // the identity of an event depends on every byte
		for i := range o.Events {
			for _, id := range []string{o.Events[i].ID, o.Events[i].Digest} {
				if id != "" {
					print = strings.ReplaceAll(print, id, "")
				}
			}
		}
	}
	e := effect{print: print, whole: a.status >= 400, unmapped: len(said.Data.Unmapped) > 0}
	for _, w := range said.Data.Warnings {
		e.places = append(e.places, w.Path)
	}
	for _, i := range said.Data.Issues {
		e.places = append(e.places, i.Expression)
		if i.Code == "code_missing" {
			e.places = append(e.places, strings.TrimSuffix(i.Expression, ".code"))
		}
		if i.Severity == "error" || slices.Contains([]string{"superseded", "status_not_used", "exists"}, i.Code) {
			place, _, _ := strings.Cut(i.Expression, ".request.")
			e.out = append(e.out, place)
		}
	}
	for _, d := range said.Error.Details {
		e.places = append(e.places, d.Path)
	}
	return e
}

// records returns the stored records of the unit in the order of their keys.
func (p *unitProbe) records(t *testing.T) string {
	t.Helper()
	var all []string
	p.unit.Records(func(key []byte, r facts.Record) {
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(key)+string(text))
	})
	slices.Sort(all)
	return strings.Join(all, "\n")
}

var ackID = regexp.MustCompile(`\b[0-9a-f]{20}\b`)

// fact is one leaf of a request.
type fact struct {
	path          string // path as a sender would write it
	resource      string // path of the resource that contains it
	without, with string // the request without the fact, and the request with a different value
}

// noticed reports whether a fact has an effect or is named in the answer.
func (p *unitProbe) noticed(t *testing.T, path string, whole effect, f fact) bool {
	t.Helper()
	out := func(place string) bool { return f.resource != "" && covers(place, f.resource) || place == "" }
	if whole.whole || slices.ContainsFunc(whole.out, out) || slices.ContainsFunc(whole.places, func(place string) bool { return covers(place, f.path) }) {
		return true
	}
	if whole.unmapped && regexp.MustCompile(`\.value\b`).MatchString(f.path) {
		return true
	}
	return p.send(t, path, f.with).print != whole.print || p.send(t, path, f.without).print != whole.print
}

// covers reports whether a place named in the answer is a fact, a part of the fact, or an element that contains the
// fact.
func covers(place, path string) bool {
	return place != "" && (within(path, place) || within(place, path))
}

func within(inner, outer string) bool {
	rest, ok := strings.CutPrefix(inner, outer)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// For JSON, the test replaces the value of each leaf of the tree.

type leaf struct {
	tokens []any // member names and array indexes, from the root
	value  any
}

func leavesOf(v any, at []any, all []leaf) []leaf {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			all = leavesOf(v[name], append(slices.Clip(at), name), all)
		}
	case []any:
		for i := range v {
			all = leavesOf(v[i], append(slices.Clip(at), i), all)
		}
	default:
		all = append(all, leaf{at, v})
	}
	return all
}

func readTree(t *testing.T, body string) (v any, ok bool) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(strings.TrimPrefix(body, "\ufeff")))
	d.UseNumber()
	return v, d.Decode(&v) == nil
}

func writeTree(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// put returns a copy of a tree with a leaf replaced; nil removes the leaf.
func put(v any, at []any, value any) any {
	if len(at) == 0 {
		return value
	}
	switch v := v.(type) {
	case map[string]any:
		c := maps.Clone(v)
		name, _ := at[0].(string) //nolint:errcheck // the path comes from this tree
		if c[name] = put(v[name], at[1:], value); c[name] == nil {
			delete(c, name)
		}
		return c
	case []any:
		c := slices.Clone(v)
		i, _ := at[0].(int) //nolint:errcheck // the path comes from this tree
		if c[i] = put(v[i], at[1:], value); c[i] == nil {
			c = slices.Delete(c, i, i+1)
		}
		return c
	}
	return v
}

// another returns a different value of the same type.
func another(v any) any {
	switch v := v.(type) {
	case string:
		if aTime.MatchString(v) {
			return v[:8] + string('0'+(v[8]-'0'+1)%3) + v[9:] // a different day
		}
		return v + "Z9"
	case json.Number:
		return json.Number(string(v) + "7")
	case bool:
		return !v
	}
	return "Z9"
}

var aTime = regexp.MustCompile(`^20\d\d-\d\d-\d\d`)

func pathOf(at []any) string {
	var b strings.Builder
	for _, token := range at {
		switch token := token.(type) {
		case string:
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(token)
		case int:
			b.WriteString("[" + strconv.Itoa(token) + "]")
		}
	}
	return b.String()
}

// resourceFacts returns the facts of a FHIR body: the leaves of its resources, except resources of
// types that are not used. byDesign lists the elements that are not read.
func resourceFacts(t *testing.T, body string, byDesign map[string]map[string]bool) (all []fact) {
	t.Helper()
	tree, ok := readTree(t, body)
	if !ok {
		return nil
	}
	for _, l := range leavesOf(tree, nil, nil) {
		// A leaf belongs to the innermost object whose type is not a container.
		v, kind, from := tree, "", 0
		for i := 0; ; i++ {
			if o, ok := v.(map[string]any); ok {
				if name, ok := o["resourceType"].(string); ok && name != "Bundle" {
					if kind == "" {
						kind, from = name, i
					} else if _, used := byDesign[name]; used && len(l.tokens) > i { // a resource, inside a container, of a type that svc uses
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
	case slices.Contains(l.tokens, any("contained")) && r["modifierExtension"] != nil: // the resource is ignored, and its references are not listed
		return true
	case kind == "Condition" && first == "clinicalStatus": // the verification status has precedence
		return regexp.MustCompile("(?i)refuted|error|differential").MatchString(code("verificationStatus")) ||
			strings.Contains(code("clinicalStatus"), `"display"`) // the code or the display is enough
	case kind == "Encounter" && slices.Contains(l.tokens, any("contained")): // it only identifies the visit of another resource
		return true
	case kind == "Encounter" && first == "class" && slices.Contains(l.tokens[from:], any(1)): // the first class applies
		return true
	case path == "class.code" && strings.Contains(code("class"), `"display"`) && strings.Contains(code("class"), "urn:oid:1.2.840.114350."):
		return true // the sender's own class: its display applies
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
	case strings.HasPrefix(path, "valueCodeableConcept.coding.system"): // the text is known without the system
		return true
	case kind != "Encounter" && first == "subject": // the visit identifies the patient
		return r["encounter"] != nil || r["context"] != nil
	case kind == "Encounter" && first == "location" && isPlanned(r, l, from):
		return true
	case path == "effectivePeriod.start" || path == "effectivePeriod.end": // one of the two is enough
		return true
	case kind == "Encounter" && regexp.MustCompile("cancelled|entered-in-error").MatchString(code("status")):
		return true // only the identity of the visit matters
	case path == "identifier.value":
		list, _ := r["identifier"].([]any) //nolint:errcheck // nil if there is none
		return len(list) > 1
	case first == "reasonCode" || first == "serviceType" || first == "ingredient": // only one name, hints and active ingredients are used
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

func writeAny(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
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
		return true // of a reference
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

// leftOut returns the elements that docs/reference/fhir-elements.md lists as not read, by resource type. The type ""
// has the elements that are not read in any resource.
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

// filesOf returns the content of the files that match a pattern.
func filesOf(t *testing.T, pattern string) map[string]string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) < 5 {
		t.Fatal(pattern, len(files), err)
	}
	all := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if len(text) < 40_000 {
			all[filepath.Base(file)] = string(text)
		}
	}
	return all
}

// report fails the test with the first facts that were ignored silently.
func report(t *testing.T, silent map[string][]string) {
	t.Helper()
	for i, path := range slices.Sorted(maps.Keys(silent)) {
		if i == 40 {
			t.Errorf("… %d more", len(silent)-i)
			break
		}
		t.Errorf("%s went without a word, as in %s (%d times)", path, silent[path][0], len(silent[path]))
	}
}

var indexes = regexp.MustCompile(`\[\d+\]`)

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

// TestNoFactOfJSONIsSilent checks that each field of a JSON feed has an effect or is named in the answer.
func TestNoFactOfJSONIsSilent(t *testing.T) {
	p := newProbe(t)
	silent, n := map[string][]string{}, 0
	check := func(path, body string) {
		whole := p.send(t, path, body)
		for _, f := range feedFacts(t, body) {
			if n++; !p.noticed(t, path, whole, f) {
				kind := path + " " + indexes.ReplaceAllString(f.path, "")
				silent[kind] = append(silent[kind], f.path+" of "+body[:40])
			}
		}
	}
	check("clinical", clinicalBody)
	check("roster", rosterBody)
	check("staffing", `{"nursesOnDuty":6,"callStaffAvailable":true,"asOf":"2026-03-04T15:00:00Z","charge":1}`)
	for _, kind := range []string{"A01", "A02", "A03", "A04", "A08", "A11", "A12", "A13", "admit", "discharge"} {
		event := strings.Replace(adtBody, `"A01"`, `"`+kind+`"`, 1)
		check("adt", event)
		check("batch", `{"events":[`+event+`,{"eventType":"A03","occurredAt":"2026-03-04T15:20:00Z","visitId":"V1"}]}`)
	}
	for _, status := range []string{"occupied", "empty", "blocked"} {
		check("census", strings.Replace(censusBody, `"occupied"`, `"`+status+`"`, 1))
	}
	if n < 60 {
		t.Errorf("only %d facts", n)
	}
	report(t, silent)
	t.Log(n, "facts")
}

// feedFacts returns the leaves of a body of a JSON feed.
func feedFacts(t *testing.T, body string) (all []fact) {
	t.Helper()
	tree, ok := readTree(t, body)
	if !ok {
		return nil
	}
	for _, l := range leavesOf(tree, nil, nil) {
		path := pathOf(l.tokens)
		if strings.HasSuffix(path, ".name") && strings.HasPrefix(path, "nurses") || l.value == nil || strings.HasSuffix(path, "eventId") {
			continue // a name is accepted but never stored; eventId only identifies the event
		}
		all = append(all, fact{path, "", writeTree(t, put(tree, l.tokens, nil)), writeTree(t, put(tree, l.tokens, another(l.value)))})
	}
	return all
}
