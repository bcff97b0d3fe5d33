package stream

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// health tracks whether any broker responds. It is a hook of the client, which reports failed dials and lost
// connections to it. A failed dial or a timed-out append raises only a suspicion, because the loss of one broker out
// of three is no reason to refuse all records. A suspicion starts a probe, which pings the brokers until one
// responds. The cluster counts as unavailable from the first ping without a response until a broker responds.
type health struct {
	log    *slog.Logger
	away   atomic.Int64    // start of the unavailability in unix ms; 0: available
	ctx    context.Context // lifetime of the cluster, which the probe shares
	cancel context.CancelFunc
	done   sync.WaitGroup

	mu     sync.Mutex
	client *kgo.Client // client of the probe; nil before Dial and after Close
	busy   bool        // whether a probe is running
}

func newHealth(ctx context.Context, log *slog.Logger) *health {
	h := &health{log: log}
	h.ctx, h.cancel = context.WithCancel(context.WithoutCancel(ctx))
	return h
}

func (h *health) watch(client *kgo.Client) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.client = client
}

func (h *health) stop() {
	h.watch(nil)
	h.cancel()
	h.done.Wait()
}

func (h *health) since() time.Time {
	if ms := h.away.Load(); ms != 0 {
		return time.UnixMilli(ms)
	}
	return time.Time{}
}

// awaitReached returns [ErrAway] if no broker responds. With [Options.Patient], it first waits until a broker responds
// or ctx ends.
func (c *Cluster) awaitReached(ctx context.Context) error {
	for c.health.away.Load() != 0 {
		if !c.patient {
			return ErrAway
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ErrAway, context.Cause(ctx))
		case <-time.After(pingEvery):
		}
	}
	return nil
}

// OnBrokerConnect is called by the client after each dial.
func (h *health) OnBrokerConnect(_ kgo.BrokerMetadata, _ time.Duration, _ net.Conn, err error) {
	if err != nil {
		h.suspect()
	}
}

// OnBrokerDisconnect is called by the client when a connection ends.
func (h *health) OnBrokerDisconnect(kgo.BrokerMetadata, net.Conn) { h.suspect() }

// suspect starts a probe unless one is running.
func (h *health) suspect() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.client == nil || h.busy {
		return
	}
	h.busy = true
	client := h.client
	h.done.Go(func() {
		h.probe(client)
		h.mu.Lock()
		defer h.mu.Unlock()
		h.busy = false
	})
}

// pingEvery is the pause between pings while no broker responds.
const pingEvery = 100 * time.Millisecond

// probe pings the brokers until one responds. From the first ping without a response on, the cluster counts as
// unavailable.
func (h *health) probe(client *kgo.Client) {
	for {
		ctx, cancel := context.WithTimeout(h.ctx, 2*time.Second)
		err := client.Ping(ctx)
		cancel()
		if h.ctx.Err() != nil {
			return
		}
		if err == nil {
			break
		}
		if h.away.CompareAndSwap(0, time.Now().UnixMilli()) {
			h.log.ErrorContext(h.ctx, "kafka unavailable", "option", optionsOf(err), "error", err)
		}
		select {
		case <-h.ctx.Done():
			return
		case <-time.After(pingEvery):
		}
	}
	if since := h.away.Swap(0); since != 0 {
		h.log.InfoContext(h.ctx, "kafka available again", "away_ms", time.Now().UnixMilli()-since)
	}
}

const (
	persistEvery = 250 * time.Millisecond
	deniedTries  = 40 // attempts at a request that Kafka denies, over 10 s; a default of this project
)

// persist calls the function try until it succeeds, until it fails with an error that a retry cannot fix, or until
// ctx ends. A broker that is starting may temporarily not respond, or not know a topic or a permission.
func (c *Cluster) persist(ctx context.Context, what string, try func() error) error {
	said := ""
	for tries := 1; ; tries++ {
		err := try()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%s: %w: %w", what, ctx.Err(), err)
		}
		if !isTransient(err) && !(denied(err) && tries < deniedTries) {
			return fmt.Errorf("%s: %w", what, advised(err))
		}
		if err.Error() != said {
			said = err.Error()
			c.log.WarnContext(ctx, "kafka request failed, retrying", "what", what, "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(persistEvery):
		}
	}
}

// isTransient reports whether an error may be transient: a network error; an error from a broker that is starting,
// electing a leader or missing other brokers; an error from a coordinator that has not completed the last operation on
// a transactional id; or an expired certificate, because the certificate may be renewed or a clock corrected.
func isTransient(err error) bool {
	if answer, is := errors.AsType[*kerr.Error](err); is {
		return answer.Retriable || errors.Is(answer, kerr.InvalidReplicationFactor) || errors.Is(answer, kerr.ConcurrentTransactions)
	}
	if errors.Is(err, kgo.ErrClientClosed) {
		return false
	}
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	var record tls.RecordHeaderError
	if invalid, is := errors.AsType[x509.CertificateInvalidError](err); is {
		return invalid.Reason == x509.Expired
	}
	return !errors.As(err, &unknown) && !errors.As(err, &name) && !errors.As(err, &record)
}
