package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"svc/acuity"
	"svc/acuity/score"
	"svc/internal/outbound"
)

// TestChannelFaults: every fault of e-mail, SMS and links is reported together.
func TestChannelFaults(t *testing.T) {
	_, err := parseConfig("notify", needTopics|needRedis|needNotify, []string{
		"--smtp-host", "relay.example:25", "--smtp-port", "x", "--smtp-tls", "perhaps", "--sms-driver", "pigeon",
		"--public-url", "https://" + strings.Repeat("x", publicURLAtMost),
	}, environment(), &bytes.Buffer{})
	if err == nil {
		t.Fatal("a faulty configuration was taken")
	}
	for _, want := range []string{"--smtp-host: must be a host name", "--smtp-port: must be a number", "--smtp-tls: must be one of", "--sms-driver: must be one of", "--public-url: must have at most 80"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("missing %q in:\n%v", want, err)
		}
	}
	_, err = parseConfig("notify", needTopics|needRedis|needNotify, []string{"--smtp-host", "relay.example", "--smtp-user", "svc", "--sms-driver", "twilio"}, environment(), &bytes.Buffer{})
	if err == nil {
		t.Fatal("half a configuration was taken")
	}
	for _, want := range []string{"--smtp-from: must be an address", "give both or neither", "--sms-url: must be", "--sms-token: must be given", "--sms-account, --sms-from: must be given"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("missing %q in:\n%v", want, err)
		}
	}
}

// TestChannelsOff: a channel that is not configured fails for good and says so.
func TestChannelsOff(t *testing.T) {
	all, err := (&config{}).channels(time.Now)
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
