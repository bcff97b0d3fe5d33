package notifier_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"svc/acuity"
	"svc/internal/outbound"
	"svc/notifier"
	"svc/schemas"
)

// memory is a ledger that stores entries as their bytes: what comes back is what
// the wire can carry.
type memory struct {
	mu      sync.Mutex
	records [][2][]byte
	times   []time.Time
	away    chan struct{} // closed: it takes entries; nil: likewise
	queue   chan func()
}

func newMemory() *memory { return &memory{} }

func (m *memory) Append(ctx context.Context, _ int32, entry any, stored func(int64, error)) {
	key, value, err := schemas.EncodeLedger(nil, entry)
	if err != nil {
		panic(err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.queue == nil { // one after the other, as a client does
		m.queue = make(chan func(), 1<<20)
		go func(q chan func()) {
			for do := range q {
				do()
			}
		}(m.queue)
	}
	away := m.away
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
		stored(m.put([]byte(key.String()), value), nil)
	}
}

func (m *memory) put(key, value []byte) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.records = append(m.records, [2][]byte{key, value})
	m.times = append(m.times, time.Now())
	return int64(len(m.records) - 1)
}

func (m *memory) Read(_ context.Context, _ int32, from int64, prefix string, each func(int64, any) bool) (int64, error) {
	m.mu.Lock()
	all := m.records
	m.mu.Unlock()
	for at := max(from, 0); at < int64(len(all)); at++ {
		var entry any
		if bytes.HasPrefix(all[at][0], []byte(prefix)) {
			var err error
			if entry, err = schemas.DecodeLedger(all[at][0], all[at][1]); err != nil {
				return 0, err
			}
		}
		if !each(at, entry) {
			break
		}
	}
	return int64(len(all)), nil
}

func (m *memory) Restore(ctx context.Context, p int32, from int64, each func(int64, any) bool) (int64, error) {
	return m.Read(ctx, p, from, "", each)
}

func (m *memory) At(_ context.Context, _ int32, instant time.Time) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i, _ := slices.BinarySearchFunc(m.times, instant, time.Time.Compare)
	return int64(i), nil
}

// goAway has it take nothing until the returned function is called.
func (m *memory) goAway() (back func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	gate := make(chan struct{})
	m.away = gate
	return func() { close(gate) }
}

// hooks are settings.
type hooks struct {
	mu  sync.Mutex
	all map[string]map[string]*outbound.Webhook
}

func (s *hooks) Webhooks(hospital string) []*outbound.Webhook {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.SortedFunc(maps.Values(s.all[hospital]), func(a, b *outbound.Webhook) int { return bytes.Compare([]byte(a.ID), []byte(b.ID)) })
}

func (s *hooks) Webhook(hospital, id string) (*outbound.Webhook, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w, ok := s.all[hospital][id]
	return w, ok
}

// got is one request that a receiver saw.
type got struct {
	at       time.Time
	endpoint string
	event    string
	body     string
	attempt  int
}

// receiver answers requests; it is the sender of the tests.
type receiver struct {
	mu     sync.Mutex
	seen   []got
	answer map[string]func(m outbound.Message) outbound.Result // by endpoint; none: 200
	flying int
	most   int
}

// atOnce is how many attempts were in flight at most.
func (r *receiver) atOnce() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.most
}

func (r *receiver) Send(ctx context.Context, m outbound.Message) outbound.Result {
	r.mu.Lock()
	r.seen = append(r.seen, got{time.Now(), m.Webhook.ID, m.EventID, string(m.Body), m.Attempt})
	r.flying++
	r.most = max(r.most, r.flying)
	answer := r.answer[m.Webhook.ID]
	r.mu.Unlock()
	began := time.Now()
	result := ok()
	if answer != nil {
		result = answer(m)
	}
	if result.Class == hang {
		select {
		case <-ctx.Done():
			result = outbound.Result{Class: outbound.ClassTimeout}
		case <-time.After(time.Duration(m.Webhook.TimeoutSeconds) * time.Second):
			result = outbound.Result{Class: outbound.ClassTimeout}
		}
	}
	result.Took = time.Since(began)
	r.mu.Lock()
	r.flying--
	r.mu.Unlock()
	return result
}

const hang outbound.Class = "hang"

func ok() outbound.Result { return outbound.Result{Class: outbound.ClassOK, Status: 200} }

func status(code int) outbound.Result {
	return outbound.Result{Class: outbound.ClassStatus, Status: code}
}

func refused() outbound.Result { return outbound.Result{Class: outbound.ClassRefused} }

func (r *receiver) set(endpoint string, answer func(outbound.Message) outbound.Result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer[endpoint] = answer
}

