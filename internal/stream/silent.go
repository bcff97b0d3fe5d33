package stream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// silentBrokers refuses connections to brokers that do not respond. The operating system of a paused broker still
// accepts connections, so a client would wait for the timeout of each request, and then send the request to the same
// broker again. If a connection is refused, the client uses another broker or asks which broker has taken over. All
// clients of a cluster share one silentBrokers, which is also one of their hooks.
//
// A broker is silent from the timeout of a request until it responds to any request. A timeout does not count if the
// broker has just responded to another request. While the broker is silent, one connection after another waits for a
// response. The broker is refused only if another broker has responded since the request that timed out.
type silentBrokers struct {
	dial   dialer
	within time.Duration // timeout of a request
	log    *slog.Logger
	ctx    context.Context // lifetime of the cluster, which the waiting connections share
	close  context.CancelFunc

	mu     sync.Mutex
	heard  map[string]time.Time // last response of each broker, by address
	silent map[string]time.Time // start of the request that timed out, by address
	asked  map[string]bool      // whether a connection waits for a response, by address
}

type dialer func(ctx context.Context, network, address string) (net.Conn, error)

// errSilent is the error of a connection to a silent broker.
var errSilent = errors.New("the broker does not respond")

func newSilentBrokers(within time.Duration, log *slog.Logger, dial dialer) *silentBrokers {
	s := &silentBrokers{
		dial: dial, within: within, log: log,
		heard: map[string]time.Time{}, silent: map[string]time.Time{}, asked: map[string]bool{},
	}
	s.ctx, s.close = context.WithCancel(context.Background())
	return s
}

// connect dials a broker. If the broker is silent, the error is [errSilent].
func (s *silentBrokers) connect(ctx context.Context, network, address string) (net.Conn, error) {
	if s.isRefused(address) {
		return nil, &net.OpError{Op: "dial", Net: network, Err: errSilent} // the client takes it for a refused connection
	}
	conn, err := s.dial(ctx, network, address)
	if isTimeout(err) && ctx.Err() == nil { // the machine is unreachable or, with TLS, the broker does not respond
		s.recordTimeout(address, s.within)
	}
	return conn, err
}

func (s *silentBrokers) isRefused(address string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	since, is := s.silent[address]
	if !is {
		return false
	}
	for other, at := range s.heard {
		if other != address && at.After(since) {
			return true
		}
	}
	return false
}

// OnBrokerRead is called by a client for each response, and for each request whose response could not be read.
func (s *silentBrokers) OnBrokerRead(broker kgo.BrokerMetadata, key int16, _ int, waited, took time.Duration, err error) {
	address := net.JoinHostPort(broker.Host, strconv.Itoa(int(broker.Port)))
	switch {
	case err == nil:
		s.recordResponse(address)
	// A client that is being closed also ends its requests with a timeout. Such a request has waited for less than the
	// timeout, except a request that the broker may answer late on purpose. A broker that responds to other requests is
	// not silent: while the coordinator of a transaction is down, all brokers leave its appends unanswered.
	case isTimeout(err) && waited+took >= s.within && !isLongPoll(key) && !s.hasJustResponded(address):
		s.recordTimeout(address, waited+took)
	}
}

// hasJustResponded reports whether the broker has responded to any request within the last s.within/2. An older response
// does not count, because the broker may have stopped responding right after it.
func (s *silentBrokers) hasJustResponded(address string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, has := s.heard[address]
	return has && time.Since(at) < s.within/2
}

func (s *silentBrokers) recordResponse(address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heard[address] = time.Now()
	if since, was := s.silent[address]; was {
		delete(s.silent, address)
		s.log.Info("kafka broker responds again", "broker", address, "after_ms", time.Since(since).Milliseconds())
	}
}

// recordTimeout records that a request has waited in vain, and waits for the broker in the background.
func (s *silentBrokers) recordTimeout(address string, waited time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, was := s.silent[address]; !was {
		s.log.Warn("kafka broker does not respond", "broker", address)
	}
	s.silent[address] = time.Now().Add(-waited)
	if !s.asked[address] {
		s.asked[address] = true
		go s.await(address)
	}
}

// await waits until a broker responds, or until it refuses connections by itself.
func (s *silentBrokers) await(address string) {
	err := s.ask(address)
	for isTimeout(err) && s.ctx.Err() == nil {
		err = s.ask(address)
	}
	if err == nil {
		s.recordResponse(address)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.silent, address)
	delete(s.asked, address)
}

// ask sends a request that needs no authentication, and waits for the response. It dials each time, because several
// brokers may share an address.
func (s *silentBrokers) ask(address string) error {
	conn, err := s.dial(s.ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer conn.Close()                                        //nolint:errcheck // the connection has served its purpose
	defer context.AfterFunc(s.ctx, func() { conn.Close() })() //nolint:errcheck // ends the wait for the response
	if err = conn.SetDeadline(time.Now().Add(s.within)); err != nil {
		return fmt.Errorf("ask a broker: %w", err)
	}
	request := kmsg.NewRequestFormatter().AppendRequest(nil, kmsg.NewPtrApiVersionsRequest(), 1)
	if _, err = conn.Write(request); err != nil {
		return fmt.Errorf("ask a broker: %w", err)
	}
	if _, err = io.ReadFull(conn, make([]byte, 4)); err != nil {
		return fmt.Errorf("ask a broker: %w", err)
	}
	return nil
}

func isTimeout(err error) bool {
	timeout, is := errors.AsType[net.Error](err)
	return is && timeout.Timeout()
}

// isLongPoll reports whether a broker may answer a request late on purpose.
func isLongPoll(key int16) bool {
	return slices.Contains([]kmsg.Key{kmsg.Fetch, kmsg.JoinGroup, kmsg.SyncGroup}, kmsg.Key(key))
}
