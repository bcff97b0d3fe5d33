package people_test

import (
	"fmt"
	"math/rand/v2"
	netmail "net/mail"
	"slices"
	"strings"
	"testing"
	"time"

	"svc/acuity"
	"svc/internal/outbound"
)

const red = acuity.LevelRed

// subjects returns the subjects of the e-mails to a recipient, in order.
func (r *rig) subjects(to string) []string {
	var all []string
	for _, m := range r.relay.accepted() {
		parsed, err := netmail.ReadMessage(strings.NewReader(m))
		if err != nil {
			r.t.Fatal(err)
		}
		if strings.HasPrefix(parsed.Header.Get("To"), "<"+to+"@") {
			all = append(all, parsed.Header.Get("Subject"))
		}
	}
	return all
}

// TestDigestIsNotTheLastWord: a unit alternates between red and green, and then stays red. The digest is sent while
// the level is green; it names green as the current level and red as the worst. The final change to red causes a new
// raise, which needs its own acknowledgment.
func TestDigestIsNotTheLastWord(t *testing.T) {
	run(t, func(r *rig) {
		r.level(red)
		first := r.lists.open(t)
		r.ack()
		for _, l := range []acuity.Level{green, red, green} {
			r.wait(time.Second)
			r.level(l)
		}
		r.wait(time.Second)
		words := r.subjects("director")
		if last := words[len(words)-1]; !strings.HasPrefix(last, "[GREEN]") || !strings.Contains(last, "(worst RED)") {
			t.Errorf("the digest says %q", last)
		}
		r.level(red)
		words = r.subjects("director")
		if last := words[len(words)-1]; !strings.HasPrefix(last, "[RED]") || !strings.Contains(last, "(was GREEN)") {
			t.Errorf("then %q", last)
		}
		e := r.lists.open(t)
		if e.ID != first.ID || e.Alert == first.Alert || !e.AckedAt.IsZero() || e.Reason != "raised" {
			t.Errorf("at first %+v, then %+v", first, e)
		}
		// The link in the first raise does not acknowledge the second.
		r.order(outbound.Command{ID: "cmd_old", Verb: outbound.VerbAck, By: "link", Episode: e.ID, EventID: first.Alert})
		if p := r.lists.progress[len(r.lists.progress)-1]; p.ID != "cmd_old" || !p.Done || p.Reason != "newer_alert" {
			t.Errorf("progress %+v", p)
		}
		r.wait(5 * time.Minute)
		if e = r.lists.open(t); e.Reason != "escalated" {
			t.Errorf("after the time to answer %+v", e)
		}
		r.order(outbound.Command{ID: "cmd_new", Verb: outbound.VerbAck, By: "link", Episode: e.ID, EventID: e.Alert})
		if e = r.lists.open(t); e.AckedAt.IsZero() {
			t.Errorf("answered, but %+v", e)
		}
	})
}

// TestLastWordReads simulates random units. The last message to a recipient who is in all tiers must never name a
// level below the current level, even after acknowledgments and crashes of the process.
func TestLastWordReads(t *testing.T) {
	names := []string{"[GREEN]", "[YELLOW]", "[ORANGE]", "[RED]"}
	for seed := range uint64(25) {
		run(t, func(r *rig) {
			dice := rand.New(rand.NewPCG(seed, 16))
			level := green
			var moves []string
			for n := range 40 {
				switch dice.IntN(8) {
				case 0:
					d := time.Duration(dice.IntN(1200)) * time.Second
					moves = append(moves, fmt.Sprint("wait ", d))
					r.wait(d)
				case 1:
					if len(r.lists.alertRuns) > 0 && slices.ContainsFunc(r.lists.all(), func(e outbound.AlertRun) bool { return e.ClosedAt.IsZero() }) {
						moves = append(moves, "ack")
						e := r.lists.open(t)
						r.order(outbound.Command{ID: fmt.Sprint("cmd_", n), Verb: outbound.VerbAck, By: "link", Episode: e.ID, EventID: e.Alert})
					}
				case 2:
					moves = append(moves, "killed")
					r.commit()
					r.kill()
					r.start()
				default:
					if next := acuity.Level(dice.IntN(4)); next != level {
						level = next
						moves = append(moves, level.String())
						r.level(level)
					}
				}
				r.wait(time.Second)
				words := r.subjects("charge")
				if level == green {
					continue
				}
				last := ""
				if len(words) > 0 {
					last, _, _ = strings.Cut(words[len(words)-1], " ")
				}
				if slices.Index(names, last) < int(level) {
					t.Fatalf("seed %d: it is %v, and the last word is %q; %v; told %q", seed, level, last, moves, words)
				}
			}
		})
	}
}

// TestLinkOfALateDigest: the acknowledgment link in a digest is valid for a day, like every link, even if the raise was
// sent long before. The fake lists check each link when its message arrives.
func TestLinkOfALateDigest(t *testing.T) {
	run(t, func(r *rig) {
		r.level(orange)
		r.wait(25 * time.Hour)
		r.received()
		r.relay.clear()
		r.provider.clear()
		for _, l := range []acuity.Level{yellow, orange, yellow, orange} {
			r.level(l)
		}
		r.wait(time.Minute)
		if links := r.lists.followed; r.lists.open(t).Reason != "digest" || links == 0 {
			t.Fatalf("%d links, %+v", links, r.lists.open(t))
		}
		r.wait(time.Hour) // the digest is over
		for token, until := range r.lists.links {
			if left := time.Until(until); left < 22*time.Hour {
				t.Errorf("%s works for %v after an hour", token, left)
			}
		}
	})
}
