package readapi

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// An answer is the same each time and has one tag, in however many pieces it comes. Lent
// memory serves no other answer before the call returns.
func TestAnswersAreLent(t *testing.T) {
	const many = 20
	whole := func(n int) string { return strings.Repeat(fmt.Sprint("room ", n, ","), 3+n) }
	all := make([]*rendered, many)
	for ask := range 6 {
		for n := range all {
			if ask%3 > 0 {
				break // the rest repeats
			}
			data := []byte(whole(n))
			all[n] = tagged(data[:n], data[n:n+1], data[n+1:])
			if one := tagged(data); one.etag[0] != all[n].etag[0] {
				t.Errorf("%s in one piece, %s in three", one.etag[0], all[n].etag[0])
			}
		}
		var check func(n int)
		check = func(n int) {
			if n == many {
				return
			}
			all[n].lend(func(data json.RawMessage) {
				check(n + 1) // other requests come while this answer is sent
				if string(data) != whole(n) {
					t.Errorf("asking %d: %d is %q", ask, n, data)
				}
			})
		}
		check(0)
	}
}
