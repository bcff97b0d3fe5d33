package verdict

import (
	"math/rand/v2"
	"testing"
	"time"

	"svc/internal/stream"
)

// TestTheViewHearsLater holds charts back at random. Meanwhile the view keeps its
// charts and its position. Afterwards it equals the view of a task that held nothing
// back.
func TestTheViewHearsLater(t *testing.T) {
	records := inputs(t, 900, 3, 20*time.Second)
	steady, held := newLog(t), newLog(t)
	random := rand.New(rand.NewPCG(3, 4))
	compared, waited := 0, 0
	for i := 0; i < len(records); {
		n := min(1+random.IntN(20), len(records)-i)
		for _, r := range records[i : i+n] {
			steady.apply(r)
			held.apply(r)
		}
		i += n
		hold, before := random.IntN(3) > 0 && i < len(records), held.view.applied
		held.task.(stream.Deferrer).Defer(hold) //nolint:errcheck // it is one
		steady.commit()
		held.commit()
		if hold {
			waited++
			if held.view.applied != before {
				t.Fatalf("the view is at %d, and nothing was shown since %d", held.view.applied, before)
			}
			continue
		}
		if held.view.applied != steady.view.applied {
			t.Fatalf("the view is at %d, want %d", held.view.applied, steady.view.applied)
		}
		for hospital, want := range steady.view.charts {
			if compared++; !sameChart(held.view.charts[hospital], want) {
				t.Fatalf("after input %d the view of %s is not what it would be had nothing been held back", i, hospital)
			}
		}
	}
	if compared == 0 || waited == 0 {
		t.Fatalf("%d charts were compared, %d transactions held back", compared, waited)
	}
	if len(steady.changelog) != len(held.changelog) {
		t.Errorf("%d records were written, want %d", len(held.changelog), len(steady.changelog))
	}
}
