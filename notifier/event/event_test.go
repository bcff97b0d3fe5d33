package event_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/internal/outbound"
	"svc/notifier/event"
)

var update = flag.Bool("update", false, "write the golden files")

func change() *acuity.Change {
	factor := func(id string) catalogue.Factor {
		f, ok := catalogue.FactorByID(id)
		if !ok {
			panic(id)
		}
		return f
	}
	return &acuity.Change{
		Hospital: "st-mary", Version: 41, Cause: acuity.CauseIngest, Level: acuity.LevelOrange,
		AppliedAt: acuity.At(time.Date(2026, 3, 1, 14, 5, 0, 7e6, time.FixedZone("CST", -6*3600))),
		Effects: []acuity.Effect{
			{Kind: acuity.LevelChanged, Level: acuity.LevelOrange, Prior: acuity.LevelYellow, Driving: acuity.AxisStaffing, Ratio: 80, Shortfall: 2},
			{Kind: acuity.RoomRescored, RoomID: 4, RoomLabel: "LDR <4> & 5", Color: acuity.ColorRed, PriorColor: acuity.ColorGreen, Score: 72, Factors: []catalogue.Factor{factor("high-mag"), factor("labor-standard")}, Nursing: "1:1"},
			{Kind: acuity.RoomRescored, RoomID: 9, Color: acuity.ColorGray, PriorColor: acuity.ColorRed, Nursing: ""},
		},
	}
}

// TestGolden compares the bytes of every event with golden files. Partners compare and store these bytes, so a change
// here changes the contract.
func TestGolden(t *testing.T) {
	byTime := change()
	byTime.Cause, byTime.Version = acuity.CauseTime, 42
	byTime.Level = acuity.LevelGreen
	byTime.Effects = []acuity.Effect{{Kind: acuity.LevelChanged, Level: acuity.LevelGreen, Prior: acuity.LevelRed, Driving: acuity.AxisSkill, Ratio: -1}}
	roomOnly := change()
	roomOnly.Version, roomOnly.Effects = 43, roomOnly.Effects[1:2]
	var got bytes.Buffer
	for _, c := range []*acuity.Change{change(), byTime, roomOnly} {
		events, err := event.FromChange(c, 7)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			got.Write(e.Body)
			got.WriteByte('\n')
		}
	}
	for _, name := range []string{"", outbound.LevelChanged, outbound.RoomRescored, outbound.Alert} {
		e, err := event.Test(&outbound.Command{ID: "cmd_1", Hospital: "st-mary", Event: name, Endpoint: "whk_1", At: time.Date(2026, 3, 1, 20, 5, 0, 0, time.UTC)}, acuity.LevelYellow)
		if err != nil {
			t.Fatal(err)
		}
		got.Write(e.Body)
		got.WriteByte('\n')
	}
	path := filepath.Join("testdata", "events.golden")
	if *update {
		if err := os.WriteFile(path, got.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("the events are now\n%s", got.String())
	}
}

// TestIDs: an id depends only on what the event is about.
func TestIDs(t *testing.T) {
	// printf 'svc.v1\0h\0h\0001\0surge.level_changed\0' | sha256sum
	if got, want := event.ID("h", "h", 1, outbound.LevelChanged, ""), "evt_027cd2ad97ecf983a804fecee245e59b"; got != want {
		t.Errorf("id %s, want %s", got, want)
	}
	a, err := event.FromChange(change(), 7)
	if err != nil {
		t.Fatal(err)
	}
	b, err := event.FromChange(change(), 8) // the same change at a different offset
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for i := range a {
		if a[i].ID != b[i].ID || !bytes.Equal(a[i].Body, b[i].Body) {
			t.Errorf("event %d differs by its place", i)
		}
		seen[a[i].ID] = true
	}
	next := change()
	next.Version++
	c, err := event.FromChange(next, 9)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range c {
		seen[e.ID] = true
	}
	other := change()
	other.Hospital = "north"
	d, err := event.FromChange(other, 9)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range d {
		seen[e.ID] = true
	}
	if len(seen) != 9 {
		t.Errorf("%d ids of 9 events", len(seen))
	}
}

