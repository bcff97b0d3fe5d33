package e2e

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"svc/acuity"
	"svc/internal/testkit/loadgen"
	"svc/processors/verdict"
	"svc/schemas"
)

// country is the load of BenchmarkCountry.
type country struct {
	partitions, hospitals, rooms int
	inputs                       int // per hospital in the shift
	rate                         int // inputs per second after the shift
	lasting                      time.Duration
}

const countryShift = 12 * time.Hour

// BenchmarkCountry runs one processor, one notifier and one HTTP process for all hospitals of a country:
// COUNTRY_HOSPITALS (2,700) with 20 rooms each, and COUNTRY_INPUTS (270) inputs per hospital in a 12-hour shift, on
// 48 partitions. After the shift, COUNTRY_RATE (6,000) inputs per second arrive for COUNTRY_FOR (5m). No hospital has
// a webhook endpoint.
//
// The inputs are written to the log directly, so ingest is not part of the load. applied/s is the mean from the first
// input until the last one is applied. oldest-s is the longest time that an input waited, sampled each second.
// Figures in KiB are per hospital: live-KiB is the heap after a garbage collection, resident-KiB is the memory of the
// process.
//
// Figures in B/input are bytes per input in the log of observations, in the log of verdicts (each as one broker
// stores it, without replicas), and in Redis. snapshots-B/record is bytes per record; a record is one hour of one
// hospital. The inputs of the shift are written in large batches, unlike the inputs that live-observations-B/input
// and live-verdicts-B/input measure. start-s is the time from the start of a process until it is ready.
func BenchmarkCountry(b *testing.B) {
	size := country{partitions: 48, rooms: 20}
	size.hospitals, _ = howOften(b, "COUNTRY_HOSPITALS", 2700)
	size.inputs, _ = howOften(b, "COUNTRY_INPUTS", 270)
	size.rate, _ = howOften(b, "COUNTRY_RATE", 6000)
	var err error
	if size.lasting, err = time.ParseDuration(cmp.Or(os.Getenv("COUNTRY_FOR"), "5m")); err != nil {
		b.Fatal("COUNTRY_FOR:", err)
	}
	for b.Loop() {
		s := bench(b, size.partitions)
		s.env = append(s.env, "SVC_SECRETS_KEY=0123456789abcdef0123456789abcdef")
		s.importCountry(b, size.hospitals)
		s.shift(b, &size)
		s.liveLoad(b, &size)
		machineLoad(b)
	}
}

// importCountry creates the hospitals that loadgen uses.
func (s *system) importCountry(b *testing.B, hospitals int) {
	b.Helper()
	var lines strings.Builder
	for n := range hospitals {
		fmt.Fprintf(&lines, `{"id":"h%03d","name":"Hospital %d","timezone":"America/Chicago"}`+"\n", n, n)
	}
	file := filepath.Join(b.TempDir(), "hospitals.jsonl")
	if err := os.WriteFile(file, []byte(lines.String()), 0o600); err != nil {
		b.Fatal(err)
	}
	began := time.Now()
	cli(b, s.env, "hospitals", "import", file)
	b.ReportMetric(time.Since(began).Seconds(), "import-s")
}

// shift writes the inputs of a shift, measures how the processor applies them, and then starts each role on the
// resulting logs.
func (s *system) shift(b *testing.B, size *country) {
	b.Helper()
	inputs := size.hospitals * size.inputs
	before := s.redisBytes(b)
	s.fill(b, int32(size.partitions), inputs, size.hospitals, size.rooms, countryShift/time.Duration(inputs))
	n, private := s.measured("shift")
	perSecond, _ := n.rate(b, private, inputs)
	b.ReportMetric(perSecond, "shift-applied/s")
	eventually(b, 2*time.Minute, func() error { // until the processor has written the view to Redis
		all, err := figure(private, `svc_healthy{check="view"}`)
		if err != nil || all != 1 {
			return fmt.Errorf("the view is not written: %v, error %w", all, err)
		}
		return nil
	})
	s.perHospital(b, n, private, "process", size)
	b.ReportMetric((s.redisBytes(b)-before)/float64(inputs), "redis-B/input")
	b.ReportMetric((s.redisBytes(b)-before)/float64(size.hospitals)/1024, "redis-KiB")
	b.ReportMetric(s.logBytes(b, schemas.Observations().Name)/float64(inputs), "observations-B/input")
	b.ReportMetric(s.logBytes(b, schemas.Verdicts().Name)/float64(inputs), "verdicts-B/input")
	snapshots := 0
	readTopic(b, s.kafka.address, s.prefix+schemas.Snapshots().Name, func(r *kgo.Record) {
		if _, is := schemas.IDOf(r.Value); is {
			snapshots++
		}
	})
	b.ReportMetric(s.logBytes(b, schemas.Snapshots().Name)/float64(max(snapshots, 1)), "snapshots-B/record")
	n.stop()
	s.restoreAll(b)
	s.startRole(b, "notify", size, "notify", "--instance", "country")
	s.startRole(b, "http", size, "run", "ingest,read", "--listen", "127.0.0.1:"+mustFreePort(b))
}

