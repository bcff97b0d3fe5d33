package schemas

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/hamba/avro/v2"
)

// openRecords are the records for other systems, by topic.
var openRecords = []struct {
	topic   Topic
	records []*Schema
}{
	{Observations(), []*Schema{newest("observation")}},
	{Verdicts(), []*Schema{newest("change")}},
	{Snapshots(), []*Schema{newest("snapshot")}},
	{Deliveries(), []*Schema{newest("ledger-event"), newest("delivery"), newest("endpoint-queue"), newest("notified-unit"), newest("order")}},
	{Audit(), []*Schema{newest("audit")}},
}

// topicsPage is generated below this line.
const (
	topicsPage = "../docs/topics.md"
	fieldsLine = "<!-- fields: written by go test ./schemas -update -->\n"
)

// TestOpenFieldsAreDescribed checks that every field of these records has a description, and that
// the page on topics has all of them.
func TestOpenFieldsAreDescribed(t *testing.T) {
	var page strings.Builder
	for _, open := range openRecords {
		fmt.Fprintf(&page, "\n## %s\n", open.topic.Name)
		for _, s := range open.records {
			if !slices.Contains(open.topic.Records, s.Record) {
				t.Errorf("%s does not lie in %s", s.Record, open.topic.Name)
			}
			record, ok := parsedSchema(t, s).(*avro.RecordSchema)
			if !ok {
				t.Fatalf("%s is no record", s.Record)
			}
			describe(t, &page, record, "###")
		}
	}
	content, err := os.ReadFile(topicsPage)
	if err != nil {
		t.Fatal(err)
	}
	before, after, found := strings.Cut(string(content), fieldsLine)
	if !found {
		t.Fatalf("%s has no line %s", topicsPage, fieldsLine)
	}
	if *update {
		if err := os.WriteFile(topicsPage, []byte(before+fieldsLine+page.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	} else if after != page.String() {
		t.Errorf("%s is not what the schemas say; run go test ./schemas -update", topicsPage)
	}
}

// describe writes the table of a record, and after it those of the records within.
func describe(t *testing.T, page *strings.Builder, record *avro.RecordSchema, heading string) {
	t.Helper()
	fmt.Fprintf(page, "\n%s %s\n", heading, record.Name())
	if record.Doc() != "" {
		fmt.Fprintf(page, "%s\n", record.Doc())
	}
	page.WriteString("\n| field | type | what |\n|---|---|---|\n")
	var within []*avro.RecordSchema
	for _, field := range record.Fields() {
		if field.Doc() == "" {
			t.Errorf("%s.%s has no description", record.Name(), field.Name())
		}
		fmt.Fprintf(page, "| `%s` | %s | %s |\n", field.Name(), typeInWords(field.Type(), &within), strings.ReplaceAll(field.Doc(), "|", `\|`))
	}
	for _, inner := range within {
		describe(t, page, inner, "####")
	}
}

// typeInWords names a type, and appends the records that are defined in it.
func typeInWords(schema avro.Schema, within *[]*avro.RecordSchema) string {
	switch s := schema.(type) {
	case *avro.RecordSchema:
		*within = append(*within, s)
		return s.Name()
	case *avro.RefSchema:
		return s.Schema().Name()
	case *avro.EnumSchema:
		return strings.Join(s.Symbols(), ", ")
	case *avro.FixedSchema:
		return fmt.Sprintf("%d bytes", s.Size())
	case *avro.ArraySchema:
		return "list of " + typeInWords(s.Items(), within)
	case *avro.UnionSchema:
		return typeInWords(s.Types()[1], within) + " or null"
	case *avro.PrimitiveSchema:
		if s.Logical() != nil {
			return "instant, milliseconds since 1970 UTC"
		}
		return string(s.Type())
	}
	return string(schema.Type())
}
