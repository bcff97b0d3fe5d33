package location

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"svc/acuity"
	"svc/acuity/adt"
	"svc/acuity/catalogue/cataloguetest"
)

func TestResolve(t *testing.T) {
	table := func(change ...func(*Table)) *Table {
		rooms := &Table{}
		rooms.SetRoom(1, "LDR04", "L&D")
		rooms.SetRoom(312, "312", "")
		rooms.SetRoom(7, "MBU 12", "")
		rooms.SetRoom(8, "20-A", "")
		rooms.SetRoom(9, "OBOR", "")
		rooms.SetRoom(10, "Suite", "AP")
		rooms.SetRoom(11, "Suite", "HROB")
		for _, c := range change {
			c(rooms)
		}
		return rooms
	}
	lettered := func(r *Table) {
		r.SetRoom(4, "12A", "")
		r.SetRoom(5, "ICU 14B", "")
		r.SetRoom(6, "16", "GYN")
		r.SetRoom(12, "20-WIN", "")
		r.SetRoom(13, "3 West", "")
	}
	aliases := func(r *Table) {
		r.SetRows([]*acuity.Place{
			{PointOfCare: "LDR", Room: "312", HasRoomID: true, RoomID: 312}, {PointOfCare: "LD", Room: "312", HasRoomID: true, RoomID: 312},
		})
	}
	room := func(id int32) Placement { return Placement{InRoom, id} }
	own := func(point, name string) Placement { return room(preferredID(appendKey(nil, point, name))) }
	for name, c := range map[string]struct {
		table *Table
		place acuity.Location
		want  Placement
	}{
		"nothing":                                          {table(), acuity.Location{}, Placement{}},
		"facility alone":                                   {table(), acuity.Location{Facility: "CANARY"}, Placement{}},
		"room id wins (H18)":                               {table(), acuity.Location{HasRoomID: true, RoomID: 55, Room: "LDR04"}, room(55)},
		"label is the room":                                {table(), spot("L&D^ldr 04"), room(1)},
		"label is point of care and room":                  {table(), spot("MBU^12"), room(7)},
		"label is room and bed":                            {table(), spot("MBU^20^A"), room(8)},
		"another bed is not that room":                     {table(), spot("MBU^20^B"), own("MBU", "20")},
		"label alone":                                      {table(), acuity.Location{Label: "LDR04"}, room(1)},
		"area of the census and label":                     {table(), spot("HROB^Suite"), room(11)},
		"a label that two rooms have":                      {table(), spot("XX^Suite"), own("XX", "Suite")},
		"point of care as label (P3)":                      {table(), spot("OBOR"), room(9)},
		"point of care only (P3)":                          {table(), spot("L&D"), Placement{Kind: WithoutRoom}},
		"numeric room that is known":                       {table(), spot("MBU^312"), room(312)},
		"numeric room that is not":                         {table(), spot("MBU^313"), own("MBU", "313")},
		"beds never split a room (P2)":                     {table(), spot("MBU^313^B"), own("MBU", "313")},
		"case and spaces aside":                            {table(), spot("mbu^ 313"), own("MBU", "313")},
		"another unit (X5)":                                {table(), spot("ICU^4"), Placement{Kind: Outside}},
		"another unit without room":                        {table(), spot("ICU"), Placement{Kind: Outside}},
		"NICU is none of them":                             {table(), spot("NICU^4"), own("NICU", "4")},
		"nor is an obstetric emergency room":               {table(), spot("OB-ED^4"), own("OB-ED", "4")},
		"ED is":                                            {table(), spot("ED^4"), Placement{Kind: Outside}},
		"EDGE is not":                                      {table(), spot("EDGE^4"), own("EDGE", "4")},
		"MEDSURG is":                                       {table(), spot("MEDSURG^4"), Placement{Kind: Outside}},
		"a number of the unit in another unit":             {table(), spot("ICU^312"), Placement{Kind: Outside}},
		"the same with a bed":                              {table(), spot("ICU^20^A"), Placement{Kind: Outside}},
		"a label of the unit in another unit":              {table(), spot("ICU^LDR04"), room(1)},
		"a number with a letter in another unit":           {table(lettered), spot("ICU^12A"), Placement{Kind: Outside}},
		"the same in a maternity unit":                     {table(lettered), spot("LDR^12a"), room(4)},
		"the same with the unit in the label":              {table(lettered), spot("ICU^14B"), room(5)},
		"the same with the unit as the area":               {table(lettered), spot("GYN^16"), room(6)},
		"a room and bed with letters in another unit":      {table(lettered), spot("ICU^20^WIN"), Placement{Kind: Outside}},
		"the same in one text":                             {table(lettered), spot("ICU^20-WIN"), Placement{Kind: Outside}},
		"the same in a maternity unit, in one text":        {table(lettered), spot("LDR^20-WIN"), room(12)},
		"the same as a display":                            {table(lettered), acuity.Location{PointOfCare: "ICU", Room: "20", Bed: "WIN", Label: "20-WIN"}, Placement{Kind: Outside}},
		"a name that begins with a number in another unit": {table(lettered), spot("ICU^3 West"), room(13)},
		"another unit that is an area of the census": {table(func(r *Table) {
			r.SetRoom(5, "5", "GYN")
			r.SetRoom(6, "", "GYN")
		}), spot("gyn^6"), room(6)},
		"another unit in the name of the room":            {table(), spot("^ICU 4"), Placement{Kind: Outside}},
		"the same name with a point of care of this unit": {table(), spot("MBU^ICU 4"), own("MBU", "ICU 4")},
		"the same name as a label": {table(func(r *Table) {
			r.SetRoom(5, "ICU 4", "")
		}), spot("^ICU 4"), room(5)},
		"the hospital in the point of care":          {table(), spot("Mercy Medical Center 3W^312"), room(312)},
		"the same, shorter":                          {table(), spot("L and D Med Ctr^312"), room(312)},
		"the hospital in the name of the room":       {table(), spot("^St. Mary Medical Center, 3 West, Room 312"), own("", "St. Mary Medical Center, 3 West, Room 312")},
		"a short name of the hospital":               {table(), spot("^Med Center 3W 312"), own("", "Med Center 3W 312")},
		"the hospital in a display":                  {table(), acuity.Location{Label: "MedStar Harbor 3W 312"}, own("", "MedStar Harbor 3W 312")},
		"another unit later in the name of the room": {table(), spot("^Mercy ICU 4"), own("", "Mercy ICU 4")},
		"women with other patients":                  {table(), spot("3W MED/SURG/WOMEN^312"), room(312)},
		"women with other patients, shorter":         {table(), spot("3W Women Surg^312"), room(312)},
		"women's surgery":                            {table(), spot("Womens Surgical^312"), room(312)},
		"gynecology with mothers":                    {table(), spot("Gyn/Mother-Baby^312"), room(312)},
		"mothers without a number of the unit":       {table(), spot("Gyn/Mother-Baby^4"), own("Gyn/Mother-Baby", "4")},
		"medicine with a number of the unit":         {table(), spot("MEDICAL^312"), room(312)},
		"medicine without a number of the unit":      {table(), spot("MEDICAL^998"), Placement{Kind: Outside}},
		"a surgery center":                           {table(), spot("Surg Center^312"), Placement{Kind: Outside}},
		"a medical center's ICU":                     {table(), spot("Mercy Med Center ICU^312"), Placement{Kind: Outside}},
		"a number that another unit of two words uses, too": {table(func(r *Table) {
			r.AddUse(spot("MBU^312"))
			r.AddUse(spot("MAIN ICU^312"))
		}), spot("MBU^312"), room(312)},
		"another unit with a row": {table(func(r *Table) {
			r.SetRows([]*acuity.Place{{PointOfCare: "GYN", Area: "OB"}})
		}), spot("GYN^312"), room(312)},
		"a number that another unit uses, too": {table(func(r *Table) {
			r.AddUse(spot("MBU^312"))
			r.AddUse(spot("ICU^312"))
		}), spot("MBU^312"), room(312)},
		"a room of an emergency department":           {table(), spot("ED TRIAGE^312"), Placement{Kind: Outside}},
		"a room of an obstetric emergency department": {table(), spot("OB EMERGENCY^312"), room(312)},
		"a room of another intensive care unit":       {table(), spot("MICU^312"), Placement{Kind: Outside}},
		"a number that a unit outside uses, too": {table(func(r *Table) {
			r.SetRows([]*acuity.Place{{PointOfCare: "5N", Outside: true}})
			r.AddUse(spot("MBU^312"))
			r.AddUse(spot("5N^312"))
		}), spot("MBU^312"), room(312)},
		"a number that a row gives to another unit": {table(func(r *Table) {
			r.SetRows([]*acuity.Place{{PointOfCare: "AP", Room: "312", HasRoomID: true, RoomID: 312}})
		}), spot("MBU^312"), own("MBU", "312")},
		"a number with a row, in its own unit": {table(func(r *Table) {
			r.SetRows([]*acuity.Place{{PointOfCare: "AP", Room: "312", HasRoomID: true, RoomID: 312}})
			r.AddUse(spot("MBU^312"))
		}), spot("AP^312"), room(312)},
		"a number without a point of care that two rows map to its room": {table(aliases), spot("^312"), room(312)},
		"the same, in use": {table(aliases, func(r *Table) {
			r.AddUse(spot("LDR^312"))
			r.AddUse(spot("LD^312"))
		}), spot("^312"), room(312)},
		"the same, in use by a unit without a row": {table(aliases, func(r *Table) {
			r.AddUse(spot("MBU^312"))
			r.AddUse(spot("LD^312"))
		}), spot("^312"), room(312)},
		"the same, in use by two units without a row": {table(aliases, func(r *Table) {
			r.AddUse(spot("MBU^312"))
			r.AddUse(spot("AP^312"))
		}), spot("^312"), own("", "312")},
		"a unit without a row, beside two rows": {table(aliases), spot("MBU^312"), own("MBU", "312")},
		"a bed without a row, beside a row for the other bed": {table(func(r *Table) {
			r.SetRows([]*acuity.Place{{PointOfCare: "LDR", Room: "312", Bed: "A", HasRoomID: true, RoomID: 312}})
			r.AddUse(spot("LDR^312^A"))
		}), spot("LDR^312^B"), room(312)},
		"a unit outside before a row for any unit": {table(func(r *Table) {
			r.SetRows([]*acuity.Place{{PointOfCare: "5N", Outside: true}, {Room: "312", HasRoomID: true, RoomID: 312}})
		}), spot("5N^312"), Placement{Kind: Outside}},
		"a row for any unit": {table(func(r *Table) {
			r.SetRows([]*acuity.Place{{PointOfCare: "5N", Outside: true}, {Room: "312", HasRoomID: true, RoomID: 312}})
		}), spot("6N^312"), room(312)},
		"a number that two units use (P1)": {table(func(r *Table) {
			r.AddUse(spot("MBU^312"))
			r.AddUse(spot("AP^312"))
		}), spot("MBU^312"), own("MBU", "312")},
		"a number that one unit uses twice (P1)": {table(func(r *Table) {
			r.AddUse(spot("MBU^312^A"))
			r.AddUse(spot("mbu^312^B"))
		}), spot("MBU^312"), room(312)},
		"a number that one unit uses, and a feed without points of care (P1)": {table(func(r *Table) {
			r.AddUse(spot("MBU^312"))
			r.AddUse(spot("^312"))
		}), spot("MBU^312"), room(312)},
		"a number without a point of care that one unit uses (P1)": {table(func(r *Table) {
			r.AddUse(spot("^312"))
			r.AddUse(spot("MBU^312"))
		}), spot("^312"), room(312)},
		"a number without a point of care that two units use (P1)": {table(func(r *Table) {
			r.AddUse(spot("MBU^312"))
			r.AddUse(spot("AP^312"))
		}), spot("^312"), own("", "312")},
		"entry of a room": {table(func(r *Table) {
			r.SetRows([]*acuity.Place{{PointOfCare: "L&D", Room: "LDR04", HasRoomID: true, RoomID: 77}})
		}), spot("l&d^LDR04^1"), room(77)},
		"entry of a bed before that of its room (P2)": {table(func(r *Table) {
			r.SetRows([]*acuity.Place{{PointOfCare: "X", Room: "1", HasRoomID: true, RoomID: 70}, {PointOfCare: "X", Room: "1", Bed: "B", HasRoomID: true, RoomID: 71}})
		}), spot("X^1^B"), room(71)},
		"a numeric room that an entry of another place names": {table(func(r *Table) {
			r.SetRows([]*acuity.Place{{PointOfCare: "TUB", HasRoomID: true, RoomID: 5}})
		}), spot("6N^5"), room(5)},
		"entry of a unit outside": {table(func(r *Table) {
			r.SetRows([]*acuity.Place{{PointOfCare: "L&D", Outside: true}})
		}), spot("L&D^LDR04"), Placement{Kind: Outside}},
		"entry of a unit without rooms (P3)": {table(func(r *Table) {
			r.SetRows([]*acuity.Place{{PointOfCare: "TUB", HasRoomID: true, RoomID: 5}})
		}), spot("TUB"), room(5)},
		"a census label maps an own room from then on (P5)": {table(func(r *Table) {
			r.AddUse(spot("XX^T9"))
			r.SetRoom(60, "T9", "")
		}), spot("XX^T9"), room(60)},
		"a room that is forgotten": {table(func(r *Table) { r.RemoveRoom(312) }), spot("MBU^312"), own("MBU", "312")},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.table.Resolve(c.place); got != c.want {
				t.Errorf("resolve = %+v, want %+v", got, c.want)
			}
			c.table.AddUse(c.place)
			if got := c.table.Resolve(c.place); got != c.want {
				t.Errorf("once seen, resolve = %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestRoomLabels(t *testing.T) {
	rooms := &Table{}
	rooms.SetRoom(1, "LDR04", "")
	rooms.SetRoom(5, "", "")
	rooms.SetRoom(6, "T9", "")
	for _, l := range []string{"XX^T2", "XX^17", "YY^T3", "ZZ^t3", "AA^LDR05"} {
		rooms.AddUse(spot(l))
	}
	for place, want := range map[string]string{
		"XX^T2": "T2", "XX^17": "XX 17", "YY^T3": "YY T3", "ZZ^t3": "ZZ t3", "AA^LDR05": "LDR05",
	} {
		if got, own := rooms.Label(rooms.Resolve(spot(place)).Room); got != want || !own {
			t.Errorf("label of %s = %q %v, want %q", place, got, own, want)
		}
	}
	for id, want := range map[int32]string{1: "LDR04", 5: "5", 44: "44"} {
		if got, own := rooms.Label(id); got != want || own {
			t.Errorf("label of %d = %q %v, want %q", id, got, own, want)
		}
	}
}

// A cached location is resolved again after the table changes.
func TestPlaceFoundBefore(t *testing.T) {
	for name, c := range map[string]struct {
		before, change func(*Table)
		place          acuity.Location
	}{
		"a room comes":        {func(*Table) {}, func(r *Table) { r.SetRoom(1, "L1", "") }, spot("LDR^L1")},
		"a room goes":         {func(r *Table) { r.SetRoom(1, "L1", "") }, func(r *Table) { r.RemoveRoom(1) }, spot("LDR^L1")},
		"a row comes":         {func(*Table) {}, func(r *Table) { r.SetRows([]*acuity.Place{{PointOfCare: "LDR", Outside: true}}) }, spot("LDR^L1")},
		"another spelling":    {func(r *Table) { r.SetRoom(12, "", ""); r.AddUse(spot("MBU^12")); r.AddUse(spot("MainICU^12")) }, func(r *Table) { r.AddUse(spot("Main ICU^12")) }, spot("MBU^12")},
		"another uses a room": {func(r *Table) { r.SetRoom(12, "", ""); r.AddUse(spot("MBU^12")) }, func(r *Table) { r.AddUse(spot("AP^12")) }, spot("MBU^12")},
	} {
		t.Run(name, func(t *testing.T) {
			var rooms Table
			c.before(&rooms)
			before := rooms.Placement(&c.place)
			c.change(&rooms)
			switch now := rooms.Resolve(c.place); {
			case now == before:
				t.Errorf("it is in %+v as before: nothing is tested", now)
			case rooms.Placement(&c.place) != now:
				t.Errorf("it is in %+v, want %+v", rooms.Placement(&c.place), now)
			}
		})
	}
}

// collision returns two rooms whose hashes are equal.
func collision(t testing.TB) (a, b acuity.Location) {
	seen := map[int32]string{}
	for i := range 5_000 {
		name := fmt.Sprintf("R%d", i)
		id := preferredID(appendKey(nil, "XX", name))
		if other, ok := seen[id]; ok {
			return spot("XX^" + other), spot("XX^" + name)
		}
		seen[id] = name
	}
	t.Fatal("no two names collide")
	return a, b
}

func TestRoomsThatCollide(t *testing.T) {
	a, b := collision(t)
	one, two := &Table{}, &Table{}
	one.AddUse(a)
	one.AddUse(b)
	two.AddUse(b)
	two.AddUse(a)
	if one.Resolve(a) == one.Resolve(b) {
		t.Error("two rooms have one id")
	}
	if one.Resolve(a) != two.Resolve(a) || one.Resolve(b) != two.Resolve(b) {
		t.Error("ids depend on the order")
	}
	if one.SameRoom(&a, &b) || !one.SameRoom(&a, &a) {
		t.Error("two rooms are one")
	}
	// If a census lists a room under an id that an ADT room already has, the id now belongs to the census room, and
	// the ADT room gets another id.
	id := one.Resolve(a).Room
	one.SetRoom(id, "Own", "")
	if one.Resolve(a).Room == id {
		t.Error("an id of a census was given away")
	}
	one.RemoveRoom(id)
	if one.Resolve(a).Room != id {
		t.Error("an id that became free was not taken back")
	}
}

func TestResolveOrderNeverMatters(t *testing.T) {
	a, b := collision(t)
	places := []acuity.Location{
		a, b, spot("MBU^7"), spot("AP^7"), spot("MBU^8"), spot("T^T2"), spot("U^t 2"), spot("ICU^1"), spot("L^LDR1"),
		spot("MAIN ICU^7"), spot("MAINICU^7"),
	}
	rapid.Check(t, func(t *rapid.T) {
		steps := []func(*Table){
			func(r *Table) { r.SetRoom(7, "", "") }, func(r *Table) { r.SetRoom(8, "8", "MBU") },
			func(r *Table) { r.SetRoom(1, "LDR1", "") }, func(r *Table) { r.SetRoom(preferredID(appendKey(nil, a.PointOfCare, a.Room)), "taken", "") },
			func(r *Table) { r.SetRows([]*acuity.Place{{PointOfCare: "T", Outside: true}}) },
		}
		for _, p := range places {
			steps = append(steps, func(r *Table) { r.AddUse(p) })
		}
		one, two := &Table{}, &Table{}
		for _, s := range steps {
			s(one)
		}
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		r.Shuffle(len(steps), func(i, j int) { steps[i], steps[j] = steps[j], steps[i] })
		for _, s := range steps {
			s(two)
		}
		for _, p := range places {
			x, y := one.Resolve(p), two.Resolve(p)
			if x != y {
				t.Fatalf("%v is in %v or %v", p, x, y)
			}
			lx, _ := one.Label(x.Room)
			ly, _ := two.Label(y.Room)
			if lx != ly {
				t.Fatalf("%v is called %q or %q", p, lx, ly)
			}
		}
	})
}

func BenchmarkResolve(b *testing.B) {
	rooms := &Table{}
	for i := range int32(200) {
		rooms.SetRoom(i, fmt.Sprintf("LDR%d", i), "L&D")
	}
	place := spot("L&D^LDR44^1")
	b.ReportAllocs()
	for b.Loop() {
		_ = rooms.Resolve(place)
	}
}

func TestPrimaryBySite(t *testing.T) {
	rooms := &Table{}
	rooms.SetRows([]*acuity.Place{{PointOfCare: "TUB", Primary: cataloguetest.Factor(t, "labor-ia")}})
	rooms.SetRoom(7, "Sky", "L&D")
	choose := func(place acuity.Location) adt.Primary {
		list := adt.StoreEvents([]acuity.Event{{ID: "a", Type: acuity.A01, At: 1, RecordedAt: 1, ReceivedAt: 2, Visit: "v1", Place: place}})
		visit := adt.Build(list, adt.Options{})
		return visit.Primary(rooms.Describe, 0, false)
	}
	for place, want := range map[string]string{"TUB^1": "labor-ia", "XX^Sky": "labor-standard", "MBU^2": "pp-couplet"} {
		if got := choose(spot(place)); got.Factor.ID() != want {
			t.Errorf("%s: %s by %s, want %s", place, got.Factor.ID(), got.AssignedBy, want)
		}
	}
	if got := choose(acuity.Location{HasRoomID: true, RoomID: 7}); got.Factor.ID() != "labor-standard" || got.Assumed {
		t.Errorf("by room id: %+v", got)
	}
}

// Only the number identifies a room if the point of care is unknown, even if a letter or a bed belongs to the number.
func TestIsByNumber(t *testing.T) {
	var table Table
	table.SetRoom(4, "12A", "")
	table.SetRoom(5, "20-A", "AP2")
	table.SetRoom(6, "6N 7", "")
	table.SetRoom(7, "Sky", "")
	table.SetRows([]*acuity.Place{{PointOfCare: "7N", Area: "OB"}})
	for place, want := range map[string]bool{
		"5N^4": true, "5N^12A": true, "5N^20^A": true, "5N^20-A": true, "^12A": false, "LDR^12A": false, "7N^12A": false, "6N^7": false,
		"AP2^20^A": false, "AP2^12A": false, "5N^20^B": false, "5N^13A": false, "5N^Sky": false, "5N": false, "ICU^12A": false, "MEDICAL^12A": true,
	} {
		if got := table.IsByNumber(spot(place)); got != want {
			t.Errorf("%s: %v, want %v", place, got, want)
		}
	}
}

// spot parses a location such as "OBTRI^T02^01".
func spot(s string) acuity.Location {
	parts := append(strings.Split(s, "^"), "", "")
	return acuity.Location{PointOfCare: parts[0], Room: parts[1], Bed: parts[2]}
}

// A Location's display name is first compared with the labels of rooms as a whole, and then without the bed
// (docs/decisions.md#several-locations).
func TestDisplayWithBed(t *testing.T) {
	place := acuity.Location{Label: "LDR 4, Bed 2", Room: "LDR 4", Bed: "2"}
	var table Table
	table.SetRoom(4, "LDR 4", "")
	if p := table.Resolve(place); p != (Placement{InRoom, 4}) {
		t.Errorf("the room: %+v", p)
	}
	table.SetRoom(42, "LDR 4, Bed 2", "")
	if p := table.Resolve(place); p != (Placement{InRoom, 42}) {
		t.Errorf("the bed that is a room: %+v", p)
	}
}
