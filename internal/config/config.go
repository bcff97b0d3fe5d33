// Package config is the configuration of a process: its options, as flags, variables or files give
// them.
package config

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"time"

	"github.com/spf13/pflag"

	"svc/internal/cli"
	"svc/internal/outbound"
	"svc/internal/registry"
	"svc/notifier/egress"
)

// Config is the configuration of a server role, or of a command that works on its servers. Each
// field has one row in options, with its flag, variable, default and help.
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
	KeysFixed                    bool // set by svc dev: a key that is not that of the installation ends the process
	EgressAllow                  []egress.Allowed
	EgressRoots                  *x509.CertPool
	EgressLoopback               bool // set by svc dev
	MLLP                         MLLP
	DocsURL                      string
	Proxies                      []netip.Prefix
	StrangersRate                int
	PublicURL                    string
	IngestURL                    *url.URL // nil: not given
	OIDC                         OIDC
	SMTP                         SMTP
	SMS                          SMS
	Senders                      map[outbound.Channel]outbound.Sender // set by svc dev: senders to people; nil: those of SMTP and SMS
	CORSOrigins                  []string
	LogLevel                     string
	ShutdownWithin               time.Duration
	Drain                        time.Duration
	Leave                        bool
}

// option is one row of the configuration.
type option struct {
	name   string // name of the flag; the variable is SVC_ and the name in capitals
	preset string // default
	help   string
	secret bool // may also be read from the file that SVC_…_FILE names
	filled bool // the value must not be empty if it is given
	only   Need // only commands with one of these needs have the option; 0: all commands
	set    func(c *Config, value string) error
}

// variable is the environment variable of the option.
func (o *option) variable() string { return cli.Variable(o.name) }

