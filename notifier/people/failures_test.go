package people_test

import (
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-smtp"

	"svc/internal/outbound"
	"svc/internal/outbound/subscriber"
)

// TestSMTP451 checks a row of the failure matrix: an e-mail that the relay refuses temporarily is retried until the
// relay accepts it or the e-mail expires.
func TestSMTP451(t *testing.T) {
	busy := func(string) error { return &smtp.SMTPError{Code: 451, Message: "try again"} }
	t.Run("then taken", func(t *testing.T) {
		run(t, func(r *rig) {
			r.relay.answers(busy)
			r.level(yellow)
			r.wait(29 * time.Second)
			r.want()
			r.relay.answers(nil)
			r.wait(2 * time.Second)
			r.want("mail charge YELLOW")
		})
	})
	t.Run("too late", func(t *testing.T) {
		run(t, func(r *rig) {
			r.relay.answers(busy)
			r.tier("T1", func(t *subscriber.Tier) { t.ExpireMinutes = 20 })
			r.level(yellow)
			r.wait(21 * time.Minute)
			if got := r.lists.charge(subscriber.ChannelMail); got != outbound.Expired || r.relay.tries != 6 {
				t.Errorf("state %s after %d attempts; want 0, 0:30, 1:30, 3:30, 8:30, 18:30", got, r.relay.tries)
			}
			r.want("sms charge YELLOW") // replaces the mail
		})
	})
}

// TestSMTP550 checks a row of the failure matrix: an e-mail that the relay refuses permanently fails at once, and the
// recipient gets an SMS instead.
func TestSMTP550(t *testing.T) {
	run(t, func(r *rig) {
		r.relay.answers(func(string) error { return &smtp.SMTPError{Code: 550, Message: "no such user"} })
		r.level(yellow)
		r.want("sms charge YELLOW")
		if got := r.lists.charge(subscriber.ChannelMail); got != outbound.Failed || r.relay.tries != 1 {
			t.Errorf("state %s after %d attempts", got, r.relay.tries)
		}
		r.wait(time.Hour)
		r.want()
	})
}

// TestSMS4xx checks a row of the failure matrix: an SMS that the provider refuses fails. If no channel to the
// recipient is left, the alert escalates.
func TestSMS4xx(t *testing.T) {
	t.Run("e-mail arrived", func(t *testing.T) {
		run(t, func(r *rig) {
			r.provider.answers(400)
			r.level(orange)
			r.want("mail charge ORANGE", "mail manager ORANGE")
			if got := r.lists.charge(subscriber.ChannelSMS); got != outbound.Failed {
				t.Errorf("state %s", got)
			}
		})
	})
	t.Run("none left", func(t *testing.T) {
		run(t, func(r *rig) {
			r.provider.answers(400)
			r.relay.answers(func(to string) error {
				if strings.HasPrefix(to, "director") {
					return nil
				}
				return &smtp.SMTPError{Code: 550, Message: "no such user"}
			})
			r.level(yellow)
			r.want() // T1 has no channel left, so the alert only escalates
			r.level(orange)
			r.want("mail director ORANGE")
		})
	})
}

// TestRetriedTwice: two commands retry a message that is still pending. Both end with it, and a restart does not send
// the message again.
func TestRetriedTwice(t *testing.T) {
	run(t, func(r *rig) {
		r.relay.answers(func(string) error { return &smtp.SMTPError{Code: 451, Message: "later"} })
		r.level(yellow)
		id := r.lists.to("charge", subscriber.ChannelMail).ID
		for _, command := range []string{"cmd_1", "cmd_2"} {
			r.order(outbound.Command{ID: command, Verb: outbound.VerbRetry, Delivery: id})
			r.wait(time.Second)
		}
		r.relay.answers(nil)
		r.wait(10 * time.Minute)
		r.want("mail charge YELLOW")
		done := map[string]outbound.Progress{}
		for _, p := range r.lists.progress {
			done[p.ID] = p
		}
		for _, command := range []string{"cmd_1", "cmd_2"} {
			if p := done[command]; !p.Done || p.Delivered != 1 {
				t.Errorf("%s: %+v", command, p)
			}
		}
		r.commit()
		r.kill()
		r.start()
		r.wait(time.Minute)
		r.want()
	})
}
