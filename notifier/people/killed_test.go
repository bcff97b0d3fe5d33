package people_test

import (
	"context"
	"net/mail"
	"strings"
	"testing"
	"time"

	"svc/acuity"
	"svc/internal/outbound"
	"svc/internal/outbound/sending"
	"svc/internal/outbound/subscriber"
	"svc/notifier/alert"
)

// TestKilledBeforeTheOutcome: messages that are sent again after a crash have the same ids.
func TestKilledBeforeTheOutcome(t *testing.T) {
	run(t, func(r *rig) {
		ids := map[string]int{}
		r.level(orange)
		// The process dies before any outcome is in the ledger, so everything is decided and sent again.
		r.kill()
		r.ledger.mu.Lock()
		r.ledger.records = r.ledger.records[:1] // only the event of the level change
		r.ledger.mu.Unlock()
		r.start()
		r.wait(time.Second)
		for _, raw := range r.relay.accepted() {
			m, err := mail.ReadMessage(strings.NewReader(raw))
			if err != nil {
				t.Fatal(err)
			}
			ids["mail "+m.Header.Get("Message-Id")]++
		}
		for _, m := range r.provider.accepted() {
			ids["sms "+m.ID]++
		}
		if len(ids) != 4 {
			t.Errorf("%d ids for four letters: %v", len(ids), ids)
		}
		for id, n := range ids {
			if n != 2 {
				t.Errorf("%s was sent %d times; the test means twice", id, n)
			}
		}
	})
}

// TestKilledWithATimer: a raised alert still escalates after the process that sent it has died.
func TestKilledWithATimer(t *testing.T) {
	run(t, func(r *rig) {
		r.level(orange)
		r.relay.clear()
		r.provider.clear()
		r.kill()
		r.wait(time.Hour) // no process is running
		r.start()
		r.wait(time.Second)
		r.want("mail director ORANGE", "sms director ORANGE")
	})
}

// TestClockWasAhead: the clock of the process that sent an alert was two days ahead. The next process, whose clock is
// right, escalates the alert in time and sends the end of the alert run.
func TestClockWasAhead(t *testing.T) {
	run(t, func(r *rig) {
		r.skew = 48 * time.Hour
		r.kill()
		r.start()
		r.level(orange)
		r.wait(time.Minute)
		r.relay.clear()
		r.provider.clear()
		r.kill()
		r.skew = 0
		r.start()
		r.wait(11 * time.Minute)
		r.want("mail director ORANGE", "sms director ORANGE")
		r.level(green)
		r.wait(11 * time.Minute)
		r.want("mail charge GREEN", "mail director GREEN", "mail manager GREEN", "sms charge GREEN", "sms director GREEN", "sms manager GREEN")
	})
}

// TestKilledBehindAnyEntry: the mail fails, an SMS replaces it, the provider reports that the SMS did not arrive, and
// the next tier is alerted. Even if the process dies after any one of the ledger entries, all of these steps happen,
// each message keeps its id, and the lists show the result.
func TestKilledBehindAnyEntry(t *testing.T) {
	for n, died := 1, true; died; n++ {
		run(t, func(r *rig) {
			left := n
			r.ledger.until(func(any) bool { left--; return left == 0 })
			r.relay.answers(unknown)
			r.level(yellow)
			died = r.survive()
			texts := map[string]bool{}
			for _, one := range r.provider.accepted() {
				texts[one.ID] = true
			}
			if len(texts) != 1 {
				t.Fatalf("entry %d: SMS %v in place of the mail\n%s\n%+v", n, texts, r.log.String(), r.mark)
			}
			for id := range texts {
				r.order(undelivered(id))
			}
			died = r.survive() || died
			r.wait(time.Minute)
			mails := map[string]bool{}
			for _, raw := range r.relay.accepted() {
				m, err := mail.ReadMessage(strings.NewReader(raw))
				if err != nil {
					t.Fatal(err)
				}
				mails[m.Header.Get("To")+m.Header.Get("Message-Id")] = true
			}
			if len(mails) != 1 {
				t.Errorf("entry %d: mails %v", n, mails)
			}
			if one := r.lists.to("charge", subscriber.ChannelMail); one.State != outbound.Failed || len(one.Attempts) == 0 {
				t.Errorf("entry %d: %+v", n, one)
			}
			if one := r.lists.to("charge", subscriber.ChannelSMS); one.State != outbound.Failed || one.Reason != "receipt" || len(one.Attempts) == 0 {
				t.Errorf("entry %d: %+v", n, one)
			}
			if one := r.lists.to("manager", subscriber.ChannelMail); one.State != outbound.Delivered {
				t.Errorf("entry %d: %+v", n, one)
			}
			if e := r.lists.open(t); e.Reason != "escalated" || e.Tier != "T1" {
				t.Errorf("entry %d: episode %+v", n, e)
			}
		})
		if t.Failed() {
			return
		}
		if n > 100 {
			t.Fatal("it never lives")
		}
	}
}

// TestKilledBeforeTheMemory: an acknowledgment through the link in a message counts, even if the process that sent
// the message dies before it has stored its state.
func TestKilledBeforeTheMemory(t *testing.T) {
	run(t, func(r *rig) {
		r.ledger.until(func(entry any) bool { _, alert := entry.(*outbound.Entry); return alert })
		r.level(orange)
		r.ack()
		if !r.survive() {
			t.Fatal("it lives")
		}
		if e := r.lists.open(t); e.AckedBy != "link" {
			t.Errorf("episode %+v", e)
		}
	})
}

