package verdict

import (
	"slices"
	"sync"
)

// arena hands out the bytes of one transaction from few large pieces: a
// transaction of a busy partition writes thousands of small records, which the
// client holds until they are durable. Then the pieces serve another one, of any
// partition: a processor has dozens, few of which are busy at once.
type arena struct {
	pieces []*[]byte // the last of them is the one in use
}

const pieceSize = 64 << 10

var spare = sync.Pool{New: func() any {
	piece := make([]byte, 0, pieceSize)
	return &piece
}}

// freeSlice returns an empty slice to append one record to.
func (a *arena) freeSlice() []byte {
	if last := len(a.pieces) - 1; last >= 0 {
		if piece := *a.pieces[last]; cap(piece)-len(piece) >= pieceSize/16 {
			return piece[len(piece):]
		}
	}
	piece := spare.Get().(*[]byte) //nolint:errcheck // nothing else is put there
	a.pieces = append(a.pieces, piece)
	return *piece
}

// keepRecord keeps what was appended to the last free slice.
func (a *arena) keepRecord(record []byte) []byte {
	piece := a.pieces[len(a.pieces)-1]
	if n := len(*piece) + len(record); n <= cap(*piece) {
		*piece = (*piece)[:n] // a record that outgrew the piece moved away and is its own
	}
	return slices.Clip(record)
}

// reset gives all bytes back: those who were given them are done.
func (a *arena) reset() {
	for _, piece := range a.pieces {
		*piece = (*piece)[:0]
		spare.Put(piece)
	}
	clear(a.pieces)
	a.pieces = a.pieces[:0]
}
