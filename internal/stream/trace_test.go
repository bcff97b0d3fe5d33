package stream

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// testTraceparent returns a traceparent whose trace id and span id are both n.
func testTraceparent(n int) string {
	return fmt.Sprintf("00-%032x-%016x-01", n, n)
}

type testSpan string

func (s testSpan) Traceparent() string { return string(s) }

// outage is a counter whose first call to Outputs fails in each partition, so that the inputs of that transaction are
// applied twice.
type outage struct {
	*counter
	failures *sync.Map
}

func (o outage) Outputs(emit func(key, value []byte)) error {
	if _, failed := o.failures.LoadOrStore(o.partition, true); !failed {
		return errors.New("test")
	}
	return o.counter.Outputs(emit)
}

// TestTracedInputs: an input with a traceparent has one committed span, even if its transaction is repeated. Only the
// output that the input caused has the traceparent of that span. Other records have no header. A restore does not start
// a span.
func TestTracedInputs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		var (
			mu        sync.Mutex
			started   int
			committed []string
			failures  sync.Map
			stats     Stats
		)
		config := Config{
			Stats: &stats,
			NewTask: func(partition int32) Task {
				return outage{newCounter(partition).(*counter), &failures} //nolint:errcheck,forcetypeassert // always a *counter
			},
			Trace: func(in Record) interface{ Traceparent() string } {
				mu.Lock()
				defer mu.Unlock()
				started++
				n, err := strconv.ParseInt(in.Traceparent[3:35], 16, 64)
				if err != nil {
					t.Error(err)
				}
				return testSpan(testTraceparent(int(n) + 100)) // the span of the processor
			},
			Cause: func(key, value []byte) (int64, bool) {
				at, err := strconv.ParseInt(string(value), 10, 64)
				return at, err == nil && string(key) == "in"
			},
			Committed: func(_ int32, inputs []Input, _ time.Time) {
				mu.Lock()
				defer mu.Unlock()
				for i := range inputs {
					if inputs[i].Span != nil {
						committed = append(committed, inputs[i].Span.Traceparent())
					}
				}
			},
		}
		p := r.cluster.Publisher(inTopic)
		for i := range 12 { // four in each partition, the first and third are traced
			traceparent := ""
			if i/parts%2 == 0 {
				traceparent = testTraceparent(i + 1)
			}
			if _, err := p.AppendTraced(t.Context(), []byte("k"), []byte("add"), int32(i%parts), traceparent); err != nil {
				t.Fatal(err)
			}
		}
		stop := r.process(r.cluster, config)
		r.await("records", 12, stats.Records.Load)
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		r.exact(12)
		var want []string
		for _, n := range []int{1, 2, 3, 7, 8, 9} {
			want = append(want, testTraceparent(n+100))
		}
		if slices.Sort(committed); !slices.Equal(committed, want) {
			t.Errorf("committed spans %q, want %q", committed, want)
		}
		if started <= len(want) {
			t.Errorf("%d spans were started: no transaction was repeated", started)
		}
		seen := started
		stop = r.process(r.cluster, config) // restores the partitions
		r.send(1)
		r.await("records", 13, stats.Records.Load)
		if err := stop(); err != nil || started != seen {
			t.Errorf("%v; a restore started %d spans", err, started-seen)
		}
		var outputs []string
		if err := r.cluster.readTo(t.Context(), logTopic, nil, []int32{0, 1, 2}, func(rec Record) error {
			mu.Lock()
			defer mu.Unlock()
			if rec.Traceparent != "" {
				outputs = append(outputs, string(rec.Key)+" "+rec.Traceparent)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		slices.Sort(outputs)
		if got := strings.ReplaceAll(strings.Join(outputs, ","), "in ", ""); got != strings.Join(want, ",") {
			t.Errorf("outputs %s, want %q", got, want)
		}
	})
}

// TestTraceHeaders: a record that is not traced has no header. A reader ignores other headers and malformed values.
func TestTraceHeaders(t *testing.T) {
	if traceHeaders("") != nil {
		t.Error("a record that is not traced has headers")
	}
	want := testTraceparent(7)
	for name, tt := range map[string]struct {
		headers []kgo.RecordHeader
		want    string
	}{
		"none":    {nil, ""},
		"its own": {traceHeaders(want), want},
		"others":  {append([]kgo.RecordHeader{{Key: "x", Value: []byte(want)}}, traceHeaders(want)...), want},
		"long":    {traceHeaders(want + "-more"), ""},
		"a copy":  {copied, ""},
	} {
		if got := traceparentOf(&kgo.Record{Headers: tt.headers}); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
	record := &kgo.Record{Key: []byte("k"), Value: []byte("v")}
	if got := testing.AllocsPerRun(100, func() {
		_ = traceHeaders("")
		_ = traceparentOf(record)
	}); got != 0 {
		t.Errorf("%v allocations without traces", got)
	}
}
