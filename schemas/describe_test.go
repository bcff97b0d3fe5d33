package schemas

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/hamba/avro/v2"
)

// openRecords lists the records that other systems may read, by topic.
var openRecords = []struct {
	topic   Topic
	records []*Schema
}{
	{Observations(), []*Schema{newest("observation")}},
	{Verdicts(), []*Schema{newest("change")}},
	{Snapshots(), []*Schema{newest("snapshot")}},
	{Deliveries(), []*Schema{
		newest("ledger-event"), newest("delivery"), newest("endpoint-queue"), newest("notified-unit"), newest("order"), newest("alert-run"),
	}},
	{Audit(), []*Schema{newest("audit")}},
}

// TestOpenFieldsAreDescribed: every field of the records in openRecords has a description, and the page about topics
// links to the schemas.
func TestOpenFieldsAreDescribed(t *testing.T) {
	page, err := os.ReadFile("../docs/topics.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, open := range openRecords {
		for _, s := range open.records {
			if !slices.Contains(open.topic.Records, s.Record) {
				t.Errorf("%s does not lie in %s", s.Record, open.topic.Name)
			}
			record, ok := parsedSchema(t, s).(*avro.RecordSchema)
			if !ok {
				t.Fatalf("%s is no record", s.Record)
			}
			describe(t, record)
			if file := fmt.Sprintf("(../schemas/avsc/%s.v%d.avsc)", s.Record, s.Version); !strings.Contains(string(page), file) {
				t.Errorf("docs/topics.md has no link to %s", file)
			}
		}
	}
}

// describe checks that all fields of a record, and of all nested records, have a description.
func describe(t *testing.T, record *avro.RecordSchema) {
	t.Helper()
	for _, field := range record.Fields() {
		if field.Doc() == "" {
			t.Errorf("%s.%s has no description", record.Name(), field.Name())
		}
		for _, inner := range recordsIn(field.Type()) {
			describe(t, inner)
		}
	}
}

// recordsIn returns the records that a schema defines.
func recordsIn(schema avro.Schema) []*avro.RecordSchema {
	switch s := schema.(type) {
	case *avro.RecordSchema:
		return []*avro.RecordSchema{s}
	case *avro.ArraySchema:
		return recordsIn(s.Items())
	case *avro.UnionSchema:
		return recordsIn(s.Types()[1])
	}
	return nil
}
