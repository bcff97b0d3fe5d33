package people_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"svc/acuity"
	"svc/internal/outbound"
	"svc/notifier"
	"svc/notifier/people"
)

// TestMemoryOfFormat0 reads a memory in the first format of a unit that is red after
// a digest. The digest may have named any level, so red is sent once more.
func TestMemoryOfFormat0(t *testing.T) {
	memory, err := os.ReadFile("testdata/memory-0.json")
	if err != nil {
		t.Fatal(err)
	}
	s := &settings{recipients: map[string]outbound.Recipient{"charge": {ID: "charge", Email: "charge@mercy.example"}}, tiers: map[string]outbound.Tier{}}
	for _, id := range outbound.TierIDs() {
		tier := outbound.DefaultTier("mercy", id)
		tier.Recipients = []string{"charge"}
		s.tiers[id] = tier
	}
	alerting := people.New(people.Config{Settings: s})
	now := time.Date(2000, 1, 1, 0, 1, 0, 0, time.UTC)
	step := alerting.Step(t.Context(), now, notifier.Happening{Hospital: "mercy", Memory: memory, Level: acuity.LevelRed, Known: true})
	if len(step.Decisions) == 0 || step.Decisions[0] != (notifier.Decision{Reason: "raised", Tier: "T3"}) {
		t.Errorf("decided %+v", step.Decisions)
	}
	// A receipt for one of its messages still finds it.
	later := alerting.Step(t.Context(), now, notifier.Happening{Hospital: "mercy", Memory: step.Memory, Commands: []outbound.Command{
		{ID: "cmd_r", Verb: outbound.VerbReceipt, Delivery: "dlv_6f11a2db54b11e49a9de2636d4c5de96", Receipt: outbound.Failed},
	}})
	if len(later.Messages) != 1 || later.Messages[0].Delivery.State != outbound.Failed {
		t.Errorf("letters %+v", later.Messages)
	}
	// After a raise as the last alert nothing is sent again.
	raised := strings.Replace(string(memory), `"told":"digest"`, `"told":"raised"`, 1)
	step = alerting.Step(t.Context(), now, notifier.Happening{Hospital: "mercy", Memory: []byte(raised), Level: acuity.LevelRed, Known: true})
	if len(step.Messages)+len(step.Events) > 0 {
		t.Errorf("decided %+v", step.Decisions)
	}
}
