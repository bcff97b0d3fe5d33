package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"svc/acuity"
	"svc/internal/analysis/tables"
	"svc/internal/testkit/loadgen"
	"svc/schemas"
)

// TestDevImport imports an export into an empty system while its processor runs. The import is slower than the
// processor. svc verify must find no difference between the verdicts and a replay of the log at the same instants.

func TestDevImport(t *testing.T) {
	onlyInE2E(t)
	t.Parallel()
	d := startDev(t, t.TempDir(), "--ephemeral")
	importPast(t, []string{"--data", d.dir}, nil)
}

func TestImportOnServers(t *testing.T) {
	needServers(t)
	t.Parallel()
	s := startSystem(t)
	s.processor("p1")
	importPast(t, nil, s.env)
}

func importPast(t *testing.T, args, env []string) {
	const n, hospitals = 600, 3
	svc := func(command ...string) string { return cli(t, env, append(command, args...)...) }
	svc("import", pastExport(t, n, hospitals), "--rate", "150")
	eventually(t, 2*time.Minute, func() error { // retried, because a late view catches up, while a real difference persists
		cmd := exec.Command(binary(t), append([]string{"verify"}, args...)...)
		cmd.Env = append(os.Environ(), env...)
		said, err := cmd.CombinedOutput()
		out, inputs := string(said), 0
		for line := range strings.Lines(out) {
			var hospital string
			var more int
			if n, _ := fmt.Sscanf(line, "ok %s %d inputs", &hospital, &more); n == 2 { //nolint:errcheck // other lines do not match
				inputs += more
			}
		}
		if err != nil {
			return fmt.Errorf("svc verify: %w\n%s", err, out)
		}
		if inputs != n {
			return fmt.Errorf("%d inputs: %s", inputs, out)
		}
		return nil
	})
	rows := func(command ...string) (rows []tables.VerdictRow) {
		for line := range strings.Lines(svc(command...)) {
			var row tables.VerdictRow
			if err := json.Unmarshal([]byte(line), &row); err != nil {
				t.Fatal(err, line)
			}
			rows = append(rows, row)
		}
		return rows
	}
	for i := range hospitals {
		hospital := fmt.Sprintf("h%03d", i)
		made := rows("replay", "--hospital", hospital)
		recorded := rows("export", "--topic", "verdicts", "--hospital", hospital, "--format", "ndjson", "--out", "-")
		if len(made) < n/hospitals || len(recorded) < len(made) {
			t.Fatalf("%s: %d changes are recorded, the log makes %d", hospital, len(recorded), len(made))
		}
		timed := 0
		for i, want := range made {
			got := recorded[i]
			if got.Version != want.Version || got.Cause != want.Cause || got.AppliedAt != want.AppliedAt || got.Level != want.Level || len(got.Effects) != len(want.Effects) {
				t.Fatalf("%s: recorded %+v\nthe log makes %+v", hospital, got, want)
			}
			if want.Cause == "time" {
				timed++
			}
		}
		if timed < 20 {
			t.Errorf("%s: %d changes by time: too few to tell", hospital, timed)
		}
	}
}

// pastExport returns an export of n observations from a month ago, one every few minutes, that belong to several
// hospitals.
func pastExport(t *testing.T, n, hospitals int) (dir string) {
	t.Helper()
	d := startDev(t, t.TempDir(), "--ephemeral")
	client, err := kgo.NewClient(kgo.SeedBrokers(d.Kafka), kgo.AlwaysRetryEOF(), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	feeds := loadgen.New(hospitals, 8, acuity.At(time.Now().Add(-30*24*time.Hour)), 5*time.Minute)
	var records []*kgo.Record
	for range n {
		o := feeds.Next()
		value, err := schemas.EncodeObservation(nil, o)
		if err != nil {
			t.Fatal(err)
		}
		key := []byte(schemas.ObservationKey(o).String())
		records = append(records, &kgo.Record{Topic: schemas.Observations().Name, Partition: schemas.Partition(key, 3), Key: key, Value: value, Timestamp: o.ReceivedAt.Time()})
	}
	if err := client.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	cli(t, nil, "export", "--topic", "observations", "--data", d.dir, "--out", dir)
	return dir
}
