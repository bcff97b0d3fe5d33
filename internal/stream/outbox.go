package stream

import (
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"
)

// outbox holds what one partition writes in a transaction. The client keeps the
// addresses of the records until they are stored, so they lie in blocks, which never
// move: a list that grows to thousands is copied again and again, and leaves
// memory behind that nobody else can use.
type outbox struct {
	blocks []*block
	count  int
}

const blockRecords = 64 // 10 kB

type block [blockRecords]kgo.Record

// blocks without records, for any partition: few are busy at once.
var blocks = sync.Pool{New: func() any { return new(block) }}

// add takes a record and returns where it lies.
func (o *outbox) add(r kgo.Record) *kgo.Record { //nolint:gocritic // it is copied to where it stays
	if o.count == len(o.blocks)*blockRecords {
		o.blocks = append(o.blocks, blocks.Get().(*block)) //nolint:errcheck // nothing else is put there
	}
	at := &o.blocks[o.count/blockRecords][o.count%blockRecords]
	*at = r
	o.count++
	return at
}

// each hands out the records in their order.
func (o *outbox) each(do func(*kgo.Record)) {
	for i := range o.count {
		do(&o.blocks[i/blockRecords][i%blockRecords])
	}
}

// reset forgets the records, which nobody else may still have.
func (o *outbox) reset() {
	for _, b := range o.blocks {
		clear(b[:])
		blocks.Put(b)
	}
	clear(o.blocks)
	o.blocks, o.count = o.blocks[:0], 0
}
