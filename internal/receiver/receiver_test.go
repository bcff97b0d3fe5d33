package receiver

import (
	"fmt"
	"testing"
)

// TestReceiverForgets: above the limit, the oldest ids are dropped.
func TestReceiverForgets(t *testing.T) {
	r := &Receiver{}
	for i := range maxIDs + 1 {
		r.count(fmt.Sprint(i))
	}
	if len(r.seen) != maxIDs || r.count("1") != 2 || r.count("0") != 1 {
		t.Errorf("%d ids are known", len(r.seen))
	}
}
