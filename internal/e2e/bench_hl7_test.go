package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// admission returns the n-th HL7 message of a test load: an admission, transfer, update or discharge of a made-up
// visit. It is about as long as a real message.
func admission(n int) string {
	now := time.Now().UTC().Format("20060102150405") + "+0000"
	event := []string{"A01", "A02", "A08", "A03"}[n%4]
	visit, room := n/4, 1+n/4%20
	return fmt.Sprintf("MSH|^~\\&|EPIC|STMARY|SVC|STMARY|%[1]s||ADT^%[2]s|%[3]d|P|2.5.1\r"+
		"EVN|%[2]s|%[1]s|||OPER^TEST^USER\r"+
		"PID|1||MRN%[4]d^^^STMARY^MR~999-00-0000^^^USA^SS||TESTPATIENT^ONE^MIDDLE^^^^L||19940211|F|||1 TEST STREET^APT 2^TESTVILLE^IL^60000^USA||(000)555-0100|||S||ACC%[4]d^^^STMARY^AN\r"+
		"NK1|1|TESTPATIENT^TWO|SPO^Spouse|||(000)555-0101||EC\r"+
		"PV1|1|I|LDR^%[5]d^01^STMARY|L|||1001^TESTDOCTOR^A|||OBS||||||||I|VN%[4]d^^^STMARY^VN\r"+
		"PV2|||^Contractions, 39w2d\rDG1|1||O14.13^Severe pre-eclampsia, third trimester^I10||%[1]s|W\r",
		now, event, n, visit, room)
}

// BenchmarkIngestHL7 posts HL7 messages from 8 hospitals over 32 connections to svc on a real Kafka with acks=all. In
// the first run, svc responds once the message is durable (Prefer: respond-async); in the second, once the verdict
// contains the message. A run ends when all messages are applied. Before each pair of runs, bare clients send the
// same messages as a baseline.
func BenchmarkIngestHL7(b *testing.B) {
	hospitals := make([]string, 8)
	for i := range hospitals {
		hospitals[i] = "h" + strconv.Itoa(i)
	}
	s := startSystem(b, hospitals...)
	processor, private := s.measured("measured")
	defer processor.stop()
	for _, p := range s.partners {
		eventually(b, time.Minute, func() error { return postHL7(p, nil, "", admission(0)) })
	}
	applied := appliedBy(b, private)
	bare, stop := s.bareSenders(b)
	defer stop()
	for b.Loop() {
		bare()
		for _, mode := range []struct{ name, prefer string }{{"", "respond-async"}, {"waiting-", ""}} {
			s.storm(b, mode.name, s.front, processor, applied, func(c int) func(string) error {
				p := s.partners[c%len(s.partners)]
				client := &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 1}}
				return func(message string) error { return postHL7(p, client, mode.prefer, message) }
			})
		}
		machineLoad(b)
	}
}

// bareSenders returns a function that measures the baseline, in which bare clients send over the same number of
// connections. The function measures twice. The first time, each client waits until its message is stored. The second
// time, it waits until its message has been copied in a transaction and read with read_committed. The first
// measurement also warms up the broker: a fresh broker is ten times slower until its Java code is compiled.
func (s *system) bareSenders(b *testing.B) (run, stop func()) {
	b.Helper()
	around, stop := s.rawLoop(b)
	client := s.client(b, kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(0))
	topic := s.topic(b, "raw-stored", partitions)
	value := []byte(admission(0))
	return func() {
		stored := closedLoop(b, 20*time.Second, func(c, _ int) error {
			return client.ProduceSync(b.Context(), &kgo.Record{Topic: topic, Partition: int32(c % partitions), Value: value}).FirstErr()
		})
		b.ReportMetric(stored, "raw-messages/s")
		b.ReportMetric(closedLoop(b, 10*time.Second, func(c, _ int) error { return around(c) }), "raw-waiting-messages/s")
	}, stop
}

