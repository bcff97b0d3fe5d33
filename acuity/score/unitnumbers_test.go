package score

import (
	"testing"

	"svc/acuity"
	"svc/acuity/catalogue"

	"pgregory.net/rapid"
)

// TestUnitNumbersAreTheVerdict compares the level computed from UnitNumbers with the level of the verdict computed
// from the rooms. The units have no roster, no patients without a room and no double occupancy.
func TestUnitNumbersAreTheVerdict(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := UnitNumbers{Nurses: rapid.Int32Range(-1, 8).Draw(t, "nurses"), Call: acuity.Tristate(rapid.IntRange(0, 2).Draw(t, "call"))}
		u := acuity.UnitChart{HasCensus: rapid.Bool().Draw(t, "census")}
		if g.Nurses >= 0 {
			u.Staffing = []acuity.Staffing{{AsOf: 1, Nurses: g.Nurses, Call: g.Call}}
		} else {
			g.Call = acuity.Unsaid
		}
		rooms := make([]RoomVerdict, rapid.IntRange(1, 12).Draw(t, "rooms"))
		for i := range rooms {
			r := &rooms[i]
			r.ID, r.listed = int32(i), true
			r.Status = acuity.RoomEmpty
			if rapid.Bool().Draw(t, "occupied") {
				r.Status = acuity.RoomOccupied
				r.Demand = catalogue.Demand(rapid.SampledFrom([]int32{0, 15, 20, 30, 60, 75, 120}).Draw(t, "demand"))
				r.Score = rapid.Int32Range(0, 100).Draw(t, "score")
				r.STAT = rapid.IntRange(0, 9).Draw(t, "stat") == 0
				r.Boarder = rapid.IntRange(0, 9).Draw(t, "boarder") == 0
				g.Occupied++
			}
			g.Required += r.Demand
			if r.Demand >= catalogue.Nurse {
				g.Single += r.Demand
			}
			g.Score += int64(r.Score)
			if r.STAT {
				g.STAT++
			}
			if r.Boarder {
				g.Boarders++
			}
		}
		for range rapid.IntRange(0, 6).Draw(t, "moves") {
			u.Moves = append(u.Moves, 1000)
			g.Moves++
		}
		if u.HasCensus {
			g.Rooms = int32(len(rooms))
		}
		want := JudgeUnit(&u, rooms, 2000)
		if level, axis := g.Driving(); level != want.Level || axis != want.Driving || g.Level() != level {
			t.Fatalf("%+v: %v by %v, alone %v; the verdict says %v by %v", g, level, axis, g.Level(), want.Level, want.Driving)
		}
	})
}

func BenchmarkUnitNumbers(b *testing.B) {
	g := UnitNumbers{Required: 700, Single: 540, Score: 400, STAT: 1, Occupied: 20, Rooms: 26, Moves: 4, Nurses: 11, Call: acuity.Yes}
	for b.Loop() {
		g.Level()
	}
}
