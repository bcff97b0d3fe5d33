// Package config parses the configuration of a process: its options from flags, variables or files.
package config

import (
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"time"

	"github.com/spf13/pflag"

	"svc/internal/cli"
	"svc/internal/outbound/sending"
	"svc/internal/outbound/subscriber"
	"svc/internal/registry"
	"svc/internal/seal"
	"svc/internal/stream"
	"svc/notifier/egress"
	"svc/schemas"
)

// Config is the configuration of a server role, or of a command that connects to the same servers. Most fields have a
// row in options, with the flag, default and help; svc dev sets the others.
type Config struct {
	Instance    string
	TopicPrefix string

	Kafka                        []string
	KafkaTLS                     bool
	KafkaTLSCA                   string
	KafkaTLSCert                 string
	KafkaTLSKey                  string
	KafkaSASL                    string
	KafkaUser                    string
	KafkaPassword                string
	Registry                     registry.Config
	KafkaFull                    func() error // set by svc dev; returns why the embedded Kafka accepts no records; nil: not checked
	Partitions                   int
	Replicas                     int
	CommitEvery                  time.Duration
	Redis, RedisCA               string
	Listen                       string
	PrivateListen                string
	PseudonymKey                 string
	SecretsKey                   string
	PseudonymsOld, SecretsKeyOld []string
	KeysFixed                    bool // set by svc dev; whether the process exits if a key is not the installation's key
	EgressAllow                  []egress.Allowed
	EgressRoots                  *x509.CertPool
	EgressLoopback               bool // set by svc dev
	MLLP                         MLLP
	DocsURL                      string
	Proxies                      []netip.Prefix
	StrangersRate                int
	PublicURL                    string
	IngestURL                    *url.URL // nil: not set
	OIDC                         OIDC
	SMTP                         SMTP
	SMS                          SMS
	Senders                      map[subscriber.Channel]sending.Sender // set by svc dev; senders that replace the configured ones; nil: none
	CORSOrigins                  []string
	LogLevel                     string
	ShutdownWithin               time.Duration
	Drain                        time.Duration
	Leave                        bool
}

// option is one row of the configuration. It implements [pflag.Value].
type option struct {
	name   string // name of the flag; the variable is SVC_ and the name in capitals
	only   Need   // needs; a command with any of them has the option; 0: all commands have it
	preset string // default
	set    func(value string) error
	help   string
	secret bool // whether the value may also come from the file that SVC_…_FILE names
	filled bool // whether an empty value is rejected
	text   string
	given  bool // Set was called
}

// variable returns the environment variable of the option.
func (o *option) variable() string { return cli.Variable(o.name) }

var logLevels = []string{"debug", "info", "warn", "error"}

// Bind adds a flag for each option that a command needs. Parsing the flags sets the values of c.
func (c *Config) Bind(flags *pflag.FlagSet, needs Need) {
	for _, o := range c.options() {
		if !o.neededBy(needs) {
			continue
		}
		o.text = o.preset
		flag := flags.VarPF(o, o.name, "", o.help)
		if o.toggle() {
			flag.NoOptDefVal = "true"
		}
		if o.secret {
			cli.Secret(flags, o.name)
		}
		if o.filled {
			cli.Filled(flags, o.name)
		}
	}
}

// Unneeded returns the names of the options that have a flag in flags, but that a command with the given needs does
// not use.
func Unneeded(flags *pflag.FlagSet, needs Need) (names []string) {
	for _, o := range new(Config).options() {
		if !o.neededBy(needs) && flags.Lookup(o.name) != nil {
			names = append(names, o.name)
		}
	}
	return names
}

// Faults sets the options that were not given to their defaults. It returns the errors in the defaults, and in
// combinations of options.
func (c *Config) Faults(flags *pflag.FlagSet, needs Need) (faults []error) {
	for _, o := range c.options() {
		if !o.neededBy(needs) || flags.Changed(o.name) {
			continue
		}
		if err := o.set(o.preset); err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", o.variable(), err))
		}
	}
	if needs&(NeedIngest|NeedPseudonyms) != 0 && c.PseudonymKey == "" {
		faults = append(faults, fmt.Errorf("%s: required, with at least %d characters", cli.Variable("pseudonym-key"), seal.LeastKey))
	}
	if (c.KafkaTLSCert == "") != (c.KafkaTLSKey == "") {
		faults = append(faults, errors.New("--kafka-tls-cert, --kafka-tls-key: give both or neither"))
	}
	faults = append(faults, c.MLLP.faults()...)
	faults = append(faults, append(c.channelFaults(), c.oidcFaults()...)...)
	if c.SecretsKey == "" && len(c.SecretsKeyOld) > 0 {
		faults = append(faults, errors.New("--secrets-key-old: requires --secrets-key"))
	}
	if c.KafkaSASL != "" && (c.KafkaUser == "" || c.KafkaPassword == "") {
		faults = append(faults, errors.New("--kafka-sasl: requires --kafka-sasl-user and --kafka-sasl-password"))
	}
	return faults
}

