package ingest_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"svc/acuity"
	"svc/ingest"
)

// The test of HL7 messages in this file replaces the value of each component. docs/reference/hl7-fields.md lists the
// components that are read. Changing a listed component must change the result or be reported in the response;
// changing any other component must have no effect.

// parted is a message as a list of segments, each a list of fields.
type parted struct {
	separator, component, repetition string
	segments                         [][]string
}

// splitMessage splits a message into segments and fields. ok is false if the message is a batch, is not valid UTF-8,
// or has lines that are not plain segments.
func splitMessage(text string) (m parted, ok bool) {
	text = strings.Trim(strings.NewReplacer("\r\n", "\r", "\n", "\r").Replace(text), "\r")
	if !utf8.ValidString(text) || len(text) < 9 || !strings.HasPrefix(text, "MSH") || strings.Count(text, "MSH") > 1 {
		return m, false
	}
	m.separator, m.component, m.repetition = text[3:4], text[4:5], text[5:6]
	for line := range strings.SplitSeq(text, "\r") {
		fields := strings.Split(line, m.separator)
		if !regexp.MustCompile(`^[A-Z][A-Z0-9]{2}$`).MatchString(fields[0]) || len(fields) < 2 {
			return m, false
		}
		if fields[0] == "MSH" {
			fields = slices.Insert(fields, 1, m.separator)
		}
		m.segments = append(m.segments, fields)
	}
	return m, true
}

func (m *parted) text() string {
	var b strings.Builder
	for _, fields := range m.segments {
		line := strings.Join(fields, m.separator)
		if fields[0] == "MSH" {
			line = fields[0] + m.separator + strings.Join(fields[2:], m.separator)
		}
		b.WriteString(line + "\r")
	}
	return b.String()
}

// get returns a component of one repetition of a field. Components are numbered from 1, repetitions from 0.
func (m *parted) get(s, field, repetition, component int) string {
	if field >= len(m.segments[s]) {
		return ""
	}
	list := strings.Split(m.segments[s][field], m.repetition)
	if repetition >= len(list) {
		return ""
	}
	parts := strings.Split(list[repetition], m.component)
	if component > len(parts) {
		return ""
	}
	return parts[component-1]
}

// set returns the message with the component replaced.
func (m *parted) set(s, field, repetition, component int, value string) string {
	c := *m
	c.segments = slices.Clone(m.segments)
	fields := slices.Clone(m.segments[s])
	for len(fields) <= field {
		fields = append(fields, "")
	}
	list := strings.Split(fields[field], m.repetition)
	for len(list) <= repetition {
		list = append(list, "")
	}
	parts := strings.Split(list[repetition], m.component)
	for len(parts) < component {
		parts = append(parts, "")
	}
	parts[component-1] = value
	list[repetition] = strings.Join(parts, m.component)
	fields[field] = strings.Join(list, m.repetition)
	c.segments[s] = fields
	return c.text()
}

// find returns the index of the first segment with the name, or -1.
func (m *parted) find(name string) int {
	return slices.IndexFunc(m.segments, func(fields []string) bool { return fields[0] == name })
}

// first returns a component of the first segment with the name.
func (m *parted) first(name string, field, component int) string {
	if s := m.find(name); s >= 0 {
		return m.get(s, field, 0, component)
	}
	return ""
}

// messageFact is one component of a message.
type messageFact struct {
	s, field, repetition, component int
	name                            string // such as PV1-3.2
	path                            string // as in a warning, but without a segment number
	value                           string
}

// facts returns the nonempty components of a message.
func (m *parted) facts() (all []messageFact) {
	seen := map[string]int{}
	for s, fields := range m.segments {
		seen[fields[0]]++
		for n := 1; n < len(fields); n++ {
			if fields[0] == "MSH" && n <= 2 {
				continue // other tests cover the delimiters: those of the corpus, and the fuzz tests
			}
			for r, repetition := range strings.Split(fields[n], m.repetition) {
				for c, value := range strings.Split(repetition, m.component) {
					if value != "" {
						all = append(all, m.fact(s, n, r, c+1, seen[fields[0]]))
					}
				}
			}
		}
	}
	return all
}

