// Package devserver provides the environment in which svc dev runs the roles: servers, keys, files, a greeting, a
// webhook receiver, an alert outbox, a demo. Package devserver does not import the roles; the command svc dev
// connects the roles to this environment.
package devserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/spf13/cobra"

	"svc/internal/cli"
	"svc/internal/outbound/sending"
	"svc/internal/outbound/subscriber"
	"svc/internal/stream"
	"svc/internal/view"
)

// Options are the flags of svc dev.
type Options struct {
	LogLevel string // debug, info, warn or error

	data      string
	ephemeral bool
	listen    string
	kafkaPort int
	demo      bool
	speed     string // value of --speed, which existed in earlier releases and is refused with a reason
}

var logLevels = []string{"debug", "info", "warn", "error"}

// Command returns the command svc dev without its run function. The command sets o from its flags, and checks the
// values.
func Command(o *Options) *cobra.Command {
	cmd := &cobra.Command{Use: "dev", Short: "run everything in one process, for a demo or for development"}
	flags := cmd.Flags()
	flags.StringVar(&o.data, "data", cli.DefaultData, "`folder` for the data and for dev.json")
	flags.BoolVar(&o.ephemeral, "ephemeral", false, "store nothing except dev.json")
	flags.StringVar(&o.listen, "listen", "127.0.0.1:8080", "`address` of the API, on this machine; port 0 selects a free port")
	flags.IntVar(&o.kafkaPort, "kafka-port", 0, "`port` of the embedded Kafka (default: a free one)")
	flags.BoolVar(&o.demo, "demo", false, "simulate a unit, with 28 days of history")
	flags.StringVar(&o.speed, "speed", "", "not supported; an error explains why")
	flags.Lookup("speed").Hidden = true
	flags.StringVar(&o.LogLevel, "log-level", "warn", "debug, info, warn or error")
	cmd.PreRunE = func(*cobra.Command, []string) error { return errors.Join(o.faults()...) }
	return cmd
}

// faults returns the errors in the options.
func (o *Options) faults() []error {
	faults := []error{requireLoopback(o.listen)}
	if !slices.Contains(logLevels, o.LogLevel) {
		faults = append(faults, fmt.Errorf("--log-level: must be one of %s", strings.Join(logLevels, ", ")))
	}
	if o.data == "" {
		faults = append(faults, errors.New("--data: must be a folder"))
	}
	if o.kafkaPort < 0 || o.kafkaPort > 65535 {
		faults = append(faults, errors.New("--kafka-port: must be a number up to 65535"))
	}
	if o.speed != "" {
		faults = append(faults, errors.New("--speed: the demo runs in real time, because svc's timers do "+
			"(an hour of magnesium at 1:1, two hours of recovery); omit the flag, and send a faster unit "+
			"with svc simulate --to dev"))
	}
	return faults
}

// requireLoopback returns an error for an address that other machines can reach. svc dev must not serve them, because
// it stores a key in a file and does not use TLS.
func requireLoopback(address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return errors.New("--listen: must be host:port")
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return errors.New("--listen: the port must be a number up to 65535")
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return errors.New("--listen: svc dev serves only this machine; use 127.0.0.1, ::1 or localhost")
	}
	return nil
}

// Server contains the parts of svc dev around the roles: the locked data folder, the open ports, an embedded Kafka
// and an embedded Redis. A record that Kafka has acknowledged survives a crash of the process. There is no
// replication.
type Server struct {
	API, Metrics, HL7 net.Listener // reachable only from this machine
	Kafka             *stream.Broker
	RedisURL          string
	PseudonymKey      string          // 64 hexadecimal digits
	SecretsKey        string          // 64 hexadecimal digits
	Greeted           <-chan struct{} // closed when [Server.Greet] has printed the addresses

	options *Options
	env     cli.Env
	log     *slog.Logger
	outbox  *outbox
	greeted chan struct{}
	closers []func()
}

// Open locks the data folder, and opens the ports and the embedded servers. If an address or a port is not available,
// the error names the option that selects another one.
func Open(ctx context.Context, o *Options, w cli.Env, log *slog.Logger) (*Server, error) {
	restrictNewFiles()
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
		return fmt.Errorf("%s is in use or is not an address of this machine; choose another with --listen "+
			"(make run ARGS='--listen 127.0.0.1:8081')", o.listen)
	}
	if s.Metrics, err = s.listen(ctx, "127.0.0.1:0"); err != nil {
		return fmt.Errorf("listen for metrics: %w", err)
	}
	if s.HL7, err = s.listen(ctx, "127.0.0.1:0"); err != nil {
		return fmt.Errorf("listen for MLLP: %w", err)
	}
	if s.PseudonymKey, err = o.loadSecret(pseudonymKey); err != nil {
		return err
	}
	if s.SecretsKey, err = o.loadSecret(secretsKey); err != nil {
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
		s.closers = append(s.closers, func() { listener.Close() }) //nolint:errcheck // the server that uses the listener closes it, too
	}
	return listener, err
}

// embed starts the embedded Kafka.
func (o *Options) embed(log *slog.Logger) (*stream.Broker, error) {
	options := stream.BrokerOptions{Port: o.kafkaPort, Log: log}
	if !o.ephemeral {
		options.Dir = filepath.Join(o.data, "kafka")
	}
	return stream.Embed(options)
}

// Close closes everything that [Open] opened. Call it after the roles have stopped.
func (s *Server) Close() {
	for _, end := range slices.Backward(s.closers) {
		end()
	}
}

// URL returns the address of the API, http://HOST:PORT.
func (s *Server) URL() string { return "http://" + s.API.Addr().String() }

// OutboxURL returns the address of the page that shows alerts.
func (s *Server) OutboxURL() string { return s.URL() + outboxPath }

// Senders returns senders that store alerts for the outbox page instead of sending them.
func (s *Server) Senders() map[subscriber.Channel]sending.Sender {
	return map[subscriber.Channel]sending.Sender{
		subscriber.ChannelMail: s.outbox.channel(subscriber.ChannelMail), subscriber.ChannelSMS: s.outbox.channel(subscriber.ChannelSMS),
	}
}

// Mount adds the webhook receiver, and the pages that show webhooks and alerts. webhooks returns the webhooks of a
// hospital, with their secrets, and zone returns its time zone.
func (s *Server) Mount(r chi.Router, webhooks func(hospital string) []*subscriber.Webhook, zone func(hospital string) *time.Location) {
	mountHook(r, webhooks, s.env.Now)
	s.outbox.zone = zone
	s.outbox.mount(r, outboxPath)
}
