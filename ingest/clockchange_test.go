package ingest_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"svc/acuity"
	"svc/acuity/hospital"
	"svc/acuity/hospital/hospitaltest"
	"svc/ingest/fhir"
	"svc/ingest/hl7"
)

// clockZones are zones in both hemispheres whose clocks change by an hour or by half an hour, with
// the dates of the changes in 2026.
var clockZones = []struct {
	zone           string
	spring, autumn string // the dates of the changes
	change         time.Duration
}{
	{"America/New_York", "2026-03-08", "2026-11-01", time.Hour},
	{"Pacific/Auckland", "2026-09-27", "2026-04-05", time.Hour},
	{"Australia/Lord_Howe", "2026-10-04", "2026-04-05", 30 * time.Minute},
}

func zoneOf(t rapid.TB, name string) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

// received is a time after all clock changes of 2026.
var received = acuity.At(time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC))

// hl7Event decodes a message from a hospital in the given zone.
func hl7Event(t rapid.TB, zone *time.Location, kind, sent, recorded, occurred string) acuity.Event {
	t.Helper()
	text := `MSH|^~\&|EPIC|STMARY|SVC|STMARY|` + sent + `||ADT^` + kind + `|` + kind + sent + occurred + `|P|2.5.1` + "\r" +
		`EVN||` + recorded + `||||` + occurred + "\rPID|1||MRN1^^^STMARY^MR\rPV1|1|I|LDR^L1" + strings.Repeat("|", 16) + "VN1\r"
	var m hl7.Message
	if err := m.Scan([]byte(text), hl7.Charset{}); err != nil {
		t.Fatal(err)
	}
	e, fault := m.Facts(hl7.Options{
		Pseudonym: func(dst []byte, kind string, value []byte) []byte {
			return append(append(append(dst, kind...), ' '), value...)
		},
		Zone: zone, ReceivedAt: received,
	})
	if fault != nil {
		t.Fatalf("refused: %+v", fault)
	}
	return e
}

// fhirEvents decodes an Encounter from a hospital in the given zone.
func fhirEvents(t rapid.TB, zone *time.Location, period, end string) []acuity.Event {
	t.Helper()
	body := `{"resourceType":"Encounter","id":"e1","status":"finished","class":{"code":"IMP"},"identifier":[{"value":"VN1"}],
"subject":{"reference":"Patient/p1"},"period":{"start":"` + period + `","end":"` + end + `"},"location":[{"location":{"display":"L1"}}]}`
	name := func(kind, value string) string { return kind + " " + value }
	facts, fault := fhir.Decode([]byte(body), fhir.Options{Pseudonym: name, Zone: zone, ReceivedAt: received, Source: "key"})
	if fault != nil || len(facts.Events) != 2 {
		t.Fatalf("%v %+v", fault, facts)
	}
	return facts.Events
}

// TestCoarseTimesAreAsLongAsInTheirZone: each feed reads a coarse time as the whole interval that it means in the
// sender's zone, even on days on which the clocks change.
func TestCoarseTimesAreAsLongAsInTheirZone(t *testing.T) {
	spans := map[string]time.Duration{}
	for _, c := range clockZones {
		day := 24 * time.Hour
		spans[c.zone+" "+c.spring], spans[c.zone+" "+c.autumn] = day-c.change, day+c.change
		for _, date := range []string{c.spring, c.autumn} {
			month, err := time.Parse("2006-01-02", date)
			if err != nil {
				t.Fatal(err)
			}
			days := time.Duration(month.AddDate(0, 1, -month.Day()).Day()) * day
			spans[c.zone+" "+date[:7]] = days + spans[c.zone+" "+date] - day
			spans[c.zone+" "+date[:4]] = 365 * day
		}
	}
	// A repeated hour lasts until the end of its second occurrence. A skipped hour is read as the hour after it.
	maps.Copy(spans, map[string]time.Duration{
		"America/New_York 2026-11-01T01": 2 * time.Hour, "America/New_York 2026-11-01T00": time.Hour, "America/New_York 2026-11-01T02": time.Hour,
		"America/New_York 2026-03-08T01": time.Hour, "America/New_York 2026-03-08T02": time.Hour, "America/New_York 2026-03-08T03": time.Hour,
		"Pacific/Auckland 2026-04-05T02": 2 * time.Hour, "Pacific/Auckland 2026-09-27T02": time.Hour,
		"Australia/Lord_Howe 2026-04-05T01": 90 * time.Minute, "Australia/Lord_Howe 2026-10-04T02": 30 * time.Minute,
	})
	for text, span := range spans {
		name, iso, _ := strings.Cut(text, " ")
		zone := zoneOf(t, name)
		check := func(where string, from, to acuity.Instant) {
			if got := to.Sub(from); got != span {
				t.Errorf("%s in %s lasts %v, want %v", text, where, got, span)
			}
		}
		plain := strings.NewReplacer("-", "", "T", "").Replace(iso)
		e := hl7Event(t, zone, "A03", "20260615120000", "", plain)
		check("EVN-6", e.AtFrom, e.AtTo)
		e = hl7Event(t, zone, "A03", "20260615120000", plain, "")
		check("EVN-2", e.AtFrom, e.AtTo)
		e = hl7Event(t, zone, "A03", plain, "", "")
		check("MSH-7", e.AtFrom, e.AtTo)
		e = hl7Event(t, zone, "A13", "20260615120000", "20260615120000", plain)
		check("EVN-6 of a cancel", e.Cancels, e.CancelsTo)
		if len(iso) > len("2006-01-02") { // FHIR and JSON have no times of hour precision
			continue
		}
		for i, e := range fhirEvents(t, zone, iso, iso) {
			check(fmt.Sprintf("Encounter.period %d", i), e.AtFrom, e.AtTo)
		}
		if len(iso) < len("2006-01-02") { // JSON has no times of month precision
			continue
		}
		if m, ok := hl7.ParseISO([]byte(iso), zone, true); !ok || m.To.Sub(m.From) != span {
			t.Errorf("%s in JSON is %+v", text, m)
		}
	}
}

