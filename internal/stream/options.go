package stream

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"svc/internal/authorities"
)

// Options configure the connection to a cluster. Only Brokers and Log are required.
type Options struct {
	Brokers  []string // host:port of any brokers of the cluster
	ClientID string   // shown in the broker's logs and quotas
	Log      *slog.Logger

	TLS               bool   // whether to use TLS; implied if any of the files is set
	CAFile            string // PEM; "": the system's certificate authorities
	CertFile, KeyFile string // PEM files of a client certificate and its key; both or neither must be set

	// Replicas is the number of replicas of a new topic, and the minimum for an existing topic. 0 means 3, or the
	// number of brokers if the cluster has fewer than 3. A new topic is created only once enough brokers are known:
	// Replicas or, if Replicas is 0, as many as Brokers lists, but at most 3; for the latter it waits at most 10 minutes.
	Replicas int

	Mechanism      string // "", PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512
	User, Password string

	// Dial replaces the default dialer, for tests on a virtual network.
	Dial func(ctx context.Context, network, host string) (net.Conn, error)

	// Full returns why the cluster currently accepts no records, or nil. Publishers call it before each append, unless
	// Full itself is nil.
	Full func() error

	// Patient gives each request, append and attempt of a replacement 30 s, instead of 2 s for a request and 5 s for
	// the others. Until a broker responds, appends and replacements then wait instead of failing at once. Commands set
	// Patient, because they may run at the machine's lowest priority or while the cluster starts.
	Patient bool
}

// patience is the timeout of a request, an append or an attempt of a replacement if Patient is set.
const patience = 30 * time.Second

// Check returns all errors in the options at once. It reads the files, but does not use the network.
func (o *Options) Check() error {
	_, _, err := o.client()
	return err
}

// client returns the options of franz-go, and what they share. With franz-go's default timeouts, a paused broker would
// block an append for 20 s. A broker that is starting, or a proxy, may accept a connection and close it; the client
// retries such a request.
func (o *Options) client() ([]kgo.Opt, *silentBrokers, error) {
	var faults []error
	within := 2 * time.Second
	if o.Patient {
		within = patience
	}
	opts := []kgo.Opt{
		kgo.SeedBrokers(o.Brokers...),
		kgo.AlwaysRetryEOF(),
		kgo.RequestTimeoutOverhead(within),
		// If the coordinator of a transaction fails, the other brokers do not respond to appends in that transaction, not
		// even after another broker has taken over as coordinator. Only a retry of the append gets a response, so this
		// timeout is short. It is added to the timeout of a request.
		kgo.ProduceRequestTimeout(time.Second),
		kgo.RetryBackoffFn(backoff),
		kgo.MetadataMinAge(100 * time.Millisecond), // with the default of 5 s, new topics and leaders would be found late
		// The client repeats a request that a paused broker does not answer at the same broker, until the metadata no
		// longer lists that broker. By default, the client asks for metadata every 5 minutes.
		kgo.MetadataMaxAge(time.Second),
		// A client keeps two decoded fetches in memory, at several times their encoded size. With the default of 50
		// MiB, a notifier on a long log used half a gigabyte (BenchmarkNotifyStart).
		kgo.FetchMaxBytes(1 << 20),
		kgo.FetchMaxPartitionBytes(256 << 10),
		kgo.WithLogger(quiet{o.Log}),
	}
	if len(o.Brokers) == 0 {
		faults = append(faults, errors.New("no broker configured"))
	}
	if o.Log == nil {
		faults = append(faults, errors.New("no logger configured"))
	}
	if o.ClientID != "" {
		opts = append(opts, kgo.ClientID(o.ClientID))
	}
	conf, err := o.TLSConfig()
	if err != nil {
		faults = append(faults, err)
	}
	silent := newSilentBrokers(within, o.Log, o.dialer(conf, within))
	opts = append(opts, kgo.Dialer(silent.connect), kgo.WithHooks(silent))
	mechanism, err := o.mechanism()
	if err != nil {
		faults = append(faults, err)
	}
	if mechanism != nil {
		opts = append(opts, kgo.SASL(mechanism))
	}
	return opts, silent, errors.Join(faults...)
}

// dialer returns the function that opens connections, with TLS unless conf is nil.
func (o *Options) dialer(conf *tls.Config, within time.Duration) dialer {
	plain := &net.Dialer{Timeout: within}
	switch {
	case o.Dial != nil:
		return o.Dial
	case conf != nil:
		return (&tls.Dialer{NetDialer: plain, Config: conf}).DialContext
	default:
		return plain.DialContext
	}
}

// TLSConfig reads the certificate and key files and returns the TLS configuration, or nil if TLS is off. Other
// clients of the same cluster can use it, too.
func (o *Options) TLSConfig() (*tls.Config, error) {
	if !o.TLS && o.CAFile == "" && o.CertFile == "" && o.KeyFile == "" {
		return nil, nil
	}
	conf := &tls.Config{MinVersion: tls.VersionTLS12}
	if o.CAFile != "" {
		roots, err := authorities.Read(o.CAFile)
		if err != nil {
			return nil, fmt.Errorf("certificate authority of Kafka, %s: %w", o.CAFile, err)
		}
		conf.RootCAs = roots
	}
	if o.CertFile != "" || o.KeyFile != "" {
		pair, err := tls.LoadX509KeyPair(o.CertFile, o.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("read client certificate: %w", err)
		}
		conf.Certificates = []tls.Certificate{pair}
	}
	return conf, nil
}

func (o *Options) mechanism() (sasl.Mechanism, error) {
	switch o.Mechanism {
	case "":
		if o.User != "" || o.Password != "" {
			return nil, errors.New("a user or password is set without a SASL mechanism")
		}
		return nil, nil
	case "PLAIN":
		return plain.Auth{User: o.User, Pass: o.Password}.AsMechanism(), nil
	case "SCRAM-SHA-256":
		return scram.Auth{User: o.User, Pass: o.Password}.AsSha256Mechanism(), nil
	case "SCRAM-SHA-512":
		return scram.Auth{User: o.User, Pass: o.Password}.AsSha512Mechanism(), nil
	}
	return nil, fmt.Errorf("SASL mechanism must be PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512, not %q", o.Mechanism)
}

// backoff returns the pause before a retry. The first pauses are short, because usually the broker is still writing the
// markers of a transaction. The later ones are short enough that a request that was retried while Kafka elected new
// leaders is soon sent to one of them.
func backoff(tries int) time.Duration { return doubled(tries, 250*time.Millisecond) }

// doubled returns 5 ms before the first retry and twice as much before each further one, but at most the given pause.
func doubled(tries int, most time.Duration) time.Duration {
	return min(5*time.Millisecond<<min(max(tries-1, 0), 10), most)
}

// quiet logs the errors of franz-go as warnings, because an operator can act on them, and the warnings of franz-go as
// debug messages. All other messages are dropped, because they concern single requests.
type quiet struct{ log *slog.Logger }

func (q quiet) Level() kgo.LogLevel { return kgo.LogLevelWarn }

func (q quiet) Log(level kgo.LogLevel, msg string, keyvals ...any) {
	lvl := slog.LevelDebug
	if level == kgo.LogLevelError {
		lvl = slog.LevelWarn
	}
	q.log.Log(context.Background(), lvl, "kafka client", append([]any{"event", msg}, keyvals...)...)
}
