package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"time"
)

// OpenInput opens a file for reading. The name "-" means standard input. Reading ends when ctx ends. The error does
// not name the file.
func OpenInput(ctx context.Context, name string) (io.ReadCloser, error) {
	if name == "-" {
		return interruptible(ctx, os.Stdin), nil
	}
	file, err := os.Open(name) //nolint:gosec // the user names the file
	if err != nil {
		return nil, WithoutPath(err)
	}
	return &input{interruptible(ctx, file), file}, nil
}

// input is an open file.
type input struct {
	io.ReadCloser
	file *os.File
}

// Close implements [io.Closer].
func (in *input) Close() error { return errors.Join(in.ReadCloser.Close(), in.file.Close()) }

// interruptible returns a reader that reads from in and stops when ctx ends. Without it, a read from a terminal or
// pipe would continue to block after Ctrl-C. A goroutine reads from in; Close ends this goroutine, unless it is
// blocked in a read.
func interruptible(ctx context.Context, in io.Reader) io.ReadCloser {
	out, ahead := io.Pipe()
	stop := context.AfterFunc(ctx, func() {
		ahead.CloseWithError(ctx.Err())
	})
	go func() {
		_, err := io.Copy(ahead, in)
		stop()
		ahead.CloseWithError(err) // nil means io.EOF
	}()
	return out
}

// Pause waits for d. It returns the error of ctx if ctx ends first.
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
