// Package catalogue defines the 80 acuity factors.
//
//   - A [Factor] is either a primary factor (a kind of patient) or a modifier.
//   - A [Spec] is the catalogue entry of a factor: its names, its variants and the codes that activate it.
//   - A [Requirement] is the demand and severity of one variant over time. [Requirement.Judge] applies it to a piece
//     of evidence at an instant.
//   - [Demand] is nursing demand in 60ths of a nurse.
//   - A [Rule] replaces lines of one factor's entry for one hospital; see [Catalogue.With].
//
// The file catalogue.txt describes its own format and cites the source of each number.
package catalogue

import (
	_ "embed"
	"sync"

	"svc/acuity/codes"
)

//go:embed catalogue.txt
var catalogueText string

// Catalogue is the set of all factors and their requirements. It is immutable and safe for concurrent use.
type Catalogue struct {
	specs   []Spec  // indexed by Factor; index 0 is an empty entry
	blocks  []block // source lines of each factor; index 0 is factor 1
	byID    map[string]Factor
	version string

	// traits and rank are read for each piece of evidence. They are arrays with an element for every possible Factor,
	// so the compiler omits bounds checks.
	traits [anyFactor]Traits
	rank   [anyFactor]uint8 // position of the factor's id in alphabetical order
}

// anyFactor is the number of possible values of a Factor.
const anyFactor = 1 << 8

// Default returns the embedded catalogue. It panics if the catalogue is invalid, which a test rules out.
var Default = sync.OnceValue(func() *Catalogue {
	c, err := parseCatalogue(catalogueText)
	if err != nil {
		panic("catalogue: " + err.Error())
	}
	return c
})

// Version returns the version of the rules: the version number in the file, followed by a digest of the file's lines
// without their comments, so that changing any number changes the version.
func (c *Catalogue) Version() string { return c.version }

// Spec returns the entry of a factor. For an unknown factor it returns the empty entry.
func (c *Catalogue) Spec(f Factor) *Spec {
	if int(f) >= len(c.specs) {
		f = 0
	}
	return &c.specs[f]
}

// Traits returns the flags of a factor.
func (c *Catalogue) Traits(f Factor) Traits { return c.traits[f] }

// Rank returns the position of a factor's id in alphabetical order.
func (c *Catalogue) Rank(f Factor) uint8 { return c.rank[f] }

// PatientSections returns the section for a patient with primary factor f. Recovery after a cesarean counts as
// Postpartum although the catalogue lists it under Cesarean.
func (c *Catalogue) PatientSections(f Factor) Sections {
	if c.traits[f]&traitPostpartum != 0 {
		return setOf(sectionPostpartum)
	}
	return setOf(c.Spec(f).Section)
}

// Len returns the number of factors, which are numbered 1 to Len.
func (c *Catalogue) Len() int { return len(c.specs) - 1 }

// Spec is the catalogue entry of a factor.
type Spec struct {
	ID, Label, Criteria string
	RatioPatientType    string // only for a primary factor
	Section             Section
	Primary             bool
	Routes              []Route   // what activates the factor; of several matching routes, the highest variant and the last known count apply
	Variants            []Variant // index 0 is the plain variant, which always exists
	Note                string
}

// Begins returns the demand and the severity (0 … 4) of the plain variant at age 0.
func (s *Spec) Begins() (need Demand, class uint8) {
	need, class, _ = s.Variants[0].Need.At(0, 0)
	return need, class
}

// Variant is a named form of a factor with its own requirement.
type Variant struct {
	Name string // "" for the plain variant
	Requirement
}

// Route defines which codes activate a factor.
type Route struct {
	Diagnosis bool       // whether the route matches diagnoses instead of signals
	Kind      SignalKind // for signals; observation, lab and device match each other
	System    codes.System
	Codes     []string  // in the specification's notation: "O15*" is a prefix, "O11-O13" a range, "O16" a category, "O99.89" an exact code
	Words     []string  // words to find in the display name; such a route has no codes
	Needs     Condition // condition on the value
	Variant   uint8
	Count     uint8 // number of babies that the code implies; 0: unknown
	// Refines marks a route that only adds a variant or a count to codes of an earlier route for the same factor.
	// Coverage reports omit such routes.
	Refines bool
	Note    string // such as lowSpecificity
}

// ConditionKind is the kind of condition that a route puts on the value of a signal.
type ConditionKind uint8

// The kinds of conditions.
const (
	NeedsNothing    ConditionKind = iota
	NeedsNumber                   // the value must satisfy Op and Than, in Unit unless Unit is empty
	NeedsCategoryII               // the value names Category II
	NeedsCategoryIII
	NeedsPositive // the result is positive or detected
	NeedsOxygen   // oxygen is given: the value is not room air, none, off, flow 0 or an FiO2 of 21%
	NeedsNotNo    // any value except "no" and "false"
)

// Condition is a condition on the value of a signal.
type Condition struct {
	Kind ConditionKind
	Op   codes.Comparator // only for NeedsNumber
	Than codes.Milli
	Unit string
}

// SignalKind is the kind of a clinical signal. Observation, lab and device match each other; medication matches only
// medication.
type SignalKind uint8

// The kinds of signals.
const (
	KindMedication SignalKind = iota + 1
	KindObservation
	KindLab
	KindDevice
	KindCondition // a FHIR Condition, which matches like a diagnosis
)
