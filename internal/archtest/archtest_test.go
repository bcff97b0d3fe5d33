// Package archtest tests the import rules of this repository: which packages of the repository, and which libraries,
// each folder may import. It reads the source tree and reports, by name, each new folder that is not in the plan, and
// each library that is imported outside its folder.
package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "svc/"

// folder contains the rules for one folder.
type folder struct {
	// imports are the packages of the repository and the libraries that the folder may import, including packages below
	// them, in addition to the standard library. A name that begins with "=" means only that package.
	imports    []string
	std        []string // the only packages of the standard library that the folder may import; empty: any
	goroutines bool     // whether the folder may start goroutines
}

// plan contains the rules for each folder. The test fails for a folder that is not listed, so add a new folder here
// first. Roles (ingest, processors, readapi) never import roles.
var plan = map[string]folder{
	"acuity":                           {imports: []string{"=acuity/codes", "=acuity/catalogue"}, std: domainStd},
	"acuity/codes":                     {std: domainStd},
	"acuity/catalogue":                 {imports: []string{"=acuity/codes"}, std: domainStd},                                                                                                                                                                                                                            // the demand and the codes of each factor
	"acuity/terminology":               {imports: []string{"=acuity", "=acuity/codes", "=acuity/catalogue"}, std: domainStd},                                                                                                                                                                                            // the meaning of codes
	"acuity/score":                     {imports: []string{"=acuity", "=acuity/codes", "=acuity/catalogue"}, std: domainStd},                                                                                                                                                                                            // evaluates a chart at an instant
	"acuity/adt":                       {imports: []string{"=acuity", "=acuity/codes", "=acuity/catalogue", "=acuity/terminology"}, std: domainStd},                                                                                                                                                                     // the events of a visit
	"acuity/location":                  {imports: []string{"=acuity", "=acuity/adt"}, std: domainStd},                                                                                                                                                                                                                   // resolves a location to a room
	"acuity/evidence":                  {imports: []string{"=acuity", "=acuity/codes", "=acuity/catalogue", "=acuity/terminology"}, std: domainStd},                                                                                                                                                                     // the evidence from the statements about one patient
	"acuity/facts":                     {imports: []string{"=acuity", "=acuity/codes", "=acuity/catalogue", "=acuity/adt", "=acuity/location", "=acuity/evidence"}, std: domainStd},                                                                                                                                     // the recorded facts of one hospital
	"acuity/registry":                  {imports: []string{"=acuity", "=acuity/adt", "=acuity/location", "=acuity/score", "=acuity/evidence", "=acuity/facts"}, std: domainStd},                                                                                                                                         // the rooms and visits of a hospital
	"acuity/identity":                  {imports: []string{"=acuity", "=acuity/codes", "=acuity/catalogue", "=acuity/terminology", "=acuity/adt", "=acuity/location", "=acuity/score", "=acuity/evidence", "=acuity/facts", "=acuity/registry"}, std: domainStd},                                                        // resolves names to patients, visits and locations
	"acuity/stays":                     {imports: []string{"=acuity", "=acuity/codes", "=acuity/terminology", "=acuity/adt", "=acuity/location", "=acuity/evidence", "=acuity/facts", "=acuity/registry", "=acuity/identity"}, std: domainStd},                                                                          // the location of each visit over time
	"acuity/charts":                    {imports: []string{"=acuity", "=acuity/codes", "=acuity/adt", "=acuity/location", "=acuity/evidence", "=acuity/facts", "=acuity/registry", "=acuity/identity", "=acuity/stays"}, std: domainStd},                                                                                // the chart of a room
	"acuity/hospital":                  {imports: []string{"=acuity", "=acuity/codes", "=acuity/catalogue", "=acuity/terminology", "=acuity/adt", "=acuity/location", "=acuity/score", "=acuity/evidence", "=acuity/facts", "=acuity/registry", "=acuity/identity", "=acuity/stays", "=acuity/charts"}, std: domainStd}, // applies observations to the state of one hospital
	"acuity/suggest":                   {imports: []string{"=acuity", "=acuity/codes", "=acuity/catalogue"}, std: domainStd},                                                                                                                                                                                            // suggestions for mapping codes; never used for a verdict
	"schemas":                          {imports: []string{"acuity", "acuity/forecast", "github.com/hamba/avro"}},
	"schemas/administration":           {imports: []string{"schemas", "internal/httpapi/access", "internal/admin/audit", "internal/admin/users", "internal/admin/walls", "internal/admin/layout", "internal/outbound"}}, // administrative changes, as records
	"schemas/ledger":                   {imports: []string{"schemas", "internal/outbound"}},                                                                                                                             // the entries of the notifier, as records
	"ingest":                           {imports: []string{"acuity", "ingest/fhir", "ingest/hl7", "internal/httpapi/access", "internal/httpapi", "internal/httpapi/limit", "internal/httpapi/syntax", "internal/admin/audit", "github.com/go-chi/chi"}},
	"ingest/hl7":                       {imports: []string{"acuity", "golang.org/x/text"}},
	"ingest/mllp":                      {goroutines: true},
	"ingest/engines":                   {imports: []string{"ingest", "internal/config", "internal/httpapi", "internal/lifecycle"}},     // the MLLP listeners, with the key of each sender
	"ingest/outcomes":                  {imports: []string{"acuity", "ingest", "internal/feeds", "internal/httpapi/rules", "schemas"}}, // the outcomes of observations, for the status of a feed
	"ingest/fhir":                      {imports: []string{"acuity", "ingest/hl7", "internal/httpapi/syntax"}},
	"processors/verdict":               {imports: []string{"acuity", "schemas", "internal/stream"}},
	"readapi":                          {imports: []string{"acuity", "readapi/web/text", "internal/httpapi/access", "internal/httpapi", "internal/admin/audit", "internal/feeds", "internal/outbound", "github.com/go-chi/chi", "github.com/cespare/xxhash"}},
	"readapi/web":                      {imports: []string{"acuity", "readapi", "internal/admin/audit", "internal/admin/layout", "internal/admin/users", "internal/admin/walls", "internal/analysis/spreadsheet", "internal/httpapi", "internal/outbound", "github.com/go-chi/chi", "golang.org/x/sync"}, goroutines: true},          // the pages of units
	"readapi/web/apicall":              {},                                                                                                                                                                                                                                                                                           // requests from a page to the API of the same process
	"readapi/sources":                  {imports: []string{"acuity", "schemas", "readapi", "internal/admin/subscribers", "internal/feeds", "internal/httpapi/access", "internal/outbound", "internal/stream", "internal/view"}},                                                                                                      // the data sources of the read API
	"readapi/web/actor":                {imports: []string{"internal/admin/users", "internal/httpapi/access", "internal/seal"}},                                                                                                                                                                                                      // identifies the user of a page to the API
	"readapi/web/auth":                 {imports: []string{"internal/admin/users"}},                                                                                                                                                                                                                                                  // the signed-in user
	"readapi/web/chart":                {},                                                                                                                                                                                                                                                                                           // draws the charts of the pages from numbers
	"readapi/web/integrations":         {imports: []string{"acuity", "internal/admin/audit", "internal/admin/sheets", "internal/admin/users", "internal/analysis/spreadsheet", "internal/httpapi", "internal/outbound", "readapi/web/apicall", "readapi/web/auth", "readapi/web/page", "readapi/web/text", "github.com/go-chi/chi"}}, // the pages of administrators
	"readapi/web/page":                 {imports: []string{"acuity", "internal/admin/layout", "internal/admin/users", "internal/httpapi", "readapi/web/auth", "readapi/web/text", "github.com/go-chi/chi", "golang.org/x/time"}},                                                                                                     // rendering of a page
	"readapi/web/page/pagetest":        {imports: []string{"internal/admin/users", "internal/httpapi/access", "internal/seal", "readapi/web/auth", "readapi/web/page", "readapi/web/text", "github.com/go-chi/chi"}},
	"readapi/web/signin":               {imports: []string{"acuity", "internal/admin/users", "internal/httpapi", "readapi/web/auth", "readapi/web/page", "readapi/web/text", "github.com/coreos/go-oidc", "github.com/go-chi/chi", "golang.org/x/oauth2"}}, // sign-in of people
	"readapi/web/text":                 {imports: []string{"acuity", "internal/httpapi", "golang.org/x/text"}},                                                                                                                                             // the text of the pages, in each language
	"internal/httpapi/access":          {},
	"internal/httpapi/syntax":          {},
	"internal/httpapi":                 {imports: []string{"internal/httpapi/access", "internal/httpapi/limit", "internal/httpapi/problem", "internal/httpapi/syntax", "github.com/go-chi/chi", "github.com/google/uuid"}},
	"internal/admin/audit":             {imports: []string{"internal/httpapi/access", "golang.org/x/sync", "golang.org/x/time"}, goroutines: true},                                                                                                                                                                                 // records of administrative actions, shared by roles and schemas
	"internal/admin/walls":             {imports: []string{"internal/httpapi/access", "internal/httpapi", "internal/admin/audit", "github.com/go-chi/chi"}},                                                                                                                                                                        // wall displays that show the board
	"internal/admin/sheets":            {imports: []string{"internal/analysis/spreadsheet"}},                                                                                                                                                                                                                                       // the terminology map and the location table as CSV files, for the command line and the pages
	"internal/admin/layout":            {imports: []string{"internal/httpapi/access", "internal/httpapi", "internal/admin/audit", "github.com/go-chi/chi"}},                                                                                                                                                                        // the layout of rooms on the pages
	"internal/admin/users":             {imports: []string{"internal/httpapi/access", "internal/httpapi", "internal/admin/audit", "github.com/go-chi/chi"}},                                                                                                                                                                        // the users of the pages, and their sign-in links
	"internal/admin/auditlog":          {imports: []string{"internal/admin/audit", "internal/stream", "schemas"}},                                                                                                                                                                                                                  // audit records on Kafka
	"internal/admin/settings":          {imports: []string{"internal/admin/audit", "internal/admin/keys", "internal/admin/layout", "internal/admin/subscribers", "internal/admin/users", "internal/admin/walls", "internal/httpapi/access", "internal/outbound", "internal/seal", "internal/stream", "schemas"}, goroutines: true}, // administrative settings on Kafka
	"internal/admin/keys":              {imports: []string{"internal/httpapi/access", "internal/httpapi", "internal/admin/audit", "github.com/go-chi/chi"}},                                                                                                                                                                        // key administration, used by two roles and the command line
	"internal/httpapi/contract":        {imports: []string{"internal/httpapi", "github.com/go-chi/chi"}},
	"internal/httpapi/rules":           {},
	"internal/httpapi/problem":         {},
	"internal/httpapi/limit":           {}, // rate limits of callers, used by the shell of every role and by Redis
	"internal/httpapi/contracttest":    {imports: []string{"internal/httpapi/contract"}},
	"internal/httpapi/limit/limittest": {imports: []string{"internal/httpapi/limit"}, goroutines: true},
	"internal/view":                    {imports: []string{"internal/authorities", "internal/feeds", "internal/httpapi/limit", "internal/outbound", "github.com/redis/go-redis", "github.com/alicebob/miniredis"}, goroutines: true},
	"internal/view/viewtest":           {imports: []string{"internal/view", "internal/feeds", "internal/outbound", "github.com/redis/go-redis"}, goroutines: true},
	"internal/registry":                {imports: []string{"internal/authorities", "schemas", "github.com/go-chi/chi", "github.com/twmb/franz-go/pkg/sr"}}, // maps a schema id on the wire to its schema
	"internal/authorities":             {},                                                                                                                 // the certificate authorities in a PEM file
	"internal/feeds":                   {},
	"internal/stream/logfiles":         {imports: []string{"github.com/twmb/franz-go/pkg/kmsg"}}, // checks the files of the embedded Kafka before it opens them
	"internal/stream": {
		imports:    []string{"internal/authorities", "internal/stream/logfiles", "github.com/twmb/franz-go", "github.com/google/uuid", "golang.org/x/sync"},
		goroutines: true,
	},
	"acuity/forecast":               {imports: []string{"=acuity", "=acuity/catalogue", "=acuity/score"}, std: forecastStd},
	"acuity/help":                   {imports: []string{"=acuity", "=acuity/score"}, std: domainStd},                   // the steps that would bring a unit to a better level
	"processors/projection":         {imports: []string{"internal/stream", "internal/view", "processors/verdict"}},     // writes verdicts to the view
	"processors/deadletter":         {imports: []string{"acuity", "schemas", "internal/stream", "processors/verdict"}}, // observations that could not be applied
	"processors/history":            {imports: []string{"acuity", "schemas", "internal/stream", "processors/verdict"}}, // the models of the forecast
	"notifier":                      {imports: []string{"acuity", "internal/outbound", "notifier", "golang.org/x/time"}, goroutines: true},
	"notifier/event":                {imports: []string{"acuity", "internal/outbound"}},
	"notifier/endpointqueue":        {imports: []string{"internal/outbound"}},
	"notifier/policy":               {imports: []string{"acuity", "internal/outbound"}},
	"notifier/alert":                {imports: []string{"acuity", "internal/outbound", "notifier/event", "notifier/policy", "golang.org/x/text"}}, // the text of alerts
	"notifier/people":               {imports: []string{"acuity", "internal/outbound", "notifier"}},                                               // chooses the recipients
	"notifier/kafka":                {imports: []string{"schemas", "internal/outbound", "internal/stream", "notifier"}},                           // the topics of the notifier
	"notifier/lists":                {imports: []string{"schemas", "internal/outbound", "internal/view", "notifier"}},                             // writes the notifier's lists to the view
	"notifier/outcome":              {imports: []string{"internal/outbound"}},                                                                     // the outcome of an attempt
	"notifier/mail":                 {imports: []string{"internal/outbound", "notifier/outcome", "github.com/wneessen/go-mail"}},
	"notifier/sms":                  {imports: []string{"internal/outbound", "notifier/outcome", "internal/signature"}},
	"internal/outbound":             {imports: []string{"internal/outbound/sending", "internal/outbound/subscriber"}},                                                                                                                                                                                       // outgoing messages and their outcomes, shared by ingest, readapi, notifier and schemas
	"internal/seal":                 {},                                                                                                                                                                                                                                                                     // encryption of secrets and addresses in settings and the ledger
	"internal/admin/subscribers":    {imports: []string{"internal/httpapi/access", "internal/httpapi", "internal/admin/audit", "internal/outbound", "internal/signature", "github.com/go-chi/chi"}},                                                                                                         // administration of recipients, used by two roles and the command line
	"internal/analysis/spreadsheet": {},                                                                                                                                                                                                                                                                     // escapes CSV text that a spreadsheet would execute as a formula
	"internal/analysis/inputlog":    {imports: []string{"acuity", "schemas", "internal/stream", "github.com/segmentio/kafka-go", "golang.org/x/time"}, goroutines: true},                                                                                                                                    // reads the log of observations with a different Kafka client
	"internal/analysis/tables":      {imports: []string{"acuity", "schemas", "internal/outbound", "internal/analysis/spreadsheet", "internal/stream", "github.com/parquet-go/parquet-go"}},                                                                                                                  // columns and formats
	"internal/analysis/archive":     {imports: []string{"schemas", "internal/analysis/inputlog", "internal/analysis/spreadsheet", "internal/analysis/tables", "internal/stream", "github.com/gofrs/flock", "github.com/parquet-go/parquet-go", "golang.org/x/sync", "golang.org/x/time"}, goroutines: true}, // svc export, svc import
	"internal/analysis/replay":      {imports: []string{"acuity", "schemas", "internal/analysis/inputlog", "internal/httpapi/rules", "internal/analysis/tables", "internal/stream", "golang.org/x/sync", "golang.org/x/time"}},                                                                              // svc replay
	"internal/analysis/verify":      {imports: []string{"acuity", "schemas", "processors/verdict", "internal/analysis/inputlog", "internal/analysis/replay", "internal/stream", "golang.org/x/sync", "golang.org/x/time"}, goroutines: true},                                                                // svc verify
	"internal/analysis/simulate":    {},                                                                                                                                                                                                                                                                     // simulates a realistic unit as requests to the ingest API
	"internal/analysis/backtest":    {imports: []string{"acuity", "acuity/forecast"}},                                                                                                                                                                                                                       // compares forecasts with what happened in the hours that followed
	"internal/analysis/trial":       {imports: []string{"acuity", "internal/analysis/inputlog", "internal/analysis/replay", "readapi/web/integrations"}, goroutines: true},                                                                                                                                  // tries a rule on recorded observations, for a page
	"internal/statefulset":          {imports: []string{"internal/authorities", "internal/cli", "internal/config", "github.com/spf13"}, goroutines: true},                                                                                                                                                   // the Kubernetes preStop hook
	"internal/archtest":             {},
	"internal/receiver":             {imports: []string{"internal/httpapi", "internal/outbound", "internal/signature"}}, // the endpoint of svc listen and svc dev
	"internal/cli":                  {imports: []string{"internal/authorities", "github.com/spf13", "ingest", "internal/admin/sheets", "internal/httpapi", "internal/outbound", "internal/receiver", "internal/signature", "internal/analysis/simulate", "internal/analysis/spreadsheet", "golang.org/x/sync", "golang.org/x/term", "github.com/schollz/progressbar"}, goroutines: true},
	"internal/devserver/pastalerts": {imports: []string{"internal/outbound", "notifier"}},                                                                                                                                                                                                                                                             // the alerts that would have been sent for the simulated history of the demo
	"internal/devserver":            {imports: []string{"internal/analysis/simulate", "internal/cli", "internal/httpapi", "internal/outbound", "internal/receiver", "internal/seal", "internal/signature", "internal/stream", "internal/view", "notifier/sms", "github.com/go-chi/chi", "github.com/gofrs/flock", "github.com/spf13"}},                // the parts of svc dev around the roles
	"internal/config":               {imports: []string{"internal/authorities", "schemas", "internal/admin/users", "internal/cli", "internal/httpapi", "internal/outbound", "internal/registry", "internal/seal", "internal/stream", "ingest/mllp", "notifier/egress", "notifier/sms", "notifier/webhook", "readapi/web/signin", "github.com/spf13"}}, // the options of a process
	"internal/kafkacli":             {imports: []string{"internal/admin/auditlog", "internal/admin/keys", "internal/admin/settings", "internal/cli", "internal/config", "internal/devserver", "internal/registry", "internal/stream", "schemas", "github.com/spf13", "golang.org/x/sync"}},                                                            // finds the Kafka that a command uses
	"internal/doctor":               {imports: []string{"internal/admin/settings", "internal/cli", "internal/config", "internal/kafkacli", "internal/registry", "internal/seal", "internal/stream", "internal/tracing", "internal/view", "schemas", "github.com/spf13"}},                                                                              // diagnoses the servers of an installation
	"internal/admin/commands":       {imports: []string{"internal/admin", "internal/analysis/spreadsheet", "internal/cli", "internal/config", "internal/httpapi", "internal/kafkacli", "internal/stream", "internal/view", "readapi/web/signin", "github.com/spf13"}},                                                                                 // keys, hospitals, links and secrets from the command line
	"internal/analysis/commands":    {imports: []string{"acuity", "schemas", "internal/admin/keys", "internal/admin/settings", "internal/analysis", "internal/cli", "internal/config", "internal/kafkacli", "internal/lifecycle", "internal/metrics", "internal/registry", "internal/stream", "internal/view", "github.com/spf13"}},
	"internal/tracing":              {imports: []string{"go.opentelemetry.io/otel"}},                                                       // the traces of a process; the only package that imports the OpenTelemetry SDK
	"internal/metrics":              {imports: []string{"internal/lifecycle", "internal/outbound", "github.com/prometheus/client_golang"}}, // the metrics of a process for Prometheus
	"internal/testkit/docpage":      {},                                                                                                    // parts of docs/ that are generated from code
	"internal/lifecycle":            {imports: []string{"golang.org/x/sync", "github.com/KimMachineGun/automemlimit"}, goroutines: true},   // loops, servers and health of one process
	"internal/openapi":              {imports: []string{"acuity", "internal/httpapi/access", "internal/httpapi", "internal/outbound", "github.com/go-chi/chi", "github.com/danielgtaylor/huma"}},
	"internal/testkit/loadgen":      {imports: []string{"acuity"}},
	"internal/e2e":                  {}, // only tests

	"notifier/webhook":               {imports: []string{"acuity", "internal/outbound", "internal/signature", "notifier/egress", "notifier/event", "notifier/outcome"}},
	"notifier/egress":                {}, // decides which addresses a hospital's endpoints may have; used by the sender and, through an interface, by ingest
	"internal/analysis/analysistest": {imports: []string{"acuity", "schemas", "processors/verdict", "internal/analysis", "internal/stream", "internal/testkit/loadgen", "golang.org/x/sync"}, goroutines: true},
	"notifier/sendertest":            {imports: []string{"internal/outbound", "notifier/outcome"}, goroutines: true},
	"notifier/egress/egresstest":     {imports: []string{"notifier/egress"}, goroutines: true},
	"internal/testkit/oidctest":      {},                                            // an identity provider for tests, which can also respond like an attacker
	"internal/testkit/runtimes":      {imports: []string{"github.com/gofrs/flock"}}, // runtimes of other languages for tests
	"internal/signature":             {imports: []string{"internal/outbound"}},      // signs outgoing requests; checks requests to svc's receivers and receipts of providers

	"internal/analysis/backtest/hours/hourstest": {imports: []string{"acuity", "internal/analysis/backtest/hours", "internal/analysis/simulate"}},
	"acuity/catalogue/cataloguetest":             {imports: []string{"=acuity/catalogue"}},
	"internal/testkit/certificate":               {},
	"acuity/hospital/hospitaltest":               {imports: []string{"=acuity", "=acuity/hospital", "=acuity/score"}, std: domainStd},
	"internal/outbound/sending":                  {imports: []string{"internal/outbound/subscriber"}}, // an attempt to send a message
	"internal/outbound/subscriber":               {},                                                  // the recipients of messages
	"internal/receiver/receivertest":             {imports: []string{"internal/outbound", "internal/signature"}},
	"internal/analysis/backtest/hours": {
		imports: []string{"acuity", "ingest", "internal/analysis/inputlog", "internal/analysis/replay", "internal/analysis/simulate"},
	},
	"cmd/svc": {
		imports: []string{
			"acuity", "schemas", "ingest", "processors", "readapi", "notifier", "internal",
			"github.com/go-chi/chi", "github.com/spf13",
			"golang.org/x/crypto/x509roots", // certificate authorities, for systems that have none
		},
		goroutines: true,
	},
}

