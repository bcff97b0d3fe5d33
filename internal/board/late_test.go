package board

import (
	"testing"
	"time"
)

// TestLate: who takes what others leave of the processor waits for Redis for longer.
func TestLate(t *testing.T) {
	for late, want := range map[bool][2]time.Duration{false: {dialTimeout, callTimeout}, true: {lateTimeout, lateTimeout}} {
		b, err := Open(Config{URL: "redis://127.0.0.1:1", Now: time.Now, Late: late})
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		if o := b.redis.Options(); o.DialTimeout != want[0] || o.ReadTimeout != want[1] || o.WriteTimeout != want[1] || o.PoolTimeout != want[1] {
			t.Errorf("late %v: %v to connect, %v to read, %v to write, %v for a connection; want %v", late, o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout, want)
		}
	}
}