// TestOffsetOfTheMessageOnTheDayOfAChange: if a message has an offset that the hospital's zone also has on that day,
// its times are read in that zone, so a day on which the clocks change has 23 or 25 hours. With any other offset, its
// times are read at that offset.
func TestOffsetOfTheMessageOnTheDayOfAChange(t *testing.T) {
	zone := zoneOf(t, "America/New_York")
	at := func(hour, minute int) acuity.Instant {
		return acuity.At(time.Date(2026, 11, 1, hour, minute, 0, 0, time.UTC))
	}
	for _, c := range []struct {
		sent, occurred string
		from, to       acuity.Instant // to is 0 if from is exact
	}{
		{"20261101120000-0500", "20261101", at(4, 0), at(29, 0)},
		{"20261101003000-0400", "20261101", at(4, 0), at(29, 0)},
		{"20261101120000-0600", "20261101", at(6, 0), at(30, 0)}, // from a sender in a different zone
		{"20261101014500-0500", "20261101013000", at(6, 30), 0},  // the second 01:30
		{"20261101014500-0400", "20261101013000", at(5, 30), 0},  // the first 01:30
		{"20261101120000-0500", "20261101003000", at(4, 30), 0},
		{"20261101120000", "20261101013000", at(5, 30), 0},
	} {
		e := hl7Event(t, zone, "A03", c.sent, "", c.occurred)
		if from := e.AsSent(); from != c.from || e.AtTo != c.to {
			t.Errorf("%s of %s is %v to %v, want %v to %v", c.occurred, c.sent, from, e.AtTo, c.from, c.to)
		}
	}
}

