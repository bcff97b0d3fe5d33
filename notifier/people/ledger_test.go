package people_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"svc/schemas/ledger"
)

// memoryLedger stores encoded entries in memory.
type memoryLedger struct {
	mu      sync.Mutex
	records [][2]string
	times   []time.Time          // when each record was written
	last    func(entry any) bool // the process dies after the first entry for which last returns true; nil: it never dies
	dead    bool
}

// until makes the ledger refuse all entries after the first one for which last returns true.
func (l *memoryLedger) until(last func(entry any) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last, l.dead = last, false
}

// died reports whether the ledger has stored an entry for which last returned true.
func (l *memoryLedger) died() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dead
}

// accepts reports whether the ledger still stores entries.
func (l *memoryLedger) accepts(entry any) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dead {
		return false
	}
	l.dead = l.last != nil && l.last(entry)
	return true
}

func (l *memoryLedger) Append(ctx context.Context, _ int32, entry any, stored func(int64, error)) {
	key, value, err := ledger.Encode(nil, entry)
	if err != nil {
		panic(err)
	}
	if ctx.Err() != nil {
		stored(-1, ctx.Err())
		return
	}
	if l.accepts(entry) {
		stored(l.put(key.String(), value), nil)
	}
}

func (l *memoryLedger) put(key string, value []byte) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.records, l.times = append(l.records, [2]string{key, string(value)}), append(l.times, time.Now())
	return int64(len(l.records) - 1)
}

func (l *memoryLedger) Read(_ context.Context, _ int32, from int64, prefix string, fn func(int64, any) bool) (int64, error) {
	l.mu.Lock()
	all := l.records
	l.mu.Unlock()
	for at := max(from, 0); at < int64(len(all)); at++ {
		if !strings.HasPrefix(all[at][0], prefix) {
			if !fn(at, nil) {
				break
			}
			continue
		}
		entry, err := ledger.Decode([]byte(all[at][0]), []byte(all[at][1]))
		if err != nil {
			return 0, err
		}
		if !fn(at, entry) {
			break
		}
	}
	return int64(len(all)), nil
}

func (l *memoryLedger) Restore(ctx context.Context, partition int32, from int64, fn func(int64, any) bool) (int64, error) {
	return l.Read(ctx, partition, from, "", fn)
}

func (l *memoryLedger) At(_ context.Context, _ int32, instant time.Time) (int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at, _ := slices.BinarySearchFunc(l.times, instant, time.Time.Compare)
	return int64(at), nil
}

// whole returns the whole ledger as text.
func (l *memoryLedger) whole() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var b strings.Builder
	for _, r := range l.records {
		b.WriteString(r[0] + "\n" + r[1] + "\n")
	}
	return b.String()
}
