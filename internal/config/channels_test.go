package config

import (
	"strings"
	"testing"
)

// TestChannelFaults: all errors in the options for e-mail, SMS and links are reported together.
func TestChannelFaults(t *testing.T) {
	_, err := parseConfig(t, "notify", NeedTopics|NeedRedis|NeedNotify, []string{
		"--smtp-host", "relay.example:25", "--smtp-port", "x", "--smtp-tls", "perhaps", "--sms-driver", "pigeon",
		"--public-url", "https://" + strings.Repeat("x", publicURLAtMost),
	}, environment())
	if err == nil {
		t.Fatal("a faulty configuration was taken")
	}
	for _, want := range []string{"--smtp-host: must be a host name", "--smtp-port: must be a number", "--smtp-tls: must be one of", "--sms-driver: must be one of", "--public-url: must have at most 80"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("missing %q in:\n%v", want, err)
		}
	}
	_, err = parseConfig(t, "notify", NeedTopics|NeedRedis|NeedNotify, []string{"--smtp-host", "relay.example", "--smtp-user", "svc", "--sms-driver", "twilio"}, environment())
	if err == nil {
		t.Fatal("half a configuration was taken")
	}
	for _, want := range []string{"--smtp-from: must be an address", "give both or neither", "--sms-url: must be", "--sms-token: required", "--sms-account, --sms-from: required"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("missing %q in:\n%v", want, err)
		}
	}
}
