package hl7_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"svc/acuity"
	"svc/ingest/hl7"
)

// FuzzDecode: any bytes cause no panic and no fact above its bound. The facts can be
// encoded as a message and decoded again. The acknowledgment is a message.
func FuzzDecode(f *testing.F) {
	for _, file := range must(filepath.Glob("testdata/*.hl7")) {
		f.Add(must(os.ReadFile(file)), "")
	}
	f.Add([]byte("BHS|^~\\&\rMSH|^~\\&|a\rMSH|^~\\&#|||||2026||ADT^A01|1\rDG1||\"\"\rBTS|9\r"), "utf-8")
	f.Add([]byte("MSH!*+?%!\x0b\xef\xbb\xbf\x1c\nPV1!!!\n!!!\nx?X0!"), "utf-8")
	f.Add([]byte("MSH|^~\\|||||20260304093010.12345-0600||ADT^A11|1\rEVN||20260229|||20260304\rPV1|||\\X41\\\\.br\\&^\\^&&ISO\r"), "utf-8")
	f.Add(must(os.ReadFile("testdata/charset_big5.hl7")), "big5")
	f.Add(must(os.ReadFile("testdata/charset_utf16_le.hl7")), "UNICODE UTF-16")
	f.Fuzz(func(t *testing.T, body []byte, charset string) {
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
	})
}

// bounded fails if an event exceeds a limit.
func bounded(t *testing.T, raw []byte, e *acuity.Event) {
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
