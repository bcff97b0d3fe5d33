package replay

// The size of a batch between two goroutines, and the number of waiting batches.
const (
	behindRecords = 256
	behindBatches = 4
)

// behind hands values in order to a goroutine of its own, so the caller does not wait for
// their processing. One goroutine calls put and close.
type behind[T any] struct {
	batches chan []T
	batch   []T
	failed  chan struct{} // closed with the first fault
	ended   chan struct{}
	fault   error // the first error of each
}

// takeBehind starts the goroutine. After an error of each, the remaining values are dropped.
func takeBehind[T any](each func(v *T) error) *behind[T] {
	batches := make(chan []T, behindBatches)
	b := &behind[T]{batches: batches, failed: make(chan struct{}), ended: make(chan struct{})}
	go func() {
		defer close(b.ended)
		for batch := range batches {
			for i := range batch {
				if b.fault != nil {
					break
				}
				if b.fault = each(&batch[i]); b.fault != nil {
					close(b.failed)
				}
			}
		}
	}()
	return b
}

// put hands on a copy of a value. It returns the error of an earlier value.
func (b *behind[T]) put(v *T) error {
	if b.batch = append(b.batch, *v); len(b.batch) < behindRecords {
		return nil
	}
	select {
	case <-b.failed:
		return b.fault
	case b.batches <- b.batch:
		b.batch = make([]T, 0, behindRecords)
		return nil
	}
}

// close waits until all values are processed and returns the first error.
func (b *behind[T]) close() error {
	select {
	case <-b.failed:
	case b.batches <- b.batch:
	}
	b.stop()
	return b.fault
}

// stop ends the goroutine and waits for it; it may be called after close.
func (b *behind[T]) stop() {
	if b.batches != nil {
		close(b.batches)
		b.batches = nil
	}
	<-b.ended
}
