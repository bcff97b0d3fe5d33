package people_test

import (
	"slices"
	"testing"
	"time"

	"github.com/emersion/go-smtp"

	"svc/acuity"
	"svc/internal/outbound"
	"svc/internal/outbound/subscriber"
)

// unknown refuses all recipients except the manager.
func unknown(to string) error {
	if to == "manager@mercy.example" {
		return nil
	}
	return &smtp.SMTPError{Code: 550, Message: "no such user"}
}

// undelivered returns the command by which a provider reports that an SMS did not arrive.
func undelivered(delivery string) outbound.Command {
	return outbound.Command{ID: "cmd_r", Verb: outbound.VerbReceipt, By: "provider", Delivery: delivery, Receipt: outbound.Failed}
}

// TestReceipt: an SMS that a provider accepted may still fail to arrive. The receipt determines the outcome and does
// not change the attempts.
func TestReceipt(t *testing.T) {
	failed := func(t *testing.T, r *rig) {
		t.Helper()
		sms := r.lists.to("charge", subscriber.ChannelSMS)
		if sms.State != outbound.Failed || sms.Reason != "receipt" || len(sms.Attempts) != 1 || sms.Attempts[0].Status != 202 {
			t.Errorf("delivery %+v", sms)
		}
		if got := r.lists.open(t); got.Reason != "escalated" {
			t.Errorf("episode %+v", got)
		}
	}
	t.Run("later", func(t *testing.T) {
		run(t, func(r *rig) {
			r.relay.answers(unknown)
			r.level(yellow)
			sent := r.provider.accepted()
			r.want("sms charge YELLOW")
			r.order(undelivered(sent[0].ID))
			failed(t, r)
			r.want("mail manager YELLOW")
		})
	})
	t.Run("and it is sent again, as a new message", func(t *testing.T) {
		run(t, func(r *rig) {
			r.relay.answers(unknown)
			written := time.Now()
			r.level(yellow)
			r.wait(time.Minute)
			first := r.provider.accepted()[0]
			r.order(undelivered(first.ID))
			r.wait(time.Minute)
			asked := time.Now()
			r.order(outbound.Command{ID: "cmd_again", Verb: outbound.VerbRetry, Delivery: first.ID})
			if len(r.since) != 2 || !r.since[0].Equal(written) || !r.since[1].Equal(asked) {
				t.Errorf("sent since %v, want %v and %v", r.since, written, asked)
			}
		})
	})
	t.Run("and it is sent again", func(t *testing.T) {
		run(t, func(r *rig) {
			r.relay.answers(unknown)
			r.level(yellow)
			first := r.provider.accepted()[0]
			r.order(undelivered(first.ID))
			r.provider.clear()
			r.order(outbound.Command{ID: "cmd_again", Verb: outbound.VerbRetry, Delivery: first.ID})
			if again := r.provider.accepted(); len(again) != 1 || again[0] != first {
				t.Errorf("sent again %+v, at first %+v", again, first)
			}
			if sms := r.lists.to("charge", subscriber.ChannelSMS); sms.State != outbound.Delivered || len(sms.Attempts) != 2 {
				t.Errorf("delivery %+v", sms)
			}
		})
	})
	t.Run("before the answer", func(t *testing.T) {
		run(t, func(r *rig) {
			r.relay.answers(unknown)
			asked, answer := make(chan string, 1), make(chan struct{})
			r.provider.before = func(one text) {
				asked <- one.ID
				<-answer
			}
			r.level(yellow)
			r.order(undelivered(<-asked))
			close(answer)
			r.wait(0)
			failed(t, r)
		})
	})
	t.Run("of one that arrived", func(t *testing.T) {
		run(t, func(r *rig) {
			r.relay.answers(unknown)
			r.level(yellow)
			c := undelivered(r.provider.accepted()[0].ID)
			c.Receipt = outbound.Delivered
			r.order(c)
			if got := r.lists.charge(subscriber.ChannelSMS); got != outbound.Delivered {
				t.Errorf("state %s", got)
			}
		})
	})
}

// TestReceiptOfEveryMessage: a receipt has the same effect for every kind of alert: raised, digest, lowered, cleared
// and repeated.
func TestReceiptOfEveryMessage(t *testing.T) {
	for reason, play := range map[string]func(*rig){
		"raised": func(r *rig) { r.level(orange) },
		"digest": func(r *rig) {
			for _, l := range []acuity.Level{orange, green, orange, yellow} {
				r.level(l)
			}
		},
		"lowered": func(r *rig) {
			r.level(orange)
			r.ack()
			r.level(yellow)
			r.wait(10 * time.Minute)
		},
		"cleared": func(r *rig) {
			r.level(orange)
			r.ack()
			r.level(green)
			r.wait(10 * time.Minute)
		},
		"repeated": func(r *rig) {
			r.tier("T2", func(t *subscriber.Tier) { t.AckMinutes, t.RepeatMinutes = 0, 5 })
			r.level(orange)
			r.wait(5 * time.Minute)
		},
	} {
		t.Run(reason, func(t *testing.T) {
			run(t, func(r *rig) {
				play(r)
				sms := r.lists.to("charge", subscriber.ChannelSMS)
				if sms.State != outbound.Delivered {
					t.Fatalf("delivery %+v", sms)
				}
				for _, e := range r.lists.all() {
					if e.Reason != reason {
						t.Fatalf("episode %+v", e)
					}
				}
				failed := r.figures.of(outbound.Failed)
				r.order(undelivered(sms.ID))
				sms = r.lists.to("charge", subscriber.ChannelSMS)
				if sms.State != outbound.Failed || sms.Reason != "receipt" || len(sms.Attempts) != 1 {
					t.Errorf("delivery %+v", sms)
				}
				if got := r.figures.of(outbound.Failed); got != failed+1 {
					t.Errorf("%d failures are counted, before it were %d", got, failed)
				}
			})
		})
	}
	t.Run("of an alert before the last", func(t *testing.T) {
		run(t, func(r *rig) {
			r.level(orange)
			sms := r.lists.to("charge", subscriber.ChannelSMS)
			r.level(red)
			r.order(undelivered(sms.ID))
			i := slices.IndexFunc(r.lists.deliveries, func(d outbound.Delivery) bool { return d.ID == sms.ID })
			if d := r.lists.deliveries[i]; d.State != outbound.Failed || d.Reason != "receipt" {
				t.Errorf("delivery %+v", d)
			}
			if e := r.lists.open(t); e.Reason != "raised" || e.Unreached {
				t.Errorf("the alert behind it arrived, but %+v", e)
			}
		})
	})
	t.Run("a digest that reaches nobody escalates", func(t *testing.T) {
		run(t, func(r *rig) {
			r.relay.answers(func(string) error { return &smtp.SMTPError{Code: 550, Message: "no such user"} })
			for _, l := range []acuity.Level{orange, green, orange, yellow} {
				r.level(l)
			}
			r.provider.clear()
			for _, to := range []string{"charge", "manager"} {
				c := undelivered(r.lists.to(to, subscriber.ChannelSMS).ID)
				c.ID = "cmd_" + to
				r.order(c)
			}
			if e := r.lists.open(t); e.Reason != "escalated" {
				t.Errorf("episode %+v", e)
			}
		})
	})
}
