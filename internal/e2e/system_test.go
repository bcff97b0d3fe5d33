package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	redisserver "github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"svc/acuity"
	"svc/acuity/hospital/hospitaltest"
	"svc/internal/analysis/verify"
	"svc/internal/stream"
	"svc/processors/verdict"
	"svc/readapi"
	"svc/schemas"
)

// system runs the roles of svc on real or embedded servers (Kafka and Redis), with a unique topic prefix.
type system struct {
	t            testing.TB
	prefix       string
	env          []string
	program      string // path of an earlier build of svc; "" for this build
	kafka, redis *server
	front        *node // svc run ingest,read
	base         string
	private      string // the private address of the front
	partners     []*partner
}

const partitions = 6

var systems atomic.Int64

// startSystem creates the hospitals and a key for each, and starts the HTTP server.
func startSystem(t testing.TB, hospitals ...string) *system {
	t.Helper()
	return startSystemWith(t, nil, hospitals...)
}

// startSystemWith is like startSystem, with additional environment variables for all processes.
func startSystemWith(t testing.TB, env []string, hospitals ...string) *system {
	t.Helper()
	kafka, redis := needServers(t)
	return startSystemOn(t, kafka, redis, env, hospitals...)
}

// startEmbedded is like startSystem, but uses an embedded Kafka and an embedded Redis. If refuse returns a text for a
// command, Redis refuses the command with this text as the error.
func startEmbedded(t testing.TB, refuse func(command string) string, hospitals ...string) *system {
	t.Helper()
	kafka, redis := embedServers(t, func(command string, _ []string) string { return refuse(command) })
	return startSystemOn(t, kafka, redis, nil, hospitals...)
}

