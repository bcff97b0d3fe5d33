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

// Config is the configuration of a server role, or of a command that connects to the same servers. Each field has one
// row in options, with its flag, variable, default and help.
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
	KafkaFull                    func() error // set by svc dev: why the embedded Kafka accepts no records; nil: not checked
	Partitions                   int
	Replicas                     int
	CommitEvery                  time.Duration
	Redis, RedisCA               string
	Listen                       string
	PrivateListen                string
	PseudonymKey                 string
	SecretsKey                   string
	PseudonymsOld, SecretsKeyOld []string
	KeysFixed                    bool // set by svc dev: exit if a key is not the installation's key
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
	Senders                      map[subscriber.Channel]sending.Sender // set by svc dev: senders of e-mail and SMS; nil: the configured ones
	CORSOrigins                  []string
	LogLevel                     string
	ShutdownWithin               time.Duration
	Drain                        time.Duration
	Leave                        bool
}

// option is one row of the configuration. It implements [pflag.Value].
type option struct {
	name   string // name of the flag; the variable is SVC_ and the name in capitals
	only   Need   // a command has the option if it has any of these needs; 0: all commands
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

// Bind adds flags for the options that a command needs. The flags set the values of c.
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

// Unneeded returns the names of the options in flags that a command does not need.
func Unneeded(flags *pflag.FlagSet, needs Need) (names []string) {
	for _, o := range new(Config).options() {
		if !o.neededBy(needs) && flags.Lookup(o.name) != nil {
			names = append(names, o.name)
		}
	}
	return names
}

// Faults sets the defaults of options that were not given, and returns the errors in all options.
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

// Set implements [pflag.Value]. An option has one value, which may be a list. A second value is an error, because it
// would silently replace the first: with two --mllp, the first sender would not be served.
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
	NeedKeys                        // compares its keys with the installation's; each key may be missing
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

// ServesLoopback reports whether the pages are only for browsers on this machine, without TLS. --public-url decides, or
// the listen address if --public-url is not set.
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

// Topics returns the required configuration of topics. Co-partitioned topics get the configured number of partitions,
// and other topics get one.
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
