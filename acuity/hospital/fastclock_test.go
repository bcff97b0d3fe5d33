package hospital_test

import (
	"testing"

	"svc/acuity"
	"svc/acuity/hospital/hospitaltest"
)

// The time of a unit never goes back, so after an input from a role whose clock is ahead, the reference implementation
// evaluates the unit at the time of that input.
func TestFoldAfterAFastClock(t *testing.T) {
	row := holds(4, "labor-epidural")
	say := []acuity.Observation{census(-300, row), clinical(1, 4, mews("6").seen(-238)), census(10, row)}
	early, late := hospitaltest.Fold(say, minute(1)), hospitaltest.Fold(say, minute(10))
	if got, want := rendered(&early.Verdict), rendered(&late.Verdict); got != want {
		t.Errorf("at 1 min:\n got %s\nwant %s", got, want)
	}
	if got, want := rendered(&late.Verdict), expected(t, "4 30 labor-epidural/0"); got != want {
		t.Errorf("at 10 min:\n got %s\nwant %s", got, want)
	}
}
