package verdict

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

// What an arena hands out stays as it was written until it is reset, whatever is
// written after it; and what was reset serves again.
func TestArenaKeepsWhatItHandsOut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var a arena
		for round := range rapid.IntRange(1, 4).Draw(t, "transactions") {
			var taken [][]byte
			sizes := rapid.SliceOf(rapid.OneOf(rapid.IntRange(0, 300), rapid.IntRange(3000, 9000), rapid.Just(pieceSize+1))).Draw(t, "sizes")
			fill := func(i int) byte { return byte(round*31 + i) }
			for i, size := range sizes {
				record := a.free()
				for range size {
					record = append(record, fill(i))
				}
				taken = append(taken, a.take(record))
			}
			for i, record := range taken {
				if want := bytes.Repeat([]byte{fill(i)}, sizes[i]); !bytes.Equal(record, want) {
					t.Fatalf("transaction %d: record %d of %d bytes changed", round, i, sizes[i])
				}
			}
			a.reset()
			if len(a.pieces) > keptPieces {
				t.Fatalf("%d pieces kept", len(a.pieces))
			}
		}
	})
}
