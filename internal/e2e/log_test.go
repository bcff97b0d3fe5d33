package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"svc/acuity"
	"svc/acuity/hospital/hospitaltest"
	"svc/schemas"
)

// systemLog contains every observation and change in the log of a system, as an independent client
// reads it.
type systemLog struct {
	observations map[position]*acuity.Observation
	changes      map[string][]placed          // by hospital, in the order of the log
	snapshots    map[string][]acuity.Snapshot // by hospital, in the order of the log
}

type placed struct {
	acuity.Change
	partition int32
}

// readLog reads all committed observations, changes and snapshots.
func readLog(t testing.TB, broker, prefix string) *systemLog {
	t.Helper()
	l := &systemLog{observations: map[position]*acuity.Observation{}, changes: map[string][]placed{}, snapshots: map[string][]acuity.Snapshot{}}
	readTopic(t, broker, prefix+schemas.Observations().Name, func(r *kgo.Record) {
		o, _, err := schemas.ReadInput(r.Key, r.Value)
		if err != nil {
			t.Fatalf("observation %d:%d: %v", r.Partition, r.Offset, err)
		}
		l.observations[position{r.Partition, r.Offset}] = o
	})
	readTopic(t, broker, prefix+schemas.Verdicts().Name, func(r *kgo.Record) {
		if !schemas.IsChange(r.Key) {
			return
		}
		hospital := string(r.Key)
		c, err := schemas.ChangeCodec.Decode(r.Value)
		if err != nil {
			t.Fatalf("change %d:%d: %v", r.Partition, r.Offset, err)
		}
		l.changes[hospital] = append(l.changes[hospital], placed{*c, r.Partition})
	})
	readTopic(t, broker, prefix+schemas.Snapshots().Name, func(r *kgo.Record) { // after the changes, so that no snapshot is missing
		s, err := schemas.SnapshotCodec.Decode(r.Value)
		if err != nil {
			t.Fatalf("snapshot %d:%d: %v", r.Partition, r.Offset, err)
		}
		l.snapshots[s.Hospital] = append(l.snapshots[s.Hospital], s.Snapshot)
	})
	return l
}

// readApplied waits until the log contains a change for every observation, and returns the log. It does not rely on
// the view, because the view reports no pending records until a killed processor is replaced, which takes some
// seconds.
func readApplied(t testing.TB, broker, prefix string) (l *systemLog) {
	t.Helper()
	eventually(t, 90*time.Second, func() error {
		l = readLog(t, broker, prefix)
		applied := 0
		for _, changes := range l.changes {
			for _, c := range changes {
				if c.Cause == acuity.CauseIngest {
					applied++
				}
			}
		}
		if applied < len(l.observations) {
			return fmt.Errorf("%d of %d applied", applied, len(l.observations))
		}
		return nil
	})
	return l
}

// readSettled waits until all records are applied and no timer of the test is pending, and returns the log. A unit's
// state does not show every pending change, such as the hours of a history that was sent as a batch, so readSettled
// also compares the log with the reference.
func readSettled(t testing.TB, partners []*partner, broker, prefix string) (l *systemLog) {
	t.Helper()
	readApplied(t, broker, prefix)
	waitUntilSettled(t, partners)
	eventually(t, time.Minute, func() error {
		l = readLog(t, broker, prefix) // including the changes that timers caused
		for _, p := range partners {
			soon := hospitaltest.Fold(l.inputs(p.hospital), acuity.At(time.Now().Add(10*time.Second)))
			if due := len(soon.Changes) - len(l.changes[p.hospital]); due > 0 {
				return fmt.Errorf("%s: %d changes are due", p.hospital, due)
			}
		}
		return nil
	})
	return l
}

// awaitSettled returns the end offsets of a topic once no transaction is open before these offsets. The broker
// confirms a commit to the processor before it writes the commit marker; until the marker is written, the records of
// the transaction are hidden.
func awaitSettled(ctx context.Context, t testing.TB, admin *kadm.Client, topic string) (ends kadm.ListedOffsets) {
	t.Helper()
	ends, err := admin.ListEndOffsets(ctx, topic)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, 20*time.Second, func() error {
		stable, err := admin.ListCommittedOffsets(ctx, topic)
		if err != nil {
			return err
		}
		for _, end := range ends[topic] {
			if s, _ := stable.Lookup(topic, end.Partition); s.Offset < end.Offset {
				return fmt.Errorf("partition %d is stable to %d of %d", end.Partition, s.Offset, end.Offset)
			}
		}
		return nil
	})
	return ends
}

