package codes

import (
	"testing"
	"time"
)

// TestClockOfARepeatedHour: when clocks are set back, only the times that occur twice have a zone, and no two instants
// of that night have the same text.
func TestClockOfARepeatedHour(t *testing.T) {
	for name, night := range map[string]time.Time{
		"America/Chicago":     time.Date(2026, 10, 31, 20, 0, 0, 0, time.UTC),
		"Europe/Berlin":       time.Date(2026, 10, 24, 20, 0, 0, 0, time.UTC),
		"Australia/Lord_Howe": time.Date(2026, 4, 4, 6, 0, 0, 0, time.UTC), // set back by half an hour
	} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		seen, long := map[string]time.Time{}, 0
		for minute := range 20 * 60 {
			at := night.Add(time.Duration(minute) * time.Minute).In(zone)
			text := At(at).FormatClock(zone)
			if before, known := seen[text]; known {
				t.Errorf("%s: %s is %v and %v", name, text, before, at)
			}
			seen[text] = at
			if len(text) > len("15:04") {
				long++
			}
		}
		if want := map[bool]int{true: 60, false: 120}[name == "Australia/Lord_Howe"]; long != want {
			t.Errorf("%s: %d times have a zone, want %d", name, long, want)
		}
	}
	for _, zone := range []*time.Location{time.UTC, time.FixedZone("", 19800)} {
		if got := At(time.Date(2026, 11, 1, 1, 30, 0, 0, zone)).FormatClock(zone); got != "01:30" {
			t.Errorf("%v: %s", zone, got)
		}
	}
	spring := time.Date(2026, 3, 8, 7, 59, 0, 0, time.UTC)
	chicago, err := time.LoadLocation("America/Chicago")
	if err != nil {
		t.Fatal(err)
	}
	if got := At(spring).FormatClock(chicago) + " " + At(spring.Add(time.Minute)).FormatClock(chicago); got != "01:59 03:00" {
		t.Error(got)
	}
}
