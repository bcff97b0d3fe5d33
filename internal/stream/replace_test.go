package stream

import (
	"errors"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// settings opens the table of the topic "settings" through a separate client, as another process would.
func (r *rig) settings() (table *Table, stop func()) { return r.settingsOn(r.dial()) }

func (r *rig) settingsOn(cluster *Cluster) (table *Table, stop func()) {
	r.t.Helper()
	if err := cluster.Ensure(r.t.Context(), Topic{Name: "settings", Partitions: 1, Compact: true}); err != nil {
		r.t.Fatal(err)
	}
	table = cluster.Table("settings", func(string) int32 { return 0 })
	end := run(r.t, table.Run)
	<-table.Ready()
	return table, func() {
		end()
		cluster.Close()
	}
}

// If several processes read a value and replace it with the incremented value at the same time, no increment is lost,
// and the keys of one change are always consistent.
func TestReplaceLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		const processes, additions = 3, 20
		var all sync.WaitGroup
		overtaken := make([]int, processes)
		for n := range processes {
			table, stop := r.settings()
			defer stop()
			all.Go(func() {
				for added := 0; added < additions; {
					seen := table.Seen("a/")
					value, _ := table.Get("a/count")
					count, _ := strconv.Atoi(string(value)) //nolint:errcheck // 0 if there is none
					next := []byte(strconv.Itoa(count + 1))
					switch err := table.Replace(t.Context(), []string{"a/"}, seen, Entry{"a/count", next}, Entry{"a/twin", next}); {
					case err == nil:
						added++
						shown, _ := table.Get("a/count")
						if at, _ := strconv.Atoi(string(shown)); at < count+1 { //nolint:errcheck // 0 is too few
							t.Errorf("replaced by %d, and shows %s", count+1, shown)
						}
					case errors.Is(err, ErrOvertaken):
						overtaken[n]++
					default:
						t.Error(err)
						return
					}
				}
			})
		}
		all.Wait()
		table, stop := r.settings()
		defer stop()
		count, _ := table.Get("a/count")
		twin, _ := table.Get("a/twin")
		if want := strconv.Itoa(processes * additions); string(count) != want || string(twin) != want {
			t.Errorf("count %s, twin %s, want %s; overtaken %v", count, twin, want, overtaken)
		}
		if overtaken[0]+overtaken[1]+overtaken[2] == 0 {
			t.Error("nobody met anybody")
		}
	})
}

// If many processes change different values of one partition at the same moment, they wait for each other, and all
// succeed.
func TestReplaceWaitsForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		const processes = 24
		tables := make([]*Table, processes)
		for n := range tables {
			table, stop := r.settings()
			defer stop()
			tables[n] = table
		}
		var all sync.WaitGroup
		for n, table := range tables {
			all.Go(func() {
				key := strconv.Itoa(n) + "/"
				if err := table.Replace(t.Context(), []string{key}, table.Seen(key), Entry{key + "x", []byte("y")}); err != nil {
					t.Errorf("process %d: %v", n, err)
				}
			})
		}
		all.Wait()
	})
}

// Replace does not overwrite a value or a deletion that the caller has not read. Changes to keys without the prefix
// do not matter.
func TestReplaceComparesThePrefix(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		here, stopHere := r.settings()
		defer stopHere()
		there, stopThere := r.settings()
		defer stopThere()
		replace := func(table *Table, key string, value []byte) {
			t.Helper()
			err := table.Replace(t.Context(), []string{key[:2]}, table.Seen(key), Entry{key, value})
			for errors.Is(err, ErrOvertaken) { // by the other table's write
				err = table.Replace(t.Context(), []string{key[:2]}, table.Seen(key), Entry{key, value})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		replace(here, "a/1", []byte("one"))
		for name, by := range map[string]struct {
			key   string
			value []byte
			want  error
		}{
			"the key":              {"a/1", []byte("two"), ErrOvertaken},
			"another of the group": {"a/2", []byte("two"), ErrOvertaken},
			"a removal":            {"a/1", nil, ErrOvertaken},
			"of another group":     {"b/1", []byte("two"), nil},
		} {
			seen := here.Seen("a/")
			replace(there, by.key, by.value)
			if err := here.Replace(t.Context(), []string{"a/"}, seen, Entry{"a/1", []byte(name)}); !errors.Is(err, by.want) {
				t.Errorf("after %s: %v, want %v", name, err, by.want)
			}
			if value, _ := here.Get("a/1"); (string(value) == name) != (by.want == nil) {
				t.Errorf("after %s it shows %s", name, value)
			}
		}
	})
}

// A process that died during a change does not block other writers.
func TestReplaceEndsTheTransactionOfTheDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		table, stop := r.settings()
		defer stop()
		dead, err := kgo.NewClient(table.cluster.with(kgo.TransactionalID("settings"), kgo.RecordPartitioner(kgo.ManualPartitioner()))...)
		if err != nil {
			t.Fatal(err)
		}
		if err = dead.BeginTransaction(); err == nil {
			err = dead.ProduceSync(t.Context(), &kgo.Record{Topic: "settings", Key: []byte("a/1"), Value: []byte("half")}).FirstErr()
		}
		if err != nil {
			t.Fatal(err)
		}
		dead.Close()
		began := time.Now()
		if err := table.Replace(t.Context(), []string{"a/"}, table.Seen("a/"), Entry{"a/2", []byte("whole")}); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("it waited %v", took)
		}
		if value, there := table.Get("a/1"); there {
			t.Errorf("half a change shows: %s", value)
		}
		if value, _ := table.Get("a/2"); string(value) != "whole" {
			t.Errorf("it shows %q", value)
		}
	})
}

