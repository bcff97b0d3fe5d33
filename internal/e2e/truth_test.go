package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// truth is a system in which faults occur. Reads must be refused within five seconds of a fault, and never
// unnecessarily.
type truth struct {
	*system
	processor *node
	private   string              // private address of the processor
	admins    map[string]*partner // by hospital
	sent      int                 // number of staffing updates
}

// truthWithin is the maximum time from a fault until reads are refused: the five seconds that
// docs/feeds.md#checking-the-feeds promises, plus the error in comparing two clocks over a round trip.
const truthWithin = 5*time.Second + 200*time.Millisecond

func startTruth(t *testing.T, s *system) *truth {
	t.Helper()
	x := &truth{system: s, admins: map[string]*partner{}}
	x.processor, x.private = s.measured("p1")
	for _, p := range s.partners {
		key := cli(t, s.env, "keys", "mint", "--hospital", p.hospital, "--name", "admin", "--scopes", "admin", "--rate", "0")
		x.admins[p.hospital] = newPartner(s.base, p.hospital, key)
		x.admins[p.hospital].honored(t)
	}
	x.staff(t)
	x.awaitReadable(t)
	return x
}

// awaitReadable waits until every hospital can be read, and until the reader and the processor are ready. The reader
// must then report the view as healthy.
func (x *truth) awaitReadable(t *testing.T) {
	t.Helper()
	for _, p := range x.partners {
		eventually(t, time.Minute, func() error {
			a, err := p.do(http.MethodGet, "/api/v1/unit-state", "", "")
			if err == nil && a.status != http.StatusOK {
				err = fmt.Errorf("%s: %d %s", p.hospital, a.status, a.raw)
			}
			return err
		})
	}
	for _, private := range []string{x.system.private, x.private} {
		eventually(t, 20*time.Second, func() error { return ready(private + "/readyz?exclude=lists") })
	}
	eventually(t, 20*time.Second, func() error {
		if got := healthy(t, x.system.private); got["view"] != "1" {
			return fmt.Errorf("svc_healthy of the reader: %v", got)
		}
		return nil
	})
}

