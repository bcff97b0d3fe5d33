package outcomes

import (
	"slices"
	"strings"
	"testing"
	"time"

	"svc/acuity"
	"svc/acuity/facts"
	"svc/ingest"
	"svc/internal/feeds"
	"svc/schemas"
)

// TestCountsOfAFeed: an observation is counted as received at once. Its outcome is counted when the change arrives,
// whether that is before or after Kafka acknowledges the observation. Observations that other processes received are
// not counted.
func TestCountsOfAFeed(t *testing.T) {
	at := time.Date(2031, 4, 5, 12, 0, 0, 0, time.UTC)
	changes := map[ingest.Position][]byte{}
	n := New(func(p ingest.Position) ([]byte, bool) { c, ok := changes[p]; return c, ok }, func() time.Time { return at })
	change := func(offset int64, c acuity.Change) {
		t.Helper()
		c.Hospital, c.Offset, c.Version, c.AppliedAt = "north", offset, offset+1, acuity.At(at)
		value, err := schemas.ChangeCodec.Encode(nil, &c)
		if err != nil {
			t.Fatal(err)
		}
		p := ingest.Position{Partition: 2, Offset: offset}
		changes[p] = value
		n.Applied(p, value)
	}
	took := func(offset int64, received int) {
		n.Received(ingest.Intake{
			Hospital: "north", Channel: acuity.ChannelHL7, Source: "key_1", At: acuity.At(at), Received: received,
			Position: &ingest.Position{Partition: 2, Offset: offset},
		})
	}
	took(0, 1)
	change(0, acuity.Change{Outcome: acuity.Applied, Warnings: []acuity.Warning{{Code: "x"}}})
	change(0, acuity.Change{Outcome: acuity.Applied}) // repeated, so not counted
	change(1, acuity.Change{Outcome: acuity.Duplicate})
	took(1, 1)                                        // the change of this observation arrived before the acknowledgment
	change(2, acuity.Change{Outcome: acuity.Applied}) // received by another process
	took(3, 3)
	change(3, acuity.Change{Outcome: acuity.Applied, Items: []acuity.ItemResult{
		{Outcome: acuity.Applied}, {Outcome: acuity.Ignored}, {Outcome: acuity.Duplicate},
	}})
	took(4, 1)
	change(4, acuity.Change{Outcome: acuity.Rejected, Reason: "r"})
	took(5, 1) // pending
	n.Received(ingest.Intake{Hospital: "north", Channel: acuity.ChannelHL7, Source: "key_1", At: acuity.At(at), Received: 2, Rejected: 2})
	n.Received(ingest.Intake{Hospital: "north", Channel: acuity.ChannelHL7, Source: "key_1", At: acuity.At(at), Received: 1, Ignored: 1})

	got := n.counts.Drain()[feeds.Feed{Hospital: "north", Channel: "hl7", Source: "key_1"}]
	want := feeds.Counts{Received: 10, Applied: 2, Duplicates: 2, Ignored: 2, Rejected: 3, Warnings: 1, Changed: 2, Unchanged: 2}
	if got == nil || got.Counts != want || !got.LastApplied.Equal(at) || len(n.pending) != 1 {
		t.Errorf("%+v, want %+v; %d pending", got, want, len(n.pending))
	}
}

// TestFactsOfAFeed: the processor's outcome determines how a message is counted. The change repeats the warnings from
// decoding, but they are counted only once.
func TestFactsOfAFeed(t *testing.T) {
	at := time.Date(2031, 4, 5, 12, 0, 0, 0, time.UTC)
	read := []acuity.Warning{{Code: "line_ignored", Path: "line[7]"}, {Code: "time_in_future", Path: "EVN"}}
	for name, test := range map[string]struct {
		warnings, unused int
		places           bool
		change           acuity.Change
		want             feeds.Counts
	}{
		"something new": {0, 0, true, acuity.Change{Outcome: acuity.Applied}, feeds.Counts{Applied: 1, Changed: 1}},
		"the same":      {0, 0, true, acuity.Change{Outcome: acuity.Duplicate}, feeds.Counts{Duplicates: 1, Unchanged: 1}},
		"older":         {0, 0, true, acuity.Change{Outcome: acuity.Ignored, Reason: "version_older"}, feeds.Counts{Ignored: 1, Unchanged: 1}},
		"not used": {
			0, 0, true,
			acuity.Change{Outcome: acuity.Ignored, Reason: "location_missing", Warnings: []acuity.Warning{{Code: "location_missing"}}},
			feeds.Counts{Ignored: 1, Warnings: 1, Unused: 1},
		},
		"another body with the same Idempotency-Key": {
			0, 0, true, acuity.Change{Outcome: acuity.Duplicate, Reason: facts.ReasonReused, Repeats: 1}, feeds.Counts{Rejected: 1},
		},
		"beyond a limit": {
			0, 0, true,
			acuity.Change{Outcome: acuity.Ignored, Reason: "too_many_rooms", Warnings: []acuity.Warning{{Code: "too_many_rooms", Path: "roomId"}}},
			feeds.Counts{Rejected: 1, Warnings: 1},
		},
		"outside the unit": {
			0, 0, true,
			acuity.Change{Outcome: acuity.Applied, Warnings: []acuity.Warning{{Code: "outside_unit"}}},
			feeds.Counts{Applied: 1, Changed: 1, Warnings: 1, Unused: 1, Outside: 1},
		},
		"warnings of reading": {
			2, 1, true,
			acuity.Change{Outcome: acuity.Applied, Warnings: append(slices.Clone(read), acuity.Warning{Code: "place_differs"})},
			feeds.Counts{Applied: 1, Changed: 1, Warnings: 3, Unused: 2},
		},
		"warnings of reading, places forgotten": {
			2, 1, false,
			acuity.Change{Outcome: acuity.Applied, Warnings: append(slices.Clone(read), acuity.Warning{Code: "place_differs"})},
			feeds.Counts{Applied: 1, Changed: 1, Warnings: 3, Unused: 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := New(func(ingest.Position) ([]byte, bool) { return nil, false }, func() time.Time { return at })
			in := ingest.Intake{
				Hospital: "north", Channel: acuity.ChannelHL7, Source: "key_1", At: acuity.At(at), Received: 1,
				Warnings: test.warnings, Unused: test.unused, Position: &ingest.Position{},
			}
			if test.places {
				in.Places = &ingest.Places{ReadWarnings: read}
			}
			n.Received(in)
			test.change.Hospital, test.change.Version, test.change.AppliedAt = "north", 1, acuity.At(at)
			value, err := schemas.ChangeCodec.Encode(nil, &test.change)
			if err != nil {
				t.Fatal(err)
			}
			n.Applied(ingest.Position{}, value)
			test.want.Received = 1
			if got := n.counts.Drain()[feeds.Feed{Hospital: "north", Channel: "hl7", Source: "key_1"}]; got == nil || got.Counts != test.want {
				t.Errorf("%+v, want %+v", got, test.want)
			}
		})
	}
}

