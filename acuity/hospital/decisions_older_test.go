package hospital_test

import (
	"slices"
	"testing"

	"svc/acuity"
)

// TestDecisionsOlderStatements covers docs/decisions.md#older-statements.
func TestDecisionsOlderStatements(t *testing.T) {
	row, twins := census(0, holds(4, "labor-epidural", "visit=v1")), census(0, holds(4, "labor-epidural", "visit=v1", "O30.003"))
	at := func(received float64, signals ...sign) acuity.Observation { return clinical(received, 4, signals...) }
	admitted := message(0, acuity.A01, "LDR:A", "class=I", "O14.1")
	decide(t, map[string]decision{
		"a category":                     {say: list(row, at(20, fhr("I").seen(20)), at(25, fhr("III").seen(10))), answers: []string{"", "!statement_older"}},
		"of another code":                {say: list(row, at(20, fhr("I").seen(20)), at(25, loinc("11949-4", "", "III").seen(10))), answers: []string{"!statement_older"}},
		"a score":                        {say: list(row, at(20, mews("2").seen(20)), at(25, mews("6").seen(10))), answers: []string{"", "!statement_older"}},
		"a BMI":                          {say: list(row, at(20, bmi("38").seen(20)), at(25, bmi("44").seen(10))), answers: []string{"!statement_older"}},
		"a factor":                       {say: list(row, at(20, manual("high-mental-health-hx").off().seen(20)), at(25, manual("high-mental-health-hx").seen(10))), answers: []string{"!statement_older"}},
		"an end":                         {say: list(row, at(20, manual("env-interpreter").seen(20)), at(25, manual("env-interpreter").off().seen(10))), answers: []string{"!statement_older"}},
		"of a room without patient":      {say: list(at(20, mews("2").seen(20)), at(25, mews("6").seen(10))), answers: []string{"!statement_older"}},
		"of an anonymous patient":        {say: list(census(0, holds(4, "labor-epidural")), at(20, fhr("I").seen(20)), at(25, fhr("III").seen(10))), answers: []string{"!statement_older"}},
		"each of several":                {say: list(row, at(20, fhr("I").seen(20), mews("2").seen(20)), at(25, fhr("III").seen(10), mews("6").seen(10))), answers: []string{"!statement_older !statement_older"}},
		"beside a newer one of its kind": {say: list(row, at(20, mews("2").seen(20)), at(30, mews("6").seen(10), mews("3").seen(30))), answers: []string{"!statement_older"}},
		"by a resource":                  {say: list(row, resources(20, fhr("I").of("a", 20).seen(20)), resources(25, fhr("III").of("b", 25).seen(10))), answers: []string{"!statement_older"}},
		"by a resource, than the room's": {say: list(row, at(20, fhr("I").seen(20)), resources(25, fhr("III").of("b", 25).seen(10))), answers: []string{"!statement_older"}},
		"than that of a resource":        {say: list(row, resources(20, fhr("I").of("a", 20).seen(20)), at(25, fhr("III").seen(10))), answers: []string{"!statement_older"}},
		"an older version":               {say: list(row, resources(20, fhr("I").of("a", 20).seen(20)), resources(25, fhr("III").of("a", 10).seen(20))), answers: []string{"!version_older"}},
		"an older version of a drug":     {say: list(row, resources(20, mag().off().of("a", 20).since(5).seen(20)), resources(25, mag().of("a", 10).since(5).seen(5))), answers: []string{"", "!version_older"}},
		"an older version, than another": {say: list(row, resources(12, mews("2").of("a", 12).seen(10)), resources(30, mews("2").of("d", 30).seen(30)), resources(40, mews("6").of("a", 11).seen(10))), answers: []string{"!version_older"}},
		"a version of another time":      {say: list(row, resources(12, mews("2").of("a", 10).seen(10)), resources(30, mews("2").of("d", 30).seen(30)), resources(40, mews("6").of("a", 40).seen(20))), answers: []string{"!statement_older"}},
		"older diagnoses":                {say: list(admitted, message(20, acuity.A08, "O72.1"), message(25, acuity.A08, "at=10", "O45.9")), answers: []string{"!statement_older"}},

		"with the same meaning":            {say: list(row, at(20, mews("2").seen(20)), at(25, mews("1").seen(2))), answers: []string{""}},
		"newer":                            {say: list(row, at(20, mews("2").seen(20)), at(25, mews("6").seen(22))), answers: []string{"+mews-active"}},
		"without a time":                   {say: list(row, at(20, mews("2").seen(20)), at(25, mews("6"))), answers: []string{"+mews-active"}},
		"the start of a clock":             {say: list(row, at(20, mag().seen(20)), at(25, mag().seen(10))), answers: []string{"+high-mag", ""}},
		"repeated":                         {say: list(row, at(15, fhr("III").seen(10)), at(20, fhr("I").seen(20)), at(25, fhr("III").seen(10))), answers: []string{""}},
		"repeated, by a resource":          {say: list(row, resources(15, fhr("III").of("a", 15).seen(10)), resources(20, fhr("I").of("b", 20).seen(20)), resources(25, fhr("III").of("a", 15).seen(10))), answers: []string{""}},
		"within one request":               {say: list(row, at(20, fhr("I").seen(20), fhr("III").seen(10))), answers: []string{""}},
		"of another fetus":                 {say: list(twins, at(20, fhr("I").fetus("B").seen(20)), at(25, fhr("III").fetus("A").seen(10))), answers: []string{"+labor-fhr-cat-iii"}},
		"that replaces a newer statement":  {say: list(row, resources(20, fhr("I").of("a", 20).seen(20)), resources(25, fhr("III").of("a", 25).seen(10))), answers: []string{"+labor-fhr-cat-iii"}},
		"a later version":                  {say: list(row, resources(12, fhr("II").of("a", 10).seen(10)), resources(30, fhr("I").of("d", 30).seen(30)), resources(40, fhr("II").of("a", 40).seen(10))), answers: []string{"+labor-fhr-cat-ii", "-labor-fhr-cat-ii", ""}},
		"a correction":                     {say: list(row, resources(12, mews("2").of("a", 10).seen(10)), resources(30, mews("2").of("d", 30).seen(30)), resources(40, mews("6").of("a", 40).seen(10))), answers: []string{"", "", ""}},
		"of another infusion":              {say: list(row, resources(20, mag().of("a", 20).since(20).seen(20)), resources(25, mag().of("b", 25).since(10).seen(10))), answers: []string{""}},
		"of an unknown code":               {say: list(row, at(20, local("X", "1").seen(20)), at(25, local("X", "2").seen(10))), answers: []string{"?X"}},
		"older diagnoses, that are active": {say: list(admitted, message(20, acuity.A08, "O14.1", "O72.1"), message(25, acuity.A08, "at=10", "O14.1")), answers: []string{""}},
		"newer diagnoses":                  {say: list(admitted, message(20, acuity.A08, "O72.1"), message(25, acuity.A08, "at=22", "O45.9")), answers: []string{"-pp-hemorrhage"}},
	})
}

