package people_test

import (
	"bytes"
	"context"
	"log/slog"
	netmail "net/mail"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"svc/acuity"
	"svc/internal/outbound"
	"svc/internal/outbound/sending"
	"svc/internal/outbound/subscriber"
	"svc/internal/seal"
	"svc/notifier"
	"svc/notifier/alert"
	"svc/notifier/mail"
	"svc/notifier/people"
	"svc/notifier/sms"
	"svc/schemas/ledger"
)

// rig is a notifier with Alerting, a real SMTP server and an SMS provider, on the synctest clock. Connections are
// pipes.
type rig struct {
	t        *testing.T
	ledger   *memoryLedger
	settings *settings
	lists    *alertLists
	relay    *relay
	provider *provider
	since    []time.Time // Since of each attempt to send an SMS
	hooked   *hooked
	figures  *figures
	skew     time.Duration // error of the clock of the notifiers that start later
	key      string        // sealing key; "" if the process has none
	log      bytes.Buffer
	rooms    func(context.Context, string, int64) (*alert.Rooms, error)

	n        *notifier.Notifier
	stop     context.CancelFunc
	done     chan error
	verdicts []notifier.Change
	mark     notifier.Mark
	next     int64
}

func run(t *testing.T, play func(r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &rig{
			t: t, ledger: &memoryLedger{}, lists: &alertLists{alertRuns: map[string]outbound.AlertRun{}, noted: map[string]time.Time{}, links: map[string]time.Time{}},
			relay: newRelay(t), hooked: &hooked{}, mark: notifier.Mark{Offset: -1}, figures: &figures{}, key: "a key of the notifier's own tests",
			settings: &settings{recipients: map[string]subscriber.Recipient{}, tiers: map[string]subscriber.Tier{}},
		}
		for _, id := range subscriber.TierIDs() {
			r.settings.tiers[id] = subscriber.DefaultTier("mercy", id)
		}
		r.provider = &provider{t: t, board: r.lists}
		r.recipient("charge")
		r.recipient("manager")
		r.recipient("director")
		r.tier("T1", func(t *subscriber.Tier) { t.Recipients = []string{"charge"} })
		r.tier("T2", func(t *subscriber.Tier) { t.Recipients, t.EscalateTo = []string{"manager"}, []string{"director"} })
		r.tier("T3", func(t *subscriber.Tier) { t.Recipients = []string{"director"} })
		defer r.relay.close()
		r.start()
		defer r.kill()
		play(r)
	})
}

func (r *rig) recipient(id string) {
	r.settings.recipients[id] = subscriber.Recipient{ID: id, Hospital: "mercy", Email: id + "@mercy.example", Phone: "+1555" + id}
}

func (r *rig) tier(id string, change func(*subscriber.Tier)) {
	tier := r.settings.tiers[id]
	change(&tier)
	r.settings.tiers[id] = tier
}

