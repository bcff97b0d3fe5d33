package fhir

import (
	"strconv"
	"strings"
	"testing"
)

// TestDeletionsBeyondTheLimit: a DELETE counts as a resource. A body with too many is refused; none is left out.
func TestDeletionsBeyondTheLimit(t *testing.T) {
	bundle := func(resources, deletions int) []byte {
		entries := make([]string, 0, resources+deletions)
		for i := range resources {
			entries = append(entries, `{"resource":{"resourceType":"Location","id":"`+strconv.Itoa(i)+`","name":"L"}}`)
		}
		for i := range deletions {
			entries = append(entries, `{"request":{"method":"DELETE","url":"Condition/`+strconv.Itoa(i)+`"}}`)
		}
		return []byte(`{"resourceType":"Bundle","type":"batch","entry":[` + strings.Join(entries, ",") + `]}`)
	}
	for _, resources := range []int{0, 1, MaxResources - 1} {
		facts, fault := Decode(bundle(resources, MaxResources-resources), options())
		if fault != nil || len(facts.Signals) != MaxResources-resources {
			t.Errorf("%d resources: %v", resources, fault)
		}
		if _, fault = Decode(bundle(resources, MaxResources-resources+1), options()); fault == nil || !fault.TooLarge {
			t.Errorf("%d resources, one too many: %v", resources, fault)
		}
	}
}
