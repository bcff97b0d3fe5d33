package stream

import (
	"encoding/binary"
	"math/bits"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"
)

// recycle is memory for what a client fetches: decompressed batches, and the records
// that point into them. A reader releases each record when it is done (kgo's Recycle); a
// record that is not released is garbage-collected. It pays for large batches, as in a
// changelog.
type recycle struct {
	bytes   [32]sync.Pool // *[]byte, by the binary logarithm of their capacity
	records [32]sync.Pool // *[]kgo.Record, likewise
}

// GetDecompressBytes implements [kgo.PoolDecompressBytes].
func (p *recycle) GetDecompressBytes(compressed []byte, codec kgo.CompressionCodecType) []byte {
	size := uint64(4 * len(compressed)) // grown if it does not fit
	if codec == kgo.CodecSnappy {
		// A block begins with its decompressed size. Java clients add a frame, which
		// begins with a byte that no block of this size has.
		if n, read := binary.Uvarint(compressed); read > 0 && n < 64*uint64(len(compressed)) {
			size = n
		}
	}
	return taken[byte](&p.bytes, size)
}

// PutDecompressBytes implements [kgo.PoolDecompressBytes].
func (p *recycle) PutDecompressBytes(b []byte) { put(&p.bytes, b) }

// GetRecords implements [kgo.PoolRecords].
func (p *recycle) GetRecords(n int) []kgo.Record { return taken[kgo.Record](&p.records, uint64(n)) } //nolint:gosec // a count

// PutRecords implements [kgo.PoolRecords].
func (p *recycle) PutRecords(r []kgo.Record) { put(&p.records, r) }

// taken returns a slice with at least that capacity. Beyond a limit each is allocated
// for its use.
func taken[T any](pools *[32]sync.Pool, size uint64) []T {
	class := bits.Len64(max(size, 1) - 1) // 1<<class holds it
	if class >= len(pools) {
		return nil
	}
	if s, ok := pools[class].Get().(*[]T); ok {
		return *s
	}
	return make([]T, 0, 1<<class)
}

func put[T any](pools *[32]sync.Pool, s []T) {
	if class := bits.Len(uint(cap(s))) - 1; class >= 0 && class < len(pools) {
		pools[class].Put(&s)
	}
}
