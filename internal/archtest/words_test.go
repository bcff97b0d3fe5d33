package archtest

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// colloquial matches words that have a standard equivalent, which comments must use instead: for example, "notified"
// instead of "told". Words that also have a technical meaning, such as "letter" or "take", are not checked.
var colloquial = regexp.MustCompile(`(?i)\b(?:told|said|heard|anew|whoever|somebody|nobody|anybody|beside)\b`)

// plainPackages are the packages whose comments must use only standard words. A package below one of them must be
// listed, too.
var plainPackages = []string{
	"acuity/adt", "acuity/catalogue", "acuity/charts", "acuity/codes", "acuity/evidence", "acuity/facts",
	"acuity/forecast", "acuity/help", "acuity/hospital", "acuity/identity", "acuity/location",
	"acuity/registry", "acuity/score", "acuity/stays", "acuity/suggest", "acuity/terminology",
	"cmd/svc",
	"ingest", "ingest/engines", "ingest/fhir", "ingest/hl7", "ingest/mllp", "ingest/outcomes",
	"internal/admin/audit", "internal/admin/auditlog", "internal/admin/commands", "internal/admin/keys",
	"internal/admin/layout", "internal/admin/settings", "internal/admin/sheets", "internal/admin/subscribers",
	"internal/admin/users", "internal/admin/walls",
	"internal/analysis/analysistest", "internal/analysis/archive", "internal/analysis/backtest",
	"internal/analysis/backtest/hours", "internal/analysis/backtest/hours/hourstest",
	"internal/analysis/commands", "internal/analysis/inputlog", "internal/analysis/replay",
	"internal/analysis/simulate", "internal/analysis/spreadsheet", "internal/analysis/tables",
	"internal/analysis/trial", "internal/analysis/verify",
	"internal/cli",
	"internal/config",
	"internal/devserver", "internal/devserver/pastalerts",
	"internal/httpapi", "internal/httpapi/access", "internal/httpapi/contract",
	"internal/httpapi/contracttest", "internal/httpapi/limit", "internal/httpapi/limit/limittest",
	"internal/httpapi/problem", "internal/httpapi/rules", "internal/httpapi/syntax",
	"internal/outbound", "internal/outbound/sending", "internal/outbound/subscriber",
	"internal/registry",
	"internal/stream", "internal/stream/logfiles",
	"internal/view", "internal/view/viewtest",
	"notifier/alert", "notifier/egress", "notifier/endpointqueue", "notifier/event", "notifier/kafka",
	"notifier/lists", "notifier/mail", "notifier/outcome", "notifier/people", "notifier/policy", "notifier/sms",
	"notifier/webhook",
	"processors/deadletter", "processors/history", "processors/projection", "processors/verdict",
	"readapi", "readapi/sources", "readapi/web", "readapi/web/actor", "readapi/web/apicall", "readapi/web/auth",
	"readapi/web/chart", "readapi/web/integrations", "readapi/web/page", "readapi/web/page/pagetest",
	"readapi/web/signin", "readapi/web/text",
	"schemas", "schemas/administration", "schemas/ledger",
}

// TestPlainWords expects that the comments in plainPackages do not contain colloquial words.
func TestPlainWords(t *testing.T) {
	checked := map[string]bool{}
	eachFile(t, func(file string, source []byte) {
		if !slices.Contains(plainPackages, path.Dir(file)) {
			return
		}
		checked[path.Dir(file)] = true
		for _, word := range colloquialWords(string(source)) {
			t.Errorf("%s: a comment says %q; use the standard word", file, word)
		}
	})
	for _, name := range plainPackages {
		if !checked[name] {
			t.Errorf("%s has no files", name)
		}
	}
}

// colloquialWords returns the colloquial words in the comments of a Go file, except those in quotation marks.
func colloquialWords(source string) []string {
	quoted := regexp.MustCompile(`"[^"]*"`)
	return colloquial.FindAllString(quoted.ReplaceAllString(commentsOf(source), ""), -1)
}

// TestPlainWordsBite checks that colloquial words are found in comments of each form, but not in code.
func TestPlainWordsBite(t *testing.T) {
	for source, want := range map[string]string{
		"// The view is made anew.\n":               "anew",
		"a := 1 // Nobody reads it\n":               "Nobody",
		"// said returns \"nobody\".\n":             "said",
		"func said() { fmt.Println(\"anew\") }\n":   "",
		"// The besides of a renewed view is said.": "said",
	} {
		if got := strings.Join(colloquialWords(source), " "); got != want {
			t.Errorf("%q: %q, want %q", source, got, want)
		}
	}
}
