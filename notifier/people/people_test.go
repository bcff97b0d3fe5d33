package people_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-smtp"

	"svc/acuity"
	"svc/internal/outbound"
	"svc/internal/outbound/sending"
	"svc/internal/outbound/subscriber"
	"svc/notifier"
	"svc/notifier/alert"
)

const (
	green  = acuity.LevelGreen
	yellow = acuity.LevelYellow
	orange = acuity.LevelOrange
)

func TestRaiseByMailAndSMS(t *testing.T) {
	run(t, func(r *rig) {
		r.level(orange)
		r.want("mail charge ORANGE", "mail manager ORANGE", "sms charge ORANGE", "sms manager ORANGE")
		if e := r.lists.open(t); e.Tier != "T2" || e.Reason != "raised" || len(r.lists.links) != 1 || r.lists.followed != 2 {
			t.Errorf("episode %+v, %d links, followed %d times", e, len(r.lists.links), r.lists.followed)
		}
	})
}

// TestLanguageOfRecipients: each recipient gets alerts, test messages and notices in the recipient's language.
func TestLanguageOfRecipients(t *testing.T) {
	run(t, func(r *rig) {
		charge := r.settings.recipients["charge"]
		charge.Language = "es"
		r.settings.recipients["charge"] = charge
		r.level(orange)
		r.want("mail charge NARANJA", "mail manager ORANGE", "sms charge NARANJA", "sms manager ORANGE")
		r.order(outbound.Command{ID: "cmd_1", Verb: outbound.VerbTest, Endpoint: "charge", Channel: subscriber.ChannelMail})
		r.order(outbound.Command{ID: "cmd_2", Verb: outbound.VerbTest, Endpoint: "charge", Channel: subscriber.ChannelSMS})
		r.order(outbound.Command{ID: "cmd_3", Verb: outbound.VerbTest, Endpoint: "manager", Channel: subscriber.ChannelSMS})
		r.want("mail charge PRUEBA", "sms charge PRUEBA", "sms manager TEST")
	})
}

// TestNoAlertsWhileCatchingUp: while the log has more changes, the known level may be outdated, so no
// alert is sent.
func TestNoAlertsWhileCatchingUp(t *testing.T) {
	run(t, func(r *rig) {
		for i, l := range []acuity.Level{orange, yellow, green, orange, yellow} {
			c := r.change(l)
			if err := r.n.Changes(0, []notifier.Change{c}, c.Offset+1, i < 4); err != nil {
				t.Fatal(err)
			}
			r.n.SettingsChanged("mercy") // other events do not cause an alert either
			r.wait(time.Minute)
			if i < 4 {
				r.want()
			}
		}
		r.want("mail charge YELLOW", "mail charge YELLOW") // a raise with the current level, and a digest
	})
}

// TestRaisedBeforeAnyRecipient: the unit becomes orange while no tier has a recipient. A recipient who is added
// afterwards gets the raise, whose previous level is green.
func TestRaisedBeforeAnyRecipient(t *testing.T) {
	run(t, func(r *rig) {
		duty := map[string][]string{}
		for _, id := range subscriber.TierIDs() {
			duty[id] = r.settings.tiers[id].Recipients
			r.tier(id, func(t *subscriber.Tier) { t.Recipients = nil })
		}
		r.level(orange)
		r.want()
		if e := r.lists.open(t); !e.Unreached {
			t.Errorf("without any recipient: %+v", e)
		}
		r.tier("T2", func(t *subscriber.Tier) { t.Recipients = duty["T2"] })
		r.n.SettingsChanged("mercy")
		r.wait(time.Second)
		if e := r.lists.open(t); e.Unreached {
			t.Errorf("with a recipient: %+v", e)
		}
		for _, m := range r.provider.accepted() {
			if !strings.HasPrefix(m.Text, "ORANGE (was GREEN)") {
				t.Errorf("told %q", m.Text)
			}
		}
		r.want("mail manager ORANGE", "sms manager ORANGE")
	})
}

// TestRecipientDeletedMeanwhile: a tier whose only recipient has been deleted at the same time is like a tier without
// recipients. The raise is sent once the tier has a recipient.
func TestRecipientDeletedMeanwhile(t *testing.T) {
	run(t, func(r *rig) {
		r.tier("T1", func(t *subscriber.Tier) { t.Recipients = []string{"deleted"} })
		r.level(yellow)
		r.want()
		if e := r.lists.open(t); e.Reason != "raised" || !e.Unreached {
			t.Errorf("episode %+v", e)
		}
		r.tier("T1", func(t *subscriber.Tier) { t.Recipients = []string{"deleted", "charge"} })
		r.n.SettingsChanged("mercy")
		r.wait(time.Second)
		r.want("mail charge YELLOW")
	})
}

