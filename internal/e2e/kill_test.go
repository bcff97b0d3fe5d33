package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
	"time"

	"svc/notifier/event"
)

// awaitMore waits until the load has n more acknowledgments.
func (l *load) awaitMore(t *testing.T, n int) {
	t.Helper()
	want := l.count() + n
	eventually(t, 2*time.Minute, func() error {
		if got := l.count(); got < want {
			return fmt.Errorf("%d of %d acknowledged", got, want)
		}
		return nil
	})
}

const (
	restoring = "restoring partitions" // logged when a restore begins
	restored  = "partitions restored"  // logged when a restore is complete
)

// TestKillProcessor kills the processor at least 25 times under load: at any moment, during a
// restore, and between a commit and the update of the view.
func TestKillProcessor(t *testing.T) {
	kafka, redis := ownRedis(t)
	s := startSystemOn(t, kafka, redis, nil, "north", "south", "west")
	p := s.processor("p1")
	l := feed(t, 180, s.partners...)
	view := s.redisClient()
	kills, inRestore, beforeView := 0, 0, 0
	for kills < 25 || inRestore < 5 || beforeView < 5 {
		if kills > 60 {
			t.Fatalf("after %d kills only %d in a restore and %d before the view", kills, inRestore, beforeView)
		}
		switch kills % 3 {
		case 0:
			l.awaitMore(t, 40)
			p.kill()
		case 1: // during the restore of the process that was started after the previous kill
			select {
			case <-p.says(restoring):
			case <-after(30 * time.Second):
				t.Fatalf("no restore begins:\n%s", tail(p.logged(), 20))
			}
			p.kill()
			select {
			case <-p.says(restored):
			default:
				inRestore++
			}
		case 2: // while Redis refuses writes, so that committed changes do not reach the view
			l.awaitMore(t, 40)
			if err := view.Do(context.Background(), "CLIENT", "PAUSE", "3000", "WRITE").Err(); err != nil {
				t.Fatal(err)
			}
			l.awaitMore(t, 10)
			p.kill()
			if s.behind() > 0 {
				beforeView++
			}
			if err := view.Do(context.Background(), "CLIENT", "UNPAUSE").Err(); err != nil {
				t.Fatal(err)
			}
		}
		kills++
		p = s.processor("p1")
	}
	l.awaitMore(t, 100)
	acked := l.finish()
	t.Logf("%d kills, %d in a restore, %d between commit and view", kills, inRestore, beforeView)
	s.verify(acked)
}

// TestTwoProcessors: two instances take over each other's partitions after one of them is killed, stopped properly, or
// frozen for longer than its session.
func TestTwoProcessors(t *testing.T) {
	t.Parallel()
	s := startSystem(t, "north", "south", "west", "east")
	nodes := []*node{s.processor("p1"), s.processor("p2")}
	l := feed(t, 150, s.partners...)
	for round := range 6 {
		l.awaitMore(t, 60)
		i := round % 2
		switch round % 3 {
		case 0:
			nodes[i].kill()
			l.awaitMore(t, 60)
			nodes[i] = s.processor(nodes[i].name)
		case 1:
			nodes[i].stop()
			l.awaitMore(t, 60)
			nodes[i] = s.processor(nodes[i].name)
		case 2: // frozen: the other instance takes over, and this one must not write when it resumes
			nodes[i].freeze()
			eventually(t, 40*time.Second, func() error {
				if s.behind() > 0 {
					return fmt.Errorf("the other instance has not taken over")
				}
				return nil
			})
			l.awaitMore(t, 100)
			nodes[i].thaw()
		}
	}
	l.awaitMore(t, 60)
	s.verify(l.finish())
}

