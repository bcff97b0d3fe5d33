package ingest_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"svc/acuity"
	"svc/internal/httpapi/access"
)

// TestBatchCarriesPastStaffing: a batch can contain the staffing of past hours, alone or with events. The clock of
// the tests is 15:30.
func TestBatchCarriesPastStaffing(t *testing.T) {
	const event = `{"eventType":"A01","occurredAt":"2026-03-04T15:00:00Z","visitId":"V1"}`
	for name, c := range map[string]struct{ body, want string }{
		"with an event":          {`{"events":[` + event + `],"staffing":[{"asOf":"2026-03-04T07:00:00Z","nursesOnDuty":6,"callStaffAvailable":true}]}`, "1 07:00:00=6/2"},
		"alone, in any order":    {`{"staffing":[{"asOf":"2026-03-04T08:00:00Z","nursesOnDuty":0,"callStaffAvailable":false},{"asOf":"2026-03-04T07:00:00Z","nursesOnDuty":6}]}`, "0 08:00:00=0/1 07:00:00=6/0"},
		"the same twice":         {`{"staffing":[{"asOf":"2026-03-04T07:00:00Z","nursesOnDuty":6},{"nursesOnDuty":6,"asOf":"2026-03-04T07:00:00Z"}]}`, "0 07:00:00=6/0"},
		"to the minute":          {`{"staffing":[{"asOf":"2026-03-04T07:00Z","nursesOnDuty":6}]}`, "0 07:00:00=6/0"},
		"without a good event":   {`{"events":[7],"staffing":[{"asOf":"2026-03-04T07:00:00Z","nursesOnDuty":6}]}`, "0 07:00:00=6/0"},
		"of a clock that is off": {`{"staffing":[{"asOf":"2026-03-04T15:34:00Z","nursesOnDuty":6}]}`, "0 15:34:00=6/0"},
	} {
		t.Run(name, func(t *testing.T) {
			d := open(t)
			o := d.wantApplied(t, d.post(t, "batch", c.body))
			got := fmt.Sprint(len(o.Events))
			for _, s := range o.PastStaffing {
				got += fmt.Sprintf(" %s=%d/%d", s.AsOf.Time().UTC().Format("15:04:05"), s.Nurses, s.Call)
			}
			if got != c.want || o.Channel != acuity.ChannelBatch || o.Staffing != nil {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
	entry := `{"asOf":"2026-03-04T07:00:00Z","nursesOnDuty":6}`
	for name, c := range map[string]struct{ body, want string }{
		"no start":               {`{"nursesOnDuty":6}`, "staffing[0].asOf required"},
		"no number":              {`{"asOf":"2026-03-04T07:00:00Z"}`, "staffing[0].nursesOnDuty required"},
		"a start that is none":   {`{"asOf":"noon","nursesOnDuty":6}`, "staffing[0].asOf date-time"},
		"letters":                {`{"asOf":"2026-03-04T07:00:00Z","nursesOnDuty":"six"}`, "staffing[0].nursesOnDuty type:integer"},
		"the future":             {`{"asOf":"2026-03-04T15:36:00Z","nursesOnDuty":6}`, "staffing[0].asOf max:now"},
		"two numbers of one day": {entry + `,{"asOf":"2026-03-04T07:00:00Z","nursesOnDuty":5}`, "staffing[1].asOf unique"},
		"no object":              {`7`, "staffing[0] type:object"},
		"none":                   {``, "staffing minItems:1"},
		"501":                    {strings.Repeat(entry+",", 500) + entry, "staffing maxItems:500"},
	} {
		t.Run(name, func(t *testing.T) {
			d := open(t)
			d.wantRefused(t, d.post(t, "batch", `{"events":[`+event+`],"staffing":[`+c.body+`]}`), http.StatusBadRequest, "invalid_request", c.want)
		})
	}
}

// TestPastStaffingRequiresItsScope: a sender of past staffing also needs the scope ingest:staffing. Without that
// scope, no part of the body is applied.
func TestPastStaffingRequiresItsScope(t *testing.T) {
	const (
		event    = `"events":[{"eventType":"A01","occurredAt":"2026-03-04T15:00:00Z","visitId":"V1"}]`
		staffing = `"staffing":[{"asOf":"2026-03-04T07:00:00Z","nursesOnDuty":6}]`
	)
	for _, c := range []struct {
		scopes []access.Scope
		body   string
		status int
	}{
		{[]access.Scope{access.IngestBatch}, `{` + event + `}`, http.StatusOK},
		{[]access.Scope{access.IngestBatch}, `{` + event + `,"staffing":null}`, http.StatusOK},
		{[]access.Scope{access.IngestBatch}, `{` + staffing + `}`, http.StatusForbidden},
		{[]access.Scope{access.IngestBatch, access.IngestRoster}, `{` + event + `,` + staffing + `}`, http.StatusForbidden},
		{[]access.Scope{access.IngestBatch, access.IngestStaffing}, `{` + event + `,` + staffing + `}`, http.StatusOK},
		{[]access.Scope{access.IngestStaffing}, `{` + staffing + `}`, http.StatusForbidden},
	} {
		d := open(t)
		var denied []access.Scope
		d.config.Shell.Denied = func(_ context.Context, _ *access.Key, _, route string, scope access.Scope) {
			if denied = append(denied, scope); route != "/api/ingest/batch" {
				t.Errorf("denied at %s", route)
			}
		}
		key, minted := access.Mint(access.Key{Hospital: "stmary", Scopes: c.scopes}, now)
		d.config.Shell.Lookup = func(string) (access.Key, bool) { return key, true }
		d.Handler = mounted(d.config)
		a := d.do(t, request("batch", strings.NewReader(c.body), "Authorization", "Bearer "+minted))
		if a.status != c.status || (len(d.stored) == 1) != (c.status == http.StatusOK) || (len(denied) == 1) != (c.status != http.StatusOK) {
			t.Errorf("%v sends %s: %s, stored %d, denied %v", c.scopes, c.body, a.raw, len(d.stored), denied)
		}
		if c.status == http.StatusForbidden && c.scopes[0] == access.IngestBatch {
			d.wantRefused(t, a, http.StatusForbidden, "forbidden_scope", "staffing scope:ingest:staffing")
			if !strings.Contains(a.raw, "ingest:staffing") || !strings.Contains(a.raw, "omit the field") {
				t.Errorf("the message does not say what to do: %s", a.raw)
			}
		}
	}
}
