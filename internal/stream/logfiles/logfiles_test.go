package logfiles

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

// The topics and the cluster id of the tests. Records are written to the topic truth without transactions, and to the
// topic derived in transactions.
const (
	truth   = "truth"
	derived = "derived"
	cluster = "test-embedded"
)

var filler = []byte("\x00filler")

func options(dir string) Options {
	return Options{Dir: dir, ClusterID: cluster, Filler: filler, Log: slog.New(slog.DiscardHandler)}
}

// broker opens a folder as the embedded broker does.
func broker(t testing.TB, dir string) *kfake.Cluster {
	t.Helper()
	c, err := kfake.NewCluster(kfake.ClusterID(cluster), kfake.Ports(0), kfake.DataDir(dir))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func client(t testing.TB, c *kfake.Cluster, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	cl, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(c.ListenAddrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.MaxVersions(nil),
	}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}

// lived returns a folder in the state in which a killed broker leaves it: with records in both topics, an unfinished
// last transaction, and committed offsets.
func lived(t testing.TB) (killed string) {
	t.Helper()
	killed, _ = livedAndClosed(t)
	return killed
}

// livedAndClosed returns the folder that lived returns, and the same folder as a graceful shutdown leaves it.
func livedAndClosed(t testing.TB) (killed, closed string) {
	t.Helper()
	life.once.Do(func() { life.killed, life.closed = live(t) })
	return written(t, life.killed), written(t, life.closed)
}

// life contains the files of the two folders. A broker needs a second to write them, so it does that once.
var life struct {
	once           sync.Once
	killed, closed map[string]string
}

// written writes files to a new folder.
func written(t testing.TB, files map[string]string) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "log")
	for name, content := range files {
		path := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(path), 0o700)
		if err == nil {
			err = os.WriteFile(path, []byte(content), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func live(t testing.TB) (killed, closed map[string]string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "log")
	c := broker(t, dir)
	cl := client(t, c)
	ctx := t.Context()
	if _, err := kadm.NewClient(cl).CreateTopics(ctx, 2, 1, map[string]*string{"retention.ms": new("-1"), "segment.bytes": new("600")}, truth, derived); err != nil {
		t.Fatal(err)
	}
	tx := client(t, c, kgo.TransactionalID("t"), kgo.ProducerLinger(0))
	for i := range 40 {
		said := &kgo.Record{Topic: truth, Partition: int32(i % 2), Key: fmt.Append(nil, "k", i%5), Value: bytes.Repeat(fmt.Append(nil, "v", i), 1+i%9)}
		if err := cl.ProduceSync(ctx, said).FirstErr(); err != nil {
			t.Fatal(err)
		}
		if err := tx.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		for n := range 1 + i%3 {
			made := &kgo.Record{Topic: derived, Partition: int32(i % 2), Key: fmt.Append(nil, "d", n), Value: fmt.Append(nil, "of ", i)}
			if err := tx.ProduceSync(ctx, made).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
		if i == 39 {
			break // the state when the broker is killed
		}
		if err := tx.EndTransaction(ctx, kgo.TransactionEndTry(i%7 != 3)); err != nil {
			t.Fatal(err)
		}
		var at kadm.Offsets
		at.AddOffset(truth, int32(i%2), int64(i/2), -1)
		if err := kadm.NewClient(cl).CommitAllOffsets(ctx, "g", at); err != nil {
			t.Fatal(err)
		}
	}
	if err := Seal(dir); err != nil {
		t.Fatal(err)
	}
	killed = files(t, dir)
	c.Close()
	cl.Close()
	tx.Close()
	return killed, files(t, dir)
}

func copyDir(t testing.TB, from, to string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}

// files returns the content of all files of a folder except backups.
func files(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(name, keptDir) {
			return err
		}
		content, err := os.ReadFile(filepath.Join(dir, name))
		all[name] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// spot is the position of a record.
type spot struct {
	topic     string
	partition int32
	offset    int64
}

// committed opens a folder and reads the committed records.
func committed(t testing.TB, dir string) map[spot]string {
	t.Helper()
	c := broker(t, dir)
	defer c.Close()
	reader := client(t, c, kgo.ConsumeTopics(truth, derived), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	defer reader.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	// Read up to a record of this test in each partition, because the end may be a transaction
	// marker.
	var marks []*kgo.Record
	for _, topic := range []string{truth, derived} {
		for p := range int32(2) {
			marks = append(marks, &kgo.Record{Topic: topic, Partition: p, Key: []byte("mark")})
		}
	}
	topics, err := kadm.NewClient(reader).ListTopics(ctx)
	if err != nil || len(topics.Names()) != 2 {
		t.Fatal(err, topics.Names())
	}
	if err := reader.ProduceSync(ctx, marks...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	all := map[spot]string{}
	for left := len(marks); left > 0; {
		fetches := reader.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatal(err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if string(r.Key) == "mark" {
				left--
				return
			}
			all[spot{r.Topic, r.Partition, r.Offset}] = string(r.Key) + "=" + string(r.Value)
		})
	}
	return all
}

// whole returns the committed records of an undamaged folder.
func whole(t testing.TB, dir string) map[spot]string {
	t.Helper()
	copied := filepath.Join(t.TempDir(), "whole")
	copyDir(t, dir, copied)
	if err := Mend(options(copied)); err != nil {
		t.Fatal(err)
	}
	return committed(t, copied)
}

// segments returns the segments of a partition.
func segments(t testing.TB, dir, partition string) []*segment {
	t.Helper()
	p, err := (&mender{Options: options(dir)}).read(partition)
	if err != nil || len(p.segments) < 3 {
		t.Fatal(err, len(p.segments))
	}
	return p.segments
}

func edit(t testing.TB, dir, name string, change func(content []byte) []byte) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(dir, name))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name), change(content), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// The files of the broker must have the format that this package expects. The test fails if a new release of the
// library changes the format.
func TestSoundAsLeft(t *testing.T) {
	dir := lived(t)
	m := &mender{Options: options(dir)}
	for _, name := range []string{"truth-0", "truth-1", "derived-0", "derived-1"} {
		p, err := m.read(name)
		if err != nil {
			t.Fatal(err)
		}
		if !p.sound() || p.end < 20 {
			t.Errorf("%s: sound %t, end %d", name, p.sound(), p.end)
		}
	}
	before := files(t, dir)
	if err := Mend(options(dir)); err != nil {
		t.Fatal(err)
	}
	after := files(t, dir)
	for name := range before {
		if after[name] != before[name] && !disposable[filepath.Base(name)] && name != metaFile {
			t.Errorf("%s was changed", name)
		}
	}
}

// If the broker is killed between writing a batch and its index entry, records of an unfinished
// transaction must not become visible, even after later kills.
func TestIndexBehindItsBatches(t *testing.T) {
	dir := lived(t)
	want := whole(t, dir)
	for name, change := range map[string]func(index []byte) []byte{
		"last entry missing":  func(index []byte) []byte { return index[:len(index)-indexEntry] },
		"entry missing early": func(index []byte) []byte { return slices.Delete(index, 0, indexEntry) },
		"half an entry":       func(index []byte) []byte { return index[:len(index)-4] },
		"one too many":        func(index []byte) []byte { return append(index, index[:indexEntry]...) },
		"none":                func([]byte) []byte { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			left := filepath.Join(t.TempDir(), "left")
			copyDir(t, dir, left)
			for _, partition := range []string{"derived-0", "derived-1"} {
				all := segments(t, left, partition)
				edit(t, left, all[0].file+indexExt, change)
				edit(t, left, all[len(all)-1].file+indexExt, change)
			}
			if err := Mend(options(left)); err != nil {
				t.Fatal(err)
			}
			if got := committed(t, left); !maps.Equal(got, want) {
				t.Errorf("%d records are shown, want %d", len(got), len(want))
			}
		})
	}
}

// TestTornEnd: a partly written end is cut off and saved, wherever the write was interrupted, and all records before
// it are intact.
func TestTornEnd(t *testing.T) {
	dir := lived(t)
	want := whole(t, dir)
	for _, partition := range []string{"truth-1", "derived-0"} {
		all := segments(t, dir, partition)
		s := all[len(all)-1]
		lost := s.batches[len(s.batches)-1]
		for cut := 1; cut < len(lost); cut += 7 {
			left := filepath.Join(t.TempDir(), fmt.Sprint("left", cut))
			copyDir(t, dir, left)
			edit(t, left, s.file+segmentExt, func(raw []byte) []byte { return raw[:len(raw)-len(lost)+cut] })
			if err := Mend(options(left)); err != nil {
				t.Fatalf("%s cut to %d bytes of its last batch: %v", partition, cut, err)
			}
			kept, err := filepath.Glob(filepath.Join(left, keptDir, "*", partitionsDir, partition, "*"))
			if err != nil || len(kept) != 1 {
				t.Fatalf("kept: %v %v", kept, err)
			}
			if content, err := os.ReadFile(kept[0]); err != nil || !bytes.Equal(content, lost[:cut]) {
				t.Errorf("kept %d bytes, want %d: %v", len(content), cut, err)
			}
			if cut%5 != 0 { // tries only some lengths, because opening a folder is slow
				continue
			}
			got := committed(t, left)
			for at, record := range want {
				in := fmt.Sprintf("%s-%d", at.topic, at.partition) == partition
				if got[at] != record && !(in && at.offset >= lost.first()) && !(in && at.topic == derived) {
					t.Errorf("cut to %d: %v is %q, want %q", cut, at, got[at], record)
				}
			}
		}
	}
}

// TestDamagedByte damages one byte at a time, at many random positions. Either the log opens with all its records, or
// the error names the file and the remedy, and nothing is changed.
func TestDamagedByte(t *testing.T) {
	killed, closed := livedAndClosed(t)
	t.Run("killed", func(t *testing.T) { t.Parallel(); damageBytes(t, killed, 120) })
	t.Run("closed", func(t *testing.T) { t.Parallel(); damageBytes(t, closed, 80) })
}

func damageBytes(t *testing.T, dir string, times int) {
	want := whole(t, dir)
	original := files(t, dir)
	var places []string
	for _, name := range slices.Sorted(maps.Keys(original)) {
		for range len(original[name]) {
			places = append(places, name)
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	opened, named := 0, 0
	for range times {
		i := random.IntN(len(places))
		name := places[i]
		at := i - slices.Index(places, name)
		damaged := []byte(original[name])
		damaged[at] ^= byte(1 + random.IntN(255))
		left := filepath.Join(t.TempDir(), "left")
		copyDir(t, dir, left)
		if err := os.WriteFile(filepath.Join(left, name), damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		place := fmt.Sprintf("byte %d of %s (%d to %d)", at, name, original[name][at], damaged[at])
		before := files(t, left)
		err := Mend(options(left))
		if err == nil {
			opened++
			if _, lost := entries([]byte(files(t, left)[groupsFile])); lost > 0 {
				t.Errorf("%s: the positions behind it would be lost", place)
			}
			if got := committed(t, left); !maps.Equal(got, want) {
				t.Errorf("%s: opened with %d records of %d", place, len(got), len(want))
			}
			os.RemoveAll(left)
			continue
		}
		named++
		damage, ok := errors.AsType[*DamageError](err)
		if !ok || damage.File != filepath.Join(left, name) || damage.Byte > at ||
			!strings.Contains(err.Error(), damage.File) || !strings.Contains(err.Error(), "Restore a copy of the folder") || strings.Contains(err.Error(), "\n") {
			t.Fatalf("%s: %v", place, err)
		}
		if !maps.Equal(files(t, left), before) {
			t.Errorf("%s: refused, but something was changed", place)
		}
		os.RemoveAll(left)
	}
	if opened < times/10 || named < times/10 {
		t.Errorf("%d opened, %d named: nothing is said of one of them", opened, named)
	}
}

// A missing segment is reported as damage.
func TestMissingSegment(t *testing.T) {
	dir := lived(t)
	all := segments(t, dir, "truth-0")
	if err := os.Remove(filepath.Join(dir, all[1].file+segmentExt)); err != nil {
		t.Fatal(err)
	}
	err := Mend(options(dir))
	want := fmt.Sprintf("the records from offset %d on of truth-0", all[1].base)
	if damage, ok := errors.AsType[*DamageError](err); !ok || !strings.Contains(damage.Lost, want) {
		t.Errorf("%v, want one that names %s", err, want)
	}
}

// Only the owner can access the files. This includes files that an earlier release created with wider permissions.
func TestOwnersAlone(t *testing.T) {
	dir := lived(t)
	if err := Mend(options(dir)); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
