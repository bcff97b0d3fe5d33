package schemas

import (
	"embed"
	"fmt"
	"slices"
	"sync"

	"github.com/hamba/avro/v2"
)

// Schema is one released version of one record. Its text is the file
// avsc/<record>.v<version>.avsc.
type Schema struct {
	Record      string
	Version     int
	Fingerprint Fingerprint
}

// The released versions. The fingerprints are written here and not computed at start, because
// they are a promise: a test compares them with the files.
var (
	observationV1    = Schema{"observation", 1, 0xcf3f075c21921567}
	observationV2    = Schema{"observation", 2, 0x802e18f6c4978ee1}
	observationV3    = Schema{"observation", 3, 0xfe6b67009c2a93ae}
	referentStateV1  = Schema{"referent-state", 1, 0xee83029c3ff21dad}
	changeV1         = Schema{"change", 1, 0xfeb2451ae2597fd3}
	changeV2         = Schema{"change", 2, 0x75a3db43cca1841a}
	changeV3         = Schema{"change", 3, 0xf736b2d3bc2673cd}
	changeV4         = Schema{"change", 4, 0xb9786df3328913c4}
	changeV5         = Schema{"change", 5, 0xd23265c2b3c6d35f}
	unitChartV3      = Schema{"unit-chart", 3, 0x6f2c6c4e5d748388}
	unitStateV2      = Schema{"unit-state", 2, 0x8c7857b234a94126}
	snapshotV1       = Schema{"snapshot", 1, 0x6b8c5698ffc1f317}
	modelV1          = Schema{"model", 1, 0x00d4a80a0b3525fe}
	unitChartV2      = Schema{"unit-chart", 2, 0x6262e719939ae94d}
	ruleStateV1      = Schema{"rule-state", 1, 0x5e612f52cd35d4e1}
	placeStateV1     = Schema{"place-state", 1, 0x946031ecbe7d9487}
	switchesStateV1  = Schema{"switches-state", 1, 0x4d2ae9f3e86692c1}
	unitChartV1      = Schema{"unit-chart", 1, 0x340860bdee1a67cd}
	roomChartV1      = Schema{"room-chart", 1, 0xd22fb2fa8d0f52c8}
	unitStateV1      = Schema{"unit-state", 1, 0x9108768957d57a61}
	roomStateV1      = Schema{"room-state", 1, 0x7323ebc6bae332b3}
	visitStateV1     = Schema{"visit-state", 1, 0xbb8c3af0d6253dd6}
	visitStateV2     = Schema{"visit-state", 2, 0x23e338548359d6af}
	heardStateV1     = Schema{"heard-state", 1, 0xdb342275e5cfd292}
	heardStateV2     = Schema{"heard-state", 2, 0x696a355d44c28f84}
	seenStateV1      = Schema{"seen-state", 1, 0x2dfd65ccdff3b108}
	seenStateV2      = Schema{"seen-state", 2, 0x015b38f01f2f9c14}
	mappingStateV1   = Schema{"mapping-state", 1, 0xd3bcdfcf9edb59bf}
	mappingStateV2   = Schema{"mapping-state", 2, 0x9aa0174857adde9c}
	codeStateV1      = Schema{"code-state", 1, 0xced1ff49db1bc210}
	codeStateV2      = Schema{"code-state", 2, 0xe38183262e9ec42d}
	keyV1            = Schema{"key", 1, 0xa70cd7359ee041c7}
	keyV2            = Schema{"key", 2, 0x31916b25a8c53cbe}
	hospitalV1       = Schema{"hospital", 1, 0x0693232fca2267d3}
	hospitalV2       = Schema{"hospital", 2, 0x93962e0b5c007f72}
	hospitalV3       = Schema{"hospital", 3, 0x80f2978ef31694c6}
	auditV1          = Schema{"audit", 1, 0x68a187920242a7bc}
	deadLetterV1     = Schema{"dead-letter", 1, 0x6c8b60be938b9b6e}
	ledgerEventV1    = Schema{"ledger-event", 1, 0xa755fc25fd4c8e13}
	deliveryV1       = Schema{"delivery", 1, 0xfc7eb9251b9f3f34}
	laneV1           = Schema{"lane", 1, 0x6e8ef8ac305e99e9}
	notifiedUnitV1   = Schema{"notified-unit", 1, 0xd3bc29b603ae048b}
	orderV1          = Schema{"order", 1, 0xc3aac4fe89e84924}
	webhookV1        = Schema{"webhook", 1, 0x7dd7821125fed546}
	alertTierV1      = Schema{"alert-tier", 1, 0x34f005fc3d8f22a3}
	alertRecipientV1 = Schema{"alert-recipient", 1, 0xa9af768ab71f918f}
	installedKeyV1   = Schema{"installed-key", 1, 0x3036771ea8b9bd62}
)

var released = []*Schema{
	&observationV1, &observationV2, &observationV3, &changeV1, &changeV2, &changeV3, &changeV4, &changeV5, &unitChartV1, &unitChartV2, &unitChartV3, &roomChartV1,
	&unitStateV1, &unitStateV2, &roomStateV1, &visitStateV1, &visitStateV2, &heardStateV1, &heardStateV2, &seenStateV1, &seenStateV2,
	&mappingStateV1, &mappingStateV2, &codeStateV1, &codeStateV2,
	&ruleStateV1, &placeStateV1, &switchesStateV1, &referentStateV1,
	&keyV1, &keyV2, &hospitalV1, &hospitalV2, &hospitalV3, &auditV1, &deadLetterV1, &snapshotV1, &modelV1,
	&ledgerEventV1, &deliveryV1, &laneV1, &notifiedUnitV1, &orderV1,
	&webhookV1, &alertTierV1, &alertRecipientV1, &installedKeyV1,
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

// find returns the released version with a fingerprint, or nil.
func find(f Fingerprint) *Schema {
	i := slices.IndexFunc(released, func(s *Schema) bool { return s.Fingerprint == f })
	if i < 0 {
		return nil
	}
	return released[i]
}

//go:embed avsc/*.avsc
var files embed.FS

// Text returns the schema as it was released, in JSON.
func (s Schema) Text() ([]byte, error) { return files.ReadFile(s.file()) }

func (s *Schema) file() string { return fmt.Sprintf("avsc/%s.v%d.avsc", s.Record, s.Version) }

// parsed holds the parsed schemas by file. A schema is parsed when the first bytes of an older
// version are met.
var parsed sync.Map

// parse returns the schema as the library sees it.
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