// TestReachedByEscalation: if a raise has no recipient but its escalation reaches someone, the alert run is not
// unreached, neither while it is open nor after it has ended.
func TestReachedByEscalation(t *testing.T) {
	run(t, func(r *rig) {
		for _, id := range subscriber.TierIDs() {
			r.tier(id, func(t *subscriber.Tier) { t.Recipients = nil })
		}
		r.level(orange)
		if e := r.lists.open(t); !e.Unreached {
			t.Errorf("before the escalation: %+v", e)
		}
		r.wait(12 * time.Minute)
		r.want("mail director ORANGE", "sms director ORANGE")
		open := r.lists.open(t)
		if open.Reason != "escalated" || open.Unreached {
			t.Errorf("after the escalation: %+v", open)
		}
		r.level(green)
		r.wait(15 * time.Minute)
		if e := r.lists.alertRuns[open.ID]; e.ClosedAt.IsZero() || e.Unreached {
			t.Errorf("after the end: %+v", e)
		}
	})
}

// TestFlapping checks a row of the failure matrix: webhooks get each of 500 changes within a minute. Recipients get
// only three alerts: a raise to orange, a digest that is sent at green, and a second raise to orange.
func TestFlapping(t *testing.T) {
	run(t, func(r *rig) {
		r.settings.webhooks = []*subscriber.Webhook{
			{ID: "whk_1", Hospital: "mercy", Enabled: true, RatePerSecond: 50, TimeoutSeconds: 10, Events: []string{outbound.LevelChanged, outbound.Alert}},
		}
		r.n.SettingsChanged("mercy")
		for range 250 {
			r.level(orange)
			r.wait(120 * time.Millisecond)
			r.level(green)
			r.wait(120 * time.Millisecond)
		}
		r.wait(time.Second)
		if n := len(r.hooked.of(outbound.LevelChanged)); n != 500 {
			t.Errorf("%d of 500 changes at the webhook", n)
		}
		if n := len(r.hooked.of(outbound.Alert)); n != 3 {
			t.Errorf("%d alerts at the webhook", n)
		}
		var raise, digest int
		for _, m := range r.provider.accepted() {
			if strings.HasPrefix(m.Text, "GREEN (worst ORANGE)") && strings.Contains(m.Text, "Level changing often") {
				digest++
			} else if strings.Contains(m.Text, "ORANGE (was GREEN)") {
				raise++
			} else {
				t.Errorf("told %q", m.Text)
			}
		}
		if raise != 4 || digest != 2 { // two raises and one digest, each to two recipients
			t.Errorf("%d raises, %d digests", raise, digest)
		}
		if e := r.lists.open(t); e.Reason != "raised" || e.Tier != "T2" || !e.ToldAt.After(e.OpenedAt) {
			t.Errorf("episode %+v", e)
		}
	})
}

func TestAcknowledged(t *testing.T) {
	t.Run("in time: nothing escalates, nothing repeats", func(t *testing.T) {
		run(t, func(r *rig) {
			r.level(acuity.LevelRed)
			r.wait(4 * time.Minute)
			r.ack()
			r.relay.clear()
			r.provider.clear()
			r.wait(24 * time.Hour)
			r.want()
			if e := r.lists.open(t); e.AckedBy != "link" || e.AckedAt.IsZero() {
				t.Errorf("episode %+v", e)
			}
		})
	})
	t.Run("not at all: three rounds", func(t *testing.T) {
		run(t, func(r *rig) {
			r.level(orange)
			r.want("mail charge ORANGE", "mail manager ORANGE", "sms charge ORANGE", "sms manager ORANGE")
			for range 3 {
				r.wait(10 * time.Minute)
				r.want("mail director ORANGE", "sms director ORANGE")
			}
			r.wait(24 * time.Hour)
			r.want()
		})
	})
	t.Run("an answer to another episode is none", func(t *testing.T) {
		run(t, func(r *rig) {
			r.level(orange)
			r.order(outbound.Command{ID: "cmd_1", Verb: outbound.VerbAck, By: "link", Episode: "epi_0"})
			if e := r.lists.open(t); !e.AckedAt.IsZero() {
				t.Errorf("episode %+v", e)
			}
			if p := r.lists.progress[len(r.lists.progress)-1]; !p.Done || p.Reason != "no_episode" {
				t.Errorf("progress %+v", p)
			}
		})
	})
}

func TestCleared(t *testing.T) {
	run(t, func(r *rig) {
		r.level(yellow)
		r.want("mail charge YELLOW")
		r.level(green)
		r.wait(9 * time.Minute)
		r.want()
		r.wait(time.Minute)
		r.want("mail charge GREEN")
		for _, e := range r.lists.alertRuns {
			if e.ClosedAt.IsZero() || e.Level != "green" || e.Reason != "cleared" {
				t.Errorf("episode %+v", e)
			}
		}
	})
}

