//go:build synctests

package history_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"svc/acuity"
	"svc/internal/stream"
	"svc/processors/history"
	"svc/processors/verdict"
	"svc/schemas"
)

// TestHoursPassByThemselves runs both processors through two thirds of a day on a fake Kafka. Without an input, an
// hourly snapshot is made ten seconds after the hour. An input within these ten seconds triggers the snapshot before
// the input is applied. After 12 hours without facts, a hospital gets one more snapshot, and then none.
func TestHoursPassByThemselves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := &kfake.VirtualNetwork{}
		broker, err := kfake.NewCluster(kfake.Ports(9092), kfake.ListenFn(network.Listen), kfake.ClusterID("hours"))
		if err != nil {
			t.Fatal(err)
		}
		defer broker.Close()
		log := slog.New(slog.DiscardHandler)
		cluster, err := stream.Dial(t.Context(), stream.Options{Brokers: []string{"localhost:9092"}, Log: log, Dial: network.DialContext})
		if err != nil {
			t.Fatal(err)
		}
		defer cluster.Close()
		for _, topic := range schemas.Topics() {
			if err := cluster.Ensure(t.Context(), stream.Topic{Name: topic.Name, Partitions: 1, Compact: topic.Compacted, CompactionLag: topic.CompactionLag, Retention: topic.Retention}); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 2)
		go func() {
			done <- cluster.Process(ctx, stream.Config{
				Group: verdict.Group, Instance: "one", Input: schemas.Observations().Name, Changelog: schemas.Verdicts().Name, NewTask: verdict.Tasks(nil),
				Route: func(key []byte) string {
					if verdict.IsSnapshot(key) {
						return schemas.Snapshots().Name
					}
					return ""
				},
			})
		}()
		go func() {
			done <- cluster.Process(ctx, stream.Config{
				Group: history.Group, Instance: "one", Input: schemas.Snapshots().Name, Changelog: schemas.Models().Name, Sparse: true,
				NewTask: history.Tasks(history.Config{Zone: func(string) *time.Location { return time.UTC }}),
			})
		}()
		inputs := cluster.Publisher(schemas.Observations().Name)
		say := func(hospital string) {
			o := acuity.Observation{Hospital: hospital, ReceivedAt: acuity.At(time.Now()), Channel: acuity.ChannelClinical, Room: &acuity.RoomRef{ID: 4}}
			value, err := schemas.EncodeObservation(nil, &o)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := inputs.Append(t.Context(), []byte(hospital), value, 0); err != nil {
				t.Fatal(err)
			}
		}
		began := time.Now().Truncate(time.Hour) // midnight, under synctest
		pass := func(d time.Duration) { time.Sleep(time.Until(began.Add(d))) }
		pass(30 * time.Minute)
		say("north")
		say("south")
		pass(time.Hour + 4*time.Second)
		say("north") // this input triggers north's first snapshot
		pass(16 * time.Hour)
		cancel()
		for range 2 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}

		late := map[string][]string{}
		spans, err := cluster.Spans(t.Context(), schemas.Snapshots().Name, time.Time{}, time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		if err := cluster.Range(t.Context(), schemas.Snapshots().Name, spans[0], func(r stream.Record) error {
			s, err := schemas.SnapshotCodec.Decode(r.Value)
			if err != nil {
				return err
			}
			at := time.Unix(int64(s.Snapshot.Hour)*3600, 0)
			word := fmt.Sprint(int(at.Sub(began).Hours()), " after ", r.Timestamp.Sub(at).Round(time.Second))
			if !s.Snapshot.Observed {
				word += " unobserved"
			}
			late[s.Hospital] = append(late[s.Hospital], word)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		var north, south []string
		for h := 1; h <= 14; h++ {
			word := fmt.Sprint(h, " after 10s")
			if h == 1 {
				north = append(north, "1 after 4s")
				south = append(south, word)
				continue
			}
			if h <= 13 { // the last fact for south was at 0:30
				if h == 13 {
					south = append(south, word+" unobserved")
				} else {
					south = append(south, word)
				}
			}
			if h == 14 { // the last fact for north was at about 1:01
				word += " unobserved"
			}
			north = append(north, word)
		}
		for hospital, want := range map[string][]string{"north": north, "south": south} {
			if got := late[hospital]; fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s\n got %s\nwant %s", hospital, strings.Join(got, ", "), strings.Join(want, ", "))
			}
		}
	})
}
