package e2e

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// crossing is a TCP proxy with a fixed address, like that of a managed Redis. It forwards to one of several servers.
type crossing struct {
	listener net.Listener

	mu    sync.Mutex
	to    string // address of the current server; "": connections are closed
	conns []net.Conn
}

func startCrossing(t *testing.T, to string) *crossing {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &crossing{listener: listener, to: to}
	t.Cleanup(func() {
		listener.Close()
		c.lead("")
	})
	go func() {
		for {
			front, err := listener.Accept()
			if err != nil {
				return
			}
			c.join(front)
		}
	}()
	return c
}

func (c *crossing) join(front net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.to == "" {
		front.Close()
		return
	}
	back, err := net.Dial("tcp", c.to)
	if err != nil {
		front.Close()
		return
	}
	c.conns = append(c.conns, front, back)
	for _, way := range [][2]net.Conn{{front, back}, {back, front}} {
		go func() {
			io.Copy(way[1], way[0]) //nolint:errcheck // the copy ends when either connection is closed
			way[0].Close()
			way[1].Close()
		}()
	}
}

// lead closes all connections and forwards new ones to another server.
func (c *crossing) lead(to string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.to = to
	for _, conn := range c.conns {
		conn.Close()
	}
	c.conns = nil
}

// TestRedisFailsOver moves the address of Redis to a replica that lags. No reader may return the older state of the
// replica, not even a reader that has never seen a newer state: readers refuse requests until the state is current.
func TestRedisFailsOver(t *testing.T) {
	kafka, first := ownRedis(t)
	if first.container == nil {
		t.Skip("the server is not ours to replicate: run without E2E_KAFKA and E2E_REDIS")
	}
	replica, err := startRedis(first.pool)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(replica.purge)
	ctx := context.Background()
	control := redis.NewClient(&redis.Options{Addr: replica.address})
	t.Cleanup(func() { control.Close() })
	way := startCrossing(t, first.address)
	s := startSystemOn(t, kafka, &server{address: way.listener.Addr().String()}, nil, "north", "south", "east")
	s.processor("p1")
	listen, private := "127.0.0.1:"+mustFreePort(t), "127.0.0.1:"+mustFreePort(t)
	second := start(t, "second", []string{"run", "ingest,read", "--listen", listen, "--private-listen", private}, s.env...)
	second.await("http://" + private + "/readyz?exclude=view&exclude=forecast&exclude=lists")
	var readers []*partner // readers that have seen only the older state
	for _, p := range s.partners {
		p.accepted(t, "census", `{"totalRooms":9,"rooms":[{"roomId":1,"area":"L&D","status":"occupied","primaryFactor":"labor-standard"}]}`)
		p.accepted(t, "staffing", `{"nursesOnDuty":5,"callStaffAvailable":true}`)
		reader := newPartner("http://"+listen, p.hospital, p.key)
		reader.honored(t)
		readers = append(readers, reader)
	}
	container := first.container.Container.NetworkSettings.IPAddress
	if err := control.ReplicaOf(ctx, container, "6379").Err(); err != nil {
		t.Fatal(err)
	}
	for round := range 3 {
		eventually(t, time.Minute, func() error { // until the replica has all data
			info, err := control.Info(ctx, "replication").Result()
			if err == nil && !strings.Contains(info, "master_link_status:up") {
				err = fmt.Errorf("the replica follows nobody yet")
			}
			return err
		})
		for _, r := range readers {
			if a := r.readUnit(t); a.status != http.StatusOK {
				t.Fatal(a)
			}
		}
		// From here on, the replica lags.
		if err := control.ReplicaOf(ctx, "NO", "ONE").Err(); err != nil {
			t.Fatal(err)
		}
		nurses := 3 - round
		for _, p := range s.partners {
			p.accepted(t, "staffing", fmt.Sprintf(`{"nursesOnDuty":%d,"callStaffAvailable":true}`, nurses))
		}
		way.lead(replica.address)
		refused := 0
		for _, r := range readers {
			eventually(t, time.Minute, func() error {
				a := r.get(t, "/api/v1/unit-state")
				if a.status == http.StatusServiceUnavailable && a.header.Get("Retry-After") != "" {
					refused++
					return fmt.Errorf("still %v", a)
				}
				var unit struct{ NursesOnDuty int }
				if into(t, a.Data, &unit); a.status != http.StatusOK || unit.NursesOnDuty != nurses {
					t.Fatalf("round %d, %s: %d with %d nurses on duty, want %d", round, r.hospital, a.status, unit.NursesOnDuty, nurses)
				}
				return nil
			})
		}
		t.Logf("round %d: %d reads were refused", round, refused)
		way.lead(first.address) // forward back, because the first server's state is now outdated, too
		for _, r := range readers {
			r.readUnit(t)
		}
		if err := control.ReplicaOf(ctx, container, "6379").Err(); err != nil {
			t.Fatal(err)
		}
	}
	s.verify(nil)
}

// TestNewReaderWaitsForAProcessor: a reader that starts cannot know whether Redis has lost its newest data. The
// reader serves the view only after a processor has checked the view.
func TestNewReaderWaitsForAProcessor(t *testing.T) {
	needServers(t)
	t.Parallel()
	s := startSystem(t, "north")
	p1 := s.processor("p1")
	p := s.partners[0]
	p.accepted(t, "staffing", `{"nursesOnDuty":5,"callStaffAvailable":true}`)
	p.readUnit(t)
	p1.kill() // for five more seconds, a reader that has already read from this Redis still serves the state that p1 wrote
	listen, private := "127.0.0.1:"+mustFreePort(t), "127.0.0.1:"+mustFreePort(t)
	second := start(t, "second", []string{"run", "ingest,read", "--listen", listen, "--private-listen", private}, s.env...)
	second.await("http://" + private + "/readyz?exclude=view&exclude=forecast&exclude=lists")
	reader := newPartner("http://"+listen, p.hospital, p.key)
	reader.honored(t)
	if a := reader.get(t, "/api/v1/unit-state"); a.status != http.StatusServiceUnavailable || a.header.Get("Retry-After") == "" {
		t.Errorf("before a processor has checked Redis: %v", a)
	}
	s.processor("p1")
	eventually(t, time.Minute, func() error {
		if a := reader.get(t, "/api/v1/unit-state"); a.status != http.StatusOK {
			return fmt.Errorf("with a processor: %v", a)
		}
		return nil
	})
}
