package adt

import (
	"cmp"
	"strings"
	"unicode"

	"svc/acuity/catalogue"
)

// Place is what a hospital knows about a location.
type Place struct {
	PointOfCare string           // PV1-3.1
	Area, Label string           // of the room; "": unknown
	Primary     catalogue.Factor // the hospital's own primary for patients there; 0: none
}

// CachedPlace is a place that keeps its kind. One goroutine uses it.
type CachedPlace struct {
	Place

	kind    Area   // for patients of service; areaUnknown: not looked up yet
	service string // of the last patient whose kind of place was asked for
}

// KindFor returns the kind of the place for a patient of a service.
func (p *CachedPlace) KindFor(service string) Area {
	if p.kind == areaUnknown || p.service != service {
		p.service = service
		p.kind = (&CareFacts{PointOfCare: p.PointOfCare, Area: p.Area, Service: service, Label: p.Label}).Kind()
	}
	return p.kind
}

// IsOutside reports whether the name of a point of care has a word of other units, and
// none of this one.
func IsOutside(pointOfCare string) bool {
	b := places()
	return b.area(pointOfCare, areaTriage, areaObstetric) == areaUnknown && b.area(pointOfCare, areaOutside, areaOutside) != areaUnknown
}

// Kind returns the kind of place of a patient. The first text with a word of a definite
// area decides, else the first with a word of a general one.
func (f *CareFacts) Kind() Area {
	b := places()
	first := func(from, to Area) Area {
		return cmp.Or(b.area(f.PointOfCare, from, to), b.area(f.Area, from, to), b.serviceArea(f.Service, from, to), b.area(f.Label, from, to))
	}
	if a := cmp.Or(first(areaTriage, areaPostpartum), first(areaObstetric, areaMedical)); a != areaUnknown {
		return a
	}
	if strings.ContainsFunc(f.Service, unicode.IsLetter) {
		return areaMedical // a service that is neither of the field nor of newborns
	}
	return areaObstetric // unknown in a unit of the field: a guess, flagged as such
}
