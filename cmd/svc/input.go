package main

import (
	"context"
	"io"
)

// interruptible reads what in has until the command is stopped: a read of a terminal
// or a pipe lasts as long as nobody writes, and would outlast Ctrl-C. Close ends what
// reads ahead, unless it waits in such a read; that ends with the process.
func interruptible(ctx context.Context, in io.Reader) io.ReadCloser {
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
