package readapi

import (
	"testing"

	"pgregory.net/rapid"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/codes"
	"svc/acuity/score"
)

// TestPiecesAreTheAnswer: the joined pieces of an answer equal the output of encoding/json.
func TestPiecesAreTheAnswer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := anyVerdict(t)
		rooms := make([]raw, len(v.Rooms))
		for i := range v.Rooms {
			rooms[i] = encode(roomOf(&v.Rooms[i]))
		}
		if got, want := UnitState(v), encode(unitStateOf(v, rooms)); string(got) != string(want) {
			t.Fatalf("pieces\n%s\nencoding/json\n%s", got, want)
		}
	})
}

// anyVerdict draws a random verdict. It may be any verdict that the types allow, even an inconsistent one.
func anyVerdict(t *rapid.T) *score.Verdict {
	text := rapid.OneOf(rapid.SampledFrom([]string{"LDR 4", "a<b>&c", `q"\`, "\x00\t\n\x7f", "Kreißsaal", "\u2028", "\xff"}), rapid.String())
	at := rapid.Custom(func(t *rapid.T) acuity.Instant {
		return acuity.Instant(rapid.OneOf(rapid.Just[int64](0), rapid.Int64Range(0, 1<<42)).Draw(t, "at"))
	})
	demand := rapid.Custom(func(t *rapid.T) catalogue.Demand { return catalogue.Demand(rapid.Int32Range(0, 600).Draw(t, "demand")) })
	evidenceOf := rapid.Custom(func(t *rapid.T) acuity.Evidence {
		return acuity.Evidence{
			Factor:     catalogue.Factor(rapid.IntRange(1, catalogue.Default().Len()).Draw(t, "factor")),
			Kind:       acuity.EvidenceKind(rapid.IntRange(1, 6).Draw(t, "kind")),
			AssignedBy: rapid.SampledFrom([]string{"", "table"}).Draw(t, "assigned by"),
			Source: acuity.Source{
				Feed:   acuity.ChannelADT,
				System: rapid.SampledFrom([]codes.System{codes.ICD10CM, codes.RxNorm, ""}).Draw(t, "system"),
				Code:   text.Draw(t, "code"),
			},
		}
	})
	roomOf := rapid.Custom(func(t *rapid.T) score.RoomVerdict {
		list := rapid.SliceOfN(evidenceOf, 0, 3).Draw(t, "evidence")
		for i := range list {
			if i > 0 && rapid.Bool().Draw(t, "one more source") {
				list[i].Factor = list[i-1].Factor
			}
		}
		chart := acuity.RoomChart{Patients: []acuity.PatientChart{{Evidence: list}}}
		v := score.JudgeRoom(catalogue.Default(), &chart, 0)
		v.ID, v.Label, v.Area = rapid.Int32().Draw(t, "id"), text.Draw(t, "label"), text.Draw(t, "area")
		v.Status, v.Color = acuity.RoomStatus(rapid.IntRange(0, 3).Draw(t, "status")), acuity.Color(rapid.IntRange(0, 4).Draw(t, "color"))
		v.Score, v.Demand = rapid.Int32().Draw(t, "score"), demand.Draw(t, "demand")
		v.Primary = catalogue.Factor(rapid.IntRange(0, catalogue.Default().Len()).Draw(t, "primary"))
		v.Next, v.Stale = at.Draw(t, "next"), rapid.Bool().Draw(t, "stale")
		for i := range v.Factors {
			f := &v.Factors[i]
			f.Severity, f.Need = rapid.Uint8().Draw(t, "severity"), demand.Draw(t, "need")
			f.Since, f.Next = at.Draw(t, "since"), at.Draw(t, "next")
		}
		return v
	})
	v := &score.Verdict{
		Level: acuity.Level(rapid.IntRange(0, 3).Draw(t, "level")), Driving: acuity.Axis(rapid.IntRange(0, 6).Draw(t, "driving")),
		Required: demand.Draw(t, "required"), Shortfall: rapid.Int32().Draw(t, "shortfall"), ShortfallFTE: demand.Draw(t, "fte"),
		OnDuty: rapid.Int32Range(-1, 40).Draw(t, "nurses"), Call: acuity.Tristate(rapid.IntRange(0, 2).Draw(t, "call")),
		Ratio: rapid.Int32Range(-1, 300).Draw(t, "ratio"), Rooms: rapid.SliceOfN(roomOf, 0, 4).Draw(t, "rooms"),
		RosterStale: rapid.Bool().Draw(t, "stale"), Unplaced: rapid.Int32().Draw(t, "unplaced"),
		Quality: score.QualitySet(rapid.Uint16().Draw(t, "quality")),
		Version: rapid.Int64().Draw(t, "version"), AsOf: at.Draw(t, "asOf"), Next: at.Draw(t, "next"),
	}
	for i := range v.Axes {
		v.Axes[i] = score.AxisVerdict{
			Known: rapid.Bool().Draw(t, "known"), Pressure: rapid.Int32Range(0, 1000).Draw(t, "pressure"),
			Value: rapid.Int64Range(-1<<40, 1<<40).Draw(t, "value"), HasValue: rapid.Bool().Draw(t, "valued"),
			Rule: "c4",
		}
	}
	if rapid.Bool().Draw(t, "roster") {
		v.Roster = &acuity.Roster{AsOf: at.Draw(t, "asOf"), Nurses: rapid.SliceOfN(rapid.Custom(func(t *rapid.T) acuity.RosterNurse {
			return acuity.RosterNurse{
				ExternalID: text.Draw(t, "nurse"), Skill: int8(rapid.IntRange(-1, 2).Draw(t, "skill")),
				HiredDays: rapid.Int32Range(0, 30_000).Draw(t, "hired"), Rooms: rapid.SliceOfN(rapid.Int32Range(0, 5), 0, 4).Draw(t, "assigned"),
			}
		}), 0, 4).Draw(t, "nurses")}
	}
	return v
}
