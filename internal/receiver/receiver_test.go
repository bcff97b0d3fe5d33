package receiver

import (
	"fmt"
	"testing"
)

// TestReceiverForgets: a receiver that has stored the maximum number of ids drops the oldest id for each new one.
func TestReceiverForgets(t *testing.T) {
	r := &Receiver{}
	for i := range maxIDs + 1 {
		r.count(fmt.Sprint(i))
	}
	if len(r.seen) != maxIDs || r.count("1") != 2 || r.count("0") != 1 {
		t.Errorf("%d ids are known", len(r.seen))
	}
}
