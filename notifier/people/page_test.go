package people_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"svc/acuity"
	"svc/internal/outbound/subscriber"
	"svc/notifier/policy"
)

// TestPage compares docs/alerts.md with the presets and reasons in the code.
func TestPage(t *testing.T) {
	content, err := os.ReadFile("../../docs/alerts.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(content)
	or := func(n int) string {
		if n == 0 {
			return "-"
		}
		return fmt.Sprintf("%d min", n)
	}
	for rank, id := range subscriber.TierIDs() {
		tier := subscriber.DefaultTier("mercy", id)
		names := map[subscriber.Channel]string{subscriber.ChannelMail: "e-mail", subscriber.ChannelSMS: "SMS", subscriber.ChannelWebhook: "webhook"}
		var channels []string
		for _, c := range tier.Channels {
			channels = append(channels, names[c])
		}
		row := fmt.Sprintf("| %s | %s | %s | %s | %s | %s |\n", id, acuity.Level(rank+1), strings.Join(channels, ", "), or(tier.AckMinutes), or(tier.RepeatMinutes), or(tier.ExpireMinutes))
		if !strings.Contains(page, row) {
			t.Errorf("docs/alerts.md has no row %s", row)
		}
	}
	for _, reason := range policy.Reasons() {
		if !strings.Contains(page, "`"+string(reason)+"`") {
			t.Errorf("docs/alerts.md does not tell %s", reason)
		}
	}
	for _, said := range []string{
		fmt.Sprintf("for %.0f minutes", policy.LowerAfter.Minutes()),
		fmt.Sprintf("%d changes of the level within %.0f minutes", policy.FlapChanges, policy.FlapWithin.Minutes()),
		fmt.Sprintf("until %.0f minutes pass", policy.QuietAfter.Minutes()),
		fmt.Sprintf("for %.0f hours", policy.TokenLifetime.Hours()),
	} {
		if !strings.Contains(page, said) {
			t.Errorf("docs/alerts.md does not say %q", said)
		}
	}
}
