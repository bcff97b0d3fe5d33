package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"
)

// sendOptions are the flags of svc send.
type sendOptions struct {
	to          string
	key         string
	keyFile     string
	connections int
	rate        float64
	from        int
	retryFor    time.Duration
	answer      time.Duration
	ca          string
	cert        string
	certKey     string
	data        string
	json        bool
}

// sendCommand returns the command svc send, which sends HL7 v2 or FHIR files to a server.
func sendCommand(w Env) *cobra.Command {
	o := &sendOptions{}
	c := &cobra.Command{
		Use: "send FILE…", Short: "send files with HL7 v2 or FHIR to a server",
		Long: `A file holds HL7 v2 messages (also batched or with MLLP framing), or FHIR as JSON or
NDJSON; - is standard input.`,
		PreRunE: func(*cobra.Command, []string) error { return errors.Join(append(o.faults(), o.fill())...) },
		RunE: func(c *cobra.Command, files []string) error {
			t, err := o.target()
			if err != nil {
				return err
			}
			read := func(fn func(payload) error) error {
				for _, name := range files {
					if err := readFile(c.Context(), name, fn); err != nil {
						return err
					}
				}
				return nil
			}
			return newSending(o, w, read).run(c.Context(), t)
		},
	}
	f := c.Flags()
	f.StringVar(&o.to, "to", "",
		"`address`: http://HOST:PORT, https://…, mllp://HOST:PORT, or mllps://… for TLS (default: the running svc dev)")
	o.addFlags(f, "message", 30*time.Second)
	f.StringVar(&o.cert, "tls-cert", "", "PEM `file` of the client certificate")
	f.StringVar(&o.certKey, "tls-key", "", "PEM `file` of the client certificate's key")
	return c
}

// addFlags adds the flags that svc send and svc simulate share. Their help calls a sent item by the given word, such
// as message.
func (o *sendOptions) addFlags(f *pflag.FlagSet, what string, retryFor time.Duration) {
	keyFlags(f, &o.key, &o.keyFile)
	f.IntVar(&o.connections, "connections", 1, "parallel `connections`; with more than one, the order of "+what+"s is not preserved")
	f.Float64Var(&o.rate, "rate", 0, "maximum `"+what+"s` per second (default: unlimited)")
	f.IntVar(&o.from, "from", 1, "`number` of the first "+what+" to send, to continue after an earlier run")
	f.DurationVar(&o.retryFor, "retry-for", retryFor, "how long to retry a "+what+" that the server could not process")
	f.DurationVar(&o.answer, "answer-within", 10*time.Second, "timeout of a response") //nolint:mnd // the usual timeout of interface engines
	f.StringVar(&o.ca, "tls-ca", "", "PEM `file` of CA certificates for the server (default: the system's CAs)")
	f.StringVar(&o.data, "data", DefaultData, "data `folder` of the running svc dev, if no address is given")
	f.BoolVar(&o.json, "json", false, "print the summary as JSON")
}

// faults returns the errors in the flags.
func (o *sendOptions) faults() (faults []error) {
	for name, n := range map[string]int{"connections": o.connections, "from": o.from} {
		if n < 1 {
			faults = append(faults, fmt.Errorf("--%s: must be at least 1", name))
		}
	}
	if !(o.rate >= 0) || math.IsInf(o.rate, 1) {
		faults = append(faults, errors.New("--rate: must be at least 0"))
	}
	if (o.cert == "") != (o.certKey == "") {
		faults = append(faults, errors.New("--tls-cert, --tls-key: give both or neither"))
	}
	slices.SortFunc(faults, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return faults
}

// fill sets missing flags from the running svc dev.
func (o *sendOptions) fill() error {
	if err := readKey(o.keyFile, &o.key); err != nil || o.to != "" {
		return err
	}
	running, err := devServer("to", o.data)
	if err != nil {
		return err
	}
	o.to, o.key = running.BaseURL, cmp.Or(o.key, running.APIKey)
	return nil
}

// sending is one run of svc send.
type sending struct {
	*sendOptions
	Env
	source func(fn func(payload) error) error
	began  time.Time
	shown  *Progress

	mu      sync.Mutex
	codes   map[string]int
	took    []time.Duration
	refused int
	retried int
	next    int              // number of the next payload to read
	open    map[int]struct{} // numbers of payloads that were read, but have no response yet
}

func newSending(o *sendOptions, w Env, source func(fn func(payload) error) error) *sending {
	return &sending{
		sendOptions: o, Env: w, source: source, began: w.Now(), shown: NewProgress(w, "sending", "answered"),
		codes: map[string]int{}, open: map[int]struct{}{}, next: 1,
	}
}

// run sends all payloads. Its error says how many payloads the server refused, or why sending stopped.
func (s *sending) run(ctx context.Context, t target) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	progress := make(chan struct{})
	go s.reportProgress(ctx, progress)
	queue := make(chan payload)
	g, all := errgroup.WithContext(ctx)
	g.Go(func() error {
		defer close(queue)
		return s.read(all, queue)
	})
	for range s.connections {
		to := t()
		g.Go(func() error {
			defer to.close()
			for p := range queue {
				if err := s.deliver(all, to, p); err != nil {
					return err
				}
			}
			return nil
		})
	}
	err := g.Wait()
	cancel()
	<-progress
	if fault := s.summary(); fault != nil {
		return fault
	}
	switch {
	case err != nil:
		return fmt.Errorf("%w; continue with --from %d", err, s.nextOpen())
	case s.refused > 0:
		return fmt.Errorf("%d refused", s.refused)
	case s.from > 1 && s.from >= s.next:
		return beyondEnd(s.from)
	}
	return nil
}

