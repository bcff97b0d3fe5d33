package policy

import (
	"encoding/json"
	"slices"
	"testing"

	"svc/acuity"
	"svc/internal/outbound"
	"svc/internal/outbound/subscriber"
)

func TestRoute(t *testing.T) {
	const mail, sms, hook = subscriber.ChannelMail, subscriber.ChannelSMS, subscriber.ChannelWebhook
	people := map[string]subscriber.Recipient{
		"charge":   {Email: "c@example.org", Phone: "+15550100"},
		"manager":  {Email: "m@example.org"},
		"director": {Email: "d@example.org", Phone: "+15550101", WebhookID: "whk_1"},
	}
	known := func(id string) (subscriber.Recipient, bool) {
		r, ok := people[id]
		return r, ok
	}
	send := func(id string, c subscriber.Channel) Addressee { return Addressee{id, c, outbound.Pending, ""} }
	not := func(id string, c subscriber.Channel, reason string) Addressee {
		return Addressee{id, c, outbound.Suppressed, reason}
	}
	toldCharge := History{AlertedTier: 2, Level: acuity.LevelOrange, Reached: []Reached{{"charge", mail}, {"director", mail}}}
	for name, tt := range map[string]struct {
		change   func(*Policy)
		history  History
		decision Decision
		want     []Addressee
	}{
		"a raise goes to its tier and those below": {
			decision: Decision{Reason: Raised, Tier: 2},
			want:     []Addressee{send("charge", mail), send("charge", sms), send("manager", mail), not("manager", sms, NoAddress)},
		},
		"yellow by e-mail alone": {decision: Decision{Reason: Raised, Tier: 1}, want: []Addressee{send("charge", mail)}},
		"a tier that is off calls nobody": {
			change:   func(p *Policy) { p.Tiers[0].Enabled = false },
			decision: Decision{Reason: Raised, Tier: 2},
			want:     []Addressee{send("manager", mail), not("manager", sms, NoAddress)},
		},
		"webhook of a recipient": {
			change:   func(p *Policy) { p.Tiers[2].Channels = []subscriber.Channel{hook}; p.Tiers[0].Recipients = nil },
			decision: Decision{Reason: Raised, Tier: 3},
			want:     []Addressee{not("manager", hook, NoAddress), send("director", hook)},
		},
		"escalated to whom the tier names": {
			decision: Decision{Reason: Escalated, Tier: 2}, want: []Addressee{send("director", mail), send("director", sms)},
		},
		"escalated to the tier above": {
			decision: Decision{Reason: Escalated, Tier: 1}, want: []Addressee{send("manager", mail)},
		},
		"cleared to those told": {
			history: toldCharge, decision: Decision{Reason: Cleared},
			want: []Addressee{
				send("charge", mail), not("charge", sms, NotNotified), not("manager", mail, NotNotified), not("manager", sms, NoAddress),
				send("director", mail), not("director", sms, NotNotified),
			},
		},
		"who is gone is left out": {
			change:   func(p *Policy) { p.Tiers[0].Recipients = []string{"nobody", "charge"} },
			decision: Decision{Reason: Raised, Tier: 1}, want: []Addressee{send("charge", mail)},
		},
		"silence goes to nobody": {decision: Decision{Reason: Steady, Tier: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			p := standard()
			if tt.change != nil {
				tt.change(&p)
			}
			if got := Route(&p, &tt.history, tt.decision, known); !slices.Equal(got, tt.want) {
				t.Errorf("route\n%v, want\n%v", got, tt.want)
			}
		})
	}
}

func TestFallback(t *testing.T) {
	p := standard()
	r := subscriber.Recipient{Phone: "+15550100"}
	if c, ok := Fallback(p.Tier(1), &r, subscriber.ChannelMail); !ok || c != subscriber.ChannelSMS {
		t.Error("a failed e-mail of T1 is not followed by an SMS")
	}
	if _, ok := Fallback(p.Tier(2), &r, subscriber.ChannelMail); ok {
		t.Error("T2 has sent its SMS already")
	}
	if _, ok := Fallback(p.Tier(1), &subscriber.Recipient{}, subscriber.ChannelMail); ok {
		t.Error("an SMS without a number")
	}
}

// TestHistoryOfAnEarlierRelease: a history that an earlier release stored is read completely, including the fields
// that have been renamed since then.
func TestHistoryOfAnEarlierRelease(t *testing.T) {
	var h History
	stored := `{"Level":2,"Told":2,"Said":2,"ToldAt":"2026-03-04T12:00:00Z","Unheard":true,"Episode":"epi_1"}`
	if err := json.Unmarshal([]byte(stored), &h); err != nil {
		t.Fatal(err)
	}
	if h.AlertedTier != 2 || h.AlertedLevel != acuity.LevelOrange || h.AlertedAt.Hour() != 12 || !h.Unaddressed || h.Episode != "epi_1" {
		t.Errorf("%+v", h)
	}
}
