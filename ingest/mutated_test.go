package ingest_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"svc/acuity/hospital"
	"svc/internal/httpapi"
)

// This test sends malformed requests: 5,000 variants of the requests in the corpus, each with up to four changes to
// its form. [unitProbe.findFault] checks each response. A failing request is reduced as far as possible before it is
// reported.

// mutant is a request that was derived from another.
type mutant struct{ feed, body string }

const mutants = 5000

func TestNoFactOfAMutatedRequestIsLost(t *testing.T) {
	var bases []mutant
	for _, body := range filesOf(t, "hl7/testdata/*.hl7") {
		if utf8.ValidString(body) {
			bases = append(bases, mutant{"hl7", body})
		}
	}
	for _, body := range filesOf(t, "fhir/testdata/*.json") {
		bases = append(bases, mutant{"fhir", body})
	}
	for range 20 { // a single request of each kind, repeated to balance the many FHIR and HL7 requests
		bases = append(bases, mutant{"clinical", clinicalBody}, mutant{"census", censusBody}, mutant{"adt", adtBody},
			mutant{"batch", `{"events":[` + adtBody + `,{"eventType":"A03","occurredAt":"2026-03-04T15:20:00Z","visitId":"V1"}]}`})
	}
	slices.SortFunc(bases, func(a, b mutant) int { return strings.Compare(a.feed+a.body, b.feed+b.body) })
	p := newProbe(t)
	feeds, wrong := map[string]int{}, map[string]bool{}
	for seed := range mutants {
		r := rand.New(rand.NewPCG(uint64(seed), 0))
		m := pick(r, bases)
		for range 1 + r.IntN(4) {
			if m.feed == "hl7" {
				m.body = mutateMessage(r, m.body)
			} else {
				m.body = mutateJSON(r, m, bases)
			}
		}
		feeds[m.feed]++
		why := p.findFault(t, m)
		kind, _, _ := strings.Cut(why, ":")
		if why == "" || wrong[kind] {
			continue
		}
		wrong[kind] = true
		m = p.smallest(t, m)
		t.Errorf("seed %d: %s\n%s\n%s", seed, p.findFault(t, m), m.feed, strings.ReplaceAll(m.body, "\r", "\n"))
	}
	for feed, least := range map[string]int{"hl7": 1000, "fhir": 1000, "clinical": 100, "census": 100, "adt": 100, "batch": 100} {
		if feeds[feed] < least {
			t.Errorf("%d of %s", feeds[feed], feed)
		}
	}
	t.Log(feeds)
}

// tried is the outcome of a request.
type tried struct {
	*answer
	state  string
	issues []struct{ Code, Expression, Severity string }
}

func (p *unitProbe) try(t *testing.T, m mutant) tried {
	t.Helper()
	p.unit, p.stored = hospital.New("stmary"), nil
	body := m.body
	if m.feed == "hl7" {
		body = writeTree(t, map[string]string{"message": body})
	}
	a := p.do(t, request(m.feed, strings.NewReader(body)))
	var said struct {
		Data struct {
			Issues []struct{ Code, Expression, Severity string }
		}
	}
	if err := json.Unmarshal([]byte(a.raw), &said); err != nil {
		t.Fatal(err)
	}
	state := p.records(t)
	for _, o := range p.stored {
		for i := range o.Events {
			for _, id := range []string{o.Events[i].ID, o.Events[i].Digest} {
				if id != "" {
					state = strings.ReplaceAll(state, id, "")
				}
			}
		}
	}
	return tried{a, numbered.ReplaceAllString(state, ""), said.Data.Issues}
}

// numbered matches the sequence numbers in records, which are not facts.
var numbered = regexp.MustCompile(`"Number":\d+,?|"Next\w*":\d+,?`)

