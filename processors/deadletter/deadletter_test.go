package deadletter

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"svc/acuity"
	"svc/internal/config"
	"svc/internal/stream"
	"svc/schemas"
)

// TestObservationOfADeadLetter reads the records of dead letters from a log. An older release rejected all of these
// records; this release can decode one of them.
func TestObservationOfADeadLetter(t *testing.T) {
	broker, err := stream.Embed(stream.BrokerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer broker.Close()
	log := slog.New(slog.DiscardHandler)
	cluster, err := stream.Dial(t.Context(), stream.Options{Brokers: []string{broker.Addr()}, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	if err = cluster.Ensure(t.Context(), (&config.Config{TopicPrefix: "p-", Partitions: 1}).Topics(schemas.Observations(), schemas.DeadLetters())...); err != nil {
		t.Fatal(err)
	}
	at := acuity.At(time.Date(2031, 4, 5, 12, 0, 0, 0, time.UTC))
	staffing := func(hospital string) []byte {
		value, unfit := schemas.EncodeObservation(nil, &acuity.Observation{
			Hospital: hospital, ReceivedAt: at, Channel: acuity.ChannelStaffing, Staffing: &acuity.Staffing{Nurses: 6},
		})
		if unfit != nil {
			t.Fatal(unfit)
		}
		return value
	}
	put := func(topic schemas.Topic, key string, value []byte) int64 {
		position, lost := cluster.Publisher("p-"+topic.Name).Append(t.Context(), []byte(key), value, 0)
		if lost != nil {
			t.Fatal(lost)
		}
		return position.Offset
	}
	version := int64(0)
	letter := func(hospital, topic string, offset int64) {
		version++
		value, unfit := schemas.DeadLetterCodec.Encode(nil, &schemas.DeadLetter{
			Topic: topic, Offset: offset, Reason: "unknown_schema", Schema: 43783, Hospital: hospital, Version: version, At: at,
		})
		if unfit != nil {
			t.Fatal(unfit)
		}
		put(schemas.DeadLetters(), hospital+"/dead-letter/1", value)
	}
	observations := schemas.Observations()
	for _, r := range []struct {
		key   string
		value []byte
	}{
		{"north/staffing", staffing("north")}, // this record (0:0) can now be decoded
		{"north", []byte("no record")},
		{"north", append([]byte{0, 1, 2, 3, 4}, "facts"...)},
		{"north", staffing("south")},
	} {
		offset := put(observations, r.key, r.value)
		letter("north", observations.Name, offset)
	}
	letter("south", observations.Name, 0) // a dead letter whose record belongs to a different hospital
	letter("north", "another-topic", 0+9)
	letter("north", observations.Name, 100) // the log has no such record

	clock := at.Time()
	letters := Follow(cluster, "p-", 1, func() time.Time { return clock }, log)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- letters.Run(ctx) }()
	defer func() {
		stop()
		if fault := <-done; fault != nil {
			t.Error(fault)
		}
	}()
	<-letters.Ready()

	o, err := letters.Observation(t.Context(), "north", "0:0")
	if err != nil || o.Hospital != "north" || o.Staffing == nil || o.Staffing.Nurses != 6 || o.ReceivedAt != at {
		t.Fatalf("the record that is understood now: %+v %v", o, err)
	}
	before := letters.Open("north")
	for range 2 {
		if err = letters.Retried(t.Context(), "north", "0:0"); err != nil {
			t.Fatal(err)
		}
	}
	if n := letters.Open("north"); n != before-1 || letters.OfHospital("north")[0].RetriedAt == 0 || letters.OfHospital("north")[0].Reason != "unknown_schema" {
		t.Errorf("%d of %d are open: %+v", n, before, letters.OfHospital("north")[0])
	}
	for id, want := range map[string]string{"0:1": "malformed_record", "0:2": "unknown_schema", "0:3": "wrong_hospital"} {
		unreadable := (*stream.PoisonError)(nil)
		if _, err := letters.Observation(t.Context(), "north", id); !errors.As(err, &unreadable) || unreadable.Reason != want {
			t.Errorf("%s: %v, want %s", id, err, want)
		}
	}
	for _, foreign := range [][2]string{{"south", "0:1"}, {"west", "0:0"}, {"north", "0:9"}, {"north", "1:0"}, {"north", ""}} {
		if _, err := letters.Observation(t.Context(), foreign[0], foreign[1]); !errors.Is(err, ErrNone) {
			t.Errorf("%v: %v", foreign, err)
		}
	}
	if o, err := letters.Observation(t.Context(), "south", "0:0"); err == nil || o != nil {
		t.Errorf("a record of north for south: %+v", o)
	}
	within, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := letters.Observation(within, "north", "0:100"); err == nil {
		t.Error("a record that is not there was read")
	}

	all := letters.OfHospital("north")
	if len(all) != 6 || all[0].ID() != "0:0" || all[0].Reason != "unknown_schema" || all[0].Schema != 43783 || all[0].At != at {
		t.Errorf("listed %+v", all)
	}
	if other := letters.OfHospital("west"); len(other) != 0 {
		t.Errorf("of a hospital without any: %+v", other)
	}

	clock = clock.Add(schemas.DeadLetters().Retention)
	if n := len(letters.OfHospital("north")); n != len(all) {
		t.Errorf("%d of %d before the retention ends", n, len(all))
	}
	clock = clock.Add(time.Second)
	if old, open := letters.OfHospital("north"), letters.Open("south"); len(old) != 0 || open != 0 {
		t.Errorf("after the retention: %+v, %d open", old, open)
	}
	if _, err := letters.Observation(t.Context(), "north", "0:0"); !errors.Is(err, ErrNone) {
		t.Errorf("after the retention: %v", err)
	}
}
