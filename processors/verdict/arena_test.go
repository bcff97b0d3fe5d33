package verdict

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

// TestArenaKeepsWhatItHandsOut: a record stays as it was written until the arena is
// reset, whatever this or another arena writes later. A piece that was reset is used
// again.
func TestArenaKeepsWhatItHandsOut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var arenas [3]arena
		var taken [3][][]byte
		fill := func(a, i int) byte { return byte(a*91 + i) }
		sizes := rapid.OneOf(rapid.IntRange(0, 300), rapid.IntRange(3000, 9000), rapid.Just(pieceSize+1))
		for range rapid.IntRange(1, 100).Draw(t, "steps") {
			a := rapid.IntRange(0, len(arenas)-1).Draw(t, "arena")
			if rapid.IntRange(0, 9).Draw(t, "what") > 0 {
				size := sizes.Draw(t, "size")
				record := arenas[a].freeSlice()
				for range size {
					record = append(record, fill(a, len(taken[a])))
				}
				taken[a] = append(taken[a], arenas[a].keepRecord(record))
				continue
			}
			for i, record := range taken[a] {
				if want := bytes.Repeat([]byte{fill(a, i)}, len(record)); !bytes.Equal(record, want) {
					t.Fatalf("record %d of %d bytes changed", i, len(record))
				}
			}
			arenas[a].reset()
			taken[a] = nil
		}
	})
}

// TestArenaServesAgain: a transaction needs no new pieces after one of the same size.
func TestArenaServesAgain(t *testing.T) {
	var a arena
	transaction := func() {
		for range 100 {
			a.keepRecord(append(a.freeSlice(), make([]byte, 4000)...))
		}
		a.reset()
	}
	// New pieces would make 14 allocations. The collector may empty the pool, and
	// under the race detector a pool drops a part of what it is given.
	if got := testing.AllocsPerRun(50, transaction); got > 7 {
		t.Errorf("%v allocations, want none", got)
	}
}
