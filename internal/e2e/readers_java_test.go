package e2e

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"svc/internal/testkit/runtimes"
	"svc/schemas"
)

// needReaders skips a test that downloads the packages of analysts' tools (half a gigabyte in total), unless
// SVC_READERS is set.
func needReaders(t *testing.T) {
	t.Helper()
	if os.Getenv("SVC_READERS") == "" {
		t.Skip("needs packages of other tools: make readers")
	}
}

// readersInJava are the analysts' Java programs.
type readersInJava struct{ target string }

func newReadersInJava(t *testing.T) readersInJava {
	t.Helper()
	needReaders(t)
	return readersInJava{filepath.Join(runtimes.Maven(t, filepath.Join("testdata", "readers")), "target")}
}

// command returns a command that runs a Java class with the packages for the given major version of Apicurio.
func (j readersInJava) command(generation int, class string, args ...string) *exec.Cmd {
	lib := filepath.Join(j.target, map[int]string{2: "lib", 3: "lib3"}[generation], "*")
	classes := filepath.Join(filepath.Dir(j.target), fmt.Sprint("apicurio", generation), "target", "classes")
	return exec.Command("java", append([]string{"-XX:TieredStopAtLevel=1", "-cp", classes + string(os.PathListSeparator) + lib, class}, args...)...)
}

// topics reads topics to their end, and returns the number of records by kind.
func (j readersInJava) topics(t *testing.T, generation int, kafka, registry string, names ...string) map[string]int {
	t.Helper()
	read := j.command(generation, "Topics", append([]string{kafka, fmt.Sprintf("%s/apis/registry/v%d", registry, generation)}, names...)...)
	var faults bytes.Buffer
	read.Stderr = &faults
	out, err := read.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, &faults)
	}
	kinds := map[string]int{}
	for line := range strings.Lines(string(out)) {
		var topic, kind string
		var n int
		if _, err := fmt.Sscan(line, &topic, &kind, &n); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		kinds[topic+" "+kind] = n
	}
	return kinds
}

// TestTopicsInApicurio reads every topic with the deserializers of both supported major versions of
// Apicurio, which use the registry of svc.
func TestTopicsInApicurio(t *testing.T) {
	j := newReadersInJava(t)
	d := exportable(t)
	var names []string
	for _, topic := range schemas.Topics() {
		names = append(names, topic.Name)
	}
	for _, generation := range []int{2, 3} {
		kinds := j.topics(t, generation, d.Kafka, d.BaseURL+"/registry", names...)
		for _, kind := range []string{
			"svc.v1.observations Observation", "svc.v1.verdicts Change", "svc.v1.verdicts RoomState", "svc.v1.settings Key",
			"svc.v1.audit Audit", "svc.v1.deliveries LedgerEvent", "svc.v1.snapshots Snapshot", "svc.v1.models Model",
		} {
			if kinds[kind] == 0 {
				t.Errorf("generation %d: no %s among %v", generation, kind, kinds)
			}
		}
	}
}

// TestTopicsInKafkaConnect exports the snapshots with the file sink of Kafka Connect, which uses the Avro converter of
// Apicurio and the registry of svc.
func TestTopicsInKafkaConnect(t *testing.T) {
	j := newReadersInJava(t)
	d := exportable(t)
	want := 0
	for line := range strings.Lines(cli(t, nil, "export", "--topic", "snapshots", "--format", "ndjson", "--out", "-", "--data", d.dir)) {
		if line != "" {
			want++
		}
	}
	dir := t.TempDir()
	out := filepath.Join(dir, "snapshots.txt")
	file := func(name string, lines ...string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	worker := file("worker.properties",
		"bootstrap.servers="+d.Kafka, "listeners=http://127.0.0.1:"+mustFreePort(t), "offset.storage.file.filename="+filepath.Join(dir, "offsets"),
		"consumer.isolation.level=read_committed", "key.converter=org.apache.kafka.connect.converters.ByteArrayConverter",
		"value.converter=io.apicurio.registry.utils.converter.AvroConverter", "value.converter.apicurio.registry.url="+d.BaseURL+"/registry/apis/registry/v2",
		"value.converter.apicurio.registry.as-confluent=true", "value.converter.apicurio.registry.use-id=contentId",
	)
	sink := file("sink.properties", "name=snapshots", "connector.class=org.apache.kafka.connect.file.FileStreamSinkConnector", "tasks.max=1", "topics=svc.v1.snapshots", "file="+out)
	connect := j.command(2, "org.apache.kafka.connect.cli.ConnectStandalone", worker, sink)
	var said bytes.Buffer
	connect.Stdout, connect.Stderr = &said, &said
	if err := connect.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- connect.Wait() }()
	t.Cleanup(func() {
		connect.Process.Kill()
		<-ended
	})
	eventually(t, 2*time.Minute, func() error {
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("Kafka Connect ended: %v\n%s", err, &said)
		default:
		}
		content, err := os.ReadFile(out)
		if err != nil {
			return err
		}
		got := 0
		for line := range strings.Lines(string(content)) {
			if strings.HasPrefix(line, "Struct{hospital="+d.HospitalID+",snapshot=Struct{hour=") {
				got++
			}
		}
		if got < want {
			return fmt.Errorf("%d of %d snapshots", got, want)
		}
		return nil
	})
}

