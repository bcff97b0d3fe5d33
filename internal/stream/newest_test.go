package stream

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// For any sequence of records, a restore emits the newest record of each live key unchanged, in the order of the log.
func TestNewestOfEachKey(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := newNewest()
		n.index(rapid.SampledFrom([]int{1, newestPlaces}).Draw(t, "lists at first")) // with one list at first, the index must grow
		if rapid.Bool().Draw(t, "one hash for all") {
			n.hash = func([]byte) uint32 { return 1 }
		}
		model := map[string]Record{}
		buffer := make([]byte, 0, 64) // reused, like the buffer of a fetch
		for offset := range rapid.IntRange(0, 60).Draw(t, "records") {
			key := rapid.SampledFrom([]string{"a", "b", "a/b", "c", "d", "e"}).Draw(t, "key")
			r := Record{Partition: 7, Offset: int64(offset), Timestamp: time.UnixMilli(int64(offset))}
			buffer = append(append(buffer[:0], key...), strings.Repeat(fmt.Sprint(offset), rapid.IntRange(0, 20).Draw(t, "length"))...)
			r.Key, r.Value = buffer[:len(key)], buffer[len(key):]
			if rapid.IntRange(0, 3).Draw(t, "gone") == 0 {
				r.Value = nil
				delete(model, key)
			} else {
				kept := r
				kept.Key, kept.Value = []byte(key), []byte(string(r.Value))
				model[key] = kept
			}
			n.add(r)
		}
		var have, want []string
		for _, r := range model {
			want = append(want, fmt.Sprintf("%03d %d %s=%s %v", r.Offset, r.Partition, r.Key, r.Value, r.Timestamp))
		}
		if err := n.each(7, func(r Record) error {
			have = append(have, fmt.Sprintf("%03d %d %s=%s %v", r.Offset, r.Partition, r.Key, r.Value, r.Timestamp))
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		slices.Sort(want)
		if !slices.Equal(have, want) {
			t.Fatalf("have %q, want %q", have, want)
		}
	})
}
