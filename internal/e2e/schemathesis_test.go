package e2e

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"svc/acuity"
	"svc/internal/testkit/runtimes"
	"svc/processors/verdict"
	"svc/schemas"
)

// TestSchemathesis runs an API fuzzer on the document that svc serves. The fuzzer tries every operation with allowed
// and forbidden input, and with data from the responses of other operations. No operation is excluded, no check is
// disabled, and each operation must succeed at least once. CASES is the number of cases for each operation (`make
// contract`: 100).
func TestSchemathesis(t *testing.T) {
	onlyInE2E(t)
	t.Parallel()
	interpreter := runtimes.Python(t, "schemathesis==4.32.5")
	dir := t.TempDir()
	d := startDev(t, dir)
	key := cli(t, nil, "keys", "mint", "--data", dir, "--hospital", d.HospitalID, "--name", "contract", "--scopes", "all,admin", "--rate", "0")
	p := newPartner(d.BaseURL, d.HospitalID, key)
	p.honored(t)
	config, err := os.ReadFile("testdata/schemathesis.toml")
	if err != nil {
		t.Fatal(err)
	}
	text := string(config)
	ids, counts := furnished(t, d, p)
	for name, id := range ids {
		text = strings.ReplaceAll(text, "{{"+name+"}}", id)
	}
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if fault := os.WriteFile(path, []byte(content), 0o600); fault != nil {
			t.Fatal(fault)
		}
		return path
	}
	report := filepath.Join(dir, "report.json")
	cmd := exec.Command(interpreter, "-m", "schemathesis.cli", "--config-file", write("schemathesis.toml", text),
		"run", d.BaseURL+"/api/openapi.json", "--header", "Authorization: Bearer "+key, "--checks", "all",
		"--phases", "examples,coverage,fuzzing,stateful", "--mode", "all", "--max-examples", cmp.Or(os.Getenv("CASES"), "5"),
		"--continue-on-failure", "--seed", "1", "--report", "json", "--report-json-path", report)
	hooks, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	cmd.Dir = dir // the fuzzer stores its examples in this folder
	cmd.Env = append(os.Environ(), "SCHEMATHESIS_HOOKS=fuzzed", "PYTHONPATH="+hooks, "COUNTS="+filepath.Join(dir, "counts.json"))
	out, failed := cmd.CombinedOutput()
	if failed != nil {
		t.Errorf("%v\n%s", failed, out)
	}
	t.Log(summary(string(out)))
	counts["GET /api/openapi.json"]++ // the fuzzer gets the document with its first request
	raw, err := os.ReadFile(filepath.Join(dir, "counts.json"))
	if err != nil {
		t.Fatal(err)
	}
	into(t, raw, &counts)
	var never []string
	for path, methods := range p.described(t).Paths {
		for method := range methods {
			if name := strings.ToUpper(method) + " " + path; counts[name] == 0 {
				never = append(never, name)
			}
		}
	}
	if slices.Sort(never); len(never) > 0 {
		t.Errorf("never succeeded: %s", strings.Join(never, ", "))
	}
}

// summary returns the warnings and the summary from the fuzzer's output.
func summary(said string) string {
	for _, begin := range []string{" WARNINGS ", "Test cases:"} {
		if i := strings.LastIndex(said, begin); i >= 0 {
			return said[i:]
		}
	}
	return ""
}

