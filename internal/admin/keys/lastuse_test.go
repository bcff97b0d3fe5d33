package keys

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// TestLastUse: while a key is in constant use, its last use is written once a minute. A failed write is not repeated.
func TestLastUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		began := time.Now()
		var written []time.Duration
		u := NewLastUse(time.Now)
		ended := make(chan error, 1)
		go func() {
			ended <- u.Run(ctx, func(_ context.Context, used map[string]time.Time) error {
				for id, at := range used {
					if id != "key_1" {
						t.Errorf("written for %s", id)
					}
					written = append(written, at.Sub(began))
				}
				return errors.New("a store that is away")
			})
		}()
		time.Sleep(500 * time.Millisecond) // so that no use coincides with a write
		for range 150 {
			u.Record("key_1")
			time.Sleep(time.Second)
		}
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("ends with %v", err)
		}
		if want := []time.Duration{4500 * time.Millisecond, 64500 * time.Millisecond, 124500 * time.Millisecond}; !slices.Equal(written, want) {
			t.Errorf("written %v, want %v", written, want)
		}
	})
}
