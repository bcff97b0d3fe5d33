package projection

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"svc/acuity"
	"svc/internal/stream"
	"svc/internal/view"
	"svc/processors/verdict"
	"svc/schemas"
)

// moved is a partition that moves from one task to another within this process, as it does when the group revokes and
// reassigns it.
type moved struct {
	t          *testing.T
	redis      *view.View
	projection *Projection
	changelog  []stream.Record
	inputs     int64
}

func newMoved(t *testing.T) *moved {
	t.Helper()
	server, err := view.Embed()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	m := &moved{t: t}
	m.redis, err = view.Open(view.Config{
		URL: server.URL(), Partition: func(string) int32 { return 0 }, Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	m.projection = New(m.redis, "g", time.Now)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- m.projection.Projector.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		<-done
		m.redis.Close()
	})
	return m
}

// restored returns a task that has read the changelog and owns the partition.
func (m *moved) restored() stream.Task {
	m.t.Helper()
	task := verdict.Tasks(m.projection)(0)
	for _, r := range m.changelog {
		if err := task.Restore(r); err != nil {
			m.t.Fatal(err)
		}
	}
	if _, err := task.Restored(); err != nil {
		m.t.Fatal(err)
	}
	return task
}

// commit applies one input and commits the task's outputs.
func (m *moved) commit(task stream.Task) {
	m.t.Helper()
	o := acuity.Observation{Hospital: "north", ReceivedAt: acuity.Instant(m.inputs+1) * 1000, Staffing: &acuity.Staffing{Nurses: int32(m.inputs)}}
	value, err := schemas.EncodeObservation(nil, &o)
	if err != nil {
		m.t.Fatal(err)
	}
	if err = task.Apply(stream.Record{Offset: m.inputs, Key: []byte("north"), Value: value}); err != nil {
		m.t.Fatal(err)
	}
	m.inputs++
	err = task.Outputs(func(key, value []byte) {
		m.changelog = append(m.changelog, stream.Record{Offset: int64(len(m.changelog)), Key: bytes.Clone(key), Value: bytes.Clone(value)})
	})
	if err != nil {
		m.t.Fatal(err)
	}
	task.Committed()
}

// shows waits until the view contains all inputs.
func (m *moved) shows() {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(m.t.Context(), time.Minute)
	defer cancel()
	if err := m.redis.Watermark().Wait(ctx, 0, m.inputs-1); err != nil {
		m.t.Fatalf("the view never had input %d: %v", m.inputs-1, err)
	}
	if s, err := m.redis.Read(ctx, "north"); err != nil || s.Version != m.inputs {
		m.t.Fatalf("the view has version %d, %v, want %d", s.Version, err, m.inputs)
	}
}

// TestTaskReplacesItself: when a broker pauses, a partition is revoked and assigned to the same process again. The
// new task may be restored, and may even commit, before the loop closes the old task. In every order of these steps,
// the view must show the new task's state, and the process must own the partition until the new task closes.
func TestTaskReplacesItself(t *testing.T) {
	for _, order := range []string{
		"old closes, new owns, new commits",
		"new owns, old closes, new commits",
		"new owns, new commits, old closes, new commits",
		"new owns, old shows, old closes, new commits",
		"new owns, new commits, old shows, new commits, old closes",
		"old fails to restore, old closes, new owns, new commits",
		"new owns, other fails to restore, new commits, old closes",
	} {
		t.Run(order, func(t *testing.T) {
			m := newMoved(t)
			old := m.restored()
			m.commit(old)
			m.shows()
			var young stream.Task
			for step := range strings.SplitSeq(order, ", ") {
				switch step {
				case "new owns":
					young = m.restored()
				case "new commits":
					m.commit(young)
					m.shows()
				case "old closes":
					old.Close()
				case "old shows": // the old task commits a transaction without outputs
					if err := old.Outputs(func([]byte, []byte) {}); err != nil {
						t.Fatal(err)
					}
					old.Committed()
				default: // a task that was never restored, and so never owned the partition, closes
					verdict.Tasks(m.projection)(0).Close()
				}
			}
			m.commit(young)
			m.shows()
			m.projection.rewrite(0) // as the projector does when Redis loses the view
			m.shows()
			if owned := m.projection.owned(); !slices.Equal(owned, []int32{0}) {
				t.Errorf("the process owns %v", owned)
			}
			young.Close()
			if owned := m.projection.owned(); len(owned) > 0 {
				t.Errorf("the process still owns %v", owned)
			}
		})
	}
}

// TestOldestSinceTakeOver: the age of a record that was pending before this process acquired the partition counts from
// the record's timestamp. If Kafka does not respond, the age counts from the takeover.
func TestOldestSinceTakeOver(t *testing.T) {
	at := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	v := &Projection{now: func() time.Time { return at }, partitions: map[int32]*partitionCharts{}}
	v.partitions[3] = &partitionCharts{view: v, partition: 3, applied: 10, fresh: view.FreshnessSince(at)}
	v.partitions[3].fresh.RecordProgress(10)
	if got := v.Behind(at.Add(time.Minute)); got != time.Minute {
		t.Errorf("the log is silent: %v behind", got)
	}
	if got := v.unasked(map[int32]int64{3: 11, 4: 9}); len(got) != 0 {
		t.Errorf("nothing waits, and the oldest of %v is asked for", got)
	}
	if got := v.unasked(map[int32]int64{3: 15}); len(got) != 1 || got[3] != 10 {
		t.Errorf("the oldest of %v is asked for", got)
	}
	v.recordWait(3, 11, at.Add(-time.Hour))
	if got := v.Behind(at); got != time.Hour {
		t.Errorf("a record of an hour ago waits: %v behind", got)
	}
	if got := v.unasked(map[int32]int64{3: 15}); len(got) != 0 {
		t.Errorf("asked again for %v", got)
	}
}
