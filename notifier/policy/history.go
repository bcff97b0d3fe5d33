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

	// Changes are those of the level, the last [FlapChanges] since the digest was
	// closed, oldest first; Before is the level before each.
	Changes  []time.Time
	Before   []acuity.Level
	DigestAt time.Time // when the digest that is open was told; zero: none is

	Told      Rank         // tier of the level that people were told last
	Said      acuity.Level // that level
	Episode   string       // from the first raise above green to cleared; "": none
	StartedAt time.Time
	Raise     int64 // number of the decision that an answer is asked for
	AskedAt   time.Time
	ToldAt    time.Time // when all of the tier were told last
	Round     int       // escalations since the raise
	Unreached bool      // no channel reached anybody it should have: escalates at once
	Unheard   bool      // the tiers had no recipient at all when the raise was told
	AckedAt   time.Time // somebody has answered the raise
	AckedBy   string    // id of a key, "command line" or "link"
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
		h.closeDigest()
	}
	if len(h.Changes) == FlapChanges {
		h.Changes, h.Before = slices.Clone(h.Changes[1:]), slices.Clone(h.Before[1:])
	}
	h.Changes, h.Before = append(slices.Clip(h.Changes), at), append(slices.Clip(h.Before), h.Level)
	h.Level = level
	return true
}

// flaps reports whether the digest is due.
func (h *History) flaps(now time.Time) bool {
	return h.DigestAt.IsZero() && len(h.Changes) == FlapChanges && now.Sub(h.Changes[0]) <= FlapWithin
}

// Worst is the highest level of the changes that lead to a digest, and of the level
// that they began from.
func (h *History) Worst() acuity.Level {
	worst := h.Level
	for _, level := range h.Before {
		worst = max(worst, level)
	}
	return worst
}

// below reports whether the level has been below another one for so long that
// people are told.
func (h *History) below(level acuity.Level, now time.Time) bool {
	return level > acuity.LevelGreen && h.Level < level && !now.Before(h.Under[level-1].Add(LowerAfter))
}

// forgetOld forgets the changes that led to what was lowered: a level that falls
// step by step is no digest. One that is open goes on until it is quiet.
func (h *History) forgetOld(now time.Time) {
	if !h.flapping(now) {
		h.closeDigest()
	}
}

// closeDigest closes the digest.
func (h *History) closeDigest() { h.Changes, h.Before, h.DigestAt = nil, nil, time.Time{} }

// flapping reports whether the digest is open: told, and no quiet since.
func (h *History) flapping(now time.Time) bool {
	return !h.DigestAt.IsZero() && now.Before(h.Changes[len(h.Changes)-1].Add(QuietAfter))
}

// ApplyDecision makes a decision that tells somebody part of the history: who was told
// are the addressees that are to be sent to.
func (h *History) ApplyDecision(hospital string, d Decision, to []Addressee, now time.Time) {
	if d.Reason.Tells() {
		h.Decisions++
	}
	switch d.Reason {
	case Raised:
		if h.Episode == "" {
			h.Episode, h.StartedAt, h.Reached = alertRunID(hospital, h.Decisions), now, nil
		}
		h.Raise, h.Round = h.Decisions, 0
		h.AckedAt, h.AckedBy = time.Time{}, ""
		h.Told, h.AskedAt, h.ToldAt = d.Tier, now, now
	case Lowered:
		h.Told, h.AskedAt, h.ToldAt = d.Tier, now, now
		h.forgetOld(now)
	case Cleared:
		*h = History{
			Level: h.Level, Under: h.Under, Changes: h.Changes, Before: h.Before, DigestAt: h.DigestAt, Decisions: h.Decisions,
		}
		h.forgetOld(now)
		return
	case Digest:
		h.DigestAt, h.Told = now, d.Tier
	case Escalated:
		h.Round++
		h.AskedAt, h.ToldAt = now, now
	case Repeated:
		h.ToldAt = now
	case Lowering, Flapping, Acknowledged, Steady: // tell nobody
		return
	}
	h.Said = h.Level
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
	// What lowers is not sent to those who were not told of the raise; an escalation
	// that reaches nobody is followed by the next round, in its time.
	h.Unreached = !sent && slices.ContainsFunc(to, func(a Addressee) bool { return a.Reason != NotTold }) && d.Reason != Escalated
}

// Missed takes back that somebody was told: the message failed for good.
func (h *History) Missed(recipient string, channel outbound.Channel) {
	h.Reached = slices.DeleteFunc(slices.Clone(h.Reached), func(r Reached) bool { return r == Reached{recipient, channel} })
}

// Ack takes in that somebody has taken the alert of the episode. It reports
// whether that changed the history: an episode that is over, or was answered
// already since its last raise, stays as it is.
func (h *History) Ack(episode, by string, at time.Time) bool {
	if h.Episode == "" || episode != h.Episode || !h.AckedAt.IsZero() {
		return false
	}
	h.AckedAt, h.AckedBy, h.Unreached = at, by, false
	return true
}

// alertRunID names an episode by the decision that began it: after a crash the same
// decision begins the same episode.
func alertRunID(hospital string, decision int64) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{"svc.v1", hospital, "episode", strconv.FormatInt(decision, 10)}, "\x00")))
	return "epi_" + hex.EncodeToString(sum[:8])
}
