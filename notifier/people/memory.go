package people

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"svc/acuity"
	"svc/internal/outbound"
	"svc/internal/outbound/sending"
	"svc/internal/outbound/subscriber"
	"svc/notifier/policy"
)

// memory is the state of one hospital between steps, stored as JSON in the ledger. It identifies recipients by id and
// contains no patient data.
type memory struct {
	Format  int            `json:"format"`
	History policy.History `json:"history"`
	// Last is the last change of the level, or nil if none was observed. Version and Cause are the version and the
	// cause of that change.
	Last    *acuity.Effect `json:"last,omitempty"`
	Version int64          `json:"version,omitempty"`
	Cause   acuity.Cause   `json:"cause,omitempty"`
	// Reason is the reason of the last decision, whether it sent an alert or not.
	Reason policy.Reason `json:"reason,omitempty"`
	// Alert is the last alert. Raise is the event id of the raise that awaits acknowledgment, and RaiseTier is the
	// tier of that raise.
	Alert     sentAlert   `json:"alert,omitzero"`
	Raise     string      `json:"raise,omitempty"`
	RaiseTier policy.Rank `json:"raiseTier,omitempty"`
	// Sent are the messages of Alert, and those of earlier alerts that a provider may still report as undelivered.
	Sent []sent `json:"sent,omitempty"`
}

// memoryFormat is the current value of Format in memory.
const memoryFormat = 1

// sentAlert is the content of an alert. A message that replaces a failed one has the same content.
type sentAlert struct {
	Event   string        `json:"event"`
	At      time.Time     `json:"at,omitzero"` // zero: an earlier release sent the alert
	Episode string        `json:"episode"`
	Reason  policy.Reason `json:"reason"`
	Tier    policy.Rank   `json:"tier"`
	Level   acuity.Level  `json:"level"`
	Prior   acuity.Level  `json:"prior"`
	Worst   acuity.Level  `json:"worst"`
}

// sent is one message of an alert.
type sent struct {
	Delivery  string             `json:"delivery"`
	Event     string             `json:"event"`
	Decision  int64              `json:"decision,omitempty"` // number of the alert
	Recipient string             `json:"recipient"`
	Channel   subscriber.Channel `json:"channel"`
	State     outbound.State     `json:"state"`
	At        time.Time          `json:"at"`
	// Tier is the tier of the alert to a webhook. 0: not a webhook, no tier, or an earlier release sent the alert.
	Tier policy.Rank `json:"tier,omitempty"`
	// Refused means that a receipt reported a failure before the result of the attempt was known.
	Refused bool `json:"refused,omitempty"`
	// Until is when a webhook must have accepted the alert. svc sends the alert even after that, because endpoints get all
	// events in order. Zero: not a webhook.
	Until time.Time `json:"until,omitzero"`
	// Closed means that the address or the text could not be decrypted for the last attempt.
	Closed bool `json:"closed,omitempty"`
	// Attempts are the attempts to send this message, if it is an SMS that its provider accepted. They are needed to
	// rewrite the record of the SMS when a receipt reports a failure.
	Attempts []sending.Attempt `json:"attempts,omitempty"`
}

// sentKept is the maximum number of remembered messages. Only messages of earlier alerts are dropped, oldest first.
const sentKept = 256

// add remembers a message. Beyond sentKept messages, it drops the oldest one of an earlier alert.
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

// attemptsKept and responseKept limit what is remembered of the attempts for one SMS. They are low because the memory
// of a hospital is one record, with up to a hundred SMS.
const (
	attemptsKept = 5
	responseKept = 80 // characters, enough for the provider's message id
)

// rememberAttempts stores the last attempts to send a message, if it is an SMS that its provider accepted.
func (s *sent) rememberAttempts(d *outbound.Delivery) {
	if s.Attempts = nil; s.Channel != subscriber.ChannelSMS || d.State != outbound.Delivered {
		return
	}
	for _, a := range d.Attempts[max(0, len(d.Attempts)-attemptsKept):] {
		if r := []rune(a.Response); len(r) > responseKept {
			a.Response = string(r[:responseKept])
		}
		s.Attempts = append(s.Attempts, a)
	}
}

// The limits of the encoded memory. The ledger refuses a field of more than 64 KiB.
const (
	plainMost   = 32 << 10 // a memory of at most this many bytes is not compressed
	encodedMost = 60 << 10
	decodedMost = 8 << 20 // maximum size after decompression, in bytes
)

func decode(b []byte) (*memory, error) {
	m := &memory{Format: memoryFormat}
	if len(b) == 0 {
		return m, nil
	}
	if b[0] != '{' {
		packed, err := gzip.NewReader(bytes.NewReader(b))
		if err == nil {
			b, err = io.ReadAll(io.LimitReader(packed, decodedMost))
		}
		if err != nil {
			return m, fmt.Errorf("decompress alert memory: %w", err)
		}
	}
	if err := json.Unmarshal(b, m); err != nil {
		return &memory{Format: memoryFormat}, fmt.Errorf("decode alert memory: %w", err)
	}
	return m, nil
}

