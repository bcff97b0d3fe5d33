package limit

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Share limits each hospital to its share of the processors, whatever the rates of its
// keys. A processor takes the inputs of its hospitals one after the other, so the inputs
// of one make the others wait. There are three rules. Each refuses only the hospital that
// sends too much.
//
//   - An instance reads two large bodies of a hospital at a time: [Share.Open].
//   - Large bodies are charged to one bucket of the hospital, shared by all instances:
//     [Share.Spend]. Small ones are free, because they delay nobody.
//   - Only so many facts of a hospital from the last seconds may be unapplied:
//     [Share.Enter]. So small bodies are as fast as the processor, and no faster.
//
// A nil Share refuses nobody. While a processor stands still, a hospital at its usual pace is not
// refused, because facts older than these seconds do not count.
type Share struct {
	now    func() time.Time
	source Source
	alone  *Memory // the bucket while the source is away

	mu        sync.Mutex
	hospitals map[string]*hospital
	parts     map[int32]*unapplied

	refused [reasons]atomic.Int64
}

// Reason is why a hospital is refused.
type Reason uint8

// These are the reasons.
const (
	AtOnce    Reason = iota // too many large bodies at the same time
	Large                   // large bodies exceed the share
	Unapplied               // the hospital sends faster than it is applied
	reasons
)

var reasonNames = [reasons]string{AtOnce: "at_once", Large: "large_bodies", Unapplied: "unapplied"}

// String returns the name of the reason in metrics.
func (r Reason) String() string { return reasonNames[r] }

// Reasons returns every reason.
func Reasons() []Reason { return []Reason{AtOnce, Large, Unapplied} }

// Busy says that a hospital exceeds its share.
type Busy struct {
	Reason Reason
	Retry  time.Duration // how long until it may try again
}

// Error implements error.
func (b *Busy) Error() string { return "the hospital is beyond its share: " + b.Reason.String() }

// These constants are the share of a hospital. A fact takes a processor 25 to 150 µs, so
// a bucket that is always empty uses under a hundredth of it. The largest hospitals send
// less than 20 facts a second, few of them in large bodies.
const (
	LargeBytes     = 32 << 10 // a body of this length is large
	LargeFacts     = 200      // a body with more facts is large
	FactsPerSecond = 100      // rate at which the bucket for large bodies fills
	FactsAtOnce    = 10_000   // size of that bucket
	FactsUnapplied = 1000     // facts of the last seconds that may be unapplied
	bytesPerFact   = 8 << 10  // reading this much of a body costs one fact
	atOnce         = 2        // large bodies read at the same time

	recent       = 5 * time.Second        // older unapplied facts do not count
	openPatience = 2 * time.Second        // wait for other large bodies to be read
	bucketHeld   = 250 * time.Millisecond // delay of a refusal, for senders that come too early
	sourceWithin = time.Second
	enterSoon    = 20 * time.Millisecond // between two checks
	tryAgain     = time.Second
)

var share = Rate{PerSecond: FactsPerSecond, Burst: FactsAtOnce}

// hospital is what an instance knows of one hospital.
type hospital struct {
	open  chan struct{} // one value for each large body that is being read
	until time.Time     // no large body is accepted before this time

	recent    int   // number of unapplied facts
	partition int32 // partition of these facts
}

// unapplied holds the unapplied inputs of this instance in one partition of the log.
type unapplied struct {
	applied int64 // the highest applied offset
	sent    []sent
}

// sent is an input in the log that is not applied. Inputs are in the order of the log.
type sent struct {
	offset   int64
	hospital *hospital
	facts    int
	at       time.Time
}

// NewShare returns a Share with its buckets in source.
func NewShare(source Source, now func() time.Time) *Share {
	return &Share{now: now, source: source, alone: NewMemory(now), hospitals: map[string]*hospital{}, parts: map[int32]*unapplied{}}
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
		h = &hospital{open: make(chan struct{}, atOnce), partition: -1}
		s.hospitals[id] = h
	}
	return h
}

// Open waits until a large body may be read. The caller calls done once the body is
// answered. A hospital with an empty bucket is refused before any of
// the body is read.
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

