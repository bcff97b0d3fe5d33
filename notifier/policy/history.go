package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"time"

	"svc/acuity"
	"svc/internal/outbound"
)

// History is what [Step] needs to know of the past of one hospital. Its zero
// value is a unit that was never seen: green, nobody told. It is bounded, however
// often the level changes.
type History struct {
	Level acuity.Level
	Under [3]time.Time // since when the level is below T1, T2, T3; zero: it is not, or never was

	Changes  []time.Time // of the level, the last [FlapChanges] since the digest was closed, oldest first
	DigestAt time.Time   // when the digest that is open was told; zero: none is

	Told      Rank
	Episode   string // from the first raise above green to cleared; "": none
	StartedAt time.Time
	Raise     int64 // number of the decision that an answer is asked for
	AskedAt   time.Time
	ToldAt    time.Time // when all of the tier were told last
	Round     int       // escalations since the raise
	Unreached bool      // no channel reached anybody it should have: escalates once, at once
	Unheard   bool      // the tiers had no recipient at all when the raise was told
	AckedAt   time.Time
	AckedBy   string // id of a key, "command line" or "link"
	Reached   []Reached
	Decisions int64 // that told somebody, ever; numbers the alerts
}

// Reached is a recipient that was told in the episode.
type Reached struct {
	Recipient string
	Channel   outbound.Channel
}

// Observe takes in the level at an instant. It reports whether that changed the
// history.
func (h *History) Observe(level acuity.Level, at time.Time) bool {
	if level == h.Level {
		return false
	}
	for i := range h.Under {
		switch below := level < LevelOf(Rank(i+1)); {
		case !below:
			h.Under[i] = time.Time{}
		case h.Under[i].IsZero():
			h.Under[i] = at
		}
	}
	if n := len(h.Changes); !h.DigestAt.IsZero() && n > 0 && !at.Before(h.Changes[n-1].Add(QuietAfter)) {
		h.DigestAt, h.Changes = time.Time{}, nil
	}
	if len(h.Changes) == FlapChanges {
		h.Changes = slices.Clone(h.Changes[1:])
	}
	h.Changes = append(slices.Clip(h.Changes), at)
	h.Level = level
	return true
}

// flaps reports whether the digest is due.
func (h *History) flaps(now time.Time) bool {
	return h.DigestAt.IsZero() && len(h.Changes) == FlapChanges && now.Sub(h.Changes[0]) <= FlapWithin
}

// settle forgets the changes that led to what was lowered: a level that falls
// step by step is no digest. One that is open goes on until it is quiet.
func (h *History) settle(now time.Time) {
	if !h.flapping(now) {
		h.Changes, h.DigestAt = nil, time.Time{}
	}
}

// flapping reports whether the digest is open: told, and no quiet since.
func (h *History) flapping(now time.Time) bool {
	return !h.DigestAt.IsZero() && now.Before(h.Changes[len(h.Changes)-1].Add(QuietAfter))
}

// Tell makes a decision that tells somebody part of the history: who was told
// are the addressees that are to be sent to.
func (h *History) Tell(hospital string, d Decision, to []Addressee, now time.Time) {
	if d.Reason.Tells() {
		h.Decisions++
	}
	switch d.Reason {
	case Raised:
		if h.Told == 0 {
			h.Episode, h.StartedAt, h.Reached = episode(hospital, h.Decisions), now, nil
		}
		h.Raise, h.Round = h.Decisions, 0
		h.AckedAt, h.AckedBy = time.Time{}, ""
		h.Told, h.AskedAt, h.ToldAt = d.Tier, now, now
	case Lowered:
		h.Told, h.AskedAt, h.ToldAt = d.Tier, now, now
		h.settle(now)
	case Cleared:
		*h = History{
			Level: h.Level, Under: h.Under, Changes: h.Changes, DigestAt: h.DigestAt, Decisions: h.Decisions,
		}
		h.settle(now)
		return
	case Digest:
		h.DigestAt = now
	case Escalated:
		h.Round++
		h.AskedAt, h.ToldAt = now, now
	case Repeated:
		h.ToldAt = now
	case Lowering, Flapping, Acknowledged, Steady: // tell nobody
		return
	}
	asks := d.Reason == Raised || d.Reason == Escalated || d.Reason == Repeated
	sent := false
	for _, a := range to {
		if a.State != outbound.Pending {
			continue
		}
		sent = true
		one := Reached{a.Recipient, a.Channel}
		if !slices.Contains(h.Reached, one) && len(h.Reached) < MaxReached {
			h.Reached = append(slices.Clip(h.Reached), one)
		}
	}
	if d.Reason == Raised {
		h.Unheard = len(to) == 0
	}
	if asks {
		h.Unreached = len(to) > 0 && !sent
	}
}

// Missed takes back that somebody was told: the message failed for good.
func (h *History) Missed(recipient string, channel outbound.Channel) {
	h.Reached = slices.DeleteFunc(slices.Clone(h.Reached), func(r Reached) bool { return r == Reached{recipient, channel} })
}

// Ack takes in that somebody has taken the alert of the episode. It reports
// whether that changed the history: an episode that is over, or was answered
// already since its last raise, stays as it is.
func (h *History) Ack(episode, by string, at time.Time) bool {
	if h.Told == 0 || episode != h.Episode || !h.AckedAt.IsZero() {
		return false
	}
	h.AckedAt, h.AckedBy, h.Unreached = at, by, false
	return true
}

// episode names an episode by the decision that began it: after a crash the same
// decision begins the same episode.
func episode(hospital string, decision int64) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{"svc.v1", hospital, "episode", strconv.FormatInt(decision, 10)}, "\x00")))
	return "epi_" + hex.EncodeToString(sum[:8])
}
