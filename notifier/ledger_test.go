package notifier_test

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"time"
	"unsafe"

	"svc/schemas/ledger"
)

// memory is a ledger in memory that stores encoded entries, so it returns only what the wire format
// can represent.
type memory struct {
	mu      sync.Mutex
	records [][2][]byte
	times   []time.Time
	away    chan struct{} // no entries are stored until this channel is closed; nil: entries are stored immediately
	unheard chan struct{} // entries are stored, but not acknowledged until this channel is closed; nil: at once
	queue   chan func()
	readers int // number of reads in progress
	most    int // maximum number of concurrent reads
	reads   int // number of reads so far
}

func newMemory() *memory { return &memory{} }

func (m *memory) Append(ctx context.Context, _ int32, entry any, stored func(int64, error)) {
	key, value, err := ledger.Encode(nil, entry)
	if err != nil {
		panic(err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.queue == nil { // a goroutine stores entries in sequence, as a client does
		m.queue = make(chan func(), 1<<20)
		go func(q chan func()) {
			for do := range q {
				do()
			}
		}(m.queue)
	}
	away, unheard := m.away, m.unheard
	m.queue <- func() {
		if away != nil {
			select {
			case <-away:
			case <-ctx.Done():
				stored(-1, ctx.Err())
				return
			}
		}
		if ctx.Err() != nil {
			stored(-1, ctx.Err())
			return
		}
		at := m.put([]byte(key.String()), value)
		if unheard != nil {
			<-unheard
		}
		stored(at, nil)
	}
}

func (m *memory) put(key, value []byte) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.records = append(m.records, [2][]byte{key, value})
	m.times = append(m.times, time.Now())
	return int64(len(m.records) - 1)
}

// size returns the number of bytes that the ledger stores.
func (m *memory) size() (n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range m.records {
		n += int64(cap(e[0]) + cap(e[1]))
	}
	return n + int64(cap(m.records))*int64(unsafe.Sizeof([2][]byte{})) + int64(cap(m.times))*int64(unsafe.Sizeof(time.Time{}))
}

func (m *memory) Read(_ context.Context, _ int32, from int64, prefix string, fn func(int64, any) bool) (int64, error) {
	m.mu.Lock()
	all := m.records
	m.readers++
	m.reads++
	m.most = max(m.most, m.readers)
	m.mu.Unlock()
	time.Sleep(time.Millisecond) // on the test clock, so that reads overlap
	defer func() {
		m.mu.Lock()
		m.readers--
		m.mu.Unlock()
	}()
	for at := max(from, 0); at < int64(len(all)); at++ {
		var entry any
		if bytes.HasPrefix(all[at][0], []byte(prefix)) {
			var err error
			if entry, err = ledger.Decode(all[at][0], all[at][1]); err != nil {
				return 0, err
			}
		}
		if !fn(at, entry) {
			break
		}
	}
	return int64(len(all)), nil
}

func (m *memory) Restore(ctx context.Context, p int32, from int64, fn func(int64, any) bool) (int64, error) {
	return m.Read(ctx, p, from, "", fn)
}

func (m *memory) At(_ context.Context, _ int32, instant time.Time) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i, _ := slices.BinarySearchFunc(m.times, instant, time.Time.Compare)
	return int64(i), nil
}

// goAway stops the ledger from storing entries until the returned function is called.
func (m *memory) goAway() (back func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	gate := make(chan struct{})
	m.away = gate
	return func() { close(gate) }
}

// delayAnswers makes the ledger store entries without acknowledging them until the returned function is called, as
// when a broker is lost before it has answered.
func (m *memory) delayAnswers() (answer func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	gate := make(chan struct{})
	m.unheard = gate
	return func() {
		m.mu.Lock()
		m.unheard = nil
		m.mu.Unlock()
		close(gate)
	}
}
