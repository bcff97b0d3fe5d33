package people_test

import (
	"testing"
	"time"

	"github.com/emersion/go-smtp"

	"svc/acuity"
	"svc/internal/outbound"
	"svc/internal/outbound/sending"
	"svc/internal/outbound/subscriber"
)

// TestAlertByWebhookOnly: if the webhook of the only recipient does not accept an alert, the alert run is unreached,
// the alert escalates, and the metric of decisions counts it, as for an e-mail that fails.
func TestAlertByWebhookOnly(t *testing.T) {
	refused := sending.Result{Class: sending.ClassRefused}
	rejected := sending.Result{Class: sending.ClassStatus, Status: 422}
	for name, tt := range map[string]struct {
		webhook   func(*subscriber.Webhook)
		deleted   bool
		answer    sending.Result
		after     time.Duration // since the raise, until it is undelivered
		unreached bool
	}{
		"accepts": {},
		"is down": {answer: refused, after: 30 * time.Minute, unreached: true},
		"rejects": {
			webhook: func(w *subscriber.Webhook) { w.Events = nil }, answer: rejected, after: time.Minute, unreached: true,
		},
		"is off":  {webhook: func(w *subscriber.Webhook) { w.Enabled = false }, unreached: true},
		"is gone": {deleted: true, unreached: true},
		"subscribes, but is down": {
			webhook: func(w *subscriber.Webhook) { w.Events = append(w.Events, outbound.Alert) }, answer: refused, after: 30 * time.Minute, unreached: true,
		},
	} {
		for _, restarts := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				run(t, func(r *rig) {
					r.settings.recipients["manager"] = subscriber.Recipient{ID: "manager", Hospital: "mercy", WebhookID: "whk_1"}
					r.tier("T2", func(t *subscriber.Tier) {
						t.Channels, t.EscalateTo, t.AckMinutes = []subscriber.Channel{subscriber.ChannelWebhook}, nil, 0
					})
					r.tier("T1", func(t *subscriber.Tier) { t.Enabled = false })
					r.tier("T3", func(t *subscriber.Tier) { t.Enabled = false })
					hook := &subscriber.Webhook{
						ID: "whk_1", Hospital: "mercy", Enabled: true, RatePerSecond: 50, TimeoutSeconds: 10, Events: []string{outbound.LevelChanged},
					}
					if tt.webhook != nil {
						tt.webhook(hook)
					}
					if !tt.deleted {
						r.settings.webhooks = []*subscriber.Webhook{hook}
					}
					r.hooked.answers(tt.answer)
					again := func() {
						if restarts {
							r.commit()
							r.kill()
							r.start()
						}
					}
					r.level(acuity.LevelOrange)
					if tt.after > time.Minute {
						r.wait(tt.after - time.Minute)
						again()
						if n := r.figures.decisions("undelivered"); n != 0 || r.lists.open(t).Unreached {
							t.Errorf("%d undelivered before the alert expires", n)
						}
					}
					r.wait(time.Minute + time.Second)
					again()
					want := 0
					if tt.unreached {
						want = 1
					}
					if n := r.figures.decisions("escalated"); n < want || want == 0 && n > 0 {
						t.Errorf("%d escalations", n)
					}
					r.wait(2 * time.Hour) // the three escalations end, too
					if n := r.figures.decisions("undelivered"); n < want || want == 0 && n > 0 {
						t.Errorf("%d undelivered", n)
					}
					if run := r.lists.open(t); run.Unreached != tt.unreached {
						t.Errorf("%+v", run)
					}
					if tt.answer.Class == sending.ClassRefused { // the webhook accepts the alert after all
						r.hooked.answers(sending.Result{})
						r.wait(10 * time.Minute)
						if run := r.lists.open(t); run.Unreached {
							t.Errorf("after the delivery: %+v", run)
						}
					}
				})
			})
		}
	}
}

// TestWebhookBesideEMail: a webhook that accepts an alert does not hide that no e-mail has arrived.
func TestWebhookBesideEMail(t *testing.T) {
	run(t, func(r *rig) {
		r.settings.recipients["manager"] = subscriber.Recipient{
			ID: "manager", Hospital: "mercy", WebhookID: "whk_1", Email: "manager@mercy.example",
		}
		r.tier("T2", func(t *subscriber.Tier) {
			t.Channels = []subscriber.Channel{subscriber.ChannelMail, subscriber.ChannelWebhook}
		})
		r.tier("T1", func(t *subscriber.Tier) { t.Enabled = false })
		r.settings.webhooks = []*subscriber.Webhook{{ID: "whk_1", Hospital: "mercy", Enabled: true, RatePerSecond: 50, TimeoutSeconds: 10}}
		r.relay.answers(func(string) error { return &smtp.SMTPError{Code: 550, Message: "no such user"} })
		r.level(acuity.LevelOrange)
		r.wait(time.Minute)
		if n := r.figures.decisions("escalated"); n != 1 || len(r.hooked.of(outbound.Alert)) == 0 {
			t.Errorf("%d escalations, %d alerts to the webhook", n, len(r.hooked.of(outbound.Alert)))
		}
	})
}