// always answers the same.
func always(result outbound.Result) func(outbound.Message) outbound.Result {
	return func(outbound.Message) outbound.Result { return result }
}

// of returns the requests of an endpoint.
func (r *receiver) of(endpoint string) (list []got) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, g := range r.seen {
		if g.endpoint == endpoint {
			list = append(list, g)
		}
	}
	return list
}

// shelf is a board.
type shelf struct {
	mu         sync.Mutex
	deliveries map[string]outbound.Delivery
	health     map[string]outbound.Health
	progress   map[string]outbound.Progress
}

func (s *shelf) Delivery(e *outbound.Entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := e.Delivery
	d.Attempts = slices.Clone(d.Attempts)
	s.deliveries[d.ID] = d
}

func (s *shelf) Health(_, endpoint string, h outbound.Health) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.health[endpoint] = h
}

func (s *shelf) Progress(p outbound.Progress) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.progress[p.ID] = p
}

// states counts the deliveries of whk_1 by state.
func (s *shelf) states() map[outbound.State]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := map[outbound.State]int{}
	for _, d := range s.deliveries {
		if d.EndpointID == "whk_1" {
			n[d.State]++
		}
	}
	return n
}

// nothing takes figures and forgets them.
type nothing struct{}

func (nothing) Event(string)                                            {}
func (nothing) Attempt(outbound.Channel, outbound.Class, time.Duration) {}
func (nothing) Ended(outbound.Channel, outbound.State)                  {}
func (nothing) Accepted(time.Duration)                                  {}
func (nothing) Decided(string)                                          {}
func (nothing) Waiting(outbound.Channel, int)                           {}

// rig is a notifier on fakes, within synctest.
type rig struct {
	t        testing.TB
	ledger   *memory
	settings *hooks
	receiver *receiver
	board    *shelf
	people   notifier.People
	limits   notifier.Limits
	skew     atomic.Int64 // nanoseconds, of the machine's clock
	log      bytes.Buffer

	n        *notifier.Notifier
	stop     context.CancelFunc
	stops    []context.CancelFunc
	done     chan error
	verdicts []notifier.Change // all that were committed
	mark     notifier.Mark     // as committed by the group
	versions map[string]int64
}

func newRig(t testing.TB) *rig {
	return &rig{
		t: t, ledger: newMemory(), settings: &hooks{all: map[string]map[string]*outbound.Webhook{}},
		receiver: &receiver{answer: map[string]func(outbound.Message) outbound.Result{}},
		board:    &shelf{deliveries: map[string]outbound.Delivery{}, health: map[string]outbound.Health{}, progress: map[string]outbound.Progress{}},
		versions: map[string]int64{}, mark: notifier.Mark{Offset: -1},
	}
}

// hook adds an endpoint, or changes it.
func (r *rig) hook(hospital, id string, change ...func(*outbound.Webhook)) {
	r.settings.mu.Lock()
	w := &outbound.Webhook{
		ID: id, Hospital: hospital, URL: "https://" + id + ".example/in/canary-path", Enabled: true, RatePerSecond: 50, TimeoutSeconds: 10,
		Events: []string{outbound.LevelChanged, outbound.RoomRescored}, CreatedAt: time.Now().Truncate(time.Millisecond),
	}
	if old := r.settings.all[hospital][id]; old != nil {
		copied := *old
		w = &copied
	}
	w.Version++
	for _, do := range change {
		do(w)
	}
	if r.settings.all[hospital] == nil {
		r.settings.all[hospital] = map[string]*outbound.Webhook{}
	}
	r.settings.all[hospital][id] = w
	r.settings.mu.Unlock()
	if r.n != nil {
		r.n.SettingsChanged(hospital)
	}
}

func (r *rig) unhook(hospital, id string) {
	r.settings.mu.Lock()
	delete(r.settings.all[hospital], id)
	r.settings.mu.Unlock()
	r.n.SettingsChanged(hospital)
}

// start takes the partition, and hands over what lies in the verdicts.
func (r *rig) start() {
	r.t.Helper()
	r.n = notifier.New(notifier.Config{
		Settings: r.settings, Ledger: r.ledger, LedgerID: "L", Partition: func(string) int32 { return 0 }, Board: r.board, People: r.people,
		Metrics: nothing{}, Senders: map[outbound.Channel]outbound.Sender{outbound.ChannelWebhook: r.receiver}, Limits: r.limits,
		Log: slog.New(slog.NewTextHandler(&r.log, nil)), Now: func() time.Time { return time.Now().Add(time.Duration(r.skew.Load())) },
	})
	ctx, cancel := context.WithCancel(r.t.Context())
	r.stop, r.done = cancel, make(chan error, 1)
	r.stops = append(r.stops, cancel)
	go func(n *notifier.Notifier, done chan<- error) { done <- n.Run(ctx) }(r.n, r.done)
	next, _, err := r.n.Take(ctx, 0, r.mark.Offset, r.mark.Note)
	if err != nil {
		r.t.Fatal(err)
	}
	i := 0
	for i < len(r.verdicts) && r.verdicts[i].Offset < next {
		i++
	}
	r.hand(r.verdicts[i:])
}