// String implements [pflag.Value].
func (o *option) String() string { return o.text }

// Set implements [pflag.Value]. Giving an option twice is an error, because the second value would silently replace
// the first. For example, with two --mllp flags, the first sender would not be served. A list is given as one value.
func (o *option) Set(text string) error {
	if o.given {
		return errors.New("is given more than once; give it once")
	}
	o.given, o.text = true, text
	return o.set(text)
}

// Type implements [pflag.Value].
func (o *option) Type() string {
	if o.toggle() {
		return "bool"
	}
	return "value"
}

// neededBy reports whether a command with the given needs has the option.
func (o *option) neededBy(needs Need) bool { return o.only == 0 || needs&o.only != 0 }

// toggle reports whether the option is a boolean.
func (o *option) toggle() bool { return o.preset == "false" || o.preset == "true" }

// Need is a set of features that a command needs. It selects the options of the command.
type Need uint16

// Needs of roles and commands.
const (
	NeedHTTP       Need = 1 << iota // serves HTTP
	NeedTopics                      // creates topics
	NeedRedis                       // reads or writes the view
	NeedIngest                      // computes pseudonyms
	NeedProcess                     // is a member of a consumer group
	NeedNotify                      // sends webhooks, e-mail and SMS
	NeedSecrets                     // decrypts sealed settings
	NeedPseudonyms                  // changes the pseudonym key
	NeedPages                       // serves pages
	NeedLinks                       // creates links to pages
	NeedKeys                        // compares its keys with those of the installation; no key is required
)

// Seals returns the keyring of the configured secrets keys, or nil if there are none.
func (c *Config) Seals() (*seal.Keyring, error) {
	if c.SecretsKey == "" {
		return nil, nil
	}
	ring, err := seal.NewKeyring(append([]string{c.SecretsKey}, c.SecretsKeyOld...)...)
	if err != nil {
		return nil, fmt.Errorf("secrets key: %w", err)
	}
	return ring, nil
}

// PseudonymRing returns the keyring that seals the pseudonym data.
func (c *Config) PseudonymRing() (*seal.Keyring, error) {
	ring, err := seal.NewKeyring(append([]string{c.PseudonymKey}, c.PseudonymsOld...)...)
	if err != nil {
		return nil, fmt.Errorf("pseudonym key: %w", err)
	}
	return ring, nil
}

// Cluster returns the options of the Kafka client.
func (c *Config) Cluster(log *slog.Logger) stream.Options {
	return stream.Options{
		Brokers: c.Kafka, ClientID: "svc", Log: log, Replicas: c.Replicas,
		TLS: c.KafkaTLS, CAFile: c.KafkaTLSCA, CertFile: c.KafkaTLSCert, KeyFile: c.KafkaTLSKey,
		Mechanism: c.KafkaSASL, User: c.KafkaUser, Password: c.KafkaPassword,
		Full: c.KafkaFull,
	}
}

// ServesLoopback reports whether the pages are served only to browsers on this machine, without TLS. This depends on
// --public-url or, if that is not set, on the listen address.
func (c *Config) ServesLoopback() bool {
	host, _, _ := net.SplitHostPort(c.Listen) //nolint:errcheck // already checked with the configuration
	if u, err := url.Parse(c.PublicURL); err == nil && u.Host != "" {
		if u.Scheme == "https" {
			return false
		}
		host = u.Hostname()
	}
	return isLoopback(host)
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Topic returns the name of a topic in this installation.
func (c *Config) Topic(t schemas.Topic) string { return c.TopicPrefix + t.Name }

// Topics returns the topics with the configuration that they must have. Co-partitioned topics have the configured
// number of partitions; other topics have one partition.
func (c *Config) Topics(wanted ...schemas.Topic) []stream.Topic {
	all := make([]stream.Topic, 0, len(wanted))
	for _, t := range wanted {
		topic := stream.Topic{
			Name: c.Topic(t), Partitions: 1, Compact: t.Compacted, Retention: t.Retention,
			CompactionLag: t.CompactionLag, MaxMessageBytes: t.MaxRecord,
		}
		if t.Copartitioned {
			topic.Partitions = int32(c.Partitions) //nolint:gosec // at most 10,000
		}
		all = append(all, topic)
	}
	return all
}
