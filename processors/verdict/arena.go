package verdict

import (
	"slices"
	"sync"
)

// arena allocates the records of one transaction from few large pieces. A transaction
// of a busy partition writes thousands of small records, which the client holds until
// they are durable. Afterwards any partition reuses the pieces: a processor has
// dozens of partitions, and few are busy at once.
type arena struct {
	pieces []*[]byte // the last one is in use
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

// keepRecord keeps a record that was appended to the last free slice.
func (a *arena) keepRecord(record []byte) []byte {
	piece := a.pieces[len(a.pieces)-1]
	if n := len(*piece) + len(record); n <= cap(*piece) {
		*piece = (*piece)[:n] // a record that outgrew the piece has memory of its own
	}
	return slices.Clip(record)
}

// reset frees all pieces. Their records must not be used any more.
func (a *arena) reset() {
	for _, piece := range a.pieces {
		*piece = (*piece)[:0]
		spare.Put(piece)
	}
	clear(a.pieces)
	a.pieces = a.pieces[:0]
}
