package kafka

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"svc/internal/config"
	"svc/internal/outbound"
	"svc/internal/outbound/subscriber"
	"svc/internal/stream"
	"svc/schemas"
	"svc/schemas/ledger"
)

// TestLedger: entries are read in order and exactly as stored. Reading with a prefix skips other entries but reports
// their offsets. Entries without a schema are not stored.
func TestLedger(t *testing.T) {
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
	c := &config.Config{TopicPrefix: "p-", Partitions: 2}
	if err = cluster.Ensure(t.Context(), c.Topics(schemas.Deliveries())...); err != nil {
		t.Fatal(err)
	}
	l, err := OpenLedger(t.Context(), cluster, c.Topic(schemas.Deliveries()))
	if err != nil || l.ID() == "" {
		t.Fatalf("%q, %v", l.ID(), err)
	}
	defer l.Close()
	stored := make(chan error, 1)
	add := func(entry any) error {
		l.Append(t.Context(), 1, entry, func(_ int64, err error) { stored <- err })
		return <-stored
	}
	for _, entry := range []any{
		&outbound.EndpointQueue{Hospital: "north", Endpoint: "whk_1"},
		&outbound.EndpointQueue{Hospital: "south", Endpoint: "whk_2"},
		&outbound.HospitalState{Hospital: "north"},
	} {
		if err = add(entry); err != nil {
			t.Fatal(err)
		}
	}
	if err = add("no entry"); err == nil {
		t.Error("a text was stored")
	}
	kinds := func(got *[]string) func(int64, any) bool {
		return func(offset int64, entry any) bool {
			*got = append(*got, fmt.Sprintf("%d %T", offset, entry))
			return true
		}
	}
	for name, tt := range map[string]struct {
		read func(fn func(int64, any) bool) (int64, error)
		want []string
	}{
		"all": {
			func(fn func(int64, any) bool) (int64, error) { return l.Read(t.Context(), 1, 0, "", fn) },
			[]string{"0 *outbound.EndpointQueue", "1 *outbound.EndpointQueue", "2 *outbound.HospitalState"},
		},
		"from the second on": {
			func(fn func(int64, any) bool) (int64, error) { return l.Read(t.Context(), 1, 1, "", fn) },
			[]string{"1 *outbound.EndpointQueue", "2 *outbound.HospitalState"},
		},
		"of one hospital": {
			func(fn func(int64, any) bool) (int64, error) { return l.Read(t.Context(), 1, 0, "north/", fn) },
			[]string{"0 *outbound.EndpointQueue", "1 <nil>", "2 *outbound.HospitalState"},
		},
		"another partition": {
			func(fn func(int64, any) bool) (int64, error) { return l.Read(t.Context(), 0, 0, "", fn) }, nil,
		},
	} {
		var got []string
		if _, fault := tt.read(kinds(&got)); fault != nil || !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, %v; want %q", name, got, fault, tt.want)
		}
	}
	var got []string
	if end, fault := l.Restore(t.Context(), 1, 0, kinds(&got)); fault != nil || end < 3 || len(got) != 3 {
		t.Errorf("restored %q up to %d, %v", got, end, fault)
	}
	if at, fault := l.At(t.Context(), 1, time.Unix(1, 0)); fault != nil || at != 0 {
		t.Errorf("the first is at %d, %v", at, fault)
	}
	const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	for _, entry := range []any{
		&outbound.Event{ID: "evt_1", Hospital: "west", Event: outbound.LevelChanged, Traceparent: traceparent},
		&outbound.Entry{Delivery: outbound.Delivery{ID: "dlv_1", Hospital: "west", Channel: subscriber.ChannelMail}, Traceparent: traceparent},
		&outbound.Event{ID: "evt_2", Hospital: "west", Event: outbound.LevelChanged},
	} {
		if err = add(entry); err != nil {
			t.Fatal(err)
		}
	}
	var traces []string
	if _, fault := l.Read(t.Context(), 1, 0, "west/", func(_ int64, entry any) bool {
		switch e := entry.(type) {
		case *outbound.Event:
			traces = append(traces, e.Traceparent)
		case *outbound.Entry:
			traces = append(traces, e.Traceparent)
		}
		return true
	}); fault != nil || !slices.Equal(traces, []string{traceparent, traceparent, ""}) {
		t.Errorf("traces %q, %v", traces, fault)
	}
	key, _, err := ledger.Encode(nil, &outbound.EndpointQueue{Hospital: "north", Endpoint: "whk_3"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = cluster.Publisher(l.topic).Append(t.Context(), []byte(key.String()), []byte("no record"), 1); err != nil {
		t.Fatal(err)
	}
	if _, err = l.Read(t.Context(), 1, 0, "", kinds(&got)); !errors.Is(err, schemas.ErrMalformed) {
		t.Errorf("a record that is none: %v", err)
	}
}