func (m *parted) fact(s, field, repetition, component, number int) messageFact {
	name := m.segments[s][0]
	path := fmt.Sprint(name, "-", field)
	if name == "DG1" {
		path = fmt.Sprint(name, "[", number, "]-", field)
	}
	return messageFact{s, field, repetition, component, fmt.Sprint(name, "-", field, ".", component), path, m.get(s, field, repetition, component)}
}

// another returns a different meaningful value for a component.
func (m *parted) another(f messageFact) string {
	pick := func(values ...string) string {
		for _, v := range values {
			if v != f.value && (len(f.value) > 1 || !strings.EqualFold(v, f.value)) {
				return v
			}
		}
		return ""
	}
	switch f.name {
	case "MSH-7.1":
		return pick("20260304081500-0700")
	case "EVN-2.1", "EVN-6.1", "DG1-5.1":
		return pick("20260302081500-0600")
	case "MSH-9.1":
		return "ORU"
	case "MSH-9.2":
		return pick("A08", "A01")
	case "MSH-11.1":
		return pick("T", "P")
	case "MSH-12.1":
		return pick("2.3", "2.5.1")
	case "MSH-15.1":
		return pick("NE", "AL")
	case "MSH-16.1":
		return pick("AL", "NE")
	case "PID-3.5", "PID-21.5", "NK1-33.5":
		return pick("SS", "MR")
	case "PID-7.1":
		return pick("20260301")
	case "PID-24.1":
		return pick("Y")
	case "PID-25.1":
		return pick("3", "4")
	case "NK1-3.1", "NK1-3.4":
		return pick("MTH", "FTH")
	case "PV1-2.1":
		return pick("E", "I")
	case "PV1-4.1":
		return pick("N", "L")
	case "PV2-36.1":
		return pick("Y", "N")
	case "PV2-3.1", "PV2-3.2", "PV2-3.4", "PV2-3.5":
		return pick("fever", "leaking")
	case "PV1-10.2", "PV1-10.5":
		return pick("Obstetrics", "Newborn nursery")
	case "DG1-2.1", "DG1-3.3", "DG1-3.6":
		return pick("SCT", "I10")
	case "DG1-21.1":
		return pick("D", "U")
	}
	return f.value + "Z9"
}

// readFields returns the components that docs/reference/hl7-fields.md lists as read, such as PV1-3.2. A field without
// a component, such as "MSH-3", means all its components. unread is the section of the page about fields that are not
// read.
func readFields(t *testing.T) (read map[string]bool, unread string) {
	t.Helper()
	page, err := os.ReadFile("../docs/reference/hl7-fields.md")
	if err != nil {
		t.Fatal(err)
	}
	_, part, found := strings.Cut(string(page), "\n## Fields that are read\n")
	part, unread, cut := strings.Cut(part, "\n### Fields that are not read\n")
	unread, _, _ = strings.Cut(unread, "\n## ")
	read = map[string]bool{}
	for row := range strings.SplitSeq(part, "\n") {
		if cells := strings.Split(row, "|"); len(cells) > 3 {
			for _, name := range regexp.MustCompile("`([A-Z0-9]{3}-[0-9]+(\\.[0-9]+)?)`").FindAllStringSubmatch(cells[2], -1) {
				read[name[1]] = true
			}
		}
	}
	for name := range read {
		if strings.Contains(unread, "`"+name+"`") {
			t.Errorf("%s is in both lists", name)
		}
	}
	if !found || !cut || len(read) < 50 {
		t.Fatalf("%d fields are read", len(read))
	}
	return read, unread
}

