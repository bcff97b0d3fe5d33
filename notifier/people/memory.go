package people

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"svc/acuity"
	"svc/internal/outbound"
	"svc/notifier/policy"
)

// memory is what is kept of one hospital from step to step, as JSON in the
// ledger. It names recipients by id, and nothing of patients.
type memory struct {
	History policy.History `json:"history"`
	// Last is the level's last change; nil: none was seen.
	Last  *acuity.Effect `json:"last,omitempty"`
	Cause acuity.Cause   `json:"cause,omitempty"`
	// Reason is that of the last decision, told or not.
	Reason policy.Reason `json:"reason,omitempty"`
	// Told is that of the last one that told.
	Told policy.Reason `json:"told,omitempty"`
	// Asked is that of the last one that asks for an answer, Sent are its letters.
	Asked policy.Reason `json:"asked,omitempty"`
	Sent  []sent        `json:"sent,omitempty"`
}

// sent is one letter of an alert.
type sent struct {
	Delivery  string           `json:"delivery"`
	Event     string           `json:"event"`
	Recipient string           `json:"recipient"`
	Channel   outbound.Channel `json:"channel"`
	State     outbound.State   `json:"state"`
	At        time.Time        `json:"at"`
	// Refused says that a receipt came first: how the attempt ended is not known yet.
	Refused bool `json:"refused,omitempty"`
	// Attempts are those of an SMS that its provider took: a receipt that says it
	// did not arrive writes its record anew.
	Attempts []outbound.Attempt `json:"attempts,omitempty"`
}

// What is remembered of the attempts of one SMS: the memory of a hospital is one
// record, of up to a hundred of them.
const (
	attemptsKept = 5
	responseKept = 80 // characters: the id that the provider gave it
)

// taken remembers the attempts of an SMS that its provider took, the last few.
func (s *sent) taken(d *outbound.Delivery) {
	if s.Attempts = nil; s.Channel != outbound.ChannelSMS || d.State != outbound.Delivered {
		return
	}
	for _, a := range d.Attempts[max(0, len(d.Attempts)-attemptsKept):] {
		if r := []rune(a.Response); len(r) > responseKept {
			a.Response = string(r[:responseKept])
		}
		s.Attempts = append(s.Attempts, a)
	}
}

func decode(b []byte) (*memory, error) {
	m := &memory{}
	if len(b) == 0 {
		return m, nil
	}
	if err := json.Unmarshal(b, m); err != nil {
		return m, fmt.Errorf("decode memory of alerts: %w", err)
	}
	return m, nil
}

func (m *memory) encode() ([]byte, error) {
	b, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encode memory of alerts: %w", err)
	}
	return b, nil
}

// find returns the letter of a delivery, nil if it is of an older alert.
func (m *memory) find(delivery string) *sent {
	at := slices.IndexFunc(m.Sent, func(s sent) bool { return s.Delivery == delivery })
	if at < 0 {
		return nil
	}
	return &m.Sent[at]
}

// unreached reports whether every letter of the alert has ended and none arrived.
func (m *memory) unreached() bool {
	return len(m.Sent) > 0 && !slices.ContainsFunc(m.Sent, func(s sent) bool {
		return s.State == outbound.Pending || s.State == outbound.Delivered
	})
}

// episode is what is listed of the episode that the history is in.
func (m *memory) episode(hospital string, p *policy.Policy) outbound.Episode {
	h := &m.History
	e := outbound.Episode{
		ID: h.Episode, Hospital: hospital, Tier: h.Told.String(), Level: h.Level.String(), OpenedAt: h.StartedAt,
		ToldAt: h.ToldAt, Reason: string(m.Told), Round: h.Round, AckedAt: h.AckedAt, AckedBy: h.AckedBy,
	}
	if m.Told == policy.Digest && h.DigestAt.After(e.ToldAt) {
		e.ToldAt = h.DigestAt
	}
	if tier := p.Tier(max(h.Told, 1)); h.AckedAt.IsZero() && tier.AckMinutes > 0 && h.Round < policy.MaxRounds {
		e.AckBy = h.AskedAt.Add(time.Duration(tier.AckMinutes) * time.Minute)
	}
	return e
}

// tokenDigits is the alphabet of Crockford's base 32: no I, L, O, U to misread.
const (
	tokenDigits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	tokenLength = 12 // 60 bits
)

// token is that of the link which answers a raise: the same after a crash, and
// guessed by nobody.
func token(key []byte, hospital, episode string, raise int64) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(strings.Join([]string{"svc.v1 acknowledge", hospital, episode, strconv.FormatInt(raise, 10)}, "\x00")))
	sum := mac.Sum(nil)
	digits := make([]byte, tokenLength)
	for i := range digits {
		digits[i] = tokenDigits[sum[i]&31]
	}
	return string(digits)
}
