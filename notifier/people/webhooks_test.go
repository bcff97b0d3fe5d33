package people_test

import (
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-smtp"

	"svc/acuity"
	"svc/internal/outbound"
	"svc/internal/outbound/sending"
	"svc/internal/outbound/subscriber"
)

// byWebhook makes an orange alert go only to the webhook of the manager.
func (r *rig) byWebhook(hook *subscriber.Webhook) {
	r.settings.recipients["manager"] = subscriber.Recipient{ID: "manager", Hospital: "mercy", WebhookID: hook.ID}
	r.settings.webhooks = []*subscriber.Webhook{hook}
	r.tier("T2", func(t *subscriber.Tier) {
		t.Channels, t.EscalateTo, t.AckMinutes = []subscriber.Channel{subscriber.ChannelWebhook}, nil, 0
	})
	for _, id := range []string{"T1", "T3"} {
		r.tier(id, func(t *subscriber.Tier) { t.Enabled = false })
	}
}

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
					hook := &subscriber.Webhook{
						ID: "whk_1", Hospital: "mercy", Enabled: true, RatePerSecond: 50, TimeoutSeconds: 10, Events: []string{outbound.LevelChanged},
					}
					if tt.webhook != nil {
						tt.webhook(hook)
					}
					r.byWebhook(hook)
					if tt.deleted {
						r.settings.webhooks = nil
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

// TestAcceptedAlertStaysAccepted: an alert that a recipient's webhook has accepted is not undelivered if the webhook
// does not accept it again when an administrator retries or replays it.
func TestAcceptedAlertStaysAccepted(t *testing.T) {
	for name, again := range map[string]outbound.Command{
		"retry":  {ID: "cmd_1", Verb: outbound.VerbRetry},
		"replay": {ID: "cmd_1", Verb: outbound.VerbReplay, Endpoint: "whk_1", Only: outbound.SelectAll, Events: []string{outbound.Alert}},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(r *rig) {
				r.byWebhook(&subscriber.Webhook{
					ID: "whk_1", Hospital: "mercy", Enabled: true, RatePerSecond: 50, TimeoutSeconds: 10, Events: []string{outbound.Alert},
				})
				r.level(acuity.LevelOrange)
				r.wait(time.Minute)
				accepted := r.lists.to("whk_1", subscriber.ChannelWebhook)
				if accepted.State != outbound.Delivered {
					t.Fatalf("%+v", accepted)
				}
				r.hooked.answers(sending.Result{Class: sending.ClassStatus, Status: 422})
				again.Delivery = accepted.ID
				r.order(again)
				r.wait(time.Minute)
				if d := r.lists.to("whk_1", subscriber.ChannelWebhook); len(d.Attempts) < 2 {
					t.Errorf("no other attempt: %+v", d)
				}
				if n := r.figures.decisions("undelivered") + r.figures.decisions("escalated"); n != 0 || r.lists.open(t).Unreached {
					t.Errorf("%d decisions, %+v", n, r.lists.open(t))
				}
			})
		})
	}
}

// TestRecipientWithOnlyAWebhook: the tier also has e-mail and SMS, for which the only recipient has no address. Whether
// anyone is reached then depends on the webhook.
func TestRecipientWithOnlyAWebhook(t *testing.T) {
	for name, tt := range map[string]struct {
		answer    sending.Result
		unreached bool
	}{
		"accepts": {},
		"is down": {sending.Result{Class: sending.ClassRefused}, true},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(r *rig) {
				r.byWebhook(&subscriber.Webhook{ID: "whk_1", Hospital: "mercy", Enabled: true, RatePerSecond: 50, TimeoutSeconds: 10})
				r.tier("T2", func(t *subscriber.Tier) {
					t.Channels = []subscriber.Channel{subscriber.ChannelMail, subscriber.ChannelSMS, subscriber.ChannelWebhook}
				})
				r.hooked.answers(tt.answer)
				r.level(acuity.LevelOrange)
				r.wait(time.Minute)
				if n := r.figures.decisions("escalated"); n != 0 || r.lists.open(t).Unreached {
					t.Errorf("%d escalations while the alert is being sent, %+v", n, r.lists.open(t))
				}
				r.wait(time.Hour)
				if n := r.figures.decisions("escalated"); n > 0 != tt.unreached || r.lists.open(t).Unreached != tt.unreached {
					t.Errorf("%d escalations after an hour, %+v", n, r.lists.open(t))
				}
			})
		})
	}
}