func (r *rig) start() {
	r.t.Helper()
	var seals people.Seals
	if r.key != "" {
		ring, err := seal.NewKeyring(r.key)
		if err != nil {
			r.t.Fatal(err)
		}
		seals = ring
	}
	skew := r.skew
	now := func() time.Time { return time.Now().Add(skew) }
	sender, err := mail.New(mail.Config{Host: "localhost", Port: 25, From: "svc@mercy.example", Now: time.Now, Dial: r.relay.dial, Roots: r.relay.roots})
	if err != nil {
		r.t.Fatal(err)
	}
	texts, err := sms.New(sms.Config{
		Driver: sms.DriverHTTP, URL: "http://provider.example/send", Token: "token", Callback: "https://svc.example", Now: time.Now, Dial: r.provider.dial,
	})
	if err != nil {
		r.t.Fatal(err)
	}
	r.n = notifier.New(notifier.Config{
		Settings: r.settings, Ledger: r.ledger, LedgerID: "L", Partition: func(string) int32 { return 0 }, Lists: r.lists, Metrics: r.figures,
		Senders: map[subscriber.Channel]sending.Sender{
			subscriber.ChannelMail: sender, subscriber.ChannelSMS: &watched{Sender: texts, rig: r}, subscriber.ChannelWebhook: r.hooked,
		},
		People: people.New(people.Config{
			Settings: r.settings, Seals: seals, Lists: r.lists, TokenKey: []byte("tokens"), PublicURL: "https://svc.example",
			Rooms: func(ctx context.Context, hospital string, version int64) (*alert.Rooms, error) {
				if r.rooms == nil {
					return &alert.Rooms{Open: 1, Top: []alert.Room{{ID: 4, Label: "LDR 4", Color: acuity.ColorRed, Nursing: "2:1"}}}, nil
				}
				return r.rooms(ctx, hospital, version)
			},
		}),
		Log: slog.New(slog.NewTextHandler(&r.log, nil)), Now: now,
	})
	ctx, cancel := context.WithCancel(context.Background())
	r.stop, r.done = cancel, make(chan error, 1)
	go func() { r.done <- r.n.Run(ctx) }()
	next, _, err := r.n.Assign(ctx, 0, r.mark.Offset, r.mark.Note)
	if err != nil {
		r.t.Fatal(err)
	}
	r.next = next
	at, _ := slices.BinarySearchFunc(r.verdicts, next, func(c notifier.Change, offset int64) int { return int(c.Offset - offset) })
	r.hand(r.verdicts[at:])
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

// kill ends the process at once.
func (r *rig) kill() {
	r.t.Helper()
	r.stop()
	if err := <-r.done; err != nil {
		r.t.Fatal(err)
	}
}

// survive reports whether the ledger has killed the current process. If so, it starts a new process from the last
// committed position.
func (r *rig) survive() (died bool) {
	r.t.Helper()
	if died = r.ledger.died(); died {
		r.commit()
		r.kill()
		r.ledger.until(nil)
		r.start()
		r.wait(time.Second)
	}
	return died
}

// commit commits the positions, as the consumer group does periodically.
func (r *rig) commit() {
	if m, ok := r.n.Positions()[0]; ok {
		r.mark = m
	}
}

// level commits a change to the given level, and waits until the immediate effects of the change are complete.
func (r *rig) level(l acuity.Level) {
	r.t.Helper()
	r.hand([]notifier.Change{r.change(l)})
	synctest.Wait()
}

func (r *rig) change(l acuity.Level) notifier.Change {
	v := int64(len(r.verdicts) + 1)
	c := notifier.Change{Offset: v, Change: &acuity.Change{
		Hospital: "mercy", Version: v, AppliedAt: acuity.At(time.Now()), Level: l,
		Effects: []acuity.Effect{{Kind: acuity.LevelChanged, Level: l, Driving: acuity.AxisStaffing, Ratio: 84, Shortfall: int32(l)}},
	}}
	r.verdicts = append(r.verdicts, c)
	return c
}

func (r *rig) wait(d time.Duration) {
	time.Sleep(d) // on the synctest clock
	synctest.Wait()
}

func (r *rig) order(c outbound.Command) {
	r.t.Helper()
	c.Hospital, c.At = "mercy", time.Now()
	o := &outbound.Order{Command: c}
	key, value, err := ledger.Encode(nil, o)
	if err != nil {
		r.t.Fatal(err)
	}
	r.n.Order(0, r.ledger.put(key.String(), value), o)
	synctest.Wait()
}

// ack acknowledges the open alert run.
func (r *rig) ack() {
	r.t.Helper()
	r.order(outbound.Command{ID: "cmd_ack", Verb: outbound.VerbAck, By: "link", Episode: r.lists.open(r.t).ID})
}

// received returns the e-mails and SMS that arrived, sorted, such as "mail charge ORANGE" or "sms …".
func (r *rig) received() []string {
	var all []string
	for _, m := range r.relay.accepted() {
		parsed, err := netmail.ReadMessage(strings.NewReader(m))
		if err != nil {
			r.t.Fatal(err)
		}
		to, _, _ := strings.Cut(strings.Trim(parsed.Header.Get("To"), "<>"), "@")
		word, rest, _ := strings.Cut(strings.TrimPrefix(parsed.Header.Get("Subject"), "["), "]")
		if word == "svc" { // an e-mail about an endpoint, whose new state comes next in the subject
			_, word, _ = strings.Cut(rest, "webhook whk_1 ")
		}
		all = append(all, "mail "+to+" "+word)
	}
	for _, m := range r.provider.accepted() {
		word, _, _ := strings.Cut(m.Text, " ")
		all = append(all, "sms "+strings.TrimPrefix(m.To, "+1555")+" "+word)
	}
	slices.Sort(all)
	return all
}

// want checks the messages that arrived since its last call.
func (r *rig) want(expected ...string) {
	r.t.Helper()
	slices.Sort(expected)
	if got := r.received(); !slices.Equal(got, expected) {
		r.t.Errorf("told %q, want %q", got, expected)
	}
	r.relay.clear()
	r.provider.clear()
}

// figures implements Metrics by counting messages.
type figures struct {
	mu       sync.Mutex
	attempts map[sending.Class]int
	ended    map[outbound.State]int
	decided  map[string]int
}

func (*figures) Event(string)                    {}
func (*figures) Accepted(time.Duration, string)  {}
func (*figures) Waiting(subscriber.Channel, int) {}

func (f *figures) Attempt(_ subscriber.Channel, class sending.Class, _ time.Duration, _ string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.attempts == nil {
		f.attempts = map[sending.Class]int{}
	}
	f.attempts[class]++
}

// of returns the number of messages that ended in the given state.
func (f *figures) of(state outbound.State) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ended[state]
}

func (f *figures) Ended(_ subscriber.Channel, state outbound.State) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended == nil {
		f.ended = map[outbound.State]int{}
	}
	f.ended[state]++
}

// Decided counts the decisions by reason.
func (f *figures) Decided(reason string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.decided == nil {
		f.decided = map[string]int{}
	}
	f.decided[reason]++
}

// decisions returns the number of decisions with the given reason.
func (f *figures) decisions(reason string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.decided[reason]
}

// hooked receives all webhook requests.
type hooked struct {
	mu     sync.Mutex
	answer sending.Result      // result of each request; zero value: 200
	takes  time.Duration       // how long each request takes
	bodies map[string][]string // bodies of the requests, by event name
}

func (h *hooked) Send(_ context.Context, m sending.Message) sending.Result {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.bodies == nil {
		h.bodies = map[string][]string{}
	}
	h.bodies[m.Event] = append(h.bodies[m.Event], string(m.Body))
	h.mu.Unlock()
	time.Sleep(h.takes) // on the synctest clock
	h.mu.Lock()
	if h.answer.Class != "" {
		return h.answer
	}
	return sending.Result{Class: sending.ClassOK, Status: 200, Took: 1}
}

func (h *hooked) answers(r sending.Result) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.answer = r
}

func (h *hooked) of(event string) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.bodies[event])
}

// watched records since when the SMS may have been sent.
type watched struct {
	sending.Sender
	rig *rig
	mu  sync.Mutex
}

func (w *watched) Send(ctx context.Context, m sending.Message) sending.Result {
	w.mu.Lock()
	w.rig.since = append(w.rig.since, m.Since)
	w.mu.Unlock()
	return w.Sender.Send(ctx, m)
}
