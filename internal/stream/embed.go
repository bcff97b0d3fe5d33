package stream

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kfake"
)

// embeddedID is the cluster id by which a client knows an embedded broker.
const embeddedID = "svc-embedded"

// Broker is a Kafka within this process, for development: one node, on
// 127.0.0.1 only, without replication.
type Broker struct {
	cluster *kfake.Cluster
}

// Embed starts a broker that keeps its data in dir and listens on port; 0: any.
// Ephemeral: it keeps nothing and dir is not used. The caller holds the lock of
// the folder. A record is acknowledged once the operating system has it: it
// survives the death of the process, not that of the machine.
func Embed(dir string, port int, ephemeral bool) (*Broker, error) {
	opts := []kfake.Opt{kfake.ClusterID(embeddedID), kfake.Ports(port)}
	if !ephemeral {
		opts = append(opts, kfake.DataDir(dir))
	}
	cluster, err := kfake.NewCluster(opts...)
	if err != nil {
		return nil, fmt.Errorf("start broker: %w", err)
	}
	return &Broker{cluster: cluster}, nil
}

// Addr is where the broker listens, host:port.
func (b *Broker) Addr() string { return b.cluster.ListenAddrs()[0] }

// Close stops the broker.
func (b *Broker) Close() { b.cluster.Close() }
