package acuity

import "testing"

func TestCompare(t *testing.T) {
	ops := []Comparator{Equal, Less, LessOrEqual, Greater, GreaterOrEqual}
	meets := func(x Milli, op Comparator, than Milli) bool {
		switch op {
		case Equal:
			return x == than
		case Less:
			return x < than
		case LessOrEqual:
			return x <= than
		case Greater:
			return x > than
		case GreaterOrEqual:
			return x >= than
		}
		return false
	}
	// Thousandths stand for the reals: limits are even, so odd numbers lie between.
	for _, stated := range ops {
		for _, op := range ops {
			for n := Milli(0); n <= 12; n += 2 {
				all, none := true, true
				for x := Milli(-4); x <= 16; x++ {
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
				if got := compare(number(stated, n, ""), op, 6); got != want {
					t.Errorf("%d %d against %d 6 = %d, want %d", stated, n, op, got, want)
				}
			}
		}
	}
}
