package people_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	netmail "net/mail"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/emersion/go-smtp"

	"svc/acuity"
	"svc/internal/outbound"
	"svc/internal/seal"
	"svc/notifier"
	"svc/notifier/alert"
	"svc/notifier/mail"
	"svc/notifier/people"
	"svc/notifier/sms"
	"svc/schemas"
)

// rig is the notifier with its desk, a real SMTP server and a provider of SMS, on
// the clock of synctest: connections are pipes.
type rig struct {
	t        *testing.T
	ledger   *ledger
	settings *settings
	board    *board
	relay    *relay
	provider *provider
	hooked   *hooked
	log      bytes.Buffer
	rooms    func(context.Context, string) (*alert.Rooms, error)

	n        *notifier.Notifier
	stop     context.CancelFunc
	done     chan error
	verdicts []notifier.Change
	mark     notifier.Mark
}

func run(t *testing.T, play func(r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &rig{
			t: t, ledger: &ledger{}, board: &board{episodes: map[string]outbound.Episode{}, links: map[string]outbound.AckLink{}},
			relay: newRelay(t), provider: &provider{t: t}, hooked: &hooked{}, mark: notifier.Mark{Offset: -1},
			settings: &settings{recipients: map[string]outbound.Recipient{}, tiers: map[string]outbound.Tier{}},
		}
		for _, id := range outbound.TierIDs() {
			r.settings.tiers[id] = outbound.DefaultTier("mercy", id)
		}
		r.recipient("charge")
		r.recipient("manager")
		r.recipient("director")
		r.tier("T1", func(t *outbound.Tier) { t.Recipients = []string{"charge"} })
		r.tier("T2", func(t *outbound.Tier) { t.Recipients, t.EscalateTo = []string{"manager"}, []string{"director"} })
		r.tier("T3", func(t *outbound.Tier) { t.Recipients = []string{"director"} })
		r.start()
		play(r)
		r.kill()
		r.relay.close()
	})
}

func (r *rig) recipient(id string) {
	r.settings.recipients[id] = outbound.Recipient{ID: id, Hospital: "mercy", Email: id + "@mercy.example", Phone: "+1555" + id}
}

func (r *rig) tier(id string, change func(*outbound.Tier)) {
	tier := r.settings.tiers[id]
	change(&tier)
	r.settings.tiers[id] = tier
}

func (r *rig) start() {
	r.t.Helper()
	ring, err := seal.NewKeyring(strings.Repeat("k", seal.LeastKey))
	if err != nil {
		r.t.Fatal(err)
	}
	letters, err := mail.New(mail.Config{Host: "localhost", Port: 25, From: "svc@mercy.example", Now: time.Now, Dial: r.relay.dial, Roots: r.relay.roots})
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
		Settings: r.settings, Ledger: r.ledger, LedgerID: "L", Partition: func(string) int32 { return 0 }, Board: r.board, Metrics: nothing{},
		Senders: map[outbound.Channel]outbound.Sender{
			outbound.ChannelMail: letters, outbound.ChannelSMS: texts, outbound.ChannelWebhook: r.hooked,
		},
		People: people.New(people.Config{
			Settings: r.settings, Seals: ring, Board: r.board, TokenKey: []byte("tokens"), PublicURL: "https://svc.example",
			Rooms: func(ctx context.Context, hospital string) (*alert.Rooms, error) {
				if r.rooms == nil {
					return &alert.Rooms{Open: 1, Top: []alert.Room{{ID: 4, Label: "LDR 4", Color: acuity.ColorRed, Nursing: "2:1"}}}, nil
				}
				return r.rooms(ctx, hospital)
			},
		}),
		Log: slog.New(slog.NewTextHandler(&r.log, nil)), Now: time.Now,
	})
	ctx, cancel := context.WithCancel(context.Background())
	r.stop, r.done = cancel, make(chan error, 1)
	go func() { r.done <- r.n.Run(ctx) }()
	next, _, err := r.n.Take(ctx, 0, r.mark.Offset, r.mark.Note)
	if err != nil {
		r.t.Fatal(err)
	}
	at, _ := slices.BinarySearchFunc(r.verdicts, next, func(c notifier.Change, offset int64) int { return int(c.Offset - offset) })
	r.hand(r.verdicts[at:])
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

// kill ends the process without a word.
func (r *rig) kill() {
	r.t.Helper()
	r.stop()
	if err := <-r.done; err != nil {
		r.t.Fatal(err)
	}
}

// level commits a change of the level, and waits until what follows at once is done.
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
	time.Sleep(d) // on the clock of synctest
	synctest.Wait()
}

func (r *rig) order(c outbound.Command) {
	r.t.Helper()
	c.Hospital, c.At = "mercy", time.Now()
	o := &outbound.Order{Command: c}
	key, value, err := schemas.EncodeLedger(nil, o)
	if err != nil {
		r.t.Fatal(err)
	}
	r.n.Order(0, r.ledger.put(key.String(), value), o)
	synctest.Wait()
}