// encode returns the stored form, at most encodedMost bytes: JSON, compressed if it is long. If the result is too
// long, encode omits first the attempts of messages and then the oldest messages. A later receipt for an omitted
// message has no effect.
func (m *memory) encode() ([]byte, error) {
	short := *m
	short.Sent = slices.Clone(m.Sent)
	for {
		b, err := json.Marshal(&short)
		if err != nil {
			return nil, fmt.Errorf("encode alert memory: %w", err)
		}
		if len(b) > plainMost {
			if b, err = compress(b); err != nil {
				return nil, err
			}
		}
		if len(b) <= encodedMost || len(short.Sent) == 0 {
			return b, nil
		}
		if dropped := dropAttempts(short.Sent); !dropped {
			short.Sent = short.Sent[(len(short.Sent)+7)/8:]
		}
	}
}

// dropAttempts removes the attempts of all messages, and reports whether there were any.
func dropAttempts(messages []sent) (any bool) {
	for i := range messages {
		any = any || len(messages[i].Attempts) > 0
		messages[i].Attempts = nil
	}
	return any
}

func compress(b []byte) ([]byte, error) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err := w.Write(b)
	if err = errors.Join(err, w.Close()); err != nil {
		return nil, fmt.Errorf("compress alert memory: %w", err)
	}
	return packed.Bytes(), nil
}

// find returns the message of a delivery, or nil if it is not remembered.
func (m *memory) find(delivery string) *sent {
	at := slices.IndexFunc(m.Sent, func(s sent) bool { return s.Delivery == delivery })
	if at < 0 {
		return nil
	}
	return &m.Sent[at]
}

// open reports whether a message has arrived or may still arrive.
func (s *sent) open() bool {
	return s.State == outbound.Delivered || s.State == outbound.Pending && !s.Closed
}

// unreached reports whether the alert has messages, and none of them has arrived or may still arrive. Webhooks count
// only if no e-mail or SMS was sent, because a system that accepts an alert is not a person who reads it. A message that
// was not sent because the recipient has no address for its channel counts only if nothing was sent.
func (m *memory) unreached() bool {
	var messages, webhooks []bool // whether each has arrived or may still arrive
	suppressed := false
	for i := range m.Sent {
		switch one := &m.Sent[i]; {
		case one.Event != m.Alert.Event:
		case one.State == outbound.Suppressed:
			suppressed = true
		case one.Channel == subscriber.ChannelWebhook:
			webhooks = append(webhooks, one.open())
		default:
			messages = append(messages, one.open())
		}
	}
	if len(messages) == 0 {
		messages = webhooks
	}
	return (suppressed || len(messages) > 0) && !slices.Contains(messages, true)
}

// nextExpiry returns the earliest instant until which a webhook must accept an alert, or zero if none is pending.
func (m *memory) nextExpiry() (next time.Time) {
	for i := range m.Sent {
		one := &m.Sent[i]
		if one.State == outbound.Pending && !one.Until.IsZero() && (next.IsZero() || one.Until.Before(next)) {
			next = one.Until
		}
	}
	return next
}

// unaddressed reports whether the raise had no recipient, and no later message of the run has arrived or may still
// arrive.
func (m *memory) unaddressed() bool {
	return m.History.Unaddressed &&
		!slices.ContainsFunc(m.Sent, func(s sent) bool { return s.Decision >= m.History.Raise && s.open() })
}

// reopens reports whether the raise must be sent again: none of the messages since the raise has arrived or is
// pending, and one that could not be decrypted can now be decrypted.
func (m *memory) reopens(opens func(*sent) bool) bool {
	could := false
	for i := range m.Sent {
		one := &m.Sent[i]
		switch {
		case one.Decision < m.History.Raise, one.Channel == subscriber.ChannelWebhook:
		case one.open(), one.State == outbound.Pending:
			return false
		case one.Closed && opens(one):
			could = true
		}
	}
	return could
}

// alertRun returns the list entry of the open alert run.
func (m *memory) alertRun(hospital string, p *policy.Policy) outbound.AlertRun {
	h := &m.History
	e := outbound.AlertRun{
		ID: h.Episode, Hospital: hospital, Tier: cmp.Or(h.AlertedTier, m.RaiseTier).String(), Level: h.Level.String(), OpenedAt: h.StartedAt,
		ToldAt: m.alertedAt(), Reason: string(m.Alert.Reason), Round: h.Round, AckedAt: h.AckedAt, AckedBy: h.AckedBy,
		Alert: m.Raise, Unreached: m.unreached() || m.unaddressed(),
	}
	if h.AlertedTier > 0 && h.AckedAt.IsZero() && h.Round < policy.MaxRounds {
		if tier := p.Tier(h.AlertedTier); tier.AckMinutes > 0 {
			e.AckBy = h.AskedAt.Add(time.Duration(tier.AckMinutes) * time.Minute)
		}
	}
	return e
}

// alertedAt returns when the last alert of the open run was sent.
func (m *memory) alertedAt() time.Time {
	h := &m.History
	return slices.MaxFunc([]time.Time{h.AlertedAt, h.DigestAt, m.Alert.At}, time.Time.Compare)
}

// tokenDigits is the alphabet of Crockford's base 32, which omits the easily misread I, L, O and U.
const (
	tokenDigits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	tokenLength = 12 // 60 bits
)

// token returns the token for the link that acknowledges a raise. It is the same after a crash and cannot be guessed.
func token(key []byte, hospital, alertRun string, raise int64) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(strings.Join([]string{"svc.v1 acknowledge", hospital, alertRun, strconv.FormatInt(raise, 10)}, "\x00")))
	sum := mac.Sum(nil)
	digits := make([]byte, tokenLength)
	for i := range digits {
		digits[i] = tokenDigits[sum[i]&31]
	}
	return string(digits)
}
