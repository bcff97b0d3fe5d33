package ingest_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"svc/acuity"
	"svc/acuity/facts"
	"svc/ingest"
	"svc/internal/admin/audit"
)

// TestDryRunIsMeant: a misspelled or malformed dry-run parameter is an error, and the request has no effect.
func TestDryRunIsMeant(t *testing.T) {
	const body = `{"system":"local","code":"OB_HEM_ALERT","factorId":"high-hemorrhage","kind":"observation"}`
	for query, c := range map[string]struct {
		status int
		want   string
	}{
		"":                          {200, `"dryRun":false`},
		"?dryRun=false":             {200, `"dryRun":false`},
		"?drink=true&_=1":           {400, `[{"path":"?","rule":"name"},{"path":"drink","rule":"name"}]`},
		"?dryRun=true%zz":           {400, `[{"path":"","rule":"query"}]`},
		"?dryRun=true;at=1":         {400, `[{"path":"","rule":"query"}]`},
		"?dryRun%20=true":           {400, `[{"path":"?","rule":"name"}]`},
		"?dryRun=true":              {200, `"dryRun":true`},
		"?dryRun=":                  {400, `{"path":"dryRun","rule":"enum:true|false"}`},
		"?dryRun=True":              {400, `{"path":"dryRun","rule":"enum:true|false"}`},
		"?dryRun=false&dryRun=true": {400, `{"path":"dryRun","rule":"one"}`},
		"?dryrun=true":              {400, `{"path":"dryrun","rule":"name"}`},
		"?dry-run=true":             {400, `{"path":"dry-run","rule":"name"}`},
		"?dry_run":                  {400, `{"path":"dry_run","rule":"name"}`},
	} {
		t.Run(query, func(t *testing.T) {
			d := open(t)
			d.administer()
			d.unit()
			d.Handler = mounted(d.config)
			r := request("", strings.NewReader(body), "Authorization", "Bearer "+adminToken)
			r.URL.Path, r.URL.RawQuery = "/api/admin/terminology", strings.TrimPrefix(query, "?")
			a := d.do(t, r)
			if a.status != c.status || !strings.Contains(a.raw, c.want) {
				t.Errorf("%d %s, want %d with %s", a.status, a.raw, c.status, c.want)
			}
			if told := len(d.stored) > 0; told != (c.status == 200) {
				t.Errorf("in the log: %v", told)
			}
		})
	}
}

// TestFailedActsAreOnRecord: the audit log distinguishes acts that were refused, or whose result is unknown, from
// acts that succeeded.
func TestFailedActsAreOnRecord(t *testing.T) {
	refuse := func(reason string) func(*acuity.Observation) acuity.Change {
		return func(o *acuity.Observation) acuity.Change {
			return acuity.Change{Hospital: o.Hospital, Outcome: acuity.Ignored, Reason: reason}
		}
	}
	for name, c := range map[string]struct {
		change  func(*acuity.Observation) acuity.Change
		fail    error
		pending bool
		query   string
		status  int
		want    []string
	}{
		"done":                   {applyAll, nil, false, "", 200, []string{"rules.delete"}},
		"not there":              {refuse(facts.ReasonNotThere), nil, false, "", 404, []string{"rules.delete", "rules.delete.failed"}},
		"another version":        {refuse(facts.ReasonPrecondition), nil, false, "", 412, []string{"rules.delete", "rules.delete.failed"}},
		"too large":              {applyAll, ingest.ErrTooLarge, false, "", 413, []string{"rules.delete", "rules.delete.failed"}},
		"Kafka does not respond": {applyAll, ingest.ErrAway, false, "", 503, []string{"rules.delete", "rules.delete.unclear"}},
		"it will be done":        {applyAll, nil, true, "", 200, []string{"rules.delete"}},
		"only tried":             {refuse(facts.ReasonNotThere), nil, false, "?dryRun=true", 404, nil},
		"tried, and is away":     {applyAll, ingest.ErrAway, false, "?dryRun=true", 503, nil},
	} {
		t.Run(name, func(t *testing.T) {
			d := open(t)
			d.administer()
			d.change, d.fail, d.pending = c.change, c.fail, c.pending
			var got []string
			d.config.Audit = func(_ context.Context, act audit.Act) error {
				if got = append(got, act.Action); act.Subject != "high-mag" || act.Hospital != "stmary" || act.By != "key_of_the_administrator" {
					t.Errorf("%+v", act)
				}
				return nil
			}
			d.Handler = mounted(d.config)
			r := request("", nil, "Authorization", "Bearer "+adminToken)
			r.Method, r.URL.Path, r.URL.RawQuery = "DELETE", "/api/admin/rules/high-mag", strings.TrimPrefix(c.query, "?")
			if a := d.do(t, r); a.status != c.status || !slices.Equal(got, c.want) {
				t.Errorf("%d %s, on record %q; want %d, %q", a.status, a.raw, got, c.status, c.want)
			}
		})
	}
}

// TestRuleOfAPath: a rule can be sent back to its path exactly as it was read. A body that names a different factor
// than the path is refused.
func TestRuleOfAPath(t *testing.T) {
	for named, want := range map[string]int{
		"":                           200,
		`"factorId":"high-mag",`:     200,
		`"factorId":null,`:           200,
		`"factorId":"high-cardiac",`: 400,
		`"factorId":7,`:              400,
	} {
		d := open(t)
		d.administer()
		r := request("", strings.NewReader(`{`+named+`"values":{"floor":"1 until 90m, 1/2"}}`), "Authorization", "Bearer "+adminToken)
		r.Method, r.URL.Path = "PUT", "/api/admin/rules/high-mag"
		if a := d.do(t, r); a.status != want || want == 400 && !strings.Contains(string(a.raw), `{"path":"factorId","rule":"path"}`) {
			t.Errorf("%s: %d %s", named, a.status, a.raw)
		}
	}
}

// TestIfMatchIsStrong: a weak entity tag in If-Match is refused, as by all other administration endpoints, because it
// does not prove that the resource is unchanged (RFC 9110, section 13.1.1).
func TestIfMatchIsStrong(t *testing.T) {
	for tag, want := range map[string]int{"": 200, "*": 200, `"57"`: 200, `W/"57"`: 400, `w/"57"`: 400, "57": 400, `"0"`: 400, `"57", "58"`: 400} {
		d := open(t)
		d.administer()
		r := request("", nil, "Authorization", "Bearer "+adminToken, "If-Match", tag)
		r.Method, r.URL.Path = "DELETE", "/api/admin/rules/high-mag"
		if a := d.do(t, r); a.status != want || want == 400 && a.details() != "If-Match version" || (len(d.stored) > 0) != (want == 200) {
			t.Errorf("%s: %d %s, %d in the log", tag, a.status, a.raw, len(d.stored))
		}
	}
}
