package e2e

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"svc/schemas"
)

// TestRefusalsLeaveNothing sends invalid requests to every feed of a running svc dev. Each refusal must have an error
// envelope, and nothing may be written to the log. The tests of the handlers cover every field.
func TestRefusalsLeaveNothing(t *testing.T) {
	t.Parallel()
	d := startDev(t, t.TempDir(), "--ephemeral")
	p := newPartner(d.BaseURL, d.HospitalID, d.APIKey)
	deep := strings.Repeat(`{"rooms":[`, 40) + strings.Repeat(`]}`, 40)
	for name, tt := range map[string]struct {
		feed, contentType, body string
		status                  int
		path                    string // path of the first detail
	}{
		"not JSON":             {"staffing", "application/json", `{"nursesOnDuty":`, 400, ""},
		"missing field":        {"staffing", "application/json", `{}`, 400, "nursesOnDuty"},
		"wrong type":           {"clinical", "application/json", `{"roomId":"4","signals":[]}`, 400, "roomId"},
		"out of bounds":        {"clinical", "application/json", `{"roomId":-1,"signals":[]}`, 400, "roomId"},
		"unknown enumeration":  {"census", "application/json", `{"rooms":[{"roomId":1,"status":"full"}]}`, 400, "rooms[0].status"},
		"one of two is bad":    {"clinical", "application/json", `{"roomId":1,"signals":[{"kind":"medication","system":"RxNorm","code":"6585"},{"kind":"smoke"}]}`, 400, "signals[1].kind"},
		"unknown factor":       {"census", "application/json", `{"rooms":[{"roomId":1,"status":"occupied","primaryFactor":"no-such"}]}`, 422, "rooms[0].primaryFactor"},
		"too many":             {"batch", "application/json", `{"events":[` + strings.Repeat(`{},`, 500) + `{}]}`, 400, "events"},
		"too large":            {"roster", "application/json", `{"nurses":[],"x":"` + strings.Repeat("a", 1<<20) + `"}`, 413, ""},
		"too deep":             {"census", "application/json", deep, 400, ""},
		"wrong content type":   {"adt", "text/csv", `a,b`, 415, ""},
		"HL7 without a header": {"hl7", "text/plain", `PID|1`, 400, ""},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := p.do(http.MethodPost, "/api/ingest/"+tt.feed, tt.contentType, tt.body)
			if err != nil {
				t.Fatal(err)
			}
			code := map[int]string{422: "unprocessable"}[tt.status]
			if code == "" {
				code = "invalid_request"
			}
			if a.status != tt.status || a.OK || a.Protocol != "svc.v1" || a.Error.Code != code || a.Error.Message == "" {
				t.Fatalf("%d %s", a.status, a.raw)
			}
			if tt.path != "" && (len(a.Error.Details) == 0 || a.Error.Details[0].Path != tt.path || a.Error.Details[0].Rule == "") {
				t.Errorf("details %+v, want path %s", a.Error.Details, tt.path)
			}
		})
	}
	for path, status := range map[string]int{"/api/ingest/nothing": 404, "/nothing": 404, "/api/v1/nothing": 404} {
		if a, err := p.do(http.MethodPost, path, "application/json", `{}`); err != nil || a.status != status || a.Error.Code != "not_found" {
			t.Errorf("%s: %v %+v", path, err, a)
		}
	}
	readTopic(t, d.Kafka, schemas.Observations().Name, func(r *kgo.Record) {
		t.Errorf("a refused request is in the log: %d:%d %s", r.Partition, r.Offset, r.Key)
	})
	if a := p.get(t, "/api/v1/unit-state"); a.status != http.StatusNotFound {
		t.Errorf("unit-state after nothing but refusals: %d %s", a.status, a.raw)
	}
}

// TestTopicsThatDoNotFit starts a processor on an existing topic with unsuitable settings. The processor must exit,
// and must name the topic and each of these settings.
func TestTopicsThatDoNotFit(t *testing.T) {
	t.Parallel()
	kafka, redis := needServers(t)
	prefix := fmt.Sprintf("misfit%d.", time.Now().UnixNano())
	client, err := kgo.NewClient(kgo.SeedBrokers(kafka.address), kgo.AlwaysRetryEOF())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	policy := "delete"
	if _, err := kadm.NewClient(client).CreateTopic(context.Background(), 4, 1, map[string]*string{"cleanup.policy": &policy}, prefix+schemas.Verdicts().Name); err != nil {
		t.Fatal(err)
	}
	n := start(t, "process", []string{"process", "--instance", "p1", "--private-listen", "127.0.0.1:" + mustFreePort(t)},
		"SVC_KAFKA="+kafka.address, "SVC_REDIS=redis://"+redis.address+"/0", "SVC_TOPIC_PREFIX="+prefix, "SVC_PARTITIONS=6")
	select {
	case <-n.exited:
	case <-after(time.Minute):
		t.Fatal("it runs on topics that do not fit")
	}
	said := n.logged()
	if n.cmd.ProcessState.ExitCode() != 1 || !strings.Contains(said, prefix+schemas.Verdicts().Name) || !strings.Contains(said, "cleanup.policy") || !strings.Contains(said, "partitions") {
		t.Errorf("exit code %d, says %s", n.cmd.ProcessState.ExitCode(), said)
	}
}

// TestRevokedOnServers revokes a key on the command line. Another process must refuse the key
// within a second.
func TestRevokedOnServers(t *testing.T) {
	s := startSystem(t, "north")
	p := s.partners[0]
	listed := items[struct{ ID, Name string }](t, cli(t, s.env, "keys", "list", "--hospital", "north", "--json"))
	if len(listed) != 1 {
		t.Fatalf("keys %+v", listed)
	}
	cli(t, s.env, "keys", "revoke", listed[0].ID)
	eventually(t, time.Second, func() error { return wantStatus(p.get(t, "/api/v1/level").status, http.StatusUnauthorized) })
}
