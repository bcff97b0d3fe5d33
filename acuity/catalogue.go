package acuity

import (
	_ "embed"
	"sync"
	"time"

	"svc/acuity/codes"
)

//go:embed catalogue.txt
var catalogueText string

// Catalogue is the set of factors with what each asks for. It never changes.
type Catalogue struct {
	specs   []Spec // by Factor; the first is no factor
	byID    map[string]Factor
	version string

	// What judging looks up for each piece of evidence, by Factor. They are arrays, so
	// that no number of a factor, known or not, is beyond their end.
	effects [anyFactor][]Requirement // by variant, copies of specs; an unknown factor has those of no factor
	traits  [anyFactor]traits
	rank    [anyFactor]uint8 // place of its id in alphabetical order
}

// anyFactor is the number of values of a Factor.
const anyFactor = 1 << 8

// Default is the catalogue that is part of the program. A test parses it; a program with
// a faulty catalogue does not run.
var Default = sync.OnceValue(func() *Catalogue {
	c, err := parseCatalogue(catalogueText)
	if err != nil {
		panic("acuity: " + err.Error())
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

	newborn    bool // a primary factor of section Newborn
	postpartum bool // a primary factor with id pp-*: a birth came before its start
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

// Requirement is what one piece of evidence asks for.
type Requirement struct {
	Need       Schedule // a primary's demand or a modifier's floor; classes are here for all
	needIn     sections // of a modifier; 0: everywhere
	floors     []floorRule
	track      bool     // need is that of a newborn
	withMother Schedule // replaces need beside a pp-* primary; nil: no difference
	trackFloor Demand   // of all newborns together

	add           Demand
	addIn         sections // 0: everywhere
	addUntilBirth bool

	window          Instant // duration; 0: none
	fromLast        bool    // window
	exceptDiagnosis bool    // window
	endsBirth       bool
	birthDiagnosis  bool // endsBirth only for evidence by diagnosis

	stale         Instant // duration; 0: never
	staleFromLast bool

	Silent  Instant // duration; 0: none
	Becomes Factor

	inside  bool    // at 2.0 one of the two nurses is the baby's; for a newborn at 1.0 it may be that one
	birth   bool    // at 2.0 a birth goes on
	perBaby Demand  // for each baby beyond the first
	boarder Instant // duration; 0: none
	fatigue bool
	twin    Factor
}

// traits are the flags of every factor that scoring reads. Effects hold the rest, and
// are far larger.
type traits uint16

const (
	traitMaternal   traits = 1 << iota // a primary factor that is not of a newborn
	traitNewborn                       // a primary factor of a newborn
	traitPostpartum                    // a primary factor pp-*
	traitBirth                         // at 2.0 a birth goes on
	traitInside                        // at 2.0 a nurse of the baby is inside
	traitSilent                        // becomes another factor when it is silent
	traitTwin                          // counts once together with another in the score
	traitTrackFloor                    // asks for a demand of all newborns together
	traitPerBaby                       // asks for a demand of each baby beyond the first
	traitUntilBirth                    // its ADD ends with the birth
	traitBoarder                       // a patient waits for a room
	traitFatigue                       // marks the nurse as tired
)

// floorRule is a further floor of a modifier in some sections; it has no steps.
type floorRule struct {
	need Demand
	in   sections
}

// Window returns how long evidence of f lasts, and from which clock; 0: until it is
// ended. A gap of that length between statements begins a new run.
func (c *Catalogue) Window(f Factor, variant uint8, kind EvidenceKind) (length time.Duration, fromLast bool) {
	e := c.Requirement(f, variant)
	if e.Silent > 0 {
		return time.Duration(e.Silent) * time.Millisecond, true
	}
	if e.exceptDiagnosis && kind == ByDiagnosis {
		return 0, false
	}
	return time.Duration(e.window) * time.Millisecond, e.fromLast
}

// Requirement returns what evidence of f asks for. An unknown variant is the plain one, and
// an unknown factor asks for nothing, so that a chart of a newer version can be judged.
func (c *Catalogue) Requirement(f Factor, variant uint8) *Requirement {
	forms := c.effects[f]
	if int(variant) >= len(forms) {
		variant = 0
	}
	return &forms[variant]
}