// TestCancelFindsItsEventWhenTheClockChanges: on days around a clock change, a cancellation withdraws the discharge
// at the time that the cancellation names, whatever the precision of the two times. A cancellation that names a time
// two days earlier or later does not withdraw the discharge, unless a time of month precision covers both. The
// reference implementation agrees for every order of the messages.
func TestCancelFindsItsEventWhenTheClockChanges(t *testing.T) {
	layouts := []string{"20060102150405", "200601021504", "2006010215", "20060102", "200601"}
	rapid.Check(t, func(t *rapid.T) {
		c := rapid.SampledFrom(clockZones).Draw(t, "zone")
		zone := zoneOf(t, c.zone)
		date, err := time.ParseInLocation("2006-01-02", rapid.SampledFrom([]string{c.spring, c.autumn}).Draw(t, "change"), zone)
		if err != nil {
			t.Fatal(err)
		}
		minutes := rapid.IntRange(0, 25*60-1)
		if rapid.Bool().Draw(t, "about the change") {
			minutes = rapid.IntRange(60, 5*60)
		} else {
			date = date.AddDate(0, 0, rapid.IntRange(-1, 1).Draw(t, "days"))
		}
		left := date.Add(time.Duration(minutes.Draw(t, "minute")) * time.Minute)
		sender := func(name string) func(time.Time) string { // MSH-7 with the offset at that instant, or without one
			layout := rapid.SampledFrom([]string{"20060102150405", "20060102150405-0700"}).Draw(t, name)
			return func(at time.Time) string { return at.In(zone).Format(layout) }
		}
		precision := func(name string) string { return rapid.SampledFrom(layouts).Draw(t, name) }
		named, key := left.In(zone).Format(precision("discharge")), left.In(zone)
		near := true
		if rapid.IntRange(0, 3).Draw(t, "another day") == 0 {
			key, near = key.AddDate(0, 0, rapid.SampledFrom([]int{-2, 2}).Draw(t, "off")), false
		}
		keyed := key.Format(precision("cancel"))
		if len(named) == 6 || len(keyed) == 6 {
			near = near || left.In(zone).Format("200601") == key.Format("200601")
		}
		again := date.AddDate(0, 0, 3)
		came := date.AddDate(0, -2, 0)
		events := []acuity.Event{
			hl7Event(t, zone, "A01", sender("sender of admission")(came), "", came.Format("20060102150405")),
			hl7Event(t, zone, "A03", sender("sender of discharge")(left.Add(time.Minute)), "", named),
			hl7Event(t, zone, "A13", sender("sender of cancel")(again), "", keyed),
		}
		var said []acuity.Observation
		for _, e := range events {
			said = append(said, acuity.Observation{Hospital: "st-test", ReceivedAt: received, Channel: acuity.ChannelHL7, Events: []acuity.Event{e}})
		}
		said = rapid.Permutation(said).Draw(t, "order")
		u := hospital.New("st-test")
		for i := range said {
			u.Apply(&said[i], int64(i))
		}
		patients := 0
		for _, room := range u.Chart().Rooms {
			patients += len(room.Patients)
		}
		if back := patients == 1; back != near {
			t.Fatalf("discharged at %s, cancelled at %s: taken back %v, want %v", named, keyed, back, near)
		}
		if got, want := chart(u.Chart()), chart(hospitaltest.Fold(said, received).Chart); got != want {
			t.Fatalf("got %s\nwant %s", got, want)
		}
	})
}

// TestCancelOfARepeatedHour: if the cancellation's EVN-6 has no offset, it means both occurrences of a repeated hour,
// so the cancellation finds the discharge whatever the offset of either message. An EVN-6 with an offset means one
// occurrence only, and one with a different time finds no discharge.
func TestCancelOfARepeatedHour(t *testing.T) {
	zone := zoneOf(t, "America/New_York")
	first, second, later := "20261101014500-0400", "20261101014500-0500", "20261101100000-0500"
	for _, c := range []struct {
		sent, left string // MSH-7 and EVN-6 of the discharge
		undo, key  string // MSH-7 and EVN-6 of the cancellation
		back       bool
	}{
		{first, "20261101013000", later, "20261101013000", true},
		{second, "20261101013000", later, "20261101013000", true},
		{first, "20261101013000", "20261101101500", "20261101013000", true},
		{second, "20261101013000", "20261101101500", "20261101013000", true},
		{"20261101014500", "20261101013000", later, "20261101013000", true},
		{second, "20261101013000", first, "20261101013000", true},
		{first, "202611010130", later, "20261101013000", true},
		{first, "20261101013000", later, "202611010130", true},
		{first, "20261101013000", later, "2026110101", true},
		{first, "2026110101", later, "20261101013000", true},
		{first, "2026110101", later, "2026110101", true},
		{first, "20261101013000.250", later, "20261101013000.250", true},
		{first, "20261101013000-0400", later, "20261101013000-0400", true},
		{first, "20261101013000-0400", later, "20261101013000-0500", false},
		{first, "20261101013000", later, "20261101013100", false},
		{first, "20261101013000", later, "20261101003000", false},
		{first, "20261101013000", later, "20261101023000", false},
		{"20261101034500-0600", "20261101013000", "20261101100000-0600", "20261101013000", true}, // from a different zone
	} {
		u := hospital.New("st-test")
		for i, e := range []acuity.Event{
			hl7Event(t, zone, "A01", "20261031120000-0400", "", "20261031120000"),
			hl7Event(t, zone, "A03", c.sent, "", c.left),
			hl7Event(t, zone, "A13", c.undo, "", c.key),
		} {
			u.Apply(&acuity.Observation{Hospital: "st-test", ReceivedAt: received, Channel: acuity.ChannelHL7, Events: []acuity.Event{e}}, int64(i))
		}
		patients := 0
		for _, room := range u.Chart().Rooms {
			patients += len(room.Patients)
		}
		if back := patients == 1; back != c.back || c.back != (u.Chart().Unit.CancelsWaiting == 0) {
			t.Errorf("A13 of %s, sent %s, after A03 at %s, sent %s: taken back %v, %d waiting", c.key, c.undo, c.left, c.sent, back, u.Chart().Unit.CancelsWaiting)
		}
	}
}
