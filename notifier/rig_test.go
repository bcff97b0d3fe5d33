package notifier_test

import (
	"bytes"
	"context"
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
	"svc/internal/outbound/sending"
	"svc/internal/outbound/subscriber"
	"svc/notifier"
	"svc/schemas/ledger"
)

// hooks implements Settings in memory.
type hooks struct {
	mu  sync.Mutex
	all map[string]map[string]*subscriber.Webhook
}

func (s *hooks) Webhooks(hospital string) []*subscriber.Webhook {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.SortedFunc(maps.Values(s.all[hospital]), func(a, b *subscriber.Webhook) int { return bytes.Compare([]byte(a.ID), []byte(b.ID)) })
}

func (s *hooks) Webhook(hospital, id string) (*subscriber.Webhook, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w, ok := s.all[hospital][id]
	return w, ok
}

// rig is a notifier with fakes in a synctest bubble.
type rig struct {
	t        testing.TB
	ledger   *memory
	settings *hooks
	receiver *receiver
	lists    *deliveryList
	people   notifier.People
	texts    sending.Sender // sends SMS
	limits   notifier.Limits
	figures  *figures
	skew     atomic.Int64 // error of the system clock, in nanoseconds
	log      bytes.Buffer

	n        *notifier.Notifier
	stop     context.CancelFunc
	stops    []context.CancelFunc
	done     chan error
	verdicts []notifier.Change // all committed changes
	mark     notifier.Mark     // mark that the consumer group committed
	next     int64             // next position in the verdicts topic
	versions map[string]int64
}

func newRig(t testing.TB) *rig {
	return &rig{
		t: t, ledger: newMemory(), figures: &figures{ended: map[outbound.State]int{}}, settings: &hooks{all: map[string]map[string]*subscriber.Webhook{}},
		receiver: &receiver{answer: map[string]func(sending.Message) sending.Result{}},
		lists:    &deliveryList{deliveries: map[string]outbound.Delivery{}, health: map[string]outbound.Health{}, progress: map[string]outbound.Progress{}},
		versions: map[string]int64{}, mark: notifier.Mark{Offset: -1},
	}
}

// hook adds or changes an endpoint.
func (r *rig) hook(hospital, id string, change ...func(*subscriber.Webhook)) {
	r.settings.mu.Lock()
	w := &subscriber.Webhook{
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
		r.settings.all[hospital] = map[string]*subscriber.Webhook{}
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

// start assigns the partition to a new notifier and passes it the committed changes.
func (r *rig) start() {
	r.t.Helper()
	r.n = notifier.New(notifier.Config{
		Settings: r.settings, Ledger: r.ledger, LedgerID: "L", Partition: func(string) int32 { return 0 }, Lists: r.lists, People: r.people,
		Metrics: r.figures, Limits: r.limits,
		Senders: map[subscriber.Channel]sending.Sender{subscriber.ChannelWebhook: r.receiver, subscriber.ChannelSMS: r.texts},
		Log:     slog.New(slog.NewTextHandler(&r.log, nil)), Now: func() time.Time { return time.Now().Add(time.Duration(r.skew.Load())) },
	})
	ctx, cancel := context.WithCancel(r.t.Context())
	r.stop, r.done = cancel, make(chan error, 1)
	r.stops = append(r.stops, cancel)
	go func(n *notifier.Notifier, done chan<- error) { done <- n.Run(ctx) }(r.n, r.done)
	next, _, err := r.n.Assign(ctx, 0, r.mark.Offset, r.mark.Note)
	if err != nil {
		r.t.Fatal(err)
	}
	r.next = next
	i := 0
	for i < len(r.verdicts) && r.verdicts[i].Offset < next {
		i++
	}
	r.hand(r.verdicts[i:])
}

func (r *rig) hand(changes []notifier.Change) {
	r.t.Helper()
	if len(changes) > 0 {
		r.next = max(r.next, changes[len(changes)-1].Offset+1)
	}
	if err := r.n.Changes(0, changes, r.next, false); err != nil {
		r.t.Fatal(err)
	}
}

// kill ends the process at once. Entries that are not stored are lost.
func (r *rig) kill() {
	r.stop()
	if err := <-r.done; err != nil {
		r.t.Fatal(err)
	}
	r.ledger.mu.Lock()
	defer r.ledger.mu.Unlock()
	if r.ledger.queue != nil { // unacknowledged entries are lost
		close(r.ledger.queue)
		r.ledger.queue, r.ledger.away = nil, nil
	}
}

// abort stops the notifiers of a failed test, because the test clock would otherwise run forever.
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

// commit commits the positions, as the consumer group does periodically.
func (r *rig) commit() {
	if m, ok := r.n.Positions()[0]; ok {
		r.mark = m
	}
}

// end stops the notifier gracefully.
func (r *rig) end() {
	r.n.Revoke(context.Background(), []int32{0})
	r.commit()
	r.n.Lost([]int32{0})
	r.kill()
}

// change commits a change to a hospital's level and to the given rooms, and passes it to the notifier. It returns the
// ids of the change's events.
func (r *rig) change(hospital string, rooms ...int32) []string {
	r.t.Helper()
	c, ids := r.make(hospital, rooms...)
	if r.n != nil {
		r.hand([]notifier.Change{c})
	}
	return ids
}

// make commits a change without passing it to the notifier.
func (r *rig) make(hospital string, rooms ...int32) (notifier.Change, []string) {
	r.versions[hospital]++
	v := r.versions[hospital]
	c := &acuity.Change{Hospital: hospital, Version: v, AppliedAt: acuity.At(time.Now()), Level: acuity.Level(v % 4)}
	c.Effects = append(c.Effects, acuity.Effect{Kind: acuity.LevelChanged, Level: c.Level, Prior: acuity.Level((v + 3) % 4), Ratio: 100, Shortfall: int32(v % 5)})
	for _, room := range rooms {
		c.Effects = append(c.Effects, acuity.Effect{Kind: acuity.RoomRescored, RoomID: room, Color: acuity.ColorRed, Score: 50, Nursing: "1:1"})
	}
	change := notifier.Change{Offset: int64(2 * len(r.verdicts)), Change: c} // every other offset is a transaction marker
	r.verdicts = append(r.verdicts, change)
	return change, idsOf(r.t, change)
}

// settle waits for a duration on the test clock, and then until all goroutines are blocked.
func (r *rig) settle(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// order passes a command to the notifier.
func (r *rig) order(c outbound.Command) {
	r.t.Helper()
	c.At = time.Now()
	o := &outbound.Order{Command: c, Progress: outbound.Progress{ID: c.ID, Hospital: c.Hospital, Verb: c.Verb}}
	key, value, err := ledger.Encode(nil, o)
	if err != nil {
		r.t.Fatal(err)
	}
	r.n.Order(0, r.ledger.put([]byte(key.String()), value), o)
}

// want checks that an endpoint got exactly these events, in this order. An event may have been sent several times in
// succession.
func (r *rig) want(endpoint string, ids []string) {
	r.t.Helper()
	if err := inOrder(r.receiver.of(endpoint), ids); err != nil {
		r.t.Fatalf("%s: %v", endpoint, err)
	}
}