// restoreAll restarts the processor and reports how long the processor takes to restore its partitions.
func (s *system) restoreAll(b *testing.B) {
	b.Helper()
	began := time.Now()
	n, _ := s.measured("shift")
	line := regexp.MustCompile(`"partitions restored","group":"` + regexp.QuoteMeta(s.prefix+verdict.Group) + `","partitions":(\d+),"bytes":(\d+),"ms":(\d+)`)
	eventually(b, 5*time.Minute, func() error {
		if !line.MatchString(n.logged()) {
			return fmt.Errorf("%s restores", n.name)
		}
		return nil
	})
	b.ReportMetric(time.Since(began).Seconds(), "process-start-s")
	found := line.FindStringSubmatch(n.logged())
	for i, unit := range []string{"restored-partitions", "restored-B", "restore-ms"} {
		value, err := strconv.ParseFloat(found[i+1], 64)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(value, unit)
	}
	n.stop()
}

// startRole starts a role and waits until it is ready. It reports how long this took, and the memory of the role at
// that time.
func (s *system) startRole(b *testing.B, name string, size *country, args ...string) {
	b.Helper()
	private := "127.0.0.1:" + mustFreePort(b)
	began := time.Now()
	n := start(b, name, append(args, "--private-listen", private), s.env...)
	// The other roles do not run, so checks that depend on them are excluded.
	n.awaitFor(5*time.Minute, "http://"+private+"/readyz?exclude=view&exclude=forecast&exclude=lists")
	b.ReportMetric(time.Since(began).Seconds(), name+"-start-s")
	s.perHospital(b, n, "http://"+private, name, size)
	n.stop()
}

// perHospital reports the memory of a process, divided by the number of hospitals.
func (s *system) perHospital(b *testing.B, n *node, private, name string, size *country) {
	b.Helper()
	collect, err := http.Get(private + "/debug/pprof/heap?gc=1")
	if err != nil {
		b.Fatal(err)
	}
	collect.Body.Close()
	live, err := figure(private, "go_memstats_heap_alloc_bytes")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(live/1024/float64(size.hospitals), name+"-live-KiB")
	b.ReportMetric(n.status(b, "VmRSS")*1024/float64(size.hospitals), name+"-resident-KiB")
	b.ReportMetric(n.status(b, "VmHWM"), name+"-peak-MiB")
}

