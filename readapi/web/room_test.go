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
