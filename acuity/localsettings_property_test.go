package acuity

import (
	"testing"

	"pgregory.net/rapid"

	"svc/acuity/codes"
)

// site makes an administrator say something.
func (w *world) site(o *Observation) {
	gone := pick(w.t, "delete", false, false, true)
	switch pick(w.t, "site", 'm', 'm', 'r', 'l', 's', 'i') {
	case 'm':
		o.Channel = ChannelTerminology
		o.Mappings = []Mapping{{
			ID: "m1", System: codes.SystemLocal, Code: "X1", Delete: gone,
			Factor: pick(w.t, "factor", 0, factor("high-cardiac"), factor("mews-active")),
		}}
	case 'r':
		o.Channel = ChannelRules
		o.Rules = []Rule{pick(w.t, "rule",
			Rule{Factor: factor("high-mag"), Lines: []RuleLine{{"floor", "2 until 90m, 1"}, {"class", "3"}}},
			Rule{Factor: factor("high-cardiac"), Lines: []RuleLine{{"floor", "1/2"}}},
			Rule{Factor: factor("mews-active"), Lines: []RuleLine{{"window", "60m from last"}}},
			Rule{Factor: factor("labor-standard"), Lines: []RuleLine{{"demand", "1/2"}, {"stale", "2h"}}},
		)}
		o.Rules[0].Delete = gone
	case 'l':
		o.Channel = ChannelLocations
		o.Locations = []Place{pick(w.t, "row",
			Place{PointOfCare: "LDR", Room: "L1", HasRoomID: true, RoomID: 3},
			Place{PointOfCare: "ICU", Room: "9"},
			Place{PointOfCare: "MBU", Outside: true},
			Place{PointOfCare: "LDR", HasRoomID: true, RoomID: 9, Label: "hall"},
			Place{HasRoomID: true, RoomID: 7, Label: "seven"},
			Place{PointOfCare: "LDR", Room: "L2", HasRoomID: true, RoomID: w.ownRoom(), Area: "MBU"},
		)}
		o.Locations[0].Delete = gone
	case 's':
		o.Channel = ChannelSettings
		o.Switches = &Switches{TrustA08Location: pick(w.t, "trust", false, true), StaffingFromRoster: pick(w.t, "rostered", false, true)}
	case 'i':
		o.Channel = ChannelTerminology
		o.Marks = []CodeMark{{System: codes.SystemLocal, Code: "X1", Delete: gone}}
	}
	if pick(w.t, "act", false, true) {
		o.Act = &Act{DryRun: pick(w.t, "dry", false, true), Expect: pick(w.t, "expect", expectAnything, expectAnything, ExpectSome, ExpectNone, 3)}
	}
}

// A dry run answers what the following change does, and does nothing: the charts stay,
// and the change is the same as without it.
func TestDryRunIsWhatFollows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &world{t: t, now: day}
		asked, silent := NewUnit(testHospital), NewUnit(testHospital)
		step := func(u *Unit, o *Observation) Change {
			for {
				if _, more := u.Advance(o.ReceivedAt); !more {
					return u.Apply(o, 0)
				}
			}
		}
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			o := w.next()
			step(asked, &o)
			step(silent, &o)
		}
		o := Observation{Hospital: testHospital, ReceivedAt: w.now, Source: "key"}
		w.site(&o)
		if o.Act == nil {
			o.Act = &Act{}
		}
		o.Act.DryRun = false
		dry := o
		dry.Act = &Act{DryRun: true, Expect: o.Act.Expect}

		before := rendered(asked.Chart().Rooms)
		preview := step(asked, &dry)
		if preview.Outcome != Ignored || preview.Reason != reasonDryRun || len(preview.Effects)+len(preview.Activated)+len(preview.Expired) > 0 {
			t.Fatalf("the question did something: %s", rendered(preview))
		}
		if after := rendered(asked.Chart().Rooms); after != before {
			t.Fatalf("the question changed a chart\n%s", difference(before, after))
		}
		real, alone := step(asked, &o), step(silent, &o)
		want := Preview{
			Outcome: real.Outcome, Reason: real.Reason, Level: real.Level, Effects: real.Effects,
			Activated: real.Activated, Expired: real.Expired, Warnings: real.Warnings,
		}
		if got, want := rendered(preview.Preview), rendered(want); got != want {
			t.Fatalf("asked and done differ\n%s", difference(got, want))
		}
		if real.Level != alone.Level || rendered(real.Activated) != rendered(alone.Activated) || rendered(real.Expired) != rendered(alone.Expired) ||
			rendered(asked.Chart().Rooms) != rendered(silent.Chart().Rooms) {
			t.Fatalf("the question had an effect later\n%s", difference(rendered(real), rendered(alone)))
		}
	})
}