// storm sends messages over all connections for ten seconds, and waits until all of them are applied. It reports the
// messages per second, and the CPU time that svc ingest, the processor and Kafka each spent per message.
func (s *system) storm(b *testing.B, name string, ingest, processor *node, applied func() float64, connect func(c int) (send func(message string) error)) {
	b.Helper()
	before, busyIngest, busyProcessor, busyKafka := applied(), ingest.busy(b), processor.busy(b), s.kafka.busy(b)
	began := time.Now()
	base := int(began.UnixNano() / 1e6 % 1e9)
	var sends [connections]func(string) error
	for c := range sends {
		sends[c] = connect(c)
	}
	const lasting = 10 * time.Second
	sent := lasting.Seconds() * closedLoop(b, lasting, func(c, n int) error { return sends[c](admission(base*4 + c*100_000 + n)) })
	eventually(b, 5*time.Minute, func() error { // polls the metrics, as Prometheus does
		if got, want := applied()-before, math.Floor(sent); got < want {
			return fmt.Errorf("%.0f of %.0f messages are applied", got, want)
		}
		return nil
	})
	b.ReportMetric(sent/time.Since(began).Seconds(), name+"messages/s")
	for who, busy := range map[string]time.Duration{
		"ingest": ingest.busy(b) - busyIngest, "process": processor.busy(b) - busyProcessor, "kafka": s.kafka.busy(b) - busyKafka,
	} {
		b.ReportMetric(busy.Seconds()/sent*1e6, name+who+"-cpu-us")
	}
}

const connections = 32

// closedLoop calls the function do repeatedly on every connection, without a pause between calls, and returns the
// calls per second.
func closedLoop(b *testing.B, lasting time.Duration, do func(c, n int) error) float64 {
	b.Helper()
	var count atomic.Int64
	var all sync.WaitGroup
	began := time.Now()
	for c := range connections {
		all.Go(func() {
			for n := 0; time.Since(began) < lasting; n++ {
				if err := do(c, n); err != nil {
					b.Error(err)
					return
				}
				count.Add(1)
			}
		})
	}
	all.Wait()
	return float64(count.Load()) / lasting.Seconds()
}

// appliedBy returns a function that reads the number of observations that a processor has applied.
func appliedBy(b *testing.B, private string) func() float64 {
	return func() float64 {
		done, err := figure(private, "svc_process_records_total")
		if err != nil {
			b.Fatal(err)
		}
		return done
	}
}

func postHL7(p *partner, client *http.Client, prefer, message string) error {
	request, err := http.NewRequest(http.MethodPost, p.base+"/api/ingest/hl7", bytes.NewReader([]byte(message)))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+p.key)
	request.Header.Set("Content-Type", "text/plain")
	if prefer != "" {
		request.Header.Set("Prefer", prefer)
	}
	if client == nil {
		client = p.http
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK || !bytes.Contains(body, []byte("\rMSA|AA|")) {
		return fmt.Errorf("%d %q", response.StatusCode, body)
	}
	return nil
}

// BenchmarkIngestMLLP repeats BenchmarkIngestHL7 over MLLP, which acknowledges a message once it is durable.
func BenchmarkIngestMLLP(b *testing.B) {
	hospitals := make([]string, 8)
	for i := range hospitals {
		hospitals[i] = "h" + strconv.Itoa(i)
	}
	s := startSystem(b, hospitals...)
	processor, private := s.measured("measured")
	defer processor.stop()
	var senders, addresses []string
	for _, hospital := range hospitals {
		addresses = append(addresses, "127.0.0.1:"+mustFreePort(b))
		senders = append(senders, "addr="+addresses[len(addresses)-1]+",key="+s.keyID(hospital))
	}
	address := "127.0.0.1:" + mustFreePort(b)
	ingest := start(b, "mllp", []string{
		"ingest", "--listen", "127.0.0.1:0", "--private-listen", address, "--mllp", strings.Join(senders, ";"),
	}, s.env...)
	ingest.await("http://" + address + "/readyz")
	connect := func(c int) func(string) error {
		e := &engine{address: func() string { return addresses[c%len(addresses)] }}
		b.Cleanup(e.close)
		return func(message string) error {
			code, err := e.try(message)
			if err == nil && code != "AA" {
				err = errors.New(code)
			}
			return err
		}
	}
	applied := appliedBy(b, private)
	for c := range hospitals {
		send := connect(c)
		eventually(b, time.Minute, func() error { return send(admission(c)) })
	}
	eventually(b, time.Minute, func() error {
		if n := applied(); n < float64(len(hospitals)) {
			return fmt.Errorf("%v applied", n)
		}
		return nil
	})
	bare, stop := s.bareSenders(b)
	defer stop()
	for b.Loop() {
		bare()
		s.storm(b, "", ingest, processor, applied, connect)
		machineLoad(b)
	}
}
