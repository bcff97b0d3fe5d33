package hospital

import (
	"testing"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/codes"
)

// After a restart, coarse times still resolve to the same instants. The admission and the observation keep the
// instants of the first version, even after a version with an exact start.
func TestToldTimesAreRestored(t *testing.T) {
	const minute = acuity.Instant(60_000)
	u, log := New(testHospital), changelog{}
	say := func(version int64, start, from acuity.Instant, precision acuity.Precision) {
		at := day + acuity.Instant(version)*30*minute
		o := acuity.Observation{Hospital: testHospital, ReceivedAt: at, Channel: acuity.ChannelFHIR}
		o.Events = []acuity.Event{{
			ID: "e" + string(rune('0'+version)), Type: acuity.A01, Class: 'I', Visit: "v1", Resource: "E1", UpdatedAt: at,
			At: start, AtFrom: from, Precision: precision, Place: acuity.Location{PointOfCare: "LDR", Room: "L1"},
		}}
		o.Signals = []acuity.Signal{{
			Kind: catalogue.KindObservation, System: codes.LOINC, Code: "11949-4", Resource: "o1", Visit: "v1", UpdatedAt: at,
			Value: codes.ParseValue("Category II"), ObservedAt: at, ObservedFrom: day,
		}}
		u.Apply(&o, version)
		log.write(u)
		u = log.restore(t)
	}
	say(1, day+30*minute, day, acuity.Day)
	say(2, day+20*minute, 0, acuity.Millisecond)
	say(3, day+90*minute, day, acuity.Day)
	say(4, day+120*minute, day, acuity.Hour)
	say(5, day+150*minute, day, acuity.Day)
	p := &u.Chart().Rooms[0].Patients[0]
	if p.Arrived != day+30*minute {
		t.Errorf("she arrived at %v", p.Arrived.Time().UTC())
	}
	tracing := factor("labor-fhr-cat-ii")
	for _, e := range p.Evidence {
		if e.Factor == tracing && e.Start == day+30*minute {
			return
		}
	}
	t.Errorf("the tracing is another one: %+v", p.Evidence)
}

// The limit keeps the latest coarse times, in any order of arrival.
func TestToldTimesAreCapped(t *testing.T) {
	var all []acuity.CoarseTime
	for i := range int64(maxCoarseTimes + 20) {
		all = append(all, acuity.CoarseTime{Key: i * 7919 % 1000, At: day + acuity.Instant(i)})
	}
	once := mergeCoarseTimes(nil, all)
	var grown []acuity.CoarseTime
	for i := range all {
		grown = mergeCoarseTimes(grown, all[len(all)-1-i:len(all)-i])
	}
	if len(once) != maxCoarseTimes || rendered(once) != rendered(grown) {
		t.Errorf("%d are kept at once, %d one by one", len(once), len(grown))
	}
	for _, c := range once {
		if c.At < day+20 {
			t.Errorf("one of %v is kept", c.At.Time())
		}
	}
}