// TestListsLost: after the lists were lost, RefillLists rebuilds them, including the link of an open alert run.
func TestListsLost(t *testing.T) {
	run(t, func(r *rig) {
		r.level(orange)
		before := maps.Clone(r.lists.links)
		r.lists.lose()
		if err := r.n.RefillLists(t.Context(), 0, func(context.Context) {}); err != nil {
			t.Fatal(err)
		}
		r.wait(time.Second)
		if e := r.lists.open(t); e.Reason != "raised" || len(before) != 1 || !maps.Equal(before, r.lists.links) {
			t.Errorf("episode %+v, links %v, before %v", e, r.lists.links, before)
		}
		r.want("mail charge ORANGE", "mail manager ORANGE", "sms charge ORANGE", "sms manager ORANGE")
	})
}

// TestClosedRunsListedAgain: after the lists were lost, RefillLists restores every alert run of the last 90 days
// unchanged, even after a restart. The ledger has one record for each run that has ended.
func TestClosedRunsListedAgain(t *testing.T) {
	run(t, func(r *rig) {
		r.level(orange)
		r.wait(2 * time.Minute)
		r.ack()
		r.level(green)
		r.wait(10 * time.Minute)
		r.wait(30 * 24 * time.Hour) // longer than the period for which deliveries are restored
		r.level(yellow)
		r.level(green)
		r.wait(10 * time.Minute)
		r.wait(8 * 24 * time.Hour)
		r.level(acuity.LevelRed)
		before := maps.Clone(r.lists.alertRuns)
		if len(before) != 3 {
			t.Fatalf("runs %+v", before)
		}
		refill := func(when string) {
			t.Helper()
			r.lists.lose()
			if err := r.n.RefillLists(t.Context(), 0, func(context.Context) {}); err != nil {
				t.Fatal(err)
			}
			r.wait(time.Second)
			if !maps.Equal(r.lists.alertRuns, before) {
				t.Errorf("%s: runs %+v, before %+v", when, r.lists.alertRuns, before)
			}
			if n := len(r.lists.deliveries); n != 6 {
				t.Errorf("%s: %d deliveries, want the 6 of the last week", when, n)
			}
		}
		refill("lost")
		r.commit()
		r.kill()
		r.start()
		refill("after a restart")
		records := 0
		if _, err := r.ledger.Read(t.Context(), 0, 0, "mercy/alert-run/", func(_ int64, entry any) bool {
			if entry != nil {
				records++
			}
			return true
		}); err != nil || records != 2 {
			t.Errorf("%d records of closed runs, %v", records, err)
		}
	})
}

// TestSuperseded: a pending message is not sent once a newer alert has replaced it.
func TestSuperseded(t *testing.T) {
	run(t, func(r *rig) {
		r.relay.answers(func(string) error { return &smtp.SMTPError{Code: 451, Message: "busy"} })
		r.level(yellow)
		r.level(acuity.LevelRed)
		r.relay.answers(nil)
		r.wait(time.Minute)
		for _, m := range r.received() {
			if strings.Contains(m, "YELLOW") {
				t.Errorf("told %q", m)
			}
		}
	})
}

// TestRepetitionKeepsTheEscalation: an escalation that is still waiting is sent although the alert has been repeated,
// because the repetition goes to other recipients.
func TestRepetitionKeepsTheEscalation(t *testing.T) {
	run(t, func(r *rig) {
		r.tier("T2", func(t *subscriber.Tier) {
			t.RepeatMinutes, t.Channels = 15, []subscriber.Channel{subscriber.ChannelMail}
		})
		r.relay.answers(func(to string) error {
			if strings.HasPrefix(to, "director") {
				return &smtp.SMTPError{Code: 451, Message: "busy"}
			}
			return nil
		})
		r.level(orange)
		r.want("mail charge ORANGE", "mail manager ORANGE")
		r.wait(46 * time.Minute) // the last escalation was after 30 minutes, the repetition after 45
		r.want("mail charge ORANGE", "mail manager ORANGE")
		r.relay.answers(nil)
		r.wait(10 * time.Minute)
		r.want("mail director ORANGE")
	})
}

