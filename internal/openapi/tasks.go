package openapi

import (
	"strings"

	"svc/internal/httpapi/contract"
)

// reader is an audience of the documentation, such as interface engineers, with its tasks.
type reader struct {
	ID, Name, About string
	Tasks           []task
}

// task is a goal of a reader. Its operations are those whose path begins with one of its prefixes, unless another task
// has a longer matching prefix.
type task struct {
	ID, Name   string
	prefixes   []string
	Operations []contract.Operation
}

// readers returns the readers and their tasks in the order of the page. The tasks have no operations yet.
func readers() []reader {
	return []reader{
		{ID: "send", Name: "Send data", About: "For interface engineers who connect an EHR, a monitor or a staffing system.", Tasks: []task{
			{ID: "admissions", Name: "Admissions, transfers and discharges", prefixes: []string{"/api/ingest/"}},
			{ID: "clinical", Name: "Clinical signals", prefixes: []string{"/api/ingest/clinical"}},
			{ID: "staff", Name: "Nurses on duty and roster", prefixes: []string{"/api/ingest/staffing", "/api/ingest/roster"}},
			{ID: "feeds", Name: "Feed status", prefixes: []string{"/api/ingest/status"}},
		}},
		{ID: "read", Name: "Read the unit", About: "For developers of dashboards and staffing applications.", Tasks: []task{
			{ID: "state", Name: "Unit level and rooms", prefixes: []string{"/api/v1/"}},
			{ID: "forecast", Name: "Forecast", prefixes: []string{"/api/v1/predict"}},
		}},
		{ID: "receive", Name: "Receive events", About: "For developers whose application follows a unit without polling.", Tasks: []task{
			{ID: "hooks", Name: "Webhooks", prefixes: []string{"/api/admin/webhooks"}},
			{ID: "deliveries", Name: "Deliveries, tests and replays", prefixes: []string{
				"/api/admin/deliveries", "/api/admin/commands", "/api/v1/webhooks",
				"/api/admin/webhooks/{id}/deliveries", "/api/admin/webhooks/{id}/test", "/api/admin/webhooks/{id}/replay",
			}},
		}},
		{ID: "administer", Name: "Administer a hospital", About: "For hospital administrators and their scripts.", Tasks: []task{
			{ID: "keys", Name: "API keys", prefixes: []string{"/api/admin/keys"}},
			{ID: "users", Name: "Users and wall displays", prefixes: []string{"/api/admin/users", "/api/admin/walls"}},
			{ID: "alerts", Name: "Alerts", prefixes: []string{"/api/admin/alerts"}},
			{ID: "codes", Name: "Code mappings", prefixes: []string{"/api/admin/terminology"}},
			{ID: "places", Name: "Locations and unit layout", prefixes: []string{"/api/admin/locations", "/api/admin/layout"}},
			{ID: "rules", Name: "Acuity rules", prefixes: []string{"/api/admin/rules"}},
			{ID: "settings", Name: "Hospital settings", prefixes: []string{"/api/admin/settings"}},
			{ID: "history", Name: "Trends and audit", prefixes: []string{"/api/admin/trends", "/api/admin/audit"}},
		}},
		{ID: "operate", Name: "Operate the service", About: "For operators and their monitoring.", Tasks: []task{
			{ID: "health", Name: "Health checks", prefixes: []string{"/healthz", "/readyz"}},
			{ID: "deadletters", Name: "Records not applied", prefixes: []string{"/api/admin/dead-letters"}},
			{ID: "receipts", Name: "Acknowledgment links and SMS receipts", prefixes: []string{"/a/", "/api/public/sms"}},
			{ID: "description", Name: "API description", prefixes: []string{
				"/api/openapi.json", "/api/public/integration-capabilities", "/api/ingest/fhir/metadata", "/docs",
			}},
		}},
	}
}

// groupByTask returns the readers with the operations of their tasks, and the operations that do not belong to any
// task.
func groupByTask(operations []contract.Operation) (all []reader, rest []contract.Operation) {
	all = readers()
	for _, o := range operations {
		var best *task
		longest := 0
		for i := range all {
			for j := range all[i].Tasks {
				for _, prefix := range all[i].Tasks[j].prefixes {
					if strings.HasPrefix(o.Path, prefix) && len(prefix) > longest {
						best, longest = &all[i].Tasks[j], len(prefix)
					}
				}
			}
		}
		if best == nil {
			rest = append(rest, o)
			continue
		}
		best.Operations = append(best.Operations, o)
	}
	return all, rest
}
