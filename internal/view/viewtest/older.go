package viewtest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"svc/internal/view"
)

// clientOf returns a client of a Redis server or, in a cluster, of the node that stores the suite's partition.
func clientOf(t testing.TB, address string) *redis.Client {
	t.Helper()
	single, isCluster := strings.CutSuffix(address, "?cluster=true")
	options, err := redis.ParseURL(single)
	if err != nil {
		t.Fatal(err)
	}
	if !isCluster {
		client := redis.NewClient(options)
		t.Cleanup(func() { client.Close() })
		return client
	}
	cluster := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{options.Addr}})
	t.Cleanup(func() { cluster.Close() })
	client, err := cluster.MasterForKey(context.Background(), fmt.Sprintf("{%d}", partition))
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// Dump saves all keys with a prefix. restore restores exactly that state, as if Redis had restarted from an old dump
// or failed over to a lagging replica.
func Dump(t testing.TB, url, prefix string) (restore func()) {
	t.Helper()
	client := clientOf(t, url)
	ctx := context.Background()
	keys := func() (ours []string) {
		all, err := client.Keys(ctx, "*").Result()
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range all {
			if strings.HasPrefix(key, prefix) {
				ours = append(ours, key)
			}
		}
		return ours
	}
	hashes, sets, sorted := map[string]map[string]string{}, map[string][]string{}, map[string][]redis.Z{}
	for _, key := range keys() {
		kind, err := client.Type(ctx, key).Result()
		if err == nil {
			switch kind {
			case "hash":
				hashes[key], err = client.HGetAll(ctx, key).Result()
			case "set":
				sets[key], err = client.SMembers(ctx, key).Result()
			case "zset":
				sorted[key], err = client.ZRangeWithScores(ctx, key, 0, -1).Result()
			default:
				err = errors.New("a " + kind + " is not dumped: " + key)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return func() {
		t.Helper()
		pipe := client.TxPipeline()
		for _, key := range keys() {
			pipe.Del(ctx, key)
		}
		for key, fields := range hashes {
			for name, value := range fields {
				pipe.HSet(ctx, key, name, value)
			}
		}
		for key, members := range sets {
			for _, member := range members {
				pipe.SAdd(ctx, key, member)
			}
		}
		for key, members := range sorted {
			pipe.ZAdd(ctx, key, members...)
		}
		if _, err := pipe.Exec(ctx); err != nil {
			t.Fatal(err)
		}
	}
}

// testOlderState tests a Redis that is restored to an earlier state. After the next pulse, reads must not return the
// earlier state, even for hospitals without new writes.
func testOlderState(t *testing.T, s Server) {
	for name, test := range map[string]struct {
		position int64
		lost     view.Unit      // a unit that is written between the dump and the restart
		after    func(*fixture) // writes after the restart
	}{
		"an input of the same hospital":     {position: 11, lost: unit("north", 6, 1)},
		"an input of another hospital":      {position: 11, lost: unit("south", 2, 1)},
		"a change caused by time":           {position: 10, lost: unit("north", 6, 1)},
		"an input of a new hospital":        {position: 11, lost: unit("west", 1, 1)},
		"later inputs of another hospital":  {11, unit("north", 6, 1), func(v *fixture) { v.change(12, unit("south", 2, 1)) }},
		"later inputs of the same hospital": {11, unit("north", 6, 1), func(v *fixture) { v.change(12, unit("north", 7, 2)) }},
		"later inputs of a new hospital":    {11, unit("north", 6, 1), func(v *fixture) { v.change(12, unit("east", 1, 1)) }},
	} {
		t.Run(name, func(t *testing.T) {
			v := start(t, s.URL, "g1")
			v.whole(10, unit("north", 5, 1), unit("south", 1, 1))
			v.settle(t, 10)
			pulse := func() { v.Pulse(v.now(), map[int32]int64{partition: 11}) }
			awaitError(t, openKnown(t, s.URL, v.now, pulse), nil)
			restore := Dump(t, s.URL, t.Name()+":")
			v.change(test.position, test.lost)
			b := openKnown(t, s.URL, v.now, pulse)
			until(t, func() bool {
				written, err := b.Read(t.Context(), test.lost.Hospital)
				return err == nil && written.Version == test.lost.Version
			})
			restore()
			if _, err := b.Read(t.Context(), "north"); !errors.Is(err, view.ErrBehind) {
				t.Errorf("a reader that has read a later state reads the older state: %v", err)
			}
			dumped := signsAt(t, s.URL, t.Name()+":{3}whole")
			if test.after != nil {
				test.after(v)
			}
			v.Pulse(v.now(), map[int32]int64{partition: 13})
			fresh := openCurrent(t, s.URL, v.now)
			until(t, func() bool {
				later := signsAt(t, s.URL, t.Name()+":{3}whole") != dumped
				if got, err := fresh.Read(t.Context(), "north"); err == nil && later {
					t.Fatalf("the restored older state is read as current: %+v", got)
				}
				return len(v.asked) > 0
			})
			v.wait(t) // the projector requests a whole projection
			if got, err := fresh.Read(t.Context(), "north"); !errors.Is(err, view.ErrNotWhole) {
				t.Fatalf("the restored older state is read: %+v, %v", got, err)
			}
			v.whole(12, unit("north", 9, 1), unit("south", 9, 1), unit("west", 9))
			v.Pulse(v.now(), map[int32]int64{partition: 13})
			awaitError(t, fresh, nil)
			awaitError(t, b, nil)
			v.expect(t, "north", "g1 12: north at 9; room 1 at 9")
			v.expect(t, "south", "g1 12: south at 9; room 1 at 9")
		})
	}
}

// signsAt returns the signs of a processor (see signs in package view) from the header at a key.
func signsAt(t *testing.T, url, key string) string {
	t.Helper()
	signs, err := clientOf(t, url).HGet(t.Context(), key, "s").Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		t.Fatal(err)
	}
	return signs
}

// testOlderLists tests lists that are restored to an earlier state: reads fail until the lists are rewritten.
func testOlderLists(t *testing.T, s Server) {
	now := time.Now //nolint:forbidigo // real servers, real time
	for name, lost := range map[string]func(d *view.Deliveries){
		"a delivery": func(d *view.Deliveries) {
			d.Put(view.Delivery{Hospital: "north", Endpoint: "whk_1", ID: "dlv_2", OccurredAt: now(), Value: []byte("two")})
		},
		"an outcome":         func(d *view.Deliveries) { d.PutHealth("north", "whk_1", []byte("failing")) },
		"an alert run":       func(d *view.Deliveries) { d.PutEpisode("north", "run_1", time.Time{}, []byte("acknowledged")) },
		"one more change":    func(d *view.Deliveries) { pulse(t, d, now(), 8) },
		"a command, handled": func(d *view.Deliveries) { d.PutCommand("north", "cmd_1", []byte("done")) },
	} {
		t.Run(name, func(t *testing.T) {
			b := openCurrent(t, s.URL, now)
			d := deliveries(t, b)
			d.Put(view.Delivery{Hospital: "north", Endpoint: "whk_1", ID: "dlv_1", OccurredAt: now(), Value: []byte("one")})
			complete := func() {
				d.Written(t.Context())
				fatal(t, b.Lists().SetListed(t.Context(), partition))
				d.Complete(partition)
			}
			pulse(t, d, now(), 7)
			complete()
			readBy := func(b *view.View) error {
				_, err := b.Lists().Episodes(t.Context(), "north")
				return err
			}
			reader := openCurrent(t, s.URL, now)
			read := func() error { return readBy(reader) }
			until(t, func() bool { // wait for a second pulse; see openKnown
				pulse(t, d, now(), 7)
				return read() == nil
			})
			restore := Dump(t, s.URL, t.Name()+":")
			lost(d)
			d.Written(t.Context())
			restore()
			d.PutHealth("south", "whk_9", []byte("good")) // later writes continue
			pulse(t, d, now(), 8)
			if !d.Lacks(partition) || !errors.Is(read(), view.ErrNotWhole) || !errors.Is(readBy(openCurrent(t, s.URL, now)), view.ErrNotWhole) {
				t.Errorf("the loss is not detected: %v", read())
			}
			complete()
			pulse(t, d, now(), 8)
			fatal(t, read())

			// The lists are complete up to position 8. A next owner that starts at position 8 keeps the lists; one
			// that starts at position 9 must rewrite them. In both cases, reads succeed, because the previous owner
			// reported the lists as current.
			for reached, lacks := range map[int64]bool{8: false, 9: true} {
				next := deliveries(t, b)
				pulse(t, next, now(), reached)
				if next.Lacks(partition) != lacks {
					t.Errorf("next owner, position %d: the lists are incomplete: %v", reached, !lacks)
				}
				fatal(t, read())
			}
		})
	}
}

// pulse reports that the notifier has read its log to the end, at offset reached.
func pulse(t *testing.T, d *view.Deliveries, at time.Time, reached int64) {
	t.Helper()
	d.Pulse(at, map[int32]view.ListPulse{partition: {Reached: reached, End: reached}})
	d.Written(t.Context())
}
