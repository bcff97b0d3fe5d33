package hl7_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"svc/ingest/hl7"
)

// Whatever comes: no panic, the acknowledgment is a message again, and its MSA-2
// is MSH-10 as it was sent.
func FuzzDecode(f *testing.F) {
	for _, file := range must(filepath.Glob("testdata/*.hl7")) {
		f.Add(must(os.ReadFile(file)))
	}
	f.Add([]byte("BHS|^~\\&\rMSH|^~\\&|a\rMSH|^~\\&#|||||2026||ADT^A01|1\rDG1||\"\"\rBTS|9\r"))
	f.Add([]byte("MSH!*+?%!\x0b\xef\xbb\xbf\x1c\nPV1!!!\n!!!\nx?X0!"))
	f.Add([]byte("MSH|^~\\|||||20260304093010.12345-0600||ADT^A11|1\rEVN||20260229|||20260304\rPV1|||\\X41\\\\.br\\&^\\^&&ISO\r"))
	f.Fuzz(func(t *testing.T, body []byte) {
		b, err := hl7.Split(body, hl7.Charset{})
		if err != nil {
			return
		}
		var m, again hl7.Message
		for _, raw := range b.Messages {
			if m.Scan(raw, hl7.Charset{}) != nil {
				continue
			}
			e, fault := m.Facts(options)
			if fault == nil && (e.ID == "" || e.At == 0) {
				t.Fatalf("an event without identity or time: %+v", e)
			}
			ack := m.Ack(nil, hl7.Acknowledgment{Fault: fault, Hospital: "h", At: received.Time(), ID: "1", Sender: hl7.Sender{OriginalMode: true}})
			if err := again.Scan(ack, hl7.Charset{}); err != nil {
				t.Fatalf("%q: %v", ack, err)
			}
			if !bytes.Contains(ack, []byte("\rMSA")) {
				t.Fatalf("%q", ack)
			}
		}
	})
}
