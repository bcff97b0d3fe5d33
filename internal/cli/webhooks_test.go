package cli

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// asked is a server that records its requests and returns prepared answers.
type asked struct {
	*httptest.Server
	requests []string // method, path with query, If-Match, body
	answers  map[string]string
}

func newAsked(t *testing.T, answers map[string]string) *asked {
	t.Helper()
	a := &asked{answers: answers}
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		line := r.Method + " " + r.URL.String()
		if match := r.Header.Get("If-Match"); match != "" {
			line += " if " + match
		}
		if r.Header.Get("Authorization") != "Bearer svc_test" {
			t.Errorf("%s with the key %q", line, r.Header.Get("Authorization"))
		}
		data, known := a.answers[r.Method+" "+r.URL.Path]
		a.requests = append(a.requests, strings.TrimSpace(line+" "+string(body)))
		if !known {
			w.WriteHeader(http.StatusNotFound)
			io.WriteString(w, `{"ok":false,"error":{"code":"not_found","message":"There is nothing here."}}`) //nolint:errcheck // to a test
			return
		}
		io.WriteString(w, `{"ok":true,"data":`+data+`}`) //nolint:errcheck // the client under test reports a damaged response
	}))
	t.Cleanup(a.Close)
	return a
}

// received closes the server and returns its requests, one a line. A command that has given up may have left a request
// that the server still handles.
func (a *asked) received() string {
	a.Close()
	return strings.Join(a.requests, "\n")
}

