package e2e

import (
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"svc/schemas"
)

// spanCollector receives spans as OTLP over HTTP.
type spanCollector struct {
	*httptest.Server
	mu    sync.Mutex
	raw   strings.Builder // bodies of all requests
	spans []*collected
}

// collected is a span with the name of its service.
type collected struct {
	*tracepb.Span
	service string
}

func collectSpans(t testing.TB) *spanCollector {
	t.Helper()
	c := &spanCollector{}
	c.Server = httptest.NewServer(c)
	t.Cleanup(c.Close)
	return c
}

// env returns the environment variables with which a process sends its spans to the collector.
func (c *spanCollector) env() []string {
	return []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL, "OTEL_BSP_SCHEDULE_DELAY=50"}
}

func (c *spanCollector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var request collector.ExportTraceServiceRequest
	if err == nil {
		err = proto.Unmarshal(body, &request)
	}
	if err != nil || r.URL.Path != "/v1/traces" {
		http.Error(w, "no spans", http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.raw.WriteString(request.String() + string(body))
	for _, resource := range request.GetResourceSpans() {
		service := ""
		for _, a := range resource.GetResource().GetAttributes() {
			if a.GetKey() == "service.name" {
				service = a.GetValue().GetStringValue()
			}
		}
		for _, scope := range resource.GetScopeSpans() {
			for _, span := range scope.GetSpans() {
				c.spans = append(c.spans, &collected{span, service})
			}
		}
	}
}

// trace returns the spans of a trace.
func (c *spanCollector) trace(id string) (some []*collected) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.spans {
		if hex.EncodeToString(s.GetTraceId()) == id {
			some = append(some, s)
		}
	}
	return some
}

// await waits until a trace has a span with each of the given names, and returns the spans of the trace.
func (c *spanCollector) await(t testing.TB, id string, names ...string) (spans []*collected) {
	t.Helper()
	eventually(t, time.Minute, func() error {
		spans = c.trace(id)
		for _, name := range names {
			if len(named(spans, name)) == 0 {
				return fmt.Errorf("no span %q in %v", name, spans)
			}
		}
		return nil
	})
	return spans
}

func named(spans []*collected, name string) (some []*collected) {
	for _, s := range spans {
		if s.GetName() == name {
			some = append(some, s)
		}
	}
	return some
}

// rootOf returns the trace id of the first span with a name.
func (c *spanCollector) rootOf(t testing.TB, name string) (id string) {
	t.Helper()
	eventually(t, time.Minute, func() error {
		c.mu.Lock()
		defer c.mu.Unlock()
		some := named(c.spans, name)
		if len(some) == 0 {
			return fmt.Errorf("no span %q", name)
		}
		if len(some[0].GetParentSpanId()) > 0 {
			t.Errorf("%s has a parent", name)
		}
		id = hex.EncodeToString(some[0].GetTraceId())
		return nil
	})
	return id
}

// TestTraceEmbedded follows a request through all processes, on embedded servers.
func TestTraceEmbedded(t *testing.T) {
	onlyInE2E(t)
	t.Parallel()
	kafka, redis := embedServers(t, func(string, []string) string { return "" })
	followTrace(t, kafka, redis)
}

// TestTraceOnServers repeats TestTraceEmbedded on a real Kafka and a real Redis.
func TestTraceOnServers(t *testing.T) {
	kafka, redis := needServers(t)
	t.Parallel()
	followTrace(t, kafka, redis)
}

// followTrace expects one trace from a request to its webhook, with the right parents and no data from the request. A
// restart adds nothing to the trace.
func followTrace(t *testing.T, kafka, redis *server) {
	const caller, callerSpan = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	c, p := collectSpans(t), receive(t, "north")
	var leaked sync.Map
	p.answers(func(r *http.Request) int {
		if r.Header.Get("Traceparent") != "" {
			leaked.Store(r.URL.Path, true)
		}
		return http.StatusNoContent
	})
	s := startSystemOn(t, kafka, redis, append(c.env(), p.env...), "north")
	p.hook(t, s, "north", "/hook")
	first, notifier := s.processor("p1"), s.notifier("n1")
	north := s.partners[0]
	north.accepted(t, "census", `{"totalRooms":4,"rooms":[
		{"roomId":1,"roomLabel":"CANARYROOM","area":"L&D","status":"occupied","primaryFactor":"labor-standard"},
		{"roomId":2,"roomLabel":"LDR 2","area":"L&D","status":"occupied","primaryFactor":"labor-standard"}]}`)
	a, err := north.do(http.MethodPost, "/api/ingest/staffing?name=CANARYQUERY", "application/json", `{"nursesOnDuty":1,"callStaffAvailable":true}`,
		"Traceparent", "00-"+caller+"-"+callerSpan+"-01", "Tracestate", "v=CANARYSTATE", "Baggage", "v=CANARYBAGGAGE",
		"X-Request-Id", "CANARYREQUEST", "User-Agent", "CANARYAGENT")
	if err != nil || a.status != http.StatusOK {
		t.Fatalf("%v %v", a, err)
	}
	topic := s.prefix + schemas.Observations().Name
	chain := []struct{ name, service string }{
		{"POST /api/ingest/staffing", "svc"},
		{"send " + topic, "svc"},
		{"process " + topic, "svc-process"},
		{"write view", "svc-process"},
		{"deliver webhook", "svc-notify"},
	}
	var names []string
	for _, one := range chain {
		names = append(names, one.name)
	}
	spans := c.await(t, caller, names...)
	parent := callerSpan
	for i, one := range chain {
		some := named(spans, one.name)
		if len(some) != 1 && one.name != "deliver webhook" {
			t.Errorf("%d spans %q", len(some), one.name)
		}
		for _, span := range some {
			if of := hex.EncodeToString(span.GetParentSpanId()); of != parent || span.service != one.service {
				t.Errorf("%s of %s is a child of %s, want %s", one.name, span.service, of, parent)
			}
			if span.GetEndTimeUnixNano() < span.GetStartTimeUnixNano() {
				t.Errorf("%s ends before it starts", one.name)
			}
		}
		if i < 3 { // the spans of the view and of the delivery are both children of the processor's span
			parent = hex.EncodeToString(some[0].GetSpanId())
		}
	}
	if !strings.Contains(s.front.logged(), `"trace_id":"`+caller+`"`) || !strings.Contains(notifier.logged(), `"trace_id":"`+caller+`"`) {
		t.Error("the log lines have no trace id")
	}

	// The exemplars of the histograms name the trace.
	scrape := &partner{base: s.private, http: http.DefaultClient}
	page, err := scrape.do(http.MethodGet, "/metrics", "", "", "Accept", "application/openmetrics-text;version=1.0.0")
	if err != nil ||
		!strings.Contains(string(page.raw), `# {trace_id="`+caller+`"}`) {
		t.Errorf("no exemplar in the metrics of the front: %v", err)
	}

	// A message over MLLP begins a trace.
	_, address := s.mllp()
	e := &engine{address: func() string { return address }}
	t.Cleanup(e.close)
	at := time.Now().Format("20060102150405-0700")
	code, err := e.send("MSH|^~\\&|A|B|C|D|" + at + "||ADT^A01|CANARYCONTROL|P|2.5.1\rEVN|A01|" + at +
		"\rPID|1||CANARYMRN||CANARYNAME^ANNA||19990817\rPV1|1|I|L&D^LDR 3^01|||||||||||||||||CANARYVISIT\r")
	if err != nil || code != "AA" {
		t.Fatalf("%s %v", code, err)
	}
	c.await(t, c.rootOf(t, "receive MLLP"), "send "+topic, "process "+topic, "write view")

	// Restoring after a restart must not add spans to a trace.
	before := len(c.trace(caller))
	first.kill()
	notifier.kill()
	s.processor("p2")
	s.notifier("n2")
	delivered := len(p.at("/hook"))
	north.accepted(t, "staffing", `{"nursesOnDuty":9}`)
	eventually(t, time.Minute, func() error {
		if n := len(p.at("/hook")); n <= delivered {
			return fmt.Errorf("%d deliveries", n)
		}
		return nil
	})
	if after := c.trace(caller); len(after) != before {
		t.Errorf("a restart added spans to the trace: %v", after[before:])
	}
	leaked.Range(func(path, _ any) bool {
		t.Errorf("%v got a traceparent", path)
		return true
	})
	c.mu.Lock()
	findCanary(t, "a span", c.raw.String(), []string{"CANARY", "19990817"})
	c.mu.Unlock()
	readTopic(t, kafka.address, topic, func(r *kgo.Record) {
		if len(r.Headers) != 1 || r.Headers[0].Key != "traceparent" || len(r.Headers[0].Value) != 55 {
			t.Errorf("a traced record has the headers %v", r.Headers)
		}
	})
	canaries(t, kafka.address, s.prefix, "CANARYSTATE", "CANARYBAGGAGE", caller)

	// Commands that read the topics ignore the headers.
	cli(t, s.env, "verify")
	findCanary(t, "an export", cli(t, s.env, "export", "--topic", "observations", "--format", "ndjson", "--out", "-"), []string{caller})
}

// TestTracesOff: without the environment variables that configure tracing, no record has a trace header.
func TestTracesOff(t *testing.T) {
	t.Parallel()
	kafka, redis := embedServers(t, func(string, []string) string { return "" })
	s := startSystemOn(t, kafka, redis, nil, "north")
	s.processor("p1")
	s.partners[0].accepted(t, "staffing", `{"nursesOnDuty":1,"callStaffAvailable":true}`)
	for _, topic := range []string{schemas.Observations().Name, schemas.Verdicts().Name} {
		readTopic(t, kafka.address, s.prefix+topic, func(r *kgo.Record) {
			if slices.ContainsFunc(r.Headers, func(h kgo.RecordHeader) bool { return h.Key == "traceparent" }) {
				t.Errorf("%s: headers %v", topic, r.Headers)
			}
		})
	}
}

// TestTracesOfAlerts: an e-mail and an SMS belong to the trace of the request that raised the level.
func TestTracesOfAlerts(t *testing.T) {
	c := collectSpans(t)
	for _, one := range c.env() {
		name, value, _ := strings.Cut(one, "=")
		t.Setenv(name, value)
	}
	dir := t.TempDir()
	dev := startDev(t, dir, "--ephemeral")
	d := &desk{t: t, p: newPartner(dev.BaseURL, dev.HospitalID, dev.APIKey), args: []string{"--data", dir}}
	d.onDuty("dev")
	d.surge()
	c.await(t, c.rootOf(t, "POST /api/ingest/staffing"), "deliver email", "deliver sms")
	c.mu.Lock()
	defer c.mu.Unlock()
	findCanary(t, "a span", c.raw.String(), []string{"Canary", "charge@", "5550100"})
}

// TestSilentCollector: a collector that accepts connections and never answers delays no request. Spans that do not
// fit into the queue are counted as dropped.
func TestSilentCollector(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { silent.Close() })
	kafka, redis := embedServers(t, func(string, []string) string { return "" })
	s := startSystemOn(t, kafka, redis, []string{
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://" + silent.Addr().String(), "OTEL_BSP_SCHEDULE_DELAY=10", "OTEL_BSP_MAX_QUEUE_SIZE=4",
	}, "north")
	s.processor("p1")
	for nurses := range 20 {
		s.partners[0].accepted(t, "staffing", fmt.Sprintf(`{"nursesOnDuty":%d,"callStaffAvailable":true}`, nurses))
	}
	if dropped, err := figure(s.private, `svc_trace_spans_total{result="dropped"}`); err != nil || dropped == 0 {
		t.Errorf("%v spans dropped, %v", dropped, err)
	}
}