// TestKillDev kills svc dev 10 times (or SVC_KILLS), sometimes during its restore, while three writers send without a
// pause. Afterwards, the log must contain each acknowledged input and exactly one change for each
// input, and svc verify must succeed. An export must contain each change once, and the webhook must have received all
// events in order.
func TestKillDev(t *testing.T) {
	onlyInE2E(t)
	t.Parallel()
	dir := t.TempDir()
	kills, _ := howOften(t, "SVC_KILLS", killsOfDev)
	d := startDev(t, dir)
	port := d.BaseURL[len("http://"):]
	partners := []*partner{newPartner(d.BaseURL, d.HospitalID, d.APIKey)}
	for _, hospital := range []string{"south", "west"} {
		cli(t, nil, "hospitals", "create", "--data", dir, "--id", hospital, "--name", hospital, "--timezone", "Europe/Zurich")
		key := cli(t, nil, "keys", "mint", "--data", dir, "--hospital", hospital, "--name", "test", "--scopes", "all", "--rate", "0")
		partners = append(partners, newPartner(d.BaseURL, hospital, key))
	}
	r := &receiver{}
	r.Server = httptest.NewServer(r)
	defer r.Close()
	cli(t, nil, "webhooks", "add", r.URL, "--data", dir, "--rate", "100")
	l := feed(t, 0, partners...)
	random := rand.New(rand.NewPCG(1, uint64(kills)))
	inRestore := 0
	for kill := range kills {
		if kill%3 == 1 {
			d.kill()
			half := start(t, "dev", []string{"dev", "--data", dir, "--listen", port, "--log-level", "debug"})
			<-half.says(restoring)
			half.kill()
			select {
			case <-half.says(restored):
			default:
				inRestore++
			}
		} else {
			l.awaitMore(t, 20+random.IntN(60))
			d.kill()
		}
		d = restartDev(t, dir, port)
	}
	l.awaitMore(t, 60)
	acked := l.finish()
	t.Logf("%d kills, %d of them in a restore", kills, inRestore)
	if inRestore < (kills+9)/10 {
		t.Errorf("only %d kills hit a restore", inRestore)
	}
	log := readSettled(t, partners, d.Kafka, "")
	if out, err := exec.Command(binary(t), "verify", "--data", dir, "--all").CombinedOutput(); err != nil {
		t.Errorf("svc verify: %v\n%s", err, out)
	}
	log.check(t, acked)
	for _, p := range partners {
		log.refold(t, p)
	}
	log.exported(t, dir)
	log.checkReceived(t, d.HospitalID, r)
}

// exported expects each change once in an export, and versions without a gap.
func (l *systemLog) exported(t *testing.T, dir string) {
	t.Helper()
	versions := map[string]int64{}
	rows := json.NewDecoder(strings.NewReader(cli(t, nil, "export", "--data", dir, "--topic", "verdicts", "--format", "ndjson", "--out", "-")))
	for {
		var row struct {
			Hospital string
			Version  int64
		}
		if err := rows.Decode(&row); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if versions[row.Hospital]++; row.Version != versions[row.Hospital] {
			t.Fatalf("export: version %d of %s in place %d", row.Version, row.Hospital, versions[row.Hospital])
		}
	}
	for hospital, changes := range l.changes {
		if n := versions[hospital]; n < int64(len(changes)) {
			t.Errorf("export: %d of %d changes of %s", n, len(changes), hospital)
		}
	}
}

// checkReceived expects that a receiver received all events for a hospital's changes, in order. It ignores
// repetitions of events that were already received.
func (l *systemLog) checkReceived(t *testing.T, hospital string, r *receiver) {
	t.Helper()
	var want []string
	for i := range l.changes[hospital] {
		events, err := event.FromChange(&l.changes[hospital][i].Change, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			want = append(want, e.ID)
		}
	}
	var got []string
	eventually(t, 2*time.Minute, func() error {
		got = got[:0]
		known := map[string]bool{}
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, one := range r.got {
			if !known[one.event.ID] {
				known[one.event.ID] = true
				got = append(got, one.event.ID)
			}
		}
		if len(got) < len(want) {
			return fmt.Errorf("told of %d of %d events", len(got), len(want))
		}
		return nil
	})
	t.Logf("told of %d events", len(got))
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("the receiver is told of another event in place %d of %d", i, len(want))
		}
	}
}

// restartDev starts svc dev at the address that it had before.
func restartDev(t *testing.T, dir, listen string) *dev {
	t.Helper()
	d := &dev{dir: dir}
	d.node = start(t, "dev", []string{"dev", "--data", dir, "--listen", listen})
	select {
	case <-d.says("svc is ready"):
	case <-d.exited:
		t.Fatalf("svc dev ended:\n%s", d.logged())
	case <-after(30 * time.Second):
		t.Fatalf("svc dev is not ready:\n%s", d.logged())
	}
	d.devFile = readDev(t, dir)
	return d
}
