package people

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"svc/internal/outbound"
	"svc/internal/outbound/sending"
	"svc/internal/outbound/subscriber"
)

// TestMemoryFitsTheLedger: the encoded state of a hospital with many recipients and weeks of alerts is small enough
// for the ledger. If the state is too large with all messages, the oldest messages are dropped first.
func TestMemoryFitsTheLedger(t *testing.T) {
	const ledgerMost = 64 << 10
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		messages, attempts int
		response           string
		complete           bool
	}{
		"none":              {0, 0, "", true},
		"a few":             {6, 1, "250 queued", true},
		"weeks of SMS":      {sentKept, 1, "SM0123", true},
		"200 recipients":    {400, 0, "", true},
		"unbelievable many": {8_000, 0, "", false},
		"incompressible":    {sentKept, attemptsKept, "random", false},
	} {
		t.Run(name, func(t *testing.T) {
			m := &memory{Format: memoryFormat}
			for i := range c.messages {
				id := fmt.Sprintf("%016x", uint64(i+1)*0x9E3779B97F4A7C15)
				one := sent{
					Delivery: "dlv_" + id + reversed(id), Event: "evt_" + reversed(id) + id, Recipient: "rcp_" + id, Channel: subscriber.ChannelSMS,
					State: outbound.Delivered, At: at.Add(time.Duration(i) * time.Minute),
				}
				for n := range c.attempts {
					response := c.response
					if response == "random" {
						response = strings.Repeat(fmt.Sprintf("%016x", uint64(i*7+n+1)*0xD1B54A32D192ED03), 5)
					}
					one.Attempts = append(one.Attempts, sending.Attempt{N: n + 1, At: one.At, Class: sending.ClassOK, Response: response})
				}
				m.Sent = append(m.Sent, one)
			}
			b, err := m.encode()
			if err != nil || len(b) > ledgerMost {
				t.Fatalf("%d bytes, %v", len(b), err)
			}
			got, err := decode(b)
			if err != nil {
				t.Fatal(err)
			}
			if c.complete && len(got.Sent) != len(m.Sent) {
				t.Errorf("%d of %d messages remembered", len(got.Sent), len(m.Sent))
			}
			if c.messages > 0 && (len(got.Sent) == 0 || got.Sent[len(got.Sent)-1].Delivery != m.Sent[len(m.Sent)-1].Delivery) {
				t.Error("the newest message is forgotten")
			}
			if c.complete && c.attempts > 0 && len(got.Sent[0].Attempts) != c.attempts {
				t.Errorf("%d attempts remembered", len(got.Sent[0].Attempts))
			}
			again, err := got.encode()
			if err != nil || string(again) != string(b) {
				t.Errorf("the same memory has another form: %v", err)
			}
		})
	}
}

func reversed(s string) string {
	b := []byte(s)
	for i, j := 0, len(b)-1; i < j; i, j = i+1, j-1 {
		b[i], b[j] = b[j], b[i]
	}
	return string(b)
}
