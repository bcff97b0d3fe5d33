package ingest_test

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"

	"svc/acuity"
	"svc/acuity/facts"
	"svc/ingest"
)

// rememberRequests gives the fixture a processor that recognizes repeated requests, and a log that
// finds their changes.
func rememberRequests(d *fixture) (find *error) {
	find = new(error)
	firsts := map[string]acuity.Change{}
	digests := map[string]string{}
	var all []acuity.Change
	d.change = func(o *acuity.Observation) acuity.Change {
		c := applyAll(o)
		c.Version, c.Offset = int64(len(all)+1), int64(len(d.stored)-1)
		if r := o.Request; r != nil {
			if first, known := firsts[r.Key]; known {
				c = acuity.Change{Hospital: o.Hospital, Version: c.Version, Offset: c.Offset, Outcome: acuity.Duplicate, Repeats: first.Version, RepeatsAt: 7}
				if digests[r.Key] != r.Digest {
					c.Reason = facts.ReasonReused
				}
			} else {
				firsts[r.Key], digests[r.Key] = c, r.Digest
			}
		}
		all = append(all, c)
		return c
	}
	d.config.Repeated = func(_ context.Context, hospital string, version int64, at acuity.Instant) (acuity.Change, error) {
		if hospital != "stmary" || at != 7 {
			return acuity.Change{}, errors.New("asked for another one")
		}
		return all[version-1], *find
	}
	d.Handler = mounted(d.config)
	return find
}

var bodies = map[string]string{
	"staffing": `{"nursesOnDuty": 6}`,
	"clinical": `{"roomId": 4, "signals": []}`,
	"census":   `{"rooms": [{"roomId": 1, "status": "empty"}]}`,
	"roster":   `{"nurses": []}`,
	"adt":      `{"eventType": "A01", "occurredAt": "2026-03-04T15:00:00Z", "visitId": "V1", "roomId": 3}`,
	"batch":    `{"events": [{"eventType": "A01", "occurredAt": "2026-03-04T15:00:00Z", "visitId": "V1", "roomId": 3}]}`,
	"hl7":      `{"message": "MSH|^~\\&|A|B|C|D|20260304150000||ADT^A01|M1|P|2.5.1\rEVN|A01|20260304150000\rPID|1||P1\rPV1|1|I|L^1^1|||||||||||||||||V1"}`,
}

func TestRequestsThatComeAgain(t *testing.T) {
	all := maps.Clone(bodies)
	all["hl7 batch"] = `{"message": "BHS|^~\\&|A|B\rMSH|^~\\&|A|B|C|D|20260304150000||ADT^A01|M1|P|2.5.1\rEVN|A01|20260304150000\rPID|1||P1\rPV1|1|I|L^1^1|||||||||||||||||V1\rBTS|1"}`
	for feed, body := range all {
		t.Run(feed, func(t *testing.T) {
			d := open(t)
			find := rememberRequests(d)
			path, _, _ := strings.Cut(feed, " ")
			first := d.post(t, path, body, "Idempotency-Key", "canary-key-1")
			if first.status != 200 || first.header.Get("Idempotency-Replayed") != "" {
				t.Fatalf("first: %d %s", first.status, first.raw)
			}
			again := d.post(t, path, body, "Idempotency-Key", "canary-key-1")
			if again.status != 200 || again.header.Get("Idempotency-Replayed") != "true" {
				t.Errorf("again: %d %v %s", again.status, again.header, again.raw)
			}
			if was, is := dataOf(first.raw), dataOf(again.raw); path != "hl7" && was != is { // HL7 acknowledgments differ in time and id
				t.Errorf("again %s\nfirst %s", is, was)
			}
			if other := d.post(t, path, body, "Idempotency-Key", "key-2"); other.header.Get("Idempotency-Replayed") != "" {
				t.Error("another key repeats")
			}
			if none := d.post(t, path, body); none.header.Get("Idempotency-Replayed") != "" {
				t.Error("no key repeats")
			}
			changed := d.post(t, path, strings.Replace(body, "{", "{ ", 1), "Idempotency-Key", "canary-key-1")
			if changed.status != 409 || changed.Error.Code != "invalid_request" || changed.header.Get("Idempotency-Replayed") != "" {
				t.Errorf("another body: %d %s", changed.status, changed.raw)
			}
			*find = ingest.ErrPending
			gone := d.post(t, path, body, "Idempotency-Key", "canary-key-1")
			if gone.status != 200 || gone.Data.Outcome == nil || *gone.Data.Outcome != "duplicate" {
				t.Errorf("the first is not in the log any more: %d %s", gone.status, gone.raw)
			}
			for _, item := range itemOutcomes(gone) {
				if item != "duplicate" {
					t.Errorf("the first is not in the log any more: %s", gone.raw)
				}
			}
			*find = ingest.ErrAway
			if away := d.post(t, path, body, "Idempotency-Key", "canary-key-1"); away.status != 503 || away.header.Get("Retry-After") == "" {
				t.Errorf("Kafka does not respond: %d %s", away.status, away.raw)
			}
			for _, o := range d.stored {
				if o.Request != nil && (strings.Contains(o.Request.Key, "canary") || len(o.Request.Key) != 24 || len(o.Request.Digest) != 24) {
					t.Errorf("stored %+v", o.Request)
				}
			}
		})
	}
}

// TestAKeyIsOfItsRoute: the same Idempotency-Key on two routes identifies two different requests.
func TestAKeyIsOfItsRoute(t *testing.T) {
	d := open(t)
	rememberRequests(d)
	d.post(t, "staffing", bodies["staffing"], "Idempotency-Key", "k")
	if a := d.post(t, "clinical", bodies["clinical"], "Idempotency-Key", "k"); a.status != 200 || a.header.Get("Idempotency-Replayed") != "" {
		t.Errorf("%d %s", a.status, a.raw)
	}
}

func TestIdempotencyKeysThatAreNone(t *testing.T) {
	d := open(t)
	for name, headers := range map[string][]string{
		"too long":  {"Idempotency-Key", strings.Repeat("k", 256)},
		"a space":   {"Idempotency-Key", "a b"},
		"not ASCII": {"Idempotency-Key", "schlüssel"},
	} {
		a := d.post(t, "staffing", bodies["staffing"], headers...)
		if a.status != 400 || a.Error.Code != "invalid_request" || a.details() == "" || len(d.stored) > 0 {
			t.Errorf("%s: %d %s", name, a.status, a.raw)
		}
	}
	if a := d.post(t, "staffing", bodies["staffing"], "Idempotency-Key", strings.Repeat("k", 255)); a.status != 200 {
		t.Errorf("the longest: %d %s", a.status, a.raw)
	}
}

// itemOutcomes returns the outcome of each event of a batch, or of each HL7 message of several; "" means pending.
func itemOutcomes(a *answer) (all []string) {
	for _, r := range a.Data.Results {
		all = append(all, r.Status)
	}
	for _, k := range a.Data.Acks {
		all = append(all, "")
		if k.Outcome != nil {
			all[len(all)-1] = *k.Outcome
		}
	}
	return all
}

// dataOf returns the data of an answer as text.
func dataOf(raw string) string {
	_, after, _ := strings.Cut(raw, `"data":`)
	data, _, _ := strings.Cut(after, `,"meta":`)
	return data
}
