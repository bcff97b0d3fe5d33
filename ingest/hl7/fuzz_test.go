package hl7_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"svc/acuity"
	"svc/ingest/hl7"
)

// FuzzDecode: for any bytes, decoding does not panic or yield a fact that exceeds its limit. The facts can be encoded
// as a message and decoded again. The acknowledgment is a valid message.
func FuzzDecode(f *testing.F) {
	for _, file := range must(filepath.Glob("testdata/*.hl7")) {
		f.Add(must(os.ReadFile(file)), "")
	}
	f.Add([]byte("BHS|^~\\&\rMSH|^~\\&|a\rMSH|^~\\&#|||||2026||ADT^A01|1\rDG1||\"\"\rBTS|9\r"), "utf-8")
	f.Add([]byte("MSH!*+?%!\x0b\xef\xbb\xbf\x1c\nPV1!!!\n!!!\nx?X0!"), "utf-8")
	f.Add([]byte("MSH|^~\\|||||20260304093010.12345-0600||ADT^A11|1\rEVN||20260229|||20260304\rPV1|||\\X41\\\\.br\\&^\\^&&ISO\r"), "utf-8")
	f.Add(must(os.ReadFile("testdata/charset_big5.hl7")), "big5")
	f.Add(must(os.ReadFile("testdata/charset_utf16_le.hl7")), "UNICODE UTF-16")
	f.Fuzz(func(t *testing.T, body []byte, charset string) { decode(t, body, charset) })
}

// decode decodes a body and fails the test if a property that [FuzzDecode] states does not hold.
func decode(t rapid.TB, body []byte, charset string) {
	declared, _ := hl7.CharsetNamed(charset)
	b, err := hl7.Split(body, declared)
	if err != nil {
		return
	}
	var m, answer hl7.Message
	for _, raw := range b.Messages {
		if m.Scan(raw, b.Charset) != nil {
			continue
		}
		e, fault := m.Facts(options)
		if fault == nil && e.ID == "" {
			t.Fatalf("an event without identity: %+v", e)
		}
		if fault == nil {
			bounded(t, raw, &e)
			again(t, e)
		}
		ack := m.Ack(nil, hl7.Acknowledgment{Fault: fault, Hospital: "h", At: received.Time(), ID: "1", Sender: hl7.Sender{OriginalMode: true}})
		if err := answer.Scan(ack, hl7.Charset{}); err != nil {
			t.Fatalf("%q: %v", ack, err)
		}
		if !bytes.Contains(ack, []byte("\rMSA")) {
			t.Fatalf("%q", ack)
		}
	}
}

// TestFactsOfAnyFields: the properties that FuzzDecode checks also hold for fields that are composed of the strings
// that decoding treats specially. Random bytes rarely contain two of those strings together.
func TestFactsOfAnyFields(t *testing.T) {
	pieces := []string{
		"", "", `""`, `"`, `\X2222\`, `\X22\`, `\E\`, `\F\`, `\R\`, `\S\`, `\T\`, `\P\`, `\.br\`, `\X00\`, `\X0D\`, `\XC3\`, `\X20\`, `\H\`, `\C2842\`, `\Z1\`, `\`, `\E`,
		" ", "\t", "\x00", "\n", "\x0b", "\x1c", "\x7f", "\u0085", "\u00a0", "\u2028", "\u200b", "é", "日", "ﬀ", "ß", "ı", "\xc3", "\xff", "\xa4", "^", "^^", "~", "&", "&&ISO", "&1.2.3",
		"A", "D", "N", "Y", "MR", "SS", "MTH", "I10", "I10C", "SCT", "ICD-10-CM", "http://snomed.info/sct", "O80", "o80", "Z37.0", "11466000", "1", "0", "3", "12345678", "L", "L&D", "NEWBORN", "Emergency", "OBS",
		"fever", "leaking", "d and c", "2026", "202603", "20260304", "2026030409", "202603040930", "20260304093010", "20260304093010.1234", "-0600", "+1400", "+0000", strings.Repeat("x", 79), strings.Repeat("é", 20),
	}
	field := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 5).Draw(t, "pieces"), "")
	})
	read := map[string][]int{
		"EVN": {2, 6}, "PID": {3, 7, 18, 21, 25}, "NK1": {3, 33}, "PV1": {2, 3, 4, 6, 10, 19}, "PV2": {3, 36}, "DG1": {2, 3, 4, 5, 21},
	}
	rapid.Check(t, func(t *rapid.T) {
		var header segment
		header.fields[2] = rapid.SampledFrom([]string{`^~\&`, `^~\&#`, `^~\`, `^~`, `^!"`, "^"}).Draw(t, "delimiters")
		header.fields[7] = field.Draw(t, "MSH-7")
		header.fields[9] = "ADT^" + rapid.SampledFrom([]string{"A01", "A02", "A03", "A04", "A06", "A08", "A11", "A12", "A13", "A28", "A31"}).Draw(t, "trigger")
		header.fields[10], header.fields[11], header.fields[12] = "1", "P", "2.5.1"
		header.fields[18] = rapid.SampledFrom([]string{"", "UNICODE UTF-8", "8859/1", "ASCII", "BIG-5", "ISO IR87", "x"}).Draw(t, "charset")
		lines := []string{"MSH|" + strings.Join(header.fields[2:], "|")}
		names := append([]string{"EVN", "PID", "PV1"}, rapid.SliceOfN(rapid.SampledFrom([]string{"NK1", "PV2", "DG1", "ZZZ"}), 0, 5).Draw(t, "segments")...)
		for _, name := range names {
			var s segment
			for _, n := range read[name] {
				s.fields[n] = field.Draw(t, fmt.Sprint(name, "-", n))
			}
			lines = append(lines, name+s.text())
		}
		decode(t, []byte(strings.Join(lines, "\r")), "")
	})
}

// bounded fails the test if an event exceeds a limit.
func bounded(t rapid.TB, raw []byte, e *acuity.Event) {
	t.Helper()
	for name, l := range map[string]acuity.Location{"place": e.Place, "prior": e.Prior} {
		for _, s := range []string{l.PointOfCare, l.Room, l.Bed, l.Facility} {
			if len(s) > 80 || !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl) {
				t.Fatalf("%s %q", name, s)
			}
		}
	}
	if len(e.Service) > 80 || len(e.Warnings) > 50 || len(e.Diagnoses) > 2*hl7.MaxSegments || len(e.Diagnoses) > len(raw)/5 {
		t.Fatalf("service of %d bytes, %d warnings, %d diagnoses", len(e.Service), len(e.Warnings), len(e.Diagnoses))
	}
	for i := range e.Diagnoses {
		if d := &e.Diagnoses[i]; len(d.Code) > 64 || utf8.RuneCountInString(d.Display) > 80 || !utf8.ValidString(d.Code+d.Display) {
			t.Fatalf("%+v", d)
		}
	}
}
