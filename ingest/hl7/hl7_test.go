package hl7_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"svc/acuity"
	"svc/acuity/adt"
	"svc/ingest/hl7"
)

var (
	chicago  = must(time.LoadLocation("America/Chicago"))
	received = acuity.At(time.Date(2026, 3, 4, 15, 30, 0, 0, time.UTC))
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// reveal appends a pseudonym that contains the plain value, so that tests can read the value.
func reveal(dst []byte, kind string, value []byte) []byte {
	if kind == hl7.KindMessage {
		return fmt.Appendf(dst, "%s(%d)", kind, len(value))
	}
	return fmt.Appendf(dst, "%s(%s)", kind, value)
}

var options = hl7.Options{Pseudonym: reveal, Zone: chicago, ReceivedAt: received}

func segments(lines ...string) []byte { return []byte(strings.Join(lines, "\r") + "\r") }

const (
	msh = `MSH|^~\&|EPIC|STMARY|SVC|STMARY|20260304093010-0600||ADT^A01^ADT_A01|M1|P|2.5.1`
	evn = `EVN|A01|20260304092900-0600`
	pid = `PID|1||MRN1^^^STMARY^MR`
	pv1 = `PV1|1|I|L\T\D^LDR04^01^STMARY|||||||OBS|||||||||VN1`
)

func facts(t *testing.T, raw []byte) acuity.Event {
	t.Helper()
	var m hl7.Message
	if err := m.Scan(raw, hl7.Charset{}); err != nil {
		t.Fatal(err)
	}
	e, fault := m.Facts(options)
	if fault != nil {
		t.Fatalf("refused: %+v", fault)
	}
	return e
}

func codes(e acuity.Event) string {
	var all []string
	for _, w := range e.Warnings {
		all = append(all, w.Code+"@"+w.Path)
	}
	return strings.Join(all, " ")
}

func TestScanTakesWhatSendersWrite(t *testing.T) {
	plain := strings.Join([]string{msh, evn, pid, pv1}, "\r")
	for name, raw := range map[string]string{
		"CR":                  plain,
		"LF":                  strings.ReplaceAll(plain, "\r", "\n"),
		"CRLF":                strings.ReplaceAll(plain, "\r", "\r\n"),
		"blank lines":         strings.ReplaceAll(plain, "\r", "\r\r\r\n"),
		"MLLP":                "\x0b" + plain + "\r\x1c\r",
		"byte order mark":     "\xef\xbb\xbf" + plain,
		"frame and mark":      "\x0b\xef\xbb\xbf" + plain + "\x1c",
		"Z segments":          strings.Replace(plain, "\rPID", "\rZZZ|x^~|\rZ01\rPID", 1),
		"bare names":          strings.Replace(plain, "\rPID", "\rNTE\rPV2\rPID", 1),
		"four delimiters":     strings.ReplaceAll(plain, `^~\&`, `^~\&#`),
		"indented":            strings.ReplaceAll(plain, "\r", "\r \t"),
		"no-break spaces":     strings.ReplaceAll(plain, "\r", "\r\u00a0\u00a0"),
		"in Windows-1252":     strings.ReplaceAll(strings.Replace(plain, "|2.5.1", "|2.5.1||||||WINDOWS-1252", 1), "\r", "\r\xa0"),
		"lower case":          strings.NewReplacer("\rEVN", "\revn", "\rPID", "\rpid", "\rPV1", "\rPv1").Replace(plain),
		"blanks behind names": strings.NewReplacer("\rEVN", "\rEVN ", "\rPID", "\rPID\t", "\rPV1", "\r PV1\u00a0").Replace(plain),
		"other delimiters":    strings.NewReplacer("|", "!", "^", "*", "~", "+", `\`, "?", "&", "%").Replace(plain),
		"unescaped ampersand": strings.ReplaceAll(plain, `L\T\D`, "L&D"),
		"escape in hex":       strings.ReplaceAll(plain, `L\T\D`, `L\X26\D`),
		"control by escape":   strings.ReplaceAll(plain, `LDR04`, `LD\X0D0A07\R04`),
		"spaces around":       strings.ReplaceAll(plain, `^LDR04^`, `^ LDR04 ^`),
		"other repetitions":   strings.ReplaceAll(plain, "|MRN1^^^STMARY^MR", "|77^^^X^SS~MRN1^^^STMARY^MR~9"),
		"check digit, subs":   strings.ReplaceAll(plain, "|VN1", "|VN1&x^4^M11"),
		"space as escape":     strings.NewReplacer(`^~\&`, `^~ &`, `L\T\D`, "L&D").Replace(plain),
		"space as repetition": strings.Replace(plain, `^~\&`, `^ \&`, 1),
	} {
		t.Run(name, func(t *testing.T) {
			e := facts(t, []byte(raw))
			want := acuity.Location{PointOfCare: "L&D", Room: "LDR04", Bed: "01", Facility: "STMARY"}
			if name == "other delimiters" {
				want.PointOfCare = "L%D" // \T\ is the subcomponent separator of the sender
			}
			if e.Place != want || e.Visit != "visit(VN1)" || e.Patient != "patient(MRN1)" || e.Type != acuity.A01 || e.Class != 'I' || e.Service != "OBS" {
				t.Errorf("%+v", e)
			}
			if e.At != acuity.At(time.Date(2026, 3, 4, 15, 29, 0, 0, time.UTC)) || len(e.Warnings) > 0 {
				t.Errorf("at %v, warnings %s", e.At.Time(), codes(e))
			}
		})
	}
}

// TestSpaceIsNoEscape: if a sender has no escape character, text between spaces is not an escape sequence.
func TestSpaceIsNoEscape(t *testing.T) {
	raw := strings.NewReplacer(`^~\&`, `^~ &`, `L\T\D^LDR04^01`, "L D^LDR F 4^01").Replace(strings.Join([]string{msh, evn, pid, pv1}, "\r"))
	e := facts(t, []byte(raw))
	if want := (acuity.Location{PointOfCare: "L D", Room: "LDR F 4", Bed: "01", Facility: "STMARY"}); e.Place != want || len(e.Warnings) > 0 {
		t.Errorf("%+v, warnings %s", e.Place, codes(e))
	}
}

// TestScanRefusesUnusableHeaders: each message is refused with the fault in its header and, if readable, its control
// id.
func TestScanRefusesUnusableHeaders(t *testing.T) {
	for name, test := range map[string]struct{ raw, want string }{
		"empty":                  {"", ""},
		"no MSH":                 {"PID|1", ""},
		"MSH alone":              {"MSH", ""},
		"line end":               {"MSH\r^~\\&|A|B|C", ""},
		"space separates":        {`MSH ^~\& A`, ""},
		"short":                  {`MSH|^~`, "encoding_short"},
		"two encoders":           {`MSH|^~|A|B|C|D|E`, "encoding_short"},
		"six encoders":           {`MSH|^~\&#%|A`, "encoding_long"},
		"HTML":                   {`MSH|^~\&amp;|A|B|C|D|2026||ADT^A01|M7`, "encoding_escaped M7"},
		"HTML, numeric":          {`MSH|^~\&#38;|A|B|C|D|2026||ADT^A01|M7`, "encoding_escaped M7"},
		"HTML, hexadecimal":      {`MSH|^~\&#x26;|A`, "encoding_escaped"},
		"JSON, escaped twice":    {`MSH|^~\\&|A|B|C|D|2026||ADT^A01|M7`, "encoding_repeated M7"},
		"equal":                  {`MSH|^~^&|A|B`, "encoding_repeated"},
		"equals separator":       {`MSH^^~\&^A`, "encoding_short"},
		"letters":                {`MSHA^~\&A`, "encoding_invalid"},
		"space, component":       {`MSH| ~\&|A|B`, "encoding_invalid"},
		"two spaces":             {`MSH|^~  |A|B`, "encoding_repeated"},
		"not ASCII":              {"MSH|^\xff\\&|A|B", "encoding_invalid"},
		"control id not ASCII":   {"MSH|^~|A|B|C|D|2026||ADT^A01|M\xff", "encoding_short"},
		"control id in one line": {"MSH|^~|A|B|C|D|2026||ADT^A01\rM|M7", "encoding_short"},
	} {
		t.Run(name, func(t *testing.T) {
			var m hl7.Message
			err := m.Scan([]byte(test.raw), hl7.Charset{})
			got := ""
			if bad, ok := errors.AsType[*hl7.HeaderError](err); ok {
				got = strings.TrimSpace(bad.Reason + " " + bad.ControlID)
			}
			if !errors.Is(err, hl7.ErrNoHeader) || got != test.want {
				t.Errorf("%v, %q, want %q", err, got, test.want)
			}
		})
	}
}

// TestJoinedSegments: if any text joins the segments into one line, the message is refused with the reason
// segments_joined.
func TestJoinedSegments(t *testing.T) {
	for _, joint := range []string{`\r`, `\n`, `\r\n`, "&#13;", "<CR>", `\X0D\`, " ", "", "^M"} {
		raw := strings.Join([]string{msh, evn, pid, pv1}, joint)
		var m hl7.Message
		if err := m.Scan([]byte(raw), hl7.Charset{}); err != nil {
			t.Fatal(err)
		}
		if _, fault := m.Facts(options); fault == nil || fault.Name() != "segments_joined" || fault.Place() != "MSH" || m.ControlID() != "M1" {
			t.Errorf("%q: %+v, %q", joint, fault, m.ControlID())
		}
	}
}

// TestOddLines: a line that is not a segment is reported with its number, and a text of several lines is reported
// only once. MSH always ends with its line, so a line of text after MSH does not change the acknowledgment.
func TestOddLines(t *testing.T) {
	for name, test := range map[string]struct {
		lines []string
		want  string
	}{
		"text of a used segment":      {[]string{msh, evn, pid, pv1, "PV2|||^pain", "and more", "and more", "DG1|1||O13"}, "line_continued@line[6] system_assumed@DG1[1]-3"},
		"text of an unused segment":   {[]string{msh, evn, pid, pv1, "OBX|1|TX|||one", "two", "", "three"}, "line_ignored@line[6]"},
		"another separator":           {[]string{msh, evn, pid, pv1, "ZPI|1", "DG1^1^^O72.1"}, "line_ignored@line[6]"},
		"a name of no segment":        {[]string{msh, evn, pid, pv1, "NTE|1", "see|this"}, "line_ignored@line[6]"},
		"behind MSH":                  {[]string{msh, "||||AL|NE", evn, pid, pv1}, "line_ignored@line[2]"},
		"an unknown name in capitals": {[]string{msh, evn, "QQQ|1", pid, pv1}, ""},
		"two texts":                   {[]string{msh, evn, pid, pv1, "PV2|||^a", "b", "NTE|1", "c"}, "line_continued@line[6] line_ignored@line[8]"},
		"a segment twice":             {[]string{msh, evn, pid, pv1, "PV1|1|O|ELSEWHERE^1|||||||X|||||||||VN2"}, "segment_repeated@line[5]"},
		"blank lines":                 {[]string{msh, evn, " \t", pid, "\u00a0", pv1, "  "}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var m hl7.Message
			if err := m.Scan([]byte(strings.Join(test.lines, "\r")), hl7.Charset{}); err != nil {
				t.Fatal(err)
			}
			e, fault := m.Facts(options)
			if fault != nil {
				t.Fatalf("%+v", fault)
			}
			if got := codes(e); got != test.want || e.Visit != "visit(VN1)" || e.Place.Room != "LDR04" {
				t.Errorf("%q, want %q, %+v", got, test.want, e)
			}
			if code, send := m.Code(hl7.Acknowledgment{}); code != hl7.AA || !send {
				t.Errorf("answered %s %v", code, send)
			}
		})
	}
}

func TestFaults(t *testing.T) {
	noControl := strings.Replace(msh, "|M1|", "||", 1)
	for name, test := range map[string]struct {
		raw  []byte
		want string
	}{
		"no MSH-9":          {segments(strings.Replace(msh, "ADT^A01^ADT_A01", "", 1), evn, pid, pv1), "AR 200 MSH^1^9"},
		"not ADT":           {segments(strings.Replace(msh, "ADT^A01^ADT_A01", "ORU^R01", 1), evn, pid, pv1), "AR 200 MSH^1^9"},
		"no event":          {segments(strings.Replace(msh, "ADT^A01^ADT_A01", "ADT", 1), evn, pid, pv1), "AR 201 MSH^1^9"},
		"no control id":     {segments(noControl, evn, pid, pv1), "AE 101 MSH^1^10"},
		"no identity":       {segments(msh, evn, "PID|1", "PV1|1|I|LD^1"), "AE 101 PV1^1^19"},
		"null identity":     {segments(msh, evn, `PID|1||""`, `PV1|1|I|LD^1|||||||||||||||||""`), "AE 101 PV1^1^19"},
		"too many segments": {segments(msh, strings.Repeat("NTE|\r", 1001), pid, pv1), "AE 102 NTE^1001^0"},
		"field too long":    {segments(msh, pid, "OBX|"+strings.Repeat("x", 64<<10+1), pv1), "AE 102 OBX^1^0"},
		"used field long":   {segments(msh, pid, pv1, "PV2|||"+strings.Repeat("x", 64<<10+1)), "AE 102 PV2^1^0"},
		"continued long":    {segments(msh, pid, pv1, "PV2|||", "Doe"+strings.Repeat("x", 64<<10)), "AE 102 PV2^1^0"},
	} {
		t.Run(name, func(t *testing.T) {
			var m hl7.Message
			if err := m.Scan(test.raw, hl7.Charset{}); err != nil {
				t.Fatal(err)
			}
			e, f := m.Facts(options)
			if f == nil {
				t.Fatalf("accepted: %+v", e)
			}
			if got := fmt.Sprintf("%s %d %s^%d^%d", f.Code, f.Condition, f.Segment, f.Sequence, f.Field); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
	t.Run("within the bounds", func(t *testing.T) {
		facts(t, segments(msh, evn, pid, pv1, "OBX|"+strings.Repeat("x", 60<<10), strings.TrimSuffix(strings.Repeat("NTE|\r", 995), "\r")))
	})
}

// newYear is the first instant after the most recent leap second.
var newYear = acuity.At(time.Date(2017, 1, 1, 0, 0, 0, 0, time.UTC))

func TestFacts(t *testing.T) {
	at := func(day, hour, minute int) acuity.Instant {
		return acuity.At(time.Date(2026, 3, day, hour, minute, 0, 0, time.UTC))
	}
	header := func(event string) string { return strings.Replace(msh, "A01^ADT_A01", event, 1) }
	for name, test := range map[string]struct {
		raw  []byte
		ok   func(acuity.Event) bool
		warn string
	}{
		"event is MSH-9, never EVN-1": {segments(header("A02"), evn, pid, pv1), func(e acuity.Event) bool { return e.Type == acuity.A02 }, ""},
		"other events are taken":      {segments(header("A60"), evn), func(e acuity.Event) bool { return e.Type == acuity.EventOther && e.Visit == "" && e.ID != "" }, "event_ignored@MSH-9"},
		"A06":                         {segments(header("A06"), evn, pid, pv1), func(e acuity.Event) bool { return e.Type == acuity.A06 }, "adt_extension@MSH-9"},
		"EVN-6 wins":                  {segments(msh, evn+"||||20260304080000-0600", pid, pv1), func(e acuity.Event) bool { return e.At == at(4, 14, 0) && e.RecordedAt == at(4, 15, 29) }, ""},
		"EVN-6 of a cancel":           {segments(header("A11"), evn+"||||20260304080000-0600", pid, pv1), func(e acuity.Event) bool { return e.At == at(4, 15, 29) && e.Cancels == at(4, 14, 0) }, ""},
		"cancel without EVN-6":        {segments(header("A12"), evn, pid, pv1), func(e acuity.Event) bool { return e.At == at(4, 15, 29) && e.Cancels == 0 }, ""},
		"no EVN":                      {segments(msh, pid, pv1), func(e acuity.Event) bool { return e.At == at(4, 15, 30)+10_000 }, "event_time_missing@EVN-2"},
		"no time at all":              {segments(strings.Replace(msh, "20260304093010-0600", "", 1), pid, pv1), func(e acuity.Event) bool { return e.At == received }, "event_time_missing@MSH-7"},
		"bad time":                    {segments(msh, "EVN||20261304092900", pid, pv1), func(e acuity.Event) bool { return e.At == at(4, 15, 30)+10_000 }, "time_unreadable@EVN-2 event_time_missing@EVN-2"},
		"leap second":                 {segments(msh, "EVN||20161231235960+0000", pid, pv1), func(e acuity.Event) bool { return e.At == newYear }, ""},
		"leap second, with an offset": {segments(msh, "EVN||20161231175960.5-0600", pid, pv1), func(e acuity.Event) bool { return e.At == newYear+500 }, ""},
		"leap second, in the zone":    {segments(msh, "EVN||20161231175960", pid, pv1), func(e acuity.Event) bool { return e.At == newYear }, ""},
		"no leap second":              {segments(msh, "EVN||20161231165960", pid, pv1), func(e acuity.Event) bool { return e.At == at(4, 15, 30)+10_000 }, "time_unreadable@EVN-2 event_time_missing@EVN-2"},
		"day only": {segments(msh, "EVN||20260304", pid, pv1), func(e acuity.Event) bool {
			return e.Precision == acuity.Day && e.At == at(4, 15, 30) && e.AtFrom == at(4, 6, 0)
		}, ""},
		"offset of MSH-7 near it":   {segments(strings.Replace(msh, "-0600", "-0500", 1), "EVN||20260304092900", pid, pv1), func(e acuity.Event) bool { return e.At == at(4, 14, 29) }, ""},
		"own zone far from MSH-7":   {segments(strings.Replace(msh, "-0600", "-0500", 1), "EVN||20260204092900", pid, pv1), func(e acuity.Event) bool { return e.At == acuity.At(time.Date(2026, 2, 4, 15, 29, 0, 0, time.UTC)) }, ""},
		"a little ahead":            {segments(msh, "EVN||20260304093400-0600", pid, pv1), func(e acuity.Event) bool { return e.At == at(4, 15, 34) }, ""},
		"future":                    {segments(msh, "EVN||20260304093600-0600", pid, pv1), func(e acuity.Event) bool { return e.At == at(4, 15, 36) }, "time_in_future@EVN"},
		"PID-18":                    {segments(msh, evn, pid+"|||||||||||||||ACC1^^^X", "PV1|1|I|LD^1"), func(e acuity.Event) bool { return e.Visit == "visit(ACC1)" }, ""},
		"PID-3 alone":               {segments(msh, evn, pid, "PV1|1|I|LD^1"), func(e acuity.Event) bool { return e.Visit == "visit-of-patient(MRN1)" && e.Patient == "patient(MRN1)" }, "visit_by_patient@PV1-19"},
		"visit without MRN":         {segments(msh, evn, pv1), func(e acuity.Event) bool { return e.Visit == "visit(VN1)" && e.Patient == "" }, ""},
		"mother in PID-21":          {segments(msh, evn, pid+"||||||||||||||||||MRN2^^^X^MR", pv1), func(e acuity.Event) bool { return e.MotherPatient == "patient(MRN2)" }, ""},
		"mother in NK1":             {segments(msh, evn, pid, "NK1|1||FTH"+strings.Repeat("|", 30)+"MRN3", "NK1|2||MTH^Mother"+strings.Repeat("|", 30)+"MRN4", pv1), func(e acuity.Event) bool { return e.MotherPatient == "patient(MRN4)" }, ""},
		"null place":                {segments(msh, evn, pid, `PV1|1|I|""||||||||||||||||VN1`), func(e acuity.Event) bool { return e.PlaceNull && e.Place.IsZero() }, ""},
		"null place, components":    {segments(msh, evn, pid, `PV1|1|I|""^""^""||||||||||||||||VN1`), func(e acuity.Event) bool { return e.PlaceNull && e.Place.IsZero() }, ""},
		"null service":              {segments(msh, evn, pid, `PV1|1|I|LD^4|||||||""|||||||||VN1`), func(e acuity.Event) bool { return e.Service == `""` }, ""},
		"null mother":               {segments(msh, evn, pid+strings.Repeat("|", 18)+`""`, pv1), func(e acuity.Event) bool { return e.MotherPatient == `""` }, ""},
		"null mother, but a NK1":    {segments(msh, evn, pid+strings.Repeat("|", 18)+`""`, "NK1|1||MTH"+strings.Repeat("|", 30)+"MRN4", pv1), func(e acuity.Event) bool { return e.MotherPatient == "patient(MRN4)" }, ""},
		"empty place":               {segments(msh, evn, pid, `PV1|1|I|||||||||||||||||VN1`), func(e acuity.Event) bool { return !e.PlaceNull && e.Place.IsZero() }, ""},
		"HD point of care":          {segments(msh, evn, pid, `PV1|1|I|LD&1.2.840.1&ISO^4||||||||||||||||VN1`), func(e acuity.Event) bool { return e.Place.PointOfCare == "LD" && e.Place.Room == "4" }, ""},
		"prior place":               {segments(msh, evn, pid, `PV1|1|I|LD^4|||TRI^2^1|||||||||||||VN1`), func(e acuity.Event) bool { return e.Prior == acuity.Location{PointOfCare: "TRI", Room: "2", Bed: "1"} }, ""},
		"long place":                {segments(msh, evn, pid, `PV1|1|I|LD^`+strings.Repeat("x", 99)+`||||||||||||||||VN1`), func(e acuity.Event) bool { return len(e.Place.Room) == 80 }, "location_cut@PV1-3"},
		"long place cut at a space": {segments(msh, evn, pid, `PV1|1|I|LD^`+strings.Repeat("x", 77)+"\u2003x||||||||||||||||VN1"), func(e acuity.Event) bool { return e.Place.Room == strings.Repeat("x", 77) }, "location_cut@PV1-3"},
		"strange class":             {segments(msh, evn, pid, `PV1|1|WARD|LD^4||||||||||||||||VN1`), func(e acuity.Event) bool { return e.Class == 0 }, "code_unreadable@PV1-2"},
		"admission type":            {segments(msh, evn, pid, `PV1|1|i|LD^4|l|||||||||||||||VN1`), func(e acuity.Event) bool { return e.Class == 'I' && e.AdmissionType == 'L' }, ""},
		"newborn by class":          {segments(msh, evn, pid, `PV1|1|N|LD^4||||||||||||||||VN1`), func(e acuity.Event) bool { return e.Newborn }, ""},
		"newborn by type":           {segments(msh, evn, pid, `PV1|1|I|LD^4|N|||||||||||||||VN1`), func(e acuity.Event) bool { return e.Newborn }, ""},
		"newborn by PV2-36":         {segments(msh, evn, pid, pv1, "PV2"+strings.Repeat("|", 36)+"Y"), func(e acuity.Event) bool { return e.Newborn }, ""},
		"newborn by age":            {segments(msh, evn, pid+"||||20260205", pv1), func(e acuity.Event) bool { return e.Newborn }, ""},
		"28 days old":               {segments(msh, evn, pid+"||||20260204", pv1), func(e acuity.Event) bool { return !e.Newborn }, ""},
		"older than 8 years":        {segments(msh, evn, pid+"||||19940211", pv1), func(e acuity.Event) bool { return e.AdmissionType == '+' && !e.Newborn }, ""},
		"adult, by the year":        {segments(msh, evn, pid+"||||1994", `PV1|1|I|LD^4|R|||||||||||||||VN1`), func(e acuity.Event) bool { return e.AdmissionType == '+' }, ""},
		"adult, but a newborn":      {segments(msh, evn, pid+"||||19940211", `PV1|1|I|LD^4|N|||||||||||||||VN1`), func(e acuity.Event) bool { return e.AdmissionType == 'N' && e.Newborn }, ""},
		"adult, in labor":           {segments(msh, evn, pid+"||||19940211", `PV1|1|I|LD^4|L|||||||||||||||VN1`), func(e acuity.Event) bool { return e.AdmissionType == 'L' }, ""},
		"a child":                   {segments(msh, evn, pid+"||||20240211", `PV1|1|I|LD^4|R|||||||||||||||VN1`), func(e acuity.Event) bool { return e.AdmissionType == 'R' && !e.Newborn }, ""},
		"born this year":            {segments(msh, evn, pid+"||||2026", pv1), func(e acuity.Event) bool { return !e.Newborn }, ""},
		"second twin":               {segments(msh, evn, pid+strings.Repeat("|", 21)+"Y|2", pv1), func(e acuity.Event) bool { return e.Babies == 2 }, ""},
		"first twin":                {segments(msh, evn, pid+strings.Repeat("|", 21)+"Y|1", pv1), func(e acuity.Event) bool { return e.Babies == 2 }, ""},
		"multiple birth":            {segments(msh, evn, pid+strings.Repeat("|", 21)+"Y", pv1), func(e acuity.Event) bool { return e.Babies == 2 }, ""},
		"third of several":          {segments(msh, evn, pid+strings.Repeat("|", 21)+"Y|3", pv1), func(e acuity.Event) bool { return e.Babies == 3 }, ""},
		"no multiple birth":         {segments(msh, evn, pid+strings.Repeat("|", 21)+"N", pv1), func(e acuity.Event) bool { return e.Babies == 0 }, ""},
		"HD room and bed": {segments(msh, evn, pid, `PV1|1|I|LD&1.2.840.1&ISO^LDR04&1.2.840.2&ISO^1&1.2.840.3&ISO||||||||||||||||VN1`), func(e acuity.Event) bool {
			return e.Place == acuity.Location{PointOfCare: "LD", Room: "LDR04", Bed: "1"}
		}, ""},
		"room with an ampersand": {segments(msh, evn, pid, `PV1|1|I|LD^A&B||||||||||||||||VN1`), func(e acuity.Event) bool { return e.Place.Room == "A&B" }, ""},
		"precision of a day": {segments(msh, "EVN||20260304000000-0600^D", pid, pv1), func(e acuity.Event) bool {
			return e.Precision == acuity.Day && e.At == at(4, 15, 30) && e.AtFrom == at(4, 6, 0)
		}, ""},
		"precision of an hour":      {segments(msh, "EVN||202603040900^H", pid, pv1), func(e acuity.Event) bool { return e.Precision == acuity.Hour && e.AtFrom == at(4, 15, 0) }, ""},
		"precision of a second":     {segments(msh, "EVN||20260304092900.1-0600^S", pid, pv1), func(e acuity.Event) bool { return e.At == at(4, 15, 29)+100 }, ""},
		"precision as text":         {segments(msh, "EVN||20260304092900-0600^X", pid, pv1), func(e acuity.Event) bool { return e.At == at(4, 15, 29) }, ""},
		"class with a blank":        {segments(msh, evn, pid, `PV1|1|I |LD^4||||||||||||||||VN1`), func(e acuity.Event) bool { return e.Class == 'I' }, ""},
		"PV2-36 in lower case":      {segments(msh, evn, pid, pv1, "PV2"+strings.Repeat("|", 36)+"y "), func(e acuity.Event) bool { return e.Newborn }, ""},
		"PV2-36 that is neither":    {segments(msh, evn, pid, pv1, "PV2"+strings.Repeat("|", 36)+"1"), func(e acuity.Event) bool { return !e.Newborn }, "code_unreadable@PV2-36"},
		"PV2-36 that is null":       {segments(msh, evn, pid, pv1, "PV2"+strings.Repeat("|", 36)+`""`), func(e acuity.Event) bool { return !e.Newborn }, ""},
		"unreadable birth date":     {segments(msh, evn, pid+"||||2026-03-04", pv1), func(e acuity.Event) bool { return !e.Newborn }, "time_unreadable@PID-7"},
		"birth date that is null":   {segments(msh, evn, pid+`||||""`, pv1), func(e acuity.Event) bool { return !e.Newborn }, ""},
		"birth order with a zero":   {segments(msh, evn, pid+strings.Repeat("|", 21)+"y|03", pv1), func(e acuity.Event) bool { return e.Babies == 3 }, ""},
		"birth order zero":          {segments(msh, evn, pid+strings.Repeat("|", 22)+"0", pv1), func(e acuity.Event) bool { return e.Babies == 0 }, ""},
		"unreadable birth order":    {segments(msh, evn, pid+strings.Repeat("|", 21)+"J|B", pv1), func(e acuity.Event) bool { return e.Babies == 0 }, "code_unreadable@PID-25 code_unreadable@PID-24"},
		"MR in lower case":          {segments(msh, evn, "PID|1||X1^^^STMARY^PI~MRN1^^^STMARY^mr ", pv1), func(e acuity.Event) bool { return e.Patient == "patient(MRN1)" }, ""},
		"mother in lower case":      {segments(msh, evn, pid, "NK1|1||mth^Mother"+strings.Repeat("|", 30)+"MRN4", pv1), func(e acuity.Event) bool { return e.MotherPatient == "patient(MRN4)" }, ""},
		"mother by the second code": {segments(msh, evn, pid, "NK1|1||MO^Mother^L^MTH^Mother^HL70063"+strings.Repeat("|", 30)+"MRN4", pv1), func(e acuity.Event) bool { return e.MotherPatient == "patient(MRN4)" }, ""},
		"reason without hints":      {segments(msh, evn, pid, pv1, "PV2|||^Contractions"), func(e acuity.Event) bool { return e.Reasons == adt.ParseReasons("other") }, ""},
		"original text of a reason": {segments(msh, evn, pid, pv1, "PV2|||^^^^^^^^Induction of labor"), func(e acuity.Event) bool { return e.Reasons == adt.ParseReasons("induction") }, ""},
		"null reason":               {segments(msh, evn, pid, pv1, `PV2|||""`), func(e acuity.Event) bool { return e.Reasons == adt.ParseReasons("other") }, ""},
		"null reason, components":   {segments(msh, evn, pid, pv1, `PV2|||""^""`), func(e acuity.Event) bool { return e.Reasons == adt.ParseReasons("other") }, ""},
		"empty reason":              {segments(msh, evn, pid, pv1, `PV2|||^`), func(e acuity.Event) bool { return e.Reasons == 0 }, ""},
		"empty repetition before":   {segments(msh, evn, "PID|1||~MRN1^^^STMARY^PI", pv1), func(e acuity.Event) bool { return e.Patient == "patient(MRN1)" }, ""},
		"MR without a number":       {segments(msh, evn, "PID|1||^^^STMARY^MR~MRN1^^^STMARY^PI", "PV1|1|I|LD^1"), func(e acuity.Event) bool { return e.Patient == "patient(MRN1)" }, "visit_by_patient@PV1-19"},
		"null MR":                   {segments(msh, evn, `PID|1||""^^^STMARY^MR~MRN1^^^STMARY^PI`, pv1), func(e acuity.Event) bool { return e.Patient == "patient(MRN1)" }, ""},
		"training":                  {segments(strings.Replace(msh, "|P|", "|T|", 1), evn, pid, pv1), func(e acuity.Event) bool { return e.Type == acuity.A01 }, "not_production@MSH-11"},
		"unknown escape":            {segments(msh, evn, pid, `PV1|1|I|LD^A\Q\B||||||||||||||||VN1`), func(e acuity.Event) bool { return e.Place.Room == `A\Q\B` }, "escape_unknown@PV1-3"},
		"open escape":               {segments(msh, evn, pid, `PV1|1|I|LD^A\B||||||||||||||||VN1`), func(e acuity.Event) bool { return e.Place.Room == `A\B` }, "escape_unknown@PV1-3"},
		"lone escape, then a real":  {segments(msh, evn, pid, `PV1|1|I|LD^A\B\T\C||||||||||||||||VN1`), func(e acuity.Event) bool { return e.Place.Room == `A\B&C` }, "escape_unknown@PV1-3"},
		"highlight stays":           {segments(msh, evn, pid, `PV1|1|I|LD^\H\A\N\||||||||||||||||VN1`), func(e acuity.Event) bool { return e.Place.Room == `\H\A\N\` }, ""},
		"all escapes":               {segments(msh, evn, pid, `PV1|1|I|LD^\F\\S\\R\\E\\T\\P\||||||||||||||||VN1`), func(e acuity.Event) bool { return e.Place.Room == `|^~\&#` }, ""},
		"UTF-8":                     {segments(msh, evn, pid, "PV1|1|I|Säle^4||||||||||||||||VN1"), func(e acuity.Event) bool { return e.Place.PointOfCare == "Säle" }, ""},
		"declared Latin-1":          {segments(msh+"||||||8859/1", evn, pid, "PV1|1|I|S\xe4le^4||||||||||||||||VN1"), func(e acuity.Event) bool { return e.Place.PointOfCare == "Säle" }, ""},
		"undeclared Windows-1252":   {segments(msh, evn, pid, "PV1|1|I|S\xe4le^4\x85||||||||||||||||VN1"), func(e acuity.Event) bool { return e.Place.PointOfCare == "Säle" && e.Place.Room == "4…" }, "charset_assumed@MSH-18"},
		"not the declared UTF-8":    {segments(msh+"||||||UNICODE UTF-8", evn, pid, "PV1|1|I|S\xe4le^4||||||||||||||||VN1"), func(e acuity.Event) bool { return e.Place.PointOfCare == "Säle" }, "charset_invalid@MSH-18"},
		"unknown charset":           {segments(msh+"||||||KOI-7", evn, pid, pv1), func(e acuity.Event) bool { return e.Place.Room == "LDR04" }, "charset_unknown@MSH-18"},
	} {
		t.Run(name, func(t *testing.T) {
			e := facts(t, test.raw)
			if !test.ok(e) {
				t.Errorf("%+v", e)
			}
			if got := codes(e); got != test.warn {
				t.Errorf("warnings %q, want %q", got, test.warn)
			}
		})
	}
}

func TestDiagnoses(t *testing.T) {
	for name, test := range map[string]struct {
		event, dg1, want, warn string
		mode                   acuity.DiagnosisMode
	}{
		"none":                  {"A08", "", "", "", acuity.DiagnosisNone},
		"snapshot":              {"A08", "DG1|1||O14.13^Severe pre-eclampsia^I10||20260304|W\rDG1|2|I10|O30.0", "ICD-10-CM O14.13 Severe pre-eclampsia true, ICD-10-CM O30.0  false", "", acuity.DiagnosisSnapshot},
		"system of DG1-3":       {"A08", "DG1|1|I9|398254007^^SCT", "SNOMED-CT 398254007  false", "", acuity.DiagnosisSnapshot},
		"alternate triplet":     {"A08", "DG1|1||LOC1^x^L^O14.1^y^I10", "local LOC1 x false, ICD-10-CM O14.1 y false", "", acuity.DiagnosisSnapshot},
		"by shape":              {"A08", "DG1|1||O14.13", "ICD-10-CM O14.13  false", "system_assumed@DG1[1]-3", acuity.DiagnosisSnapshot},
		"I is no system":        {"A08", "DG1|1|I|O14.13", "ICD-10-CM O14.13  false", "system_assumed@DG1[1]-3", acuity.DiagnosisSnapshot},
		"DG1-4":                 {"A08", "DG1|1|I10|O14.13|Pre-eclampsia", "ICD-10-CM O14.13 Pre-eclampsia false", "", acuity.DiagnosisSnapshot},
		"without code":          {"A08", "DG1|1|||Something", "", "code_unreadable@DG1[1]-3", acuity.DiagnosisNone},
		"empty":                 {"A08", "DG1|1||^^I10", "", "", acuity.DiagnosisNone},
		"text alone":            {"A08", "DG1|1||^Something^I10", "", "code_unreadable@DG1[1]-3", acuity.DiagnosisNone},
		"original text alone":   {"A08", "DG1|1||^^^^^^^^Something", "", "code_unreadable@DG1[1]-3", acuity.DiagnosisNone},
		"clear":                 {"A08", `DG1|1||""`, "", "", acuity.DiagnosisClear},
		"clear, components":     {"A08", `DG1|1||""^""^""`, "", "", acuity.DiagnosisClear},
		"clear, by the code":    {"A08", `DG1|1||""^^I10|Pain`, "", "", acuity.DiagnosisClear},
		"clear, repetitions":    {"A08", `DG1|1||""~""`, "", "", acuity.DiagnosisClear},
		"null code, a text":     {"A08", `DG1|1||""^Something`, "", "code_unreadable@DG1[1]-3", acuity.DiagnosisNone},
		"clear beside code":     {"A08", "DG1|1||\"\"\rDG1|2|I10|O30", "ICD-10-CM O30  false", "", acuity.DiagnosisSnapshot},
		"delta":                 {"A08", "DG1|1|I10|O14" + strings.Repeat("|", 18) + "D\rDG1|2|I10|O30", "-ICD-10-CM O14  false, ICD-10-CM O30  false", "", acuity.DiagnosisDelta},
		"delta in lower case":   {"A08", "DG1|1|I10|O14" + strings.Repeat("|", 18) + "d ", "-ICD-10-CM O14  false", "", acuity.DiagnosisDelta},
		"unknown action":        {"A08", "DG1|1|I10|O14" + strings.Repeat("|", 18) + "X", "ICD-10-CM O14  false", "action_unknown@DG1[1]-21", acuity.DiagnosisDelta},
		"on a transfer":         {"A02", "DG1|1|I10|O14", "", "field_not_used@DG1", acuity.DiagnosisNone},
		"on a cancel":           {"A11", "DG1|1|I10|O14", "", "field_not_used@DG1", acuity.DiagnosisNone},
		"masked":                {"A08", "DG1|1|I10|O14^see 555-123-4567 \\.br\\ now", "ICD-10-CM O14 see # now false", "", acuity.DiagnosisSnapshot},
		"long code":             {"A08", "DG1|1|I10|" + strings.Repeat("O", 65), "", "code_unreadable@DG1[1]-3", acuity.DiagnosisNone},
		"onset ahead":           {"A08", "DG1|1|I10|O14||20260305", "ICD-10-CM O14  true", "time_in_future@DG1[1]-5", acuity.DiagnosisSnapshot},
		"onset of a fast clock": {"A08", "DG1|1|I10|O14||20260304093400-0600", "ICD-10-CM O14  true", "", acuity.DiagnosisSnapshot},
		"bad onset":             {"A08", "DG1|1|I10|O14||soon", "ICD-10-CM O14  false", "time_unreadable@DG1[1]-5", acuity.DiagnosisSnapshot},
	} {
		t.Run(name, func(t *testing.T) {
			e := facts(t, segments(strings.Replace(msh, "A01^ADT_A01", test.event, 1), evn, pid, pv1, test.dg1))
			var all []string
			for _, d := range e.Diagnoses {
				sign := ""
				if d.Delete {
					sign = "-"
				}
				all = append(all, fmt.Sprintf("%s%s %s %s %v", sign, d.System, d.Code, d.Display, d.OnsetAt != 0))
			}
			if got := strings.Join(all, ", "); got != test.want || e.DiagnosisMode != test.mode {
				t.Errorf("got %q mode %d, want %q mode %d", got, e.DiagnosisMode, test.want, test.mode)
			}
			if got := codes(e); got != test.warn {
				t.Errorf("warnings %q, want %q", got, test.warn)
			}
		})
	}
}

// TestIdentity: the identity of an event depends on all bytes of its message, including the sender and the control
// id, but not on the framing.
func TestIdentity(t *testing.T) {
	seen := map[string]string{}
	o := options
	o.Pseudonym = func(dst []byte, kind string, value []byte) []byte { return append(append(dst, kind...), value...) }
	id := func(raw []byte) string {
		var m hl7.Message
		if err := m.Scan(raw, hl7.Charset{}); err != nil {
			t.Fatal(err)
		}
		e, fault := m.Facts(o)
		if fault != nil {
			t.Fatal(fault)
		}
		return e.ID
	}
	base := segments(msh, evn, pid, pv1)
	for name, raw := range map[string][]byte{
		"base":     base,
		"content":  bytes.Replace(base, []byte("LDR04"), []byte("LDR05"), 1),
		"control":  bytes.Replace(base, []byte("|M1|"), []byte("|M2|"), 1),
		"sender":   bytes.Replace(base, []byte("EPIC"), []byte("EPIQ"), 1),
		"facility": bytes.Replace(base, []byte("|EPIC|STMARY"), []byte("|EPIC|STMARZ"), 1),
	} {
		got := id(raw)
		if other, found := seen[got]; found {
			t.Errorf("%s is %s", name, other)
		}
		seen[got] = name
	}
	if id(append([]byte("\x0b"), append(bytes.Clone(base), "\x1c\r"...)...)) != id(base) {
		t.Error("framing changes the identity")
	}
}

func TestWall(t *testing.T) {
	for name, test := range map[string]struct {
		wall hl7.Wall
		want string
	}{
		"winter":            {hl7.Wall{Year: 2026, Month: 1, Day: 15, Hour: 12}, "2026-01-15T18:00:00Z"},
		"summer":            {hl7.Wall{Year: 2026, Month: 7, Day: 15, Hour: 12}, "2026-07-15T17:00:00Z"},
		"before the gap":    {hl7.Wall{Year: 2026, Month: 3, Day: 8, Hour: 1, Minute: 59}, "2026-03-08T07:59:00Z"},
		"in the gap":        {hl7.Wall{Year: 2026, Month: 3, Day: 8, Hour: 2, Minute: 30}, "2026-03-08T08:30:00Z"},
		"after the gap":     {hl7.Wall{Year: 2026, Month: 3, Day: 8, Hour: 3}, "2026-03-08T08:00:00Z"},
		"doubled, first":    {hl7.Wall{Year: 2026, Month: 11, Day: 1, Hour: 1, Minute: 30}, "2026-11-01T06:30:00Z"},
		"after the doubled": {hl7.Wall{Year: 2026, Month: 11, Day: 1, Hour: 2}, "2026-11-01T08:00:00Z"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := test.wall.In(chicago).Time().Format(time.RFC3339); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}
