package main

import (
	"testing"
	"time"

	"svc/internal/config"
	"svc/internal/outbound"
)

// TestChannelsOff: a channel that is not configured fails permanently and reports why.
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