// metrics returns the metrics of the process with a private address.
func metrics(t *testing.T, private string) string {
	t.Helper()
	answer, err := http.Get(private + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	page, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

// healthy returns the values of svc_healthy by check.
func healthy(t *testing.T, private string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for line := range strings.Lines(metrics(t, private)) {
		if check, value, ok := strings.Cut(strings.TrimPrefix(line, `svc_healthy{check="`), `"} `); ok && check != line {
			all[check] = strings.TrimSpace(value)
		}
	}
	return all
}

// expectRefusals repeatedly reads the level, the unit, the forecast and the settings of each hospital after the
// fault. At the latest once truthWithin has passed, each read must be refused with the documented message, because
// processing is behind or, except the level, because Redis is full. expectRefusals returns once all reads were refused
// for a second.
func (x *truth) expectRefusals(t *testing.T, fault stopwatch, full bool, partners ...*partner) {
	t.Helper()
	var all sync.WaitGroup
	for _, p := range partners {
		for _, path := range []string{"/api/v1/level", "/api/v1/unit-state", "/api/v1/predict", "/api/admin/settings"} {
			all.Go(func() {
				tag, since := "", time.Time{}
				for {
					reader := p
					if strings.HasPrefix(path, "/api/admin/") {
						reader = x.admins[p.hospital]
					}
					asked, sinceFault, watch := time.Now(), fault.elapsed(), startWatch()
					a, err := reader.do(http.MethodGet, path, "", "", "If-None-Match", tag)
					if err != nil {
						t.Errorf("%s: %v", path, err)
						return
					}
					if watch.sawStall() {
						continue // Redis stalled, too, and counts as unavailable
					}
					late := sinceFault > truthWithin
					switch {
					case a.status == http.StatusServiceUnavailable:
						expected := a.refusedBy("processing_behind") || full && a.refusedBy("view_away") && path != "/api/v1/level"
						// On a busy machine, Redis may respond too late for a moment.
						if !expected && (!a.refusedBy("view_away") || sinceFault > time.Minute) {
							t.Errorf("%s is refused: %v %s", path, a.header, a.raw)
							return
						}
						if expected && since.IsZero() {
							since = asked
						}
						if expected && time.Since(since) > time.Second {
							return
						}
					case late || !since.IsZero():
						t.Errorf("%s of %s says %d, %v after the fault: %s", path, p.hospital, a.status, sinceFault, a.raw)
						return
					default:
						tag = a.header.Get("Etag")
					}
					<-time.After(5 * time.Millisecond)
				}
			})
		}
	}
	all.Wait()
}

// expectNotReady expects that the reader is not ready because of the view.
func (x *truth) expectNotReady(t *testing.T) {
	t.Helper()
	if err := ready(x.system.private + "/readyz"); err == nil || !strings.Contains(err.Error(), "view: ") {
		t.Errorf("the reader is ready: %v", err)
	}
	if err := ready(x.system.private + "/readyz?exclude=view&exclude=forecast&exclude=lists"); err != nil {
		t.Errorf("beside the view: %v", err)
	}
	if got := healthy(t, x.system.private); got["view"] != "0" {
		t.Errorf("svc_healthy of the reader: %v", got)
	}
	select {
	case <-x.front.says(`"not healthy","check":"view"`):
	case <-after(10 * time.Second):
		t.Error("the log of the reader says nothing")
	}
	for _, p := range x.partners {
		if s := p.feedsStatus(t); !slices.Contains(s.Reasons, "processing_behind") || s.UnitState.Recorded {
			t.Errorf("the status of %s is %+v", p.hospital, s)
		}
	}
}

// faults freezes, stops and kills the processor, and expects reads to be refused until the processor runs again.
func (x *truth) faults(t *testing.T) {
	for _, f := range []struct {
		name       string
		make, mend func()
	}{
		{"the processor stands still", x.freeze, x.processorThaws},
		{"the processor stops", func() { x.processor.stop() }, x.processorStarts},
		{"the processor dies", func() { x.processor.kill() }, x.processorStarts},
	} {
		ok := t.Run(f.name, func(t *testing.T) {
			f.make()
			fault := startWatch()
			x.expectRefusals(t, fault, false, x.partners...)
			x.expectNotReady(t)
			x.staff(t)
			f.mend()
			x.expectStaffing(t)
			x.awaitReadable(t)
		})
		if !ok {
			return
		}
	}
}

func (x *truth) freeze()          { x.processor.freeze() }
func (x *truth) processorThaws()  { x.processor.thaw() }
func (x *truth) processorStarts() { x.processor, x.private = x.measured("p1") }

// staff sends a new number of nurses to every hospital.
func (x *truth) staff(t *testing.T) {
	t.Helper()
	x.sent++
	var all sync.WaitGroup
	for _, p := range x.partners { // in parallel, because each write waits two seconds if no processor runs
		all.Go(func() {
			a, err := p.do(http.MethodPost, "/api/ingest/staffing", "application/json", fmt.Sprintf(`{"nursesOnDuty":%d}`, x.sent))
			if err != nil || a.status != http.StatusOK {
				t.Errorf("%v %+v", err, a)
			}
		})
	}
	all.Wait()
}

// expectStaffing expects that the first successful read of each hospital returns the number of nurses that was sent
// last.
func (x *truth) expectStaffing(t *testing.T) {
	t.Helper()
	for _, p := range x.partners {
		eventually(t, time.Minute, func() error {
			a, err := p.do(http.MethodGet, "/api/v1/unit-state", "", "")
			if err != nil || a.status != http.StatusOK {
				return fmt.Errorf("%w %+v", err, a)
			}
			var u struct{ NursesOnDuty int }
			if err := json.Unmarshal(a.Data, &u); err != nil {
				return err
			}
			if u.NursesOnDuty != x.sent {
				t.Errorf("%s: %d nurses are told, %d were sent", p.hospital, u.NursesOnDuty, x.sent)
			}
			return nil
		})
	}
}

// refusing makes Redis refuse writes, and expects reads to be refused until allow is called. The processor must
// report the view as unhealthy, and give the expected reason.
func (x *truth) refusing(t *testing.T, refuse, allow func(), says string) {
	t.Helper()
	refuse()
	fault := startWatch()
	x.staff(t)
	x.expectRefusals(t, fault, true, x.partners...)
	x.expectNotReady(t)
	eventually(t, 20*time.Second, func() error {
		if err := ready(x.private + "/readyz"); err == nil || !strings.Contains(err.Error(), "view: ") || !strings.Contains(err.Error(), says) {
			return fmt.Errorf("the processor is ready: %w", err)
		}
		if got := healthy(t, x.private); got["view"] != "0" || got["processing"] != "1" {
			return fmt.Errorf("svc_healthy of the processor: %v", got)
		}
		return nil
	})
	select {
	case <-x.processor.says("view not written"):
	case <-after(10 * time.Second):
		t.Error("the log of the processor says nothing")
	}
	allow()
	x.expectStaffing(t)
	x.awaitReadable(t)
}

// TestOnlyTheTruthIsRead makes Redis refuse writes, and then freezes, stops and kills the processor, all on embedded
// servers. Reads must be refused during each of these faults, and must return the current state afterwards.
func TestOnlyTheTruthIsRead(t *testing.T) {
	onlyInE2E(t)
	t.Parallel()
	var readOnly atomic.Bool
	s := startEmbedded(t, func(command string) string {
		if readOnly.Load() && slices.Contains([]string{"EVALSHA", "HSET", "DEL", "SADD", "ZADD", "PEXPIRE"}, command) {
			return "READONLY You can't write against a read only replica."
		}
		return ""
	}, "north", "south")
	if err := ready(s.private + "/readyz"); err == nil || !strings.Contains(err.Error(), "view: ") {
		t.Errorf("before there is a processor the reader is ready: %v", err)
	}
	x := startTruth(t, s)
	t.Run("Redis refuses to write", func(t *testing.T) {
		x.refusing(t, func() { readOnly.Store(true) }, func() { readOnly.Store(false) }, "READONLY")
	})
	x.faults(t)
}

// TestOnlyTheTruthIsReadOnServers repeats TestOnlyTheTruthIsRead on real servers. Redis refuses writes because it is
// full, and later because it is a replica. The test also pauses Kafka.
func TestOnlyTheTruthIsReadOnServers(t *testing.T) {
	kafka, redis := ownServers(t)
	x := startTruth(t, startSystemOn(t, kafka, redis, nil, "north", "south"))
	client := x.redisClient()
	ctx := context.Background()
	command := func(args ...any) func() {
		return func() {
			if err := client.Do(ctx, args...).Err(); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Run("Redis is full", func(t *testing.T) {
		defer command("CONFIG", "SET", "maxmemory", "0")()
		x.refusing(t, command("CONFIG", "SET", "maxmemory", "1"), command("CONFIG", "SET", "maxmemory", "0"), "OOM")
	})
	t.Run("Redis becomes a replica", func(t *testing.T) {
		defer command("REPLICAOF", "NO", "ONE")()
		x.refusing(t, command("REPLICAOF", "127.0.0.1", "1"), command("REPLICAOF", "NO", "ONE"), "READONLY")
	})
	t.Run("Kafka stands still", func(t *testing.T) {
		x.kafka.pause(t)
		thaw := sync.OnceFunc(func() { x.kafka.unpause(t) })
		defer thaw()
		x.expectRefusals(t, startWatch(), false, x.partners...)
		if err := ready(x.private + "/readyz"); err == nil || !strings.Contains(err.Error(), "processing: ") {
			t.Errorf("the processor is ready: %v", err)
		}
		thaw()
		x.awaitReadable(t)
	})
	x.faults(t)
}

// TestPartitionsOfOneProcessor freezes one of two processors. Reads of the frozen processor's hospitals must be
// refused until the other processor takes over its partitions. Until then, reads of the other processor's hospitals
// must be answered.
func TestPartitionsOfOneProcessor(t *testing.T) {
	hospitals := []string{"north", "south", "east", "west", "hill", "lake", "bay", "vale"}
	x := startTruth(t, startSystem(t, hospitals...))
	other, private := x.measured("p2")
	owned := func(private string) string {
		answer, err := http.Get(private + "/metrics")
		if err != nil {
			return err.Error()
		}
		defer answer.Body.Close()
		page, err := io.ReadAll(answer.Body)
		_, rest, _ := strings.Cut(string(page), "\nsvc_process_partitions ")
		n, _, _ := strings.Cut(rest, "\n")
		return fmt.Sprint(n, err)
	}
	eventually(t, time.Minute, func() error {
		if a, b := owned(x.private), owned(private); a != "3<nil>" || b != "3<nil>" {
			return fmt.Errorf("one has %s partitions, the other %s", a, b)
		}
		return nil
	})
	x.awaitReadable(t)
	x.processor.freeze()
	eventually(t, 8*time.Second, func() error { // must fail before the group detects the loss of the processor, which takes ten seconds
		if err := ready(x.system.private + "/readyz"); err == nil || !strings.Contains(err.Error(), "view: 3 of 6 partitions; partition ") {
			return fmt.Errorf("the reader is ready: %w", err)
		}
		return nil
	})
	var without, with []*partner
	for _, p := range x.partners {
		if a := p.get(t, "/api/v1/level"); a.status == http.StatusOK {
			with = append(with, p)
		} else {
			without = append(without, p)
		}
	}
	if len(with) == 0 || len(without) == 0 {
		t.Fatalf("%d hospitals are read, %d are not", len(with), len(without))
	}
	eventually(t, time.Minute, func() error { // until the other processor takes over
		for _, p := range with {
			if a := p.get(t, "/api/v1/level"); a.status != http.StatusOK && owned(private) == "3<nil>" {
				t.Fatalf("%s is the other's, and is told %d", p.hospital, a.status)
			}
		}
		for _, p := range without {
			if a := p.get(t, "/api/v1/level"); a.status != http.StatusOK {
				return fmt.Errorf("%s: %d", p.hospital, a.status)
			}
		}
		return nil
	})
	other.stop()
}
