package ingest_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
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
	out      []string // paths of ignored resources, as the answer names them
	unmapped bool     // whether the answer names an unmapped code; the values of that code then have no effect
	whole    bool     // whether the whole request was refused or ignored
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
	resource      string // path of the resource that contains the fact
	without, with string // request that lacks the fact (without), request with a different value in its place (with)
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

// feedFacts returns the leaves of a body of a JSON feed, except the names of nurses and the ids of events.
func feedFacts(t *testing.T, body string) (all []fact) {
	t.Helper()
	tree, ok := readTree(t, body)
	if !ok {
		return nil
	}
	for _, l := range leavesOf(tree, nil, nil) {
		path := pathOf(l.tokens)
		if strings.HasSuffix(path, ".name") && strings.HasPrefix(path, "nurses") || l.value == nil || strings.HasSuffix(path, "eventId") {
			continue // a name is accepted but never stored, and eventId only identifies the event
		}
		all = append(all, fact{path, "", writeTree(t, put(tree, l.tokens, nil)), writeTree(t, put(tree, l.tokens, another(l.value)))})
	}
	return all
}
