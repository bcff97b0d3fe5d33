package schemas

import (
	"bytes"
	"errors"
	"strconv"
	"strings"

	"svc/acuity"
)

// Key identifies a hospital or a part of a hospital. For a hospital with the id "h", the key "h" is used for
// observations without a room, and for changes in the verdicts topic. The keys "h/unit" and "h/room/12" identify
// parts of the hospital. Partitioning uses only the hospital, and compaction uses the whole key.
type Key struct {
	Hospital string // [a-z0-9][a-z0-9-]{0,63}
	Kind     string // kind of record; "": the record of the hospital itself
	ID       string // id within the kind; "" if a hospital has only one record of this kind
}

// The kinds of records in the verdicts topic that several packages use. Package acuity/hospital defines the others;
// settings have separate kinds.
const (
	KindRoom    = "room" // also used for observations about one room
	KindMapping = "mapping"
	KindCode    = "code"
	KindRule    = "rule"
	KindPlace   = "place"
)

// ErrKey means that the key of a Kafka record is not a valid [Key]. It may be the key of a barrier record.
var ErrKey = errors.New("not a record key")

// RoomKey returns the key of a room.
func RoomKey(hospital string, room int32) Key {
	return Key{Hospital: hospital, Kind: KindRoom, ID: strconv.Itoa(int(room))}
}

// String returns the key as it is written to Kafka.
func (k Key) String() string {
	switch {
	case k.Kind == "":
		return k.Hospital
	case k.ID == "":
		return k.Hospital + "/" + k.Kind
	default:
		return k.Hospital + "/" + k.Kind + "/" + k.ID
	}
}

// ParseKey parses a key. The id is everything after the kind, and may contain any characters.
func ParseKey(key []byte) (Key, error) {
	hospital, rest, more := strings.Cut(string(key), "/")
	kind, id, named := strings.Cut(rest, "/")
	if !isHospital(hospital) || more && !isKind(kind) || named && id == "" {
		return Key{}, ErrKey
	}
	return Key{Hospital: hospital, Kind: kind, ID: id}, nil
}

// IsChange reports whether a key in the verdicts topic is the key of a change, which is a hospital id without a kind.
// IsChange does not allocate, because readers call it for every record.
func IsChange(key []byte) bool { return isHospital(key) }

// HospitalOf returns the part of a key before the first "/", which determines the partition. It does not validate the
// key; see [ParseKey].
func HospitalOf(key []byte) []byte {
	hospital, _, _ := bytes.Cut(key, []byte("/"))
	return hospital
}

// ObservationKey returns the key of an observation: the key of its room or, if it names no room, the key of its
// hospital.
func ObservationKey(o *acuity.Observation) Key {
	if o.Room != nil {
		return RoomKey(o.Hospital, o.Room.ID)
	}
	return Key{Hospital: o.Hospital}
}

func isHospital[T string | []byte](s T) bool {
	if len(s) == 0 || len(s) > 64 || s[0] == '-' {
		return false
	}
	return isLower(s, true)
}

func isKind(s string) bool { return s != "" && isLower(s, false) }

// isLower reports whether s consists of lowercase letters, hyphens and, if digits is true, digits.
func isLower[T string | []byte](s T, digits bool) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c == '-', digits && c >= '0' && c <= '9':
		default:
			return false
		}
	}
	return true
}

// Partition returns the partition of a record in a topic with n partitions; n must be positive. It applies Kafka's
// default partitioner (murmur2) to the hospital in the key. Therefore a hospital's records have the same partition
// number in all topics with the same number of partitions.
func Partition(key []byte, n int32) int32 {
	return int32(murmur2(HospitalOf(key))&0x7fffffff) % n
}

// murmur2 computes the same hash as org.apache.kafka.common.utils.Utils.murmur2.
func murmur2(b []byte) uint32 {
	const (
		seed = 0x9747b28c
		m    = 0x5bd1e995
		r    = 24
	)
	h := seed ^ uint32(len(b)) //nolint:gosec // as in Java, where a length has 31 bits
	for ; len(b) >= 4; b = b[4:] {
		k := uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
		k *= m
		k ^= k >> r
		k *= m
		h *= m
		h ^= k
	}
	switch len(b) {
	case 3:
		h ^= uint32(b[2]) << 16
		fallthrough
	case 2:
		h ^= uint32(b[1]) << 8
		fallthrough
	case 1:
		h ^= uint32(b[0])
		h *= m
	}
	h ^= h >> 13
	h *= m
	h ^= h >> 15
	return h
}
