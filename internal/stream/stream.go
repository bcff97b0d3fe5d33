// Package stream moves records through Kafka so that every accepted input is
// applied exactly once. It knows nothing of what a record means: keys and
// values are bytes, and the caller names the partition.
//
//   - A [Cluster] is a connection to one Kafka, or to the [Broker] of this process.
//   - A [Publisher] appends one record and says where it lies.
//   - A [Tail] follows a topic from its end; [Applied] waits in it for the
//     change that one input made.
//   - A [Table] is a compacted topic held whole in memory.
//   - [Cluster.Process] drives a [Task] per partition: inputs in, changes out,
//     both in one transaction; what a task remembers is what its changelog says.
//
// Three things make the loop exact, whatever dies when. The changelog is the
// commit point: everything downstream is derived from it. A partition starts at
// the larger of its committed offset and what its changelog has seen, and each
// record is checked against that position. And whenever the outcome of a
// commit is unclear the memory is dropped and read back.
package stream

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// ErrAway says that no broker answers, or that an append was not acknowledged
// in time. The record may still be stored: sending it again must be harmless.
var ErrAway = errors.New("kafka is away")

// Position is where a record lies in its topic.
type Position struct {
	Partition int32
	Offset    int64
}

// Record is one record of a topic. Key and Value belong to the receiver; a nil
// Value is a tombstone. Timestamp is the producer's, to the millisecond.
type Record struct {
	Partition  int32
	Offset     int64
	Key, Value []byte
	Timestamp  time.Time
}

func recordOf(r *kgo.Record) Record {
	return Record{Partition: r.Partition, Offset: r.Offset, Key: r.Key, Value: r.Value, Timestamp: r.Timestamp}
}

// Options say how to reach a cluster. Only Brokers and Log are required.
type Options struct {
	Brokers  []string // host:port, any of the cluster
	ClientID string   // shown in the broker's logs and quotas
	Log      *slog.Logger

	TLS               bool   // implied by any of the files
	CAFile            string // PEM; empty: the system's authorities
	CertFile, KeyFile string // PEM; client certificate, both or neither

	Mechanism      string // "", PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512
	User, Password string

	// Dial replaces the network, for tests on a virtual one.
	Dial func(ctx context.Context, network, host string) (net.Conn, error)
}

// Cluster is a connection to one Kafka. It is safe for concurrent use.
type Cluster struct {
	opts   []kgo.Opt // of every client
	log    *slog.Logger
	client *kgo.Client // administration and the publishers
	admin  *kadm.Client
	health *health

	limits sync.Map // topic -> int32: max.message.bytes as Ensure knows it

	id       string
	brokers  int
	embedded bool // see Broker
}

// Check returns every fault of the options at once, without touching the
// network; the files are read.
func (o *Options) Check() error {
	_, err := o.client()
	return err
}