// TestNotices: T1 gets an e-mail about the failure of an endpoint.
func TestNotices(t *testing.T) {
	run(t, func(r *rig) {
		r.settings.webhooks = []*subscriber.Webhook{
			{ID: "whk_1", Hospital: "mercy", URL: "https://partner.example/secret-path", Enabled: true, RatePerSecond: 50, TimeoutSeconds: 10, Events: []string{outbound.LevelChanged}},
		}
		r.n.SettingsChanged("mercy")
		r.tier("T1", func(t *subscriber.Tier) { t.Enabled = false }) // only notices are tested here
		r.tier("T2", func(t *subscriber.Tier) { t.Enabled = false })
		r.tier("T3", func(t *subscriber.Tier) { t.Enabled = false })
		r.hooked.answers(sending.Result{Class: sending.ClassRefused})
		r.level(yellow)
		r.wait(59 * time.Minute)
		r.want()
		r.wait(7 * time.Minute)
		r.want("mail charge failing for 1 hour")
		r.wait(22 * time.Hour)
		r.want()
		r.wait(time.Hour)
		r.want("mail charge failing for 24 hours")
		r.hooked.answers(sending.Result{Class: sending.ClassOK, Status: 200})
		r.wait(7 * time.Minute)
		r.want("mail charge recovered")
		r.hooked.answers(sending.Result{Class: sending.ClassGone, Status: 410, Final: true})
		r.level(orange)
		r.wait(time.Minute)
		r.want("mail charge disabled")
		if log := r.log.String(); strings.Contains(log, "secret-path") {
			t.Error(log)
		}
	})
}

func TestTestLetter(t *testing.T) {
	run(t, func(r *rig) {
		r.level(green)
		r.order(outbound.Command{ID: "cmd_1", Verb: outbound.VerbTest, Endpoint: "charge", Channel: subscriber.ChannelMail})
		r.order(outbound.Command{ID: "cmd_2", Verb: outbound.VerbTest, Endpoint: "charge", Channel: subscriber.ChannelSMS})
		r.want("mail charge TEST", "sms charge TEST")
		r.order(outbound.Command{ID: "cmd_3", Verb: outbound.VerbTest, Endpoint: "nobody", Channel: subscriber.ChannelSMS})
		if p := r.lists.progress[len(r.lists.progress)-1]; p.Reason != "no_recipient" {
			t.Errorf("progress %+v", p)
		}
	})
}

// TestRoomsDoNotHoldUp: if the rooms cannot be read, the alert is sent without them.
func TestRoomsDoNotHoldUp(t *testing.T) {
	for name, rooms := range map[string]func(context.Context, string, int64) (*alert.Rooms, error){
		"slow": func(ctx context.Context, _ string, _ int64) (*alert.Rooms, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		},
		"broken": func(context.Context, string, int64) (*alert.Rooms, error) { return nil, errors.New("away") },
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(r *rig) {
				r.rooms = rooms
				r.level(yellow)
				r.wait(300 * time.Millisecond)
				r.want("mail charge YELLOW")
			})
		})
	}
}

// TestRoomsOfTheChange: an alert shows the rooms as of the change that caused it, even if the process that sends the
// alert was started after the change.
func TestRoomsOfTheChange(t *testing.T) {
	run(t, func(r *rig) {
		var asked []int64
		r.rooms = func(_ context.Context, _ string, version int64) (*alert.Rooms, error) {
			asked = append(asked, version)
			return nil, nil
		}
		r.level(yellow)
		r.level(orange)
		r.wait(time.Second)
		r.commit()
		r.kill()
		r.start()
		r.wait(10 * time.Minute)
		if e := r.lists.open(t); e.Reason != "escalated" || !slices.Equal(asked, []int64{1, 2, 2}) {
			t.Errorf("asked for %v, episode %+v", asked, e)
		}
	})
}

// TestPrivacy: neither the log nor the ledger contains an address, a message text or a room label that could be a
// name in plaintext. The log contains no acknowledgment link either.
func TestPrivacy(t *testing.T) {
	const canary = "Canary, Anna 1990-01-01"
	run(t, func(r *rig) {
		r.rooms = func(context.Context, string, int64) (*alert.Rooms, error) {
			return &alert.Rooms{Top: []alert.Room{{ID: 4, Label: canary, Color: acuity.ColorRed, Nursing: "2:1"}}}, nil
		}
		r.relay.answers(func(to string) error {
			if strings.HasPrefix(to, "manager") {
				return &smtp.SMTPError{Code: 550, Message: "<" + to + "> is unknown"}
			}
			return nil
		})
		r.level(orange)
		r.wait(11 * time.Minute)
		r.ack()
		said := strings.Join(r.relay.accepted(), "\n") + fmt.Sprint(r.provider.accepted())
		if !strings.Contains(said, "Room 4") || strings.Contains(said, "Canary") {
			t.Errorf("said %s", said)
		}
		for what, where := range map[string]string{"log": r.log.String(), "ledger": r.ledger.whole()} {
			for _, secret := range []string{"Canary", "@mercy.example", "+1555", "Cause", "/a/"} {
				if strings.Contains(where, secret) && (what == "log" || secret != "/a/") { // surge.alert in the ledger may contain ackUrl
					t.Errorf("%s has %q", what, secret)
				}
			}
		}
		if !strings.Contains(r.log.String(), "alert decided") {
			t.Error("no decision in the log")
		}
	})
}