// options are all options of the server roles, in the order of --help and of
// docs/configuration.md.
var options = []option{
	{name: "listen", only: NeedHTTP, preset: "127.0.0.1:8080", help: "address of the public HTTP server", set: address(func(c *Config) *string { return &c.Listen })},
	{name: "private-listen", only: NeedTopics, preset: "127.0.0.1:9090", help: "address of /metrics, /debug/pprof, /healthz and /readyz; keep it off the internet", set: address(func(c *Config) *string { return &c.PrivateListen })},
	{name: "kafka", preset: "127.0.0.1:9092", help: "Kafka bootstrap servers, host:port separated by commas", set: brokers},
	{name: "kafka-tls", preset: "false", help: "speak TLS to Kafka", set: boolean(func(c *Config) *bool { return &c.KafkaTLS })},
	{name: "kafka-tls-ca", help: "PEM file of the authorities that signed the brokers' certificates (default: those of the system)", set: file(func(c *Config) *string { return &c.KafkaTLSCA })},
	{name: "kafka-tls-cert", help: "PEM file of the client certificate", set: file(func(c *Config) *string { return &c.KafkaTLSCert })},
	{name: "kafka-tls-key", help: "PEM file of the client certificate's key", set: file(func(c *Config) *string { return &c.KafkaTLSKey })},
	{name: "kafka-sasl", help: "SASL mechanism: PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512 (default: none)", set: oneOf(func(c *Config) *string { return &c.KafkaSASL }, "", "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")},
	{name: "kafka-sasl-user", help: "SASL user", set: text(func(c *Config) *string { return &c.KafkaUser })},
	{name: "kafka-sasl-password", secret: true, help: "SASL password", set: text(func(c *Config) *string { return &c.KafkaPassword })},
	{name: "schema-registry", help: "URL of a schema registry that all schemas are registered at, and whose ids are written; the same for all processes of an installation (default: none, the ids of the build)", set: registryURL},
	{name: "schema-registry-user", help: "user at the schema registry (default: no login)", set: text(func(c *Config) *string { return &c.Registry.User })},
	{name: "schema-registry-password", secret: true, help: "its password", set: text(func(c *Config) *string { return &c.Registry.Password })},
	{name: "schema-registry-ca", help: "PEM file of the authorities that signed the registry's certificate (default: those of the system)", set: file(func(c *Config) *string { return &c.Registry.CAFile })},
	{name: "topic-prefix", help: "put before every topic name, for tests on a shared cluster", set: text(func(c *Config) *string { return &c.TopicPrefix })},
	{name: "partitions", only: NeedTopics, preset: "48", help: "partitions of the observations and verdicts topics when they are created", set: count(func(c *Config) *int { return &c.Partitions }, 1, 10_000)},
	{name: "replication-factor", preset: "0", help: "replicas of the topics when they are created, for which as many brokers are waited for; existing topics must have as many (default 0: 3, or as many as there are brokers)", set: count(func(c *Config) *int { return &c.Replicas }, 0, 100)},
	{name: "commit-every", only: NeedProcess, preset: "10ms", help: "gather the inputs that arrive within this time of the last commit; 0 where the brokers have add.partitions.to.txn.retry.backoff.ms=1", set: duration(func(c *Config) *time.Duration { return &c.CommitEvery }, 0, time.Second)},
	{name: "redis", only: NeedRedis, preset: "redis://127.0.0.1:6379/0", secret: true, help: "Redis as redis://user:password@host:port/db, or rediss:// for TLS", set: redisURL},
	{name: "redis-ca", only: NeedRedis, help: "PEM file of the authorities that signed the Redis server's certificate (default: those of the system)", set: file(func(c *Config) *string { return &c.RedisCA })},
	{name: "pseudonym-key", only: NeedIngest | NeedPseudonyms, secret: true, filled: true, help: "key of the pseudonyms of patients, visits and events, at least 32 characters, at random; how to change it is in administration.md", set: pseudonymKey},
	{name: "pseudonym-key-old", only: NeedIngest | NeedPseudonyms, secret: true, help: "earlier keys, one a line, while the key is changed; how is in administration.md", set: olderKeys(func(c *Config) *[]string { return &c.PseudonymsOld })},
	{name: "secrets-key", only: NeedIngest | NeedNotify | NeedSecrets | NeedPages, secret: true, filled: true, help: "key that seals signing secrets, telephone numbers and addresses of webhooks and alerts, and the sessions of the pages, at least 32 characters, at random; without it none can be set, and nobody can sign in", set: secretsKey},
	{name: "secrets-key-old", only: NeedIngest | NeedNotify | NeedSecrets | NeedPages, secret: true, help: "earlier keys, one a line, that still open what they sealed; how to change the key is in administration.md", set: olderKeys(func(c *Config) *[]string { return &c.SecretsKeyOld })},
	{name: "egress-allow", only: NeedIngest | NeedNotify, help: "private networks that endpoints of a hospital may lie in, as HOSPITAL=NETWORK[:PORT[+PORT]], separated by commas (default: public addresses only, ports 443 and 8443)", set: egressAllow},
	{name: "egress-ca-file", only: NeedNotify, help: "PEM file of authorities that may have signed the certificates of endpoints, beside those of the system", set: egressRoots},
	{name: "public-url", only: NeedNotify | NeedHTTP | NeedLinks, help: "address at which people and providers of SMS reach this service, for the links in alerts; without it there are none", set: publicURL},
	{name: "ingest-url", only: NeedPages, help: "address of svc ingest, to which a svc read that is none hands what people do on the pages; without it they may only look", set: ingestURL},
	{name: "oidc-issuer", only: NeedPages, help: "OpenID Connect provider by which people sign in to the pages (default: none, by links alone)", set: oidcIssuer},
	{name: "oidc-client-id", only: NeedPages, help: "name of this service there; /oidc/callback under --public-url is where it leads back", set: text(func(c *Config) *string { return &c.OIDC.ClientID })},
	{name: "oidc-client-secret", only: NeedPages, secret: true, help: "its secret", set: text(func(c *Config) *string { return &c.OIDC.ClientSecret })},
	{name: "oidc-groups-claim", only: NeedPages, preset: "groups", help: "claim of the ID token that names the groups of a person", set: text(func(c *Config) *string { return &c.OIDC.GroupsClaim })},
	{name: "oidc-roles", only: NeedPages, help: "what groups may do, as GROUP=HOSPITAL:ROLE separated by commas; HOSPITAL may be * for all, ROLE is viewer, charge or admin", set: oidcRoles},
	{name: "oidc-acr", only: NeedPages, help: "authentication context class that a sign-in must have, such as one with a second factor (default: any)", set: text(func(c *Config) *string { return &c.OIDC.ACR })},
	{name: "smtp-host", only: NeedNotify, help: "relay that alerts by e-mail are handed to (default: none, no e-mail)", set: smtpHost},
	{name: "smtp-port", only: NeedNotify, preset: "587", help: "port of the relay", set: smtpPort},
	{name: "smtp-tls", only: NeedNotify, preset: "starttls", help: "starttls (nothing is sent without it) or tls from the first byte, as on port 465", set: oneOf(func(c *Config) *string { return &c.SMTP.TLS }, "starttls", "tls")},
	{name: "smtp-ca", only: NeedNotify, help: "PEM file of authorities that may have signed the relay's certificate, beside those of the system", set: smtpRoots},
	{name: "smtp-user", only: NeedNotify, help: "user at the relay (default: no login)", set: text(func(c *Config) *string { return &c.SMTP.User })},
	{name: "smtp-password", only: NeedNotify, secret: true, help: "its password", set: text(func(c *Config) *string { return &c.SMTP.Password })},
	{name: "smtp-from", only: NeedNotify, help: "sender of the e-mail, an address", set: text(func(c *Config) *string { return &c.SMTP.From })},
	{name: "sms-driver", only: NeedNotify | NeedHTTP, help: "gateway of SMS: http (our own signed request) or twilio (default: none, no SMS)", set: oneOf(func(c *Config) *string { return &c.SMS.Driver }, "", "http", "twilio")},
	{name: "sms-url", only: NeedNotify | NeedHTTP, help: "where messages are posted; with twilio the base, https://api.twilio.com", set: text(func(c *Config) *string { return &c.SMS.URL })},
	{name: "sms-account", only: NeedNotify | NeedHTTP, help: "account at twilio", set: text(func(c *Config) *string { return &c.SMS.Account })},
	{name: "sms-token", only: NeedNotify | NeedHTTP, secret: true, help: "secret that signs messages and receipts; with twilio the auth token", set: text(func(c *Config) *string { return &c.SMS.Token })},
	{name: "sms-from", only: NeedNotify | NeedHTTP, help: "sender of the SMS; with twilio a number or a messaging service", set: text(func(c *Config) *string { return &c.SMS.From })},
	{name: "mllp", only: NeedIngest, help: "senders of HL7 v2 over MLLP, each as addr=HOST:PORT,key=KEY[,from=NETWORK][,client=NAME], separated by semicolons (default: none)", set: mllpBindings},
	{name: "mllp-tls-cert", only: NeedIngest, help: "PEM file of the certificate for MLLP over TLS", set: file(func(c *Config) *string { return &c.MLLP.Cert })},
	{name: "mllp-tls-key", only: NeedIngest, help: "PEM file of that certificate's key", set: file(func(c *Config) *string { return &c.MLLP.Key })},
	{name: "mllp-tls-client-ca", only: NeedIngest, help: "PEM file of the authorities of the senders' certificates; with it a sender needs one", set: file(func(c *Config) *string { return &c.MLLP.ClientCA })},
	{name: "mllp-connections", only: NeedIngest, preset: "1000", help: "connections to one MLLP address at once", set: count(func(c *Config) *int { return &c.MLLP.Connections }, 1, 100_000)},
	{name: "mllp-connections-per-peer", only: NeedIngest, preset: "100", help: "of them from one machine", set: count(func(c *Config) *int { return &c.MLLP.PerPeer }, 1, 100_000)},
	{name: "mllp-idle", only: NeedIngest, preset: "1h", help: "an MLLP connection without a message for so long is closed", set: duration(func(c *Config) *time.Duration { return &c.MLLP.Idle }, time.Second, 7*24*time.Hour)},
	{name: "instance", only: NeedProcess | NeedNotify, help: "name of this process in its consumer group, one per process (default: the host name)", set: text(func(c *Config) *string { return &c.Instance })},
	{name: "leave", only: NeedProcess | NeedNotify, preset: "false", help: "give up the place in the consumer group at a stop, for an instance that does not come back; else its partitions wait 10 s for it", set: boolean(func(c *Config) *bool { return &c.Leave })},
	{name: "docs-url", only: NeedHTTP, help: "address of the documentation in error answers (default: /docs under --public-url, else under the address that the request was sent to)", set: docsURL},
	{name: "trusted-proxies", only: NeedHTTP, help: "networks of the proxies in front, as 10.0.0.0/8, separated by commas: from them X-Forwarded-For is believed (default: none)", set: proxies},
	{name: "unauthorized-rate", only: NeedHTTP, preset: "20", help: "requests per second without a valid key that an address may send, 30 seconds of them at once; those above are answered 429; 0 for no limit", set: count(func(c *Config) *int { return &c.StrangersRate }, 0, 100_000)},
	{name: "cors-origins", only: NeedHTTP, help: "origins whose pages may call the API from a browser, such as https://board.example, separated by commas (default: none)", set: origins},
	{name: "shutdown-within", only: NeedHTTP | NeedNotify, preset: "10s", help: "time for open requests at a graceful stop; half of it for those to webhooks, at most 5s", set: duration(func(c *Config) *time.Duration { return &c.ShutdownWithin }, 0, 5*time.Minute)},
	{name: "drain", only: NeedHTTP, preset: "0", help: "time at a graceful stop in which requests are still taken while /readyz says that the process ends: as long as whoever balances load takes to notice", set: duration(func(c *Config) *time.Duration { return &c.Drain }, 0, 5*time.Minute)},
	{name: "log-level", preset: "info", help: "debug, info, warn or error", set: oneOf(func(c *Config) *string { return &c.LogLevel }, logLevels...)},
}