// isRead reports whether a component is in the list. A repetition after the first is read only in fields for
// patients' and relatives' identifiers and in some header fields.
func isRead(read map[string]bool, f messageFact) bool {
	field, _, _ := strings.Cut(f.name, ".")
	if f.repetition > 0 && !slices.Contains([]string{"PID-3", "PID-21", "NK1-33", "MSH-18", "MSH-3", "MSH-4", "MSH-5", "MSH-6", "MSH-10", "MSH-11", "MSH-12"}, field) {
		return false
	}
	return read[f.name] || read[field]
}

// isOverridden reports whether another component of the message takes precedence over the given one under the rules
// of docs/reference/hl7-fields.md.
func (m *parted) isOverridden(f messageFact) bool {
	trigger := m.first("MSH", 9, 2)
	exact := func(v string) bool { return len(v) >= 14 && (strings.ContainsAny(v, "+-") || v[:8] != "20260304") } // has an offset, or is not near MSH-7
	newborn := func() bool {
		return strings.HasPrefix(strings.ToUpper(m.first("PV1", 2, 1)), "N") || m.first("PV1", 4, 1) == "N" || m.first("PV2", 36, 1) == "Y" || m.first("PID", 7, 1) >= "202602"
	}
	repeated := func() bool {
		return f.field < len(m.segments[f.s]) && strings.Contains(m.segments[f.s][f.field], m.repetition)
	}
	own := func(field, component int) string { return m.get(f.s, field, 0, component) }
	switch f.name {
	case "MSH-3.1", "MSH-4.1", "MSH-5.1", "MSH-6.1", "MSH-12.1":
		return m.first("MSH", 15, 1) == "NE" // these fields only affect the acknowledgment, and none is sent
	case "MSH-7.1":
		return exact(m.first("EVN", 2, 1))
	case "MSH-18.1", "MSH-18.2": // JSON is UTF-8
		return true
	case "MSH-15.1", "MSH-16.1":
		return true // TestAck covers the modes; the code in JSON may be the same in both modes
	case "PID-3.1", "PID-3.5", "PID-21.1", "PID-21.5": // only one of several numbers is used
		return repeated() && (m.get(f.s, f.field, f.repetition, 5) != "MR" || f.component == 5 && f.repetition == 0) || !repeated() && f.component == 5
	case "PV1-3.4", "PV1-6.4": // a facility alone is no location
		return own(f.field, 1)+own(f.field, 2)+own(f.field, 3) == ""
	case "PV1-10.1": // the service's name takes precedence
		return own(10, 2) != "" || own(10, 5) != ""
	case "PV2-36.1", "PID-7.1", "PV1-4.1":
		return newborn()
	case "PID-24.1":
		return own(25, 1) >= "2"
	case "PID-18.1":
		return f.value == m.first("PV1", 19, 1)
	case "NK1-3.1", "NK1-33.1", "NK1-33.5": // the mother in PID-21 takes precedence, then the first NK1 with the mother
		return m.first("PID", 21, 1) != "" || own(3, 1) != "MTH" && own(33, 1) == "" || own(3, 1) != "MTH" && f.field == 33 || f.component == 5
	case "NK1-3.4": // the first code takes precedence
		return own(3, 1) == "MTH" || m.first("PID", 21, 1) != "" || own(33, 1) == ""
	case "PV1-10.2", "PV1-10.5":
		return true
	case "DG1-2.1":
		return own(3, 3) != ""
	case "DG1-4.1", "DG1-4.2", "DG1-4.3", "DG1-4.4", "DG1-4.5", "DG1-4.6":
		return own(3, 2) != ""
	case "DG1-3.2", "DG1-3.3", "DG1-5.1", "DG1-21.1":
		return own(3, 1) == "" || own(3, 1) == `""`
	case "DG1-3.5", "DG1-3.6":
		return own(3, 4) == ""
	}
	return trigger == ""
}

