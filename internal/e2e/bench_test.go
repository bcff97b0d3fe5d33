package e2e

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"svc/acuity"
	"svc/internal/testkit/loadgen"
	"svc/schemas"
)

// The benchmarks in the files bench_*_test.go measure the whole system. A benchmark on a real Kafka has a raw
// baseline in the same run: bare clients that transfer the same bytes with the same guarantees. docs/performance.md
// lists the figures.

// bench returns a system whose topics have a unique prefix and the given number of partitions. A processor has
// created the topics and exited.
func bench(b *testing.B, partitions int) *system {
	b.Helper()
	kafka, redis := needServers(b)
	s := &system{t: b, kafka: kafka, redis: redis, prefix: fmt.Sprintf("b%d-%d.", time.Now().Unix(), systems.Add(1))}
	s.env = []string{
		"SVC_KAFKA=" + kafka.address, "SVC_REDIS=redis://" + redis.address + "/0", "SVC_TOPIC_PREFIX=" + s.prefix,
		"SVC_PARTITIONS=" + strconv.Itoa(partitions), "SVC_COMMIT_EVERY=0",
		"SVC_PSEUDONYM_KEY=0123456789abcdef0123456789abcdef", "SVC_LOG_LEVEL=info",
	}
	maker, private := s.measured("maker")
	maker.await(private + "/readyz")
	maker.stop()
	return s
}

// measured starts a processor. It returns the process and the address of its private port.
func (s *system) measured(instance string) (n *node, private string) {
	s.t.Helper()
	address := "127.0.0.1:" + mustFreePort(s.t)
	n = start(s.t, instance, []string{"process", "--instance", instance, "--private-listen", address}, s.env...)
	return n, "http://" + address
}

// fill appends n observations of made-up hospitals to the log. Each observation is received one step after the
// previous one, and the last one is received now.
func (s *system) fill(b *testing.B, partitions int32, n, hospitals, rooms int, step time.Duration) {
	b.Helper()
	client := s.client(b, kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.MaxBufferedRecords(50_000))
	feeds := loadgen.New(hospitals, rooms, acuity.At(time.Now().Add(-time.Duration(n)*step)), step)
	topic := s.prefix + schemas.Observations().Name
	ctx := context.Background()
	for range n {
		o := feeds.Next()
		value, err := schemas.EncodeObservation(nil, o)
		if err != nil {
			b.Fatal(err)
		}
		key := []byte(schemas.ObservationKey(o).String())
		client.Produce(ctx, &kgo.Record{
			Topic: topic, Partition: schemas.Partition(key, partitions), Key: key, Value: value, Timestamp: o.ReceivedAt.Time(),
		}, func(_ *kgo.Record, err error) {
			if err != nil {
				b.Error(err)
			}
		})
	}
	if err := client.Flush(ctx); err != nil {
		b.Fatal(err)
	}
}

func (s *system) client(b *testing.B, opts ...kgo.Opt) *kgo.Client {
	b.Helper()
	client, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(s.kafka.address), kgo.AlwaysRetryEOF()}, opts...)...)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(client.Close)
	return client
}

// topic creates a plain topic for a baseline.
func (s *system) topic(b *testing.B, name string, partitions int32) string {
	b.Helper()
	name = s.prefix + name
	if _, err := kadm.NewClient(s.client(b)).CreateTopic(context.Background(), partitions, 1, nil, name); err != nil {
		b.Fatal(err)
	}
	return name
}

// figure reads one metric from a private port.
func figure(private, name string) (float64, error) {
	answer, err := http.Get(private + "/metrics")
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
		if value, ok := strings.CutPrefix(lines.Text(), name+" "); ok {
			return strconv.ParseFloat(value, 64)
		}
	}
	return 0, fmt.Errorf("no figure %s", name)
}