var logLevels = []string{"debug", "info", "warn", "error"}

// Bind adds the options that a command needs to its flags. Values of flags and variables are set
// on c.
func (c *Config) Bind(flags *pflag.FlagSet, needs Need) {
	for i := range options {
		o := &options[i]
		if !o.neededBy(needs) {
			continue
		}
		flag := flags.VarPF(&optionValue{option: o, config: c, text: o.preset}, o.name, "", o.help)
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

// Unneeded returns the names of the options among flags that a command does not need.
func Unneeded(flags *pflag.FlagSet, needs Need) (names []string) {
	for i := range options {
		if o := &options[i]; !o.neededBy(needs) && flags.Lookup(o.name) != nil {
			names = append(names, o.name)
		}
	}
	return names
}

// Faults sets the defaults of the options that were not given. Then it returns the faults of all
// options together.
func (c *Config) Faults(flags *pflag.FlagSet, needs Need) (faults []error) {
	for i := range options {
		o := &options[i]
		if !o.neededBy(needs) || flags.Changed(o.name) {
			continue
		}
		if err := o.set(c, o.preset); err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", o.variable(), err))
		}
	}
	if (c.KafkaTLSCert == "") != (c.KafkaTLSKey == "") {
		faults = append(faults, errors.New("--kafka-tls-cert, --kafka-tls-key: give both or neither"))
	}
	faults = append(faults, c.MLLP.faults()...)
	faults = append(faults, append(c.channelFaults(), c.oidcFaults()...)...)
	if c.SecretsKey == "" && len(c.SecretsKeyOld) > 0 {
		faults = append(faults, errors.New("--secrets-key-old: needs --secrets-key"))
	}
	if c.KafkaSASL != "" && (c.KafkaUser == "" || c.KafkaPassword == "") {
		faults = append(faults, errors.New("--kafka-sasl: needs --kafka-sasl-user and --kafka-sasl-password"))
	}
	return faults
}

// optionValue makes an option a flag.
type optionValue struct {
	option *option
	config *Config
	text   string
}

// String implements [pflag.Value].
func (v *optionValue) String() string { return v.text }

// Set implements [pflag.Value].
func (v *optionValue) Set(text string) error {
	v.text = text
	return v.option.set(v.config, text)
}

// Type implements [pflag.Value].
func (v *optionValue) Type() string {
	if v.option.toggle() {
		return "bool"
	}
	return "value"
}

// neededBy reports whether a command with these needs has the option.
func (o *option) neededBy(needs Need) bool { return o.only == 0 || needs&o.only != 0 }

// toggle reports whether the option is true or false.
func (o *option) toggle() bool { return o.preset == "false" || o.preset == "true" }
