package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestSend sends files to a svc dev, over both protocols.
func TestSend(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := startDev(t, dir)
	var many strings.Builder
	for n := range 200 {
		many.WriteString(arrival(n, time.Now()))
	}
	write := func(name, content string) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := write("good.hl7", many.String())
	mixed := write("mixed.hl7", "FHS|^~\\&\rBHS|^~\\&\r"+arrival(1, time.Now())+
		strings.Replace(arrival(2, time.Now()), "ADT^A01^ADT_A01", "ORU^R01", 1)+arrival(3, time.Now())+"BTS|3\rFTS|1\r")
	for name, tt := range map[string]struct {
		args  []string
		stdin string
		code  int
		codes map[string]int
	}{
		"over MLLP":               {[]string{good, "--to", "mllp://" + d.MLLP, "--connections", "8"}, "", 0, map[string]int{"AA": 200}},
		"over HTTP":               {[]string{"--to", d.BaseURL, "--key", d.APIKey, good, "--connections", "8"}, "", 0, map[string]int{"AA": 200}},
		"to the running dev":      {[]string{"--data", dir, "-"}, arrival(1, time.Now()), 0, map[string]int{"AA": 1}},
		"one is refused":          {[]string{mixed, "--to", "mllp://" + d.MLLP}, "", 1, map[string]int{"AA": 2, "AR": 1}},
		"from the third":          {[]string{mixed, mixed, "--to", "mllp://" + d.MLLP, "--from", "3"}, "", 1, map[string]int{"AA": 3, "AR": 1}},
		"at a pace":               {[]string{mixed, "--to", d.BaseURL, "--key", d.APIKey, "--rate", "20"}, "", 1, map[string]int{"AA": 2, "AR": 1}},
		"a key that is wrong":     {[]string{good, "--to", d.BaseURL, "--key", "svc_0"}, "", 1, map[string]int{}},
		"nobody there":            {[]string{good, "--to", "mllp://127.0.0.1:1", "--retry-for", "100ms"}, "", 1, map[string]int{}},
		"the file does not exist": {[]string{"/none", "--to", "mllp://" + d.MLLP}, "", 1, map[string]int{}},
		"FHIR over MLLP":          {[]string{"-", "--to", "mllp://" + d.MLLP}, `{"resourceType":"Bundle"}`, 1, map[string]int{}},
		"no answer asked":         {[]string{"-", "--to", "mllp://" + d.MLLP}, strings.Replace(arrival(9, time.Now()), "|2.5.1\r", "|2.5.1|||NE|NE\r", 1), 0, map[string]int{"no acknowledgment was requested": 1}},
		"another kind of file":    {[]string{"-", "--to", "mllp://" + d.MLLP}, "<xml/>", 1, map[string]int{}},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(binary(t), append([]string{"send", "--json"}, tt.args...)...)
			var stdout, stderr bytes.Buffer
			cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(tt.stdin), &stdout, &stderr
			cmd.Run() //nolint:errcheck // the exit code is checked below
			var got struct {
				Sent  int
				Codes map[string]int
				P99Ms float64
			}
			if err := json.Unmarshal(stdout.Bytes(), &got); err != nil {
				t.Fatalf("%v in %q %s", err, &stdout, &stderr)
			}
			if fmt.Sprint(got.Codes) != fmt.Sprint(tt.codes) || cmd.ProcessState.ExitCode() != tt.code || (tt.code == 1) != strings.Contains(stderr.String(), "svc send: ") {
				t.Errorf("code %d, %+v, says %s", cmd.ProcessState.ExitCode(), got, &stderr)
			}
		})
	}
}

// TestSendGoesOn: svc send stops if the server is unavailable, and the next run resumes where it stopped.
func TestSendGoesOn(t *testing.T) {
	onlyInE2E(t)
	t.Parallel()
	dir := t.TempDir()
	d := startDev(t, dir)
	var many strings.Builder
	for n := range 60 {
		many.WriteString(arrival(n, time.Now()))
	}
	file := filepath.Join(t.TempDir(), "many.hl7")
	if err := os.WriteFile(file, []byte(many.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary(t), "send", file, "--to", "mllp://"+d.MLLP, "--rate", "30", "--retry-for", "200ms")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := newPartner(d.BaseURL, d.HospitalID, d.APIKey)
	eventually(t, 30*time.Second, func() error { // until the file is partly sent; the exact position does not matter
		if !p.feedsStatus(t).UnitState.Recorded {
			return errors.New("nothing has come")
		}
		return nil
	})
	d.kill()
	cmd.Wait()
	_, from, found := strings.Cut(out.String(), "continue with --from ")
	from = strings.TrimSpace(from)
	if cmd.ProcessState.ExitCode() != 1 || !found {
		t.Fatalf("%v: %s", cmd.ProcessState, &out)
	}
	d = restartDev(t, dir, d.BaseURL[len("http://"):])
	if said := cli(t, nil, "send", file, "--data", dir, "--from", from); !strings.Contains(said, "AA ") {
		t.Errorf("says %s", said)
	}
	visits := map[string]bool{}
	for _, o := range readLog(t, d.Kafka, "").observations {
		visits[o.Events[0].Visit] = true
	}
	if len(visits) != 60 {
		t.Errorf("%d visits, went on from %s", len(visits), from)
	}
}
