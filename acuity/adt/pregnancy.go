package adt

import (
	"strings"
	"sync"

	"svc/acuity"
	"svc/acuity/codes"
)

// CameDirectly reports whether the patient was admitted without being in a labor, operating or recovery room since, so
// that nothing suggests a birth during the visit. The function find returns what the hospital knows about a location.
func (s *Timeline) CameDirectly(find func(*acuity.Location) *CachedPlace) bool {
	if !s.Open {
		return false
	}
	for i := range s.Stays {
		here := &s.Stays[i]
		if here.From < s.OpenedAt {
			continue
		}
		switch kind := find(here.Place()).KindFor(""); {
		case kind.HasBirths():
			return false
		case here.Placing.Type == acuity.A02 && here.From == s.OpenedAt, strings.HasPrefix(here.Placing.ID, foldedID):
			return false // the admission is not known
		}
	}
	return true
}

// HasBirths reports whether patients give birth in locations of this kind, or come there right after a birth.
func (a Area) HasBirths() bool { return a == areaLabor || a == areaOperating || a.IsRecovery() }

// IsPostpartum reports whether mothers stay with their newborns in locations of this kind.
func (a Area) IsPostpartum() bool { return a == areaPostpartum }

// IsRecovery reports whether patients recover from a birth or an operation in locations of this kind.
func (a Area) IsRecovery() bool { return a == areaRecovery }

// StatesPregnancy reports whether the current service or the reason for admission means that the patient is pregnant.
func (s *Timeline) StatesPregnancy() bool {
	if places().serviceArea(s.Service, areaTriage, areaPostpartum) == areaAntepartum {
		return true
	}
	n := len(s.Events)
	return n > 0 && s.Events[n-1].reasons&reasonsOfPregnancy() != 0
}

// reasonsOfPregnancy returns the reasons for admission that only a pregnant patient has.
var reasonsOfPregnancy = sync.OnceValue(func() acuity.Reasons {
	return ReasonsOf([]string{
		"rupture", "fetal-test", "ripening", "induction", "labor-complication", "early-labor", "auscultation", "cerclage",
		"cerclage-removal", "fetal-surgery", "fetal-transfusion",
	})
})

// IsPregnancy reports whether a diagnosis means that the patient is pregnant: supervision of a pregnancy (O09, Z34,
// Z33.1), weeks of gestation (Z3A), maternal disorders of pregnancy (O20 to O48), preterm labor without delivery (O60.0).
// Hospitals keep such diagnoses after the birth, so the caller must rule out a birth first.
func IsPregnancy(d *acuity.Diagnosis) bool {
	code := icd10(d)
	switch {
	case len(code) < 3:
		return false
	case strings.HasPrefix(code, "O600"), strings.HasPrefix(code, "Z331"):
		return true
	}
	category := code[:3]
	return category == "O09" || category == "Z34" || category == "Z3A" || category >= "O20" && category <= "O48"
}

// IsAfterBirth reports whether a diagnosis means that the patient has given birth, now or before the visit: care after a
// delivery (Z39), postpartum hemorrhage (O72), a retained placenta (O73), or a complication of the puerperium (O85 to O92).
func IsAfterBirth(d *acuity.Diagnosis) bool {
	code := icd10(d)
	if len(code) < 3 {
		return false
	}
	category := code[:3]
	return category == "Z39" || category == "O72" || category == "O73" || category >= "O85" && category <= "O92"
}

// icd10 returns the code of a diagnosis without the dot and in upper case, or "" if it is not from ICD-10-CM.
func icd10(d *acuity.Diagnosis) string {
	if d.System != codes.ICD10CM && d.System != codes.SystemNone {
		return ""
	}
	return codes.Normal(codes.ICD10CM, d.Code)
}
