package event

import (
	"fmt"
	"time"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/internal/outbound"
)

// Test returns the event of a test: a ping, or a sample with made-up data that says
// so in its summary. The level is the present level of the unit.
func Test(c *outbound.Command, level acuity.Level) (outbound.Event, error) {
	e := outbound.Event{
		Hospital: c.Hospital, Event: c.Event, Source: -1, RoomID: -1,
		OccurredAt: c.At.UTC().Truncate(time.Millisecond), Only: []string{c.Endpoint}, Command: c.ID,
	}
	if e.Event == "" {
		e.Event = outbound.Ping
	}
	envelope := Envelope{Level: level.String(), PriorLevel: level.String()}
	sample := acuity.Effect{Level: acuity.LevelOrange, Prior: acuity.LevelYellow, Driving: acuity.AxisStaffing, Ratio: 84, Shortfall: 2}
	subject := ""
	switch e.Event {
	case outbound.Ping:
		envelope.Summary, envelope.Data = "Test: the endpoint is reached", struct{}{}
	case outbound.LevelChanged:
		data := Level(&sample, acuity.CauseIngest)
		envelope.Level, envelope.PriorLevel, envelope.Data = data.Level, data.PriorLevel, data
		envelope.Summary = "Test: level orange (was yellow): " + data.DrivingAxisLabel
	case outbound.RoomRescored:
		e.RoomID, subject = 1, "1"
		factor, _ := catalogue.FactorByID("high-mag")
		envelope.Summary = "Test: room 1 red (was yellow), score 72"
		envelope.Data = room(&acuity.Effect{
			RoomID: 1, RoomLabel: "Test", Color: acuity.ColorRed, PriorColor: acuity.ColorYellow,
			Score: 72, Factors: []catalogue.Factor{factor}, Nursing: "1:1",
		}, acuity.CauseIngest)
	case outbound.Alert:
		envelope.Level, envelope.PriorLevel = sample.Level.String(), sample.Prior.String()
		envelope.Summary = "Test: alert T2: " + sample.Driving.Label()
		envelope.Data = AlertData{LevelData: Level(&sample, acuity.CauseIngest), Tier: "T2", Reason: "raised", AlertRunID: "epi_test", Peak: nil, Action: "Test"}
	default:
		return outbound.Event{}, fmt.Errorf("no sample of event %q", e.Event)
	}
	e.ID = ID(c.Hospital, c.Hospital+"/command/"+c.ID, 0, e.Event, subject)
	var err error
	e.Body, err = Body(&e, envelope)
	return e, err
}
