package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"svc/acuity"
	"svc/internal/analysis/analysistest"
	"svc/internal/analysis/verify"
	"svc/internal/stream"
	"svc/internal/testkit/loadgen"
	"svc/schemas"
)

// TestVerifyFindsFaults runs a processor through a day of three hospitals on real servers and stops it. For each kind
// of fault, it copies the output to another topic prefix and plants the fault in the copy. svc verify must report
// only this fault, with its key and version.
func TestVerifyFindsFaults(t *testing.T) {
	t.Parallel()
	l := liveOnServers(t)
	t.Run("none", func(t *testing.T) {
		c := l.copyOf(t)
		c.write()
		if found := c.verify(); len(found) != 0 {
			t.Errorf("found %v", found[0])
		}
	})
	for name, row := range analysistest.Faults {
		t.Run(name, func(t *testing.T) {
			c := l.copyOf(t)
			key, version := row.Plant(&c.Output)
			c.write()
			found := c.verify()
			if len(found) != 1 {
				t.Fatalf("%d differences", len(found))
			}
			if d := found[0]; d.Fault != row.Fault || d.Hospital != analysistest.Victim || d.Key != key || d.Version != version {
				t.Errorf("found %v\nwant %s at %s, version %d", d, row.Fault, key, version)
			}
		})
	}
}

// livedOnServers is the output of a processor on real servers.
type livedOnServers struct {
	analysistest.Output
	*system
	client *kgo.Client
	inputs []*kgo.Record
}