// embedServers starts an embedded Kafka and Redis. If refuse returns a text for a command, Redis refuses the command
// with this text as the error.
func embedServers(t testing.TB, refuse func(command string, args []string) string) (kafka, redis *server) {
	t.Helper()
	broker, err := stream.Embed(stream.BrokerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(broker.Close)
	view := miniredis.NewMiniRedis()
	if err := view.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(view.Close)
	view.Server().SetPreHook(func(p *redisserver.Peer, command string, args ...string) bool {
		why := refuse(command, args)
		if why != "" {
			p.WriteError(why)
		}
		return why != ""
	})
	return &server{address: broker.Addr()}, &server{address: view.Addr()}
}

func startSystemOn(t testing.TB, kafka, redis *server, env []string, hospitals ...string) *system {
	t.Helper()
	return startSystemOf(t, "", kafka, redis, env, hospitals...)
}

// startSystemOf is like startSystemOn, but runs an earlier build of svc.
func startSystemOf(t testing.TB, program string, kafka, redis *server, env []string, hospitals ...string) *system {
	t.Helper()
	s := &system{t: t, program: program, kafka: kafka, redis: redis, prefix: fmt.Sprintf("t%d-%d.", time.Now().Unix(), systems.Add(1))}
	s.env = []string{
		"SVC_KAFKA=" + kafka.address, "SVC_REDIS=redis://" + redis.address + "/0", "SVC_TOPIC_PREFIX=" + s.prefix,
		"SVC_PARTITIONS=" + strconv.Itoa(partitions), "SVC_COMMIT_EVERY=0",
		"SVC_PSEUDONYM_KEY=0123456789abcdef0123456789abcdef", "SVC_LOG_LEVEL=debug",
	}
	s.env = append(s.env, env...)
	s.startFront("front")
	for _, hospital := range hospitals {
		s.cli("hospitals", "create", "--id", hospital, "--name", "Test "+hospital, "--timezone", "America/Chicago")
		key := s.cli("keys", "mint", "--hospital", hospital, "--name", "test", "--scopes", "all", "--rate", "0")
		s.partners = append(s.partners, newPartner(s.base, hospital, key))
	}
	for _, p := range s.partners {
		p.honored(t)
	}
	return s
}

// startFront starts the HTTP server. New partners use its address.
func (s *system) startFront(name string) {
	s.t.Helper()
	listen, private := "127.0.0.1:"+mustFreePort(s.t), "127.0.0.1:"+mustFreePort(s.t)
	s.base, s.private = "http://"+listen, "http://"+private
	s.front = s.start(name, "run", "ingest,read", "--listen", listen, "--private-listen", private)
	s.front.await(s.private + "/readyz?exclude=view&exclude=forecast&exclude=lists")
}

// start starts a svc process with the environment of the system.
func (s *system) start(name string, args ...string) *node {
	s.t.Helper()
	return startProgram(s.t, name, s.svc(), args, s.env...)
}

// cli runs an svc command to completion and returns its output.
func (s *system) cli(args ...string) string {
	s.t.Helper()
	return runProgram(s.t, s.svc(), s.env, args...)
}

func (s *system) svc() string {
	s.t.Helper()
	if s.program == "" {
		return binary(s.t)
	}
	return s.program
}

// processor starts a svc process with an instance name.
func (s *system) processor(instance string) *node {
	s.t.Helper()
	return s.start(instance, "process", "--instance", instance, "--private-listen", "127.0.0.1:"+mustFreePort(s.t))
}

// verify expects every acknowledged input in the log and in exactly one change, and no gap in the versions. The
// served verdict must equal, byte for byte, the verdict that the reference implementation derives from the log.
func (s *system) verify(acked []acknowledged) {
	s.t.Helper()
	log := readSettled(s.t, s.partners, s.kafka.address, s.prefix)
	log.check(s.t, acked)
	for _, p := range s.partners {
		log.refold(s.t, p)
	}
}

// waitUntilSettled waits until no timer of the test is pending and the view is complete.
func waitUntilSettled(t testing.TB, partners []*partner) {
	t.Helper()
	for _, p := range partners {
		eventually(t, 90*time.Second, func() error {
			a, err := p.do(http.MethodGet, "/api/v1/unit-state", "", "")
			if err != nil {
				return err
			}
			if a.status != http.StatusOK {
				return fmt.Errorf("%s: %d %s", p.hospital, a.status, a.raw)
			}
			var u struct{ NextChangeAt *time.Time }
			if err := json.Unmarshal(a.Data, &u); err != nil {
				return err
			}
			if u.NextChangeAt != nil && time.Until(*u.NextChangeAt) < 10*time.Second {
				return fmt.Errorf("%s: something is due at %v", p.hospital, u.NextChangeAt)
			}
			return nil
		})
	}
}

// refold compares the served view and the log with the result of the reference implementation.
func (l *systemLog) refold(t testing.TB, p *partner) {
	t.Helper()
	changes := l.changes[p.hospital]
	if len(changes) == 0 {
		t.Errorf("%s: no change in the log", p.hospital)
		return
	}
	last := changes[len(changes)-1]
	var a *answer
	eventually(t, 20*time.Second, func() error { // the view follows the log with a delay
		a = p.get(t, "/api/v1/unit-state")
		var u struct{ Version int64 }
		if a.status != http.StatusOK {
			return fmt.Errorf("%s: %d %s", p.hospital, a.status, a.raw)
		}
		if err := json.Unmarshal(a.Data, &u); err != nil {
			return err
		}
		if u.Version < last.Version {
			return fmt.Errorf("%s: version %d is served, %d is in the log", p.hospital, u.Version, last.Version)
		}
		return nil
	})
	at, err := time.Parse(time.RFC3339, a.Meta.GeneratedAt)
	if err != nil {
		t.Fatal(err)
	}
	want := hospitaltest.Fold(l.inputs(p.hospital), acuity.At(at))
	for i, c := range changes {
		if i >= len(want.Changes) {
			t.Errorf("%s: the log has %d changes, the reference %d", p.hospital, len(changes), len(want.Changes))
			break
		}
		got, ref := c.Change, want.Changes[i]
		if ref.Warnings = verify.WarningsAsRecorded(ref.Warnings, got.Warnings); !sameChange(got, ref) {
			t.Errorf("%s: change %d\n got %+v\nwant %+v", p.hospital, i, got, ref)
			break
		}
	}
	l.refoldSnapshots(t, p.hospital, want.Changes[:min(len(changes), len(want.Changes))])
	data := readapi.UnitState(&want.Verdict)
	if string(data) != string(a.Data) {
		t.Errorf("%s: served and refolded differ\nserved   %s\nrefolded %s", p.hospital, a.Data, data)
	}
}

// refoldSnapshots compares the snapshots of a hospital with those of the reference implementation: each must be
// stored once, in the order of the changes.
func (l *systemLog) refoldSnapshots(t testing.TB, hospitalID string, changes []acuity.Change) {
	t.Helper()
	n := 0
	for i := range changes {
		want := changes[i].Snapshot
		if want == nil {
			continue
		}
		if n == len(l.snapshots[hospitalID]) {
			t.Errorf("%s: the topic has %d snapshots, the reference more", hospitalID, n)
			return
		}
		got := l.snapshots[hospitalID][n]
		ref := *want
		got.Position, ref.Position = 0, 0 // the reference has no offsets
		if fmt.Sprint(got) != fmt.Sprint(ref) {
			t.Errorf("%s: snapshot %d is\n%+v, refolded\n%+v", hospitalID, n, got, ref)
			return
		}
		n++
	}
}

// sameChange reports whether a decoded change equals a change that was never encoded. A nil slice equals an empty one,
// because decoding does not distinguish them.
func sameChange(a, b acuity.Change) bool {
	encode := func(c acuity.Change) []byte {
		c.Hospital, c.Offset = "", 0 // the reference has no offsets
		c.Snapshot = nil             // snapshots have a separate topic
		value, err := schemas.ChangeCodec.Encode(nil, &c)
		if err != nil {
			return []byte(err.Error())
		}
		return value
	}
	return reflect.DeepEqual(encode(a), encode(b))
}

// redisClient returns a client of the system's Redis.
func (s *system) redisClient() *redis.Client {
	client := redis.NewClient(&redis.Options{Addr: s.redis.address, MaxRetries: -1})
	s.t.Cleanup(func() { client.Close() })
	return client
}

// behind returns the number of partitions with committed input that the view does not show yet.
func (s *system) behind() (n int) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	client, err := kgo.NewClient(kgo.SeedBrokers(s.kafka.address), kgo.AlwaysRetryEOF())
	if err != nil {
		s.t.Fatal(err)
	}
	defer client.Close()
	committed, err := kadm.NewClient(client).FetchOffsets(ctx, s.prefix+verdict.Group)
	if err != nil {
		s.t.Fatal(err)
	}
	view := s.redisClient()
	for partition := range int32(partitions) {
		at, ok := committed.Lookup(s.prefix+schemas.Observations().Name, partition)
		if !ok {
			continue
		}
		shown, err := view.HGet(ctx, fmt.Sprintf("%ssvc:{%d}whole", s.prefix, partition), "p").Int64()
		if err != nil && !errors.Is(err, redis.Nil) {
			s.t.Fatal(err)
		}
		if errors.Is(err, redis.Nil) {
			shown = -1
		}
		if shown < at.At-1 {
			n++
		}
	}
	return n
}
