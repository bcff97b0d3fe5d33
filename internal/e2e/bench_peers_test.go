package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// BenchmarkPeers compares svc with Kafka Streams on the same broker. Kafka Streams does a simple part of the work of
// svc, with the same guarantees. Each of the three rounds runs svc and Kafka Streams one after the other, so that
// both have the same share of a busy machine; the ratios compare the medians.
//
// SVC_PEERS names a folder with the peers: streams is a Maven project, which kstreams runs, and gopeers is a Go
// program that fills topics and measures. PEERS_RECORDS (500,000) is the number of records to catch up with.
//
// An x-streams figure is svc's result divided by that of Kafka Streams. x-streams-first counts all records.
// x-streams-warm excludes the first 40% of the records of Kafka Streams, which are its warm-up.
func BenchmarkPeers(b *testing.B) {
	if why := peersMissing(); why != "" {
		fmt.Println("Peers: not run,", why) // go test does not print why a benchmark is skipped
		b.Skip(why)
	}
	records, _ := howOften(b, "PEERS_RECORDS", 500_000)
	const partitions, hospitals, rooms, rounds = 24, 300, 20, 3
	p := buildPeers(b, records)
	warmUp(b, partitions, hospitals, rooms)
	served := startSystem(b, "north", "south", "east", "west", "center", "lake")
	processor := served.processor("sender")
	defer processor.stop()
	bare, stop := served.rawLoop(b)
	defer stop()
	for b.Loop() {
		figures := map[string][]float64{}
		add := func(name string, value float64) { figures[name] = append(figures[name], value) }
		for range rounds {
			s := bench(b, partitions)
			s.fill(b, partitions, records, hospitals, rooms, 12*time.Hour/time.Duration(records))
			n, private := s.measured("measured")
			rate, _ := n.rate(b, private, records)
			add("records/s", rate)
			add("peak-MiB", n.status(b, "VmHWM"))
			n.stop()
			warm, first, peak := p.drain(b)
			add("streams-warm-records/s", warm)
			add("streams-first-records/s", first)
			add("streams-peak-MiB", peak)

			const lasting = 25 * time.Second
			took := openLoop(b, 500, lasting, sends(served.partners))
			add("p50-ms", percentile(took, 50))
			add("p99-ms", percentile(took, 99))
			add("raw-p50-ms", percentile(openLoop(b, 500, lasting, bare), 50))
			p50, p99 := p.latency(b, lasting)
			add("streams-p50-ms", p50)
			add("streams-p99-ms", p99)
		}
		for name, values := range figures {
			b.ReportMetric(median(values), name)
		}
		for name, of := range map[string][2]string{
			"x-streams-warm": {"records/s", "streams-warm-records/s"}, "x-streams-first": {"records/s", "streams-first-records/s"},
			"x-streams-peak": {"peak-MiB", "streams-peak-MiB"},
			"x-streams-p50":  {"p50-ms", "streams-p50-ms"}, "x-streams-p99": {"p99-ms", "streams-p99-ms"},
			"x-raw-p50": {"p50-ms", "raw-p50-ms"},
		} {
			b.ReportMetric(median(figures[of[0]])/median(figures[of[1]]), name)
		}
		machineLoad(b)
	}
}

// peersMissing returns what BenchmarkPeers needs but does not have, or "".
func peersMissing() string {
	dir := os.Getenv("SVC_PEERS")
	switch {
	case real.kafka == nil:
		return "it needs a real Kafka and Redis: SVC_E2E=1"
	case real.kafka.container == nil:
		return "it measures a Kafka that it has started: unset E2E_KAFKA"
	case dir == "":
		return "SVC_PEERS does not name the folder of the peers"
	}
	for _, file := range []string{"kstreams", "streams/pom.xml", "streams/src/App.java", "gopeers/main.go"} {
		if _, err := os.Stat(filepath.Join(dir, file)); err != nil {
			return fmt.Sprintf("SVC_PEERS has no %s", file)
		}
	}
	for _, tool := range []string{"mvn", "javac", "java", "docker"} {
		if _, err := exec.LookPath(tool); err != nil {
			return "it needs " + tool
		}
	}
	return ""
}

