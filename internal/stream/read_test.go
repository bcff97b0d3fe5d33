package stream

import (
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
)

func TestBackReadsNewestFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		if err := r.cluster.Ensure(t.Context(), Topic{Name: "acts", Partitions: 1}); err != nil {
			t.Fatal(err)
		}
		back := func(before int64, most int) (values []string) {
			t.Helper()
			err := r.cluster.Back(t.Context(), "acts", 0, before, func(rec Record) bool {
				values = append(values, string(rec.Value))
				return len(values) < most
			})
			if err != nil {
				t.Fatal(err)
			}
			return values
		}
		if got := back(Newest, 10); len(got) != 0 {
			t.Errorf("an empty topic has %v", got)
		}
		p := r.cluster.Publisher("acts")
		const n = 2*backStep + 7
		var want []string
		for i := range n {
			if _, err := p.Append(t.Context(), []byte("h"), []byte(strconv.Itoa(i)), 0); err != nil {
				t.Fatal(err)
			}
			want = append(want, strconv.Itoa(i))
		}
		slices.Reverse(want)
		if got := back(Newest, n+1); !slices.Equal(got, want) {
			t.Errorf("%d records, want %d, newest first", len(got), n)
		}
		if got := back(5, 3); !slices.Equal(got, []string{"4", "3", "2"}) {
			t.Errorf("before 5: %v", got)
		}
		if got := back(n+1000, 1); !slices.Equal(got, want[:1]) { // Back does not wait for records up to the offset
			t.Errorf("before one that is not there yet: %v", got)
		}
	})
}

func TestRangeReadsFromAnInstant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		p := r.cluster.Publisher(inTopic)
		var middle time.Time
		for i := range 6 {
			if i == 3 {
				middle = time.Now()
			}
			if _, err := p.Append(t.Context(), []byte("k"), []byte{byte(i)}, 1); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
		}
		at, err := r.cluster.At(t.Context(), inTopic, 1, middle)
		if err != nil || at != 3 {
			t.Fatalf("at %d, %v; want 3", at, err)
		}
		if after, fault := r.cluster.At(t.Context(), inTopic, 1, time.Now().Add(time.Hour)); fault != nil || after != 6 {
			t.Errorf("after the end: %d, %v; want 6", after, fault)
		}
		read := func(s Span, most int) (got []byte) {
			t.Helper()
			fault := r.cluster.Range(t.Context(), inTopic, s, func(rec Record) error {
				if got = append(got, rec.Value...); len(got) == most {
					return ErrStop
				}
				return nil
			})
			if fault != nil {
				t.Error(fault)
			}
			return got
		}
		spans, err := r.cluster.Spans(t.Context(), inTopic, middle, time.Time{})
		if want := (Span{1, 3, 6}); err != nil || spans[1] != want {
			t.Fatalf("spans %v, %v; want %v", spans, err, want)
		}
		if got := read(spans[1], 10); !slices.Equal(got, []byte{3, 4, 5}) {
			t.Errorf("read %v", got)
		}
		if got := read(spans[1], 2); !slices.Equal(got, []byte{3, 4}) {
			t.Errorf("read %v until the stop", got)
		}
		// Records that retention has deleted are omitted.
		deleted := kadm.Offsets{}
		deleted.Add(kadm.Offset{Topic: inTopic, Partition: 1, At: 4})
		if _, err := r.cluster.admin.DeleteRecords(t.Context(), deleted); err != nil {
			t.Fatal(err)
		}
		if got := read(Span{1, 0, 6}, 10); !slices.Equal(got, []byte{4, 5}) {
			t.Errorf("read %v after a deletion", got)
		}
		if got := read(Span{1, 1, 2}, 10); got != nil {
			t.Errorf("read %v, which is deleted", got)
		}
	})
}