// Spend charges the bucket of a hospital for a body, by its length or its facts. A body
// that is not large costs nothing.
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

// Await charges like Spend, for a sender whose protocol has no "come later". It waits, at
// most for patience, until the bucket has enough.
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

// spend charges the bucket for a body, or returns how long until the next try.
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
	// Two instances that look at the same time may both find enough, once.
	if left := s.takeTokens(ctx, id, 0); left < cost {
		return max(share.wait(cost-left), time.Millisecond)
	}
	s.takeTokens(ctx, id, cost)
	return 0
}

// takeTokens takes tokens from the bucket of a hospital, and returns how many are left.
func (s *Share) takeTokens(ctx context.Context, id string, want float64) (left float64) {
	within, cancel := context.WithTimeout(ctx, sourceWithin)
	defer cancel()
	id = "facts:" + id
	_, left, err := s.source.TakeTokens(within, id, share, want)
	if err != nil {
		_, left, _ = s.alone.TakeTokens(ctx, id, share, want) //nolint:errcheck // memory does not fail
	}
	return left
}

// Enter waits, at most for patience, until this many facts of a hospital may go to the
// log. They count as unapplied until [Entry.Gone], or until the input of [Entry.Sent] is
// applied or no longer recent. The size of an input never keeps it out, only the inputs
// before it.
func (s *Share) Enter(ctx context.Context, id string, facts int, patience time.Duration) (*Entry, *Busy) {
	if s == nil {
		return nil, nil
	}
	facts = max(facts, 1)
	for began := s.now(); ; {
		s.mu.Lock()
		h, now := s.hospital(id), s.now()
		s.expire(h.partition, now)
		if h.recent < FactsUnapplied {
			h.recent += facts
			s.mu.Unlock()
			return &Entry{s, h, facts}, nil
		}
		s.mu.Unlock()
		if now.Sub(began) >= patience || ctx.Err() != nil {
			return nil, s.busy(Unapplied, tryAgain)
		}
		pause(ctx, enterSoon)
	}
}

// Entry is an input that may go to the log. The methods of a nil one do nothing.
type Entry struct {
	share    *Share
	hospital *hospital
	facts    int
}

// Gone says that the input is not in the log, or that this is unknown.
func (e *Entry) Gone() {
	if e == nil {
		return
	}
	e.share.mu.Lock()
	defer e.share.mu.Unlock()
	e.hospital.recent -= e.facts
}

// Sent says where in the log the input is.
func (e *Entry) Sent(partition int32, offset int64) {
	if e == nil {
		return
	}
	s := e.share
	s.mu.Lock()
	defer s.mu.Unlock()
	e.hospital.partition = partition
	p := s.part(partition)
	if offset <= p.applied { // its change came before the acknowledgment
		e.hospital.recent -= e.facts
		return
	}
	at, _ := slices.BinarySearchFunc(p.sent, offset, func(in sent, offset int64) int { return int(in.offset - offset) })
	p.sent = slices.Insert(p.sent, at, sent{offset, e.hospital, e.facts, s.now()})
}

// Applied says that all inputs of a partition up to an offset are applied.
func (s *Share) Applied(partition int32, offset int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.part(partition)
	p.applied = max(p.applied, offset)
	p.drop(func(in *sent) bool { return in.offset <= offset })
}

func (s *Share) expire(partition int32, now time.Time) {
	if p := s.parts[partition]; p != nil {
		p.drop(func(in *sent) bool { return now.Sub(in.at) >= recent })
	}
}

func (s *Share) part(n int32) *unapplied {
	p := s.parts[n]
	if p == nil {
		p = &unapplied{applied: -1}
		s.parts[n] = p
	}
	return p
}

// drop removes inputs from the front while such holds.
func (p *unapplied) drop(such func(*sent) bool) {
	n := 0
	for n < len(p.sent) && such(&p.sent[n]) {
		p.sent[n].hospital.recent -= p.sent[n].facts
		n++
	}
	if p.sent = p.sent[n:]; len(p.sent) == 0 {
		p.sent = nil
	}
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d) //nolint:forbidigo // a pause of the limiter's own choosing
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
