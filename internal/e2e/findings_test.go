package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// finding is a sequence of inputs of a feed. An earlier release of svc lost or misread these inputs without a
// warning. The files are in testdata/findings.
type finding struct {
	name  string
	room  string // label of the patient's room
	steps []findingStep
}

// findingStep is one input and its effects.
type findingStep struct {
	file   string
	answer string // expected over HTTP: status, outcome, and then each warning, issue and detail as code@path
	room   string // expected afterwards: status, color, nurses required, active factors; "" if the unit lacks the room
	level  string // expected afterwards, with two nurses on duty
	ack    string // expected MSA-1 over MLLP; "" if the input is not HL7
}

const (
	laboring   = "occupied yellow 1 labor-standard"
	worstOfTwo = "occupied red 2 labor-fhr-cat-iii labor-multiple-gestation labor-standard"
	hemorrhage = "occupied red 2 high-hemorrhage labor-standard pp-hemorrhage"
)

var findings = []finding{
	{"A tracing of fetus B does not end that of fetus A", "TW1", []findingStep{
		{"01-twins-1-encounter.json", "200 applied", laboring, "yellow", ""},
		{"01-twins-2-O30.json", "200 applied", "occupied yellow 1 labor-multiple-gestation labor-standard", "yellow", ""},
		{"01-twins-3-fetusA-catIII.json", "200 applied", worstOfTwo, "orange", ""},
		{"01-twins-4-fetusB-catI.json", "200 applied", worstOfTwo, "orange", ""},
	}},
	{"A condition of the whole stay is in the room of its part", "PW1", []findingStep{
		{"02-partof-1-bundle.json", "200 applied", hemorrhage, "orange", ""},
	}},
	{"A discharge that has only a date follows the admission of that day", "DA1", []findingStep{
		{"03-date-1-a01.hl7", "200 applied", laboring, "green", "AA"},
		{"03-date-2-a03-day-only.hl7", "200 applied", "empty gray 0", "yellow", "AA"},
	}},
	{"A tracing that has only a date is as new as its issue", "DE1", []findingStep{
		{"03-date-5-encounter.json", "200 applied", laboring, "yellow", ""},
		{"03-date-7-catII.json", "200 applied", "occupied yellow 1 labor-fhr-cat-ii labor-standard", "yellow", ""},
		{"03-date-8-catIII-day-only.json", "200 applied", "occupied red 2 labor-fhr-cat-iii labor-standard", "orange", ""},
	}},
	{"A condition that resolved on a date is over", "RE1", []findingStep{
		{"04-resolved-1-encounter.json", "200 applied", laboring, "yellow", ""},
		{"04-resolved-2-active.json", "200 applied", "occupied orange 1 high-hemorrhage labor-standard pp-hemorrhage", "yellow", ""},
		{"04-resolved-3-day-only.json", "200 applied", laboring, "yellow", ""},
	}},
	{"A transaction with PATCH is refused", "PA1", []findingStep{
		{"05-patch-1-encounter.json", "200 applied", laboring, "yellow", ""},
		{"05-patch-2-binary.json", "501 method_not_supported@Bundle.entry[0].request.method", laboring, "yellow", ""},
		{"05-patch-3-parameters.json", "501 method_not_supported@Bundle.entry[0].request.method", laboring, "yellow", ""},
	}},
	{"A conditional create does not readmit a patient", "IN1", []findingStep{
		{"06-create-1-if-none-exist.json", "200 applied", laboring, "yellow", ""},
		{"06-create-2-finished.json", "200 applied", "empty gray 0", "orange", ""},
		{"06-create-3-if-none-exist-again.json", "200 ignored exists@Bundle.entry[0].resource", "empty gray 0", "orange", ""},
	}},
	{"Blanks before a segment are skipped", "IG1", []findingStep{
		{"07-indent-1-dg1.hl7", "200 applied", hemorrhage, "orange", "AA"},
	}},
	{"A message without a visit number is about the only open visit", "NV1", []findingStep{
		{"08-novisit-1-a01.hl7", "200 applied", laboring, "green", "AA"},
		{"08-novisit-2-a08-dg1.hl7", "200 applied visit_by_patient@PV1-19", hemorrhage, "orange", "AA"},
	}},
	{"A vertical tab in a text is data", "VT1", []findingStep{
		{"09-mllp-vertical-tab.bin", "200 applied line_continued@line[6]", "occupied orange 1 high-preeclampsia labor-standard", "yellow", "AA"},
	}},
	{"A fault of JSON has its place", "", []findingStep{
		{"10-text-1-leading-zero.json", "400 json@Bundle.entry[0].resource.valueQuantity.value", "", "green", ""},
	}},
	{"A byte order mark is skipped", "BM1", []findingStep{
		{"10-text-2-bom.json", "200 applied", laboring, "yellow", ""},
	}},
	{"A reference may end with a slash", "TS1", []findingStep{
		{"10-text-3-reference-trailing-slash.json", "200 applied", "occupied orange 1 high-preeclampsia labor-standard", "yellow", ""},
	}},
	{"An escaped header is refused at MSH-2", "AM1", []findingStep{
		{"10-text-4-amp-escaped-msh.hl7", "400 format:hl7@MSH-2", "", "green", "AE"},
	}},
	{"Segments on one line are refused", "BR1", []findingStep{
		{"10-text-5-literal-backslash-r.hl7", "422 segments_joined@MSH", "", "green", "AE"},
	}},
	{"A bed without a room is a warning", "BO1", []findingStep{
		{"11-bed-only.hl7", "200 applied bed_without_room@PV1-3", "", "yellow", "AA"},
	}},
	{"A modifier is not skipped", "MO1", []findingStep{
		{"12-modifier-1-encounter.json", "200 applied", laboring, "yellow", ""},
		{"12-modifier-2-condition.json", "200 ignored modifier_extension@Condition.modifierExtension", laboring, "yellow", ""},
		{"12-modifier-3-refuted-text-only.json", "200 applied", laboring, "yellow", ""},
	}},
}