// TestNoticesOfAFeed: notices from decoding are stored at once, and notices from applying when the change arrives.
// A body or an item that is refused when it is applied is listed as refused, because its sender may not have waited for
// the result. Each notice contains the id of the request. While the limit of pending events is reached, a new observation gets no
// notices from applying.
func TestNoticesOfAFeed(t *testing.T) {
	at := time.Date(2031, 4, 5, 12, 0, 0, 0, time.UTC)
	changes := map[ingest.Position][]byte{}
	n := New(func(p ingest.Position) ([]byte, bool) { c, ok := changes[p]; return c, ok }, func() time.Time { return at })
	feed := feeds.Feed{Hospital: "north", Channel: "adt", Source: "key_1"}
	take := func(offset int64, places *ingest.Places) {
		n.Received(ingest.Intake{
			Hospital: "north", Channel: acuity.ChannelADT, Source: "key_1", At: acuity.At(at), Received: 1, Request: "r1",
			Notices:  []ingest.Notice{{Code: "unknown_field", Path: strings.Repeat("x", 500)}},
			Position: &ingest.Position{Partition: 2, Offset: offset}, Places: places,
		})
	}
	settle := func(offset int64, c acuity.Change) {
		c.Hospital, c.Offset, c.Version, c.AppliedAt = "north", offset, offset+1, acuity.At(at)
		value, err := schemas.ChangeCodec.Encode(nil, &c)
		if err != nil {
			t.Fatal(err)
		}
		n.Applied(ingest.Position{Partition: 2, Offset: offset}, value)
	}
	take(0, new(ingest.Places))
	settle(0, acuity.Change{Outcome: acuity.Applied, Warnings: []acuity.Warning{{Code: "place_differs", Path: "events[0]"}}})
	take(1, new(ingest.Places))
	settle(1, acuity.Change{Outcome: acuity.Rejected, Reason: "too_old"})
	take(2, new(ingest.Places))
	settle(2, acuity.Change{Outcome: acuity.Applied, Items: []acuity.ItemResult{{Outcome: acuity.Rejected, Reason: "too_old"}}})
	take(3, nil) // without the paths of the facts
	settle(3, acuity.Change{Outcome: acuity.Applied, Warnings: []acuity.Warning{{Code: "place_differs"}}})

	noted := func(refused bool, code, path string) feeds.Notice {
		return feeds.Notice{At: at, Refused: refused, RequestID: "r1", Code: code, Path: path}
	}
	read := noted(false, "unknown_field", strings.Repeat("x", 128))
	want := []feeds.Notice{
		read, noted(false, "place_differs", "events[0]"), read, noted(true, "too_old", ""), read, noted(true, "too_old", "events[0]"), read,
	}
	if got := n.counts.Drain()[feed].Notices; !slices.Equal(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	for offset, c := range []acuity.Change{
		{Outcome: acuity.Duplicate, Reason: facts.ReasonReused, Repeats: 1},
		{Outcome: acuity.Duplicate, Repeats: 1},
		{Outcome: acuity.Ignored, Reason: "too_many_rooms", Warnings: []acuity.Warning{{Code: "too_many_rooms", Path: "roomId"}}},
		{Outcome: acuity.Applied, Warnings: []acuity.Warning{{Code: "too_many_rooms", Path: "rooms[7]"}}},
	} {
		take(int64(10+offset), new(ingest.Places))
		settle(int64(10+offset), c)
	}
	want = []feeds.Notice{
		read, noted(true, "request_reused", ""), read, read, noted(true, "too_many_rooms", "roomId"), read, noted(true, "too_many_rooms", "rooms[7]"),
	}
	if got := n.counts.Drain()[feed].Notices; !slices.Equal(got, want) {
		t.Errorf("refused when applied: got  %+v\nwant %+v", got, want)
	}
	if n.events != 0 {
		t.Errorf("%d events are remembered", n.events)
	}
	n.events = eventsAtMost // the limit is reached while the processor is down
	take(4, new(ingest.Places))
	settle(4, acuity.Change{Outcome: acuity.Applied, Warnings: []acuity.Warning{{Code: "place_differs"}}})
	if got := n.counts.Drain()[feed].Notices; !slices.Equal(got, []feeds.Notice{read}) || n.events != eventsAtMost {
		t.Errorf("beyond the bound: %+v, %d", got, n.events)
	}
}
