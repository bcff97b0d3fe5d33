package readapi

import (
	"testing"

	"svc/acuity/catalogue"
)

func TestDecimal(t *testing.T) {
	for want, d := range map[string]decimal{
		"0": {0, 2}, "8.5": {850, 2}, "0.94": {94, 2}, "0.07": {7, 2}, "-0.5": {-500, 3}, "-12.005": {-12005, 3},
		"100": {1000, 1}, "37.5": {375, 1}, "7": {7, 0}, "-1": {-1000, 3},
	} {
		if got, err := d.MarshalJSON(); err != nil || string(got) != want {
			t.Errorf("%+v: %s, want %s (%v)", d, got, want, err)
		}
	}
}

func TestNurses(t *testing.T) {
	for d, want := range map[catalogue.Demand]string{20: "0.33", 40: "0.67", 510: "8.5", 3: "0.05", 0: "0", 180: "3"} {
		if got, err := nurses(d).MarshalJSON(); err != nil || string(got) != want {
			t.Errorf("%d: %s, want %s (%v)", d, got, want, err)
		}
	}
}
