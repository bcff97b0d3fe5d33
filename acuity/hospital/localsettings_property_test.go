package hospital

import (
	"testing"

	"pgregory.net/rapid"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/codes"
)

// site turns the observation o into a random one by an administrator, which sets or deletes a mapping, a rule, a
// place or switches, or marks a code.
func (w *world) site(o *acuity.Observation) {
	gone := pick(w.t, "delete", false, false, true)
	switch pick(w.t, "site", 'm', 'm', 'r', 'l', 's', 'i') {
	case 'm':
		o.Channel = acuity.ChannelTerminology
		o.Mappings = []acuity.Mapping{{
			ID: "m1", System: codes.SystemLocal, Code: "X1", Delete: gone,
			Factor: pick(w.t, "factor", 0, factor("high-cardiac"), factor("mews-active")),
		}}
	case 'r':
		o.Channel = acuity.ChannelRules
		o.Rules = []catalogue.Rule{pick(w.t, "rule",
			catalogue.Rule{Factor: factor("high-mag"), Lines: []catalogue.RuleLine{{Name: "floor", Text: "2 until 90m, 1"}, {Name: "class", Text: "3"}}},
			catalogue.Rule{Factor: factor("high-cardiac"), Lines: []catalogue.RuleLine{{Name: "floor", Text: "1/2"}}},
			catalogue.Rule{Factor: factor("mews-active"), Lines: []catalogue.RuleLine{{Name: "window", Text: "60m from last"}}},
			catalogue.Rule{Factor: factor("labor-standard"), Lines: []catalogue.RuleLine{{Name: "demand", Text: "1/2"}, {Name: "stale", Text: "2h"}}},
		)}
		o.Rules[0].Delete = gone
	case 'l':
		o.Channel = acuity.ChannelLocations
		o.Locations = []acuity.Place{pick(w.t, "row",
			acuity.Place{PointOfCare: "LDR", Room: "L1", HasRoomID: true, RoomID: 3},
			acuity.Place{PointOfCare: "ICU", Room: "9"},
			acuity.Place{PointOfCare: "MBU", Outside: true},
			acuity.Place{PointOfCare: "LDR", HasRoomID: true, RoomID: 9, Label: "hall"},
			acuity.Place{HasRoomID: true, RoomID: 7, Label: "seven"},
			acuity.Place{PointOfCare: "LDR", Room: "L2", HasRoomID: true, RoomID: w.ownRoom(), Area: "MBU"},
		)}
		o.Locations[0].Delete = gone
	case 's':
		o.Channel = acuity.ChannelSettings
		o.Switches = &acuity.Switches{TrustA08Location: pick(w.t, "trust", false, true), StaffingFromRoster: pick(w.t, "rostered", false, true)}
	case 'i':
		o.Channel = acuity.ChannelTerminology
		o.Marks = []acuity.CodeMark{{System: codes.SystemLocal, Code: "X1", Delete: gone}}
	}
	if pick(w.t, "act", false, true) {
		o.Act = &acuity.Act{DryRun: pick(w.t, "dry", false, true), Expect: pick(w.t, "expect", acuity.ExpectAnything, acuity.ExpectAnything, acuity.ExpectSome, acuity.ExpectNone, 3)}
	}
}

// A dry run returns the effect that the same change has afterwards, without having any effect itself: the charts are
// unchanged, and the later change is the same as without the dry run.
func TestDryRunIsWhatFollows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &world{t: t, now: day}
		asked, silent := New(testHospital), New(testHospital)
		step := func(u *State, o *acuity.Observation) acuity.Change {
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
		o := acuity.Observation{Hospital: testHospital, ReceivedAt: w.now, Source: "key"}
		w.site(&o)
		if o.Act == nil {
			o.Act = &acuity.Act{}
		}
		o.Act.DryRun = false
		dry := o
		dry.Act = &acuity.Act{DryRun: true, Expect: o.Act.Expect}

		before := rendered(asked.Chart().Rooms)
		preview := step(asked, &dry)
		if preview.Outcome != acuity.Ignored || preview.Reason != reasonDryRun || len(preview.Effects)+len(preview.Activated)+len(preview.Expired) > 0 {
			t.Fatalf("the question did something: %s", rendered(preview))
		}
		if after := rendered(asked.Chart().Rooms); after != before {
			t.Fatalf("the question changed a chart\n%s", difference(before, after))
		}
		real, alone := step(asked, &o), step(silent, &o)
		want := acuity.Preview{
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
