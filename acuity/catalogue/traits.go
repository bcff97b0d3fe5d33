package catalogue

// Traits are the flags of a factor that scoring reads for each piece of evidence. The
// [Requirement] holds the rest, and is far larger. The traits of several factors are
// joined by |.
type Traits uint16

const (
	traitMaternal Traits = 1 << iota
	traitNewborn
	traitPostpartum
	traitBirth
	traitInside
	traitSilent
	traitTwin
	traitTrackFloor
	traitPerBaby
	traitUntilBirth
	traitBoarder
	traitFatigue
)

// IsMaternal reports whether one of the factors is a primary factor that is not of a
// newborn.
func (t Traits) IsMaternal() bool { return t&traitMaternal != 0 }

// IsNewborn reports whether one of the factors is a primary factor of a newborn.
func (t Traits) IsNewborn() bool { return t&traitNewborn != 0 }

// IsPrimary reports whether one of the factors is a primary factor.
func (t Traits) IsPrimary() bool { return t&(traitMaternal|traitNewborn) != 0 }

// IsBirth reports whether a birth goes on while one of the factors asks for two nurses.
func (t Traits) IsBirth() bool { return t&traitBirth != 0 }

// IncludesBabyNurse reports whether one of the two nurses whom a factor asks for is the
// baby's. A newborn at one nurse may be hers.
func (t Traits) IncludesBabyNurse() bool { return t&traitInside != 0 }

// FallsSilent reports whether a factor becomes another one when nobody asserts it.
func (t Traits) FallsSilent() bool { return t&traitSilent != 0 }

// HasTwin reports whether a factor counts once in the score together with another one.
func (t Traits) HasTwin() bool { return t&traitTwin != 0 }

// HasTrackFloor reports whether a factor asks for a demand of all newborns together.
func (t Traits) HasTrackFloor() bool { return t&traitTrackFloor != 0 }

// CountsBabies reports whether a factor asks for a demand of each baby beyond the first.
func (t Traits) CountsBabies() bool { return t&traitPerBaby != 0 }

// EndsWithBirth reports whether the ADD of a factor ends with the birth.
func (t Traits) EndsWithBirth() bool { return t&traitUntilBirth != 0 }

// IsBoarder reports whether a patient with a factor waits for a room.
func (t Traits) IsBoarder() bool { return t&traitBoarder != 0 }

// TiresNurse reports whether a factor marks the nurse as tired.
func (t Traits) TiresNurse() bool { return t&traitFatigue != 0 }

// findTraits returns the flags of a row, without traitTwin: a twin is named by one of two rows.
func findTraits(s *Spec) Traits {
	var t Traits
	plain := &s.Variants[0]
	for _, has := range []struct {
		it bool
		t  Traits
	}{
		{s.Primary && !s.newborn, traitMaternal},
		{s.newborn, traitNewborn},
		{s.postpartum, traitPostpartum},
		{plain.birth, traitBirth},
		{plain.inside, traitInside},
		{plain.Silent > 0, traitSilent},
		{plain.trackFloor > 0, traitTrackFloor},
		{plain.PerBaby > 0, traitPerBaby},
		{plain.addUntilBirth, traitUntilBirth},
		{plain.Boarder > 0, traitBoarder},
		{plain.fatigue, traitFatigue},
	} {
		if has.it {
			t |= has.t
		}
	}
	return t
}