// status reads a line of /proc/<pid>/status in MiB. VmHWM is the peak resident memory; VmRSS is the current resident
// memory.
func (n *node) status(b testing.TB, name string) float64 {
	b.Helper()
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", n.cmd.Process.Pid))
	if err != nil {
		b.Skip("needs /proc:", err)
	}
	for line := range strings.SplitSeq(string(content), "\n") {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == name+":" {
			kib, err := strconv.ParseFloat(fields[1], 64)
			if err != nil {
				b.Fatal(err)
			}
			return kib / 1024
		}
	}
	b.Fatalf("no %s in /proc", name)
	return 0
}

// busy returns the CPU time of the node. Other load on the machine affects CPU time less than wall-clock time.
func (n *node) busy(b *testing.B) time.Duration {
	b.Helper()
	return busy(b, n.cmd.Process.Pid)
}

// busy returns the CPU time of a server, or 0 if the test did not start the server's container.
func (s *server) busy(b *testing.B) time.Duration {
	b.Helper()
	if s.container == nil {
		return 0
	}
	return busy(b, s.pid(b))
}

// pid returns the process id of a server in a container that the test started.
func (s *server) pid(b *testing.B) int {
	b.Helper()
	c, err := s.pool.Client.InspectContainer(s.container.Container.ID)
	if err != nil {
		b.Fatal(err)
	}
	return c.State.Pid
}

// compiling returns the CPU time that the server's Java virtual machine has spent on just-in-time compilation. The
// CPU time that busy returns includes it. Threads that have ended are not counted.
func (s *server) compiling(b *testing.B) time.Duration {
	b.Helper()
	if s.container == nil {
		return 0
	}
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", s.pid(b)))
	if err != nil {
		b.Fatal(err)
	}
	var sum time.Duration
	for _, name := range threads {
		if content, err := os.ReadFile(name); err == nil && strings.Contains(string(content), "CompilerThre") {
			sum += ticks(b, string(content))
		}
	}
	return sum
}

func busy(b *testing.B, pid int) time.Duration {
	b.Helper()
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		b.Skip("needs /proc:", err)
	}
	return ticks(b, string(content))
}

// idle returns the idle time of all CPUs of the machine, including waits for disks.
func idle(b *testing.B) time.Duration {
	b.Helper()
	content, err := os.ReadFile("/proc/stat")
	if err != nil {
		b.Skip("needs /proc:", err)
	}
	fields := strings.Fields(string(content)) // cpu, then user, nice, system, idle and iowait, in hundredths of a second
	return hundredths(b, fields[4:6])
}

// ticks reads the CPU time from the text of a /proc stat file.
func ticks(b *testing.B, stat string) time.Duration {
	b.Helper()
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	return hundredths(b, fields[11:13]) // utime and stime
}

// hundredths returns the sum of /proc fields, which count hundredths of a second.
func hundredths(b *testing.B, fields []string) time.Duration {
	b.Helper()
	var sum int64
	for _, field := range fields {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			b.Fatal(err)
		}
		sum += n
	}
	return time.Duration(sum) * 10 * time.Millisecond
}

// stalled returns the time for which runnable threads of the node waited because all CPUs were busy. On a busy
// machine, wall-clock time includes that wait.
func (n *node) stalled(b *testing.B) time.Duration {
	b.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", n.cmd.Process.Pid))
	if err != nil {
		b.Fatal(err)
	}
	var sum time.Duration
	for _, name := range threads {
		content, err := os.ReadFile(name)
		if err != nil {
			continue // the thread has ended
		}
		if fields := strings.Fields(string(content)); len(fields) == 3 { // nanoseconds run, nanoseconds waited, time slices
			waited, err := strconv.ParseInt(fields[1], 10, 64)
			if err != nil {
				b.Fatal(err)
			}
			sum += time.Duration(waited)
		}
	}
	return sum
}

// percentile returns the p-th percentile of durations in milliseconds.
func percentile(all []time.Duration, p int) float64 {
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return float64(all[min(len(all)-1, len(all)*p/100)]) / float64(time.Millisecond)
}

// machineLoad reports the load average over the last minute, because other load changes the figures.
func machineLoad(b *testing.B) {
	b.Helper()
	content, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return
	}
	if load, err := strconv.ParseFloat(strings.Fields(string(content))[0], 64); err == nil {
		b.ReportMetric(load, "load-avg")
	}
}
