package main

import (
	"testing"
	"time"

	"svc/acuity"
	"svc/acuity/score"
	"svc/internal/config"
	"svc/internal/outbound"
)

// TestChannelsOff: a channel that is not configured fails for good and says so.
func TestChannelsOff(t *testing.T) {
	all, err := channels(&config.Config{}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []outbound.Channel{outbound.ChannelMail, outbound.ChannelSMS} {
		if r := all[c].Send(t.Context(), outbound.Message{}); !r.Final || r.Class != outbound.ClassBlocked {
			t.Errorf("%s: %+v", c, r)
		}
	}
}

// TestSummary: an alert names the rooms with the highest score. An empty room counts as open.
func TestSummary(t *testing.T) {
	got := summary([]score.RoomVerdict{
		{ID: 1, Score: 20, Color: acuity.ColorYellow},
		{ID: 2, Status: acuity.RoomEmpty},
		{ID: 3, Score: 90, Color: acuity.ColorRed, Label: "LDR 3"},
		{ID: 4, Score: 50, Color: acuity.ColorOrange},
		{ID: 5, Score: 50, Color: acuity.ColorOrange},
	})
	var ids []int32
	for _, r := range got.Top {
		ids = append(ids, r.ID)
	}
	if got.Open != 1 || len(ids) != 3 || ids[0] != 3 || ids[1] != 4 || ids[2] != 5 || got.Top[0].Label != "LDR 3" {
		t.Errorf("open %d, top %v", got.Open, ids)
	}
}