// TestKilledInAStep: two mails fail. The process commits its positions, and dies in the step for the second failure.
// The next process replaces both mails with SMS.
func TestKilledInAStep(t *testing.T) {
	run(t, func(r *rig) {
		const look = 100 * time.Millisecond
		r.rooms = func(context.Context, string, int64) (*alert.Rooms, error) {
			time.Sleep(look) // on the synctest clock
			return nil, nil
		}
		r.recipient("deputy")
		r.tier("T1", func(t *subscriber.Tier) { t.Recipients = []string{"charge", "deputy"} })
		r.relay.answers(unknown)
		r.level(yellow)
		r.wait(look)         // the rooms have been read for the raise
		r.wait(look * 3 / 2) // the rooms have been read for the first failure, and are being read for the second
		r.commit()
		r.kill()
		r.start()
		r.wait(time.Second)
		r.want("sms charge YELLOW", "sms deputy YELLOW")
	})
}

// TestKilledBehindANotice: T1 gets an e-mail about a disabled endpoint even if the process dies as soon as the ledger
// says that the endpoint is disabled.
func TestKilledBehindANotice(t *testing.T) {
	run(t, func(r *rig) {
		r.tier("T1", func(t *subscriber.Tier) { t.Enabled = false }) // only the notice is tested here
		r.settings.webhooks = []*subscriber.Webhook{
			{ID: "whk_1", Hospital: "mercy", URL: "https://partner.example", Enabled: true, RatePerSecond: 50, TimeoutSeconds: 10, Events: []string{outbound.LevelChanged}},
		}
		r.n.SettingsChanged("mercy")
		r.hooked.answers(sending.Result{Class: sending.ClassGone, Status: 410, Final: true})
		r.ledger.until(func(entry any) bool {
			queue, ok := entry.(*outbound.EndpointQueue)
			return ok && queue.Disabled != ""
		})
		r.level(yellow)
		if !r.survive() {
			t.Fatal("it lives")
		}
		// The e-mail is sent again at once, like every message whose outcome is unknown.
		r.want("mail charge disabled", "mail charge disabled")
	})
}

// TestKilledBehindACommand: a test or a retry of a message ends, and the message is not sent again, even if the process
// dies as soon as the ledger has the result.
func TestKilledBehindACommand(t *testing.T) {
	for verb, text := range map[outbound.Verb]string{outbound.VerbTest: "mail charge TEST", outbound.VerbRetry: "mail charge YELLOW"} {
		t.Run(string(verb), func(t *testing.T) {
			run(t, func(r *rig) {
				const closing = 10 * time.Second // closing the connection to the relay takes 5 s
				r.level(yellow)
				r.wait(closing)
				r.want("mail charge YELLOW")
				r.commit()
				r.ledger.until(func(entry any) bool {
					e, ok := entry.(*outbound.Entry)
					return ok && e.Command != "" && e.Delivery.State == outbound.Delivered
				})
				c := outbound.Command{ID: "cmd_1", Verb: verb, Channel: subscriber.ChannelMail, Endpoint: "charge"}
				if verb == outbound.VerbRetry {
					c.Delivery = r.lists.to("charge", subscriber.ChannelMail).ID
				}
				r.order(c)
				r.wait(closing)
				if r.lists.progress = nil; !r.survive() {
					t.Fatal("it lives")
				}
				r.wait(closing)
				r.want(text)
				if all := r.lists.progress; len(all) == 0 || !all[len(all)-1].Done || all[len(all)-1].Delivered != 1 {
					t.Errorf("progress %+v", all)
				}
			})
		})
	}
}

// TestKilledAndRedMeanwhile: the level rises after a process has died and before the next one starts. The next
// process sends another alert.
func TestKilledAndRedMeanwhile(t *testing.T) {
	run(t, func(r *rig) {
		r.ledger.until(func(entry any) bool { _, letter := entry.(*outbound.Entry); return letter })
		r.level(yellow)
		r.want("mail charge YELLOW")
		r.change(acuity.LevelRed)
		if !r.survive() {
			t.Fatal("it lives")
		}
		// The first message is sent again at once, like every message whose outcome is unknown.
		r.want("mail charge YELLOW", "mail charge RED", "mail manager RED", "mail director RED", "sms charge RED", "sms manager RED", "sms director RED")
	})
}

// TestKilledBeforeTheAlert: the alert says why the level changed, even if the process that sends the alert knows the
// reason only from the stored event.
func TestKilledBeforeTheAlert(t *testing.T) {
	for _, cause := range []acuity.Cause{acuity.CauseIngest, acuity.CauseTime} {
		run(t, func(r *rig) {
			r.settings.webhooks = []*subscriber.Webhook{
				{ID: "whk_1", Hospital: "mercy", Enabled: true, RatePerSecond: 50, TimeoutSeconds: 10, Events: []string{outbound.LevelChanged, outbound.Alert}},
			}
			r.n.SettingsChanged("mercy")
			r.wait(0)
			r.ledger.until(func(entry any) bool { _, event := entry.(*outbound.Event); return event })
			c := r.change(orange)
			c.Change.Cause = cause
			r.hand(r.verdicts)
			r.wait(0)
			if !r.survive() {
				t.Fatal("it lives")
			}
			changes, alerts := r.hooked.of(outbound.LevelChanged), r.hooked.of(outbound.Alert)
			if len(changes) == 0 || len(alerts) != 1 {
				t.Fatalf("%d changes, %d alerts", len(changes), len(alerts))
			}
			_, want, _ := strings.Cut(changes[0], `"cause":`)
			want = want[:strings.IndexAny(want, ",}")]
			if !strings.Contains(alerts[0], `"cause":`+want) {
				t.Errorf("want cause %s in %s", want, alerts[0])
			}
		})
	}
}
