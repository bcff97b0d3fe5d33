package people

import (
	"cmp"
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
	Format  int            `json:"format"`
	History policy.History `json:"history"`
	// Last is the level's last change, Version that of its record; nil: none was seen.
	Last    *acuity.Effect `json:"last,omitempty"`
	Version int64          `json:"version,omitempty"`
	Cause   acuity.Cause   `json:"cause,omitempty"`
	// Reason is that of the last decision, told or not.
	Reason policy.Reason `json:"reason,omitempty"`
	// Alert is what people were told last, Raise the event of the raise that an
	// answer is asked for, RaiseTier its tier.
	Alert     sentAlert   `json:"alert,omitzero"`
	Raise     string      `json:"raise,omitempty"`
	RaiseTier policy.Rank `json:"raiseTier,omitempty"`
	// Sent are the messages of that alert, and those of the alerts before it of which
	// a provider may yet say that they did not arrive.
	Sent []sent `json:"sent,omitempty"`

	Told  policy.Reason `json:"told,omitempty"`  // of format 0: that of Alert
	Asked policy.Reason `json:"asked,omitempty"` // of format 0: that of the alert whose messages are Sent
}

// memoryFormat is that of the memory as it is written now. Format 0 knew neither the
// level that people were told nor the messages of digests and of what lowers.
const memoryFormat = 1

// sentAlert is what an alert has said: a message in place of one that failed says it again.
type sentAlert struct {
	Event   string        `json:"event"`
	Episode string        `json:"episode"`
	Reason  policy.Reason `json:"reason"`
	Tier    policy.Rank   `json:"tier"`
	Level   acuity.Level  `json:"level"`
	Prior   acuity.Level  `json:"prior"`
	Worst   acuity.Level  `json:"worst"`
}

// sent is one message of an alert.
type sent struct {
	Delivery  string           `json:"delivery"`
	Event     string           `json:"event"`
	Decision  int64            `json:"decision,omitempty"` // number of the alert
	Recipient string           `json:"recipient"`
	Channel   outbound.Channel `json:"channel"`
	State     outbound.State   `json:"state"`
	At        time.Time        `json:"at"`
	// Refused says that a receipt came first: how the attempt ended is not known yet.
	Refused bool `json:"refused,omitempty"`
	// Closed says that the address, or the words, did not open at the last attempt.
	Closed bool `json:"closed,omitempty"`
	// Attempts are those of an SMS that its provider took: a receipt that says it
	// did not arrive writes its record anew.
	Attempts []outbound.Attempt `json:"attempts,omitempty"`
}

// sentKept is how many messages are remembered: all of the last alert, and of those
// before it as many as there is room for.
const sentKept = 256

// add remembers a message.
func (m *memory) add(one *sent) {
	for at := 0; len(m.Sent) >= sentKept && at < len(m.Sent); {
		if m.Sent[at].Event == m.Alert.Event {
			at++
			continue
		}
		m.Sent = slices.Delete(m.Sent, at, at+1)
	}
	m.Sent = append(m.Sent, *one)
}

// What is remembered of the attempts of one SMS: the memory of a hospital is one
// record, of up to a hundred of them.
const (
	attemptsKept = 5
	responseKept = 80 // characters: the id that the provider gave it
)

// rememberAttempts remembers the attempts of an SMS that its provider took, the last few.
func (s *sent) rememberAttempts(d *outbound.Delivery) {
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
	m := &memory{Format: memoryFormat}
	if len(b) == 0 {
		return m, nil
	}
	m.Format = 0
	if err := json.Unmarshal(b, m); err != nil {
		return &memory{Format: memoryFormat}, fmt.Errorf("decode memory of alerts: %w", err)
	}
	m.upgrade()
	return m, nil
}

// upgrade makes the present format of format 0: people were told the level of their
// tier, or by a digest nobody knows which.
func (m *memory) upgrade() {
	if m.Format == memoryFormat {
		return
	}
	h := &m.History
	h.Said = policy.LevelOf(h.Told)
	h.Before = make([]acuity.Level, len(h.Changes))
	for i := range h.Before {
		h.Before[i] = h.Said
	}
	m.Alert = sentAlert{Episode: h.Episode, Reason: m.Told, Tier: h.Told, Level: h.Said, Prior: h.Said, Worst: h.Said}
	if n := len(m.Sent); n > 0 {
		m.Alert.Event, m.Alert.Reason = m.Sent[n-1].Event, m.Asked
	}
	m.RaiseTier = h.Told
	if m.Told == policy.Digest {
		h.Said, h.Told = acuity.LevelGreen, 0
	}
	m.Format, m.Told, m.Asked = memoryFormat, "", ""
}

func (m *memory) encode() ([]byte, error) {
	b, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encode memory of alerts: %w", err)
	}
	return b, nil
}

// find returns the message of a delivery, nil if it is not remembered.
func (m *memory) find(delivery string) *sent {
	at := slices.IndexFunc(m.Sent, func(s sent) bool { return s.Delivery == delivery })
	if at < 0 {
		return nil
	}
	return &m.Sent[at]
}

// open reports whether a message may yet arrive, or has.
func (s *sent) open() bool {
	return s.State == outbound.Delivered || s.State == outbound.Pending && !s.Closed
}

// unreached reports whether no message of the alert has arrived, or can any more.
func (m *memory) unreached() bool {
	any := false
	for i := range m.Sent {
		if one := &m.Sent[i]; one.Event == m.Alert.Event {
			if any = true; one.open() {
				return false
			}
		}
	}
	return any
}

// reopens reports whether nobody was reached since the raise, and of whom a message did
// not open somebody could be reached now.
func (m *memory) reopens(opens func(*sent) bool) bool {
	could := false
	for i := range m.Sent {
		one := &m.Sent[i]
		switch {
		case one.Decision < m.History.Raise:
		case one.open(), one.State == outbound.Pending:
			return false
		case one.Closed && opens(one):
			could = true
		}
	}
	return could
}

// alertRun is what is listed of the episode that the history is in.
func (m *memory) alertRun(hospital string, p *policy.Policy) outbound.AlertRun {
	h := &m.History
	e := outbound.AlertRun{
		ID: h.Episode, Hospital: hospital, Tier: cmp.Or(h.Told, m.RaiseTier).String(), Level: h.Level.String(), OpenedAt: h.StartedAt,
		ToldAt: h.ToldAt, Reason: string(m.Alert.Reason), Round: h.Round, AckedAt: h.AckedAt, AckedBy: h.AckedBy,
		Alert: m.Raise, Unreached: m.unreached(),
	}
	if m.Alert.Reason == policy.Digest && h.DigestAt.After(e.ToldAt) {
		e.ToldAt = h.DigestAt
	}
	if h.Told > 0 && h.AckedAt.IsZero() && h.Round < policy.MaxRounds {
		if tier := p.Tier(h.Told); tier.AckMinutes > 0 {
			e.AckBy = h.AskedAt.Add(time.Duration(tier.AckMinutes) * time.Minute)
		}
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