// ack answers the episode that is open.
func (r *rig) ack() {
	r.t.Helper()
	r.order(outbound.Command{ID: "cmd_ack", Verb: outbound.VerbAck, By: "link", Episode: r.board.open(r.t).ID})
}

// told are the mails and SMS that arrived, as "mail charge ORANGE" or "sms …", sorted.
func (r *rig) told() []string {
	var all []string
	for _, m := range r.relay.taken() {
		parsed, err := netmail.ReadMessage(strings.NewReader(m))
		if err != nil {
			r.t.Fatal(err)
		}
		to, _, _ := strings.Cut(strings.Trim(parsed.Header.Get("To"), "<>"), "@")
		word, _, _ := strings.Cut(strings.TrimPrefix(parsed.Header.Get("Subject"), "["), "]")
		all = append(all, "mail "+to+" "+word)
	}
	for _, m := range r.provider.taken() {
		word, _, _ := strings.Cut(m.Text, " ")
		all = append(all, "sms "+strings.TrimPrefix(m.To, "+1555")+" "+word)
	}
	slices.Sort(all)
	return all
}

// want compares who was told since the last look.
func (r *rig) want(told ...string) {
	r.t.Helper()
	slices.Sort(told)
	if got := r.told(); !slices.Equal(got, told) {
		r.t.Errorf("told %q, want %q", got, told)
	}
	r.relay.forget()
	r.provider.forget()
}

// ledger stores entries as their bytes.
type ledger struct {
	mu      sync.Mutex
	records [][2]string
}

func (l *ledger) Append(ctx context.Context, _ int32, entry any, stored func(int64, error)) {
	key, value, err := schemas.EncodeLedger(nil, entry)
	if err != nil {
		panic(err)
	}
	if ctx.Err() != nil {
		stored(-1, ctx.Err())
		return
	}
	stored(l.put(key.String(), value), nil)
}

func (l *ledger) put(key string, value []byte) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.records = append(l.records, [2]string{key, string(value)})
	return int64(len(l.records) - 1)
}

func (l *ledger) Read(_ context.Context, _ int32, from int64, prefix string, each func(int64, any) bool) (int64, error) {
	l.mu.Lock()
	all := l.records
	l.mu.Unlock()
	for at := max(from, 0); at < int64(len(all)); at++ {
		if !strings.HasPrefix(all[at][0], prefix) {
			if !each(at, nil) {
				break
			}
			continue
		}
		entry, err := schemas.DecodeLedger([]byte(all[at][0]), []byte(all[at][1]))
		if err != nil {
			return 0, err
		}
		if !each(at, entry) {
			break
		}
	}
	return int64(len(all)), nil
}

func (l *ledger) Restore(ctx context.Context, partition int32, from int64, each func(int64, any) bool) (int64, error) {
	return l.Read(ctx, partition, from, "", each)
}

func (l *ledger) At(context.Context, int32, time.Time) (int64, error) { return 0, nil }

// whole is all of the ledger as text.
func (l *ledger) whole() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var b strings.Builder
	for _, r := range l.records {
		b.WriteString(r[0] + "\n" + r[1] + "\n")
	}
	return b.String()
}

type settings struct {
	tiers      map[string]outbound.Tier
	recipients map[string]outbound.Recipient
	webhooks   []*outbound.Webhook
}

func (s *settings) Tiers(string) (all []outbound.Tier) {
	for _, id := range outbound.TierIDs() {
		all = append(all, s.tiers[id])
	}
	return all
}

func (s *settings) Recipient(_, id string) (outbound.Recipient, bool) {
	r, ok := s.recipients[id]
	return r, ok
}
func (s *settings) Unit(string) (string, *time.Location) { return "Mercy L&D", time.UTC }
func (s *settings) Webhooks(string) []*outbound.Webhook  { return s.webhooks }
func (s *settings) Webhook(_, id string) (*outbound.Webhook, bool) {
	for _, w := range s.webhooks {
		if w.ID == id {
			return w, true
		}
	}
	return nil, false
}

type board struct {
	mu         sync.Mutex
	deliveries []outbound.Delivery
	episodes   map[string]outbound.Episode
	links      map[string]outbound.AckLink
	progress   []outbound.Progress
}

func (b *board) Delivery(e *outbound.Entry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	d := e.Delivery
	b.deliveries = slices.DeleteFunc(b.deliveries, func(old outbound.Delivery) bool { return old.ID == d.ID })
	b.deliveries = append(b.deliveries, d)
}

func (b *board) Health(string, string, outbound.Health) {}

func (b *board) Progress(p outbound.Progress) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.progress = append(b.progress, p)
}

func (b *board) Episode(e outbound.Episode) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.episodes[e.ID] = e
}

func (b *board) Link(token string, l outbound.AckLink) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.links[token] = l
}

func (b *board) open(t *testing.T) outbound.Episode {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.episodes {
		if e.ClosedAt.IsZero() {
			return e
		}
	}
	t.Fatal("no episode is open")
	return outbound.Episode{}
}

// charge is the state of the newest delivery to the charge nurse by a channel.
func (b *board) charge(channel outbound.Channel) (s outbound.State) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, d := range b.deliveries {
		if d.EndpointID == "charge" && d.Channel == channel {
			s = d.State
		}
	}
	return s
}

