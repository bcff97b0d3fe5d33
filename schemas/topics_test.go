package schemas

import (
	"slices"
	"testing"
)

// inRedisAlone lists the records that exist only in Redis, and so are not in any topic.
var inRedisAlone = []string{"unit-chart", "room-chart"}

// TestTopicsHaveEveryRecord: every record except those in inRedisAlone is in a topic. A record without a topic would be
// missing from schema registries, so other systems could not decode it.
func TestTopicsHaveEveryRecord(t *testing.T) {
	topics := map[string][]string{}
	for _, topic := range Topics() {
		for _, record := range topic.Records {
			topics[record] = append(topics[record], topic.Name)
		}
	}
	for _, s := range Released() {
		want := 1
		if slices.Contains(inRedisAlone, s.Record) {
			want = 0
		}
		if len(topics[s.Record]) != want {
			t.Errorf("%s lies in %v, want %d topics", s.Record, topics[s.Record], want)
		}
	}
	for _, s := range Released() {
		delete(topics, s.Record)
	}
	for record := range topics {
		t.Errorf("%s is no released record", record)
	}
}
