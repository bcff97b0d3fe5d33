// Package doctor finds what is wrong with the servers of an installation. It changes nothing on them.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"svc/internal/cli"
	"svc/internal/config"
	"svc/internal/kafkacli"
	"svc/internal/stream"
	"svc/internal/view"
	"svc/schemas"
)

// Result is the outcome of a check.
type Result string

// Results of checks. A warning does not change the exit code.
const (
	OK      Result = "ok"
	Warning Result = "warning"
	Fault   Result = "fault"
)

// Finding is the result of one check.
type Finding struct {
	Check   string `json:"check"` // kafka, topics, rights, schemas, keys, redis, clocks, certificates, traces or capacity
	Result  Result `json:"result"`
	Message string `json:"message"`
	Remedy  string `json:"remedy,omitempty"` // what to do, with the option or server concerned; "" if the result is OK
}

// Limits of the checks.
const (
	within        = 5 * time.Second // timeout for the requests to one server
	skewAtMost    = 2 * time.Second
	expiresWithin = 14 * 24 * time.Hour
	leastFree     = 0.1 // minimum free fraction of a disk
	mostMemory    = 0.9 // maximum used fraction of maxmemory
)

var errFaults = errors.New("the installation has faults")

// Command returns the command svc doctor.
func Command(w cli.Env) *cobra.Command {
	c := kafkacli.New(w, config.NeedTopics|config.NeedRedis|config.NeedProcess|config.NeedKeys)
	cmd := c.Cobra("doctor", "check the servers of an installation, and print remedies", func(ctx context.Context, _ []string) error {
		all := Examine(ctx, c)
		if err := show(c, all); err != nil {
			return err
		}
		if slices.ContainsFunc(all, func(f Finding) bool { return f.Result == Fault }) {
			return errFaults
		}
		return nil
	})
	cmd.Long = "Check servers, topics, rights, schemas, keys, clocks, certificates, the trace collector and capacity, with the options " +
		"of a role. Nothing is changed. The exit code is 1 if there is a fault."
	return cmd
}

func show(c *kafkacli.Command, all []Finding) error {
	if c.JSON {
		return cli.PrintItems(c.Stdout, all)
	}
	for _, f := range all {
		line := fmt.Sprintf("%-8s %s: %s", f.Result, f.Check, f.Message)
		if f.Remedy != "" {
			line += "; " + f.Remedy
		}
		if _, err := fmt.Fprintln(c.Stdout, line); err != nil {
			return err
		}
	}
	return nil
}

// examination collects findings.
type examination struct {
	*kafkacli.Command
	found []Finding
}

func (e *examination) ok(check, format string, args ...any) {
	e.found = append(e.found, Finding{check, OK, fmt.Sprintf(format, args...), ""})
}

