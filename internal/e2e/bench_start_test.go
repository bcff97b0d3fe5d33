package e2e

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"svc/acuity"
	"svc/internal/testkit/loadgen"
	"svc/processors/verdict"
	"svc/schemas"
)

// BenchmarkRestore measures how long a processor takes to restore one partition in which 200 hospitals have made
// 300,000 changes in seven days.
//
// start-to-ready-ms is the time from the start of the process until the partition is restored. restore-ms is the part
// of this time after the group has assigned the partition: finding the end offset, waiting until a barrier record
// becomes readable, reading and decoding the records, and deriving the state. MB/s are the decompressed keys and
// values of the last checkpoint and later records, divided by restore-ms; start-MB/s divides them by
// start-to-ready-ms. cpu-ms is the CPU time of the process, because wall-clock time says little on a busy machine.
func BenchmarkRestore(b *testing.B) {
	const records, hospitals, rooms = 300_000, 200, 20
	s := bench(b, 1)
	s.fill(b, 1, records, hospitals, rooms, 7*24*time.Hour/records)
	n, private := s.measured("restored")
	n.rate(b, private, records)
	eventually(b, time.Minute, func() error {
		if written, err := figure(private, "svc_process_checkpoints_total"); err != nil || written == 0 {
			return fmt.Errorf("%v checkpoints, error %w", written, err)
		}
		return nil
	})
	// Wait until the history processor has processed and committed all changes, so that it does not process them during
	// the restore.
	eventually(b, time.Minute, func() error {
		lag, err := figure(private, "svc_history_lag_records")
		if err != nil || lag > 0 {
			return fmt.Errorf("the history has %v to learn, error %w", lag, err)
		}
		last, err := figure(private, "svc_history_last_commit_timestamp_ms")
		if since := time.Since(time.UnixMilli(int64(last))); err != nil || since < 6*time.Second {
			return fmt.Errorf("the history wrote %v ago, error %w", since, err)
		}
		return nil
	})
	n.stop()
	for b.Loop() {
		s.restore(b)
	}
}

func (s *system) restore(b *testing.B) {
	b.Helper()
	began := time.Now()
	n, _ := s.measured("restored")
	restored := `"partitions restored","group":"` + s.prefix + verdict.Group + `"` // the history processor logs restores, too
	select {
	case <-n.says(restored):
	case <-n.exited:
		b.Fatalf("the processor ended:\n%s", n.logged())
	case <-time.After(time.Minute):
		b.Fatalf("nothing is restored:\n%s", n.logged())
	}
	ready, spent := time.Since(began), n.busy(b)
	b.ReportMetric(float64(ready.Milliseconds()), "start-to-ready-ms")
	b.ReportMetric(float64(spent.Milliseconds()), "cpu-ms")
	line := regexp.MustCompile(regexp.QuoteMeta(restored) + `.*"bytes":(\d+),"ms":(\d+)`)
	if found := line.FindStringSubmatch(n.logged()); found != nil {
		bytes, err := strconv.ParseFloat(found[1], 64)
		if err != nil {
			b.Fatal(err)
		}
		ms, err := strconv.ParseFloat(found[2], 64)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(ms, "restore-ms")
		b.ReportMetric(bytes/1e6, "read-MB")
		b.ReportMetric(bytes/1e3/ms, "MB/s")
		b.ReportMetric(bytes/1e6/ready.Seconds(), "start-MB/s")
	}
	machineLoad(b)
	n.stop()
}

