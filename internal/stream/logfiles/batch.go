package logfiles

import (
	"encoding/binary"
	"hash/crc32"
	"math"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// The byte offsets of the fields in a record batch. The checksum covers all bytes from the attributes to the end. It
// does not cover the fields before the attributes; their values follow from the position of the batch in the log.
const (
	atLength     = 8
	atEpoch      = 12
	atMagic      = 16
	atChecksum   = 17
	atAttributes = 21
	atLastDelta  = 23
	atMaxTime    = 35
	atCount      = 57
	headerBytes  = 61

	beforeLength = 12 // bytes that the length field does not count
	magic        = 2

	transactional = 1 << 4
	control       = 1 << 5
)

// leaderEpoch is the epoch of every batch, because there is only one broker.
const leaderEpoch = 0

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// batch is the encoded form of a record batch in a file.
type batch []byte

func (b batch) first() int64        { return int64(binary.BigEndian.Uint64(b)) }            //nolint:gosec // the bits are unchanged
func (b batch) size() int           { return beforeLength + int(b.number(atLength)) }       // according to the length field; not checked
func (b batch) end() int64          { return b.first() + int64(b.number(atLastDelta)) + 1 } // offset after the last record
func (b batch) number(at int) int32 { return int32(binary.BigEndian.Uint32(b[at:])) }       //nolint:gosec // the bits are unchanged
func (b batch) attributes() uint16  { return binary.BigEndian.Uint16(b[atAttributes:]) }
func (b batch) time() int64         { return int64(binary.BigEndian.Uint64(b[atMaxTime:])) } //nolint:gosec // the bits are unchanged

// pending reports whether the records of the batch become visible only when their transaction ends.
func (b batch) pending() bool {
	return b.attributes()&transactional != 0 && b.attributes()&control == 0
}

// sums reports whether the checksum matches the content of the batch and the two record counts in the header agree. b
// must end where the batch ends.
func (b batch) sums() bool {
	return len(b) >= headerBytes &&
		binary.BigEndian.Uint32(b[atChecksum:]) == crc32.Checksum(b[atAttributes:], castagnoli) &&
		b.counts() > 0
}

// counts returns the number of records that the header states, or 0 if its two counts differ.
func (b batch) counts() int64 {
	n := b.number(atCount)
	if n <= 0 || n != b.number(atLastDelta)+1 {
		return 0
	}
	return int64(n)
}

// intact returns the batch at the start of raw, and reports whether the batch is complete and undamaged.
func intact(raw []byte) (batch, bool) {
	if len(raw) < headerBytes || raw[atMagic] != magic || batch(raw).number(atEpoch) != leaderEpoch {
		return nil, false
	}
	size := batch(raw).size()
	if size < headerBytes || size > len(raw) {
		return nil, false
	}
	b := batch(raw[:size])
	return b, b.sums()
}

// isFollowed reports whether raw contains, somewhere after its start, an intact batch whose offset is next or higher.
func isFollowed(raw []byte, next int64) bool {
	for at := 1; at+headerBytes <= len(raw); at++ {
		if raw[at+atMagic] != magic || batch(raw[at:]).first() < next {
			continue
		}
		if _, ok := intact(raw[at:]); ok {
			return true
		}
	}
	return false
}

// fillAtOnce is the maximum number of records in one filler batch.
const fillAtOnce = 10_000

// filling returns batches of filler records for the offsets in [first, end), so that no offset is missing. Every
// reader skips records with the filler key.
func filling(key []byte, first, end, time int64) (raw []byte) {
	for first < end {
		n := min(end-first, fillAtOnce)
		var records []byte
		for i := range n {
			r := kmsg.NewRecord()
			r.OffsetDelta, r.Key = int32(i), key
			body := r.AppendTo(nil)[1:] // without the record's length, which is 0
			records = binary.AppendVarint(records, int64(len(body)))
			records = append(records, body...)
		}
		b := kmsg.NewRecordBatch()
		b.FirstOffset, b.PartitionLeaderEpoch, b.Magic = first, leaderEpoch, magic
		b.LastOffsetDelta, b.NumRecords = int32(n-1), int32(n) //nolint:gosec // at most fillAtOnce
		b.FirstTimestamp, b.MaxTimestamp = time, time
		b.ProducerID, b.ProducerEpoch, b.FirstSequence = -1, -1, -1
		b.Records = records
		b.Length = int32(min(headerBytes-beforeLength+len(records), math.MaxInt32))
		one := b.AppendTo(nil)
		binary.BigEndian.PutUint32(one[atChecksum:], crc32.Checksum(one[atAttributes:], castagnoli))
		raw = append(raw, one...)
		first += n
	}
	return raw
}
