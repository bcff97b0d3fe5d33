package hospital_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"svc/acuity"
	"svc/acuity/hospital"
	"svc/acuity/hospital/hospitaltest"
	"svc/acuity/score"
)

// When a visit's placement in a room is canceled, the room is as if the visit had never been there, in any order of
// arrival. A statement about the room that would have belonged to the visit does not count, unless another visit was
// in the room at that time.
func TestWithdrawnPlacementLeavesNobody(t *testing.T) {
	const a, b = 4, 5
	admit := message(0, acuity.A01, "#4", "class=I")
	back := message(20, acuity.A11, "#4", "cancels=0")
	said := func(room int32, at float64) acuity.Observation { return clinical(at, room, mag().seen(at)) }
	untimed := said(a, 25)
	untimed.Signals[0].ObservedAt = 0
	void := encounter(20, "E", 20, message(0, acuity.EventOther, "#4", "at=0"))
	for i := range void.Events {
		void.Events[i].Void = true
	}
	tests := map[string]struct {
		say  []acuity.Observation
		want string
	}{
		"A11":                             {list(admit, said(a, 5), said(a, 10), back), ""},
		"A11, and what came before":       {list(said(a, -30), admit, said(a, 5), back), ""},
		"A11, and what came after":        {list(admit, said(a, 5), back, said(a, 40)), ""},
		"A11, what has no time":           {list(admit, said(a, 5), back, untimed), ""},
		"A11, what was there long before": {list(said(a, -90), admit, said(a, 5), back), "4 30 high-mag/3"},
		"A11 of a registration":           {list(message(0, acuity.A04, "#4", "class=O"), said(a, 5), back), ""},
		"A11, and another room":           {list(admit, said(b, 5), back), "5 60 high-mag/3"},
		"A11 voids a transfer":            {list(admit, message(5, acuity.A02, "#5"), said(b, 10), back), ""},
		"A12":                             {list(admit, message(5, acuity.A02, "#5"), said(b, 10), message(20, acuity.A12, "#4", "from=#5", "cancels=5")), "4 60 labor-standard/0"},
		"A12, said before and after":      {list(admit, said(a, 2), message(5, acuity.A02, "#5"), said(b, 10), message(20, acuity.A12, "cancels=5")), "4 60 high-mag/3 labor-standard/0"},
		"A12 to where somebody else is":   {list(admit, message(5, acuity.A02, "#5"), said(b, 10), message(20, acuity.A12, "cancels=5"), message(1, acuity.A01, "v=v2", "#5", "class=I")), "4 60 labor-standard/0; 5 60 high-mag/3 labor-standard/0"},
		"A13 places her again":            {list(admit, message(5, acuity.A03, "#5"), said(b, 10), message(20, acuity.A13, "cancels=5")), "4 60 labor-standard/0; 5 60 high-mag/3"},
		"an Encounter that never was":     {list(void, said(a, 10)), ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			want := expected(t, tc.want)
			for _, order := range permutations(tc.say) {
				u := hospital.New("st-test")
				for i := range order {
					order[i].Hospital = "st-test"
					order[i].ReceivedAt = minute(45) // so that only the order of arrival matters
					u.Apply(&order[i], int64(i))
				}
				v := score.Judge(u.Chart(), minute(45))
				if got := rendered(&v); got != want {
					t.Fatalf("order %v:\n got %s\nwant %s", kinds(order), got, want)
				}
				f := hospitaltest.Fold(order, minute(45))
				if got := rendered(&f.Verdict); got != want {
					t.Fatalf("order %v, folded:\n got %s\nwant %s", kinds(order), got, want)
				}
				for _, r := range v.Rooms {
					if want == "" && r.Status != acuity.RoomEmpty {
						t.Fatalf("order %v: room %d has status %d, want it empty", kinds(order), r.ID, r.Status)
					}
				}
			}
		})
	}
}

// After svc removes the visit whose placement was canceled, the room still has no patient.
func TestWithdrawnPlacementIsForgotten(t *testing.T) {
	a, day := int32(4), 24*60.0
	say := list(message(0, acuity.A01, "#4", "class=I"), clinical(5, a, mag().seen(5)), message(20, acuity.A11, "cancels=0"),
		clinical(7*day, a, mag().seen(7*day)), clinical(7*day+30, 77))
	decide(t, map[string]decision{"": {say: say, read: []axisReading{{7 * day, ""}, {7*day + 31, ""}, {7*day + 90, ""}}}})
}

func list(o ...acuity.Observation) []acuity.Observation { return o }

// permutations returns all orders of the observations.
func permutations(of []acuity.Observation) [][]acuity.Observation {
	if len(of) == 0 {
		return [][]acuity.Observation{nil}
	}
	var all [][]acuity.Observation
	for i := range of {
		for _, rest := range permutations(slices.Delete(slices.Clone(of), i, i+1)) {
			all = append(all, append([]acuity.Observation{of[i]}, rest...))
		}
	}
	return all
}

// kinds returns the event types of observations as text.
func kinds(of []acuity.Observation) string {
	var names []string
	for i := range of {
		name := "signal"
		if len(of[i].Events) > 0 {
			name = fmt.Sprint("A", of[i].Events[0].Type)
		}
		names = append(names, name)
	}
	return strings.Join(names, " ")
}
