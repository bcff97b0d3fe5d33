package stream

import (
	"bytes"
	"cmp"
	"hash/maphash"
	"slices"
	"time"
)

// newest holds the records of a changelog partition that compaction would keep: the last record of each key. Most
// records of a log are superseded, and a restore never decodes them. A partition may have a few hundred thousand
// keys, so their bytes are allocated in large blocks.
type newest struct {
	hash  func(key []byte) uint32
	first []int32 // index in held of the first record of each list, by the low bits of the hash; -1: the list is empty
	held  []heldRecord
	free  int32  // first unused index; -1: none
	piece []byte // unused part of the newest block
}

// heldRecord is one record. The memory of a removed key's record is reused for the next new key.
type heldRecord struct {
	bytes  []byte // key and value, with spare capacity for a longer value
	hash   uint32 // hash of the key
	key    int32  // length of the key
	next   int32  // index of the next record in the same list, or of the next unused record; -1: none
	offset int64  // -1: unused
	millis int64  // timestamp
}

const (
	newestPlaces = 1 << 10 // initial number of lists; a power of 2
	newestPiece  = 256 << 10
	newestSlack  = 16 // bytes by which a value may grow without a new allocation
)

func newNewest() *newest {
	seed := maphash.MakeSeed()
	hash := func(key []byte) uint32 { return uint32(maphash.Bytes(seed, key)) } //nolint:gosec // any 32 bits of the hash will do
	n := &newest{hash: hash, free: -1}
	n.index(newestPlaces)
	return n
}

// index builds a hash index with the given number of lists, which must be a power of 2. A lookup causes one cache
// miss; in a Go map of this size, it would cause several.
func (n *newest) index(size int) {
	n.first = make([]int32, size)
	for i := range n.first {
		n.first[i] = -1
	}
	for place := range n.held {
		if h := &n.held[place]; h.offset >= 0 {
			first := n.list(h.hash)
			h.next, *first = *first, int32(place)
		}
	}
}

// list returns a pointer to the head of the list that contains the keys with the given hash.
func (n *newest) list(hash uint32) *int32 { return &n.first[hash&uint32(len(n.first)-1)] } //nolint:gosec // far below 2^32

// add applies the next record of the log: it replaces the previous record of the same key, or removes that record if
// the new one is a tombstone. add copies the bytes of the record.
func (n *newest) add(r Record) {
	hash := n.hash(r.Key)
	at := n.list(hash) // points to the index of the key's record, or to the -1 at the end of its list
	for *at >= 0 && !n.held[*at].is(hash, r.Key) {
		at = &n.held[*at].next
	}
	if r.Value == nil {
		n.remove(at)
		return
	}
	place := *at
	if place < 0 {
		place = n.place(hash)
	}
	h := &n.held[place]
	if size := len(r.Key) + len(r.Value); size > cap(h.bytes) {
		h.bytes = n.allocate(size + newestSlack)
	}
	h.bytes = append(append(h.bytes[:0], r.Key...), r.Value...)
	h.key, h.offset, h.millis = int32(len(r.Key)), r.Offset, r.Timestamp.UnixMilli() //nolint:gosec // a key is far smaller than 2 GiB
}

// is reports whether the record has the given key.
func (h *heldRecord) is(hash uint32, key []byte) bool {
	return h.hash == hash && bytes.Equal(h.bytes[:h.key], key)
}

// remove removes the record whose index is *at. If *at is -1, remove does nothing.
func (n *newest) remove(at *int32) {
	if place := *at; place >= 0 {
		h := &n.held[place]
		*at = h.next
		h.offset, h.next, n.free = -1, n.free, place
	}
}

// place adds an entry to held for a new key with the given hash, or reuses an unused one, and returns its index.
func (n *newest) place(hash uint32) int32 {
	place := n.free
	if place >= 0 {
		n.free = n.held[place].next
	} else {
		if len(n.held) == len(n.first) {
			n.index(2 * len(n.first))
		}
		n.held = append(n.held, heldRecord{})
		place = int32(len(n.held) - 1) //nolint:gosec // 2 GiB of records do not fit in memory
	}
	first := n.list(hash)
	n.held[place].hash, n.held[place].next, *first = hash, *first, place
	return place
}

// allocate returns memory of the given size.
func (n *newest) allocate(size int) []byte {
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

// each calls the function take for every record, in the order of the log, and leaves n empty.
func (n *newest) each(partition int32, take func(Record) error) error {
	type entry struct { // small, because entries are sorted
		offset int64
		place  int32
	}
	order := make([]entry, 0, len(n.held))
	for place := range n.held {
		if offset := n.held[place].offset; offset >= 0 {
			order = append(order, entry{offset, int32(place)})
		}
	}
	slices.SortFunc(order, func(a, b entry) int { return cmp.Compare(a.offset, b.offset) })
	held := n.held
	*n = newest{}
	for _, e := range order {
		h := &held[e.place]
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