// findFault sends a request and returns what is wrong with the result, or "" if nothing is. The request must not
// cause a panic or a server error other than 503 and, for FHIR, 501. A refusal must name the location and the rule
// without repeating a value. Every fact in the request must change the state or be named in the answer.
func (p *unitProbe) findFault(t *testing.T, m mutant) (why string) {
	t.Helper()
	defer func() {
		if r := recover(); r != nil {
			why = fmt.Sprint("panic: ", r)
		}
	}()
	a := p.try(t, m)
	switch {
	case a.status >= 500 && a.status != http.StatusServiceUnavailable && (a.status != http.StatusNotImplemented || m.feed != "fhir"):
		return fmt.Sprintf("status %d: %s", a.status, a.raw)
	case a.status >= 400 && len(a.Error.Details) == 0:
		return fmt.Sprintf("refused without a place: %s", a.raw)
	case a.status >= 400 && slices.ContainsFunc(a.Error.Details, func(d httpapi.Detail) bool { return d.Rule == "" }):
		return fmt.Sprintf("refused without a rule: %s", a.raw)
	case a.status >= 400 && a.state != p.empty(t):
		return "refused, and taken: " + a.raw
	}
	if strings.Contains(repeatedOf.ReplaceAllString(a.raw, ""), canary) {
		return "a value is repeated: " + a.raw
	}
	if a.status >= 400 {
		return ""
	}
	for _, without := range itemsOf(t, m) {
		if !a.names(m.feed, without) && p.try(t, mutant{m.feed, without.body}).state == a.state {
			return m.feed + " " + without.kind + " is lost: " + without.path + " in " + a.raw
		}
	}
	return ""
}

// repeatedOf matches the values that an answer repeats by design: unmapped codes, the acknowledgment and its control
// id, the label of the room, and the evidence of a factor.
var repeatedOf = regexp.MustCompile(`"ack":"(?:\\.|[^"\\])*"|"unmapped":\[[^]]*\]|"controlId":"[^"]*"|"roomLabel":"[^"]*"|"evidence":"[^"]*"`)

// empty returns the state before any request.
func (p *unitProbe) empty(t *testing.T) string {
	t.Helper()
	p.unit = hospital.New("stmary")
	return numbered.ReplaceAllString(p.records(t), "")
}

// part is a part of a request that states a fact. body is the request without that part.
type part struct{ kind, path, body string }

// readTypes are the types of FHIR resources that are read.
var readTypes = map[string]bool{
	"Encounter": true, "Condition": true, "Observation": true, "MedicationAdministration": true, "Medication": true, "Location": true, "Patient": true,
}

// names reports whether an answer names a part of a request.
func (a *tried) names(feed string, of part) bool {
	for _, w := range a.Data.Warnings {
		if covers(w.Path, of.path) || feed == "hl7" && strings.Contains(w.Path, of.path[strings.LastIndex(of.path, ".")+1:]) ||
			strings.Contains(w.Path, "line[") {
			return true
		}
	}
	for _, i := range a.issues {
		entry := strings.TrimSuffix(of.path, ".resource")                             // the fault may be the method of the entry
		place := strings.TrimSuffix(i.Expression, ".resourceType")                    // without its type, a resource is not read at all
		if covers(place, entry) || i.Code == "type_not_used" && !readTypes[of.kind] { // only the first resource of each type is named
			return true
		}
	}
	var n int
	if _, err := fmt.Sscanf(of.path, "events[%d]", &n); err == nil && n < len(a.Data.Results) {
		return a.Data.Results[n].Status != "applied"
	}
	if _, err := fmt.Sscanf(of.path, "messages[%d]", &n); err == nil && n < len(a.Data.Acks) {
		return a.Data.Acks[n].Outcome == nil || *a.Data.Acks[n].Outcome != "applied"
	}
	return len(a.Data.Unmapped) > 0 && feed == "clinical" || a.Data.Outcome == nil || *a.Data.Outcome != "applied"
}

