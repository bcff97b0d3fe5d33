package stream

import (
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"
)

// outbox holds what one partition writes in a transaction. The client keeps the
// addresses of the records until they are stored, so they lie in blocks, which never
// move. A list that grew to thousands would be copied again and again, and leave memory
// that nothing else can use.
type outbox struct {
	blocks []*block
	count  int
}

const blockRecords = 64 // 10 kB

type block [blockRecords]kgo.Record

// blocks are unused, for any partition: few partitions are busy at once.
var blocks = sync.Pool{New: func() any { return new(block) }}

// add adds a record and returns its address.
func (o *outbox) add(r kgo.Record) *kgo.Record { //nolint:gocritic // it is copied to where it stays
	if o.count == len(o.blocks)*blockRecords {
		o.blocks = append(o.blocks, blocks.Get().(*block)) //nolint:errcheck // nothing else is put there
	}
	at := &o.blocks[o.count/blockRecords][o.count%blockRecords]
	*at = r
	o.count++
	return at
}

// each calls do with each record in order.
func (o *outbox) each(do func(*kgo.Record)) {
	for i := range o.count {
		do(&o.blocks[i/blockRecords][i%blockRecords])
	}
}

// reset drops the records. Nothing may point to them any more.
func (o *outbox) reset() {
	for _, b := range o.blocks {
		clear(b[:])
		blocks.Put(b)
	}
	clear(o.blocks)
	o.blocks, o.count = o.blocks[:0], 0
}
