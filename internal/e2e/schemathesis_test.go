package e2e

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"svc/acuity"
	"svc/processors/verdict"
	"svc/schemas"
)

// TestSchemathesis has a fuzzer of APIs read the document that svc serves and try
// every operation with what the document allows, with what it does not, and with
// answers of one operation in the requests of another. Nothing is left out, no
// check is switched off, and each operation must have succeeded at least once.
// CASES is how many cases each operation gets (`make contract`: 100).
func TestSchemathesis(t *testing.T) {
	if os.Getenv("SVC_E2E") == "" && os.Getenv("CASES") == "" {
		t.Skip("needs Python's package registry: make contract, make e2e")
	}
	interpreter := python(t, "schemathesis==4.32.5")
	dir := t.TempDir()
	d := startDev(t, dir)
	key := cli(t, nil, "keys", "mint", "-data", dir, "-hospital", d.HospitalID, "-name", "contract", "-scopes", "all,admin", "-rate", "0")
	p := newPartner(d.BaseURL, d.HospitalID, key)
	eventually(t, 2*time.Second, func() error {
		if a, err := p.do("GET", "/api/admin/keys", "", ""); err != nil || a.status != 200 {
			return fmt.Errorf("the key is not honored yet: %w", err)
		}
		return nil
	})
	config, err := os.ReadFile("testdata/schemathesis.toml")
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]string{"DEAD_LETTER": readableLetter(t, d, p)}
	text := string(config)
	for name, id := range ids {
		text = strings.ReplaceAll(text, "{{"+name+"}}", id)
	}
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	report := filepath.Join(dir, "report.json")
	cmd := exec.Command(interpreter, "-m", "schemathesis.cli", "--config-file", write("schemathesis.toml", text),
		"run", d.BaseURL+"/api/openapi.json", "--header", "Authorization: Bearer "+key, "--checks", "all",
		"--phases", "examples,coverage,fuzzing,stateful", "--mode", "all", "--max-examples", cmp.Or(os.Getenv("CASES"), "5"),
		"--continue-on-failure", "--seed", "1", "--report", "json", "--report-json-path", report)
	cmd.Env = append(os.Environ(), "SCHEMATHESIS_HOOKS=fuzzed", "PYTHONPATH=testdata", "COUNTS="+filepath.Join(dir, "counts.json"))
	out, failed := cmd.CombinedOutput()
	if failed != nil {
		t.Errorf("%v\n%s", failed, out)
	}
	t.Log(summary(string(out)))
	counts := map[string]int{}
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

// summary is the end of what the fuzzer says.
func summary(said string) string {
	if i := strings.LastIndex(said, "Test cases:"); i >= 0 {
		return said[i:]
	}
	return ""
}

// readableLetter writes a dead letter of a record that can be read, as one is after
// an update of svc, and returns its id.
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
	value, err := schemas.EncodeDeadLetter(nil, &letter)
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
