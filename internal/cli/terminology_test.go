package cli

import (
	"encoding/json"
	"testing"
)

// TestRulesAreSaidToPeople: the error message explains a rule whose name is not self-explanatory.
func TestRulesAreSaidToPeople(t *testing.T) {
	var no refusal
	if err := json.Unmarshal([]byte(`{"message":"See details.","details":[
		{"path":"readerKeyIds[0]","rule":"key"},{"path":"mappings[1]","rule":"unique"},{"path":"ackMinutes","rule":"range:0-1440"}]}`), &no); err != nil {
		t.Fatal(err)
	}
	if got := no.Error(); got != "See details: readerKeyIds[0] not found: key; mappings[1] is listed twice; ackMinutes range:0-1440" {
		t.Error(got)
	}
}
