package acuity

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"svc/acuity/codes"
)

// busy returns a unit of 40 rooms after a day: visits were placed, discharged and
// followed by others, and half of the rooms have signals.
func busy(hospital string) (*Unit, Instant) {
	u := NewUnit(hospital)
	now := day
	c := &Census{TotalRooms: 40}
	for i := range int32(40) {
		c.Rooms = append(c.Rooms, CensusRoom{ID: i + 1, Label: fmt.Sprintf("R%02d", i+1), Area: "LDR", Status: RoomEmpty})
	}
	apply := func(o Observation) {
		o.Hospital, o.ReceivedAt = hospital, now
		u.pass(now)
		u.Apply(&o, 1)
	}
	apply(Observation{Channel: ChannelCensus, Census: c})
	apply(Observation{Channel: ChannelStaffing, Staffing: &Staffing{Nurses: 20}})
	for n := range 60 {
		now = now.Add(5 * time.Minute)
		room := fmt.Sprintf("R%02d", n%40+1)
		visit := fmt.Sprintf("visit-%032d", n)
		if n >= 40 {
			apply(arrival(now, Event{ID: fmt.Sprintf("%064d", n+1000), Type: A03, Visit: fmt.Sprintf("visit-%032d", n-40)}))
		}
		apply(arrival(now, Event{
			ID: fmt.Sprintf("%064d", n), Digest: fmt.Sprintf("%064d", n), Type: A01, Visit: visit, Patient: fmt.Sprintf("%064d", n+500),
			Class: 'I', Place: Location{PointOfCare: "LDR", Room: room}, DiagnosisMode: DiagnosisSnapshot,
			Diagnoses: []Diagnosis{{System: codes.ICD10CM, Code: "O14.13", Display: "Severe pre-eclampsia"}},
		}))
		if n%2 == 0 {
			apply(spoken(now, int32(n%40+1), magnesium(now, SignalActive),
				Signal{Kind: KindObservation, System: codes.LOINC, Code: "11949-4", Display: "FHR", Value: codes.ParseValue("Category II")}))
		}
	}
	u.Dirty(func([]byte, State) {})
	u.View(func(int32, *RoomChart) {})
	return u, now
}

func BenchmarkApply(b *testing.B) {
	b.Run("clinical", func(b *testing.B) {
		u, now := busy(testHospital)
		b.ReportAllocs()
		n := 0
		for b.Loop() {
			n++
			now = now.Add(20 * time.Second)
			u.pass(now)
			s := Signal{Room: int32(n%40) + 1, Kind: KindObservation, System: codes.LOINC, Code: "11949-4", Display: "FHR", Value: codes.Value{Kind: codes.ValueWords, Words: "category ii"}}
			u.Apply(&Observation{Hospital: testHospital, ReceivedAt: now, Channel: ChannelClinical, Room: &RoomRef{ID: s.Room}, Signals: []Signal{s}}, int64(n))
			if n%64 == 0 {
				u.Dirty(func([]byte, State) {})
				u.View(func(int32, *RoomChart) {})
			}
		}
	})
	b.Run("adt", func(b *testing.B) {
		u, now := busy(testHospital)
		texts := make([]string, 1<<16) // more than a week of identities
		for i := range texts {
			texts[i] = fmt.Sprint("visit-", i)
		}
		b.ReportAllocs()
		n := 0
		for b.Loop() {
			n++
			now = now.Add(20 * time.Second)
			u.pass(now)
			e := Event{
				ID: texts[n%len(texts)], Type: [...]EventType{A01, A02, A08, A03}[n%4], At: now, Visit: texts[n/4%len(texts)], Class: 'I',
				Place: Location{PointOfCare: "LDR", Room: u.registry.rooms[n%40].Label},
			}
			u.Apply(&Observation{Hospital: testHospital, ReceivedAt: now, Channel: ChannelADT, Events: []Event{e}}, int64(n))
			if n%64 == 0 {
				u.Dirty(func([]byte, State) {})
				u.View(func(int32, *RoomChart) {})
			}
		}
	})
}

func BenchmarkRestore(b *testing.B) {
	u, _ := busy(testHospital)
	for _, v := range u.registry.visits {
		u.work.markVisit(v, markState)
	}
	for _, r := range u.registry.rooms {
		u.work.markRoom(r, markState)
	}
	log := changelog{}
	log.write(u)
	b.ReportAllocs()
	for b.Loop() {
		log.restore(b)
	}
}

// A unit of 40 rooms and 60 visits stays small: 300 of them fit in 90 MB.
func TestUnitIsSmall(t *testing.T) {
	Default()
	places()
	const units = 20
	var before, after runtime.MemStats
	kept := make([]*Unit, units)
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range kept {
		kept[i], _ = busy(fmt.Sprintf("h%d", i))
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	each := (max(after.HeapAlloc, before.HeapAlloc) - before.HeapAlloc) / units
	t.Logf("%d bytes a unit", each)
	if each > 300_000 {
		t.Errorf("a unit takes %d bytes, want at most 300,000", each)
	}
	runtime.KeepAlive(kept)
}