// TestAnyChange: for any change, the body is compact JSON in the field order of the envelope, and its summary is
// short.
func TestAnyChange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := change()
		c.Effects[0].Ratio = rapid.Int32Range(-1, 100_000).Draw(t, "ratio")
		c.Effects[1].RoomLabel = rapid.String().Draw(t, "label")
		c.Effects[1].Score = rapid.Int32().Draw(t, "score")
		events, err := event.FromChange(c, 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			var compact bytes.Buffer
			if err := json.Compact(&compact, e.Body); err != nil || !bytes.Equal(compact.Bytes(), e.Body) {
				t.Fatalf("not compact JSON: %s", e.Body)
			}
			at := -1
			for _, field := range []string{"protocol", "id", "event", "hospitalId", "occurredAt", "summary", "level", "priorLevel", "data"} {
				if next := bytes.Index(e.Body, []byte(`"`+field+`":`)); next <= at {
					t.Fatalf("%s stands out of order in %s", field, e.Body)
				} else {
					at = next
				}
			}
			var envelope event.Envelope
			if err := json.Unmarshal(e.Body, &envelope); err != nil {
				t.Fatal(err)
			}
			if n := utf8.RuneCountInString(envelope.Summary); n > 140 || n == 0 {
				t.Fatalf("a summary of %d characters", n)
			}
			if e.Event == outbound.LevelChanged && c.Effects[0].Ratio >= 0 {
				data, ok := envelope.Data.(map[string]any)
				if !ok || data["nurseAcuityRatio"] != float64(c.Effects[0].Ratio)/100 {
					t.Fatalf("ratio %d is written %v", c.Effects[0].Ratio, data["nurseAcuityRatio"])
				}
			}
		}
	})
}

func TestNothingToTell(t *testing.T) {
	c := change()
	c.Effects = nil
	if events, err := event.FromChange(c, 1); err != nil || len(events) > 0 {
		t.Error(events, err)
	}
}

// TestSummaryNamesRoom: the summary contains the label of a room, unless the label could be a
// person's name.
func TestSummaryNamesRoom(t *testing.T) {
	for label, want := range map[string]string{
		"LDR 4": "LDR 4 red (was", "301": "Room 301 red (was", "Room 12": "Room 12 red (was", "": "Room 4 red (was", "Doe, Jane": "Room 4 red (was",
	} {
		c := change()
		for i := range c.Effects {
			if c.Effects[i].RoomID == 4 {
				c.Effects[i].RoomLabel = label
			}
		}
		events, err := event.FromChange(c, 1)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(events, func(e outbound.Event) bool { return bytes.Contains(e.Body, []byte(`"summary":"`+want)) }) {
			t.Errorf("%q: no summary begins with %q", label, want)
		}
	}
}

// TestLevelIsReadBack: LevelOf returns the effect and the cause from which a level event was created, because a
// notifier that restarts knows them only from the event.
func TestLevelIsReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := acuity.Effect{
			Kind: acuity.LevelChanged, Level: acuity.Level(rapid.Uint8Range(0, 3).Draw(t, "level")), Prior: acuity.Level(rapid.Uint8Range(0, 3).Draw(t, "prior")),
			Driving: acuity.Axis(rapid.Uint8Range(0, uint8(acuity.AxisCount)-1).Draw(t, "axis")),
			Ratio:   rapid.Int32Range(-1, 100_000).Draw(t, "ratio"), Shortfall: rapid.Int32Range(0, 99).Draw(t, "shortfall"),
		}
		cause := rapid.SampledFrom([]acuity.Cause{acuity.CauseIngest, acuity.CauseTime}).Draw(t, "cause")
		events, err := event.FromChange(&acuity.Change{Hospital: "h", Version: 1, Cause: cause, Level: want.Level, Effects: []acuity.Effect{want}}, 1)
		if err != nil {
			t.Fatal(err)
		}
		got, why, ok := event.LevelOf(events[0].Body)
		if !ok || why != cause || got.Level != want.Level || got.Prior != want.Prior || got.Driving != want.Driving || got.Ratio != want.Ratio || got.Shortfall != want.Shortfall {
			t.Fatalf("%+v, want %+v", got, want)
		}
	})
	for _, bad := range []string{"", "{}", `{"data":{"level":"blue"}}`} {
		if _, _, ok := event.LevelOf([]byte(bad)); ok {
			t.Errorf("%q is read", bad)
		}
	}
}