// sendMessage sends a message and decodes the answer in JSON. A warning that the event is ignored applies to the
// whole message.
func (p *unitProbe) sendMessage(t *testing.T, text string) effect {
	t.Helper()
	e := p.send(t, "hl7", writeTree(t, map[string]string{"message": text}))
	if regexp.MustCompile(`"Code":"(event|merge|swap)_ignored"`).MatchString(e.print) {
		e.whole = true
	}
	return e
}

// names reports whether an answer names the component, or its field or segment.
func (e effect) names(f messageFact) bool {
	return e.whole || slices.ContainsFunc(e.places, func(place string) bool {
		_, place, _ = strings.Cut("."+place, ".")
		segment, _, _ := strings.Cut(f.name, "-")
		return place == f.path || place == fmt.Sprintf("line[%d]", f.s+1) || place == segment || place == strings.NewReplacer("[1]", "", "[2]", "", "[3]", "").Replace(f.path)
	})
}

// messagesOf returns the messages of the corpus that consist of plain segments.
func messagesOf(t *testing.T) map[string]*parted {
	t.Helper()
	all := map[string]*parted{}
	for name, text := range filesOf(t, "hl7/testdata/*.hl7") {
		if m, ok := splitMessage(text); ok {
			all[name] = &m
		}
	}
	if len(all) < 80 {
		t.Fatalf("%d messages", len(all))
	}
	return all
}

func TestNoFactOfHL7IsSilent(t *testing.T) {
	read, unread := readFields(t)
	p := newProbe(t)
	silent, heard, n := map[string][]string{}, map[string][]string{}, 0
	check := func(name string, m *parted, whole effect, f messageFact) {
		n++
		changed := []string{m.set(f.s, f.field, f.repetition, f.component, m.another(f))}
		if f.value != "" {
			changed = append(changed, m.set(f.s, f.field, f.repetition, f.component, ""))
		}
		differs, named := false, whole.names(f)
		for _, text := range changed {
			e := p.sendMessage(t, text)
			differs, named = differs || e.print != whole.print, named || e.names(f)
		}
		switch is := isRead(read, f); {
		case is && !differs && !named && !m.isOverridden(f):
			silent[f.name] = append(silent[f.name], name+" "+f.path)
		case !is && differs && !whole.whole:
			heard[f.name] = append(heard[f.name], name+" "+f.path)
		}
	}
	for name, m := range messagesOf(t) {
		whole := p.sendMessage(t, m.text())
		for _, f := range m.facts() {
			check(name, m, whole, f)
		}
		for _, fields := range m.segments {
			if s := fields[0]; s[0] != 'Z' && !slices.ContainsFunc(slices.Collect(maps.Keys(read)), func(f string) bool { return f[:3] == s }) &&
				!regexp.MustCompile(`\b`+s+`\b`).MatchString(unread) {
				t.Errorf("%s: docs/reference/hl7-fields.md does not say whether %s is read", name, s)
			}
		}
	}
	// Set each component that the bare message lacks: one at a time if the component is read, and all others together.
	for _, event := range []string{"A01", "A02", "A03", "A04", "A06", "A07", "A08", "A11", "A12", "A13"} {
		m, _ := splitMessage(strings.ReplaceAll(bareAdmission, "A01", event))
		whole := p.sendMessage(t, m.text())
		for s, fields := range m.segments {
			full := m // the message with all components that are not read; they are added below
			for field := 3; field <= 52; field++ {
				for component := 1; component <= 6; component++ {
					switch f := m.fact(s, field, 0, component, 1); {
					case f.value != "" || fields[0] == "MSH":
					case isRead(read, f):
						check("a bare "+event, &m, whole, f)
					default:
						full, _ = splitMessage(full.set(s, field, 0, component, m.another(f)))
					}
				}
			}
			if p.sendMessage(t, full.text()).print != whole.print {
				t.Errorf("a bare %s: a field of %s is read and not in the list of docs/reference/hl7-fields.md", event, fields[0])
			}
		}
	}
	report(t, silent)
	for _, name := range slices.Sorted(maps.Keys(heard)) {
		t.Errorf("%s is read and not in the list of docs/reference/hl7-fields.md, as in %s", name, heard[name][0])
	}
	t.Log(n, "facts")
}

