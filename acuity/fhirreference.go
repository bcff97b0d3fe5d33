package acuity

import "svc/acuity/codes"

// Reference is a FHIR Medication, Location or Patient that other resources name. It may
// come in a request of its own, before or after the resources that name it.
type Reference struct {
	// Name is the name that others use. Statements name "Medication/<id>" or its number as
	// a code of the local system. Places name "Location/<id>" or its number as the room or
	// the point of care. A Patient is named by the pseudonym of its reference.
	Name      string
	UpdatedAt Instant  // time of the version; 0: not said
	Codings   []Coding // of a Medication; of a Patient [Neonate] and the order of a [MultipleBirth]
	Place     Location // of a Location
	Patient   string   // of a Patient: the pseudonym of its number
}

// LocationName begins the name of a place that is a FHIR Location.
const LocationName = "Location/"

// Neonate is the coding of a FHIR Patient who was younger than 28 days at the time of
// the version (SNOMED CT, Neonate (person)). Nothing else is kept of a birth date.
var Neonate = Coding{System: codes.SNOMED, Code: "133933007"}

// IsNeonate reports whether the reference is a Patient with the coding [Neonate].
func (r *Reference) IsNeonate() bool { return len(r.Codings) > 0 && r.Codings[0] == Neonate }

// MultipleBirth is the system of a coding for a FHIR Patient of a multiple birth. Its
// code is the order of birth, a digit.
const MultipleBirth = "multiple-birth"

// BirthOrder returns the order of birth of a Patient; 0: none.
func (r *Reference) BirthOrder() uint8 {
	for _, c := range r.Codings {
		if c.System == MultipleBirth && len(c.Code) == 1 && c.Code[0] >= '1' && c.Code[0] <= '9' {
			return c.Code[0] - '0'
		}
	}
	return 0
}

// IsOfPerson reports whether the reference says more about a patient than names.
func (r *Reference) IsOfPerson() bool { return r.IsNeonate() || r.BirthOrder() != 0 }
