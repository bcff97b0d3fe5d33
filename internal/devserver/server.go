// Package devserver is the surroundings of the roles in svc dev. It has the servers, keys and files
// that the roles need, a greeting, pages that receive webhooks and alerts, and a demonstration. It
// knows no role.
// The command wires the roles to it.
package devserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/go-chi/chi/v5"

	"svc/internal/cli"
	"svc/internal/outbound"
	"svc/internal/stream"
	"svc/internal/view"
)

// Server is one development server: its data folder, which it has locked, its open ports, an
// embedded Kafka and an embedded Redis. An acknowledged record survives a crash of the process.
// There is no replication.
type Server struct {
	API, Metrics, HL7 net.Listener // on this machine
	Kafka             *stream.Broker
	RedisURL          string
	PseudonymKey      string          // 64 hexadecimal digits
	SecretsKey        string          // 64 hexadecimal digits
	Greeted           <-chan struct{} // closed when [Server.Greet] has printed

	options *Options
	env     cli.Env
	log     *slog.Logger
	outbox  *outbox
	greeted chan struct{}
	closers []func()
}

// Open locks the data folder, and opens the ports and the embedded servers. The error says which
// option helps.
func Open(ctx context.Context, o *Options, w cli.Env, log *slog.Logger) (*Server, error) {
	ownersAlone()
	greeted := make(chan struct{})
	s := &Server{options: o, env: w, log: log, greeted: greeted, Greeted: greeted}
	if err := s.open(ctx); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *Server) open(ctx context.Context) error {
	o := s.options
	unlock, err := lockData(o.data)
	if err != nil {
		return err
	}
	s.closers = append(s.closers, unlock)
	if s.API, err = s.listen(ctx, o.listen); err != nil {
		return fmt.Errorf("%s is in use, or no address of this machine; choose another with --listen", o.listen)
	}
	if s.Metrics, err = s.listen(ctx, "127.0.0.1:0"); err != nil {
		return fmt.Errorf("listen for metrics: %w", err)
	}
	if s.HL7, err = s.listen(ctx, "127.0.0.1:0"); err != nil {
		return fmt.Errorf("listen for MLLP: %w", err)
	}
	if s.PseudonymKey, err = o.secret(pseudonymKey); err != nil {
		return err
	}
	if s.SecretsKey, err = o.secret(secretsKey); err != nil {
		return err
	}
	s.Kafka, err = o.embed(s.log)
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("port %d is in use; choose another with --kafka-port", o.kafkaPort)
	} else if err != nil {
		return err
	}
	s.closers = append(s.closers, s.Kafka.Close)
	redis, err := view.Embed()
	if err != nil {
		return err
	}
	s.closers = append(s.closers, redis.Close)
	s.RedisURL = redis.URL()
	s.outbox = newOutbox(s.env.Now, s.URL())
	return nil
}

func (s *Server) listen(ctx context.Context, address string) (net.Listener, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err == nil {
		s.closers = append(s.closers, func() { listener.Close() }) //nolint:errcheck // the server closes it too
	}
	return listener, err
}

// embed starts the embedded Kafka.
func (o *Options) embed(log *slog.Logger) (*stream.Broker, error) {
	options := stream.BrokerOptions{Port: o.kafkaPort, Repair: o.repair, Log: log}
	if !o.ephemeral {
		options.Dir = filepath.Join(o.data, "kafka")
	}
	return stream.Embed(options)
}

// Close closes all that [Open] opened. The roles must have ended.
func (s *Server) Close() {
	for _, end := range slices.Backward(s.closers) {
		end()
	}
}

// URL returns the address of the API, http://HOST:PORT.
func (s *Server) URL() string { return "http://" + s.API.Addr().String() }

// OutboxURL returns the address of the page that shows alerts.
func (s *Server) OutboxURL() string { return s.URL() + outboxPath }

// Senders returns senders that show alerts on the page, and send none.
func (s *Server) Senders() map[outbound.Channel]outbound.Sender {
	return map[outbound.Channel]outbound.Sender{
		outbound.ChannelMail: s.outbox.channel(outbound.ChannelMail), outbound.ChannelSMS: s.outbox.channel(outbound.ChannelSMS),
	}
}

// Mount adds the receiver of webhooks and the pages of webhooks and alerts. webhooks returns the
// webhooks of a hospital, with their secrets.
func (s *Server) Mount(r chi.Router, webhooks func(hospital string) []*outbound.Webhook) {
	mountHook(r, webhooks, s.env.Now)
	s.outbox.mount(r, outboxPath)
}
