package readapi

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"svc/acuity"
	"svc/internal/api"
)

// What is written by hand is what encoding/json makes of the same struct.
func TestEncodersWriteTheStructs(t *testing.T) {
	same := func(t *rapid.T, got []byte, of any) raw {
		want, err := api.Marshal(of)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(want) {
			t.Fatalf("written\n%s\nencoding/json\n%s", got, want)
		}
		return want
	}
	rapid.Check(t, func(t *rapid.T) {
		v := anyVerdict(t)
		same(t, levelOf(v).append(nil), levelOf(v))
		rooms := make([]raw, len(v.Rooms))
		for i := range v.Rooms {
			one := roomOf(&v.Rooms[i])
			rooms[i] = same(t, one.append(nil), one)
		}
		same(t, UnitState(v), unitStateOf(v, rooms))
	})
}

func TestTimesAreWrittenAsFormatted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := time.UnixMilli(rapid.Int64Range(-1<<46, 1<<49).Draw(t, "at"))
		if got := string(api.Time(at).Append(nil)); got != api.Timestamp(at) {
			t.Fatalf("%s, want %s", got, api.Timestamp(at))
		}
	})
}

// anyVerdict is any that the types allow, sensible or not.
func anyVerdict(t *rapid.T) *acuity.Verdict {
	text := rapid.OneOf(rapid.SampledFrom([]string{"LDR 4", "a<b>&c", `q"\`, "\x00\t\n\x7f", "Kreißsaal", "\u2028", "\xff"}), rapid.String())
	at := rapid.Custom(func(t *rapid.T) acuity.Instant {
		return acuity.Instant(rapid.OneOf(rapid.Just[int64](0), rapid.Int64Range(0, 1<<42)).Draw(t, "at"))
	})
	demand := rapid.Custom(func(t *rapid.T) acuity.Demand { return acuity.Demand(rapid.Int32Range(0, 600).Draw(t, "demand")) })
	factorOf := rapid.Custom(func(t *rapid.T) acuity.FactorVerdict {
		return acuity.FactorVerdict{
			Factor:   acuity.Factor(rapid.IntRange(1, acuity.Default().Len()).Draw(t, "factor")),
			Kind:     acuity.EvidenceKind(rapid.IntRange(1, 6).Draw(t, "kind")),
			Severity: rapid.Uint8().Draw(t, "severity"), Since: at.Draw(t, "since"), Next: at.Draw(t, "next"),
			Need:       demand.Draw(t, "need"),
			AssignedBy: rapid.SampledFrom([]string{"", "table"}).Draw(t, "assigned by"),
			Sources: rapid.SliceOfN(rapid.Custom(func(t *rapid.T) acuity.Source {
				return acuity.Source{
					Feed:   acuity.ChannelADT,
					System: rapid.SampledFrom([]acuity.System{acuity.ICD10CM, acuity.RxNorm, ""}).Draw(t, "system"),
					Code:   text.Draw(t, "code"),
				}
			}), 0, 3).Draw(t, "sources"),
		}
	})
	roomOf := rapid.Custom(func(t *rapid.T) acuity.RoomVerdict {
		return acuity.RoomVerdict{
			ID: rapid.Int32().Draw(t, "id"), Label: text.Draw(t, "label"), Area: text.Draw(t, "area"),
			Status: acuity.RoomStatus(rapid.IntRange(0, 3).Draw(t, "status")), Color: acuity.Color(rapid.IntRange(0, 4).Draw(t, "color")),
			Score: rapid.Int32().Draw(t, "score"), Demand: demand.Draw(t, "demand"),
			Primary: acuity.Factor(rapid.IntRange(0, acuity.Default().Len()).Draw(t, "primary")),
			Factors: rapid.SliceOfN(factorOf, 0, 3).Draw(t, "factors"), Next: at.Draw(t, "next"), Stale: rapid.Bool().Draw(t, "stale"),
		}
	})
	v := &acuity.Verdict{
		Level: acuity.Level(rapid.IntRange(0, 3).Draw(t, "level")), Driving: acuity.Axis(rapid.IntRange(0, 6).Draw(t, "driving")),
		Required: demand.Draw(t, "required"), Shortfall: rapid.Int32().Draw(t, "shortfall"), ShortfallFTE: demand.Draw(t, "fte"),
		OnDuty: rapid.Int32Range(-1, 40).Draw(t, "nurses"), Call: acuity.Tristate(rapid.IntRange(0, 2).Draw(t, "call")),
		Ratio: rapid.Int32Range(-1, 300).Draw(t, "ratio"), Rooms: rapid.SliceOfN(roomOf, 0, 4).Draw(t, "rooms"),
		RosterStale: rapid.Bool().Draw(t, "stale"), Unplaced: rapid.Int32().Draw(t, "unplaced"),
		Quality: rapid.SliceOfN(rapid.Custom(func(t *rapid.T) acuity.Quality {
			return acuity.Quality{Code: "code", Message: text.Draw(t, "message")}
		}), 0, 2).Draw(t, "quality"),
		Version: rapid.Int64().Draw(t, "version"), AsOf: at.Draw(t, "asOf"), Next: at.Draw(t, "next"),
	}
	for i := range v.Axes {
		v.Axes[i] = acuity.AxisVerdict{
			Known: rapid.Bool().Draw(t, "known"), Pressure: rapid.Int32Range(0, 1000).Draw(t, "pressure"),
			Value: rapid.Int64Range(-1<<40, 1<<40).Draw(t, "value"), HasValue: rapid.Bool().Draw(t, "valued"),
			Rule: "c4", Detail: text.Draw(t, "detail"),
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
