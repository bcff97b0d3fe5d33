package view

import (
	"fmt"
	"maps"
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

// A reader whose version is at least recent.from gets the newest version by applying the rooms of recent. recent
// covers as many versions as its size limit permits.
func TestRecentLeadsToTheNewest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		version := rapid.Int64Range(0, 9).Draw(t, "first")
		r := recent{from: version, to: version}
		now := map[int32]string{}
		all := map[int64]map[int32]string{version: {}}
		changed := map[int64]int{} // approximate number of changed bytes, by version
		for range rapid.IntRange(8, 30).Draw(t, "changes") {
			version += rapid.Int64Range(1, 3).Draw(t, "step")
			rooms := map[int32][]byte{}
			for range rapid.IntRange(0, 4).Draw(t, "rooms") {
				id := rapid.Int32Range(-3, 8).Draw(t, "id")
				rooms[id] = nil
				delete(now, id)
				if size := rapid.SampledFrom([]int{-1, 0, 10, 250, 600}).Draw(t, "size"); size >= 0 {
					now[id] = fmt.Sprintf("%*d", size, version)
					rooms[id] = []byte(now[id])
				}
				changed[version] += 8 + len(rooms[id])
			}
			r.add(version, rooms)
			all[version] = maps.Clone(now)

			encoded := r.encode()
			if len(encoded) > recentBytes+32 {
				t.Fatalf("%d bytes", len(encoded))
			}
			read, ok := decodeRecent(encoded)
			if !ok || read.from != r.from || read.to != version {
				t.Fatalf("from %d to %d is read as %+v, %v", r.from, r.to, read, ok)
			}
			later := 0
			for had := version; had >= 0; had-- {
				rooms, known := all[had]
				if known && had >= read.from {
					if got := taken(rooms, &read); !reflect.DeepEqual(got, now) {
						t.Fatalf("from %d of %d: %v, want %v", had, version, got, now)
					}
				}
				if known && had < read.from && later <= recentBytes {
					t.Fatalf("%d bytes changed after %d, and it reaches back to %d only", later, had, read.from)
				}
				later += changed[had]
			}
		}
	})
}

func taken(rooms map[int32]string, r *recent) map[int32]string {
	rooms = maps.Clone(rooms)
	for _, room := range r.rooms {
		if room.chart == nil {
			delete(rooms, room.id)
		} else {
			rooms[room.id] = string(room.chart)
		}
	}
	return rooms
}

// No bytes cause decodeRecent to panic. A recent that is cut off is rejected, unless it ends between two rooms.
func TestRecentOfOthers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")
		if r, ok := decodeRecent(b); ok && len(b) < 2 {
			t.Fatalf("%x is read as %+v", b, r)
		}
	})
	r := recent{from: 5, to: 7, rooms: []recentRoom{{1, 6, []byte("chart")}, {2, 7, nil}}}
	encoded := r.encode()
	for n := range len(encoded) {
		read, ok := decodeRecent(encoded[:n])
		if whole := n == 2 || n == len(encoded)-2; ok != whole { // the bytes end between two rooms
			t.Errorf("%d of %d bytes are read as %+v, %v", n, len(encoded), read, ok)
		}
	}
}
