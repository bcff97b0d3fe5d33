package simulate_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"svc/internal/analysis/simulate"
)

var update = flag.Bool("update", false, "rewrite testdata")

// TestBytesAreFrozen compares the simulated bytes of all profiles with recorded digests, because golden files and the
// forecast's quality gates depend on these bytes. The simulated periods include the change of regime and a change to
// daylight saving time.
func TestBytesAreFrozen(t *testing.T) {
	chicago, err := time.LoadLocation("America/Chicago")
	if err != nil {
		t.Fatal(err)
	}
	var sums strings.Builder
	line := func(o simulate.Options) {
		fmt.Fprintf(&sums, "%x  %s seed %d births %d from %s for %dd\n", sum(t, o), o.Profile, o.Seed, o.Births, o.Start.Format(time.RFC3339), o.For/(24*time.Hour))
	}
	for seed := range uint64(4) {
		for _, births := range []int{900, 3000, 7000} {
			line(simulate.Options{Seed: seed + 1, Profile: "medium", Births: births, Start: start, For: 14 * 24 * time.Hour})
		}
	}
	for _, profile := range simulate.Profiles() {
		line(simulate.Options{Seed: 1, Profile: profile, Start: time.Date(2026, 3, 2, 0, 0, 0, 0, chicago), For: 10 * 24 * time.Hour})
	}
	line(simulate.Options{Seed: 1, Profile: "small", Start: start, For: 32 * 7 * 24 * time.Hour})
	const file = "testdata/sums.txt"
	if *update {
		if err = os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err = os.WriteFile(file, []byte(sums.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != sums.String() {
		t.Errorf("what is simulated has changed; goldens of the forecast change with it (-update here, then there)\ngot\n%s\nwant\n%s", &sums, want)
	}
}