const bareAdmission = "MSH|^~\\&|EPIC|STMARY|SVC|STMARY|20260304093010-0600||ADT^A01|M1|P|2.5.1\r" +
	"EVN|A01|20260304090000-0600\rPID|1||MRN1^^^STMARY^MR\rPV1|1|I|L&D^LDR 4|||||||||||||||||V1\rPV2|1\r" +
	"DG1|1||O14.13\rNK1|1||MTH\rOBX|1\rMRG|1\rZZZ|1\r"

// TestMessagesAreReadAlikeOverMLLP checks that a message yields the same facts over MLLP as over HTTP, both as text
// and in JSON.
func TestMessagesAreReadAlikeOverMLLP(t *testing.T) {
	d := open(t)
	read := func(t *testing.T, send func()) []acuity.Event {
		t.Helper()
		d.stored = nil
		send()
		if len(d.stored) == 0 {
			return nil
		}
		return d.stored[0].Events
	}
	messages := ingest.NewMessages(d.config)
	for name, text := range filesOf(t, "hl7/testdata/*.hl7") {
		byFrame := read(t, func() {
			if _, err := messages.IngestBody(context.Background(), d.key, []byte(text)); err != nil {
				t.Fatal(name, err)
			}
		})
		byText := read(t, func() { d.post(t, "hl7", text, "Content-Type", "text/plain") })
		if !reflect.DeepEqual(byFrame, byText) {
			t.Errorf("%s: by MLLP\n%+v\nby HTTP\n%+v", name, byFrame, byText)
		}
		if !utf8.ValidString(text) {
			continue
		}
		byJSON := read(t, func() { d.post(t, "hl7", writeTree(t, map[string]string{"message": text})) })
		if m, plain := splitMessage(text); plain && len(m.segments[0]) < 19 && !reflect.DeepEqual(byFrame, byJSON) {
			t.Errorf("%s: by MLLP\n%+v\nin JSON\n%+v", name, byFrame, byJSON)
		}
	}
}

// TestRepeatedDiagnosesCount: each repetition of DG1-3 is a diagnosis, up to 20, although the standard does not allow
// repetitions.
func TestRepeatedDiagnosesCount(t *testing.T) {
	many := strings.Repeat("~O99.213^^I10", 20)
	for field, want := range map[string]struct{ codes, warned string }{
		"O99.213^^I10~O72.1^^I10":                          {"O99.213 O72.1", ""},
		"O99.213^^I10^46764007^^SCT~O72.1":                 {"O99.213 46764007 O72.1", "system_assumed@DG1[1]-3"},
		"~O72.1^^I10":                                      {"O72.1", ""},
		`""~O72.1^^I10`:                                    {"O72.1", ""},
		"O72.1^^I10~^Postpartum hemorrhage":                {"O72.1", "code_unreadable@DG1[1]-3"},
		"O72.1^^I10" + strings.TrimSuffix(many, "~") + "~": {"O72.1" + strings.Repeat(" O99.213", 19), "field_not_used@DG1[1]-3"},
	} {
		p := newProbe(t)
		p.send(t, "fhir", "[]")
		a := p.do(t, request("hl7", strings.NewReader(writeTree(t, map[string]string{"message": admitted + "DG1|1||" + field + "\r"}))))
		var got []string
		for _, d := range p.stored[len(p.stored)-1].Events[0].Diagnoses {
			got = append(got, d.Code)
		}
		if codes := strings.Join(got, " "); codes != want.codes || a.warnings() != want.warned {
			t.Errorf("%s: %s, warned %s, want %s, %s", field, codes, a.warnings(), want.codes, want.warned)
		}
	}
}