// Put returns only after every observer in the process was called with the value.
func TestPutReturnsAfterOnChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		if err := r.cluster.Ensure(t.Context(), Topic{Name: "settings", Partitions: 1, Compact: true}); err != nil {
			t.Fatal(err)
		}
		table := r.cluster.Table("settings", func(string) int32 { return 0 })
		var mu sync.Mutex
		told := ""
		table.OnChange(func(_ string, value []byte) {
			time.Sleep(time.Second) // virtual time
			mu.Lock()
			told = string(value)
			mu.Unlock()
		})
		defer run(t, table.Run)()
		<-table.Ready()
		if err := table.Put(t.Context(), "a", []byte("new")); err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		defer mu.Unlock()
		if told != "new" {
			t.Errorf("it answers, and told %q", told)
		}
	})
}

// If the broker acknowledges a commit but aborts the transaction, Replace repeats the transaction.
func TestReplaceVerifiesCommits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		table, stop := r.settings()
		defer stop()
		aborted := 0
		r.broker.ControlKey(int16(kmsg.EndTxn), func(req kmsg.Request) (kmsg.Response, error, bool) {
			r.broker.KeepControl()
			if end, ok := req.(*kmsg.EndTxnRequest); ok && aborted < 2 {
				aborted++
				end.Commit = false
			}
			return nil, nil, false
		})
		if err := table.Replace(t.Context(), []string{"a/"}, table.Seen("a/"), Entry{"a/1", []byte("new")}); err != nil {
			t.Fatal(err)
		}
		if value, _ := table.Get("a/1"); string(value) != "new" || aborted != 2 {
			t.Errorf("it shows %q after %d aborts", value, aborted)
		}
	})
}

// A broker may answer a request of a transaction that another one aborts with an unknown error. Replace repeats the
// transaction, unless it is committed.
func TestReplaceAfterAnUnknownError(t *testing.T) {
	refuseEnd := func(*rig, kmsg.Request) kmsg.Response {
		answer := kmsg.NewPtrEndTxnResponse()
		answer.ErrorCode = kerr.UnknownServerError.Code
		return answer
	}
	for name, c := range map[string]struct {
		key    kmsg.Key
		refuse func(*rig, kmsg.Request) kmsg.Response
		writes int // number of produce requests in transactions, including the refused one
	}{
		"at the start": {kmsg.InitProducerID, func(*rig, kmsg.Request) kmsg.Response {
			answer := kmsg.NewPtrInitProducerIDResponse()
			answer.ErrorCode = kerr.UnknownServerError.Code
			return answer
		}, 1},
		"of a record":            {kmsg.Produce, refuseRecords, 2},
		"of a commit that fails": {kmsg.EndTxn, refuseEnd, 2},
		"of a commit that succeeds": {kmsg.EndTxn, func(r *rig, req kmsg.Request) kmsg.Response {
			r.broker.SleepControl(func() {
				if _, err := r.cluster.client.Request(r.t.Context(), req); err != nil {
					r.t.Error(err)
				}
			})
			return refuseEnd(r, req)
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				defer r.close()
				table, stop := r.settings()
				defer stop()
				refused, writes := 0, 0
				r.broker.Control(func(req kmsg.Request) (kmsg.Response, error, bool) {
					r.broker.KeepControl()
					if transactional(req) {
						writes++
					}
					barrier := req.Key() == int16(kmsg.Produce) && !transactional(req)
					if refused > 0 || req.Key() != int16(c.key) || barrier {
						return nil, nil, false
					}
					refused++
					answer := c.refuse(r, req)
					answer.SetVersion(req.GetVersion())
					return answer, nil, true
				})
				if err := table.Replace(t.Context(), []string{"a/"}, table.Seen("a/"), Entry{"a/1", []byte("new")}); err != nil {
					t.Fatal(err)
				}
				if value, _ := table.Get("a/1"); string(value) != "new" || refused != 1 || writes != c.writes {
					t.Errorf("it shows %q after %d errors and %d writes, want %d", value, refused, writes, c.writes)
				}
			})
		})
	}
}

// refuseRecords answers a produce request with an unknown error for each partition.
func refuseRecords(_ *rig, req kmsg.Request) kmsg.Response {
	answer := kmsg.NewPtrProduceResponse()
	for _, topic := range req.(*kmsg.ProduceRequest).Topics { //nolint:errcheck // of the controlled key
		refused := kmsg.NewProduceResponseTopic()
		refused.Topic, refused.TopicID = topic.Topic, topic.TopicID
		for _, p := range topic.Partitions {
			one := kmsg.NewProduceResponseTopicPartition()
			one.Partition, one.ErrorCode = p.Partition, kerr.UnknownServerError.Code
			refused.Partitions = append(refused.Partitions, one)
		}
		answer.Topics = append(answer.Topics, refused)
	}
	return answer
}