// BenchmarkNotifyStart starts a notifier on the verdicts that a processor has written for 500,000 observations. The
// observations are from 300 hospitals, none of which has a webhook endpoint. caught-up-s is the time from the start
// of the notifier until it has read all verdicts; peak-MiB is its peak resident memory until then.
func BenchmarkNotifyStart(b *testing.B) {
	const partitions, records, hospitals, rooms = 24, 500_000, 300, 20
	s := bench(b, partitions)
	s.fill(b, partitions, records, hospitals, rooms, 12*time.Hour/records)
	n, private := s.measured("filled")
	n.rate(b, private, records)
	n.stop()
	admin := kadm.NewClient(s.client(b))
	for b.Loop() {
		began := time.Now()
		n := start(b, "notify", []string{"notify", "--instance", "n1", "--private-listen", "127.0.0.1:" + mustFreePort(b)}, s.env...)
		if err := until(5*time.Minute, func() error {
			lags, err := admin.Lag(context.Background(), s.prefix+"svc-notifier")
			if err != nil {
				return err
			}
			lag := lags[s.prefix+"svc-notifier"]
			total := int64(0)
			for _, of := range lag.Lag[s.prefix+schemas.Verdicts().Name] {
				if of.Commit.At < 0 {
					return fmt.Errorf("partition %d is not read", of.Partition)
				}
				total += of.Lag
			}
			if len(lag.Lag) == 0 || total > 2*partitions { // transaction markers count as lag until the next record is committed
				return fmt.Errorf("%d records to read", total)
			}
			return nil
		}); err != nil {
			b.Fatal(err, n.logged())
		}
		b.ReportMetric(time.Since(began).Seconds(), "caught-up-s")
		b.ReportMetric(n.status(b, "VmHWM"), "peak-MiB")
		b.ReportMetric(n.status(b, "VmRSS"), "resident-MiB")
		machineLoad(b)
		n.stop()
	}
}

// BenchmarkDevStart starts svc dev on an empty folder, and restarts it after a kill -9 with 200,000
// observations in its log.
func BenchmarkDevStart(b *testing.B) {
	const records, rooms = 200_000, 40
	for b.Loop() {
		devStart(b, records, rooms)
	}
}

func devStart(b *testing.B, records, rooms int) {
	b.Helper()
	dir := b.TempDir()
	binary(b) // so that the build is not measured
	began := time.Now()
	d := startDev(b, dir)
	b.ReportMetric(float64(time.Since(began).Milliseconds()), "fresh-ms")

	feeds := loadgen.New(1, rooms, acuity.At(time.Now().Add(-24*time.Hour)), time.Second)
	p := newPartner(d.BaseURL, d.HospitalID, d.APIKey)
	for i := range rooms { // a full unit
		p.accepted(b, "clinical", fmt.Sprintf(`{"roomId":%d,"signals":[{"kind":"medication","system":"RxNorm","code":"6585","status":"active"}]}`, i+1))
	}
	b.ReportMetric(d.status(b, "VmRSS"), "resident-MiB")

	client, err := kgo.NewClient(kgo.SeedBrokers(d.Kafka), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		b.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	partition := schemas.Partition([]byte(d.HospitalID), 3)
	for range records {
		o := feeds.Next()
		o.Hospital = d.HospitalID
		value, err := schemas.EncodeObservation(nil, o)
		if err != nil {
			b.Fatal(err)
		}
		client.Produce(ctx, &kgo.Record{
			Topic: schemas.Observations().Name, Partition: partition, Key: []byte(schemas.ObservationKey(o).String()), Value: value, Timestamp: o.ReceivedAt.Time(),
		}, nil)
	}
	if err := client.Flush(ctx); err != nil {
		b.Fatal(err)
	}
	admin := kadm.NewClient(client)
	if err := until(5*time.Minute, func() error { // until all records are applied
		at, err := admin.FetchOffsets(ctx, verdict.Group)
		if err != nil {
			return err
		}
		if o, ok := at.Lookup(schemas.Observations().Name, partition); !ok || o.At < int64(records) {
			return fmt.Errorf("applied up to %d", o.At)
		}
		return nil
	}); err != nil {
		b.Fatal(err, strings.Join(strings.Split(d.logged(), "\n")[:5], "\n"))
	}
	b.ReportMetric(d.status(b, "VmHWM"), "catch-up-peak-MiB")
	d.kill()

	began = time.Now()
	d = startDev(b, dir)
	b.ReportMetric(float64(time.Since(began).Milliseconds()), "after-kill-ms")
	b.ReportMetric(d.status(b, "VmRSS"), "resident-full-log-MiB")
	machineLoad(b)
	d.stop()
}
