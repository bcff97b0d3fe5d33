package limit

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Share limits each hospital to its share of the processors, regardless of the rates of its keys. A processor applies
// the inputs of its hospitals sequentially, so the inputs of one hospital delay the others. Three rules apply; each
// refuses only the hospital that exceeds it.
//
//   - An instance reads at most two large bodies of a hospital at a time: [Share.Open].
//   - Large bodies are charged to one bucket of the hospital, shared by all instances: [Share.Spend]. Small bodies
//     are free, because they cause no delay.
//   - The number of a hospital's recent unapplied facts is limited: [Share.Enter]. So small bodies are accepted no
//     faster than the processor applies them.
//
// Spend, Await and Enter of a nil Share refuse nothing. While a processor is stuck, a hospital at its usual pace is
// not refused, because facts older than a few seconds do not count.
type Share struct {
	now    func() time.Time
	source Source
	alone  *Memory // the buckets as last seen in the source, used while the source is unavailable

	mu        sync.Mutex
	hospitals map[string]*hospital
	applied   map[int32]int64 // offset after the last applied input, by partition of the log

	refused [reasons]atomic.Int64
}

// Reason is why a hospital is refused.
type Reason uint8

// The reasons for which a hospital is refused.
const (
	AtOnce    Reason = iota // too many large bodies at the same time
	Large                   // large bodies exceed the share
	Unapplied               // the hospital sends faster than its inputs are applied
	reasons
)

var reasonNames = [reasons]string{AtOnce: "at_once", Large: "large_bodies", Unapplied: "unapplied"}

// String returns the name of the reason in metrics.
func (r Reason) String() string { return reasonNames[r] }

// Reasons returns every reason.
func Reasons() []Reason { return []Reason{AtOnce, Large, Unapplied} }

// Busy means that a hospital exceeds its share.
type Busy struct {
	Reason Reason
	Retry  time.Duration // time until the hospital may try again
}

// Error implements error.
func (b *Busy) Error() string { return "hospital exceeds its share: " + b.Reason.String() }

// These constants define the share of a hospital. Applying a fact costs a processor 25 to 150 µs, so a hospital that
// uses its bucket fully occupies at most 1.5% of a processor. The largest hospitals send fewer than 20 facts a second,
// few of them in large bodies.
const (
	LargeBytes     = 32 << 10 // length of a body in bytes above which the body is large
	LargeFacts     = 200      // number of facts in a body above which the body is large
	FactsPerSecond = 100      // rate at which the bucket for large bodies fills
	FactsAtOnce    = 10_000   // size of the bucket for large bodies
	FactsUnapplied = 1000     // how many facts of the last few seconds may be unapplied
	LargeAtOnce    = 2        // maximum number of a hospital's large bodies that an instance reads at the same time
	bytesPerFact   = 8 << 10  // number of bytes of a body that cost as much as one fact

	recent       = 5 * time.Second        // maximum age of an unapplied fact that counts
	openPatience = 2 * time.Second        // maximum wait for other large bodies to be read
	bucketHeld   = 250 * time.Millisecond // maximum delay for a sender that retries too early; requests with a longer wait are refused
	shareWithin  = time.Second            // timeout of a call to the source, after which the source counts as unavailable
	enterSoon    = 20 * time.Millisecond  // interval between checks of whether Enter may proceed
	tryAgain     = time.Second
)

var share = Rate{PerSecond: FactsPerSecond, Burst: FactsAtOnce}

// hospital is the state of one hospital in one instance.
type hospital struct {
	open  chan struct{} // one element for each large body that is being read
	until time.Time     // time before which no large body is accepted

	entries []*Entry // inputs that may be unapplied
}

// NewShare returns a Share with its buckets in source.
func NewShare(source Source, now func() time.Time) *Share {
	return &Share{now: now, source: source, alone: NewMemory(now), hospitals: map[string]*hospital{}, applied: map[int32]int64{}}
}

// Refused returns how often hospitals were refused for a reason.
func (s *Share) Refused(r Reason) int64 { return s.refused[r].Load() }

func (s *Share) busy(r Reason, retry time.Duration) *Busy {
	s.refused[r].Add(1)
	return &Busy{Reason: r, Retry: max(retry, tryAgain)}
}

func (s *Share) hospital(id string) *hospital {
	h := s.hospitals[id]
	if h == nil {
		h = &hospital{open: make(chan struct{}, LargeAtOnce)}
		s.hospitals[id] = h
	}
	return h
}

// Open waits until an instance may read another large body of a hospital. It refuses the body without reading it if
// the hospital's bucket needs longer than bucketHeld to fill for the body that Spend refused last, or if openPatience
// passes while other large bodies are being read. If Open does not refuse the body, the caller must call done once
// the request is answered.
func (s *Share) Open(ctx context.Context, id string) (done func(), busy *Busy) {
	s.mu.Lock()
	h := s.hospital(id)
	wait := h.until.Sub(s.now())
	s.mu.Unlock()
	if wait > 0 {
		pause(ctx, min(wait, bucketHeld))
		if wait > bucketHeld {
			return nil, s.busy(Large, wait-bucketHeld)
		}
	}
	patience := time.NewTimer(openPatience) //nolint:forbidigo // ends a wait
	defer patience.Stop()
	select {
	case h.open <- struct{}{}:
		return sync.OnceFunc(func() { <-h.open }), nil
	case <-patience.C:
	case <-ctx.Done():
	}
	return nil, s.busy(AtOnce, tryAgain)
}

