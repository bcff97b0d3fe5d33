package cli

import (
	"context"
	"io"
	"time"
)

// Interruptible reads what in has until the command is stopped: a read of a terminal
// or a pipe lasts as long as nobody writes, and would outlast Ctrl-C. Close ends what
// reads ahead, unless it waits in such a read; that ends with the process.
func Interruptible(ctx context.Context, in io.Reader) io.ReadCloser {
	out, ahead := io.Pipe()
	stop := context.AfterFunc(ctx, func() {
		ahead.CloseWithError(ctx.Err())
	})
	go func() {
		_, err := io.Copy(ahead, in)
		stop()
		ahead.CloseWithError(err) // nil is the end of what there is
	}()
	return out
}

// pause waits, or returns the error of ctx when that ends before.
func pause(ctx context.Context, d time.Duration) error {
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
