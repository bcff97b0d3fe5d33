package commands

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"svc/internal/admin/commands"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/score"
	"svc/ingest"
	"svc/internal/analysis/backtest/hours"
	"svc/internal/analysis/simulate"
	"svc/internal/cli"
	"svc/internal/config"
	"svc/internal/stream"
	"svc/schemas"
)

// say runs a command with an empty environment and returns its output.
func say(ctx context.Context, args ...string) (code int, stdout, stderr string) {
	var out, faults bytes.Buffer
	w := cli.Env{LookupEnv: func(string) (string, bool) { return "", false }, Stdout: &out, Stderr: &faults, Now: time.Now}
	root := cli.Root("svc", "", "")
	root.AddCommand(BacktestCommand(w), ReplayCommand(w), ExportCommand(w), ImportCommand(w), VerifyCommand(w, ""), commands.HospitalsCommand(w))
	code = cli.Run(ctx, root, args, w)
	return code, out.String(), faults.String()
}

// TestReplayIntoNoFile: a replay of one hospital refuses to replace a folder or a device.
func TestReplayIntoNoFile(t *testing.T) {
	code, _, stderr := say(t.Context(), "replay", "--hospital", "north", "--out", t.TempDir(), "--kafka", "127.0.0.1:1")
	if code != 2 || !strings.Contains(stderr, "is not a file; for one hospital, name a file, or - for standard output") {
		t.Errorf("code %d, %s", code, stderr)
	}
}

