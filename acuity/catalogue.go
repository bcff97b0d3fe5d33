package acuity

import (
	_ "embed"
	"sync"
	"time"
)

//go:embed catalogue.txt
var catalogueText string

// Catalogue is the factors and what each asks for. It never changes once made.
type Catalogue struct {
	specs   []Spec // by Factor; the first is no factor
	byID    map[string]Factor
	version string
	index   *index

	// What judging asks for at each piece of evidence, by Factor: arrays, so that no
	// number of a factor, known or not, is beyond their end.
	effects [anyFactor][]effect // by variant: a copy of what specs hold; of an unknown factor that of none
	traits  [anyFactor]traits
	rank    [anyFactor]uint8 // place of its id in alphabetical order
}

// anyFactor is how many numbers a Factor can be.
const anyFactor = 1 << 8

// Default returns the catalogue that is part of the program. A test parses it;
// a program whose catalogue cannot be read does not run.
var Default = sync.OnceValue(func() *Catalogue {
	c, err := parseCatalogue(catalogueText)
	if err != nil {
		panic("acuity: " + err.Error())
	}
	return c
})

// Version returns the version of the rules: the number that the file gives and
// a digest of all its lines save comments, so any change of a number shows.
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
	Routes              []Route   // of several that match, the last counts
	Variants            []Variant // 0 is the plain one, never missing
	Note                string

	newborn    bool // a primary factor of section Newborn
	postpartum bool // a primary factor with id pp-*: its start is a birth at the latest
}

// Variant is a form of a factor: what one evidence of it asks for.
type Variant struct {
	Name string // "" of the plain one
	effect
}

// Route is a way in which a code switches a factor on.
type Route struct {
	Diagnosis bool       // else a signal
	Kind      SignalKind // of a signal; observation, lab and device are one
	System    System
	Codes     []string  // as in the specification: "O15*" a prefix, "O11-O13" a range, "O16" a category, "O99.89" exact
	Words     []string  // words of the display, instead of codes
	Needs     Condition // on the value
	Variant   uint8
	Count     uint8 // babies that the code stands for; 0: it says nothing
	// Refines marks a route that only tells the variant or the count of codes
	// that an earlier route of the factor has too; lists of coverage leave it out.
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
	Op   Comparator // of NeedsNumber
	Than Milli
	Unit string
}

// effect is what one evidence asks for.
type effect struct {
	need       Schedule // a primary's demand or a modifier's floor; classes are here for all
	needIn     sections // of a modifier: 0 is everywhere
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

	silent  Instant // duration; 0: none
	becomes Factor

	inside  bool    // at 2.0 one of the two nurses is the baby's; of a newborn: at 1.0 it may be that one
	birth   bool    // at 2.0 a birth goes on
	perBaby Demand  // for each baby beyond the first
	boarder Instant // duration; 0: none
	fatigue bool
	twin    Factor
}

// traits are what scoring asks of every factor; what they do not tell is asked of
// its effects, which are far larger.
type traits uint16

const (
	traitMaternal   traits = 1 << iota // a primary factor that is not of a newborn
	traitNewborn                       // a primary factor of a newborn
	traitPostpartum                    // a primary factor pp-*
	traitBirth                         // at 2.0 a birth goes on
	traitInside                        // at 2.0 a nurse of the baby is inside
	traitSilent                        // becomes another when it is silent
	traitTwin                          // counts once with another in the score
	traitTrackFloor                    // asks for something for all newborns together
	traitPerBaby                       // asks for something for each baby beyond the first
	traitUntilBirth                    // its ADD ends with the birth
	traitBoarder                       // a patient waits for a room
	traitFatigue                       // marks the nurse as tired
)

// floorRule is a further floor of a modifier in some sections; it has no steps.
type floorRule struct {
	need Demand
	in   sections
}

// window returns how long evidence of f lasts and from which clock; 0: until it
// is ended. A gap of at least that long between assertions begins a new run.
func (c *Catalogue) window(f Factor, variant uint8, kind EvidenceKind) (length time.Duration, fromLast bool) {
	e := c.effect(f, variant)
	if e.silent > 0 {
		return time.Duration(e.silent) * time.Millisecond, true
	}
	if e.exceptDiagnosis && kind == ByDiagnosis {
		return 0, false
	}
	return time.Duration(e.window) * time.Millisecond, e.fromLast
}

// effect returns what evidence of f asks for; an unknown variant is the plain
// one and an unknown factor asks for nothing, so that a chart of a newer
// version can be judged.
func (c *Catalogue) effect(f Factor, variant uint8) *effect {
	forms := c.effects[f]
	if int(variant) >= len(forms) {
		variant = 0
	}
	return &forms[variant]
}
