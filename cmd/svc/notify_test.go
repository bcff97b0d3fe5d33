package main

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"testing"
	"time"

	"svc/internal/config"
	"svc/internal/lifecycle"
	"svc/internal/stream"
	"svc/internal/view"
)

// built returns a process with the given roles on a new embedded Kafka and Redis. Its loops are not
// started.
func built(t *testing.T, names ...string) *service {
	t.Helper()
	kafka, err := stream.Embed(stream.BrokerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(kafka.Close)
	redis, err := view.Embed()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(redis.Close)
	h := newService(&config.Config{
		Instance: "test", Kafka: []string{kafka.Addr()}, Partitions: 1, Redis: redis.URL(),
		PseudonymKey: key32, SecretsKey: key32, ShutdownWithin: time.Second,
	}, slog.New(slog.DiscardHandler), time.Now)
	t.Cleanup(h.close)
	if err := h.build(t.Context(), names); err != nil {
		t.Fatal(err)
	}
	return h
}

// TestStopBeforeStart: a loop that is stopped before it has done anything still ends.
func TestStopBeforeStart(t *testing.T) {
	all := slices.Sorted(maps.Keys(allRoles()))
	for _, names := range append([][]string{all}, slices.Collect(slices.Chunk(all, 1))...) {
		h := built(t, names...)
		ctx, stop := context.WithCancel(t.Context())
		stop()
		ended := make(chan error, 1)
		go func() { ended <- lifecycle.RunAll(ctx, 2*time.Minute, nil, h.Loops) }()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("%v: %v", names, err)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%v hangs", names)
		}
	}
}