// TestDecisionsStatementOwner covers docs/decisions.md#statement-owner: a statement about a patient who has left.
func TestDecisionsStatementOwner(t *testing.T) {
	came, comes := message(0, acuity.A01, "#4", "class=I"), message(20, acuity.A01, "v=v2", "#4", "class=I")
	seen := func(m float64) acuity.Observation { return clinical(25, 4, mews("6").seen(m)) }
	late := clinical(25, 4, mews("2").seen(4), mews("6").seen(5), fhr("III").seen(6), bmi("44").seen(7))
	decide(t, map[string]decision{
		"several, once":            {say: list(came, message(10, acuity.A03), comes, late), answers: []string{"!patient_left"}},
		"that means nothing":       {say: list(came, message(10, acuity.A03), comes, clinical(25, 4, mews("2").seen(5))), answers: []string{""}},
		"she was discharged":       {say: list(came, message(10, acuity.A03), comes, seen(5)), answers: []string{"!patient_left"}},
		"she moved":                {say: list(came, message(10, acuity.A02, "#5"), comes, seen(5)), answers: []string{"+mews-active"}},
		"she is in the room":       {say: list(came, message(10, acuity.A03), comes, seen(22)), answers: []string{"+mews-active"}},
		"nobody is in the room":    {say: list(came, message(10, acuity.A03), seen(5)), answers: []string{"!room_not_occupied"}},
		"of an unknown code":       {say: list(came, message(10, acuity.A03), comes, clinical(25, 4, local("X", "1").seen(5))), answers: []string{"?X"}},
		"before anybody was there": {say: list(message(10, acuity.A01, "#4", "class=I"), clinical(25, 4, mews("6").seen(5))), answers: []string{"+mews-active"}},
	})
}