// TestWebhookCommands checks the requests, the output and the exit code of each subcommand. If the command line is
// invalid, an error must explain why, and no request may be sent.
func TestWebhookCommands(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("a secret of the partner's own\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const hook = `{"id":"whk_1","url":"https://x.example","events":["ping"],"status":"active","waiting":0,"version":3,"secret":"whsec_new","warnings":[{"code":"name_unresolved","path":"url"}]}`
	const delivery = `{"id":"dlv_1","state":"delivered","attempts":[{"n":1,"class":"ok","status":204,"ms":7}]}`
	const refused = `{"id":"dlv_1","state":"rejected","attempts":[{"n":1,"class":"status","status":418,"ms":7}]}`
	answers := map[string]string{
		"PATCH /api/admin/webhooks/whk_7":          `{"id":"whk_7","warnings":[{"code":"unchanged"}]}`,
		"PATCH /api/admin/alerts/recipients/rcp_7": `{"id":"rcp_7","warnings":[{"code":"unchanged"}]}`,
		"GET /api/admin/webhooks":                  `{"webhooks":[` + hook + `]}`, "POST /api/admin/webhooks": hook, "GET /api/admin/webhooks/whk_1": hook,
		"PATCH /api/admin/webhooks/whk_1": hook, "DELETE /api/admin/webhooks/whk_1": hook, "POST /api/admin/webhooks/whk_1/rotate": hook,
		"POST /api/admin/webhooks/whk_1/test":       `{"commandId":"cmd_ok"}`,
		"POST /api/admin/webhooks/whk_2/test":       `{"commandId":"cmd_no"}`,
		"POST /api/admin/webhooks/whk_3/test":       `{"commandId":"cmd_slow"}`,
		"POST /api/admin/webhooks/whk_1/replay":     `{"commandId":"cmd_ok","count":4}`,
		"POST /api/admin/webhooks/whk_2/replay":     `{"commandId":"cmd_long","count":null,"dryRun":true}`,
		"POST /api/admin/deliveries/dlv_1/retry":    `{"commandId":"cmd_ok"}`,
		"GET /api/admin/commands/cmd_ok":            `{"verb":"test","done":true,"count":1,"delivered":1,"deliveryId":"dlv_1"}`,
		"GET /api/admin/commands/cmd_no":            `{"verb":"test","done":true,"count":1,"failed":1,"deliveryId":"dlv_2"}`,
		"GET /api/admin/commands/cmd_slow":          `{"verb":"test","done":false}`,
		"GET /api/admin/commands/cmd_long":          `{"commandId":"cmd_long","verb":"replay","done":false,"count":9,"delivered":3,"failed":1}`,
		"POST /api/admin/commands/cmd_long/stop":    `{"commandId":"cmd_long","verb":"replay","done":false,"count":9,"delivered":3,"failed":1}`,
		"GET /api/admin/deliveries":                 `{"items":[` + refused + `],"next":null}`,
		"GET /api/admin/deliveries/dlv_1":           delivery,
		"GET /api/admin/deliveries/dlv_2":           refused,
		"GET /api/admin/webhooks/whk_1/deliveries":  `{"items":[` + delivery + `],"next":null}`,
		"GET /api/admin/alerts/tiers":               `{"tiers":[{"id":"T2","enabled":true,"recipients":["rcp_1"],"channels":["sms"],"ackMinutes":10,"expireMinutes":30,"version":4}]}`,
		"PUT /api/admin/alerts/tiers/T2":            `{"id":"T2","version":5}`,
		"POST /api/admin/alerts/recipients":         `{"id":"rcp_2","version":1}`,
		"PATCH /api/admin/alerts/recipients/rcp_2":  `{"id":"rcp_2","version":2}`,
		"POST /api/admin/alerts/test":               `{"commandId":"cmd_no"}`,
		"POST /api/admin/alerts/episodes/epi_1/ack": `{"commandId":"cmd_ok","done":true}`,
		"POST /api/admin/alerts/episodes/epi_2/ack": `{"commandId":"cmd_ok","done":false}`,
		"DELETE /api/admin/alerts/recipients/rcp_2": `{"id":"rcp_2"}`,
	}
	for name, tt := range map[string]struct {
		args   []string
		code   int
		asks   string // expected requests, separated by line breaks
		stdout string // part of the output; if it begins with =, the whole output
		stderr string // part of the output
	}{
		"list":              {[]string{"webhooks", "list"}, 0, "GET /api/admin/webhooks", "whk_1", ""},
		"add":               {[]string{"webhooks", "add", "https://x.example", "--rooms", "4,1", "--rate", "20"}, 0, `POST /api/admin/webhooks {"ratePerSecond":20,"rooms":[4,1],"url":"https://x.example"}`, "=whsec_new", "warning: url name_unresolved"},
		"add, own secret":   {[]string{"webhooks", "add", "https://x.example", "--secret-file", secret}, 0, `POST /api/admin/webhooks {"secret":"a secret of the partner's own","url":"https://x.example"}`, "=whsec_new", "only time"},
		"add nothing":       {[]string{"webhooks", "add"}, 2, "", "", "URL: required"},
		"add of set":        {[]string{"webhooks", "add", "https://x.example", "--enabled", "false"}, 2, "", "", "--enabled: unknown flag"},
		"show":              {[]string{"webhooks", "show", "whk_1"}, 0, "GET /api/admin/webhooks/whk_1", "https://x.example", ""},
		"show of none":      {[]string{"webhooks", "show", "whk_9"}, 1, "GET /api/admin/webhooks/whk_9", "", "nothing here"},
		"set":               {[]string{"webhooks", "set", "whk_1", "--enabled", "false", "--rooms", "all", "--if-version", "3"}, 0, `PATCH /api/admin/webhooks/whk_1 if "3" {"enabled":false,"rooms":null}`, "whk_1", ""},
		"set nothing":       {[]string{"webhooks", "set", "whk_1", "--if-version", "3"}, 2, "", "", "webhooks set: nothing to change; give at least one of --url, --enabled, --events, "},
		"set to the same":   {[]string{"webhooks", "set", "whk_7", "--rate", "50"}, 0, `PATCH /api/admin/webhooks/whk_7 {"ratePerSecond":50}`, "whk_7", "nothing changed"},
		"tier, nothing":     {[]string{"alerts", "set-tier", "T2"}, 2, "", "", "alerts set-tier: nothing to change; give at least one of --enabled, "},
		"recipient, same":   {[]string{"alerts", "set", "rcp_7", "--language", "es"}, 0, `PATCH /api/admin/alerts/recipients/rcp_7 {"language":"es"}`, "rcp_7", "nothing changed"},
		"recipient, none":   {[]string{"alerts", "set", "rcp_7"}, 2, "", "", "alerts set: nothing to change; give at least one of --label, "},
		"remove":            {[]string{"webhooks", "remove", "whk_1"}, 0, "DELETE /api/admin/webhooks/whk_1", "=removed whk_1", ""},
		"rotate":            {[]string{"webhooks", "rotate", "whk_1", "--overlap", "7d"}, 0, `POST /api/admin/webhooks/whk_1/rotate {"overlapHours":168}`, "=whsec_new", "only time"},
		"rotate for ever":   {[]string{"webhooks", "rotate", "whk_1", "--overlap", "8d"}, 2, "", "", "--overlap: must be"},
		"test":              {[]string{"webhooks", "test", "whk_1"}, 0, "POST /api/admin/webhooks/whk_1/test {}\nGET /api/admin/commands/cmd_ok\nGET /api/admin/deliveries/dlv_1", "=dlv_1 delivered: ok 204 in 7 ms", ""},
		"test refused":      {[]string{"webhooks", "test", "whk_2"}, 1, "POST /api/admin/webhooks/whk_2/test {}\nGET /api/admin/commands/cmd_no\nGET /api/admin/deliveries/dlv_2", "", "not delivered: dlv_1 rejected: status 418"},
		"test without end":  {[]string{"webhooks", "test", "whk_3", "--wait", "1ms"}, 1, "*", "", "no outcome after 1ms"},
		"retry":             {[]string{"webhooks", "retry", "dlv_1"}, 0, "POST /api/admin/deliveries/dlv_1/retry {}\nGET /api/admin/commands/cmd_ok\nGET /api/admin/deliveries/dlv_1", "delivered", ""},
		"deliveries":        {[]string{"webhooks", "deliveries", "whk_1", "--state", "delivered", "--limit", "7"}, 0, "GET /api/admin/webhooks/whk_1/deliveries?limit=7&state=delivered", "ok 204", ""},
		"fewer than none":   {[]string{"webhooks", "deliveries", "--limit", "-1"}, 2, "", "", "--limit: must not be negative"},
		"replay":            {[]string{"webhooks", "replay", "whk_1", "--since", "2026-03-01T14:00:00Z", "--only", "all"}, 0, `POST /api/admin/webhooks/whk_1/replay {"only":"all","since":"2026-03-01T14:00:00Z"}`, "=cmd_ok", ""},
		"replay counted":    {[]string{"webhooks", "replay", "whk_1", "--since", "2026-03-01T14:00:00Z", "--dry-run"}, 0, `POST /api/admin/webhooks/whk_1/replay?dryRun=true {"since":"2026-03-01T14:00:00Z"}`, "=4", ""},
		"not yet counted":   {[]string{"webhooks", "replay", "whk_2", "--since", "2026-03-01T14:00:00Z", "--dry-run"}, 1, `POST /api/admin/webhooks/whk_2/replay?dryRun=true {"since":"2026-03-01T14:00:00Z"}`, "", "svc webhooks progress cmd_long"},
		"progress":          {[]string{"webhooks", "progress", "cmd_long"}, 0, "GET /api/admin/commands/cmd_long", "=cmd_long replay: in progress, 3 of 9 delivered, 1 failed", ""},
		"stop":              {[]string{"webhooks", "stop", "cmd_long"}, 0, "POST /api/admin/commands/cmd_long/stop", "=cmd_long replay: stopping, 3 of 9 delivered, 1 failed", ""},
		"stop what":         {[]string{"webhooks", "stop"}, 2, "", "", "COMMAND: required"},
		"sent to people":    {[]string{"alerts", "deliveries", "--channel", "sms", "--state", "rejected", "--limit", "5"}, 0, "GET /api/admin/deliveries?channel=sms&limit=5&state=rejected", "status 418", ""},
		"one of them":       {[]string{"alerts", "deliveries", "dlv_1"}, 0, "GET /api/admin/deliveries/dlv_1", "dlv_1 delivered", ""},
		"one again":         {[]string{"alerts", "retry", "dlv_1"}, 0, "POST /api/admin/deliveries/dlv_1/retry {}\nGET /api/admin/commands/cmd_ok\nGET /api/admin/deliveries/dlv_1", "=dlv_1 delivered: ok 204 in 7 ms", ""},
		"replay of when":    {[]string{"webhooks", "replay", "whk_1"}, 2, "", "", "--since: required"},
		"no verb":           {[]string{"webhooks", "fly"}, 2, "", "", `unknown command "fly"`},
		"two words":         {[]string{"webhooks", "show", "whk_1", "whk_2"}, 2, "", "", `unexpected argument "whk_2"`},
		"tiers":             {[]string{"alerts", "tiers"}, 0, "GET /api/admin/alerts/tiers", "10 min", ""},
		"tier keeps":        {[]string{"alerts", "set-tier", "T2", "--ack", "7"}, 0, "GET /api/admin/alerts/tiers\n" + `PUT /api/admin/alerts/tiers/T2 if "4" {"ackMinutes":7,"action":"","channels":["sms"],"enabled":true,"escalateTo":null,"expireMinutes":30,"recipients":["rcp_1"],"repeatMinutes":0}`, "T2", ""},
		"no such tier":      {[]string{"alerts", "set-tier", "T4", "--ack", "7"}, 2, "GET /api/admin/alerts/tiers", "", `unknown tier "T4"`},
		"recipient":         {[]string{"alerts", "add", "--label", "Charge nurse", "--phone", "+15555550100"}, 0, `POST /api/admin/alerts/recipients {"label":"Charge nurse","phone":"+15555550100"}`, "=rcp_2", ""},
		"in Spanish":        {[]string{"alerts", "set", "rcp_2", "--language", "es"}, 0, `PATCH /api/admin/alerts/recipients/rcp_2 {"language":"es"}`, "rcp_2", ""},
		"address away":      {[]string{"alerts", "set", "rcp_2", "--email", "", "--webhook", "whk_1"}, 0, `PATCH /api/admin/alerts/recipients/rcp_2 {"email":null,"webhookId":"whk_1"}`, "rcp_2", ""},
		"recipient removed": {[]string{"alerts", "remove", "rcp_2"}, 0, "DELETE /api/admin/alerts/recipients/rcp_2", "=removed rcp_2", ""},
		"alert test":        {[]string{"alerts", "test", "rcp_2", "--channel", "sms"}, 1, `POST /api/admin/alerts/test {"channel":"sms","recipientId":"rcp_2"}` + "\nGET /api/admin/commands/cmd_no\nGET /api/admin/deliveries/dlv_2", "", "not delivered"},
		"alert test by":     {[]string{"alerts", "test", "rcp_2"}, 2, "", "", "--channel: required"},
		"ack":               {[]string{"alerts", "ack", "epi_1", "--by", "House supervisor"}, 0, `POST /api/admin/alerts/episodes/epi_1/ack {"by":"House supervisor"}`, "=acknowledged epi_1", ""},
		"ack, kept":         {[]string{"alerts", "ack", "epi_2"}, 1, `POST /api/admin/alerts/episodes/epi_2/ack {}`, "", "was accepted but not processed yet"},
	} {
		t.Run(name, func(t *testing.T) {
			server := newAsked(t, answers)
			code, stdout, stderr := say(t, append(tt.args, "--api", server.URL, "--key", "svc_test")...)
			if code != tt.code || !strings.Contains(stderr, tt.stderr) {
				t.Errorf("code %d, says %q and %q; want %d and %q", code, stdout, stderr, tt.code, tt.stderr)
			}
			if whole, all := strings.CutPrefix(tt.stdout, "="); all && stdout != whole+"\n" || !all && !strings.Contains(stdout, tt.stdout) {
				t.Errorf("prints %q, want %q", stdout, tt.stdout)
			}
			if got := server.received(); got != tt.asks && tt.asks != "*" {
				t.Errorf("asks\n%s\nwant\n%s", got, tt.asks)
			}
		})
	}
}

// TestEveryVerbPrintsJSON: --json prints the data of the response, including fields that svc does not know.
func TestEveryVerbPrintsJSON(t *testing.T) {
	server := newAsked(t, map[string]string{"GET /api/admin/webhooks": `{"webhooks":[{"id":"whk_1","unknown":1}]}`})
	code, stdout, _ := say(t, "webhooks", "list", "--json", "--api", server.URL, "--key", "svc_test")
	var got struct{ Items []map[string]any }
	if err := json.Unmarshal([]byte(stdout), &got); err != nil || code != 0 || got.Items[0]["unknown"] != 1.0 {
		t.Errorf("code %d, %q, %v", code, stdout, err)
	}
}

// TestKeyOfDevGoesNowhereElse: the key of the running svc dev is sent only to that svc dev.
func TestKeyOfDevGoesNowhereElse(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(DevFilePath(dir), []byte(`{"baseUrl":"http://127.0.0.1:1","adminKey":"svc_dev","apiKey":"svc_dev"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	server := newAsked(t, nil)
	code, _, stderr := say(t, "webhooks", "list", "--data", dir, "--api", server.URL)
	if asked := server.received(); code != 2 || !strings.Contains(stderr, "--key: required") || asked != "" {
		t.Errorf("code %d, %q, asked %q", code, stderr, asked)
	}
}

// TestProgressOutlastsAnOutage: svc webhooks test continues to wait if the API has accepted the command, but
// temporarily cannot report its progress.
func TestProgressOutlastsAnOutage(t *testing.T) {
	asked := 0
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodPost:
			io.WriteString(w, `{"ok":true,"data":{"commandId":"cmd_1"}}`) //nolint:errcheck // to a test
		case strings.Contains(r.URL.Path, "/deliveries/"):
			io.WriteString(w, `{"ok":true,"data":{"id":"dlv_1","state":"delivered","attempts":[]}}`) //nolint:errcheck // to a test
		case asked < 2:
			asked++
			w.WriteHeader(http.StatusServiceUnavailable)
			io.WriteString(w, `{"ok":false,"error":{"code":"internal","message":"It is safe to send the request again."}}`) //nolint:errcheck // to a test
		default:
			io.WriteString(w, `{"ok":true,"data":{"commandId":"cmd_1","verb":"test","done":true,"delivered":1,"count":1,"deliveryId":"dlv_1"}}`) //nolint:errcheck // to a test
		}
	}))
	defer api.Close()
	code, out, faults := say(t, "webhooks", "test", "whk_1", "--api", api.URL, "--key", "svc_test")
	if code != 0 || asked != 2 || !strings.Contains(out, "dlv_1 delivered") {
		t.Errorf("code %d after %d outages: %s%s", code, asked, out, faults)
	}
}
