package ingest_test

import (
	"strings"
	"testing"

	"svc/ingest"
)

// TestDryRunIsMeant: who meant to try an act out, and said it in a way that is not
// ours, is told so; nothing is done.
func TestDryRunIsMeant(t *testing.T) {
	const body = `{"system":"local","code":"OB_HEM_ALERT","factorId":"high-hemorrhage","kind":"observation"}`
	for query, c := range map[string]struct {
		status int
		want   string
	}{
		"":                          {200, `"dryRun":false`},
		"?dryRun=false":             {200, `"dryRun":false`},
		"?_=1&drink=true":           {200, `"dryRun":false`},
		"?dryRun=true":              {200, `"dryRun":true`},
		"?dryRun=":                  {400, `{"path":"dryRun","rule":"enum:true|false"}`},
		"?dryRun=True":              {400, `{"path":"dryRun","rule":"enum:true|false"}`},
		"?dryRun=false&dryRun=true": {400, `{"path":"dryRun","rule":"one"}`},
		"?dryrun=true":              {400, `{"path":"dryRun","rule":"name"}`},
		"?dry-run=true":             {400, `{"path":"dryRun","rule":"name"}`},
		"?dry_run":                  {400, `{"path":"dryRun","rule":"name"}`},
	} {
		t.Run(query, func(t *testing.T) {
			d := open(t)
			d.administer()
			d.unit()
			d.Handler = ingest.New(d.config)
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
