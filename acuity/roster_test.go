package acuity

import (
	"testing"
	"time"
)

func TestMakeup(t *testing.T) {
	days := func(date string) int32 {
		at, err := time.Parse(time.DateOnly, date)
		if err != nil {
			t.Fatal(err)
		}
		return int32(at.Unix() / (24 * 60 * 60))
	}
	roster := Roster{AsOf: At(time.Date(2031, 3, 4, 15, 0, 0, 0, time.UTC))}
	for _, n := range []struct {
		skill int8
		hired string
	}{
		{0, "2031-04-01"}, // hired in the future
		{0, "2030-03-05"},
		{1, "2030-03-04"}, // exactly a year
		{1, "2026-03-05"},
		{1, "2026-03-04"},
		{2, "2021-03-05"},
		{2, "2021-03-04"},
		{-1, "1999-12-31"},
		{2, "1969-12-01"},
	} {
		roster.Nurses = append(roster.Nurses, RosterNurse{Skill: n.skill, HiredDays: days(n.hired)})
	}
	roster.Nurses = append(roster.Nurses, RosterNurse{Skill: -1})
	want := Makeup{
		Novice: 2, Experienced: 3, Expert: 3, Unrated: 2,
		Under1: 2, From1to5: 2, From5to10: 2, Over10: 3, Unhired: 1, Median: 50,
	}
	if got := roster.Makeup(); got != want {
		t.Errorf("%+v\nwant %+v", got, want)
	}
	roster.Nurses = roster.Nurses[:2] // days 0 and 364
	if got := roster.Makeup().Median; got != 5 {
		t.Errorf("median of an even number: %d tenths of a year", got)
	}
	roster.Nurses = nil
	if got := roster.Makeup(); got != (Makeup{Median: -1}) {
		t.Errorf("nobody: %+v", got)
	}
}
