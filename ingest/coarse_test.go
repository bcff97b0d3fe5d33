package ingest_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"svc/acuity"
	"svc/acuity/hospital"
)

// begun returns an encounter whose period has the given start.
func begun(start, status, updated, places, end string) string {
	return strings.Replace(encounter(status, updated, places, end), "2026-03-04T08:10:00Z", start, 1)
}

// placed returns a location whose period has the given start.
func placed(room, start string) string {
	return `{"location":{"display":"` + room + `"},"status":"active","period":{"start":"` + start + `"}}`
}

// seen returns an observation of the fetal heart rate at a time of any precision.
func seen(id, updated, when, category string) string {
	return resource("Observation", id, `"status":"final"`, updated, ofVisit, `"effectiveDateTime":"`+when+`",`+strip+category+`"}`)
}

// today is the day of these tests in FHIR notation.
const today = "2026-03-04"

// coarseVisits contains sets of messages, each about one visit, with times of hour, day or month precision.
var coarseVisits = map[string][]string{
	"versions that repeat the day of the start": {
		begun(today, "in-progress", "08:15", stays("L1", "08:10"), ""), begun(today, "in-progress", "09:15", "", ""),
		begun("2026-03-04T08:10:00Z", "in-progress", "10:15", "", ""),
		begun(today, "in-progress", "12:30", placed("L1", today)+","+placed("L2", today), ""),
		adt("A01", "0800", "", `LDR^L7`, "I"),
	},
	"versions that repeat the days of start, places and end": {
		begun(today, "in-progress", "08:15", placed("L1", today), ""),
		begun(today, "in-progress", "09:15", placed("L1", today)+","+placed("L2", today), ""),
		begun(today, "in-progress", "11:15", placed("L1", "2026-03-04T08:30:00Z")+","+placed("L2", today), ""),
		begun("2026-03", "in-progress", "14:00", placed("L1", today)+","+placed("L2", "2026-03-04T13:00:00Z"), ""), adt("A08", "1010", "", `LDR^L2`, "I"),
	},
	"coarse messages of HL7, one of them cancelled to the hour": {
		adt("A04", "0800", "20260304", `OBTRI^T1`, "O"), adt("A01", "0815", "2026030408", `LDR^L1`, "I"),
		adt("A02", "0900", "20260304", `OBOR^OR1`, "I"), adt("A12", "0910", "20260304", `LDR^L1`, "I"), adt("A02", "1000", "202603041000", `MBU^31`, "I"),
		adt("A08", "1010", "202603", `MBU^31`, "I", `DG1|1||O99.213^^I10||20260304`),
	},
	"a discharge to the day, taken back to the hour": {
		adt("A01", "0800", "20260304", `LDR^L1`, "I"), adt("A03", "1200", "20260304", `LDR^L1`, "I"), adt("A13", "1210", "2026030412", `LDR^L1`, "I"),
		adt("A02", "1230", "20260304", `MBU^31`, "I"), begun(today, "in-progress", "08:30", "", ""),
	},
	"tracings to the day": {
		adt("A01", "0810", "", `LDR^L1`, "I"), encounter("in-progress", "08:15", "", ""),
		seen("o1", "21:45", today, "II"), seen("o1", "22:15", today, "II"), seen("o1", "22:00", "2026-03-04T21:30:00Z", "III"), seen("o2", "22:05", today, "III"),
	},
}

// TestOrderOfCoarseTimesMeansNothing: the order of messages or versions has no effect, even if their times are
// coarse.
func TestOrderOfCoarseTimesMeansNothing(t *testing.T) {
	for name, texts := range coarseVisits {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOrders(t, texts)
			permutations(len(texts), o.try)
		})
	}
}

// TestVersionsTellTimesToAnyPrecision: whatever the precision of the times in an Encounter's versions, the order of
// arrival does not change the final state of the unit, and the reference implementation agrees.
func TestVersionsTellTimesToAnyPrecision(t *testing.T) {
	starts := []string{"2026-03", today, "2026-03-04T08:10:00Z", "2026-03-03"}
	rooms := []string{"2026-03", today, "2026-03-04T08:40:00Z", "2026-03-04T08:20:00Z"}
	rapid.Check(t, func(t *rapid.T) {
		draw := func(of []string, name string) string { return rapid.SampledFrom(of).Draw(t, name) }
		var said []acuity.Observation
		for i := range rapid.IntRange(2, 5).Draw(t, "versions") {
			updated := acuity.At(time.Date(2026, 3, 4, 8+i, 15, 0, 0, time.UTC)).Time().UTC().Format("15:04")
			var places []string
			for n := range rapid.IntRange(0, 3).Draw(t, "places") {
				places = append(places, placed([]string{"L1", "L2", "L3"}[n], draw(rooms, "since")))
			}
			status, end := "in-progress", ""
			if rapid.IntRange(0, 3).Draw(t, "over") == 0 {
				status, end = "finished", "16:00"
			}
			text := begun(draw(starts, "start"), status, updated, strings.Join(places, ","), end)
			if end != "" && rapid.Bool().Draw(t, "to the day") {
				text = strings.Replace(text, "2026-03-04T16:00:00Z", today, 1)
			}
			said = append(said, decoded(t, text))
		}
		for _, text := range []string{adt("A01", "0800", draw([]string{"", "20260304", "2026030408"}, "admitted"), `LDR^L7`, "I"), adt("A08", "2200", "", "", "I", `DG1|1||O68^^I10`)} {
			said = append(said, decoded(t, text))
		}
		want := state(said)
		other := rapid.Permutation(said).Draw(t, "order")
		if got := state(other); got != want {
			t.Fatalf("in another order\n got %s\nwant %s", got, want)
		}
		if folded := referenceState(other); folded != want {
			t.Fatalf("folded %s\nwant   %s", folded, want)
		}
	})
}