// domainStd are the packages of the standard library that the domain may import. They exclude networking, disk
// access, logging and contexts.
var domainStd = []string{
	"bufio", "bytes", "cmp", "embed", "crypto/sha256", "encoding/base64", "encoding/binary", "encoding/hex", "errors", "fmt", "hash/fnv", "hash/maphash", "iter", "maps", "math", "math/big", "math/bits", "regexp",
	"slices", "sort", "strconv", "strings", "sync", "time", "unicode", "unicode/utf8",
}

// forecastStd are the packages of the standard library that the forecast needs.
var forecastStd = []string{"cmp", "errors", "fmt", "math", "math/bits", "slices", "sort", "strconv", "strings", "time"}

func TestImportRules(t *testing.T) {
	house := os.DirFS("../..")
	err := fs.WalkDir(house, ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if name := entry.Name(); name == "testdata" || name != "." && strings.HasPrefix(name, ".") {
				return fs.SkipDir
			}
			return nil
		}
		if path.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		source, err := fs.ReadFile(house, file)
		if err != nil {
			return err
		}
		for _, fault := range faults(file, source, plan) {
			t.Error(fault)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestRulesBite violates each rule once, and expects the violation to be reported.
func TestRulesBite(t *testing.T) {
	plan := map[string]folder{
		"acuity": {std: []string{"time"}},
		"ingest": {imports: []string{"acuity", "github.com/go-chi/chi"}},
		"score":  {imports: []string{"=acuity"}},
	}
	for name, tt := range map[string]struct{ file, source, want string }{
		"unknown folder":             {"helpers/a.go", `package a`, `helpers/a.go: no room "helpers" in the plan`},
		"role imports a role":        {"ingest/a.go", `package a; import "svc/readapi"`, "ingest/a.go: ingest may not import svc/readapi"},
		"foreign library":            {"ingest/a.go", `package a; import "github.com/redis/go-redis/v9"`, "ingest/a.go: ingest may not import github.com/redis/go-redis/v9"},
		"domain with a log":          {"acuity/a.go", `package a; import "log/slog"`, "acuity/a.go: acuity may not import log/slog"},
		"below a room that is alone": {"score/a.go", `package a; import "svc/acuity/hospital"`, "score/a.go: score may not import svc/acuity/hospital"},
		"goroutine":                  {"ingest/a.go", `package a; func f() { go f() }`, "ingest/a.go: ingest may not start a goroutine"},
		"name that only looks alike": {"ingest/a.go", `package a; import "svc/acuityx"`, "ingest/a.go: ingest may not import svc/acuityx"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := faults(tt.file, []byte(tt.source), plan); !slices.Equal(got, []string{tt.want}) {
				t.Errorf("faults = %q, want %q", got, tt.want)
			}
		})
	}
	if got := faults("ingest/a.go", []byte(`package a; import ("svc/acuity"; "github.com/go-chi/chi/v5"; "net/http")`), plan); len(got) > 0 {
		t.Errorf("allowed imports are refused: %q", got)
	}
}

// faults returns the violations of one file.
func faults(file string, source []byte, plan map[string]folder) []string {
	name := path.Dir(file)
	may, known := plan[name]
	if !known {
		return []string{file + ": no room " + strconv.Quote(name) + " in the plan"}
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), file, source, 0)
	if err != nil {
		return []string{err.Error()}
	}
	var found []string
	for _, spec := range parsed.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return []string{err.Error()}
		}
		std := !strings.Contains(imported, ".") && !strings.HasPrefix(imported, module)
		switch {
		case std && (may.std == nil || slices.Contains(may.std, imported)):
		case !std && below(strings.TrimPrefix(imported, module), may.imports):
		default:
			found = append(found, file+": "+name+" may not import "+imported)
		}
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		if _, ok := n.(*ast.GoStmt); ok && !may.goroutines {
			found = append(found, file+": "+name+" may not start a goroutine")
		}
		return true
	})
	return found
}

func below(name string, allowed []string) bool {
	return slices.ContainsFunc(allowed, func(one string) bool {
		if alone, ok := strings.CutPrefix(one, "="); ok {
			return name == alone
		}
		return name == one || strings.HasPrefix(name, one+"/")
	})
}
