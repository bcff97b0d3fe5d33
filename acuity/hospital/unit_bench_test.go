package hospital

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"svc/acuity"
	"svc/acuity/adt"
	"svc/acuity/catalogue"
	"svc/acuity/codes"
	"svc/acuity/facts"
	"svc/acuity/registry"
)

// busy returns a unit of 40 rooms after a day in which visits were placed, discharged and replaced by new ones. Half of
// the rooms have signals.
func busy(hospital string) (*State, acuity.Instant) {
	u := New(hospital)
	now := day
	c := &acuity.Census{TotalRooms: 40}
	for i := range int32(40) {
		c.Rooms = append(c.Rooms, acuity.CensusRoom{ID: i + 1, Label: fmt.Sprintf("R%02d", i+1), Area: "LDR", Status: acuity.RoomEmpty})
	}
	apply := func(o acuity.Observation) {
		o.Hospital, o.ReceivedAt = hospital, now
		u.advanceTo(now)
		u.Apply(&o, 1)
	}
	apply(acuity.Observation{Channel: acuity.ChannelCensus, Census: c})
	apply(acuity.Observation{Channel: acuity.ChannelStaffing, Staffing: &acuity.Staffing{Nurses: 20}})
	for n := range 60 {
		now = now.Add(5 * time.Minute)
		room := fmt.Sprintf("R%02d", n%40+1)
		visit := fmt.Sprintf("visit-%032d", n)
		if n >= 40 {
			apply(arrival(now, acuity.Event{ID: fmt.Sprintf("%064d", n+1000), Type: acuity.A03, Visit: fmt.Sprintf("visit-%032d", n-40)}))
		}
		apply(arrival(now, acuity.Event{
			ID: fmt.Sprintf("%064d", n), Digest: fmt.Sprintf("%064d", n), Type: acuity.A01, Visit: visit, Patient: fmt.Sprintf("%064d", n+500),
			Class: 'I', Place: acuity.Location{PointOfCare: "LDR", Room: room}, DiagnosisMode: acuity.DiagnosisSnapshot,
			Diagnoses: []acuity.Diagnosis{{System: codes.ICD10CM, Code: "O14.13", Display: "Severe pre-eclampsia"}},
		}))
		if n%2 == 0 {
			apply(clinicalRequest(now, int32(n%40+1), magnesium(now, acuity.SignalActive),
				acuity.Signal{Kind: catalogue.KindObservation, System: codes.LOINC, Code: "11949-4", Display: "FHR", Value: codes.ParseValue("Category II")}))
		}
	}
	u.Dirty(func([]byte, facts.Record) {})
	u.View(func(int32, *acuity.RoomChart) {})
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
			u.advanceTo(now)
			s := acuity.Signal{Room: int32(n%40) + 1, Kind: catalogue.KindObservation, System: codes.LOINC, Code: "11949-4", Display: "FHR", Value: codes.Value{Kind: codes.ValueWords, Words: "category ii"}}
			u.Apply(&acuity.Observation{Hospital: testHospital, ReceivedAt: now, Channel: acuity.ChannelClinical, Room: &acuity.RoomRef{ID: s.Room}, Signals: []acuity.Signal{s}}, int64(n))
			if n%64 == 0 {
				u.Dirty(func([]byte, facts.Record) {})
				u.View(func(int32, *acuity.RoomChart) {})
			}
		}
	})
	b.Run("adt", func(b *testing.B) {
		u, now := busy(testHospital)
		texts := make([]string, 1<<16) // enough event identities for more than a week of events
		for i := range texts {
			texts[i] = fmt.Sprint("visit-", i)
		}
		b.ReportAllocs()
		n := 0
		for b.Loop() {
			n++
			now = now.Add(20 * time.Second)
			u.advanceTo(now)
			e := acuity.Event{
				ID: texts[n%len(texts)], Type: [...]acuity.EventType{acuity.A01, acuity.A02, acuity.A08, acuity.A03}[n%4], At: now, Visit: texts[n/4%len(texts)], Class: 'I',
				Place: acuity.Location{PointOfCare: "LDR", Room: u.registry.Rooms[n%40].Label},
			}
			u.Apply(&acuity.Observation{Hospital: testHospital, ReceivedAt: now, Channel: acuity.ChannelADT, Events: []acuity.Event{e}}, int64(n))
			if n%64 == 0 {
				u.Dirty(func([]byte, facts.Record) {})
				u.View(func(int32, *acuity.RoomChart) {})
			}
		}
	})
}

// BenchmarkBatch applies a batch with as many updates of one visit as it may contain. Each has other diagnoses.
func BenchmarkBatch(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		u, now := busy(testHospital)
		o := acuity.Observation{Hospital: testHospital, ReceivedAt: now, Channel: acuity.ChannelADT}
		for i := range 1000 {
			o.Events = append(o.Events, acuity.Event{
				ID: fmt.Sprintf("%064d", 5000+i), Type: acuity.A08, At: now.Add(time.Duration(i-1000) * time.Second), Visit: fmt.Sprintf("visit-%032d", 50),
				DiagnosisMode: acuity.DiagnosisSnapshot,
				Diagnoses:     []acuity.Diagnosis{{System: codes.ICD10CM, Code: fmt.Sprintf("O14.%d", i)}},
			})
		}
		u.Apply(&o, 1)
	}
}

func BenchmarkRestore(b *testing.B) {
	u, _ := busy(testHospital)
	for _, v := range u.registry.Visits {
		u.registry.Work.MarkVisit(v, registry.Unsaved)
	}
	for _, r := range u.registry.Rooms {
		u.registry.Work.MarkRoom(r, registry.Unsaved)
	}
	log := changelog{}
	log.write(u)
	b.ReportAllocs()
	for b.Loop() {
		log.restore(b)
	}
}

// A unit of 40 rooms and 60 visits uses so little memory that 300 units fit in 90 MB.
func TestUnitIsSmall(t *testing.T) {
	catalogue.Default()
	adt.ReasonCodes(1)
	const units = 20
	var before, after runtime.MemStats
	kept := make([]*State, units)
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
