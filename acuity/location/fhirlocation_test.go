package location

import (
	"testing"

	"svc/acuity"
)

// A place that names FHIR Locations is the place that they have.
func TestFHIRLocations(t *testing.T) {
	const ref = acuity.LocationName
	places := map[string]acuity.Location{
		ref + "room": {PointOfCare: "LD", Room: "4"},
		ref + "bed":  {PointOfCare: ref + "ward", Room: "4", Bed: "B"},
		ref + "ward": {PointOfCare: "MBU"},
		ref + "a":    {PointOfCare: ref + "b"},
		ref + "b":    {PointOfCare: ref + "a"},
	}
	table := Table{References: func(name string) acuity.Location { return places[name] }}
	for name, c := range map[string]struct {
		sent, want acuity.Location
	}{
		"no Location":                {spot("LD^4"), spot("LD^4")},
		"a room":                     {acuity.Location{Room: ref + "room"}, spot("LD^4")},
		"a room, and the bed":        {acuity.Location{Room: ref + "room", Bed: "A"}, spot("LD^4^A")},
		"a bed in a ward":            {acuity.Location{Room: ref + "bed"}, spot("MBU^4^B")},
		"a ward":                     {acuity.Location{PointOfCare: ref + "ward", Room: "7"}, spot("MBU^7")},
		"a bed in place of the ward": {acuity.Location{PointOfCare: ref + "bed", Room: "7"}, spot("MBU^4^7")},
		"an unknown one":             {acuity.Location{PointOfCare: "LD", Room: ref + "other"}, spot("LD^other")},
		"an unknown one, by number":  {acuity.Location{Room: ref + "other", Label: "12"}, acuity.Location{Room: "12"}},
		"known by its number":        {acuity.Location{Room: ref + "other", Label: "room"}, spot("LD^4")},
		"a bed of an unknown one":    {acuity.Location{PointOfCare: "LD", Room: ref + "other", Bed: "B"}, spot("LD^B")},
		"a circle":                   {acuity.Location{PointOfCare: ref + "a", Room: "1"}, acuity.Location{Room: "1"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := table.standsFor(c.sent); got != c.want {
				t.Errorf("it stands for %+v, want %+v", got, c.want)
			}
			if got, want := table.Resolve(c.sent), table.Resolve(c.want); got != want {
				t.Errorf("it is in %+v, want %+v", got, want)
			}
		})
	}
	var none Table
	if got := none.standsFor(acuity.Location{Room: ref + "room"}); got != (acuity.Location{Room: "room"}) {
		t.Errorf("without references: %+v", got)
	}
}
