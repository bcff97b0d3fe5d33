package viewtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"svc/internal/view"
)

// deliveries starts a writer of deliveries, which runs until the test ends, and returns it. The functions in first
// are called before the writer starts.
func deliveries(t *testing.T, b *view.View, first ...func(*view.Deliveries)) *view.Deliveries {
	t.Helper()
	d := b.Deliveries()
	for _, put := range first {
		put(d)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("writer of deliveries: %v", err)
		}
	})
	return d
}

// testDeliveries tests the lists of deliveries, by endpoint and for all endpoints. They are sorted newest first, and
// their pages have no gaps or duplicates. Of two versions of a delivery, the one with the higher rank is kept. The
// oldest deliveries are dropped.
func testDeliveries(t *testing.T, s Server) {
	b := Open(t, s.URL)
	d := deliveries(t, b)
	begin := time.UnixMilli(1_700_000_000_000).UTC()
	put := func(n int, endpoint, value string, final bool, term int64) {
		d.Put(view.Delivery{
			Hospital: "north", Endpoint: endpoint, ID: fmt.Sprintf("dlv_%05d", n), OccurredAt: begin.Add(time.Duration(n/3) * time.Millisecond),
			Final: final, Term: term, Value: []byte(value),
		})
	}
	list := func(endpoint string, since, until time.Time, behind view.Mark, most int) (values []string, last view.Mark) {
		t.Helper()
		awaitSuccess(t, func() error { // Redis may be slow on a busy machine
			values, last = nil, view.Mark{}
			return b.Lists().ScanDeliveries(t.Context(), "north", endpoint, since, until, behind, func(m view.Mark, value []byte) bool {
				values, last = append(values, string(value)), m
				return len(values) < most
			})
		})
		return values, last
	}
	written := func(id, value string) {
		t.Helper()
		awaitSuccess(t, func() error {
			got, err := b.Lists().Delivery(t.Context(), "north", id)
			if err == nil && string(got) != value {
				err = fmt.Errorf("%s is %q, want %q", id, got, value)
			}
			return err
		})
	}
	const count = 1000
	for n := range count {
		put(n, []string{"whk_1", "whk_2"}[n%2], fmt.Sprint(n), false, 5)
	}
	written(fmt.Sprintf("dlv_%05d", count-1), fmt.Sprint(count-1))
	awaitSuccess(t, func() error {
		if all, _ := list("", time.Time{}, time.Time{}, view.Mark{}, 2*count); len(all) != count {
			return fmt.Errorf("%d of %d", len(all), count)
		}
		return nil
	})
	var want, got []string
	for n := count - 1; n >= 0; n-- {
		want = append(want, fmt.Sprint(n))
	}
	for behind := (view.Mark{}); ; {
		page, last := list("", time.Time{}, time.Time{}, behind, 7)
		if got = append(got, page...); len(page) < 7 {
			break
		}
		again, ok := view.ParseMark(last.String())
		if behind = again; !ok || again != last {
			t.Fatalf("mark %v is parsed as %v", last, again)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("pages: %d rows, want %d: %.200v", len(got), len(want), got)
	}
	seen := map[string]bool{}
	if err := b.Lists().ScanDeliveries(t.Context(), "north", "", time.Time{}, time.Time{}, view.Mark{}, func(m view.Mark, _ []byte) bool {
		if seen[m.ID] {
			t.Errorf("%s is listed twice if newer deliveries arrive during the scan", m.ID)
		}
		if seen[m.ID] = true; len(seen)%100 == 0 {
			newer := fmt.Sprint("dlv_newer_", len(seen))
			d.Put(view.Delivery{Hospital: "north", Endpoint: "whk_8", ID: newer, OccurredAt: begin.Add(time.Hour), Value: []byte("newer")})
			d.Written(t.Context())
		}
		return true
	}); err != nil || len(seen) != count {
		t.Errorf("%d deliveries, want %d: %v", len(seen), count, err)
	}
	if one, _ := list("whk_2", time.Time{}, time.Time{}, view.Mark{}, count); len(one) != count/2 || one[0] != "999" {
		t.Errorf("one endpoint: %d deliveries, want %d", len(one), count/2)
	}
	part, _ := list("", begin.Add(10*time.Millisecond), begin.Add(12*time.Millisecond), view.Mark{}, count)
	if fmt.Sprint(part) != "[35 34 33 32 31 30]" {
		t.Errorf("deliveries in a time window: %v", part)
	}
	if other, _ := list("whk_3", time.Time{}, time.Time{}, view.Mark{}, count); other != nil {
		t.Errorf("deliveries to another endpoint: %v", other)
	}

	put(7, "whk_2", "older term", false, 4)
	put(8, "whk_1", "delivered", true, 4)
	put(8, "whk_1", "late and open", false, 9)
	put(9, "whk_2", "newer term", false, 6)
	written("dlv_00009", "newer term")
	written("dlv_00008", "delivered")
	written("dlv_00007", "7")
	if none, err := b.Lists().Delivery(t.Context(), "south", "dlv_00007"); none != nil || err != nil {
		t.Errorf("another hospital sees %q, %v", none, err)
	}

	for n := count; n < count+10_000; n++ {
		put(n, "whk_9", fmt.Sprint(n), true, 5)
	}
	awaitSuccess(t, func() error {
		if all, _ := list("whk_9", time.Time{}, time.Time{}, view.Mark{}, 20_000); len(all) != 10_000 {
			return fmt.Errorf("%d", len(all))
		}
		return nil
	})
	put(count+10_000, "whk_9", "newest", true, 5)
	written(fmt.Sprintf("dlv_%05d", count), "")
	if all, _ := list("whk_9", time.Time{}, time.Time{}, view.Mark{}, 20_000); len(all) != 10_000 || all[0] != "newest" {
		t.Errorf("one endpoint: %d deliveries, want 10000", len(all))
	}
}

// testNotes tests that endpoint health, command progress, episodes and links can be read.
func testNotes(t *testing.T, s Server) {
	b := Open(t, s.URL)
	d := deliveries(t, b)
	d.PutHealth("north", "whk_1", []byte("failing"))
	d.PutHealth("north", "whk_1", []byte("active"))
	d.PutCommand("north", "cmd_1", []byte("begun"))
	d.PutEpisode("north", "epi_1", time.Time{}, []byte("open"))
	d.PutEpisode("north", "epi_2", time.Time{}, []byte("told"))
	d.PutLink("hash", []byte("north"))
	awaitSuccess(t, func() error {
		health, err := b.Lists().Health(t.Context(), "north", "whk_1")
		command, err2 := b.Lists().Command(t.Context(), "north", "cmd_1")
		episodes, err3 := b.Lists().Episodes(t.Context(), "north")
		link, err4 := b.Lists().Link(t.Context(), "hash")
		if string(health) != "active" || string(command) != "begun" || string(link) != "north" ||
			len(episodes) != 2 || episodes["epi_2"] != "told" {
			return fmt.Errorf("%q %q %v %q: %w", health, command, episodes, link, errors.Join(err, err2, err3, err4))
		}
		return nil
	})
	for n := range 100 {
		value := fmt.Sprint(n)
		d.PutLink("hash", []byte(value))
		d.Written(t.Context())
		if link, err := b.Lists().Link(t.Context(), "hash"); string(link) != value || err != nil {
			t.Fatalf("after the write, the link is %q: %v", link, err)
		}
	}
	if none, err := b.Lists().Command(t.Context(), "south", "cmd_1"); none != nil || err != nil {
		t.Errorf("another hospital sees %q, %v", none, err)
	}
}

// testOrder tests that a reader of a finished command finds all its deliveries.
func testOrder(t *testing.T, s Server) {
	b := Open(t, s.URL)
	const count = 2000
	id := func(n int) string { return fmt.Sprintf("dlv_%04d", n) }
	deliveries(t, b, func(d *view.Deliveries) {
		d.PutCommand("north", "cmd_1", []byte("done"))
		for n := range count {
			d.Put(view.Delivery{
				Hospital: "north", Endpoint: fmt.Sprint("whk_", n%50), ID: id(n), OccurredAt: time.UnixMilli(int64(n + 1)).UTC(),
				Final: true, Value: []byte("ok"),
			})
		}
	})
	awaitSuccess(t, func() error {
		command, err := b.Lists().Command(t.Context(), "north", "cmd_1")
		if command == nil {
			return fmt.Errorf("no command: %w", err)
		}
		return err
	})
	for n := range count {
		if one, err := b.Lists().Delivery(t.Context(), "north", id(n)); string(one) != "ok" || err != nil {
			t.Fatalf("the command is done, but delivery %s is %q: %v", id(n), one, err)
		}
	}
}

// awaitSuccess waits until try succeeds, for state that another goroutine writes.
func awaitSuccess(t *testing.T, try func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		err := try()
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatal(err)
		case <-time.After(2 * time.Millisecond): //nolint:forbidigo // interval between requests to a real server
		}
	}
}
