package hospital

import (
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"slices"

	"svc/acuity"
)

// leastTableVersion is above every version of a row, and the versions of tables that follow
// from it are exact as numbers of JSON.
const leastTableVersion = 1 << 52

// TableVersion returns the version of a whole table, given those of its rows by their ids.
// It is another one after any row was set or removed, so [acuity.Act.Expect] may name it for an
// act on many rows.
func TableVersion(rows map[string]int64) int64 {
	h := sha256.New()
	var b []byte
	for _, id := range slices.Sorted(maps.Keys(rows)) {
		b = binary.AppendUvarint(b[:0], uint64(len(id)))
		b = append(b, id...)
		b = binary.AppendVarint(b, rows[id])
		h.Write(b)
	}
	sum := binary.BigEndian.Uint64(h.Sum(nil))
	return leastTableVersion | int64(sum&(leastTableVersion-1))
}

// isTable reports whether the table that an act changes has the version that it expects.
func (s *localSettings) isTable(o *acuity.Observation, version int64) bool {
	rows := map[string]int64{}
	switch {
	case version < leastTableVersion:
		return false
	case len(o.Mappings) > 0:
		for id, m := range s.mappings {
			rows[id] = m.Version
		}
	case len(o.Locations) > 0:
		for id, p := range s.places {
			rows[id] = p.Version
		}
	default:
		return false
	}
	return TableVersion(rows) == version
}
