package limit

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Share keeps each hospital to its share of the processors, whatever its keys may: a
// processor takes the inputs of its hospitals one after the other, so what one of them
// sends has the others wait. Three rules, each of which refuses the sender that is too
// much and nobody else:
//
//   - Large bodies of a hospital are read two at a time at an instance: [Share.Open].
//   - What large bodies cost comes out of one bucket of the hospital at all instances:
//     [Share.Spend]. Small ones are free, for they hold nobody up.
//   - Of what a hospital sent in the last seconds only so much may be unapplied:
//     [Share.Enter]. Small bodies are as fast as the processor is, and no faster.
//
// Of a processor that stands still nobody is refused who sends at the pace of a
// hospital: what is older than these seconds does not count.
type Share struct {
	now    func() time.Time
	source Source
	alone  *Memory // counts while the source is away

	mu        sync.Mutex
	hospitals map[string]*hospital
	parts     map[int32]*unapplied

	refused [reasons]atomic.Int64
}

// Reason is why a hospital is refused.
type Reason uint8

// The reasons.
const (
	AtOnce    Reason = iota // too many large bodies at the same time
	Large                   // more in large bodies than its share
	Unapplied               // sends faster than it is applied
	reasons
)

var reasonNames = [reasons]string{AtOnce: "at_once", Large: "large_bodies", Unapplied: "unapplied"}

// String is the name of the reason in metrics.
func (r Reason) String() string { return reasonNames[r] }

// Reasons are all of them.
func Reasons() []Reason { return []Reason{AtOnce, Large, Unapplied} }

// Busy says that a hospital is beyond its share.
type Busy struct {
	Reason Reason
	Retry  time.Duration // when it may try again
}

// Error implements error.
func (b *Busy) Error() string { return "the hospital is beyond its share: " + b.Reason.String() }

// The share of a hospital. A fact takes a processor 25 to 150 µs, so a bucket that is
// always empty takes under a hundredth of it. The largest hospitals tell of less than 20
// facts a second, and few of them in large bodies.
const (
	LargeBytes     = 32 << 10 // of a body: from here on it is large
	LargeFacts     = 200      // in a body: beyond them it is large
	FactsPerSecond = 100      // that a hospital may go on to tell in large bodies
	FactsAtOnce    = 10_000   // and may tell at once
	FactsUnapplied = 1000     // of the last seconds
	bytesPerFact   = 8 << 10  // what reading a body costs
	atOnce         = 2        // large bodies

	recent       = 5 * time.Second        // what is older and not applied does not count
	openPatience = 2 * time.Second        // for others to be read
	bucketHeld   = 250 * time.Millisecond // who comes too early waits so long for its answer
	sourceWithin = time.Second
	enterSoon    = 20 * time.Millisecond // between two looks
	tryAgain     = time.Second
)

var share = Rate{PerSecond: FactsPerSecond, Burst: FactsAtOnce}

// hospital is what an instance knows of one.
type hospital struct {
	open  chan struct{} // as many as large bodies are being read
	until time.Time     // no large body has a chance before

	recent    int   // facts that are not applied
	partition int32 // where they are
}

// unapplied is what this instance has in one partition of the log.
type unapplied struct {
	applied int64 // the highest offset
	sent    []sent
}

// sent is an input that is in the log and not applied, in the order of the log.
type sent struct {
	offset   int64
	hospital *hospital
	facts    int
	at       time.Time
}

// NewShare returns one whose buckets lie in a source.
func NewShare(source Source, now func() time.Time) *Share {
	return &Share{now: now, source: source, alone: NewMemory(now), hospitals: map[string]*hospital{}, parts: map[int32]*unapplied{}}
}

// Refused is how often hospitals were refused for a reason.
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

// Open is asked before a large body is read; done says that it is read, and what it
// holds is in the log. A hospital that has nothing left in its bucket is refused before
// any of the body is read.
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

// Spend takes what a body costs, by its length or by what it tells, from the bucket of
// its hospital. A body that is not large costs nothing.
func (s *Share) Spend(ctx context.Context, id string, bytes, facts int) *Busy {
	wait := s.spend(ctx, id, bytes, facts)
	if wait == 0 {
		return nil
	}
	s.mu.Lock()
	s.hospital(id).until = s.now().Add(wait)
	s.mu.Unlock()
	return s.busy(Large, wait)
}

// Await is Spend for a sender that cannot be told to come later: it waits, no longer than
// its patience, until there is enough.
func (s *Share) Await(ctx context.Context, id string, bytes, facts int, patience time.Duration) *Busy {
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

// spend takes what a body costs, or nothing, and returns when to try again.
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
	if left := s.take(ctx, id, 0); left < cost {
		return max(share.wait(cost-left), time.Millisecond)
	}
	s.take(ctx, id, cost)
	return 0
}

// take takes tokens of the bucket of a hospital, and returns how many are left.
func (s *Share) take(ctx context.Context, id string, want float64) (left float64) {
	within, cancel := context.WithTimeout(ctx, sourceWithin)
	defer cancel()
	id = "facts:" + id
	_, left, err := s.source.Take(within, id, share, want)
	if err != nil {
		_, left, _ = s.alone.Take(ctx, id, share, want) //nolint:errcheck // memory does not fail
	}
	return left
}

// Enter waits, no longer than its patience, until so many facts of a hospital may go to
// the log. They count as unapplied until [Entry.Gone], or what [Entry.Sent] told of is
// applied or not recent any more. The size of a body does not keep it out, only what
// went before it does.
func (s *Share) Enter(ctx context.Context, id string, facts int, patience time.Duration) (*Entry, *Busy) {
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

// Entry is what was let in.
type Entry struct {
	share    *Share
	hospital *hospital
	facts    int
}

// Gone says that it is not in the log, or that nobody knows.
func (e *Entry) Gone() {
	e.share.mu.Lock()
	defer e.share.mu.Unlock()
	e.hospital.recent -= e.facts
}

// Sent says where in the log it is.
func (e *Entry) Sent(partition int32, offset int64) {
	s := e.share
	s.mu.Lock()
	defer s.mu.Unlock()
	e.hospital.partition = partition
	p := s.part(partition)
	if offset <= p.applied { // its change has overtaken the acknowledgment
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

// drop forgets the first inputs, as long as they are such.
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