func (e *examination) add(result Result, check, remedy, format string, args ...any) {
	e.found = append(e.found, Finding{check, result, oneLine(fmt.Sprintf(format, args...)), remedy})
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// Examine runs all checks.
func Examine(ctx context.Context, c *kafkacli.Command) []Finding {
	e := &examination{Command: c}
	e.checkCertificates()
	e.checkKafka(ctx)
	e.checkRedis(ctx)
	e.checkTraces(ctx)
	return e.found
}

// checkCertificates checks the certificates in the files that the options name.
func (e *examination) checkCertificates() {
	files := e.Config.Certificates()
	for _, option := range slices.Sorted(maps.Keys(files)) {
		expires, err := config.Expiry(files[option])
		if err != nil {
			e.add(Fault, "certificates", "correct --"+option, "--%s: %v", option, cli.WithoutPath(err))
			continue
		}
		e.expiry("--"+option, "replace the file in --"+option, expires)
	}
}

func (e *examination) expiry(whose, remedy string, expires time.Time) {
	left, day := expires.Sub(e.Now()), expires.UTC().Format(time.DateOnly)
	switch {
	case left <= 0:
		e.add(Fault, "certificates", remedy, "the certificate for %s expired on %s", whose, day)
	case left < expiresWithin:
		e.add(Warning, "certificates", remedy, "the certificate for %s expires on %s", whose, day)
	default:
		e.ok("certificates", "the certificate for %s is valid until %s", whose, day)
	}
}

// checkKafka checks the brokers and, if Kafka can be reached, the topics, schemas, keys and disks.
func (e *examination) checkKafka(ctx context.Context) {
	o := e.Config.Cluster(slog.New(slog.DiscardHandler))
	var reached []string
	for _, address := range e.Config.Kafka {
		limited, cancel := context.WithTimeout(ctx, within)
		expires, err := o.Reach(limited, address)
		cancel()
		if err != nil {
			e.add(Fault, "kafka", remedyOfConnection(err, "--kafka", "--kafka-tls, --kafka-tls-ca"), "%v", err)
			continue
		}
		reached = append(reached, address)
		if !expires.IsZero() {
			e.expiry("the broker "+address, "replace the certificate on the broker", expires)
		}
	}
	if len(reached) == 0 {
		return
	}
	limited, cancel := context.WithTimeout(ctx, 2*within)
	defer cancel()
	cluster, err := stream.Dial(limited, o)
	if err != nil {
		e.add(Fault, "kafka", "check --kafka-tls, --kafka-sasl, --kafka-sasl-user and --kafka-sasl-password",
			"connected, but Kafka does not answer requests: %v", err)
		return
	}
	defer cluster.Close()
	e.ok("kafka", "connected to %s", strings.Join(reached, ", "))
	present := e.checkTopics(limited, cluster)
	e.checkSchemas(ctx, cluster, present)
	e.checkKeys(ctx, cluster, present)
	disks, cancelDisks := context.WithTimeout(ctx, within)
	defer cancelDisks()
	switch broker, free, err := stream.FullestDisk(disks, cluster); {
	case err != nil && cluster.Embedded():
		e.ok("capacity", "the Kafka of svc dev does not report its disk usage")
	case err != nil:
		e.add(Warning, "capacity", "if the error is about authorization, grant Describe on the cluster to the user of svc "+
			"(docs/configuration.md#rights); if not, monitor the disks of the brokers separately",
			"the brokers do not report their disk usage, so SvcKafkaDiskFull cannot fire: %v", err)
	case free < leastFree:
		e.add(Fault, "capacity", "add disk space to this broker", "broker %d has %.0f%% of its disk free", broker, 100*free)
	default:
		e.ok("capacity", "broker %d has the fullest disk, with %.0f%% free", broker, 100*free)
	}
}

// checkTopics checks the topics, and the permissions of the Kafka user on them. It returns the existing topics that
// the Kafka user may read.
func (e *examination) checkTopics(ctx context.Context, cluster *stream.Cluster) (present []string) {
	if e.IsDev { // svc dev does not use --partitions
		if n, err := cluster.Partitions(ctx, e.Config.Topic(schemas.Verdicts())); err == nil {
			e.Config.Partitions = int(n)
		}
	}
	var groups []string
	for _, group := range []string{"svc-verdict", "svc-history", "svc-notifier"} {
		groups = append(groups, e.Config.TopicPrefix+group)
	}
	found, err := stream.Inspect(ctx, cluster, groups, e.Config.Topics(schemas.Topics()...)...)
	if err != nil {
		e.add(Fault, "topics", "repeat svc doctor when all brokers respond", "%v", err)
		return nil
	}
	for _, misfit := range found.Misfits {
		for line := range strings.SplitSeq(misfit.Error(), "\n") {
			e.add(Fault, "topics", remedyOfTopic(line), "%s", line)
		}
	}
	for _, name := range found.Missing {
		e.add(Warning, "topics", "start a role that may create topics, or create the topic (docs/configuration.md#topics)",
			"topic %s does not exist", name)
	}
	for _, right := range found.Denied {
		e.add(Fault, "rights", "grant the right to the user in --kafka-sasl-user (docs/configuration.md#rights)", "no right to %s", right)
	}
	for _, group := range found.DeniedGroups {
		e.add(Warning, "rights", "grant the right if this user runs the role that needs it (docs/configuration.md#rights)",
			"no right to Read on the group %s", group)
	}
	if len(found.Misfits)+len(found.Missing) == 0 {
		e.ok("topics", "all topics are correct; brokers: %d", found.Brokers)
	}
	if len(found.Denied) == 0 {
		e.ok("rights", "Read, Write, Describe and DescribeConfigs on the topics")
	}
	for _, t := range schemas.Topics() {
		name := e.Config.Topic(t)
		unreadable := func(right string) bool {
			return right == "Read on the topic "+name || right == "Describe on the topic "+name
		}
		if !slices.Contains(found.Missing, name) && !slices.ContainsFunc(found.Denied, unreadable) {
			present = append(present, name)
		}
	}
	return present
}

func remedyOfTopic(line string) string {
	switch {
	case strings.Contains(line, "partitions"):
		return "set --partitions to the number of partitions of the topic, which cannot be changed"
	case strings.Contains(line, "replication factor"):
		return "raise the replication factor with kafka-reassign-partitions.sh, or lower --replication-factor"
	}
	return "change this setting of the topic with kafka-configs.sh --alter --entity-type topics"
}

// tlsError matches the errors of TLS. It does not match a host name such as redis-tls.
var tlsError = regexp.MustCompile(`(^|\s)tls: |x509|TLS|certificate`)

// remedyOfConnection returns the remedy for a failed connection.
func remedyOfConnection(err error, address, security string) string {
	if tlsError.MatchString(err.Error()) {
		return "check " + security
	}
	return "check " + address + ", and the network to it"
}

// checkRedis checks Redis, its clock and its memory.
func (e *examination) checkRedis(ctx context.Context) {
	v, err := view.Open(view.Config{
		URL: e.Config.Redis, CAFile: e.Config.RedisCA, Prefix: e.Config.TopicPrefix + "svc:", Now: e.Now,
		Partition: func(string) int32 { return 0 }, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		e.add(Fault, "redis", "correct --redis and --redis-ca", "%v", cli.WithoutPath(err))
		return
	}
	defer v.Close() //nolint:errcheck // the process is about to exit
	limited, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	if err = v.Ping(limited); err != nil {
		e.add(Fault, "redis", remedyOfRedis(err), "%v", err)
		return
	}
	if _, err = v.Positions(limited, int32(max(e.Config.Partitions, 1)), ""); err != nil { //nolint:gosec // at most 10,000
		e.add(Fault, "redis", remedyOfRedis(err), "%v", err)
		return
	}
	e.ok("redis", "connected")
	skew, err := v.ClockSkew(limited)
	switch {
	case err != nil:
		e.add(Fault, "rights", "grant +time to the user in --redis (docs/configuration.md#rights)",
			"the Redis clock cannot be read: %v", err)
	case skew.Abs() > skewAtMost:
		e.add(Fault, "clocks", "synchronize the clocks of this machine and Redis (NTP)",
			"the Redis clock is %s ahead of this machine", skew.Round(time.Millisecond))
	default:
		e.ok("clocks", "the clocks of this machine and Redis agree within %s", skewAtMost)
	}
	m, err := v.Memory(limited)
	switch {
	case err == nil:
	case strings.Contains(err.Error(), "is not supported"): // embedded, so no user needs a permission
		e.ok("capacity", "the Redis of svc dev does not report its memory")
		return
	default:
		e.add(Warning, "rights", "grant +info to the user in --redis (docs/configuration.md#rights)",
			"Redis does not report its memory, or its identity after a failover: %v", err)
		return
	}
	if m.Policy != "" && m.Policy != "noeviction" {
		e.add(Fault, "redis", "set maxmemory-policy noeviction on Redis", "maxmemory-policy is %s, so parts of the view may disappear", m.Policy)
	}
	switch used := float64(m.Used) / float64(m.Limit); {
	case m.Limit == 0:
		e.ok("capacity", "Redis uses %d MiB; maxmemory is not set", m.Used>>20)
	case used > mostMemory:
		e.add(Fault, "capacity", "raise maxmemory in Redis", "Redis uses %.0f%% of maxmemory", 100*used)
	default:
		e.ok("capacity", "Redis uses %.0f%% of maxmemory", 100*used)
	}
}

func remedyOfRedis(err error) string {
	if strings.Contains(err.Error(), "Redis is a cluster") {
		return "add cluster=true to --redis (docs/configuration.md#redis-cluster)"
	}
	for _, word := range []string{"WRONGPASS", "NOAUTH", "NOPERM"} {
		if strings.Contains(err.Error(), word) {
			return "check the user and password in --redis, and the permissions of that user (docs/configuration.md#rights)"
		}
	}
	return remedyOfConnection(err, "--redis", "--redis (rediss://) and --redis-ca")
}
