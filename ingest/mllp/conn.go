package mllp

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"
)

// Counts are the counters of a server.
type Counts struct {
	Connections atomic.Int64 // connections accepted, including those turned away
	TurnedAway  atomic.Int64 // connections turned away because of a connection limit
	Open        atomic.Int64 // connections currently open
	Messages    atomic.Int64 // messages read completely
	Answered    atomic.Int64 // messages acknowledged with any code, or stored without an acknowledgment because none was due
	NotAccepted atomic.Int64 // messages not acknowledged, which their senders will send again
	Faults      [faultKinds]atomic.Int64
}

// end is the reason why a connection ended, one of a fixed set.
type end string

const (
	endPeer      end = "peer_closed"
	endReset     end = "connection_lost"
	endIdle      end = "idle"
	endSlow      end = "message_too_slow"
	endTooLong   end = "message_too_long"
	endDeaf      end = "answer_not_taken"
	endNotTaken  end = "message_not_taken"
	endRefused   end = "sender_refused"
	endHandshake end = "no_handshake"
	endTooMany   end = "too_many_connections"
	endStopped   end = "stopped"
)

// ends lists all values of end.
var ends = []end{
	endPeer, endReset, endIdle, endSlow, endTooLong, endDeaf, endNotTaken, endRefused, endHandshake, endTooMany, endStopped,
}

// conn is one connection.
type conn struct {
	*Server
	conns    *connTable
	socket   net.Conn
	peer     Peer
	began    time.Time
	in       *Reader
	sender   Sender
	messages int64
	answered int64
	resting  bool // whether the connection waits for a message to begin; guarded by connTable.mu
}

func (c *conn) run(ctx context.Context) (end, error) {
	stream, err := c.handshake(ctx)
	if err != nil {
		return endHandshake, err
	}
	defer stream.Close() //nolint:errcheck // fails only if the peer has disconnected
	if c.sender, err = c.Admit(c.peer); err != nil {
		return endRefused, err
	}
	c.in = NewReader(stream, c.Limits.Message)
	var frame []byte
	for {
		if !c.conns.awaitMessage(c, c.Now().Add(c.Limits.Idle)) {
			return endStopped, nil
		}
		if err = c.in.Wait(); err != nil {
			return c.endOfRead(err, endIdle), nil
		}
		if err = c.conns.receiveUntil(c, c.Now().Add(c.Limits.Receive)); err != nil {
			return endReset, nil
		}
		message, err := c.in.Next()
		if err != nil {
			return c.endOfRead(err, endSlow), nil
		}
		if len(bytes.TrimSpace(message)) == 0 { // some engines send empty frames to keep the connection alive
			c.in.faults[Noise]++
			continue
		}
		c.messages++
		c.Counts.Messages.Add(1)
		ack, err := c.acceptMessage(ctx, message)
		if err != nil {
			c.Counts.NotAccepted.Add(1)
			sleep(ctx, c.Limits.Pause)
			if errors.Is(err, ErrRefused) {
				return endRefused, err
			}
			return endNotTaken, err
		}
		if len(ack) > 0 {
			frame = Append(frame[:0], ack)
			if err = c.answer(stream, frame); err != nil {
				return endDeaf, nil
			}
		}
		c.answered++
		c.Counts.Answered.Add(1)
	}
}

// acceptMessage processes one message. A panic is a bug and ends only this connection. Its stack is logged, but not
// its value, which could contain part of the message.
func (c *conn) acceptMessage(ctx context.Context, message []byte) (ack []byte, err error) {
	defer func() {
		if recover() != nil {
			c.Log.ErrorContext(ctx, "message handler panicked", "stack", string(debug.Stack()))
			err = errPanic
		}
	}()
	return c.sender.Store(ctx, message)
}

var errPanic = errors.New("message handler panicked")

// handshake performs the TLS handshake and sets the names of the peer from its certificate. It returns the stream to
// use, which is the socket itself if the server does not use TLS.
func (c *conn) handshake(ctx context.Context) (net.Conn, error) {
	if c.TLS == nil {
		return c.socket, nil
	}
	if err := c.socket.SetDeadline(c.Now().Add(c.Limits.Receive)); err != nil {
		return nil, err
	}
	secured := tls.Server(c.socket, c.TLS)
	if err := secured.HandshakeContext(ctx); err != nil {
		return nil, err
	}
	if all := secured.ConnectionState().PeerCertificates; len(all) > 0 {
		c.peer.Names = append(slices.Clone(all[0].DNSNames), all[0].Subject.CommonName)
	}
	return secured, nil
}

func (c *conn) answer(stream net.Conn, frame []byte) error {
	if err := c.socket.SetWriteDeadline(c.Now().Add(c.Limits.Answer)); err != nil {
		return err
	}
	_, err := stream.Write(frame)
	return err
}

// endOfRead returns why a read ended. late is the reason to return if a deadline passed.
func (c *conn) endOfRead(err error, late end) end {
	switch {
	case errors.Is(err, ErrTooLong):
		return endTooLong
	case errors.Is(err, io.EOF):
		return endPeer
	case c.conns.isStopped():
		return endStopped
	case errors.Is(err, os.ErrDeadlineExceeded):
		return late
	default:
		return endReset
	}
}

// logEnd logs the connection: the peer, the counts, and why it ended. It never logs the content of a message.
func (c *conn) logEnd(ctx context.Context, why end, err error) {
	level := slog.LevelInfo
	if why != endPeer && why != endIdle && why != endStopped {
		level = slog.LevelWarn
	}
	attrs := []slog.Attr{
		slog.String("peer", c.peer.Address.String()),
		slog.String("key_id", c.sender.Key),
		slog.String("hospital", c.sender.Hospital),
		slog.Int64("messages", c.messages),
		slog.Int64("answered", c.answered),
		slog.Duration("duration", c.Now().Sub(c.began)),
		slog.String("ended", string(why)),
	}
	if c.in != nil {
		for _, f := range Faults() {
			if n := c.in.Count(f); n > 0 {
				attrs = append(attrs, slog.Int64(f.String(), n))
			}
		}
	}
	if err != nil {
		attrs = append(attrs, slog.Any("error", err))
	}
	c.Log.LogAttrs(ctx, level, "mllp connection", attrs...)
}
