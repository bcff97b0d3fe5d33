package catalogue

import (
	"fmt"
	"slices"
)

// Factor is a row of the catalogue: a primary factor, which is the kind of patient, or a
// modifier on top of it. The zero value is no factor. The number is an index for speed;
// only the id is ever written or sent.
type Factor uint8

// FactorByID returns the factor with an id of the specification, such as "high-mag";
// false: there is none.
func FactorByID(id string) (Factor, bool) {
	f, ok := Default().byID[id]
	return f, ok
}

// ID returns the id of the specification; "" for no factor.
func (f Factor) ID() string { return Default().Spec(f).ID }

// Label returns the name for people; "" for no factor.
func (f Factor) Label() string { return Default().Spec(f).Label }

// Section returns the section of the catalogue; a section without a name for no factor.
func (f Factor) Section() Section { return Default().Spec(f).Section }

// IsPrimary reports whether f is a kind of patient.
func (f Factor) IsPrimary() bool { return Default().Spec(f).Primary }

// IsPostpartum reports whether f is a kind of patient who has given birth before it began.
func (f Factor) IsPostpartum() bool { return Default().traits[f]&traitPostpartum != 0 }

// EndsLabor reports whether labor is over for a patient of kind f: she has a cesarean, or
// has given birth.
func (f Factor) EndsLabor() bool {
	section := f.Section()
	return section == sectionPostpartum || section == sectionCesarean
}

// IsNewborn reports whether f is a kind of newborn. A patient who is one by her own
// message or census row is no mother.
func (f Factor) IsNewborn() bool { return f.Section() == sectionNewborn }

// Criteria returns the criteria text with the ratio nurse:patient.
func (f Factor) Criteria() string { return Default().Spec(f).Criteria }

// RatioPatientType returns the kind of patient that the ratio of a primary factor is
// for; "": a modifier.
func (f Factor) RatioPatientType() string { return Default().Spec(f).RatioPatientType }

// Section is a part of the catalogue.
type Section uint8

// The sections: first those of primary factors, then those of modifiers.
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

// String returns the name in the specification.
func (s Section) String() string { return sectionNames[s] }

func sectionByName(name string) (Section, error) {
	i := slices.Index(sectionNames[:], name)
	if i <= 0 {
		return sectionNone, fmt.Errorf("no section %q", name)
	}
	return Section(i), nil //nolint:gosec // there are a few
}

// Sections is a set of sections.
type Sections uint16

func setOf(s Section) Sections { return 1 << s }

// HasBirths reports whether patients of one of the sections give birth: Labor or Cesarean.
func (s Sections) HasBirths() bool { return s&(setOf(sectionLabor)|setOf(sectionCesarean)) != 0 }

// FactorSet is a set of factors.
type FactorSet [4]uint64

// Add adds a factor.
func (s *FactorSet) Add(f Factor) { s[f>>6] |= 1 << (f & 63) }

// Has reports whether a factor is in the set.
func (s *FactorSet) Has(f Factor) bool { return s[f>>6]&(1<<(f&63)) != 0 }
