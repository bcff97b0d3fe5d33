package sources

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"svc/internal/admin/subscribers"
	"svc/internal/outbound"
	"svc/internal/outbound/subscriber"
	"svc/internal/view"
	"svc/notifier/lists"
	"svc/schemas/ledger"
)

// TestListsOfTheNotifier: administrators can read the lists that the notifier has written. Redis does not contain the
// sealed texts of e-mails and SMS. The pages of a filtered list together contain all matching entries.
func TestListsOfTheNotifier(t *testing.T) {
	server, err := view.Embed()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	v, err := view.Open(view.Config{URL: server.URL(), Now: time.Now, Partition: func(string) int32 { return 0 }})
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	deliveries := v.Deliveries()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- deliveries.Run(ctx) }()
	defer func() {
		stop()
		if fault := <-ended; !errors.Is(fault, context.Canceled) {
			t.Error(fault)
		}
	}()
	w, read := lists.New(deliveries, slog.New(slog.DiscardHandler)), Deliveries{v.Lists()}
	begin := time.UnixMilli(1_700_000_000_000).UTC()
	for n := range 10 {
		e := &outbound.Entry{Position: -1, Sealed: []byte("sealed"), Term: 1, Delivery: outbound.Delivery{
			ID: fmt.Sprintf("dlv_%d", n), Hospital: "north", EndpointID: "whk_1", Channel: subscriber.ChannelWebhook, Event: outbound.Ping,
			State: outbound.Delivered, OccurredAt: begin.Add(time.Duration(n) * time.Second),
		}}
		if n%3 == 0 {
			e.Delivery.State, e.Delivery.Reason = outbound.Failed, "timeout"
		}
		w.Delivery(e)
	}
	w.Health("north", "whk_1", outbound.Health{Status: "failing"})
	w.Progress(outbound.Progress{ID: "cmd_1", Hospital: "north", Done: true})
	w.AlertRun(outbound.AlertRun{ID: "epi_1", Hospital: "north", Level: "red"})
	w.Link("TOKEN", outbound.AckLink{Hospital: "north", Episode: "epi_1"})
	w.Written(ctx)
	if err = v.Lists().SetListed(ctx, 0); err != nil {
		t.Fatal(err)
	}
	deliveries.Pulse(time.Now(), map[int32]view.ListPulse{0: {Reached: 0, End: 0}})
	w.Written(ctx)

	for name, tt := range map[string]struct {
		state outbound.State
		want  []string
	}{
		"all":    {"", []string{"dlv_9", "dlv_8", "dlv_7", "dlv_6", "dlv_5", "dlv_4", "dlv_3", "dlv_2", "dlv_1", "dlv_0"}},
		"failed": {outbound.Failed, []string{"dlv_9", "dlv_6", "dlv_3", "dlv_0"}},
		"none":   {outbound.Poison, nil},
	} {
		var got []string
		q := subscribers.Query{Hospital: "north", State: tt.state, Limit: 3}
		for more := true; more; {
			page, fault := read.Deliveries(ctx, q)
			if fault != nil {
				t.Fatalf("%s: %v", name, fault)
			}
			for i := range page.Items {
				got = append(got, page.Items[i].ID)
			}
			q.Cursor, more = page.Next, page.Next != ""
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
	if _, fault := read.Deliveries(ctx, subscribers.Query{Hospital: "north", Cursor: "x", Limit: 3}); !errors.Is(fault, subscribers.ErrCursor) {
		t.Errorf("another cursor: %v", fault)
	}
	value, err := v.Lists().Delivery(ctx, "north", "dlv_3")
	if err != nil {
		t.Fatal(err)
	}
	if e, fault := ledger.DeliveryCodec.Decode(value); fault != nil || e.Sealed != nil {
		t.Errorf("in Redis is %+v, %v", e, fault)
	}
	if d, ok, fault := read.Delivery(ctx, "north", "dlv_3"); !ok || fault != nil || d.Reason != "timeout" {
		t.Errorf("delivery %+v, %v, %v", d, ok, fault)
	}
	if h, ok, fault := read.Health(ctx, "north", "whk_1"); !ok || fault != nil || h.Status != "failing" {
		t.Errorf("health %+v, %v, %v", h, ok, fault)
	}
	if p, ok, fault := read.Progress(ctx, "north", "cmd_1"); !ok || fault != nil || !p.Done {
		t.Errorf("progress %+v, %v, %v", p, ok, fault)
	}
	if all, fault := read.Episodes(ctx, "north"); fault != nil || len(all) != 1 || all[0].Level != "red" {
		t.Errorf("alert runs %+v, %v", all, fault)
	}
	links := Links{v.Lists(), 1}
	if l, ok, fault := links.Link(ctx, "TOKEN"); !ok || fault != nil || l.Episode != "epi_1" {
		t.Errorf("link %+v, %v, %v", l, ok, fault)
	}
	if l, ok, fault := links.Link(ctx, "OTHER"); ok || fault != nil {
		t.Errorf("another link %+v, %v, %v", l, ok, fault)
	}
	if e, ok, fault := links.Episode(ctx, "north", "epi_1"); !ok || fault != nil || e.Level != "red" {
		t.Errorf("alert run %+v, %v, %v", e, ok, fault)
	}
	if e, ok, fault := links.Episode(ctx, "south", "epi_1"); ok || fault != nil {
		t.Errorf("of another hospital %+v, %v, %v", e, ok, fault)
	}
}
