package readapi

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"svc/acuity/catalogue"
)

// TestAnswersAreLent: the bytes and the tag of a response do not depend on the number of its pieces. While lend
// passes the bytes of one response to a function, rendering other responses does not change these bytes.
func TestAnswersAreLent(t *testing.T) {
	const many = 20
	whole := func(n int) string { return strings.Repeat(fmt.Sprint("room ", n, ","), 3+n) }
	all := make([]*rendered, many)
	for ask := range 6 {
		for n := range all {
			if ask%3 > 0 {
				break // the next two rounds request the same responses again
			}
			data := []byte(whole(n))
			all[n] = newRendered(data[:n], data[n:n+1], data[n+1:])
			if one := newRendered(data); one.etag[0] != all[n].etag[0] {
				t.Errorf("%s in one piece, %s in three", one.etag[0], all[n].etag[0])
			}
		}
		var check func(n int)
		check = func(n int) {
			if n == many {
				return
			}
			all[n].lend(func(data json.RawMessage) {
				check(n + 1) // other requests arrive while this answer is being sent
				if string(data) != whole(n) {
					t.Errorf("asking %d: %d is %q", ask, n, data)
				}
			})
		}
		check(0)
	}
}

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
