package logfiles

import (
	"bytes"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestDamagedLengthIsNoEnd: if a damaged length makes a batch in the middle of a log look incomplete, parse reports
// damage instead of an incomplete end.
func TestDamagedLengthIsNoEnd(t *testing.T) {
	one, two := filling(filler, 5, 8, 1000), filling(filler, 8, 10, 1000)
	one[atLength]++
	s := &segment{base: 5, raw: slices.Concat(one, two)}
	if at, damaged := s.parse(-1); at != 0 || !damaged {
		t.Errorf("damaged %t at %d", damaged, at)
	}
}

// TestAnyBytes: a segment with arbitrary bytes is read up to the damage, and everything that was read is intact.
func TestAnyBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var raw []byte
		first := int64(5)
		for range rapid.IntRange(0, 4).Draw(t, "batches") {
			n := rapid.Int64Range(1, 3).Draw(t, "records")
			raw = append(raw, filling(filler, first, first+n, 1000)...)
			first += n
		}
		for range rapid.IntRange(0, 3).Draw(t, "edits") {
			if len(raw) == 0 {
				break
			}
			at := rapid.IntRange(0, len(raw)-1).Draw(t, "at")
			switch rapid.SampledFrom([]string{"byte", "cut", "insert", "delete"}).Draw(t, "edit") {
			case "byte":
				raw[at] = rapid.Byte().Draw(t, "value")
			case "cut":
				raw = raw[:at]
			case "insert":
				raw = slices.Insert(raw, at, rapid.SliceOfN(rapid.Byte(), 1, 80).Draw(t, "bytes")...)
			case "delete":
				raw = slices.Delete(raw, at, min(len(raw), at+rapid.IntRange(1, 80).Draw(t, "count")))
			}
		}
		s := &segment{base: 5, raw: raw}
		at, damaged := s.parse(-1)
		if read := slices.Concat(s.batches...); !bytes.Equal(read, raw[:at]) || !damaged && at+s.torn != len(raw) {
			t.Fatalf("damaged %t at %d of %d, %d torn, %d read", damaged, at, len(raw), s.torn, len(read))
		}
		again := &segment{base: 5, raw: raw[:at]}
		if end, damaged := again.parse(-1); damaged || end != at || again.torn > 0 || again.end != s.end {
			t.Fatalf("what was read ends at %d, not %d; damaged %t", end, at, damaged)
		}
	})
}
