package e2e

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
)

// networkFault returns a kind of fault that drops packets in the network namespace of a broker. match returns the
// conditions, given the addresses of the other brokers. A packet that meets any condition is dropped.
func (x *torture) networkFault(name, impossible string, match func(r *rand.Rand, peers []string) [][]string) *faultKind {
	return &faultKind{name: name, impossible: impossible, begin: func(r *rand.Rand) (string, time.Duration, undo) {
		b := x.servers.brokers[r.IntN(3)]
		var peers []string
		for _, other := range x.servers.brokers {
			if other != b {
				_, address, err := other.inspect()
				x.check(err)
				if address == "" {
					return "", 0, nil // another fault has stopped it, so its address is unknown
				}
				peers = append(peers, address)
			}
		}
		conditions := match(r, peers)
		hold := between(r, time.Second, 25*time.Second)
		release, free := x.targets.acquire(b.name())
		if !free {
			return "", 0, nil
		}
		for _, c := range conditions {
			x.check(b.inNetwork(append([]string{"iptables", "-w", "-A", "INPUT", "!", "-i", "lo"}, append(c, "-j", "DROP")...)...))
		}
		return fmt.Sprint(b.name(), " ", conditions), hold, func() error {
			defer release()
			return errors.Join(b.inNetwork("iptables", "-w", "-F", "INPUT"), b.run())
		}
	}}
}

// cut returns the conditions of a network partition. It cuts a broker off from the other brokers, which it recognizes
// by their addresses, from its clients, which it recognizes by the ports that they use, or from both.
func (x *torture) cut(r *rand.Rand, peers []string) (conditions [][]string) {
	switch r.IntN(3) {
	case 0:
		for _, address := range peers {
			conditions = append(conditions, []string{"-s", address})
		}
	case 1:
		for _, port := range []string{"9092", "9094"} {
			conditions = append(conditions, []string{"-p", "tcp", "--dport", port})
		}
	default:
		conditions = [][]string{{}}
	}
	return conditions
}

// expiredCertificate returns the fault that gives one or all brokers an expired certificate, and closes the roles'
// connections so that they encounter it.
func (x *torture) expiredCertificate(impossible string) *faultKind {
	return &faultKind{name: "expired certificate", impossible: impossible, begin: func(r *rand.Rand) (string, time.Duration, undo) {
		brokers := x.servers.brokers
		if n := r.IntN(4); n < 3 {
			brokers = brokers[n : n+1]
		}
		hold := between(r, time.Second, 15*time.Second)
		names := []string{"certificates"}
		for _, b := range brokers {
			names = append(names, b.name())
		}
		release, free := x.targets.acquire(names...)
		if !free {
			return "", 0, nil
		}
		renew := func() (err error) {
			defer release()
			for _, b := range brokers {
				x.servers.writeKeystore(x.t, b.keystore, time.Now().Add(24*time.Hour))
				err = errors.Join(err, until(3*time.Minute, func() error { return errors.Join(b.run(), x.servers.reload(b)) }))
			}
			return err
		}
		for _, b := range brokers {
			x.servers.writeKeystore(x.t, b.keystore, time.Now().Add(-time.Minute))
			if err := x.servers.reload(b); err != nil { // the broker does not respond
				x.check(renew())
				return "", 0, nil
			}
			reset := []string{"INPUT", "-p", "tcp", "--dport", "9094", "-j", "REJECT", "--reject-with", "tcp-reset"}
			x.check(b.inNetwork(append([]string{"iptables", "-w", "-A"}, reset...)...))
			<-time.After(500 * time.Millisecond)
			x.check(b.inNetwork(append([]string{"iptables", "-w", "-D"}, reset...)...))
		}
		return fmt.Sprint(names[1:]), hold, renew
	}}
}

// reload makes a broker reload its certificate.
func (s *tortureServers) reload(b *tortureBroker) error {
	path := "/certs/" + fmt.Sprintf("keystore-%d.pem", b.id)
	return s.admin(func(ctx context.Context, admin *kadm.Client) error {
		altered, err := admin.AlterBrokerConfigs(ctx, []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "listener.name.secure.ssl.keystore.location", Value: &path}}, b.id)
		for _, one := range altered {
			err = errors.Join(err, one.Err)
		}
		return err
	})
}

// redisFault returns a kind of fault that affects the primary Redis. Both Redis servers count as one target.
func (x *torture) redisFault(name string, least, most time.Duration, do func(primary, replica int) undo) *faultKind {
	return &faultKind{name: name, begin: func(r *rand.Rand) (string, time.Duration, undo) {
		hold := between(r, least, most)
		release, free := x.targets.acquire("redis")
		if !free {
			return "", 0, nil
		}
		primary, replica, err := x.servers.primary()
		if err != nil {
			release()
			return "", 0, nil // the Sentinels have not agreed on a primary yet
		}
		end := do(primary, replica)
		return x.servers.redis[primary].address, hold, func() error { defer release(); return end() }
	}}
}

// killRedis kills the primary, which restarts empty.
func (x *torture) killRedis(primary, _ int) undo {
	x.check(x.servers.redis[primary].killNow())
	return x.servers.redis[primary].run
}

// pauseRedis pauses the primary. If the Sentinels promote the replica in the meantime, there are briefly two primaries
// once the old primary resumes.
func (x *torture) pauseRedis(primary, _ int) undo {
	one := x.servers.redis[primary]
	x.check(one.freeze())
	return one.thaw
}

// failOver makes the replica lag for two seconds, and then kills the primary.
func (x *torture) failOver(primary, replica int) undo {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	// The replica cannot reconnect, because the primary refuses its password.
	err := x.servers.clients[replica].ConfigSet(ctx, "masterauth", "none").Err()
	x.check(errors.Join(err, x.servers.clients[primary].ClientKillByFilter(ctx, "TYPE", "replica").Err()))
	<-time.After(2 * time.Second)
	x.check(x.servers.redis[primary].killNow())
	return func() error {
		err := x.servers.redis[primary].run()
		return errors.Join(err, until(time.Minute, func() error {
			return x.servers.clients[replica].ConfigSet(context.Background(), "masterauth", "").Err()
		}))
	}
}
