package catalogue

import (
	"fmt"
	"slices"
)

// Factor identifies an entry of the catalogue: a primary factor (kind of patient) or a modifier. The zero value means
// no factor. The number is an index that is valid within one process; records and APIs use the id.
type Factor uint8

// FactorByID returns the factor with the given id from the specification, such as "high-mag", and reports whether the
// id is known.
func FactorByID(id string) (Factor, bool) {
	f, ok := Default().byID[id]
	return f, ok
}

// ID returns the factor's id in the specification, or "" for the zero Factor.
func (f Factor) ID() string { return Default().Spec(f).ID }

// Label returns the display name of the factor, or "" for the zero Factor.
func (f Factor) Label() string { return Default().Spec(f).Label }

// Section returns the factor's section in the catalogue. For the zero Factor it returns a section without a name.
func (f Factor) Section() Section { return Default().Spec(f).Section }

// IsPrimary reports whether f is a primary factor.
func (f Factor) IsPrimary() bool { return Default().Spec(f).Primary }

// IsPostpartum reports whether f is a primary factor that begins after the birth.
func (f Factor) IsPostpartum() bool { return Default().traits[f]&traitPostpartum != 0 }

// EndsLabor reports whether f rules out labor because the patient is having a cesarean or has given birth.
func (f Factor) EndsLabor() bool {
	section := f.Section()
	return section == sectionPostpartum || section == sectionCesarean
}

// IsNewborn reports whether f is a primary factor of a newborn. A patient whose message or census row names such a
// factor never counts as a mother.
func (f Factor) IsNewborn() bool { return f.Section() == sectionNewborn }

// Criteria returns the criteria text, which includes the nurse-to-patient ratio.
func (f Factor) Criteria() string { return Default().Spec(f).Criteria }

// RatioPatientType returns the kind of patient to which a primary factor's ratio applies, or "" for a modifier.
func (f Factor) RatioPatientType() string { return Default().Spec(f).RatioPatientType }

// Section is a section of the catalogue.
type Section uint8

// The sections of primary factors, followed by the sections of modifiers.
const (
	sectionNone Section = iota
	sectionTriage
	sectionAntepartum
	sectionLabor
	sectionCesarean
	sectionOR
	sectionPostpartum
	sectionNewborn
	sectionOther
	sectionHighRisk
	sectionLaborModifiers
	sectionPostpartumModifiers
	sectionNewbornModifiers
	sectionEnvironment
)

var sectionNames = [...]string{
	"", "Triage", "Antepartum", "Labor", "Cesarean", "OR procedure", "Postpartum couplet", "Newborn", "Other",
	"High-risk modifiers", "Labor modifiers", "Postpartum modifiers", "Newborn modifiers", "Care-environment modifiers",
}

// String returns the section's name in the specification.
func (s Section) String() string { return sectionNames[s] }

func sectionByName(name string) (Section, error) {
	i := slices.Index(sectionNames[:], name)
	if i <= 0 {
		return sectionNone, fmt.Errorf("unknown section %q", name)
	}
	return Section(i), nil //nolint:gosec // there are fewer than 256 sections
}

// Sections is a set of sections.
type Sections uint16

func setOf(s Section) Sections { return 1 << s }

// HasBirths reports whether s contains a section whose patients give birth: Labor or Cesarean.
func (s Sections) HasBirths() bool { return s&(setOf(sectionLabor)|setOf(sectionCesarean)) != 0 }

// FactorSet is a set of factors.
type FactorSet [4]uint64

// Add adds f to the set.
func (s *FactorSet) Add(f Factor) { s[f>>6] |= 1 << (f & 63) }

// Has reports whether f is in the set.
func (s *FactorSet) Has(f Factor) bool { return s[f>>6]&(1<<(f&63)) != 0 }