// TestDecisionsAdult covers docs/decisions.md#newborn-or-mother.
func TestDecisionsAdult(t *testing.T) {
	registered := message(0, acuity.A01, "LDR:A", "class=I", "newborn")
	decide(t, visits(map[string]decision{
		"adult":       {say: list(registered, message(10, acuity.A08, "type=+")), read: []axisReading{{9, "<LDR:A> 60 nb-stabilization/1"}, {10, "<LDR:A> 60 labor-standard/0"}}},
		"of any type": {say: list(registered, message(10, acuity.A08, "type=R")), read: []axisReading{{10, "<LDR:A> 60 nb-stabilization/1"}}},
		"born later":  {say: list(message(0, acuity.A01, "LDR:A", "class=I", "type=+"), message(10, acuity.A08, "newborn")), read: []axisReading{{10, "<LDR:A> 60 nb-stabilization/1"}}},
	}))
}

// TestDecisionsPlacesOfOthers covers docs/decisions.md#numeric-rooms and #outside-locations: what tells whether a point
// of care belongs to the unit, and the warnings if nothing does.
func TestDecisionsPlacesOfOthers(t *testing.T) {
	row := census(0, holds(4, "labor-epidural"))
	moved := message(2, acuity.A02, "v=v2", "LDR:5", "from=LDR:4", "class=I")
	moved.Events[0].Prior.Facility = "B"
	in := func(facility string, o acuity.Observation) acuity.Observation {
		o.Events = slices.Clone(o.Events)
		o.Events[0].Place.Facility = facility
		o.Events[0].ID += facility
		return o
	}
	decide(t, map[string]decision{
		"a number of another unit": {say: list(row, message(1, acuity.A01, "ICU:4", "class=I")), read: []axisReading{{1, "4 30 labor-epidural/0"}}, answers: []string{"!outside_unit"}},
		"the unit keeps its number": {
			say:  list(row, message(1, acuity.A01, "LDR:4", "class=I"), message(2, acuity.A01, "v=v2", "ICU:4", "class=I")),
			read: []axisReading{{2, "4 60 labor-standard/0"}}, answers: []string{"+labor-standard -labor-epidural", "!outside_unit"},
		},
		"an unknown unit": {
			say:     list(row, message(1, acuity.A01, "5N:4", "class=I"), message(2, acuity.A08, "5N:4"), message(3, acuity.A01, "v=v2", "5N:4", "class=I")),
			answers: []string{"+labor-standard -labor-epidural !room_by_number", "", "!room_by_number"},
		},
		"an unknown unit, before the census": {
			say: list(message(1, acuity.A01, "v=v0", "5N:4", "class=I"), message(2, acuity.A03, "v=v0"), census(3, holds(4, "visit=v1", "labor-epidural")),
				message(4, acuity.A01, "v=v2", "5N:4", "class=I")),
			answers: []string{"+labor-standard !room_by_number"},
		},
		"an update, then a transfer": {
			say:     list(row, message(1, acuity.A01, "LDR:7", "class=I"), message(2, acuity.A08, "5N:4"), message(3, acuity.A02, "5N:4")),
			answers: []string{"!place_differs", "+labor-standard -labor-epidural -labor-standard !room_by_number"},
		},
		"a unit with a row for all rooms": {
			say: list(row, mapped(1, acuity.Place{PointOfCare: "5N"}), message(2, acuity.A01, "5N:4", "class=I")), answers: []string{"+labor-standard -labor-epidural"},
		},
		"a number with a letter": {
			say: list(census(0, holds(4, "visit=v1", "label=12A", "labor-epidural")), message(1, acuity.A01, "v=v2", "ICU:12A", "class=I")), read: []axisReading{{1, "4 30 labor-epidural/0"}},
			answers: []string{"!outside_unit"},
		},
		"a number with a letter in an unknown unit": {
			say:     list(census(0, holds(4, "label=12A"), holds(5, "label=20-A")), message(1, acuity.A01, "5N:12A", "class=I"), message(2, acuity.A01, "v=v2", "5N:20:A", "class=I")),
			answers: []string{"+labor-standard !room_by_number", "+labor-standard !room_by_number"},
		},
		"a room that no census lists":             {say: list(message(1, acuity.A01, "5N:4", "class=I")), answers: []string{"+labor-standard"}},
		"a unit with a row":                       {say: list(row, mapped(1, acuity.Place{PointOfCare: "5N", Room: "4", HasRoomID: true, RoomID: 4}), message(2, acuity.A01, "5N:4", "class=I")), answers: []string{"+labor-standard -labor-epidural"}},
		"a unit that is the area":                 {say: list(census(0, holds(4, "area=5N", "label=4")), message(2, acuity.A01, "5N:4", "class=I")), answers: []string{""}},
		"a unit that is an area, without a label": {say: list(census(0, holds(4, "area=5N")), message(2, acuity.A01, "5N:4", "class=I")), answers: []string{""}},
		"one facility":                            {say: list(in("A", message(1, acuity.A01, "LDR:4", "class=I")), in("A", message(2, acuity.A01, "v=v2", "LDR:4:B", "class=I"))), answers: []string{"+labor-standard", ""}},
		"two facilities": {
			say: list(in("A", message(1, acuity.A01, "LDR:4", "class=I")), in("B", message(2, acuity.A01, "v=v2", "LDR:4", "class=I")),
				in("B", message(3, acuity.A01, "v=v3", "LDR:4:1", "class=I")), in("B", message(4, acuity.A01, "v=v4", "LDR:5", "class=I"))),
			answers: []string{"+labor-standard", "!facility_differs", "", "+labor-standard"},
		},
		"a place without a room":             {say: list(in("A", message(1, acuity.A01, "LDR::A", "class=I")), in("B", message(2, acuity.A01, "v=v2", "LDR::A", "class=I"))), answers: []string{"!bed_without_room", "!bed_without_room"}},
		"a place outside":                    {say: list(in("A", message(1, acuity.A01, "ED:7", "class=I")), in("B", message(2, acuity.A01, "v=v2", "ED:7", "class=I"))), answers: []string{"!outside_unit", "!outside_unit"}},
		"a prior place":                      {say: list(in("A", message(1, acuity.A01, "LDR:4", "class=I")), in("B", moved)), answers: []string{"+labor-standard", "+labor-standard"}},
		"after a prior place":                {say: list(in("A", moved), in("A", message(3, acuity.A01, "v=v3", "LDR:4", "class=I"))), answers: []string{"+labor-standard", "+labor-standard !facility_differs"}},
		"a facility that is not always sent": {say: list(in("A", message(1, acuity.A01, "LDR:4", "class=I")), message(2, acuity.A01, "v=v2", "LDR:4", "class=I")), answers: []string{"+labor-standard", ""}},
	})
}