// noonZone returns a time zone in which it is noon, so that a time one or two hours ago is on the same date.
func noonZone(now time.Time) string {
	return fmt.Sprintf("Etc/GMT%+d", now.UTC().Hour()-12) // the names use the POSIX sign: GMT-3 is ahead of UTC
}

// findingTokens matches the placeholders for times in the files: {{T-600}} is the time 600 s ago in HL7 format,
// {{I-600}} in FHIR format.
var findingTokens = regexp.MustCompile(`\{\{([TI])(-\d+)\}\}`)

// text returns the input with all tokens replaced by times relative to now. zone is the time zone of the hospital.
func (s *findingStep) text(t *testing.T, zone string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", "findings", s.file))
	if err != nil {
		t.Fatal(err)
	}
	place, err := time.LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now().UTC()
	text := strings.NewReplacer("{{RUN}}", "1", "{{DATE}}", now.In(place).Format(time.DateOnly), "{{D8}}", now.In(place).Format("20060102")).
		Replace(string(content))
	text = findingTokens.ReplaceAllStringFunc(text, func(token string) string {
		parts := findingTokens.FindStringSubmatch(token)
		ago, err := strconv.Atoi(parts[2])
		if err != nil {
			t.Fatal(err)
		}
		layout := map[string]string{"T": "20060102150405-0700", "I": time.RFC3339}[parts[1]]
		return now.Add(time.Duration(ago) * time.Second).Format(layout)
	})
	if framed, ok := strings.CutPrefix(text, "\x0b"); ok {
		text = strings.TrimSuffix(framed, "\x1c\r") // removes the MLLP frame: the engine adds one, and HTTP does not need one
	}
	return text
}

// summary returns an ingest response in the form of [findingStep].answer.
func (a *answer) summary(t *testing.T) string {
	t.Helper()
	words := []string{strconv.Itoa(a.status)}
	var data struct {
		ingested

		Issues []struct{ Code, Expression string }
	}
	if len(a.Data) > 0 {
		into(t, a.Data, &data)
	}
	if data.Outcome != nil {
		words = append(words, *data.Outcome)
	}
	for _, w := range data.Warnings {
		words = append(words, w.Code+"@"+w.Path)
	}
	for _, i := range data.Issues {
		words = append(words, i.Code+"@"+i.Expression)
	}
	for _, d := range a.Error.Details {
		words = append(words, d.Rule+"@"+d.Path)
	}
	return strings.Join(words, " ")
}