// furnished creates one object of every type that operations read by id. It returns the ids, and the number of
// successes by operation.
func furnished(t *testing.T, d *dev, p *partner) (ids map[string]string, counts map[string]int) {
	t.Helper()
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(receiver.Close)
	counts = map[string]int{}
	do := func(method, path, body string) (data struct {
		ID, MappingID, CommandID, DeliveryID string
		Mappings                             []struct{ ID string }
		Items                                []struct{ ID string }
		Keys                                 []struct{ ID, Name string }
		Users                                []struct{ ID string }
	},
	) {
		t.Helper()
		a, err := p.do(method, path, "application/json", body)
		if err != nil || a.status != http.StatusOK {
			t.Fatalf("%s %s: %v %d %s", method, path, err, a.status, a.raw)
		}
		counts[method+" "+path]++
		into(t, a.Data, &data)
		return data
	}
	ids = map[string]string{"DEAD_LETTER": readableLetter(t, d, p)}
	do("PUT", "/api/admin/rules/high-mag", `{"values":{"floor":"1 until 90m, 1/2"}}`)
	do("POST", "/api/admin/terminology", `{"system":"local","code":"OB_HEM","factorId":"high-hemorrhage"}`)
	// The fuzzer rarely deletes a location, because it deletes only one that it has set itself.
	do("DELETE", "/api/admin/locations/"+do("POST", "/api/admin/locations", `{"pointOfCare":"ICU","outside":true}`).ID, "")
	counts["DELETE /api/admin/locations/{id}"]++
	// Sign in to the pages, so that the hospital has a user.
	link := (&ward{partner: p, args: []string{"--data", d.dir}}).link(t, "viewer")
	if a, err := p.do("POST", link, "application/x-www-form-urlencoded", "", "Sec-Fetch-Site", "same-origin"); err != nil || a.status >= http.StatusBadRequest {
		t.Fatalf("sign in: %v %d %s", err, a.status, a.raw)
	}
	// The fuzzer rarely withdraws an invitation, because it withdraws only one that it has created itself.
	do("DELETE", "/api/admin/users/invitations/"+do("POST", "/api/admin/users", `{"label":"night desk","role":"viewer"}`).ID, "")
	counts["DELETE /api/admin/users/invitations/{id}"]++
	ids["USER"] = do("GET", "/api/admin/users", "").Users[0].ID
	ids["MAPPING"] = do("GET", "/api/admin/terminology", "").Mappings[0].ID
	// A forecast needs a day and a half of events.
	var events []string
	for hours := 36; hours > 0; hours -= 6 {
		events = append(events, fmt.Sprintf(`{"eventType":"A01","visitId":"V%d","occurredAt":%q,"roomId":%d,"patientClass":"I"}`,
			hours, time.Now().Add(-time.Duration(hours)*time.Hour).Format(time.RFC3339), hours))
	}
	p.accepted(t, "batch", `{"events":[`+strings.Join(events, ",")+`]}`)
	// An alert needs a recipient and a unit that is not green.
	reader := ""
	for _, key := range do("GET", "/api/admin/keys", "").Keys {
		if key.Name == "contract" {
			reader = key.ID
		}
	}
	ids["WEBHOOK"] = do("POST", "/api/admin/webhooks", fmt.Sprintf(`{"url":%q,"readerKeyIds":[%q]}`, receiver.URL, reader)).ID
	recipient := do("POST", "/api/admin/alerts/recipients", `{"label":"House supervisor","email":"supervisor@hospital.example"}`).ID
	for _, tier := range []string{"T1", "T2", "T3"} {
		do("PUT", "/api/admin/alerts/tiers/"+tier, fmt.Sprintf(`{"recipients":[%q]}`, recipient))
	}
	p.accepted(t, "staffing", `{"nursesOnDuty":0}`)
	tried := do("POST", "/api/admin/webhooks/"+ids["WEBHOOK"]+"/test", "")
	ids["DELIVERY"] = tried.DeliveryID
	ids["COMMAND"] = do("POST", "/api/admin/webhooks/"+ids["WEBHOOK"]+"/replay", `{"since":"2026-03-01T14:00:00Z"}`).CommandID
	eventually(t, time.Minute, func() error {
		for _, path := range []string{"/api/v1/predict", "/api/admin/deliveries/" + ids["DELIVERY"], "/api/admin/commands/" + ids["COMMAND"]} {
			if a, err := p.do("GET", path, "", ""); err != nil || a.status != http.StatusOK {
				return fmt.Errorf("%s: %w %d %s", path, err, a.status, a.raw)
			}
		}
		episodes := do("GET", "/api/admin/alerts/episodes", "").Items
		if len(episodes) == 0 {
			return errors.New("nobody was called")
		}
		ids["EPISODE"] = episodes[0].ID
		caught, err := p.do("GET", "/dev/outbox.json", "", "")
		link := ackLink.FindString(string(caught.raw))
		if err != nil || link == "" {
			return fmt.Errorf("no link: %w", err)
		}
		ids["TOKEN"] = path.Base(link)
		return nil
	})
	// Send a valid receipt, because a fuzzer cannot sign one.
	const receipt = `{"id":"dlv_1","status":"delivered"}`
	if a, err := p.do("POST", "/api/public/sms/http?h=demo&d=dlv_1", "application/json", receipt, "X-Svc-Signature", sign("svc dev", []byte(receipt))); err != nil || a.status != http.StatusNoContent {
		t.Fatalf("receipt: %v %+v", err, a)
	}
	counts["POST /api/public/sms/http"]++
	do("POST", "/api/admin/alerts/test", fmt.Sprintf(`{"recipientId":%q,"channel":"email"}`, recipient))
	return ids, counts
}

// readableLetter writes a dead letter whose record is readable, as after an upgrade of svc, and returns its id.
func readableLetter(t *testing.T, d *dev, p *partner) string {
	t.Helper()
	p.accepted(t, "staffing", `{"nursesOnDuty":4}`)
	var record *kgo.Record
	readTopic(t, d.Kafka, schemas.Observations().Name, func(r *kgo.Record) {
		if strings.HasPrefix(string(r.Key), p.hospital) {
			record = r
		}
	})
	letter := schemas.DeadLetter{
		Topic: schemas.Observations().Name, Partition: record.Partition, Offset: record.Offset, Reason: "unknown_schema",
		Hospital: p.hospital, Version: 1, At: acuity.At(time.Now()),
	}
	value, err := schemas.DeadLetterCodec.Encode(nil, &letter)
	if err != nil {
		t.Fatal(err)
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(d.Kafka), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	r := &kgo.Record{
		Topic: schemas.DeadLetters().Name, Partition: record.Partition, Key: verdict.DeadLetterKey(p.hospital, letter.Version), Value: value,
	}
	if err := client.ProduceSync(t.Context(), r).FirstErr(); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%d:%d", record.Partition, record.Offset)
}
