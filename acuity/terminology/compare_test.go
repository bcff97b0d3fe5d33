package terminology

import (
	"testing"

	"svc/acuity/codes"
)

func TestCompare(t *testing.T) {
	ops := []codes.Comparator{codes.Equal, codes.Less, codes.LessOrEqual, codes.Greater, codes.GreaterOrEqual}
	meets := func(x codes.Milli, op codes.Comparator, than codes.Milli) bool {
		switch op {
		case codes.Equal:
			return x == than
		case codes.Less:
			return x < than
		case codes.LessOrEqual:
			return x <= than
		case codes.Greater:
			return x > than
		case codes.GreaterOrEqual:
			return x >= than
		}
		return false
	}
	// Thousandths stand for the reals: limits are even, so odd numbers lie between.
	for _, stated := range ops {
		for _, op := range ops {
			for n := codes.Milli(0); n <= 12; n += 2 {
				all, none := true, true
				for x := codes.Milli(-4); x <= 16; x++ {
					if meets(x, stated, n) {
						all = all && meets(x, op, 6)
						none = none && !meets(x, op, 6)
					}
				}
				want := unread
				switch {
				case all:
					want = yes
				case none:
					want = no
				}
				if got := compare(numberValue(stated, n, ""), op, 6); got != want {
					t.Errorf("%d %d against %d 6 = %d, want %d", stated, n, op, got, want)
				}
			}
		}
	}
}

// numberValue and wordsValue are values as [codes.ParseValue] returns them.
func numberValue(op codes.Comparator, n codes.Milli, unit string) codes.Value {
	return codes.Value{Kind: codes.ValueNumber, Op: op, Number: n, Unit: unit}
}

func wordsValue(w string) codes.Value { return codes.Value{Kind: codes.ValueWords, Words: w} }