// room describes a room of the unit in the form of [findingStep].room.
func (u *unitState) room(label string) string {
	for _, r := range u.Rooms {
		if r.RoomLabel != label {
			continue
		}
		words := []string{r.Status, r.Color, fmt.Sprint(r.NursesRequired)}
		var factors []string
		for _, f := range r.Factors {
			factors = append(factors, f.ID)
		}
		slices.Sort(factors)
		return strings.Join(append(words, factors...), " ")
	}
	return ""
}

// unplaced returns the number of patients without a room after the last step of a finding.
func (f *finding) unplaced() int {
	last := &f.steps[len(f.steps)-1]
	if last.room == "" && strings.HasPrefix(last.answer, "200 applied") {
		return 1
	}
	return 0
}

// overHTTP sends the inputs over HTTP, to a hospital that gets no other inputs.
func (f *finding) overHTTP(t *testing.T, p *partner, zone string) {
	t.Helper()
	p.accepted(t, "staffing", `{"nursesOnDuty":2,"callStaffAvailable":true}`)
	for i := range f.steps {
		s := &f.steps[i]
		feed, body := "fhir", s.text(t, zone)
		if s.ack != "" {
			feed, body = "hl7", asJSON(t, map[string]string{"message": body})
		}
		a, _ := p.sendUntilApplied(t, feed, body, s.file)
		if got := a.summary(t); got != s.answer {
			t.Errorf("%s: %s, want %s: %s", s.file, got, s.answer, a.raw)
		}
		u := p.unitState(t)
		if got := u.room(f.room); got != s.room || u.Level != s.level {
			t.Errorf("%s: room %q, level %s, want %q, %s", s.file, got, u.Level, s.room, s.level)
		}
	}
	if got := p.unitState(t).UnplacedPatients; got != f.unplaced() {
		t.Errorf("%d patients are without a room, want %d", got, f.unplaced())
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// overMLLP sends the inputs over MLLP. If alone is false, the hospital also gets the inputs of other findings, so its
// level is not compared. An acknowledgment does not mean that the message is applied, so overMLLP waits for the unit
// to change.
func (f *finding) overMLLP(t *testing.T, p *partner, address, zone string, alone bool) {
	t.Helper()
	if alone {
		p.accepted(t, "staffing", `{"nursesOnDuty":2,"callStaffAvailable":true}`)
	}
	unplaced := p.unitState(t).UnplacedPatients + f.unplaced()
	e := &engine{address: func() string { return address }}
	defer e.close()
	var notices []string
	for i := range f.steps {
		s := &f.steps[i]
		message := s.text(t, zone)
		if code, err := e.send(message); err != nil || code != s.ack {
			t.Errorf("%s: %s %v, want %s", s.file, code, err, s.ack)
		}
		eventually(t, 20*time.Second, func() error {
			u := p.unitState(t)
			if got := u.room(f.room); got != s.room || alone && u.Level != s.level {
				return fmt.Errorf("%s: room %q, level %s, want %q, %s", s.file, got, u.Level, s.room, s.level)
			}
			return nil
		})
		for word := range strings.FieldsSeq(s.answer) {
			if code, path, ok := strings.Cut(word, "@"); ok && s.ack == "AA" {
				notices = append(notices, fmt.Sprintf("warned %s %s %s", strings.Split(message, "|")[9], code, path))
			}
		}
	}
	eventually(t, 20*time.Second, func() error {
		if got := p.unitState(t).UnplacedPatients; got != unplaced {
			return fmt.Errorf("%d patients are without a room, want %d", got, unplaced)
		}
		return nil
	})
	var source string
	eventually(t, 20*time.Second, func() error {
		feeds := p.feedsStatus(t).Feeds
		if len(feeds) == 0 {
			return fmt.Errorf("the status has no feed yet")
		}
		source = feeds[0].Source
		return nil
	})
	p.noticed(t, source, "hl7", notices...)
}

// isHL7 reports whether the inputs can be sent over MLLP.
func (f *finding) isHL7() bool { return f.steps[0].ack != "" }

// findingHospitals creates a hospital for each name, all in the same time zone. It returns each hospital's partner
// and the id of its key.
func findingHospitals(t *testing.T, base string, env, args []string, zone string, names ...string) (all []*partner, keys []string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "hospitals.csv")
	text := "id,name,timezone,keys\n"
	for _, name := range names {
		text += fmt.Sprintf("%s,Test %[1]s,%s,feed\n", name, zone)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(cli(t, env, append([]string{"hospitals", "import", file, "--scopes", "all", "--rate", "0"}, args...)...)) {
		if cells := strings.Split(strings.TrimSpace(line), ","); slices.Contains(names, cells[0]) {
			all, keys = append(all, newPartner(base, cells[0], cells[3])), append(keys, cells[2])
		}
	}
	if len(all) != len(names) {
		t.Fatalf("%d of %d hospitals have a key", len(all), len(names))
	}
	for _, p := range all {
		p.honored(t)
	}
	return all, keys
}

// findingNames returns one hospital id for each finding or, if hl7Only is true, for each HL7 finding.
func findingNames(prefix string, hl7Only bool) (names []string) {
	for i := range findings {
		if !hl7Only || findings[i].isHL7() {
			names = append(names, fmt.Sprintf("%s-%d", prefix, i))
		}
	}
	return names
}

// TestFindings sends each finding to a separate hospital of svc dev over HTTP. It also sends the HL7 findings to the
// MLLP address of svc dev, which serves one hospital.
func TestFindings(t *testing.T) {
	t.Parallel()
	d := startDev(t, t.TempDir(), "--ephemeral")
	zone := noonZone(time.Now())
	partners, _ := findingHospitals(t, d.BaseURL, nil, []string{"--data", d.dir}, zone, findingNames("http", false)...)
	newPartner(d.BaseURL, d.HospitalID, d.AdminKey).act(t, http.MethodPut, "settings", fmt.Sprintf(`{"timezone":%q}`, zone), http.StatusOK)
	one := newPartner(d.BaseURL, d.HospitalID, d.APIKey)
	one.accepted(t, "staffing", `{"nursesOnDuty":2,"callStaffAvailable":true}`)
	for i := range findings {
		f := &findings[i]
		t.Run(f.name, func(t *testing.T) { f.overHTTP(t, partners[i], zone) })
		if f.isHL7() {
			t.Run(f.name+" over MLLP", func(t *testing.T) { f.overMLLP(t, one, d.MLLP, zone, false) })
		}
	}
}

// TestFindingsOnServers repeats TestFindings with roles on real servers. Each finding has a separate hospital, even
// over MLLP.
func TestFindingsOnServers(t *testing.T) {
	t.Parallel()
	s := startSystem(t)
	s.processor("p1")
	zone := noonZone(time.Now())
	partners, _ := findingHospitals(t, s.base, s.env, nil, zone, findingNames("http", false)...)
	engines, keys := findingHospitals(t, s.base, s.env, nil, zone, findingNames("mllp", true)...)
	addresses, senders := make([]string, len(keys)), make([]string, len(keys))
	for i, key := range keys {
		addresses[i] = "127.0.0.1:" + mustFreePort(t)
		senders[i] = "addr=" + addresses[i] + ",key=" + key
	}
	private := "127.0.0.1:" + mustFreePort(t)
	args := []string{"ingest", "--listen", "127.0.0.1:0", "--private-listen", private, "--mllp", strings.Join(senders, ";")}
	n := start(t, "mllp", args, s.env...)
	n.await("http://" + private + "/readyz")
	for i, sent := 0, 0; i < len(findings); i++ {
		f := &findings[i]
		t.Run(f.name, func(t *testing.T) { f.overHTTP(t, partners[i], zone) })
		if f.isHL7() {
			t.Run(f.name+" over MLLP", func(t *testing.T) { f.overMLLP(t, engines[sent], addresses[sent], zone, true) })
			sent++
		}
	}
}