func (r *rig) hand(changes []notifier.Change) {
	r.t.Helper()
	through := int64(-1)
	if len(changes) > 0 {
		through = changes[len(changes)-1].Offset + 1
	}
	if err := r.n.Changes(0, changes, through, false); err != nil {
		r.t.Fatal(err)
	}
}

// kill ends the process without a word: what was not stored is gone.
func (r *rig) kill() {
	r.stop()
	if err := <-r.done; err != nil {
		r.t.Fatal(err)
	}
	r.ledger.mu.Lock()
	defer r.ledger.mu.Unlock()
	if r.ledger.queue != nil { // what it had under way ends with it
		close(r.ledger.queue)
		r.ledger.queue, r.ledger.away = nil, nil
	}
}

// abort ends what a test that failed has left: its clock would go on for ever.
func (r *rig) abort() {
	for _, stop := range r.stops {
		stop()
	}
	r.ledger.mu.Lock()
	defer r.ledger.mu.Unlock()
	if r.ledger.queue != nil {
		close(r.ledger.queue)
		r.ledger.queue = nil
	}
}

// commit is what the group does every so often.
func (r *rig) commit() {
	if m, ok := r.n.Positions()[0]; ok {
		r.mark = m
	}
}

// end stops in order.
func (r *rig) end() {
	r.n.Give(context.Background(), []int32{0})
	r.commit()
	r.n.Lost([]int32{0})
	r.kill()
}

// change commits a change of a hospital: its level, and so many rooms.
func (r *rig) change(hospital string, rooms ...int32) []string {
	r.t.Helper()
	c, ids := r.make(hospital, rooms...)
	if r.n != nil {
		r.hand([]notifier.Change{c})
	}
	return ids
}

// make commits one that nobody is handed yet.
func (r *rig) make(hospital string, rooms ...int32) (notifier.Change, []string) {
	r.versions[hospital]++
	v := r.versions[hospital]
	c := &acuity.Change{Hospital: hospital, Version: v, AppliedAt: acuity.At(time.Now()), Level: acuity.Level(v % 4)}
	c.Effects = append(c.Effects, acuity.Effect{Kind: acuity.LevelChanged, Level: c.Level, Prior: acuity.Level((v + 3) % 4), Ratio: 100, Shortfall: int32(v % 5)})
	for _, room := range rooms {
		c.Effects = append(c.Effects, acuity.Effect{Kind: acuity.RoomRescored, RoomID: room, Color: acuity.ColorRed, Score: 50, Nursing: "1:1"})
	}
	change := notifier.Change{Offset: int64(2 * len(r.verdicts)), Change: c} // every other place is a marker
	r.verdicts = append(r.verdicts, change)
	return change, idsOf(r.t, change)
}

// settle waits so long, on the clock of the test, and then until nothing moves.
func (r *rig) settle(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// order gives a command.
func (r *rig) order(c outbound.Command) {
	r.t.Helper()
	c.At = time.Now()
	o := &outbound.Order{Command: c}
	key, value, err := schemas.EncodeLedger(nil, o)
	if err != nil {
		r.t.Fatal(err)
	}
	r.n.Order(0, r.ledger.put([]byte(key.String()), value), o)
}

// want fails unless an endpoint got these events, in this order, beside repeats
// of the one before.
func (r *rig) want(endpoint string, ids []string) {
	r.t.Helper()
	if err := inOrder(r.receiver.of(endpoint), ids); err != nil {
		r.t.Fatalf("%s: %v", endpoint, err)
	}
}

// inOrder says whether requests are those of events in order, each at least once
// with the same bytes.
func inOrder(seen []got, ids []string) error {
	var order []string
	bodies := map[string]string{}
	for _, g := range seen {
		if body, known := bodies[g.event]; known && body != g.body {
			return fmt.Errorf("event %s has two bodies", g.event)
		}
		bodies[g.event] = g.body
		if len(order) == 0 || order[len(order)-1] != g.event {
			order = append(order, g.event)
		}
	}
	if !slices.Equal(order, ids) {
		return fmt.Errorf("%d events, want %d: %w", len(order), len(ids), errOrder)
	}
	return nil
}

var errOrder = errors.New("other events, or another order")
