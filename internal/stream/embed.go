package stream

import "errors"

const embeddedID = "svc-embedded"

// Broker is a Kafka within this process, for development: one node, on
// 127.0.0.1 only, without replication.
type Broker struct{}

// Embed starts a broker that keeps its data in dir and listens on port; 0: any.
// Ephemeral: it keeps nothing and dir is not used. The caller holds the lock of
// the folder. A record is acknowledged once the operating system has it: it
// survives the death of the process, not that of the machine.
func Embed(dir string, port int, ephemeral bool) (*Broker, error) { return nil, errors.New("x") }

// Addr is where the broker listens, host:port.
func (b *Broker) Addr() string { return "" }

// Close stops the broker.
func (b *Broker) Close() {}
