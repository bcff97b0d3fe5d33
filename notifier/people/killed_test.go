package people_test

import (
	"context"
	"net/mail"
	"strings"
	"testing"
	"time"

	"svc/acuity"
	"svc/internal/outbound"
	"svc/notifier/alert"
)

// TestKilledBeforeTheOutcome: what is sent again carries the same ids.
func TestKilledBeforeTheOutcome(t *testing.T) {
	run(t, func(r *rig) {
		ids := map[string]int{}
		r.level(orange)
		// The process dies with its ledger as it was before any outcome: all is
		// decided and sent again.
		r.kill()
		r.ledger.mu.Lock()
		r.ledger.records = r.ledger.records[:1] // the event of the level alone
		r.ledger.mu.Unlock()
		r.start()
		r.wait(time.Second)
		for _, raw := range r.relay.taken() {
			m, err := mail.ReadMessage(strings.NewReader(raw))
			if err != nil {
				t.Fatal(err)
			}
			ids["mail "+m.Header.Get("Message-Id")]++
		}
		for _, m := range r.provider.taken() {
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

// TestKilledWithATimer: the escalation comes though the process that decided the
// raise is gone.
func TestKilledWithATimer(t *testing.T) {
	run(t, func(r *rig) {
		r.level(orange)
		r.relay.forget()
		r.provider.forget()
		r.kill()
		r.wait(time.Hour) // nobody runs
		r.start()
		r.wait(time.Second)
		r.want("mail director ORANGE", "sms director ORANGE")
	})
}

// TestKilledBehindAnyEntry: the mail fails, an SMS takes its place, the provider says
// that it did not arrive, and the next tier is called: wherever the process dies on
// that way, all of it happens, each letter under one id, and the lists tell it.
func TestKilledBehindAnyEntry(t *testing.T) {
	for n, died := 1, true; died; n++ {
		run(t, func(r *rig) {
			left := n
			r.ledger.until(func(any) bool { left--; return left == 0 })
			r.relay.answers(unknown)
			r.level(yellow)
			died = r.survive()
			texts := map[string]bool{}
			for _, one := range r.provider.taken() {
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
			for _, raw := range r.relay.taken() {
				m, err := mail.ReadMessage(strings.NewReader(raw))
				if err != nil {
					t.Fatal(err)
				}
				mails[m.Header.Get("To")+m.Header.Get("Message-Id")] = true
			}
			if len(mails) != 1 {
				t.Errorf("entry %d: mails %v", n, mails)
			}
			if one := r.board.to("charge", outbound.ChannelMail); one.State != outbound.Failed || len(one.Attempts) == 0 {
				t.Errorf("entry %d: %+v", n, one)
			}
			if one := r.board.to("charge", outbound.ChannelSMS); one.State != outbound.Failed || one.Reason != "receipt" || len(one.Attempts) == 0 {
				t.Errorf("entry %d: %+v", n, one)
			}
			if one := r.board.to("manager", outbound.ChannelMail); one.State != outbound.Delivered {
				t.Errorf("entry %d: %+v", n, one)
			}
			if e := r.board.open(t); e.Reason != "escalated" || e.Tier != "T1" {
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

// TestKilledBeforeTheMemory: somebody opens the link of a letter of which the next
// process does not know yet.
func TestKilledBeforeTheMemory(t *testing.T) {
	run(t, func(r *rig) {
		r.ledger.until(func(entry any) bool { _, alert := entry.(*outbound.Entry); return alert })
		r.level(orange)
		r.ack()
		if !r.survive() {
			t.Fatal("it lives")
		}
		if e := r.board.open(t); e.AckedBy != "link" {
			t.Errorf("episode %+v", e)
		}
	})
}

// TestKilledInAStep: two mails fail, and the process dies while it looks at the second
// of them, with all positions committed as far as they go.
func TestKilledInAStep(t *testing.T) {
	run(t, func(r *rig) {
		const look = 100 * time.Millisecond
		r.rooms = func(context.Context, string, int64) (*alert.Rooms, error) {
			time.Sleep(look) // on the clock of synctest
			return nil, nil
		}
		r.recipient("deputy")
		r.tier("T1", func(t *outbound.Tier) { t.Recipients = []string{"charge", "deputy"} })
		r.relay.answers(unknown)
		r.level(yellow)
		r.wait(look)         // of the raise
		r.wait(look * 3 / 2) // of the first that failed, and half of that of the second
		r.commit()
		r.kill()
		r.start()
		r.wait(time.Second)
		r.want("sms charge YELLOW", "sms deputy YELLOW")
	})
}

// TestKilledAndRedMeanwhile: what the process had begun to say is not what the next
// one has to.
func TestKilledAndRedMeanwhile(t *testing.T) {
	run(t, func(r *rig) {
		r.ledger.until(func(entry any) bool { _, letter := entry.(*outbound.Entry); return letter })
		r.level(yellow)
		r.want("mail charge YELLOW")
		r.change(acuity.LevelRed)
		if !r.survive() {
			t.Fatal("it lives")
		}
		// The first one begins at once, as anything whose outcome is not known.
		r.want("mail charge YELLOW", "mail charge RED", "mail manager RED", "mail director RED", "sms charge RED", "sms manager RED", "sms director RED")
	})
}

// TestKilledBeforeTheAlert: the alert tells why the level changed, which the next
// process knows of the event alone.
func TestKilledBeforeTheAlert(t *testing.T) {
	for _, cause := range []acuity.Cause{acuity.CauseIngest, acuity.CauseTime} {
		run(t, func(r *rig) {
			r.settings.webhooks = []*outbound.Webhook{
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
