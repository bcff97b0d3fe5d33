package cli

import (
	"context"
	"io"
	"time"
)

// Interruptible returns a reader of in that ends when ctx ends. A plain read of a terminal or
// pipe would wait for input, and outlast Ctrl-C. Close ends the goroutine that reads ahead,
// unless it waits for input. Then it ends with the process.
func Interruptible(ctx context.Context, in io.Reader) io.ReadCloser {
	out, ahead := io.Pipe()
	stop := context.AfterFunc(ctx, func() {
		ahead.CloseWithError(ctx.Err())
	})
	go func() {
		_, err := io.Copy(ahead, in)
		stop()
		ahead.CloseWithError(err) // nil becomes the end of the input
	}()
	return out
}

// Pause waits for d. It returns the error of ctx if that ends first.
func Pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
