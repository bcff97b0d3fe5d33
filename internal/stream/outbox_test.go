package stream

import (
	"slices"
	"strconv"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Records keep their order and their place, and leave nothing in the memory that the
// next ones get.
func TestOutboxKeepsRecordsInPlace(t *testing.T) {
	var o outbox
	for _, n := range []int{0, 1, blockRecords, blockRecords + 1, 5 * blockRecords, 3} {
		var at, have []*kgo.Record
		for i := range n {
			r := o.add(kgo.Record{Key: []byte(strconv.Itoa(i))})
			if r.Offset != 0 {
				t.Fatalf("record %d of %d has the offset %d of one before it", i, n, r.Offset)
			}
			at = append(at, r)
		}
		o.each(func(r *kgo.Record) {
			if string(r.Key) != strconv.Itoa(len(have)) {
				t.Fatalf("record %d of %d is %q", len(have), n, r.Key)
			}
			have = append(have, r)
			r.Offset = 7 // as the client does
		})
		if !slices.Equal(have, at) {
			t.Fatalf("%d records were handed out in another place or number than they were added", n)
		}
		o.reset()
	}
}