// liveOnServers runs a processor on the feeds of a day, and stops it.
func liveOnServers(t *testing.T) *livedOnServers {
	t.Helper()
	s := startSystem(t)
	s.front.stop() // the front has created the topics
	client, err := kgo.NewClient(kgo.SeedBrokers(s.kafka.address), kgo.AlwaysRetryEOF(), kgo.UnknownTopicRetries(-1), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	l := &livedOnServers{
		Output: emptyOutput(t), system: s, client: client,
	}
	processor := s.processor("p1")
	const inputs, step, parts = 2400, 40 * time.Second, 8 // inputs written in several parts cause several commits
	feeds := loadgen.New(3, 12, acuity.At(time.Now().Add(-inputs*step)), step)
	for range parts {
		var records []*kgo.Record
		for range inputs / parts {
			o := feeds.Next()
			value, err := schemas.EncodeObservation(nil, o)
			if err != nil {
				t.Fatal(err)
			}
			key := []byte(schemas.ObservationKey(o).String())
			records = append(records, &kgo.Record{Partition: schemas.Partition(key, partitions), Key: key, Value: value, Timestamp: o.ReceivedAt.Time()})
		}
		l.append(s.prefix+schemas.Observations().Name, records)
		l.inputs = append(l.inputs, records...)
		l.shown()
	}
	processor.stop()
	for name, records := range l.written() {
		readTopic(t, s.kafka.address, s.prefix+name, func(r *kgo.Record) {
			records[r.Partition] = append(records[r.Partition], stream.Record{Partition: r.Partition, Key: r.Key, Value: r.Value, Timestamp: r.Timestamp})
		})
	}
	view := s.redisClient()
	for n := range int32(partitions) {
		for _, hospital := range view.SMembers(t.Context(), fmt.Sprintf("%ssvc:{%d}units", s.prefix, n)).Val() {
			l.Views[hospital] = readView(t, view, unitKey(s.prefix, hospital))
		}
	}
	if len(l.Views) != 3 {
		t.Fatalf("the view has %d hospitals", len(l.Views))
	}
	return l
}

func emptyOutput(t *testing.T) analysistest.Output {
	return analysistest.Output{
		TB: t, Changes: make([][]stream.Record, partitions), Snapshots: make([][]stream.Record, partitions), Views: map[string]*verify.View{},
	}
}

// written returns the topics of the output with their records by partition.
func (l *livedOnServers) written() map[string][][]stream.Record {
	return map[string][][]stream.Record{schemas.Verdicts().Name: l.Changes, schemas.Snapshots().Name: l.Snapshots}
}

// shown waits until the view shows all inputs.
func (l *livedOnServers) shown() {
	l.TB.Helper()
	last := map[int32]int64{}
	for _, r := range l.inputs {
		last[r.Partition]++
	}
	view := l.redisClient()
	eventually(l.TB, time.Minute, func() error {
		for n, count := range last {
			at, err := view.HGet(context.Background(), fmt.Sprintf("%ssvc:{%d}whole", l.prefix, n), "p").Int64()
			if err != nil {
				return err
			}
			if at < count-1 {
				return fmt.Errorf("partition %d is shown to %d of %d", n, at, count)
			}
		}
		return nil
	})
}

func unitKey(prefix, hospital string) string {
	return fmt.Sprintf("%ssvc:{%d}unit:%s", prefix, schemas.Partition([]byte(hospital), partitions), hospital)
}

// readView reads the version and the rooms of a unit.
func readView(t testing.TB, view *redis.Client, key string) *verify.View {
	t.Helper()
	v := &verify.View{Rooms: map[int32]string{}}
	for name, value := range view.HGetAll(t.Context(), key).Val() {
		var err error
		if room, ok := strings.CutPrefix(name, "r"); ok {
			var id int
			id, err = strconv.Atoi(room)
			v.Rooms[int32(id)] = value
		} else if name == "v" {
			v.Version, err = strconv.ParseInt(value, 10, 64)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if v.Version == 0 || len(v.Rooms) < 3 {
		t.Fatalf("the view of %s: version %d, %d rooms", key, v.Version, len(v.Rooms))
	}
	return v
}

// append writes records to a topic, and keeps their partitions and timestamps.
func (l *livedOnServers) append(topic string, records []*kgo.Record) {
	l.TB.Helper()
	for _, r := range records {
		l.client.Produce(context.Background(), &kgo.Record{Topic: topic, Partition: r.Partition, Key: r.Key, Value: r.Value, Timestamp: r.Timestamp}, func(_ *kgo.Record, err error) {
			if err != nil {
				l.TB.Error(err)
			}
		})
	}
	if err := l.client.Flush(context.Background()); err != nil {
		l.TB.Fatal(err)
	}
}

// copyOf returns a copy of the output under another prefix. The copy remains in memory until write is called.
func (l *livedOnServers) copyOf(t *testing.T) *livedOnServers {
	t.Helper()
	s := *l.system
	s.t, s.prefix = t, fmt.Sprintf("%sc%d.", l.prefix, systems.Add(1))
	s.env = append(append([]string{}, l.env...), "SVC_TOPIC_PREFIX="+s.prefix)
	c := &livedOnServers{system: &s, client: l.client, inputs: l.inputs}
	c.Output = emptyOutput(t)
	for name, records := range c.written() {
		for n := range records {
			records[n] = slices.Clone(l.written()[name][n])
		}
	}
	for hospital, v := range l.Views {
		c.Views[hospital] = &verify.View{Version: v.Version, Rooms: maps.Clone(v.Rooms)}
	}
	c.copyRedis(l.prefix)
	return c
}

// copyRedis copies every Redis key of another system. The copies get the prefix of l.
func (l *livedOnServers) copyRedis(from string) {
	l.TB.Helper()
	view, ctx := l.redisClient(), context.Background()
	keys := view.Keys(ctx, from+"svc:*").Val()
	for _, key := range keys {
		if n, err := view.Copy(ctx, key, l.prefix+strings.TrimPrefix(key, from), 0, false).Result(); err != nil || n != 1 {
			l.TB.Fatal(key, n, err)
		}
	}
	if len(keys) == 0 {
		l.TB.Fatal("nothing is shown")
	}
}

// write writes the log, the changelog and the snapshots, and replaces the rooms in the view.
func (l *livedOnServers) write() {
	l.TB.Helper()
	ctx := context.Background()
	observations := l.prefix + schemas.Observations().Name
	topics := []string{observations}
	for name := range l.written() {
		topics = append(topics, l.prefix+name)
	}
	made, err := kadm.NewClient(l.client).CreateTopics(ctx, partitions, 1, nil, topics...)
	if err = errors.Join(err, made.Error()); err != nil {
		l.TB.Fatal(err)
	}
	l.append(observations, l.inputs)
	for name, partitions := range l.written() {
		for n := range partitions {
			var records []*kgo.Record
			for _, r := range partitions[n] {
				records = append(records, &kgo.Record{Partition: int32(n), Key: r.Key, Value: r.Value, Timestamp: r.Timestamp})
			}
			l.append(l.prefix+name, records)
		}
	}
	view := l.redisClient()
	for hospital, v := range l.Views {
		key := unitKey(l.prefix, hospital)
		for id := range readView(l.TB, view, key).Rooms {
			view.HDel(ctx, key, "r"+strconv.Itoa(int(id)))
		}
		for id, room := range v.Rooms {
			if err := view.HSet(ctx, key, "r"+strconv.Itoa(int(id)), room).Err(); err != nil {
				l.TB.Fatal(err)
			}
		}
	}
}

// verify runs svc verify and returns the differences that it finds. The exit code must be 1 if there are differences,
// and 0 otherwise.
func (l *livedOnServers) verify() (found []*verify.Difference) {
	l.TB.Helper()
	cmd := exec.Command(binary(l.TB), "verify", "--patience", "1s", "--json")
	cmd.Env = append(os.Environ(), l.env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var report verify.Report
	if fault := json.Unmarshal(stdout.Bytes(), &report); fault != nil {
		l.TB.Fatalf("svc verify: %v, %v\n%s", err, fault, &stderr)
	}
	if len(report.Hospitals) != 3 || report.Pending != 0 {
		l.TB.Fatalf("%d hospitals, %d inputs pending", len(report.Hospitals), report.Pending)
	}
	for i := range report.Hospitals {
		if d := report.Hospitals[i].Difference; d != nil {
			found = append(found, d)
		}
	}
	if code := cmd.ProcessState.ExitCode(); code != min(len(found), 1) {
		l.TB.Errorf("exit %d with %d differences: %s", code, len(found), &stderr)
	}
	return found
}
