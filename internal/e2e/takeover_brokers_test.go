package e2e

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ory/dockertest/v3"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// recommendedSettings returns the broker settings that docs/configuration.md recommends, as environment variables of the
// Kafka image.
func recommendedSettings(t *testing.T) (env []string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z.]+\\.ms)` \\| (\\d+) \\| \\d+ \\|").FindAllStringSubmatch(string(page), -1) {
		env = append(env, "KAFKA_"+strings.ToUpper(strings.ReplaceAll(row[1], ".", "_"))+"="+row[2])
	}
	if len(env) == 0 {
		t.Fatal("docs/configuration.md recommends no broker settings")
	}
	return env
}

// TestBrokerFailover measures, on three brokers with replication factor 3, how long hospitals wait for a verdict when a
// broker or its machine fails, a broker or a processor is paused, or all brokers are down. It runs if SVC_FAILOVER names
// the settings of the brokers: default or recommended.
func TestBrokerFailover(t *testing.T) {
	name := os.Getenv("SVC_FAILOVER")
	if name == "" {
		t.Skip("measures for minutes: SVC_FAILOVER=default or recommended")
	}
	var settings []string
	switch name {
	case "default":
	case "recommended":
		settings = recommendedSettings(t)
	default:
		t.Fatalf("SVC_FAILOVER is %q", name)
	}
	kafka, view := needServers(t)
	if kafka.pool == nil {
		t.Skip("needs Docker to start brokers of its own")
	}
	brokers := startThreeBrokers(t, kafka.pool, func(_ int, o *dockertest.RunOptions) {
		o.Env = append(append(o.Env, "KAFKA_HEAP_OPTS=-Xms256m -Xmx512m"), settings...)
	})
	var all []string
	for _, b := range brokers {
		eventually(t, 5*time.Minute, b.answers)
		all = append(all, b.address)
	}
	kill := func(i int) error { return errors.Join(brokers[i].killNow(), refuse("-A", brokers, i)) }
	restart := func(i int) error { return errors.Join(refuse("-D", brokers, i), brokers[i].run()) }
	for _, row := range []struct {
		name   string
		failed int32 // id of the broker that loses its partitions, or 0
		lasts  time.Duration
		begin  func(n *node) error
		end    func(n *node) error
	}{
		{"broker 1 killed", 1, 40 * time.Second, func(*node) error { return kill(0) }, func(*node) error { return restart(0) }},
		{"broker 2 killed", 2, 40 * time.Second, func(*node) error { return kill(1) }, func(*node) error { return restart(1) }},
		{"machine of broker 2 lost", 2, 40 * time.Second, func(*node) error { return brokers[1].killNow() }, func(*node) error { return brokers[1].run() }},
		{"broker 3 paused", 3, 25 * time.Second, func(*node) error { return brokers[2].freeze() }, func(*node) error { return brokers[2].thaw() }},
		{"processor paused", 0, 30 * time.Second, func(n *node) error { n.freeze(); return nil }, func(n *node) error { n.thaw(); return nil }},
		{
			"all brokers away", 0, 60 * time.Second,
			func(*node) error {
				return errors.Join(brokers[0].killNow(), brokers[1].killNow(), brokers[2].killNow())
			},
			func(*node) error { return errors.Join(brokers[0].run(), brokers[1].run(), brokers[2].run()) },
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := startSystemOn(t, &server{address: strings.Join(all, ",")}, view, nil, everyPartition()...)
			nodes := []*node{s.processor("p1"), s.processor("p2")}
			w := s.witness(t)
			l := feed(t, 60, s.partners...)
			l.awaitMore(t, 100)
			for _, n := range nodes {
				<-n.says(restored)
			}
			l.awaitMore(t, 100)
			calm := time.Now()
			must(t, row.begin(nodes[0]))
			begun, led := time.Now(), "no broker has to take over"
			if row.failed != 0 {
				others := slices.Delete(slices.Clone(all), int(row.failed)-1, int(row.failed))
				eventually(t, row.lasts, func() error { return s.ledByOthers(row.failed, others...) })
				led = fmt.Sprintf("other brokers took over after %.1f s", time.Since(begun).Seconds())
			}
			<-after(time.Until(begun.Add(row.lasts)))
			ended := time.Now()
			must(t, row.end(nodes[0]))
			eventually(t, 5*time.Minute, s.writable)
			at := time.Now()
			eventually(t, 3*time.Minute, func() error { return w.applied(at, s.partners) })
			again := time.Since(at)
			l.awaitMore(t, 100)
			s.verify(l.finish())
			t.Logf("%s for %v, %s settings: longest wait %.1f s; %s; every partition writable %.1f s after its end, all hospitals applied %.1f s after that; %s",
				row.name, row.lasts, name, w.longest(t, calm).Seconds(), led, at.Sub(ended).Seconds(), again.Seconds(), cmp.Or(loadAverage(), "load unknown"))
		})
	}
}

// refuse adds (-A) or deletes (-D) a rule that makes the other brokers' connections to a killed broker fail at once, as
// if its machine still ran. The address of a killed container does not respond at all.
func refuse(how string, brokers []*server, killed int) (err error) {
	for _, network := range brokers[killed].container.Container.NetworkSettings.Networks {
		for i, other := range brokers {
			if i != killed {
				err = errors.Join(err, other.inNetwork("iptables", "-w", how, "OUTPUT", "-d", network.IPAddress, "-p", "tcp", "-j", "REJECT", "--reject-with", "tcp-reset"))
			}
		}
	}
	return err
}

// writable returns an error unless each partition of the system's topics has a leader and two replicas in sync.
func (s *system) writable() error {
	return s.eachPartition(s.kafka.address, func(p kadm.PartitionDetail) bool { return p.Leader >= 0 && len(p.ISR) >= 2 })
}

// ledByOthers returns an error unless each partition of the system's topics has a leader other than the failed broker,
// whose addresses are not those given.
func (s *system) ledByOthers(failed int32, addresses ...string) error {
	return s.eachPartition(strings.Join(addresses, ","), func(p kadm.PartitionDetail) bool { return p.Leader >= 0 && p.Leader != failed })
}

// eachPartition asks the brokers at the addresses for the system's topics. It returns an error that names a partition for
// which ok returns false.
func (s *system) eachPartition(addresses string, ok func(kadm.PartitionDetail) bool) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(addresses, ",")...), kgo.AlwaysRetryEOF(), kgo.DialTimeout(time.Second))
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	topics, err := kadm.NewClient(client).ListTopics(ctx)
	if err != nil {
		return err
	}
	for _, topic := range topics {
		for _, p := range topic.Partitions {
			if strings.HasPrefix(topic.Topic, s.prefix) && !ok(p) {
				return fmt.Errorf("partition %d of %s: leader %d, in sync %v", p.Partition, topic.Topic, p.Leader, p.ISR)
			}
		}
	}
	return nil
}

// loadAverage returns the load average of the machine, or "" if the machine does not report it.
func loadAverage() string {
	content, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	return "load average " + strings.Fields(string(content))[0]
}
