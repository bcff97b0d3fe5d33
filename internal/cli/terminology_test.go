package cli

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// TestThanIsANumberOfJSON: a fault names the line of a value that is no JSON number.
func TestThanIsANumberOfJSON(t *testing.T) {
	rows, faults, err := readRows(strings.NewReader("system,code,factorId,op,than\n" +
		"local,A,high-mag,>=,4\nlocal,B,high-mag,>=,nan\nlocal,C,high-mag,>=,0x10\nlocal,D,high-mag,>=,-2.5e1\nlocal,E,high-mag,>=,\n"))
	want := []string{"line 3: than: type:number", "line 4: than: type:number", "line 6: than: type:number"}
	if err != nil || len(rows) != 2 || !slices.Equal(faults, want) {
		t.Errorf("%d rows, %q, %v", len(rows), faults, err)
	}
}

// TestRulesAreSaidToPeople: a message explains the rule; its name is for programs.
func TestRulesAreSaidToPeople(t *testing.T) {
	var no refusal
	if err := json.Unmarshal([]byte(`{"message":"See details.","details":[
		{"path":"readerKeyIds[0]","rule":"key"},{"path":"mappings[1]","rule":"unique"},{"path":"ackMinutes","rule":"range:0-1440"}]}`), &no); err != nil {
		t.Fatal(err)
	}
	if got := no.Error(); got != "See details: readerKeyIds[0] there is no such key; mappings[1] is there twice; ackMinutes range:0-1440" {
		t.Error(got)
	}
}