// TestAlertToADisabledEndpoint: nothing is sent to an endpoint that svc has disabled, so an alert to it is undelivered
// at once, also if the response to the alert itself is the 410 that disables the endpoint.
func TestAlertToADisabledEndpoint(t *testing.T) {
	for name, events := range map[string][]string{"before": {outbound.LevelChanged}, "by the alert": {outbound.Alert}} {
		for _, restarts := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				run(t, func(r *rig) {
					r.byWebhook(&subscriber.Webhook{
						ID: "whk_1", Hospital: "mercy", Enabled: true, RatePerSecond: 50, TimeoutSeconds: 10, Events: events,
					})
					r.hooked.answers(sending.Result{Class: sending.ClassGone, Status: 410, Final: true})
					if events[0] == outbound.LevelChanged {
						r.level(acuity.LevelYellow)
						r.wait(time.Minute)
					}
					if restarts {
						r.commit()
						r.kill()
						r.start()
					}
					r.level(acuity.LevelOrange)
					r.wait(time.Second)
					if n := r.figures.decisions("escalated"); n == 0 || !r.lists.open(t).Unreached {
						t.Errorf("%d escalations, %+v", n, r.lists.open(t))
					}
					d := r.lists.to("whk_1", subscriber.ChannelWebhook)
					if n := strings.Count(r.log.String(), "reason=undelivered tier=T2 recipient=manager delivery=dlv_"); n == 0 {
						t.Errorf("log of an undelivered alert: %s\n%+v", r.log.String(), d)
					}
				})
			})
		}
	}
}

// TestTierOfAnUndeliveredAlert: the log names the tier of the alert that is undelivered, not that of a later one.
func TestTierOfAnUndeliveredAlert(t *testing.T) {
	run(t, func(r *rig) {
		hook := &subscriber.Webhook{ID: "whk_1", Hospital: "mercy", Enabled: true, RatePerSecond: 50, TimeoutSeconds: 10, Events: []string{outbound.Alert}}
		r.byWebhook(hook)
		r.tier("T3", func(t *subscriber.Tier) {
			t.Enabled, t.Channels, t.Recipients = true, []subscriber.Channel{subscriber.ChannelMail}, []string{"director"}
		})
		r.hooked.answers(sending.Result{Class: sending.ClassRefused})
		r.level(acuity.LevelOrange)
		r.wait(time.Minute)
		r.level(acuity.LevelRed)
		r.wait(30 * time.Minute)
		if !strings.Contains(r.log.String(), "reason=undelivered tier=T2 recipient=manager") || strings.Contains(r.log.String(), "reason=undelivered tier=T3") {
			t.Errorf("%s", r.log.String())
		}
	})
}

// TestAlertToAnEndpointThatIsDisabled: an alert is undelivered at once when an administrator disables the webhook, or
// when the attempt that was in flight then fails.
func TestAlertToAnEndpointThatIsDisabled(t *testing.T) {
	for name, takes := range map[string]time.Duration{"between attempts": 0, "during an attempt": 5 * time.Second} {
		t.Run(name, func(t *testing.T) {
			run(t, func(r *rig) {
				hook := &subscriber.Webhook{
					ID: "whk_1", Hospital: "mercy", Enabled: true, RatePerSecond: 50, TimeoutSeconds: 10, Events: []string{outbound.Alert}, Version: 1,
				}
				r.byWebhook(hook)
				r.hooked.takes = takes
				r.hooked.answers(sending.Result{Class: sending.ClassRefused})
				r.level(acuity.LevelOrange)
				r.wait(time.Second)
				off := *hook
				off.Enabled, off.Version = false, 2
				r.settings.webhooks = []*subscriber.Webhook{&off}
				r.n.SettingsChanged("mercy")
				r.wait(time.Second)
				if n := r.figures.decisions("escalated"); takes > 0 && n > 0 {
					t.Errorf("%d escalations while an attempt is in flight", n)
				}
				r.wait(takes)
				if n := r.figures.decisions("escalated"); n == 0 || !r.lists.open(t).Unreached {
					t.Errorf("%d escalations, %+v", n, r.lists.open(t))
				}
			})
		})
	}
}
