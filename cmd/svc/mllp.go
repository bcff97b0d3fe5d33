package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"svc/ingest"
	"svc/ingest/mllp"
	"svc/internal/config"
	"svc/internal/httpapi/access"
	"svc/internal/lifecycle"
	"svc/internal/metrics"
)

// Limits for a peer that are not configured. They are those of HTTP.
const (
	mllpAnswerWithin = 10 * time.Second
	mllpPause        = time.Second // before a message that was not accepted may come again
	// How long a message waits for the rate of its key before it is accepted all the same. An
	// engine that waits longer for an acknowledgment, often 30 s, would send it again.
	mllpPatience = 10 * time.Second
	// A peer whose machine is gone is noticed after this time and four probes.
	keepAliveIdle     = time.Minute
	keepAliveInterval = 15 * time.Second
	keepAliveCount    = 4
)

// mllpFront is a listener for MLLP at one address.
type mllpFront struct {
	address  string
	senders  []config.MLLPSender
	listener net.Listener      // an open listener; nil: run opens address
	drain    time.Duration     // as in server
	after    []<-chan struct{} // it accepts connections when all of these are closed
	opened   chan struct{}     // closed when it accepts connections
	server   *mllp.Server
}

// mllp adds a front for each address of --mllp.
func (h *service) mllp(messages *ingest.Messages) error {
	secured, err := h.config.MLLP.TLS()
	if err != nil {
		return err
	}
	counts := &mllp.Counts{}
	mllpMetrics(h.metrics, counts)
	for _, sender := range h.config.MLLP.Senders {
		at := slices.IndexFunc(h.mllpFronts, func(f *mllpFront) bool { return f.address == sender.Address })
		if at >= 0 {
			h.mllpFronts[at].senders = append(h.mllpFronts[at].senders, sender)
			continue
		}
		front := &mllpFront{address: sender.Address, senders: []config.MLLPSender{sender}, after: h.Ready, opened: make(chan struct{}), drain: h.config.Drain}
		h.Ports = append(h.Ports, front.opened)
		front.server = &mllp.Server{
			Admit: func(p mllp.Peer) (mllp.Sender, error) { return h.admit(front.senders, p, messages) },
			TLS:   secured, Now: h.now, Log: h.log, Counts: counts,
			Limits: mllp.Limits{
				Connections: h.config.MLLP.Connections, ConnectionsPerPeer: h.config.MLLP.PerPeer,
				Message: ingest.MaxMessage, Idle: h.config.MLLP.Idle, Receive: lifecycle.DefaultPatience.Body,
				Answer: mllpAnswerWithin, Pause: mllpPause, Stop: h.config.ShutdownWithin,
			},
		}
		h.mllpFronts = append(h.mllpFronts, front)
	}
	return nil
}

// run serves until ctx ends, then lets messages that were begun finish.
func (f *mllpFront) run(ctx context.Context) error {
	for _, ready := range f.after {
		select {
		case <-ready:
		case <-ctx.Done():
			return nil
		}
	}
	if f.listener == nil {
		var err error
		config := net.ListenConfig{KeepAliveConfig: net.KeepAliveConfig{
			Enable: true, Idle: keepAliveIdle, Interval: keepAliveInterval, Count: keepAliveCount,
		}}
		if f.listener, err = config.Listen(ctx, "tcp", f.address); err != nil {
			return fmt.Errorf("listen for MLLP: %w", err)
		}
	}
	close(f.opened)
	late, drained := lifecycle.Linger(ctx, f.drain)
	defer drained()
	if err := f.server.Serve(late, f.listener); err != nil {
		return fmt.Errorf("serve MLLP: %w", err)
	}
	return nil
}

// admit identifies a peer. Its key is looked up at every message, because it may be revoked or
// rotated meanwhile. After a rotation the successor is used.
func (h *service) admit(senders []config.MLLPSender, p mllp.Peer, messages *ingest.Messages) (mllp.Sender, error) {
	at := slices.IndexFunc(senders, func(s config.MLLPSender) bool { return s.Fits(p) })
	if at < 0 {
		return mllp.Sender{}, fmt.Errorf("%w: no key is configured for it", mllp.ErrRefused)
	}
	id := senders[at].Key
	now, err := h.validKey(id)
	if now.ID == "" {
		now.ID = id
	}
	return mllp.Sender{
		Key: now.ID, Hospital: now.Hospital,
		Take: func(ctx context.Context, message []byte) ([]byte, error) {
			key, refused := h.validKey(id)
			if refused != nil {
				return nil, refused
			}
			if h.shell.Used != nil {
				h.shell.Used(key.ID)
			}
			if ended := h.shell.Await(ctx, &key, mllpPatience); ended != nil {
				return nil, ended
			}
			if key, refused = h.validKey(id); refused != nil { // it may have been revoked during the wait
				return nil, refused
			}
			ack, fault := messages.TakeBody(ctx, key, message)
			if errors.Is(fault, ingest.ErrForbidden) {
				fault = fmt.Errorf("%w: %w", mllp.ErrRefused, fault)
			}
			return ack, fault
		},
	}, err
}

func (h *service) validKey(id string) (access.Key, error) {
	key, valid := h.settings.Register.Current(id)
	if !valid {
		return key, fmt.Errorf("%w: its key is unknown, expired or revoked", mllp.ErrRefused)
	}
	return key, nil
}

// mllpMetrics registers the metrics of the listeners.
func mllpMetrics(m *metrics.Registry, c *mllp.Counts) {
	m.Gauge("svc_mllp_connections", "MLLP connections now.", c.Open.Load)
	m.Counter("svc_mllp_connections_total", "MLLP connections accepted.", c.Connections.Load)
	m.Counter("svc_mllp_turned_away_total", "MLLP connections closed at once: too many.", c.TurnedAway.Load)
	m.Counter("svc_mllp_messages_total", "Frames read whole over MLLP.", c.Messages.Load)
	m.Counter("svc_mllp_answered_total", "Frames taken over MLLP, whatever the acknowledgment says.", c.Answered.Load)
	m.Counter("svc_mllp_not_taken_total", "Frames not acknowledged over MLLP: the sender sends them again.", c.NotTaken.Load)
	for _, f := range mllp.Faults() {
		m.Counter("svc_mllp_fault_"+f.String()+"_total", "Frames that depart from the standard: "+f.String()+".", c.Faults[f].Load)
	}
}
