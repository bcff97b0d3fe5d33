package main

import (
	"testing"
	"time"

	"svc/internal/config"
	"svc/internal/outbound/sending"
	"svc/internal/outbound/subscriber"
)

// TestChannelsOff: a channel that is not configured fails permanently and reports why.
func TestChannelsOff(t *testing.T) {
	all, err := channels(&config.Config{}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []subscriber.Channel{subscriber.ChannelMail, subscriber.ChannelSMS} {
		if r := all[c].Send(t.Context(), sending.Message{}); !r.Final || r.Class != sending.ClassBlocked {
			t.Errorf("%s: %+v", c, r)
		}
	}
}
