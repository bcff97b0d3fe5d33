package stream

import (
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"
)

// recycle is the memory of what a client fetches: the decompressed batches and
// the records that point into them. Whoever reads with it says of each record
// when it is done with it (kgo's Recycle); one of which it is not said is
// collected as any other memory.
type recycle struct {
	bytes   sync.Pool // *[]byte
	records sync.Pool // *[]kgo.Record
}

// decompressedAtLeast is what a fresh buffer holds: the batches of a full
// changelog have a few hundred kB.
const decompressedAtLeast = 64 << 10

// GetDecompressBytes implements [kgo.PoolDecompressBytes].
func (p *recycle) GetDecompressBytes(compressed []byte, _ kgo.CompressionCodecType) []byte {
	if b, ok := p.bytes.Get().(*[]byte); ok {
		return *b
	}
	return make([]byte, 0, max(4*len(compressed), decompressedAtLeast))
}

// PutDecompressBytes implements [kgo.PoolDecompressBytes].
func (p *recycle) PutDecompressBytes(b []byte) { p.bytes.Put(&b) }

// GetRecords implements [kgo.PoolRecords].
func (p *recycle) GetRecords(n int) []kgo.Record {
	if r, ok := p.records.Get().(*[]kgo.Record); ok {
		return *r
	}
	return make([]kgo.Record, 0, n)
}

// PutRecords implements [kgo.PoolRecords].
func (p *recycle) PutRecords(r []kgo.Record) { p.records.Put(&r) }