// TestReplayRulesFaults: each error in a file of rules names the option.
func TestReplayRulesFaults(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rules.csv")
	if err := os.WriteFile(file, []byte("factorId,line,text\nno-such,floor,1\nnor-this,floor,1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, stderr := say(t.Context(), "replay", "--hospital", "north", "--rules", file, "--kafka", "127.0.0.1:1")
	if code != 2 || strings.Count(stderr, "svc replay: --rules: factor ") != 2 {
		t.Errorf("code %d, %s", code, stderr)
	}
}

// TestBacktestSources: a backtest produces the same report from a file with the feeds, from the log of observations,
// and from the recorded hours.
func TestBacktestSources(t *testing.T) {
	dir := t.TempDir()
	zone, err := time.LoadLocation("America/Chicago")
	if err != nil {
		t.Fatal(err)
	}
	requests, err := simulate.Requests(simulate.Options{Seed: 5, Profile: "small", Start: time.Date(2026, 1, 5, 0, 0, 0, 0, zone), For: 12 * 24 * time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	broker, err := stream.Embed(stream.BrokerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer broker.Close()
	cluster, err := stream.Dial(t.Context(), stream.Options{Brokers: []string{broker.Addr()}, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	if err = cluster.Ensure(t.Context(), (&config.Config{TopicPrefix: "p-", Partitions: 2}).Topics(schemas.Observations(), schemas.Snapshots())...); err != nil {
		t.Fatal(err)
	}
	put := func(topic schemas.Topic, value []byte, unfit error) {
		t.Helper()
		if unfit != nil {
			t.Fatal(unfit)
		}
		if _, lost := cluster.Publisher("p-"+topic.Name).Append(t.Context(), []byte("north"), value, schemas.Partition([]byte("north"), 2)); lost != nil {
			t.Fatal(lost)
		}
	}
	var lines []byte
	pseudonyms := ingest.NewPseudonyms([]byte("0123456789abcdef0123456789abcdef"))
	for r := range requests {
		lines = simulate.AppendLine(lines, r)
		o := &acuity.Observation{Hospital: "north", ReceivedAt: acuity.At(r.At), Channel: acuity.Channel(path.Base(r.Path))}
		if _, err = ingest.Decode(o, r.Body, zone, pseudonyms); err != nil {
			t.Fatal(err)
		}
		value, unfit := schemas.EncodeObservation(nil, o)
		put(schemas.Observations(), value, unfit)
	}
	list, err := hours.Ordered(hours.FromRequests(hours.Lines(bytes.NewReader(lines)), "north", zone))
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range list {
		value, unfit := schemas.SnapshotCodec.Encode(nil, &schemas.Snapshot{Hospital: "north", Snapshot: *s})
		put(schemas.Snapshots(), value, unfit)
		if i == 30 { // a record of a different hospital in the same partition
			value, unfit = schemas.SnapshotCodec.Encode(nil, &schemas.Snapshot{Hospital: "south", Snapshot: acuity.Snapshot{Hour: s.Hour + 1, Observed: true, Moves: 90}})
			put(schemas.Snapshots(), value, unfit)
		}
	}
	kafka := []string{"--kafka", broker.Addr(), "--topic-prefix", "p-"}
	if code, _, stderr := say(t.Context(), append([]string{"hospitals", "create", "--id", "north", "--name", "North", "--timezone", "America/Chicago"}, kafka...)...); code != 0 {
		t.Fatal(stderr)
	}
	file := filepath.Join(dir, "feeds.ndjson")
	if err := os.WriteFile(file, lines, 0o600); err != nil {
		t.Fatal(err)
	}
	var first string
	for _, source := range []string{file, fromObservations, fromSnapshots} {
		out := filepath.Join(dir, path.Base(source)+"-report")
		code, stdout, stderr := say(t.Context(), append([]string{"backtest", "--hospital", "north", "--source", source, "--warmup", "7d", "--out", out}, kafka...)...)
		if code != 0 || !strings.Contains(stdout, "pathway-v1") || !strings.Contains(stdout, "holt-winters") {
			t.Fatalf("%s: code %d, says %q, %q", source, code, stdout, stderr)
		}
		for _, name := range []string{"report.json", "report.csv", "report.html"} {
			if info, err := os.Stat(filepath.Join(out, name)); err != nil || info.Size() < 1000 {
				t.Errorf("%s: %s: %v", source, name, err)
			}
		}
		report, err := os.ReadFile(filepath.Join(out, "report.json"))
		if err != nil {
			t.Fatal(err)
		}
		if first == "" {
			first = string(report)
		}
		if string(report) != first {
			t.Errorf("%s: another report than that of the feeds", source)
		}
	}
	// The compared model makes perfect forecasts.
	oracle := filepath.Join(dir, "oracle.csv")
	rows := "at,hours_ahead,nurses\n"
	for _, s := range list {
		numbers := score.SumSnapshot(s)
		rows += fmt.Sprintf("%s,1,%f\n", time.Unix(int64(s.Hour-1)*3600, 0).UTC().Format(time.RFC3339), float64(numbers.Required)/float64(catalogue.Nurse))
	}
	if err := os.WriteFile(oracle, []byte(rows), 0o600); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := say(t.Context(), "backtest", "--source", file, "--hospital", "north", "--warmup", "7d", "--compare", oracle, "--out", dir)
	if code != 0 || !strings.Contains(stdout, " forecasts by both") || !regexp.MustCompile(`oracle +0.00 +0.00 `).MatchString(stdout) {
		t.Errorf("code %d, says %q, %q", code, stdout, stderr)
	}
	if code, _, stderr := say(t.Context(), append([]string{"backtest", "--hospital", "west", "--out", dir}, kafka...)...); code != 1 || !strings.Contains(stderr, `unknown hospital "west"`) {
		t.Errorf("code %d, says %q", code, stderr)
	}
	// The compared period is too short for the gate.
	if code, _, stderr := say(t.Context(), "backtest", "--source", file, "--gate", "--warmup", "24h", "--to", "2026-01-08", "--model", "persistence", "--out", dir); code != 1 || !strings.Contains(stderr, "forecast quality is below the limits") {
		t.Errorf("code %d, says %q", code, stderr)
	}
}

// TestBacktestFaults: all errors in the command line are reported together.
func TestBacktestFaults(t *testing.T) {
	nowhere := filepath.Join(t.TempDir(), "none")
	code, stdout, stderr := say(t.Context(), "backtest", "--data", nowhere, "--from", "monday", "--to", "x", "--model", "oracle", "--warmup", "long", "--timezone", "Mars/Base")
	if code != 2 || stdout != "" {
		t.Errorf("code %d, says %q", code, stdout)
	}
	for _, want := range []string{"--out", "--hospital", "--from", "--to", `"oracle"`, "--warmup", "--timezone", "--kafka"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("nothing about %s in %q", want, stderr)
		}
	}
	if code, _, stderr := say(t.Context(), "backtest", "--source", nowhere, "--out", nowhere); code != 1 || !strings.Contains(stderr, "no such file") {
		t.Errorf("code %d, says %q", code, stderr)
	}
}

// TestBacktestForeignFaults: the error for an invalid forecast file names the file and, if there is one, the invalid
// line.
func TestBacktestForeignFaults(t *testing.T) {
	dir := t.TempDir()
	mine := filepath.Join(dir, "mine.csv")
	for _, tt := range [][2]string{
		{"", "mine.csv: no such file"}, {"at,hours_ahead,nurses\n2026-01-05T07:00:00Z,9,2\n", "mine.csv: line 2: hours_ahead: must be 1 to 8"},
	} {
		content, want := tt[0], tt[1]
		if content != "" {
			if err := os.WriteFile(mine, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if code, _, stderr := say(t.Context(), "backtest", "--source", filepath.Join(dir, "none"), "--compare", mine, "--out", dir); code != 1 || !strings.Contains(stderr, want) {
			t.Errorf("code %d, says %q, want %q", code, stderr, want)
		}
	}
}

// TestBacktestStops: the command ends when its context is canceled, even while it waits for standard input.
func TestBacktestStops(t *testing.T) {
	in, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	was := os.Stdin
	os.Stdin = in
	defer func() {
		os.Stdin = was
		writer.Close()
	}()
	ctx, stop := context.WithCancel(t.Context())
	stop()
	code, _, stderr := say(ctx, "backtest", "--source", "-", "--out", t.TempDir())
	if code != 1 || !strings.Contains(stderr, "context canceled") {
		t.Errorf("code %d, says %q", code, stderr)
	}
}