// Spend charges the bucket of a hospital for a large body: for its length if it is long, and for its facts if it has
// many. Other bodies are free. If the bucket has too few tokens, Spend charges nothing and refuses the body.
func (s *Share) Spend(ctx context.Context, id string, bytes, facts int) *Busy {
	if s == nil {
		return nil
	}
	wait := s.spend(ctx, id, bytes, facts)
	if wait == 0 {
		return nil
	}
	s.mu.Lock()
	s.hospital(id).until = s.now().Add(wait)
	s.mu.Unlock()
	return s.busy(Large, wait)
}

// Await is like Spend, but serves senders whose protocol cannot ask them to retry later. It waits until the bucket
// has enough tokens. If that takes longer than patience, Await refuses the body.
func (s *Share) Await(ctx context.Context, id string, bytes, facts int, patience time.Duration) *Busy {
	if s == nil {
		return nil
	}
	for began := s.now(); ; {
		wait := s.spend(ctx, id, bytes, facts)
		if wait == 0 {
			return nil
		}
		left := patience - s.now().Sub(began)
		if left <= 0 || ctx.Err() != nil {
			return s.busy(Large, wait)
		}
		pause(ctx, min(wait, left))
	}
}

// spend charges the bucket for a body and returns 0. If the bucket has too few tokens, spend charges nothing and
// returns the time until the next attempt.
func (s *Share) spend(ctx context.Context, id string, bytes, facts int) time.Duration {
	cost := 0.0
	if bytes > LargeBytes {
		cost += float64(bytes) / bytesPerFact
	}
	if facts > LargeFacts {
		cost += float64(facts)
	}
	if cost == 0 {
		return 0
	}
	cost = min(cost, FactsAtOnce)
	within, cancel := context.WithTimeout(ctx, shareWithin)
	defer cancel()
	id = "facts:" + id
	taken, left, err := s.source.TakeTokens(within, id, share, cost)
	if err != nil {
		taken, left, _ = s.alone.TakeTokens(ctx, id, share, cost) //nolint:errcheck // memory does not fail
	} else {
		s.alone.set(id, left)
	}
	if taken {
		return 0
	}
	return max(share.wait(cost-left), time.Millisecond)
}

// Enter accepts an input with the given number of facts as soon as fewer than FactsUnapplied recent facts of the
// hospital are unapplied. If that takes longer than patience, Enter refuses the input. The facts of an accepted input
// count as unapplied until the caller calls [Entry.Gone]. If the caller calls [Entry.Sent] instead, they count until
// the input is applied or is a few seconds old. An input is refused only because of the inputs before it, never
// because of its size.
func (s *Share) Enter(ctx context.Context, id string, facts int, patience time.Duration) (*Entry, *Busy) {
	if s == nil {
		return nil, nil
	}
	for began := s.now(); ; {
		s.mu.Lock()
		h := s.hospital(id)
		if s.unapplied(h) < FactsUnapplied {
			e := &Entry{share: s, facts: max(facts, 1)}
			h.entries = append(h.entries, e)
			s.mu.Unlock()
			return e, nil
		}
		s.mu.Unlock()
		if s.now().Sub(began) >= patience || ctx.Err() != nil {
			return nil, s.busy(Unapplied, tryAgain)
		}
		pause(ctx, enterSoon)
	}
}

// unapplied returns how many facts of a hospital are unapplied, and drops the inputs that no longer count. Each
// remaining input has at least one fact, so the limit on facts also limits the number of inputs.
func (s *Share) unapplied(h *hospital) (facts int) {
	now := s.now()
	h.entries = slices.DeleteFunc(h.entries, func(e *Entry) bool {
		return e.gone || !e.sent.IsZero() && (e.offset < s.applied[e.partition] || now.Sub(e.sent) >= recent)
	})
	for _, e := range h.entries {
		facts += e.facts
	}
	return facts
}

// Entry is an input that may be appended to the log. The methods of a nil Entry do nothing.
type Entry struct {
	share     *Share
	facts     int
	gone      bool
	sent      time.Time // zero: not in the log yet
	partition int32
	offset    int64
}

// Gone records that the input is not in the log, or that its presence there is unknown.
func (e *Entry) Gone() {
	if e == nil {
		return
	}
	e.share.mu.Lock()
	defer e.share.mu.Unlock()
	e.gone = true
}

// Sent records the position of the input in the log.
func (e *Entry) Sent(partition int32, offset int64) {
	if e == nil {
		return
	}
	e.share.mu.Lock()
	defer e.share.mu.Unlock()
	e.sent, e.partition, e.offset = e.share.now(), partition, offset
}

// Applied records that all inputs of a partition up to and including an offset are applied.
func (s *Share) Applied(partition int32, offset int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.applied[partition] = max(s.applied[partition], offset+1)
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d) //nolint:forbidigo // the limiter chooses the pause
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