// readTopic calls fn for every committed record of a topic, in order within each partition, up to the
// end offsets at the time of the call.
func readTopic(t testing.TB, broker, topic string, fn func(*kgo.Record)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	admin, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(broker, ",")...), kgo.AlwaysRetryEOF())
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	first, err := kadm.NewClient(admin).ListStartOffsets(ctx, topic)
	if err != nil {
		t.Fatal(err)
	}
	ends := awaitSettled(ctx, t, kadm.NewClient(admin), topic)
	left := map[int32]int64{} // end offsets of the partitions that are not fully read
	from := map[string]map[int32]kgo.Offset{topic: {}}
	ends.Each(func(o kadm.ListedOffset) {
		if begin, _ := first.Lookup(topic, o.Partition); begin.Offset < o.Offset {
			left[o.Partition] = o.Offset
			from[topic][o.Partition] = kgo.NewOffset().At(begin.Offset)
		}
	})
	if len(left) == 0 {
		return
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(broker, ",")...), kgo.AlwaysRetryEOF(), kgo.ConsumePartitions(from),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for len(left) > 0 {
		fetches := client.PollFetches(ctx)
		if ctx.Err() != nil {
			t.Fatalf("read %s: not at the end of %v in a minute", topic, left)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			end, reading := left[r.Partition]
			if !reading {
				return
			}
			if r.Offset < end && !r.Attrs.IsControl() {
				fn(r)
			}
			if r.Offset >= end-1 { // the last record itself is hidden if its transaction was aborted
				delete(left, r.Partition)
			}
		})
	}
}

// check expects every acknowledged input in the log, exactly one change for each input in the log, and versions
// without a gap. Only a timer may cause a change without an input.
func (l *systemLog) check(t testing.TB, acked []acknowledged) {
	t.Helper()
	applied := map[position]string{}
	for hospital, changes := range l.changes {
		for i, c := range changes {
			if want := int64(i + 1); c.Version != want {
				t.Fatalf("%s: version %d in place %d of its log", hospital, c.Version, want)
			}
			if i > 0 && c.AppliedAt < changes[i-1].AppliedAt {
				t.Errorf("%s: the clock runs backwards at version %d", hospital, c.Version)
			}
			if c.Cause == acuity.CauseTime {
				continue
			}
			at := position{c.partition, c.Offset}
			if before, twice := applied[at]; twice {
				t.Errorf("input %v was applied twice, for %s and %s", at, before, hospital)
			}
			applied[at] = hospital
			if o := l.observations[at]; o == nil || o.Hospital != hospital {
				t.Errorf("%s: version %d is of input %v, which is not its own", hospital, c.Version, at)
			}
		}
	}
	for at, o := range l.observations {
		if applied[at] == "" {
			t.Errorf("input %v of %s (%s) is in no change", at, o.Hospital, o.Channel)
		}
	}
	for _, a := range acked {
		if l.observations[a.position] == nil {
			t.Errorf("acknowledged input %v of %s (%s) is not in the log", a.position, a.hospital, a.feed)
		}
	}
	t.Logf("log: %d inputs, %d changes", len(l.observations), func() (n int) {
		for _, c := range l.changes {
			n += len(c)
		}
		return n
	}())
}

// inputs returns the observations of a hospital in order, each with the time at which the live
// processor applied it.
func (l *systemLog) inputs(hospital string) []acuity.Observation {
	var inputs []acuity.Observation
	for _, c := range l.changes[hospital] {
		if c.Cause == acuity.CauseTime || c.Outcome == acuity.Rejected {
			continue
		}
		o := *l.observations[position{c.partition, c.Offset}]
		o.AppliedAt = c.AppliedAt
		inputs = append(inputs, o)
	}
	return inputs
}

// canaries expects that no key or value in any topic of a system contains one of the given strings.
func canaries(t testing.TB, broker, prefix string, texts ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	admin, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(broker, ",")...), kgo.AlwaysRetryEOF())
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	topics, err := kadm.NewClient(admin).ListTopics(ctx)
	if err != nil {
		t.Fatal(err)
	}
	searched := 0
	for _, topic := range topics.Names() {
		if !strings.HasPrefix(topic, prefix+"svc.") {
			continue
		}
		readTopic(t, broker, topic, func(r *kgo.Record) {
			searched++
			findCanary(t, fmt.Sprintf("%s %d:%d", topic, r.Partition, r.Offset), string(r.Key)+"\x00"+string(r.Value), texts)
		})
	}
	if searched == 0 {
		t.Error("no record was searched")
	}
}

func findCanary(t testing.TB, place, text string, canaries []string) {
	t.Helper()
	lower := strings.ToLower(text)
	if i := slices.IndexFunc(canaries, func(c string) bool { return strings.Contains(lower, strings.ToLower(c)) }); i >= 0 {
		t.Errorf("%s holds %q", place, canaries[i])
	}
}

// searchRedis expects that no key or value in Redis contains one of the given strings.
func searchRedis(t testing.TB, address string, texts []string) {
	t.Helper()
	ctx := context.Background()
	client := redis.NewClient(&redis.Options{Addr: address})
	defer client.Close()
	keys, err := client.Keys(ctx, "*").Result()
	if err != nil {
		t.Fatal(err)
	}
	if len(keys) == 0 {
		t.Error("no key was searched")
	}
	for _, key := range keys {
		findCanary(t, "Redis key", key, texts)
		var value string
		switch kind := client.Type(ctx, key).Val(); kind {
		case "hash":
			value = fmt.Sprint(client.HGetAll(ctx, key).Val())
		case "set":
			value = fmt.Sprint(client.SMembers(ctx, key).Val())
		case "zset":
			value = fmt.Sprint(client.ZRange(ctx, key, 0, -1).Val())
		case "string":
			value = client.Get(ctx, key).Val()
		case "none": // the key expired after it was listed
			continue
		default:
			t.Errorf("Redis key of kind %s is not searched", kind)
		}
		findCanary(t, "Redis value of "+key, value, texts)
	}
}