type nothing struct{}

func (nothing) Event(string)                                            {}
func (nothing) Attempt(outbound.Channel, outbound.Class, time.Duration) {}
func (nothing) Ended(outbound.Channel, outbound.State)                  {}
func (nothing) Accepted(time.Duration)                                  {}
func (nothing) Decided(string)                                          {}
func (nothing) Waiting(outbound.Channel, int)                           {}

// hooked is the receiver of webhooks.
type hooked struct {
	mu     sync.Mutex
	bodies map[string][]string // by event
}

func (h *hooked) Send(_ context.Context, m outbound.Message) outbound.Result {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.bodies == nil {
		h.bodies = map[string][]string{}
	}
	h.bodies[m.Event] = append(h.bodies[m.Event], string(m.Body))
	return outbound.Result{Class: outbound.ClassOK, Status: 200, Took: 1}
}

func (h *hooked) of(event string) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.bodies[event])
}

// relay is a real SMTP server behind pipes.
type relay struct {
	t      *testing.T
	roots  *x509.CertPool
	conns  chan net.Conn
	ended  chan struct{}
	server *smtp.Server

	mu     sync.Mutex
	answer func(to string) error
	got    []string
	tries  int
}

func newRelay(t *testing.T) *relay {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	plan := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(1000 * time.Hour), DNSNames: []string{"localhost"}, IsCA: true, BasicConstraintsValid: true}
	raw, err := x509.CreateCertificate(rand.Reader, plan, plan, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(raw)
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{t: t, roots: x509.NewCertPool(), conns: make(chan net.Conn), ended: make(chan struct{})}
	r.roots.AddCert(leaf)
	r.server = smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) { return &session{relay: r}, nil }))
	r.server.TLSConfig = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{raw}, PrivateKey: key}}}
	r.server.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)
	go func() {
		defer close(r.ended)
		r.server.Serve(r) //nolint:errcheck // ends by close
	}()
	return r
}

func (r *relay) Accept() (net.Conn, error) {
	if c, ok := <-r.conns; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}
func (r *relay) Close() error   { return nil }
func (r *relay) Addr() net.Addr { return &net.TCPAddr{} }

func (r *relay) close() {
	close(r.conns)
	r.server.Close()
	<-r.ended
}

func (r *relay) dial(context.Context, string, string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	r.conns <- theirs
	return ours, nil
}

func (r *relay) answers(answer func(to string) error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = answer
}

func (r *relay) taken() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.got)
}

func (r *relay) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got = nil
}

type session struct {
	relay *relay
	to    string
}

func (s *session) Reset()                               {}
func (s *session) Logout() error                        { return nil }
func (s *session) Mail(string, *smtp.MailOptions) error { return nil }

func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.to = to
	s.relay.mu.Lock()
	defer s.relay.mu.Unlock()
	s.relay.tries++
	if s.relay.answer != nil {
		return s.relay.answer(to)
	}
	return nil
}

func (s *session) Data(r io.Reader) error {
	raw, err := io.ReadAll(r)
	s.relay.mu.Lock()
	defer s.relay.mu.Unlock()
	s.relay.got = append(s.relay.got, string(raw))
	return err
}

// provider speaks the protocol of the generic gateway.
type provider struct {
	t      *testing.T
	mu     sync.Mutex
	status int
	got    []text
}

type text struct{ ID, To, Text, Callback string }

func (p *provider) dial(context.Context, string, string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	go func() {
		server := http.Server{Handler: p, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)}
		server.SetKeepAlivesEnabled(false)
		server.Serve(&once{conn: theirs}) //nolint:errcheck // one connection
	}()
	return ours, nil
}

func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var one text
	if err := json.NewDecoder(r.Body).Decode(&one); err != nil {
		p.t.Error(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.status != 0 {
		w.WriteHeader(p.status)
		return
	}
	p.got = append(p.got, one)
	w.WriteHeader(http.StatusAccepted)
}

func (p *provider) answers(status int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status = status
}

func (p *provider) taken() []text {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.got)
}

func (p *provider) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.got = nil
}

// once is a listener of one connection.
type once struct {
	conn net.Conn
}

func (o *once) Accept() (net.Conn, error) {
	if c := o.conn; c != nil {
		o.conn = nil
		return c, nil
	}
	return nil, net.ErrClosed
}
func (o *once) Close() error   { return nil }
func (o *once) Addr() net.Addr { return &net.TCPAddr{} }

// notifierStep is one step of a desk of its own.
func notifierStep(r *rig, notice notifier.Notice) notifier.Step {
	r.t.Helper()
	ring, err := seal.NewKeyring(strings.Repeat("k", seal.LeastKey))
	if err != nil {
		r.t.Fatal(err)
	}
	desk := people.New(people.Config{Settings: r.settings, Seals: ring, Board: r.board})
	return desk.Step(r.t.Context(), time.Now(), notifier.Happening{Hospital: "mercy", Notices: []notifier.Notice{notice}})
}