// TestForeignRegistry runs svc with an external schema registry. Every subject must be registered there, and a reader
// that knows only that registry must be able to read every record. An installation without this registry must be able
// to import an export of the first installation. If the registry refuses a schema, the process must exit.
func TestForeignRegistry(t *testing.T) {
	j := newReadersInJava(t)
	kafka, redis := embedServers(t, func(string, []string) string { return "" })
	url := j.registry(t)
	confluent := url + "/apis/ccompat/v7"
	s := startSystemOn(t, kafka, redis, []string{"SVC_SCHEMA_REGISTRY=" + confluent}, "north")
	s.processor("p1")
	s.partners[0].sendEvents(t, simulatedEvents(t, 1, 1))
	say(t, s.partners[0], 6)
	waitUntilSettled(t, s.partners)

	var names []string
	for _, topic := range schemas.Topics() {
		names = append(names, s.prefix+topic.Name)
	}
	kinds := j.topics(t, 2, kafka.address, url, names...)
	for _, kind := range []string{"svc.v1.observations Observation", "svc.v1.verdicts Change", "svc.v1.settings Key", "svc.v1.audit Audit"} {
		if kinds[s.prefix+kind] == 0 {
			t.Errorf("no %s among %v", kind, slices.Sorted(maps.Keys(kinds)))
		}
	}
	// An installation without this registry imports the export.
	export := filepath.Join(t.TempDir(), "export")
	cli(t, s.env, "export", "--topic", "observations", "--out", export)
	d := startDev(t, t.TempDir(), "--ephemeral")
	cli(t, nil, "import", export, "--data", d.dir)
	eventually(t, time.Minute, func() error {
		verify := exec.Command(binary(t), "verify", "--data", d.dir)
		out, err := verify.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "ok north: ") {
			return fmt.Errorf("svc verify: %w\n%s", cmp.Or(err, errors.New("north is not verified")), out)
		}
		return nil
	})
	// In another installation, an incompatible Observation is already registered.
	other := append(slices.Clone(s.env), "SVC_TOPIC_PREFIX=other.")
	const made = `{"schema":"{\"type\":\"record\",\"name\":\"Observation\",\"namespace\":\"svc\",\"fields\":[{\"name\":\"hospital\",\"type\":\"int\"}]}"}`
	for path, body := range map[string]string{"/config": `{"compatibility":"BACKWARD"}`, "/subjects/other.svc.v1.observations-svc.Observation/versions": made} {
		method := map[bool]string{true: http.MethodPut, false: http.MethodPost}[path == "/config"]
		request, err := http.NewRequestWithContext(t.Context(), method, confluent+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/vnd.schemaregistry.v1+json")
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s", path, answer.Status)
		}
	}
	refused := exec.Command(binary(t), "process", "--instance", "p1", "--private-listen", "127.0.0.1:"+mustFreePort(t))
	refused.Env = append(os.Environ(), other...)
	out, err := refused.CombinedOutput()
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || !strings.Contains(string(out), "the schema registry rejects other.svc.v1.observations-svc.Observation") {
		t.Errorf("%v\n%s", err, out)
	}
}

// registry starts Apicurio's schema registry with storage in memory, and returns its address.
func (j readersInJava) registry(t *testing.T) (url string) {
	t.Helper()
	jars, err := filepath.Glob(filepath.Join(j.target, "registry", "*-runner.jar"))
	if err != nil || len(jars) != 1 {
		t.Fatal(jars, err)
	}
	port := mustFreePort(t)
	url = "http://127.0.0.1:" + port
	program := exec.Command("java", "-XX:TieredStopAtLevel=1", "-Xmx512m", "-Dquarkus.http.host=127.0.0.1", "-Dquarkus.http.port="+port, "-jar", jars[0])
	program.Dir = t.TempDir()
	var said bytes.Buffer
	program.Stdout, program.Stderr = &said, &said
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		program.Process.Kill()
		program.Wait()
		if t.Failed() {
			t.Logf("the registry said\n%s", &said)
		}
	})
	eventually(t, 3*time.Minute, func() error { return ready(url + "/apis/ccompat/v7/subjects") })
	return url
}
