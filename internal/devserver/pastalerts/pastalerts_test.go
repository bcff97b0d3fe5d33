package pastalerts_test

import (
	"context"
	"testing"
	"time"

	"svc/acuity"
	"svc/internal/devserver/pastalerts"
	"svc/internal/outbound"
	"svc/internal/outbound/subscriber"
	"svc/notifier"
	"svc/notifier/people"
)

// unit implements [people.Settings] with one recipient for every tier.
type unit struct{}

func (unit) Tiers(hospital string) (all []subscriber.Tier) {
	for _, id := range subscriber.TierIDs() {
		t := subscriber.DefaultTier(hospital, id)
		t.Recipients = []string{"rcp_1"}
		all = append(all, t)
	}
	return all
}

func (unit) Recipient(hospital, id string) (subscriber.Recipient, bool) {
	return subscriber.Recipient{ID: id, Hospital: hospital, Email: "a@hospital.example", Phone: "+15555550101"}, true
}
func (unit) Webhook(string, string) (*subscriber.Webhook, bool) { return nil, false }
func (unit) Unit(hospital string) (string, *time.Location)      { return hospital, time.UTC }

// plain implements [people.Seals] without encryption.
type plain struct{}

func (plain) Seal(_ string, clear []byte) []byte           { return clear }
func (plain) Open(_ string, sealed []byte) ([]byte, error) { return sealed, nil }

// runs implements [people.AlertRunList] and stores the last state of each alert run.
type runs map[string]outbound.AlertRun

func (r runs) AlertRun(e outbound.AlertRun) {
	if e.ClosedAt.IsZero() {
		r["open "+e.ID] = e // past steps must list only runs that have ended
		return
	}
	r[e.ID] = e
}
func (runs) Link(string, outbound.AckLink) {}
func (runs) Written(context.Context)       {}

// TestPast: past level changes produce alerts, messages and acknowledgments with the times of those changes. The
// first regular step after them sends only messages that are due at the time of that step.
func TestPast(t *testing.T) {
	const days = 60
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	all, ready := runs{}, make(chan struct{})
	p := pastalerts.New(people.Config{Settings: unit{}, Seals: plain{}, Lists: all}, "h", ready)
	var changes []notifier.LevelChange
	for day := days; day > 0; day-- { // each day, the unit is orange for an hour
		at := now.AddDate(0, 0, -day)
		for i, level := range []acuity.Level{acuity.LevelOrange, acuity.LevelGreen} {
			changes = append(changes, notifier.LevelChange{
				Version: int64(len(changes) + 1), OccurredAt: at.Add(time.Duration(i) * time.Hour),
				Effect: acuity.Effect{Kind: acuity.LevelChanged, Level: level, Prior: acuity.LevelOrange - level, Ratio: -1},
			})
		}
	}
	s := p.Step(t.Context(), now, notifier.Happening{Hospital: "h", Changes: changes[:10], Known: true})
	if len(s.Messages)+len(s.Events)+len(all) > 0 || !s.Postponed || !s.Next.After(now) {
		t.Fatalf("before the past is complete: %+v", s)
	}
	close(ready)
	s = p.Step(t.Context(), now, notifier.Happening{Hospital: "h", Changes: changes, Known: true})
	acked, escalated := 0, 0
	for _, r := range all {
		if r.ClosedAt.IsZero() || r.ClosedAt.Sub(r.OpenedAt) != 70*time.Minute || r.Level != "green" {
			t.Errorf("alert %+v", r)
		}
		if !r.AckedAt.IsZero() {
			acked++
		}
		if r.Round > 0 {
			escalated++
		}
	}
	if len(all) != days || acked < 45 || acked == days || escalated < 5 || escalated > 30 {
		t.Errorf("%d alerts, %d acknowledged, %d escalated", len(all), acked, escalated)
	}
	for _, r := range s.Closed {
		if r != all[r.ID] {
			t.Errorf("the ledger gets %+v, listed is %+v", r, all[r.ID])
		}
	}
	if len(s.Closed) != days {
		t.Errorf("the ledger gets %d closed alert runs", len(s.Closed))
	}
	if len(s.Messages) < 2*2*len(all) {
		t.Errorf("%d messages", len(s.Messages))
	}
	for i := range s.Messages {
		d := &s.Messages[i].Delivery
		if d.State != outbound.Delivered || len(d.Attempts) != 1 || !d.Attempts[0].At.Equal(d.OccurredAt) || d.OccurredAt.After(now.Add(-10*time.Hour)) {
			t.Errorf("message %+v", d)
		}
	}
	s = p.Step(t.Context(), now, notifier.Happening{Hospital: "h", Memory: s.Memory, Known: true, Level: acuity.LevelRed})
	if len(s.Messages) != 2 || s.Messages[0].Delivery.State != outbound.Pending || !s.Messages[0].Delivery.OccurredAt.Equal(now) {
		t.Errorf("the present: %+v", s.Messages)
	}
}