// TestCoarseStartStays: if each version of an Encounter gives only the day of the admission, the admission keeps the
// time that was resolved from the first version. The same applies to the time of an observation.
func TestCoarseStartStays(t *testing.T) {
	said := []string{
		begun(today, "in-progress", "08:15", placed("L1", today), ""), seen("o1", "21:45", today, "II"),
		begun(today, "in-progress", "12:30", placed("L1", today), ""), seen("o1", "22:30", today, "II"),
	}
	clock := func(hour, minute int) acuity.Instant {
		return acuity.At(time.Date(2026, 3, 4, hour, minute, 0, 0, time.UTC))
	}
	permutations(len(said), func(order []int) {
		u := hospital.New("st-test")
		for i, n := range order {
			o := decoded(t, said[n])
			u.Apply(&o, int64(i))
		}
		p := &u.Chart().Rooms[0].Patients[0]
		if p.Arrived != clock(8, 15) {
			t.Errorf("in the order %v she arrived at %v", order, p.Arrived.Time().UTC())
		}
		i := slices.IndexFunc(p.Evidence, func(e acuity.Evidence) bool { return e.Factor.ID() == "labor-fhr-cat-ii" })
		if i < 0 || p.Evidence[i].Start != clock(21, 45) {
			t.Errorf("in the order %v the tracing is another one: %+v", order, p.Evidence)
		}
	})
}

// TestCoarseStartAndEndOfADrugStay: if versions give only the day of the start or end of a drug or a condition, the
// time that was resolved from the first version remains, in any order of arrival. Without this rule, a repeated
// version would move the end of an infusion close to the start of the next infusion, and the timer of the first one
// would continue.
func TestCoarseStartAndEndOfADrugStay(t *testing.T) {
	drug := func(id, status, updated, from, to string) string {
		if to != "" {
			to = `,"end":"` + to + `"`
		}
		return resource("MedicationAdministration", id, `"status":"`+status+`"`, updated, ofContext,
			magnesium+`,"effectivePeriod":{"start":"`+from+`"`+to+`}`)
	}
	disease := func(status, updated string) string {
		return resource("Condition", "c1", `"clinicalStatus":{"coding":[{"code":"`+status+`"}]}`, updated, ofVisit,
			severe+`,"onsetDateTime":"`+today+`"`)
	}
	clock := func(hour, minute int) acuity.Instant {
		return acuity.At(time.Date(2026, 3, 4, hour, minute, 0, 0, time.UTC))
	}
	for name, c := range map[string]struct {
		said []string
		want acuity.Instant // when the evidence for the code starts
		code string
	}{
		"an end told to the day, said again": {[]string{
			drug("m1", "in-progress", "08:20", "2026-03-04T08:20:00Z", ""), drug("m1", "completed", "09:00", today, today),
			drug("m1", "completed", "12:00", today, today), drug("m2", "in-progress", "12:05", "2026-03-04T12:05:00Z", ""),
		}, clock(12, 5), "6585"},
		"an end that is not told, said again": {[]string{
			drug("m1", "completed", "09:00", "2026-03-04T08:20:00Z", ""), drug("m1", "completed", "12:00", "2026-03-04T08:20:00Z", ""),
			drug("m2", "in-progress", "12:05", "2026-03-04T12:05:00Z", ""),
		}, clock(12, 5), "6585"},
		"a start told to the day, said again after a pause": {[]string{
			drug("m1", "in-progress", "08:20", today, ""), drug("m1", "stopped", "09:00", today, "2026-03-04T09:00:00Z"),
			drug("m1", "in-progress", "12:00", today, ""),
		}, clock(8, 20), "6585"},
		"an end after the drug ran again is its own": {[]string{
			drug("m1", "stopped", "09:00", "2026-03-04T08:20:00Z", today), drug("m1", "in-progress", "10:00", "2026-03-04T08:20:00Z", ""),
			drug("m1", "stopped", "12:00", "2026-03-04T08:20:00Z", today), drug("m2", "in-progress", "12:05", "2026-03-04T12:05:00Z", ""),
		}, clock(8, 20), "6585"},
		"an onset told to the day, active again": {[]string{
			disease("active", "08:30"), disease("resolved", "09:00"), disease("relapse", "12:00"),
		}, clock(8, 30), "O1413"},
	} {
		t.Run(name, func(t *testing.T) {
			said := append([]string{encounter("in-progress", "08:15", stays("L1", "08:10"), "")}, c.said...)
			permutations(len(said), func(order []int) {
				u := hospital.New("st-test")
				for i, n := range order {
					o := decoded(t, said[n])
					u.Apply(&o, int64(i))
				}
				p := &u.Chart().Rooms[0].Patients[0]
				i := slices.IndexFunc(p.Evidence, func(e acuity.Evidence) bool { return e.Source.Code == c.code })
				if i < 0 || p.Evidence[i].Start != c.want {
					t.Fatalf("in the order %v: %+v", order, p.Evidence)
				}
			})
		})
	}
}
