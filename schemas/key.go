package schemas

import (
	"bytes"
	"errors"
	"strconv"
	"strings"

	"svc/acuity"
)

// Key names the hospital of a record and the piece of it. "h" is the hospital itself: its
// observations that name no room, and on the verdicts its changes. "h/unit" and "h/room/12"
// are pieces of it. The hospital decides the partition, the whole key the compaction.
type Key struct {
	Hospital string // [a-z0-9][a-z0-9-]{0,63}
	Kind     string // "": the record of the hospital itself
	ID       string // within the kind; "" if a hospital has one of the kind
}

// The kinds of state on the verdicts. Settings have kinds of their own.
const (
	KindUnit      = "unit"
	KindRoom      = "room" // also of observations about one room
	KindVisit     = "visit"
	KindMapping   = "mapping"
	KindStatement = "statement"
	KindDedup     = "dedup"
	KindCode      = "code"
	KindRule      = "rule"
	KindPlace     = "place"

	KindSwitches = "switches"
)

// ErrKey marks bytes that are not a record key, such as the key of a barrier.
var ErrKey = errors.New("no record key")

// RoomKey returns the key of a room.
func RoomKey(hospital string, room int32) Key {
	return Key{Hospital: hospital, Kind: KindRoom, ID: strconv.Itoa(int(room))}
}

// String returns the key as it is written.
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

// ParseKey reads a key. The id is everything after the kind, in any characters.
func ParseKey(key []byte) (Key, error) {
	hospital, rest, more := strings.Cut(string(key), "/")
	kind, id, named := strings.Cut(rest, "/")
	if !isHospital(hospital) || more && !isKind(kind) || named && id == "" {
		return Key{}, ErrKey
	}
	return Key{Hospital: hospital, Kind: kind, ID: id}, nil
}

// IsChange reports whether a key on the verdicts is that of a change: a hospital and nothing
// else. Readers call it for every record, so it allocates nothing.
func IsChange(key []byte) bool { return isHospital(key) }

// HospitalOf returns the part of a key that decides the partition: the bytes before the first
// "/". Foreign bytes are not checked; see [ParseKey].
func HospitalOf(key []byte) []byte {
	hospital, _, _ := bytes.Cut(key, []byte("/"))
	return hospital
}

// ObservationKey returns the key of an observation: its room if it is about one room, else its
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

// isLower reports whether s consists of lower-case letters, hyphens and, if digits is set,
// digits.
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
