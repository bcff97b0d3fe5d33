package stream

import (
	"bytes"
	"cmp"
	"hash/maphash"
	"slices"
	"time"
)

// newest is a changelog partition as compaction would leave it: of each key the
// record that was written last. What is superseded is most of a log, and it is
// neither decoded nor kept. A partition may hold a few hundred thousand keys, so
// there is no allocation for each: their bytes lie in large pieces.
type newest struct {
	hash  func(key []byte) uint64
	at    map[uint64]int32 // by the hash of the key: the first place in held
	held  []heldRecord
	free  int32  // first place without a record, -1: none
	piece []byte // what is left of the newest piece
}

// heldRecord is one place. A place whose key is gone serves the next new one.
type heldRecord struct {
	bytes  []byte // key and value, and room for a somewhat longer value
	key    int32  // length of the key
	next   int32  // place of another key of the same hash, or without a record; -1: none
	offset int64  // -1: no record
	millis int64  // timestamp
}

const (
	newestPiece = 256 << 10
	newestSlack = 16 // bytes by which a value may grow in its place
)

func newNewest() *newest {
	seed := maphash.MakeSeed()
	hash := func(key []byte) uint64 { return maphash.Bytes(seed, key) }
	return &newest{hash: hash, at: map[uint64]int32{}, free: -1}
}

// take takes the next record of the log, whose bytes it copies.
func (n *newest) take(r Record) {
	hash := n.hash(r.Key)
	first, any := n.at[hash]
	if !any {
		first = -1
	}
	before, place := int32(-1), first
	for place >= 0 && !bytes.Equal(n.held[place].bytes[:n.held[place].key], r.Key) {
		before, place = place, n.held[place].next
	}
	if r.Value == nil {
		n.remove(hash, before, place)
		return
	}
	if place < 0 {
		place = n.place()
		n.held[place].next = first
		n.at[hash] = place
	}
	h := &n.held[place]
	if size := len(r.Key) + len(r.Value); size > cap(h.bytes) {
		h.bytes = n.room(size + newestSlack)
	}
	h.bytes = append(append(h.bytes[:0], r.Key...), r.Value...)
	h.key, h.offset, h.millis = int32(len(r.Key)), r.Offset, r.Timestamp.UnixMilli() //nolint:gosec // a key is far below 2 GiB
}

// remove takes the record at place, which follows on before, from those of a hash.
func (n *newest) remove(hash uint64, before, place int32) {
	if place < 0 {
		return
	}
	h := &n.held[place]
	switch {
	case before >= 0:
		n.held[before].next = h.next
	case h.next >= 0:
		n.at[hash] = h.next
	default:
		delete(n.at, hash)
	}
	h.offset, h.next, n.free = -1, n.free, place
}

// place returns one without a record.
func (n *newest) place() int32 {
	if place := n.free; place >= 0 {
		n.free = n.held[place].next
		return place
	}
	n.held = append(n.held, heldRecord{})
	return int32(len(n.held) - 1) //nolint:gosec // records of 2 GiB keys do not fit in memory
}

// room returns space for so many bytes.
func (n *newest) room(size int) []byte {
	if size > newestPiece/8 {
		return make([]byte, 0, size)
	}
	if size > len(n.piece) {
		n.piece = make([]byte, newestPiece)
	}
	room := n.piece[:0:size]
	n.piece = n.piece[size:]
	return room
}

// each hands out the records in the order of the log and forgets them.
func (n *newest) each(partition int32, take func(Record) error) error {
	held := slices.DeleteFunc(n.held, func(h heldRecord) bool { return h.offset < 0 })
	slices.SortFunc(held, func(a, b heldRecord) int { return cmp.Compare(a.offset, b.offset) })
	*n = newest{}
	for i := range held {
		h := &held[i]
		r := Record{
			Partition: partition, Offset: h.offset, Timestamp: time.UnixMilli(h.millis),
			Key: h.bytes[:h.key:h.key], Value: h.bytes[h.key:len(h.bytes):len(h.bytes)],
		}
		if err := take(r); err != nil {
			return err
		}
	}
	return nil
}
