package schemas

import (
	"embed"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/hamba/avro/v2"
)

// Schema is one released version of one record. Its text is the file
// avsc/<record>.v<version>.avsc.
type Schema struct {
	Record  string
	Version int
	ID      SchemaID // in this build; never changes
}

// The released versions. Each record has a hundred ids, the first for its first version. The ids
// are far above those of a schema registry, which counts from 1. They never change, since the log
// holds them.
var (
	observationV1    = Schema{"observation", 1, 1400000101}
	referenceStateV1 = Schema{"reference-state", 1, 1400000201}
	changeV1         = Schema{"change", 1, 1400000301}
	unitChartV1      = Schema{"unit-chart", 1, 1400000401}
	unitChartV2      = Schema{"unit-chart", 2, 1400000402}
	unitStateV1      = Schema{"unit-state", 1, 1400000501}
	unitStateV2      = Schema{"unit-state", 2, 1400000502}
	snapshotV1       = Schema{"snapshot", 1, 1400000601}
	modelV1          = Schema{"model", 1, 1400000701}
	modelV2          = Schema{"model", 2, 1400000702}
	ruleStateV1      = Schema{"rule-state", 1, 1400000801}
	placeStateV1     = Schema{"place-state", 1, 1400000901}
	switchesStateV1  = Schema{"switches-state", 1, 1400001001}
	roomChartV1      = Schema{"room-chart", 1, 1400001101}
	roomChartV2      = Schema{"room-chart", 2, 1400001102}
	roomStateV1      = Schema{"room-state", 1, 1400001201}
	visitStateV1     = Schema{"visit-state", 1, 1400001301}
	statementStateV1 = Schema{"statement-state", 1, 1400001401}
	dedupStateV1     = Schema{"dedup-state", 1, 1400001501}
	mappingStateV1   = Schema{"mapping-state", 1, 1400001601}
	codeStateV1      = Schema{"code-state", 1, 1400001701}
	keyV1            = Schema{"key", 1, 1400001801}
	keyV2            = Schema{"key", 2, 1400001802}
	hospitalV1       = Schema{"hospital", 1, 1400001901}
	auditV1          = Schema{"audit", 1, 1400002001}
	deadLetterV1     = Schema{"dead-letter", 1, 1400002101}
	ledgerEventV1    = Schema{"ledger-event", 1, 1400002201}
	deliveryV1       = Schema{"delivery", 1, 1400002301}
	endpointQueueV1  = Schema{"endpoint-queue", 1, 1400002401}
	notifiedUnitV1   = Schema{"notified-unit", 1, 1400002501}
	orderV1          = Schema{"order", 1, 1400002601}
	orderV2          = Schema{"order", 2, 1400002602}
	webhookV1        = Schema{"webhook", 1, 1400002701}
	alertTierV1      = Schema{"alert-tier", 1, 1400002801}
	alertRecipientV1 = Schema{"alert-recipient", 1, 1400002901}
	installedKeyV1   = Schema{"installed-key", 1, 1400003001}
	linkV1           = Schema{"link", 1, 1400003101}
	userV1           = Schema{"user", 1, 1400003201}
	wallV1           = Schema{"wall", 1, 1400003301}
	layoutV1         = Schema{"layout", 1, 1400003401}
)

var released = []*Schema{
	&observationV1, &referenceStateV1, &changeV1, &unitChartV1, &unitChartV2, &unitStateV1, &unitStateV2, &snapshotV1,
	&modelV1, &modelV2,
	&ruleStateV1, &placeStateV1, &switchesStateV1, &roomChartV1, &roomChartV2, &roomStateV1, &visitStateV1, &statementStateV1,
	&dedupStateV1, &mappingStateV1, &codeStateV1, &keyV1, &keyV2, &hospitalV1, &auditV1, &deadLetterV1, &ledgerEventV1,
	&deliveryV1, &endpointQueueV1, &notifiedUnitV1, &orderV1, &orderV2, &webhookV1, &alertTierV1, &alertRecipientV1,
	&installedKeyV1, &linkV1, &userV1, &wallV1, &layoutV1,
}

// Released returns all released versions of all records, the versions of one
// record ascending.
func Released() []Schema {
	list := make([]Schema, len(released))
	for i, s := range released {
		list[i] = *s
	}
	return list
}

//go:embed avsc/*.avsc
var files embed.FS

// Describe returns the full name of the record and the schema as it was released.
func (s Schema) Describe() (name, text string) {
	b, err := s.Text()
	var head struct{ Name, Namespace string }
	if err == nil {
		err = json.Unmarshal(b, &head)
	}
	if err != nil {
		panic("schemas: " + err.Error()) // a file of the build: any test finds it
	}
	return head.Namespace + "." + head.Name, string(b)
}

// Text returns the schema as it was released, in JSON.
func (s Schema) Text() ([]byte, error) { return files.ReadFile(s.file()) }

func (s *Schema) file() string { return fmt.Sprintf("avsc/%s.v%d.avsc", s.Record, s.Version) }

// parsed holds the parsed schemas by file. A schema is parsed when bytes of an older version are
// read for the first time.
var parsed sync.Map

// parse returns the schema in the form of the Avro library.
func (s *Schema) parse() (avro.Schema, error) {
	if known, ok := parsed.Load(s.file()); ok {
		if schema, ok := known.(avro.Schema); ok {
			return schema, nil
		}
	}
	text, err := s.Text()
	if err != nil {
		return nil, err
	}
	// A cache of its own: the versions of a record share their name.
	schema, err := avro.ParseBytesWithCache(text, "", &avro.SchemaCache{})
	if err != nil {
		return nil, fmt.Errorf("parse %s: %w", s.file(), err)
	}
	parsed.Store(s.file(), schema)
	return schema, nil
}
