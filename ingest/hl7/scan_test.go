package hl7_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"svc/ingest/hl7"
)

// TestFieldsAreThoseOfASplit: the fields of the view equal those of a plain split, whatever their length and content,
// even with control characters or non-ASCII bytes next to a separator. Every kind of line ending ends the last field.
func TestFieldsAreThoseOfASplit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pieces := rapid.SampledFrom([]string{"|", "|", "a", "}", "{", " ", "\t", "\x01", "\x7f", "\x80", "é", "\xfc", "longer than a word"})
		text := strings.Join(rapid.SliceOfN(pieces, 0, 40).Draw(t, "text"), "")
		end := rapid.SampledFrom([]string{"\r", "\n", "\r\n", "\x1c\r", "\x0b", ""}).Draw(t, "end")
		behind := ""
		if end != "" {
			behind = rapid.SampledFrom([]string{"", "OBX|1|2", "PV2|1|2", "PV2"}).Draw(t, "behind")
		}
		var m hl7.Message
		if err := m.Scan([]byte("MSH|^~\\&|S\rPV1|"+text+end+behind), hl7.Charset{}); err != nil {
			t.Fatal(err)
		}
		fields := strings.Split(text, "|")
		for i, want := range fields {
			if got := string(m.Raw("PV1", i+1)); got != want {
				t.Fatalf("field %d is %q, want %q", i+1, got, want)
			}
		}
		if got := m.Raw("PV1", len(fields)+1); got != nil {
			t.Fatalf("%q behind the last field", got)
		}
	})
}
