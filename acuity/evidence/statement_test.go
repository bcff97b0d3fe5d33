package evidence

import (
	"testing"
	"unsafe"
)

// A hospital keeps thousands of statements.
func TestStatementIsSmall(t *testing.T) {
	if n := unsafe.Sizeof(Statement{}); n > 56 {
		t.Errorf("a statement takes %d bytes, want at most 56", n)
	}
}
