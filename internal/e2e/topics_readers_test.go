package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"testing"

	"svc/schemas"
)

// TestTopicsReadByOthers reads every topic to its end with Confluent's consumer and Avro deserializer, which use svc's
// schema registry. Each value must be readable. A record without a value must be a barrier or a deletion.
func TestTopicsReadByOthers(t *testing.T) {
	interpreter := pythonForTopics(t)
	d := exportable(t)
	args := []string{"testdata/topics.py", d.Kafka, d.BaseURL + "/registry"}
	for _, topic := range schemas.Topics() {
		args = append(args, topic.Name)
	}
	read := exec.Command(interpreter, args...)
	read.Stderr = os.Stderr
	content, err := read.Output()
	if err != nil {
		t.Fatal(err)
	}
	var found map[string]struct {
		Kinds, Empty map[string]int
		Examples     map[string]map[string]any
	}
	if err := json.Unmarshal(content, &found); err != nil {
		t.Fatal(err)
	}
	for topic, kinds := range map[string][]string{
		"svc.v1.observations": {"Observation"},
		"svc.v1.verdicts":     {"Change", "UnitState", "RoomState", "VisitState"},
		"svc.v1.settings":     {"Key", "Hospital", "Webhook", "InstalledKey"},
		"svc.v1.audit":        {"Audit"},
		"svc.v1.deliveries":   {"LedgerEvent", "Entry", "EndpointQueue"},
		"svc.v1.snapshots":    {"Snapshot"},
		"svc.v1.models":       {"Model"},
	} {
		for _, kind := range kinds {
			if found[topic].Kinds[kind] == 0 {
				t.Errorf("%s: no %s among %v", topic, kind, found[topic].Kinds)
			}
		}
	}
	barriers := 0
	for topic, f := range found {
		for header := range f.Empty {
			if header != "" && header != "barrier" {
				t.Errorf("%s: a record without a value is called %q", topic, header)
			}
		}
		barriers += f.Empty["barrier"]
	}
	if barriers == 0 {
		t.Error("no barrier was seen, and each start of a process makes some")
	}
	if o := found["svc.v1.observations"].Examples["Observation"]; o["hospital"] != d.HospitalID || o["receivedAt"] == nil {
		t.Errorf("an observation is read as %v", o)
	}
}