// itemsOf returns parts of a request that each state a fact independently: the DG1 segments of an HL7 message, or up
// to two elements of a JSON body. It omits a DG1 segment if its code occurs twice in the message, and returns no
// parts of a FHIR body that contains a resource twice.
func itemsOf(t *testing.T, m mutant) (all []part) {
	t.Helper()
	if m.feed == "hl7" {
		lines := strings.Split(m.body, "\r")
		n := 0
		for i, line := range lines {
			if !regexp.MustCompile(`^DG1\|[^|]*\|[^|]*\|[^|^"]`).MatchString(line) {
				continue
			}
			code := strings.Split(line, "|")[3]
			if n++; strings.Count(m.body, code) == 1 && strings.Count(m.body, "MSH") == 1 {
				all = append(all, part{"DG1", fmt.Sprintf("DG1[%d]", n), strings.Join(slices.Delete(slices.Clone(lines), i, i+1), "\r")})
			}
		}
		return all
	}
	tree, ok := readTree(t, m.body)
	if !ok {
		return nil
	}
	list := map[string]string{"clinical": "signals", "census": "rooms", "batch": "events"}[m.feed]
	seen := map[string]int{}
	var walk func(v any, at []any)
	walk = func(v any, at []any) {
		switch v := v.(type) {
		case []any:
			for i := range v {
				walk(v[i], append(slices.Clip(at), i))
			}
		case map[string]any:
			kind, _ := v["resourceType"].(string) //nolint:errcheck // "" if there is none
			named := slices.Contains([]string{"Encounter", "Condition", "Observation", "MedicationAdministration"}, kind)
			_, isItem := append(at, "")[max(len(at)-1, 0)].(int)
			if m.feed == "fhir" && named && len(at) > 0 || list != "" && len(at) == 2 && at[0] == list && isItem {
				path := pathOf(at)
				if strings.HasPrefix(path, "entry[") {
					path = "Bundle." + path
				}
				seen[writeAny(v["id"])+kind]++
				all = append(all, part{kind + list, path, writeTree(t, put(tree, at, nil))})
				return
			}
			for _, name := range slices.Sorted(maps.Keys(v)) {
				if name != "contained" {
					walk(v[name], append(slices.Clip(at), name))
				}
			}
		}
	}
	walk(tree, nil)
	if m.feed == "fhir" && slices.ContainsFunc(slices.Collect(maps.Values(seen)), func(n int) bool { return n > 1 }) {
		return nil // no parts, because a resource occurs twice or in several versions
	}
	return all[:min(2, len(all))]
}

// smallest reduces a failing request as far as possible.
func (p *unitProbe) smallest(t *testing.T, m mutant) mutant {
	t.Helper()
	kind, _, _ := strings.Cut(p.findFault(t, m), ":")
	fails := func(body string) bool {
		got, _, _ := strings.Cut(p.findFault(t, mutant{m.feed, body}), ":")
		return got == kind
	}
	for smaller := true; smaller; {
		smaller = false
		for _, body := range m.less(t) {
			if len(body) < len(m.body) && fails(body) {
				m.body, smaller = body, true
				break
			}
		}
	}
	return m
}

// less returns copies of the request, each without one of its parts: for an HL7 message, first the segments and then
// the fields; for JSON, all nodes of the tree, outer nodes first.
func (m mutant) less(t *testing.T) (all []string) {
	t.Helper()
	if m.feed == "hl7" {
		lines := strings.Split(m.body, "\r")
		for i := range lines {
			all = append(all, strings.Join(slices.Delete(slices.Clone(lines), i, i+1), "\r"))
		}
		for i, line := range lines {
			fields := strings.Split(line, "|")
			for n := 1; n < len(fields); n++ {
				less := slices.Clone(fields)
				less[n] = ""
				c := slices.Clone(lines)
				c[i] = strings.TrimRight(strings.Join(less, "|"), "|")
				all = append(all, strings.Join(c, "\r"))
			}
		}
		return all
	}
	tree, ok := readTree(t, m.body)
	if !ok {
		return nil
	}
	for _, at := range placesOf(tree, nil) {
		if len(at) > 0 {
			all = append(all, writeTree(t, put(tree, at, nil)))
		}
	}
	return all
}

// placesOf returns the paths of all nodes of a tree, outer nodes first.
func placesOf(v any, at []any) (all [][]any) {
	all = append(all, at)
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			all = append(all, placesOf(v[name], append(slices.Clip(at), name))...)
		}
	case []any:
		for i := range v {
			all = append(all, placesOf(v[i], append(slices.Clip(at), i))...)
		}
	}
	return all
}
