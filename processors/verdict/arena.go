package verdict

import "slices"

// arena hands out the bytes of one transaction from few large pieces: a
// transaction of a busy partition writes thousands of small records, which the
// client holds until they are durable.
type arena struct{ piece []byte }

const pieceSize = 64 << 10

// free returns an empty slice to append one record to.
func (a *arena) free() []byte {
	if cap(a.piece)-len(a.piece) < pieceSize/16 {
		a.piece = make([]byte, 0, pieceSize)
	}
	return a.piece[len(a.piece):]
}

// take keeps what was appended to the last free slice.
func (a *arena) take(record []byte) []byte {
	if n := len(a.piece) + len(record); n <= cap(a.piece) {
		a.piece = a.piece[:n] // a record that outgrew the piece moved away and is its own
	}
	return slices.Clip(record)
}