// peers are the compiled programs with which BenchmarkPeers compares svc. The field records is the number of records
// in the topic that these programs read.
type peers struct {
	dir     string
	records int
	env     []string
}

// buildPeers builds a copy of the peers and fills a topic for them.
func buildPeers(b *testing.B, records int) *peers {
	b.Helper()
	kafka, _ := needServers(b)
	p := &peers{dir: b.TempDir(), records: records}
	if err := os.CopyFS(p.dir, os.DirFS(os.Getenv("SVC_PEERS"))); err != nil {
		b.Fatal(err)
	}
	p.env = append(os.Environ(),
		"BOOT="+kafka.address, "BROKER="+strings.TrimPrefix(kafka.container.Container.Name, "/"), "TMPDIR="+b.TempDir(),
		"LAYOUT=room", "STORE=rocks",
	)
	if err := os.MkdirAll(filepath.Join(p.dir, "streams/classes"), 0o750); err != nil {
		b.Fatal(err)
	}
	p.run(b, "streams", nil, "mvn", "-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=libs")
	p.run(b, "streams", nil, "javac", "-cp", "libs/*", "-d", "classes", "src/App.java")
	p.run(b, "gopeers", nil, "go", "build", "-o", p.program(), ".")
	p.run(b, "", nil, p.program(), "topic", "-topic", "peers")
	p.run(b, "", nil, p.program(), "preload", "-topic", "peers", "-n", strconv.Itoa(records))
	return p
}

func (p *peers) program() string { return filepath.Join(p.dir, "peers") }

// run runs a command in a folder of the peers and returns its output.
func (p *peers) run(b *testing.B, dir string, env []string, name string, args ...string) string {
	b.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = filepath.Join(p.dir, dir), append(p.env, env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		b.Fatalf("%s: %v\n%s", cmd, err, out)
	}
	return string(out)
}

// drained matches the output of the drain program: records per second after and during the warm-up, and peak memory.
var drained = regexp.MustCompile(`steady (\d+) rec/s .* warm-up part (\d+) rec/s .* peak=(\d+) MiB`)

// drain runs Kafka Streams until it has read the whole topic. It returns the throughput after the warm-up and over the
// whole run, in records per second, and the peak memory in MiB.
func (p *peers) drain(b *testing.B) (warm, first, peak float64) {
	b.Helper()
	warming := p.records * 2 / 5
	out := p.run(b, "", []string{"COMMIT=100", "THREADS=2"}, p.program(), "drain", "-topic", "peers",
		"-n", strconv.Itoa(p.records), "-skip", strconv.Itoa(warming), "-label", "streams", "--", "./kstreams")
	f := matched(b, drained, out)
	seconds := float64(warming)/f[1] + float64(p.records-warming)/f[0]
	return f[0], float64(p.records) / seconds, f[2]
}

// delayed matches the output of the lat program: the 50th and the 99th percentile of the milliseconds from a record
// to its result.
var delayed = regexp.MustCompile(`e2e p50=([\d.]+) .*?p99=([\d.]+) `)

// latency returns the 50th and the 99th percentile of the time from a record to its committed result, in
// milliseconds, at 500 records per second.
func (p *peers) latency(b *testing.B, lasting time.Duration) (p50, p99 float64) {
	b.Helper()
	out := p.run(b, "", []string{"COMMIT=10"}, p.program(), "lat", "-warm", "10s", "-dur", lasting.String(), "-label", "streams", "--", "./kstreams")
	f := matched(b, delayed, out)
	return f[0], f[1]
}

// matched returns the numbers that the groups of the expression capture from out.
func matched(b *testing.B, expression *regexp.Regexp, out string) (numbers []float64) {
	b.Helper()
	found := expression.FindStringSubmatch(out)
	if found == nil {
		b.Fatalf("no figures:\n%s", out)
	}
	for _, text := range found[1:] {
		n, err := strconv.ParseFloat(text, 64)
		if err != nil || n == 0 {
			b.Fatalf("figure %q:\n%s", text, out)
		}
		numbers = append(numbers, n)
	}
	return numbers
}
