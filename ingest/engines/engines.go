// Package engines receives the messages of interface engines over MLLP, each with the API key that is configured for
// its sender.
package engines

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"time"

	"svc/ingest"
	"svc/ingest/mllp"
	"svc/internal/config"
	"svc/internal/httpapi"
	"svc/internal/httpapi/access"
	"svc/internal/lifecycle"
)

// The fixed limits for a peer and its messages.
const (
	answerWithin    = 10 * time.Second
	pauseAfterFault = time.Second // minimum wait before a message that was not accepted may be sent again
	// patience is how long a message waits for the rate limit of its key before it is accepted anyway. An engine that
	// waits too long for the acknowledgment sends the message again; many engines wait 30 s.
	patience = 10 * time.Second
	// A peer whose machine has vanished is detected after the idle time and four probes.
	keepAliveIdle     = time.Minute
	keepAliveInterval = 15 * time.Second
	keepAliveCount    = 4
)

// Config holds the settings that all fronts of a process share.
type Config struct {
	MLLP     config.MLLP
	Shell    *httpapi.Shell
	Register *access.Register
	Messages *ingest.Messages
	Counts   *mllp.Counts
	Now      func() time.Time
	Log      *slog.Logger
	Drain    time.Duration // see [lifecycle.Server]
	Stop     time.Duration // time limit for in-flight messages at a graceful shutdown
	// Trace starts a span for a message of a hospital. It returns the context with the span and a function that ends
	// the span. If Trace is nil, messages are not traced.
	Trace func(ctx context.Context, hospital string) (spanned context.Context, end func(error))
}

// Front listens for MLLP at one address.
type Front struct {
	Listener net.Listener      // an open listener; nil: Run opens the address
	After    []<-chan struct{} // channels that must be closed before the front accepts connections
	Opened   chan struct{}     // closed when the front accepts connections

	address string
	senders []config.MLLPSender
	drain   time.Duration
	server  *mllp.Server
}

// New returns one front for each address that is configured for a sender. Senders with the same address share a
// front.
func New(c *Config) (fronts []*Front, err error) {
	secured, err := c.MLLP.TLS()
	if err != nil {
		return nil, err
	}
	for _, sender := range c.MLLP.Senders {
		at := slices.IndexFunc(fronts, func(f *Front) bool { return f.address == sender.Address })
		if at >= 0 {
			fronts[at].senders = append(fronts[at].senders, sender)
			continue
		}
		front := &Front{address: sender.Address, senders: []config.MLLPSender{sender}, Opened: make(chan struct{}), drain: c.Drain}
		front.server = &mllp.Server{
			Admit: func(p mllp.Peer) (mllp.Sender, error) { return c.admit(front.senders, p) },
			TLS:   secured, Now: c.Now, Log: c.Log, Counts: c.Counts,
			Limits: mllp.Limits{
				Connections: c.MLLP.Connections, ConnectionsPerPeer: c.MLLP.PerPeer,
				Message: ingest.MaxMessage, Idle: c.MLLP.Idle, Receive: lifecycle.DefaultPatience.Body,
				Answer: answerWithin, Pause: pauseAfterFault, Stop: c.Stop,
			},
		}
		fronts = append(fronts, front)
	}
	return fronts, nil
}

// UseKey sets the id of the key for the first sender at the front's address. It must be called before Run.
func (f *Front) UseKey(id string) { f.senders[0].Key = id }

// Run serves until ctx ends, then lets in-flight messages finish.
func (f *Front) Run(ctx context.Context) error {
	for _, ready := range f.After {
		select {
		case <-ready:
		case <-ctx.Done():
			return nil
		}
	}
	if f.Listener == nil {
		var err error
		config := net.ListenConfig{KeepAliveConfig: net.KeepAliveConfig{
			Enable: true, Idle: keepAliveIdle, Interval: keepAliveInterval, Count: keepAliveCount,
		}}
		if f.Listener, err = config.Listen(ctx, "tcp", f.address); err != nil {
			return fmt.Errorf("listen for MLLP (--mllp): %w", err)
		}
	}
	close(f.Opened)
	late, drained := lifecycle.Linger(ctx, f.drain)
	defer drained()
	if err := f.server.Serve(late, f.Listener); err != nil {
		return fmt.Errorf("serve MLLP: %w", err)
	}
	return nil
}

// admit identifies a peer. It looks up the key for every message, because the key may have been revoked or rotated.
// After a rotation, it uses the new key.
func (c *Config) admit(senders []config.MLLPSender, p mllp.Peer) (mllp.Sender, error) {
	at := slices.IndexFunc(senders, func(s config.MLLPSender) bool { return s.Fits(p) })
	if at < 0 {
		return mllp.Sender{}, fmt.Errorf("%w: no key is configured for it", mllp.ErrRefused)
	}
	id := senders[at].Key
	now, err := c.validKey(id)
	if now.ID == "" {
		now.ID = id
	}
	return mllp.Sender{
		Key: now.ID, Hospital: now.Hospital,
		Store: func(ctx context.Context, message []byte) ([]byte, error) {
			key, refused := c.validKey(id)
			if refused != nil {
				return nil, refused
			}
			if c.Shell.Used != nil {
				c.Shell.Used(key.ID)
			}
			if ended := c.Shell.Await(ctx, &key, patience); ended != nil {
				return nil, ended
			}
			if key, refused = c.validKey(id); refused != nil { // the key may have been revoked during the wait
				return nil, refused
			}
			ack, fault := c.ingest(ctx, key, message)
			if errors.Is(fault, ingest.ErrForbidden) {
				fault = fmt.Errorf("%w: %w", mllp.ErrRefused, fault)
			}
			return ack, fault
		},
	}, err
}

func (c *Config) validKey(id string) (access.Key, error) {
	key, valid := c.Register.Current(id)
	if !valid {
		return key, fmt.Errorf("%w: the key is unknown, expired or revoked", mllp.ErrRefused)
	}
	return key, nil
}

// ingest processes one message sent with a key.
func (c *Config) ingest(ctx context.Context, key access.Key, message []byte) (ack []byte, err error) {
	if c.Trace != nil {
		spanned, end := c.Trace(ctx, key.Hospital)
		defer func() { end(err) }()
		ctx = spanned
	}
	return c.Messages.IngestBody(ctx, key, message) //nolint:wrapcheck // callers check for its errors
}