// beyondEnd is the error of a command whose --from exceeds the number of items.
func beyondEnd(from int) error {
	return fmt.Errorf("--from: nothing was sent, because there is no number %d", from)
}

// read reads the payloads and passes them to the queue at the requested rate. It skips the payloads before --from.
func (s *sending) read(ctx context.Context, queue chan<- payload) error {
	each := func(p payload) error {
		s.mu.Lock()
		p.number = s.next
		s.next++
		skip := p.number < s.from
		if !skip {
			s.open[p.number] = struct{}{}
		}
		s.mu.Unlock()
		if skip {
			return nil
		}
		if s.rate > 0 {
			due := s.began.Add(time.Duration(float64(p.number-s.from) / s.rate * float64(time.Second)))
			if due.After(p.due) {
				p.due = due
			}
		}
		if err := Pause(ctx, p.due.Sub(s.Now())); err != nil {
			return err
		}
		select {
		case queue <- p:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return s.source(each)
}

// deliver sends one payload. After an error, it retries, unless the error is final or --retry-for has passed.
func (s *sending) deliver(ctx context.Context, line line, p payload) error {
	first := s.Now()
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		began := s.Now()
		got, err := line.send(ctx, p)
		if err == nil {
			got.took = s.Now().Sub(began)
			s.recordAnswer(p, got)
			return nil
		}
		var final finalError
		if busy, ok := errors.AsType[busyError](err); ok {
			wait = max(wait, busy.after)
		}
		if errors.As(err, &final) || ctx.Err() != nil || s.Now().Sub(first) > s.retryFor {
			return fmt.Errorf("message %d: %w", p.number, err)
		}
		s.mu.Lock()
		s.retried++
		s.mu.Unlock()
		if Pause(ctx, wait) != nil {
			return fmt.Errorf("message %d: %w", p.number, err)
		}
	}
}

func (s *sending) recordAnswer(p payload, got sent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, p.number)
	s.codes[got.code]++
	s.took = append(s.took, got.took)
	if got.refused {
		s.refused++
		if s.refused <= 10 {
			s.shown.Say(fmt.Sprintf("message %d: %s", p.number, got))
		}
	}
}

// nextOpen returns the number of the first payload that has no response. With this number as --from, a later run can
// continue.
func (s *sending) nextOpen() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := max(s.next, s.from)
	for number := range s.open {
		first = min(first, number)
	}
	return first
}

// reportProgress reports the progress until ctx ends: as a bar on a terminal, otherwise as one line per second.
func (s *sending) reportProgress(ctx context.Context, done chan<- struct{}) {
	defer close(done)
	defer s.shown.End()
	every := time.Second
	if s.Terminal {
		every = barEvery
	}
	for Pause(ctx, every) == nil {
		s.mu.Lock()
		answered, refused, retried := len(s.took), s.refused, s.retried
		s.mu.Unlock()
		if s.Terminal {
			s.shown.Tell(int64(answered), 0)
			continue
		}
		fmt.Fprintf(s.Stderr, "%d answered, %d refused, %d retried, %.0f/s\n",
			answered, refused, retried, float64(answered)/s.Now().Sub(s.began).Seconds())
	}
}

// sendSummary is the final output of svc send.
type sendSummary struct {
	Sent      int            `json:"sent"`
	Refused   int            `json:"refused"`
	Retried   int            `json:"retried"`
	Codes     map[string]int `json:"codes"`
	P50       float64        `json:"p50Ms"`
	P99       float64        `json:"p99Ms"`
	PerSecond float64        `json:"perSecond"`
}

func (s *sending) summary() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	slices.Sort(s.took)
	at := func(percent int) float64 {
		if len(s.took) == 0 {
			return 0
		}
		return float64(s.took[min(len(s.took)-1, len(s.took)*percent/100)].Microseconds()) / 1000
	}
	sum := sendSummary{
		Sent: len(s.took), Refused: s.refused, Retried: s.retried, Codes: s.codes, P50: at(50), P99: at(99),
		PerSecond: float64(len(s.took)) / max(s.Now().Sub(s.began).Seconds(), 1e-3),
	}
	if s.json {
		return PrintJSON(s.Stdout, sum)
	}
	var codes []string
	for _, code := range slices.Sorted(maps.Keys(s.codes)) {
		codes = append(codes, fmt.Sprintf("%s %d", code, s.codes[code]))
	}
	return s.Printf("%d sent: %s; p50 %.1f ms, p99 %.1f ms, %.0f/s, %d retried\n",
		sum.Sent, strings.Join(codes, ", "), sum.P50, sum.P99, sum.PerSecond, sum.Retried)
}
