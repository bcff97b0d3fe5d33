package facts

import (
	"fmt"
	"hash/fnv"
	"strconv"
)

// The kinds of records. A record of hospital h has the key h/<kind> or h/<kind>/<id>.
const (
	kindUnit      = "unit"
	KindRoom      = "room"
	KindVisit     = "visit"
	KindStatement = "statement"
	kindMapping   = "mapping"
	KindDedup     = "dedup"
	KindCode      = "code"
	kindRule      = "rule"
	kindPlace     = "place"

	kindSwitches  = "switches"
	KindReference = "reference"

	kindPastStaffing = "past-staffing"
)

// Keys builds the keys of a hospital's records. It also collects the keys of the records to delete. A key that a
// method returns is valid until the next key is built, because all keys share one buffer.
type Keys struct {
	Hospital string
	memory   []byte // buffer for a key
	dropped  []string
}

// key returns the key of a record. An empty id means that the record is the only one of its kind.
func (k *Keys) key(kind, id string) []byte {
	k.memory = append(append(append(k.memory[:0], k.Hospital...), '/'), kind...)
	if id != "" {
		k.memory = append(append(k.memory, '/'), id...)
	}
	return k.memory
}

// numbered returns the key of a record that is identified by a number.
func (k *Keys) numbered(kind string, n int64) []byte {
	k.memory = strconv.AppendInt(append(k.key(kind, ""), '/'), n, 10)
	return k.memory
}

// Room returns the key of a room's record.
func (k *Keys) Room(id int32) []byte { return k.numbered(KindRoom, int64(id)) }

// Visit returns the key of a visit's record.
func (k *Keys) Visit(id string) []byte { return k.key(KindVisit, id) }

// Statement returns the key of the record of the clinical statement with number n.
func (k *Keys) Statement(n int64) []byte { return k.numbered(KindStatement, n) }

// Dedup returns the key of the record of an event's or a request's identity. The key contains the identity itself,
// because the identity's length is bounded.
func (k *Keys) Dedup(id string) []byte { return k.key(KindDedup, id) }

// Unit returns the key of the unit's record.
func (k *Keys) Unit() []byte { return k.key(kindUnit, "") }

// PastStaffing returns the key of the record of past staffing.
func (k *Keys) PastStaffing() []byte { return k.key(kindPastStaffing, "") }

// Code returns the key of the record of the unmapped code with the given worklist key.
func (k *Keys) Code(key string) []byte { return k.key(KindCode, digest(key)) }

// Reference returns the key of a reference's record.
func (k *Keys) Reference(name string) []byte { return k.key(KindReference, digest(name)) }

// Setting returns the key of the record of a row that administrators set.
func (k *Keys) Setting(of SettingKey) []byte { return k.key(of.Kind, of.ID) }

// digest returns a hash of a text of any length, such as a pseudonym or code.
func digest(text string) string {
	h := fnv.New128a()
	h.Write([]byte(text))
	return fmt.Sprintf("%x", h.Sum(nil))
}

// Drop marks a record for deletion by the next call to WriteDropped.
func (k *Keys) Drop(key []byte) { k.dropped = append(k.dropped, string(key)) }

// WriteDropped writes a deletion for each record that was marked with Drop.
func (k *Keys) WriteDropped(write func(key []byte, s Record)) {
	for _, key := range k.dropped {
		k.memory = append(k.memory[:0], key...)
		write(k.memory, nil)
	}
	k.dropped = Emptied(k.dropped)
}

// Emptied returns an empty slice that reuses the memory of s if s is small.
func Emptied[T any](s []T) []T {
	clear(s)
	if cap(s) > 64 {
		return nil
	}
	return s[:0]
}
