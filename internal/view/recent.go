package view

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strconv"
)

// recent contains the rooms of a hospital that changed in the versions (from, to], each in its newest state. A reader
// that has any version in [from, to) applies these rooms to get the newest version.
//
// A recent describes the log, not the content of Redis, so it remains correct when Redis loses data. It is written
// together with the newest version and is valid only for that version. A release that does not know recent does not
// update it; readers ignore the outdated value.
type recent struct {
	from, to int64
	rooms    []recentRoom // oldest change first
}

type recentRoom struct {
	id      int32
	version int64  // version at which the room changed
	chart   []byte // encoded; nil: the room was removed
}

// recentBytes is the maximum size of recent: about eight rooms with five factors each. It is small because every
// change writes recent, and every reader that requests changes reads it. A reader whose version is too old for recent
// reads all rooms.
const recentBytes = 2 << 10

// add adds the rooms that the next version changed. If the size exceeds recentBytes, add drops the rooms with the
// oldest changes.
func (r *recent) add(version int64, rooms map[int32][]byte) {
	r.to = version
	r.rooms = slices.DeleteFunc(r.rooms, func(old recentRoom) bool {
		_, again := rooms[old.id]
		return again
	})
	for id, chart := range rooms {
		r.rooms = append(r.rooms, recentRoom{id, version, chart})
	}
	size, first := 0, len(r.rooms)
	for first > 0 && size+r.rooms[first-1].size() <= recentBytes {
		first--
		size += r.rooms[first].size()
	}
	if first > 0 {
		r.from = r.rooms[first-1].version // a reader with that version already has the room's change
		r.rooms = slices.Delete(r.rooms, 0, first)
	}
}

// size returns the approximate size of the encoded room in bytes.
func (r *recentRoom) size() int { return len(r.chart) + 8 }

// encode writes the two versions and then for each room the id, the length of the chart plus one (0: the room was
// deleted), and the chart.
func (r *recent) encode() []byte {
	size := 2 * binary.MaxVarintLen64
	for i := range r.rooms {
		size += r.rooms[i].size()
	}
	b := binary.AppendVarint(make([]byte, 0, size), r.from)
	b = binary.AppendVarint(b, r.to)
	for _, room := range r.rooms {
		b = binary.AppendVarint(b, int64(room.id))
		if room.chart == nil {
			b = binary.AppendUvarint(b, 0)
			continue
		}
		b = binary.AppendUvarint(b, uint64(len(room.chart))+1)
		b = append(b, room.chart...)
	}
	return b
}

// decodeRecent decodes the result of encode, and reports whether b is such a result.
func decodeRecent(b []byte) (recent, bool) {
	ok := true
	signed := func() int64 {
		n, size := binary.Varint(b)
		ok = ok && size > 0
		b = b[max(size, 0):]
		return n
	}
	r := recent{from: signed()}
	r.to = signed()
	for ok && len(b) > 0 {
		id := signed()
		length, size := binary.Uvarint(b)
		b = b[max(size, 0):]
		if id < math.MinInt32 || id > math.MaxInt32 || size <= 0 || length > uint64(len(b))+1 {
			return r, false
		}
		room := recentRoom{id: int32(id)}
		if length > 0 {
			room.chart, b = b[:length-1], b[length-1:]
		}
		r.rooms = append(r.rooms, room)
	}
	return r, ok
}

// ReadSince returns the state of a hospital to a reader that has an earlier state. If the view has the changes since
// then, ReadSince returns only the changed rooms; if not, it returns all rooms. It needs one round trip, and another
// one if all rooms are needed. With a zero Token, ReadSince is equivalent to Read.
func (b *View) ReadSince(ctx context.Context, hospital string, since Token) (Snapshot, error) {
	if since == (Token{}) {
		return b.Read(ctx, hospital)
	}
	// A single command returns fields of the same version.
	n := b.nodeOfHospital(ctx, hospital)
	token, fields, err := b.token(ctx, n, n.redis.Pipeline(), hospital, fieldPosition, fieldChart, fieldRecent)
	if errors.Is(err, ErrBehind) {
		return Snapshot{}, err
	}
	if err == nil {
		if s, ok := snapshotSince(since, token, fields[0], fields[1], fields[2]); ok {
			return s, nil
		}
	}
	return b.Read(ctx, hospital)
}

// snapshotSince returns the changes since an earlier state, and reports whether the fields contain these changes.
func snapshotSince(since, token Token, position, chart, changes string) (Snapshot, bool) {
	s := Snapshot{Token: token, Chart: chart, Partial: true}
	var err error
	if s.Position, err = strconv.ParseInt(position, 10, 64); err != nil || token.Generation != since.Generation {
		return s, false
	}
	if token == since {
		return s, true
	}
	r, ok := decodeRecent([]byte(changes))
	if !ok || r.to != token.Version || since.Version < r.from || since.Version > r.to {
		return s, false
	}
	for _, room := range r.rooms {
		if room.chart == nil {
			s.Gone = append(s.Gone, room.id)
		} else {
			s.Rooms = append(s.Rooms, Room{room.id, string(room.chart)})
		}
	}
	slices.SortFunc(s.Rooms, func(a, b Room) int { return cmp.Compare(a.ID, b.ID) })
	return s, true
}
