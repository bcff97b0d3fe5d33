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
	"svc/internal/outbound/subscriber"
)

// History is what [Step] needs to know about earlier levels and alerts of one hospital. The zero value is a unit at
// green without alerts. The size of a History is bounded, no matter how often the level changes. A History is stored
// as JSON; the tags are the field names of earlier releases.
type History struct {
	Level acuity.Level
	Under [3]time.Time // for each of T1, T2 and T3: when the level fell below the tier's level; zero if it has not

	// Changes are the instants of the remembered changes of the level, oldest first, at most [FlapChanges];
	// closeDigest drops them all. Before holds the level before each of them.
	Changes  []time.Time
	Before   []acuity.Level
	DigestAt time.Time // when the open digest was sent; zero: none is open

	AlertedTier  Rank         `json:"Told"` // tier of the last alert
	AlertedLevel acuity.Level `json:"Said"` // level of the last alert
	Episode      string       // id of the alert run, from the first raise above green to Cleared; "": none
	StartedAt    time.Time
	Raise        int64 // number of the decision that awaits acknowledgment
	AskedAt      time.Time
	AlertedAt    time.Time `json:"ToldAt"` // when the last alert other than a digest was sent
	Round        int       // number of escalations since the raise
	Unreached    bool      // whether no message reached a recipient, so that the alert escalates immediately
	Unaddressed  bool      `json:"Unheard"` // whether the tiers had no recipient when the raise was sent
	AckedAt      time.Time // when the raise was acknowledged
	AckedBy      string    // id of an API key, "command line" or "link"
	Reached      []Reached
	Decisions    int64 // number of decisions that sent an alert, which is also the number of the last alert
}

// Reached is a recipient who was alerted during the alert run, with the channel of the alert.
type Reached struct {
	Recipient string
	Channel   subscriber.Channel
}

// Observe records the level at an instant.
func (h *History) Observe(level acuity.Level, at time.Time) {
	if level == h.Level {
		return
	}
	for i := range h.Under {
		switch below := level < levelOf(Rank(i+1)); {
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
}

// LimitTo replaces the instants after now by now. The process that recorded them had a clock that was ahead; without
// LimitTo, no alert would escalate, be repeated or end until then.
func (h *History) LimitTo(now time.Time) {
	limit := func(instants ...*time.Time) {
		for _, at := range instants {
			if at.After(now) {
				*at = now
			}
		}
	}
	limit(&h.Under[0], &h.Under[1], &h.Under[2], &h.DigestAt, &h.StartedAt, &h.AskedAt, &h.AlertedAt, &h.AckedAt)
	h.Changes = slices.Clone(h.Changes)
	for i := range h.Changes {
		limit(&h.Changes[i])
	}
}

// flaps reports whether the level has changed often enough that a digest is due.
func (h *History) flaps(now time.Time) bool {
	return h.DigestAt.IsZero() && len(h.Changes) == FlapChanges && now.Sub(h.Changes[0]) <= FlapWithin
}

// Worst returns the highest of the current level and the levels before the remembered changes. It is the worst level
// that a digest names.
func (h *History) Worst() acuity.Level {
	worst := h.Level
	for _, level := range h.Before {
		worst = max(worst, level)
	}
	return worst
}

// below reports whether the level has been below the given one for [LowerAfter], so that a Lowered or Cleared alert
// is due.
func (h *History) below(level acuity.Level, now time.Time) bool {
	return level > acuity.LevelGreen && h.Level < level && !now.Before(h.Under[level-1].Add(LowerAfter))
}

// dropOldChanges drops the remembered changes after a Lowered or Cleared alert, so that a level that falls step by
// step does not cause a digest. While a digest is open and the level is not quiet yet, dropOldChanges keeps them.
func (h *History) dropOldChanges(now time.Time) {
	if !h.flapping(now) {
		h.closeDigest()
	}
}

// closeDigest ends the open digest, if any, and drops the remembered changes, so that only later changes count for
// the next digest.
func (h *History) closeDigest() { h.Changes, h.Before, h.DigestAt = nil, nil, time.Time{} }

// flapping reports whether a digest is open and the level has changed within the last [QuietAfter].
func (h *History) flapping(now time.Time) bool {
	return !h.DigestAt.IsZero() && now.Before(h.Changes[len(h.Changes)-1].Add(QuietAfter))
}

// ApplyDecision records a decision that sends an alert to the given addressees.
func (h *History) ApplyDecision(hospital string, d Decision, to []Addressee, now time.Time) {
	if d.Reason.SendsAlert() {
		h.Decisions++
	}
	switch d.Reason {
	case Raised:
		if h.Episode == "" {
			h.Episode, h.StartedAt, h.Reached = alertRunID(hospital, h.Decisions), now, nil
		}
		h.Raise, h.Round = h.Decisions, 0
		h.AckedAt, h.AckedBy = time.Time{}, ""
		h.AlertedTier, h.AskedAt, h.AlertedAt = d.Tier, now, now
	case Lowered:
		h.AlertedTier, h.AskedAt, h.AlertedAt = d.Tier, now, now
		h.dropOldChanges(now)
	case Cleared:
		*h = History{
			Level: h.Level, Under: h.Under, Changes: h.Changes, Before: h.Before, DigestAt: h.DigestAt, Decisions: h.Decisions,
		}
		h.dropOldChanges(now)
		return
	case Digest:
		h.DigestAt, h.AlertedTier = now, d.Tier
	case Escalated:
		h.Round++
		h.AskedAt, h.AlertedAt = now, now
	case Repeated:
		h.AlertedAt = now
	case Lowering, Flapping, Acknowledged, Steady: // no alert
		return
	}
	h.AlertedLevel = h.Level
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
		h.Unaddressed = len(to) == 0
	}
	// The alert is unreached if it has addressees but no message is sent. An addressee who gets no message because
	// the raise was not sent to the addressee does not count. An escalation is never unreached: the next round
	// follows at its regular time.
	h.Unreached = !sent && slices.ContainsFunc(to, func(a Addressee) bool { return a.Reason != NotNotified }) && d.Reason != Escalated
}

// RemoveReached removes a recipient and channel from Reached, because no message has reached the recipient over that
// channel.
func (h *History) RemoveReached(recipient string, channel subscriber.Channel) {
	h.Reached = slices.DeleteFunc(slices.Clone(h.Reached), func(r Reached) bool { return r == Reached{recipient, channel} })
}

// Ack records the acknowledgment of an alert run. It has no effect if the run has ended or has been acknowledged
// since its last raise.
func (h *History) Ack(alertRun, by string, at time.Time) {
	if h.Episode != "" && alertRun == h.Episode && h.AckedAt.IsZero() {
		h.AckedAt, h.AckedBy, h.Unreached = at, by, false
	}
}

// alertRunID returns the id of an alert run, derived from the decision that started it. Therefore a decision that is
// repeated after a crash starts the same run.
func alertRunID(hospital string, decision int64) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{"svc.v1", hospital, "episode", strconv.FormatInt(decision, 10)}, "\x00")))
	return "epi_" + hex.EncodeToString(sum[:8])
}
