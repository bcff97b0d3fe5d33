package web

import (
	"strings"
	"testing"
	"time"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/score"
	"svc/readapi"
	"svc/readapi/web/page"
	"svc/readapi/web/page/pagetest"
	"svc/readapi/web/text"
)

// TestRatiosAreTranslated: if a room will need no nurse, the page says so in its language, in the sentence, in the
// table and in the figure.
func TestRatiosAreTranslated(t *testing.T) {
	for language, want := range map[string]string{"en": "none", "es": "ninguna"} {
		p := &writer{page.NewWriter(text.In(language), pagetest.Hospitals{}, "north")}
		now := score.RoomVerdict{ID: 4, Label: "LDR 4", Status: acuity.RoomOccupied, Color: acuity.ColorGreen, Demand: catalogue.Nurse / 2}
		later := now
		later.Demand = 0
		u := &readapi.Unit{At: noon, Verdict: &score.Verdict{AsOf: acuity.At(noon), Rooms: []score.RoomVerdict{now}}}
		out := p.newRoomPage(page.Frame{Writer: p.Writer}, u, &now, &readapi.RoomAhead{Steps: []readapi.RoomStep{
			{From: acuity.At(noon), Verdict: now}, {From: acuity.At(noon.Add(time.Hour)), Verdict: later},
		}})
		if !strings.HasSuffix(out.Say, " "+want) || out.Steps[1].Ratio != want || !strings.Contains(string(out.Clock8), "13:00 "+want) {
			t.Errorf("%s: %q, %q", language, out.Say, out.Steps[1].Ratio)
		}
	}
}

// TestRoomListsVisibleChanges: the scheduled changes of a room are those of its demand, color or score. A change of
// only one factor, or of the quality of the data, is none of them, and the sentence names the first change of demand.
func TestRoomListsVisibleChanges(t *testing.T) {
	p := &writer{page.NewWriter(text.In("en"), pagetest.Hospitals{}, "north")}
	step := func(hours int, demand catalogue.Demand, points int32) readapi.RoomStep {
		return readapi.RoomStep{From: acuity.At(noon).Add(time.Duration(hours) * time.Hour), Verdict: score.RoomVerdict{
			ID: 4, Label: "LDR 4", Status: acuity.RoomOccupied, Color: acuity.ColorGreen, Demand: demand, Score: points,
		}}
	}
	all := []readapi.RoomStep{
		step(0, catalogue.Nurse, 50), step(1, catalogue.Nurse, 50), step(2, catalogue.Nurse, 40), step(3, catalogue.Nurse/2, 40), step(4, catalogue.Nurse/2, 40),
	}
	now := all[0].Verdict
	u := &readapi.Unit{At: noon, Verdict: &score.Verdict{AsOf: acuity.At(noon), Rooms: []score.RoomVerdict{now}}}
	out := p.newRoomPage(page.Frame{Writer: p.Writer}, u, &now, &readapi.RoomAhead{Steps: all})
	var at []string
	for _, row := range out.Steps {
		at = append(at, row.At)
	}
	if got := strings.Join(at, " "); got != "12:00 14:00 15:00" || !strings.Contains(string(out.Clock8), "Changes: 2.") {
		t.Errorf("changes at %s, %.200s", got, out.Clock8)
	}
	if out.Say != "One nurse for this room until 15:00, then 1:2" {
		t.Error(out.Say)
	}
}
