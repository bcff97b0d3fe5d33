package verdict

import "slices"

// arena hands out the bytes of one transaction from few large pieces: a
// transaction of a busy partition writes thousands of small records, which the
// client holds until they are durable. Then the pieces serve the next one.
type arena struct {
	pieces [][]byte
	used   int // of the pieces; the last of them is the one in use
}

const (
	pieceSize  = 64 << 10
	keptPieces = 4 // between two transactions; a processor may have dozens of partitions
)

// free returns an empty slice to append one record to.
func (a *arena) free() []byte {
	if a.used > 0 {
		if piece := a.pieces[a.used-1]; cap(piece)-len(piece) >= pieceSize/16 {
			return piece[len(piece):]
		}
	}
	if a.used == len(a.pieces) {
		a.pieces = append(a.pieces, make([]byte, 0, pieceSize))
	}
	a.used++
	return a.pieces[a.used-1]
}

// take keeps what was appended to the last free slice.
func (a *arena) take(record []byte) []byte {
	piece := &a.pieces[a.used-1]
	if n := len(*piece) + len(record); n <= cap(*piece) {
		*piece = (*piece)[:n] // a record that outgrew the piece moved away and is its own
	}
	return slices.Clip(record)
}

// reset takes all bytes back: those who were given them are done. It keeps as
// many pieces as were used.
func (a *arena) reset() {
	if kept := min(max(a.used, 1), keptPieces); len(a.pieces) > kept {
		a.pieces = slices.Delete(a.pieces, kept, len(a.pieces))
	}
	for i := range a.pieces {
		a.pieces[i] = a.pieces[i][:0]
	}
	a.used = 0
}
