package ingest_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"svc/acuity"
	"svc/ingest"
	"svc/internal/admin/audit"
	"svc/internal/httpapi/access"
)

// oneDeadLetter adds one dead letter to the fixture, with the id 2:7, for the hospital stmary.
func oneDeadLetter(d *fixture, read func() (*acuity.Observation, error)) (acts *[]audit.Act) {
	acts = &[]audit.Act{}
	d.administer()
	d.config.Audit = func(_ context.Context, act audit.Act) error {
		if len(d.stored) > 0 && len(*acts) == 0 {
			return errors.New("the act came before its record")
		}
		*acts = append(*acts, act)
		return nil
	}
	d.config.DeadLetter = func(_ context.Context, hospital, id string) (*acuity.Observation, error) {
		if hospital != "stmary" || id != "2:7" {
			return nil, ingest.ErrNoDeadLetter
		}
		return read()
	}
	d.config.DeadLetterRetried = func(_ context.Context, hospital, id string) error {
		if hospital != "stmary" || id != "2:7" || len(d.stored) == 0 {
			return errors.New("noted what was not taken in")
		}
		d.retried++
		return nil
	}
	d.Handler = mounted(d.config)
	return acts
}

// administer makes adminToken a valid key of an administrator of stmary.
func (d *fixture) administer() {
	register := access.NewRegister(func() time.Time { return now })
	register.SetKey(access.Key{ID: "key_of_the_administrator", Hospital: "stmary", Scopes: []access.Scope{access.Admin}, Hash: access.Hash(adminToken)})
	d.config.Shell.Lookup = register.Lookup
}

const adminToken = "svc_administrator"

func (d *fixture) retry(t *testing.T, id string) *answer {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, "/api/admin/dead-letters/"+id+"/retry", nil)
	r.Header.Set("Authorization", "Bearer "+adminToken)
	return d.do(t, r)
}

func roomOfSender() (*acuity.Observation, error) {
	return &acuity.Observation{
		Hospital: "stmary", ReceivedAt: acuity.At(now.Add(-time.Hour)), Channel: acuity.ChannelClinical, Source: "key_of_the_sender",
		Room: &acuity.RoomRef{ID: 4},
	}, nil
}

// TestRetryIsOnce: a retry appends the facts of a readable dead letter as its sender sent them. A second retry
// returns the result of the first one, and its observation is a duplicate. The audit record is written before the
// facts and names the administrator.
func TestRetryIsOnce(t *testing.T) {
	for name, request := range map[string]*acuity.Request{
		"without an identity":     nil,
		"with that of its sender": {Key: "k", Digest: "d"},
	} {
		t.Run(name, func(t *testing.T) {
			d := open(t)
			rememberRequests(d)
			acts := oneDeadLetter(d, func() (*acuity.Observation, error) {
				o, err := roomOfSender()
				o.Request = request
				return o, err
			})
			first := d.retry(t, "2:7")
			if first.status != http.StatusOK || *first.Data.Outcome != "applied" || !strings.Contains(first.raw, `"repeated":false`) {
				t.Fatalf("%d %s", first.status, first.raw)
			}
			o := d.stored[0]
			if o.Source != "key_of_the_sender" || o.ReceivedAt != acuity.At(now.Add(-time.Hour)) || o.Request == nil || request != nil && *o.Request != *request {
				t.Errorf("taken in as %+v", o)
			}
			if len(*acts) != 1 || (*acts)[0].Action != "dead-letter.retry" || (*acts)[0].Subject != "2:7" || (*acts)[0].By != "key_of_the_administrator" || (*acts)[0].Hospital != "stmary" {
				t.Errorf("on record: %+v", *acts)
			}
			again := d.retry(t, "2:7")
			if again.status != http.StatusOK || *again.Data.Outcome != "applied" || *again.Data.Position != *first.Data.Position || !strings.Contains(again.raw, `"repeated":true`) {
				t.Errorf("again: %d %s", again.status, again.raw)
			}
			if d.retried != 2 {
				t.Errorf("noted %d times", d.retried)
			}
			if c := d.change(d.stored[1]); c.Outcome != acuity.Duplicate {
				t.Errorf("the second has the outcome %v", c.Outcome)
			}
		})
	}
}

// TestRetriesOfTwo: retries of two dead letters have different identities.
func TestRetriesOfTwo(t *testing.T) {
	d := open(t)
	d.administer()
	d.config.DeadLetter = func(context.Context, string, string) (*acuity.Observation, error) { return roomOfSender() }
	d.config.DeadLetterRetried = func(context.Context, string, string) error { return nil }
	d.Handler = mounted(d.config)
	d.retry(t, "2:7")
	d.retry(t, "2:8")
	if len(d.stored) != 2 || d.stored[0].Request.Key == d.stored[1].Request.Key {
		t.Errorf("%d taken in", len(d.stored))
	}
}

// TestRetryRefusals: a dead letter that cannot be retried is neither appended nor recorded in the audit log. One whose
// facts are refused as a whole remains to be retried.
func TestRetryRefusals(t *testing.T) {
	for name, tt := range map[string]struct {
		id     string
		err    error
		status int
		detail string
	}{
		"unknown":    {"2:8", nil, http.StatusNotFound, ""},
		"unreadable": {"2:7", &ingest.UnreadableError{Reason: "unknown_schema"}, http.StatusUnprocessableEntity, "unknown_schema"},
		"away":       {"2:7", ingest.ErrAway, http.StatusServiceUnavailable, ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := open(t)
			acts := oneDeadLetter(d, func() (*acuity.Observation, error) { return nil, tt.err })
			a := d.retry(t, tt.id)
			if a.status != tt.status || a.details() != tt.detail || len(d.stored) > 0 || len(*acts) > 0 || d.retried > 0 {
				t.Errorf("%d %q, %d kept, %d on record: %s", a.status, a.details(), len(d.stored), len(*acts), a.raw)
			}
		})
	}
	t.Run("beyond a limit", func(t *testing.T) {
		d := open(t)
		acts := oneDeadLetter(d, roomOfSender)
		d.change = func(o *acuity.Observation) acuity.Change {
			return acuity.Change{Hospital: o.Hospital, Outcome: acuity.Ignored, Reason: "too_many_rooms", Warnings: []acuity.Warning{{Code: "too_many_rooms", Path: "roomId"}}}
		}
		a := d.retry(t, "2:7")
		if a.status != http.StatusUnprocessableEntity || a.details() != "roomId maxRooms:1000" || d.retried > 0 {
			t.Errorf("%d %q, noted %d times: %s", a.status, a.details(), d.retried, a.raw)
		}
		if len(*acts) != 2 || (*acts)[1].Action != "dead-letter.retry.failed" {
			t.Errorf("on record: %+v", *acts)
		}
	})
	t.Run("not put on record", func(t *testing.T) {
		d := open(t)
		oneDeadLetter(d, roomOfSender)
		d.config.Audit = func(context.Context, audit.Act) error { return errors.New("away") }
		d.Handler = mounted(d.config)
		if a := d.retry(t, "2:7"); a.status != http.StatusServiceUnavailable || len(d.stored) > 0 {
			t.Errorf("%d, %d kept", a.status, len(d.stored))
		}
	})
}
