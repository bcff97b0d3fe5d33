package verdict

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"svc/acuity"
	"svc/internal/stream"
	"svc/schemas"
)

// TestChangeOfTheLog: a change is found by its version, even if the given instant is wrong by hours or days. For a
// version that is not in the log, the error is [ErrNoChange].
func TestChangeOfTheLog(t *testing.T) {
	broker, err := stream.Embed(stream.BrokerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer broker.Close()
	cluster, err := stream.Dial(t.Context(), stream.Options{Brokers: []string{broker.Addr()}, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	log := Log{Cluster: cluster, Topic: "changes", Partitions: 2}
	if err = cluster.Ensure(t.Context(), stream.Topic{Name: log.Topic, Partitions: log.Partitions}); err != nil {
		t.Fatal(err)
	}
	loader, err := cluster.Loader(t.Context(), log.Topic)
	if err != nil {
		t.Fatal(err)
	}
	made := func(version int64) time.Time { return morning.Time().Add(time.Duration(version) * time.Hour) }
	put := func(key string, value []byte, at time.Time) {
		t.Helper()
		r := stream.Record{Partition: schemas.Partition([]byte("north"), log.Partitions), Key: []byte(key), Value: value, Timestamp: at}
		if fault := loader.Put(&r); fault != nil {
			t.Fatal(fault)
		}
	}
	for version := int64(1); version <= 10; version++ {
		for _, hospital := range []string{"south", "north"} { // the records of both hospitals are in one partition
			if hospital == "north" && version == 5 {
				continue
			}
			value, fault := schemas.ChangeCodec.Encode(nil, &acuity.Change{Hospital: hospital, Version: version, AppliedAt: acuity.At(made(version))})
			if fault != nil {
				t.Fatal(fault)
			}
			put(hospital, value, made(version))
		}
		put("north/room/1", []byte("no change"), made(version))
	}
	if err = loader.Close(); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		version int64
		at      time.Time
		want    error
	}{
		"at its instant":      {3, made(3), nil},
		"the first":           {1, made(1), nil},
		"a slow clock":        {8, made(2), nil},
		"a clock hours ahead": {4, made(24), nil},
		"a clock days ahead":  {2, made(100), nil},
		"no record has it":    {5, made(5), ErrNoChange},
		"older than the log":  {0, made(0), ErrNoChange},
		"of another hospital": {5, made(100), ErrNoChange},
	} {
		t.Run(name, func(t *testing.T) {
			change, err := log.Change(t.Context(), "north", tt.version, acuity.At(tt.at))
			if !errors.Is(err, tt.want) || err == nil && (change.Version != tt.version || change.Hospital != "north") {
				t.Errorf("%+v, %v; want %v", change, err, tt.want)
			}
		})
	}
	broker.Close()
	if _, err := log.Change(t.Context(), "north", 3, acuity.At(made(3))); !errors.Is(err, ErrAway) {
		t.Errorf("without brokers: %v", err)
	}
}