// liveLoad writes size.rate inputs per second while all roles run.
func (s *system) liveLoad(b *testing.B, size *country) {
	b.Helper()
	n, private := s.measured("shift")
	n.awaitFor(5*time.Minute, private+"/readyz")
	notify, notifyPrivate := s.startExtraRole(b, "notify", "--instance", "country")
	front, frontPrivate := s.startExtraRole(b, "run", "ingest,read", "--listen", "127.0.0.1:"+mustFreePort(b))
	client := s.client(b, kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.MaxBufferedRecords(50_000))
	feeds := loadgen.New(size.hospitals, size.rooms, acuity.At(time.Now()), time.Second/time.Duration(size.rate))
	topic := s.prefix + schemas.Observations().Name
	began, sent, oldest := time.Now(), 0, 0.0
	applied := func() int {
		done, err := figure(private, "svc_process_records_total")
		if err != nil {
			b.Fatal(err)
		}
		return int(done)
	}
	before := applied()
	observations, verdicts := s.logBytes(b, schemas.Observations().Name), s.logBytes(b, schemas.Verdicts().Name)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for next := began.Add(time.Second); time.Since(began) < size.lasting; <-tick.C {
		for due := int(time.Since(began).Seconds() * float64(size.rate)); sent < due; sent++ {
			o := feeds.Next()
			value, err := schemas.EncodeObservation(nil, o)
			if err != nil {
				b.Fatal(err)
			}
			key := []byte(schemas.ObservationKey(o).String())
			client.Produce(context.Background(), &kgo.Record{
				Topic: topic, Partition: schemas.Partition(key, int32(size.partitions)), Key: key, Value: value, Timestamp: o.ReceivedAt.Time(),
			}, func(_ *kgo.Record, err error) {
				if err != nil {
					b.Error(err)
				}
			})
		}
		if now := time.Now(); now.After(next) {
			next = now.Add(time.Second)
			if waits, err := figure(private, "svc_process_oldest_seconds"); err == nil {
				oldest = max(oldest, waits)
			}
		}
	}
	if err := client.Flush(context.Background()); err != nil {
		b.Fatal(err)
	}
	wrote := time.Since(began)
	left := sent - (applied() - before)
	eventually(b, 10*time.Minute, func() error {
		if done := applied() - before; done < sent {
			return fmt.Errorf("%d of %d applied", done, sent)
		}
		return nil
	})
	b.ReportMetric(float64(sent)/wrote.Seconds(), "written/s")
	b.ReportMetric(float64(sent)/time.Since(began).Seconds(), "applied/s")
	b.ReportMetric(float64(left), "left-at-end")
	b.ReportMetric(oldest, "oldest-s")
	b.ReportMetric((s.logBytes(b, schemas.Observations().Name)-observations)/float64(sent), "live-observations-B/input")
	b.ReportMetric((s.logBytes(b, schemas.Verdicts().Name)-verdicts)/float64(sent), "live-verdicts-B/input")
	b.ReportMetric(n.busy(b).Seconds()*1e6/float64(sent), "process-cpu-us/input")
	s.perHospital(b, n, private, "loaded-process", size)
	s.perHospital(b, notify, notifyPrivate, "loaded-notify", size)
	s.perHospital(b, front, frontPrivate, "loaded-http", size)
	for _, each := range []*node{n, notify, front} {
		each.stop()
	}
}

// startExtraRole starts a role in addition to the processor, and waits until it is ready.
func (s *system) startExtraRole(b *testing.B, args ...string) (n *node, private string) {
	b.Helper()
	address := "127.0.0.1:" + mustFreePort(b)
	n = start(b, args[0], append(args, "--private-listen", address), s.env...)
	n.awaitFor(5*time.Minute, "http://"+address+"/readyz?exclude=view&exclude=forecast&exclude=lists")
	return n, "http://" + address
}

// redisBytes returns the number of bytes that Redis uses for data.
func (s *system) redisBytes(b *testing.B) float64 {
	b.Helper()
	client := redis.NewClient(&redis.Options{Addr: s.redis.address})
	defer client.Close()
	info, err := client.Info(b.Context(), "memory").Result()
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := strings.Cut(info, "used_memory_dataset:")
	text, _, _ := strings.Cut(rest, "\r")
	bytes, err := strconv.ParseFloat(text, 64)
	if err != nil {
		b.Fatal(err)
	}
	return bytes
}

// logBytes returns the size of a topic in bytes, as one broker stores it.
func (s *system) logBytes(b *testing.B, name string) (bytes float64) {
	b.Helper()
	dirs, err := kadm.NewClient(s.client(b)).DescribeAllLogDirs(context.Background(), nil)
	if err != nil {
		b.Fatal(err)
	}
	dirs.Each(func(dir kadm.DescribedLogDir) {
		dir.Topics.Each(func(p kadm.DescribedLogDirPartition) {
			if p.Topic == s.prefix+name {
				bytes += float64(p.Size)
			}
		})
	})
	return bytes
}
