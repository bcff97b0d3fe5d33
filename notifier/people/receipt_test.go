package people_test

import (
	"testing"

	"github.com/emersion/go-smtp"

	"svc/internal/outbound"
)

// unknown is a relay that knows nobody but the manager.
func unknown(to string) error {
	if to == "manager@mercy.example" {
		return nil
	}
	return &smtp.SMTPError{Code: 550, Message: "no such user"}
}

// undelivered is the command of a provider that says an SMS did not arrive.
func undelivered(delivery string) outbound.Command {
	return outbound.Command{ID: "cmd_r", Verb: outbound.VerbReceipt, By: "provider", Delivery: delivery, Receipt: outbound.Failed}
}

// TestReceipt: that a provider took an SMS is not that it arrived. What it says later
// counts, and leaves the attempts as they were.
func TestReceipt(t *testing.T) {
	failed := func(t *testing.T, r *rig) {
		t.Helper()
		sms := r.board.to("charge", outbound.ChannelSMS)
		if sms.State != outbound.Failed || sms.Reason != "receipt" || len(sms.Attempts) != 1 || sms.Attempts[0].Status != 202 {
			t.Errorf("delivery %+v", sms)
		}
		if got := r.board.open(t); got.Reason != "escalated" {
			t.Errorf("episode %+v", got)
		}
	}
	t.Run("later", func(t *testing.T) {
		run(t, func(r *rig) {
			r.relay.answers(unknown)
			r.level(yellow)
			sent := r.provider.taken()
			r.want("sms charge YELLOW")
			r.order(undelivered(sent[0].ID))
			failed(t, r)
			r.want("mail manager YELLOW")
		})
	})
	t.Run("and it is sent again", func(t *testing.T) {
		run(t, func(r *rig) {
			r.relay.answers(unknown)
			r.level(yellow)
			first := r.provider.taken()[0]
			r.order(undelivered(first.ID))
			r.provider.forget()
			r.order(outbound.Command{ID: "cmd_again", Verb: outbound.VerbRetry, Delivery: first.ID})
			if again := r.provider.taken(); len(again) != 1 || again[0] != first {
				t.Errorf("sent again %+v, at first %+v", again, first)
			}
			if sms := r.board.to("charge", outbound.ChannelSMS); sms.State != outbound.Delivered || len(sms.Attempts) != 2 {
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
			c := undelivered(r.provider.taken()[0].ID)
			c.Receipt = outbound.Delivered
			r.order(c)
			if got := r.board.charge(outbound.ChannelSMS); got != outbound.Delivered {
				t.Errorf("state %s", got)
			}
		})
	})
}
