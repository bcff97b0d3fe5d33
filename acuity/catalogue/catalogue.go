// Package catalogue holds the 80 factors with what each asks for.
//
//   - A [Factor] is a kind of patient, or a modifier on top of it.
//   - A [Spec] is its row of catalogue.txt: names, codes that switch it on, forms.
//   - A [Requirement] says what one form asks for. [Requirement.Judge] applies it to a
//     piece of evidence at an instant.
//   - [Demand] is a need for nursing, in 60ths of a nurse.
//   - A [Rule] replaces lines of one factor at one hospital, see [Catalogue.With].
//
// catalogue.txt explains its format and names the source of each number.
package catalogue

import (
	_ "embed"
	"sync"

	"svc/acuity/codes"
)

//go:embed catalogue.txt
var catalogueText string

// Catalogue is the set of factors with what each asks for. It never changes.
type Catalogue struct {
	specs   []Spec  // by Factor; the first is no factor
	blocks  []block // of the text, the first of factor 1
	byID    map[string]Factor
	version string

	// Judging looks these up for each piece of evidence, by Factor. They are arrays with a
	// place for every value of a Factor, so no look-up is checked.
	traits [anyFactor]Traits
	rank   [anyFactor]uint8 // place of its id in alphabetical order
}

// anyFactor is the number of values of a Factor.
const anyFactor = 1 << 8

// Default is the catalogue that is part of the program. A test parses it; a program with
// a faulty catalogue does not run.
var Default = sync.OnceValue(func() *Catalogue {
	c, err := parseCatalogue(catalogueText)
	if err != nil {
		panic("catalogue: " + err.Error())
	}
	return c
})

// Version returns the version of the rules: the number in the file, and a digest of all
// its lines without comments, so any change of a number shows.
func (c *Catalogue) Version() string { return c.version }

// Spec returns the row of a factor. A number beyond the catalogue is no factor.
func (c *Catalogue) Spec(f Factor) *Spec {
	if int(f) >= len(c.specs) {
		f = 0
	}
	return &c.specs[f]
}

// Traits returns the flags of a factor.
func (c *Catalogue) Traits(f Factor) Traits { return c.traits[f] }

// Rank returns the place of the id of a factor in alphabetical order.
func (c *Catalogue) Rank(f Factor) uint8 { return c.rank[f] }

// PatientSections returns the section that a primary factor puts its patient in: recovery
// after a cesarean is Postpartum, whatever the table calls it.
func (c *Catalogue) PatientSections(f Factor) Sections {
	if c.traits[f]&traitPostpartum != 0 {
		return setOf(sectionPostpartum)
	}
	return setOf(c.Spec(f).Section)
}

// Len returns the number of factors; they are 1 … Len.
func (c *Catalogue) Len() int { return len(c.specs) - 1 }

// Spec is one factor of the catalogue.
type Spec struct {
	ID, Label, Criteria string
	RatioPatientType    string // of a primary factor
	Section             Section
	Primary             bool
	Routes              []Route   // if several match, the last counts
	Variants            []Variant // 0 is the plain one, which always exists
	Note                string
}

// Begins returns what the plain form of a factor asks for when it begins, and how grave
// it is then.
func (s *Spec) Begins() (need Demand, class uint8) {
	need, class, _ = s.Variants[0].Need.At(0, 0)
	return need, class
}

// Variant is a form of a factor: what one piece of its evidence asks for.
type Variant struct {
	Name string // "" of the plain one
	Requirement
}

// Route is a way in which a code switches a factor on.
type Route struct {
	Diagnosis bool       // else a signal
	Kind      SignalKind // of a signal; observation, lab and device are one
	System    codes.System
	Codes     []string  // as in the specification: "O15*" a prefix, "O11-O13" a range, "O16" a category, "O99.89" exact
	Words     []string  // words of the display, instead of codes
	Needs     Condition // on the value
	Variant   uint8
	Count     uint8 // babies that the code stands for; 0: unknown
	// Refines marks a route that only adds the variant or the count to codes of an
	// earlier route of the factor. Lists of coverage leave it out.
	Refines bool
	Note    string // lowSpecificity
}

// ConditionKind is what a route asks of the value of a signal.
type ConditionKind uint8

// The kinds of condition.
const (
	NeedsNothing    ConditionKind = iota
	NeedsNumber                   // value >= Than, in Unit if one is given
	NeedsCategoryII               // resembles Category II
	NeedsCategoryIII
	NeedsPositive // positive or detected
	NeedsOxygen   // not room air, none, off, flow 0 or FiO2 of 21 %
	NeedsNotNo    // anything but no and false
)

// Condition is a condition on the value of a signal.
type Condition struct {
	Kind ConditionKind
	Op   codes.Comparator // of NeedsNumber
	Than codes.Milli
	Unit string
}

// SignalKind is the kind of a clinical signal. Observation, lab and device are
// interchangeable in matching; medication is not.
type SignalKind uint8

// The kinds.
const (
	KindMedication SignalKind = iota + 1
	KindObservation
	KindLab
	KindDevice
	KindCondition // a FHIR Condition: matched as a diagnosis is
)
