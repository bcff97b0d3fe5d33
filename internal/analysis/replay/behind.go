package replay

// behind hands values in order to a goroutine of its own, so the caller does not wait for
// their processing. One goroutine calls put and close.
type behind[T any] struct {
	batches chan []T
	past    recycled[T]
	batch   []T
	failed  chan struct{} // closed with the first fault
	ended   chan struct{}
	fault   error // the first error of each
}

// takeBehind starts the goroutine. A value is valid until each returns. After an error of
// each, the remaining values are dropped.
func takeBehind[T any](each func(v *T) error) *behind[T] {
	b := &behind[T]{
		batches: make(chan []T, aheadBatches), past: newRecycled[T](),
		failed: make(chan struct{}), ended: make(chan struct{}),
	}
	b.batch = b.past.empty()
	batches := b.batches
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
			b.past.put(batch)
		}
	}()
	return b
}

// put hands on a copy of a value. It returns the error of an earlier value.
func (b *behind[T]) put(v *T) error {
	if b.batch = append(b.batch, *v); len(b.batch) < aheadRecords {
		return nil
	}
	select {
	case <-b.failed:
		return b.fault
	case b.batches <- b.batch:
		b.batch = b.past.empty()
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
