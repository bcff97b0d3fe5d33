package readapi

import (
	"fmt"
	"testing"
	"time"

	"svc/acuity"
	"svc/internal/api"
)

func TestKeptIsBounded(t *testing.T) {
	s := &server{kept: map[string]*judgment{}, most: 100}
	for i := range 50 {
		hospital := fmt.Sprint("unit-", i%7)
		s.keep(hospital, &judgment{size: int64(10 + i%3*20)})
		held := int64(0)
		for _, j := range s.kept {
			held += j.size
		}
		if held != s.held || held > s.most || s.kept[hospital] == nil {
			t.Fatalf("after %d: %d bytes, counted %d, %d kept", i, held, s.held, len(s.kept))
		}
	}
	s.keep("huge", &judgment{size: 1000})
	if len(s.kept) != 1 || s.kept["huge"] == nil {
		t.Errorf("beside one that is too large alone: %d", len(s.kept))
	}
}

// busyChart is a unit of 40 rooms, five factors each.
func busyChart() *acuity.Chart {
	now := acuity.At(time.Date(2031, 4, 5, 12, 0, 0, 0, time.UTC))
	c := &acuity.Chart{Hospital: "north", Unit: acuity.UnitChart{Version: 7, Since: now, Clock: now, HasCensus: true, TotalRooms: 48}}
	for id := range int32(40) {
		r := acuity.RoomChart{
			ID: id, Label: fmt.Sprint("LDR ", id), Area: "LDR", Status: acuity.RoomOccupied, Listed: true,
			Patients: []acuity.PatientChart{{Visit: "v", Mother: true, Arrived: now}},
		}
		for _, name := range []string{"labor-standard", "high-mag", "high-preeclampsia", "high-hemorrhage", "mews-active"} {
			if f, ok := acuity.FactorByID(name); ok {
				r.Patients[0].Evidence = append(r.Patients[0].Evidence, acuity.Evidence{
					Factor: f, Kind: acuity.BySignal, Start: now, Last: now,
					Source: acuity.Source{Feed: acuity.ChannelClinical, System: acuity.RxNorm, Code: "6585"},
				})
			}
		}
		c.Rooms = append(c.Rooms, r)
	}
	return c
}

// BenchmarkReadChanged is what a changed unit costs beyond reading it: the
// judgment, then each answer, as written and as encoding/json would.
func BenchmarkReadChanged(b *testing.B) {
	c := busyChart()
	v := c.Verdict(c.Unit.Clock)
	for name, do := range map[string]func(){
		"judge":         func() { judge(c, Token{}, c.Unit.Clock) },
		"level":         func() { tagged(levelOf(&v).append(nil)) },
		"written":       func() { tagged(UnitState(&v)) },
		"encoding-json": func() { encodeWithJSON(b, &v) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				do()
			}
		})
	}
}

func encodeWithJSON(b *testing.B, v *acuity.Verdict) {
	rooms := make([]room, len(v.Rooms))
	for i := range v.Rooms {
		rooms[i] = roomOf(&v.Rooms[i])
	}
	for _, data := range []any{unitStateOf(v, nil), rooms} {
		if _, err := api.Marshal(data); err != nil {
			b.Fatal(err)
		}
	}
}