// Dial connects and waits until the cluster answers, or ctx ends: a role may
// start before its Kafka does. Refused credentials are an error at once.
func Dial(ctx context.Context, o Options) (*Cluster, error) {
	opts, err := o.client()
	if err != nil {
		return nil, err
	}
	c := &Cluster{opts: opts, log: o.Log}
	c.health = newHealth(ctx, o.Log)
	c.client, err = kgo.NewClient(c.with(
		kgo.WithHooks(c.health),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerLinger(0),
		kgo.RecordDeliveryTimeout(appendTimeout),
		kgo.ProducerBatchMaxBytesFn(c.limit),
	)...)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	c.health.watch(c.client)
	c.admin = kadm.NewClient(c.client)
	if err := c.await(ctx); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// Close ends all connections of the cluster; appends under way fail.
func (c *Cluster) Close() {
	c.health.stop()
	c.client.Close()
}

// Embedded says that the cluster is the [Broker] of a process, which promises
// no replication and never compacts.
func (c *Cluster) Embedded() bool { return c.embedded }

// Away says since when no broker has answered; the zero time: it answers.
func (c *Cluster) Away() time.Time { return c.health.since() }

// await asks for the cluster's identity until it answers.
func (c *Cluster) await(ctx context.Context) error {
	for said := false; ; {
		ask, cancel := context.WithTimeout(ctx, 10*time.Second)
		meta, err := c.admin.BrokerMetadata(ask)
		cancel()
		if err == nil {
			c.id, c.brokers, c.embedded = meta.Cluster, len(meta.Brokers), meta.Cluster == embeddedID
			return nil
		}
		if errors.Is(err, kerr.SaslAuthenticationFailed) {
			return fmt.Errorf("connect: %w", err)
		}
		if !said {
			c.log.WarnContext(ctx, "kafka does not answer yet", "error", err)
			said = true
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("connect: %w: %w", ErrAway, err)
		case <-time.After(250 * time.Millisecond):
		}
	}
}

// limit is how large a batch may be: a larger one, be it of small records, is
// refused by the broker.
func (c *Cluster) limit(topic string) int32 {
	if n, ok := c.limits.Load(topic); ok {
		if bytes, ok := n.(int32); ok {
			return bytes
		}
	}
	return defaultRecordBytes
}

// with returns the options of every client and then those of one.
func (c *Cluster) with(opts ...kgo.Opt) []kgo.Opt {
	return append(append(make([]kgo.Opt, 0, len(c.opts)+len(opts)), c.opts...), opts...)
}

// client turns the options into those of franz-go. The short time-outs keep a
// paused broker from holding an append for the default 20 s; a broker that is
// starting, or a proxy before it, accepts and closes, which is worth a retry.
func (o *Options) client() ([]kgo.Opt, error) {
	var faults []error
	opts := []kgo.Opt{
		kgo.SeedBrokers(o.Brokers...),
		kgo.AlwaysRetryEOF(),
		kgo.RequestTimeoutOverhead(2 * time.Second),
		kgo.ProduceRequestTimeout(3 * time.Second),
		kgo.DialTimeout(2 * time.Second),
		kgo.RetryBackoffFn(backoff),
		kgo.MetadataMinAge(100 * time.Millisecond), // new topics and leaders are seen at once, not after 5 s
		kgo.WithLogger(quiet{o.Log}),
	}
	if len(o.Brokers) == 0 {
		faults = append(faults, errors.New("no broker named"))
	}
	if o.Log == nil {
		faults = append(faults, errors.New("no logger given"))
	}
	if o.ClientID != "" {
		opts = append(opts, kgo.ClientID(o.ClientID))
	}
	if o.Dial != nil {
		opts = append(opts, kgo.Dialer(o.Dial))
	}
	conf, err := o.TLSConfig()
	if err != nil {
		faults = append(faults, err)
	}
	if conf != nil {
		opts = append(opts, kgo.DialTLSConfig(conf))
	}
	mechanism, err := o.mechanism()
	if err != nil {
		faults = append(faults, err)
	}
	if mechanism != nil {
		opts = append(opts, kgo.SASL(mechanism))
	}
	return opts, errors.Join(faults...)
}

// TLSConfig returns what TLS the options ask for, the files read; nil: none. It is
// for clients of another kind on the same cluster.
func (o *Options) TLSConfig() (*tls.Config, error) {
	if !o.TLS && o.CAFile == "" && o.CertFile == "" && o.KeyFile == "" {
		return nil, nil
	}
	conf := &tls.Config{MinVersion: tls.VersionTLS12}
	if o.CAFile != "" {
		pem, err := os.ReadFile(o.CAFile)
		if err != nil {
			return nil, fmt.Errorf("read certificate authority: %w", err)
		}
		conf.RootCAs = x509.NewCertPool()
		if !conf.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("read certificate authority: %s holds no certificate", o.CAFile)
		}
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
			return nil, errors.New("a user or password without a SASL mechanism")
		}
		return nil, nil
	case "PLAIN":
		return plain.Auth{User: o.User, Pass: o.Password}.AsMechanism(), nil
	case "SCRAM-SHA-256":
		return scram.Auth{User: o.User, Pass: o.Password}.AsSha256Mechanism(), nil
	case "SCRAM-SHA-512":
		return scram.Auth{User: o.User, Pass: o.Password}.AsSha512Mechanism(), nil
	}
	return nil, fmt.Errorf("SASL mechanism %q is none of PLAIN, SCRAM-SHA-256, SCRAM-SHA-512", o.Mechanism)
}

// backoff is short at first: the usual reason for a retry is a transaction
// whose markers are still being written.
func backoff(tries int) time.Duration {
	return min(5*time.Millisecond<<min(max(tries-1, 0), 10), time.Second)
}

// quiet passes on what a reader of the log can act on: franz-go's warnings and
// errors. Its news at lower levels is about requests.
type quiet struct{ log *slog.Logger }

func (q quiet) Level() kgo.LogLevel { return kgo.LogLevelWarn }

func (q quiet) Log(level kgo.LogLevel, msg string, keyvals ...any) {
	lvl := slog.LevelDebug
	if level == kgo.LogLevelError {
		lvl = slog.LevelWarn
	}
	q.log.Log(context.Background(), lvl, "kafka client", append([]any{"event", msg}, keyvals...)...)
}
