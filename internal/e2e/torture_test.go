package e2e

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// torture is a run of TestTorture.
type torture struct {
	*system

	servers       *tortureServers
	program       string
	steps         bool   // whether clocks can be stepped
	dir           string // folder with the logs of the roles
	members       []*member
	ingest, reads []string // base addresses
	hooks         *partnerSide
	targets       targets

	mu     sync.Mutex
	faults []madeFault
}

// madeFault is a fault that a run produced.
type madeFault struct {
	kind, what string
	begin, end time.Time
}

const (
	tortureRound = 2 * time.Minute  // how long faults occur before everything must work again
	tortureCalm  = 5 * time.Minute  // how long everything may take to work again
	tortureAfter = 15 * time.Second // how long a fault may still be the cause of a defect after the fault has ended
	tortureLanes = 3                // maximum number of faults at the same time
)

// TestTorture runs two instances of each role on three brokers and a Redis with Sentinel, under the load of six
// hospitals with two webhook endpoints each. It injects random faults that may overlap, and prints a table of their
// effects. docs/torture.md describes the table.
//
//	SVC_TORTURE=1h            how long faults are injected; without it, the test does not run
//	SVC_TORTURE_SEED=1        the seed of the faults (random)
//	SVC_TORTURE_FAULTS=a,b    the kinds of faults (all)
//	SVC_TORTURE_RATE=40       inputs per second
func TestTorture(t *testing.T) {
	lasting, err := time.ParseDuration(os.Getenv("SVC_TORTURE"))
	if os.Getenv("SVC_TORTURE") == "" {
		t.Skip("takes an hour: make torture")
	}
	if err != nil {
		t.Fatal("SVC_TORTURE:", err)
	}
	rate, _ := howOften(t, "SVC_TORTURE_RATE", 40)
	seed, given := howOften(t, "SVC_TORTURE_SEED", 1)
	if !given {
		seed = int(rand.Int32())
	}
	x := startTorture(t)
	t.Logf("seed %d, logs of the roles in %s", seed, x.dir)
	kinds := x.chosenKinds(t, os.Getenv("SVC_TORTURE_FAULTS"))
	load := gather(t, rate, x.partners, x.ingest, x.reads)
	watch := watchChanges(t, x.servers.plain, x.prefix)
	eventually(t, tortureCalm, func() error { return load.settledAfter(time.Now().Add(-10*time.Second), watch) })

	var stuck []defect
	began := time.Now()
	for round := 0; time.Since(began) < lasting && len(stuck) == 0; round++ {
		x.makeFaults(kinds, seed, round, min(tortureRound, lasting-time.Since(began)))
		calm := time.Now()
		if err := until(tortureCalm, func() error { return load.settledAfter(calm, watch) }); err != nil {
			stuck = append(stuck, defect{wrong, "", calm, fmt.Sprintf("%v\n%s", err, x.health())})
			t.Errorf("round %d: %v\n%s", round, err, x.health())
		}
		t.Logf("round %d: %d faults so far, works again after %.1f s", round, len(x.faults), time.Since(calm).Seconds())
	}
	x.report(load, watch, kinds, stuck, time.Since(began))
}

// startTorture starts servers, roles, hospitals and endpoints.
func startTorture(t *testing.T) *torture {
	t.Helper()
	x := &torture{servers: startTortureServers(t), targets: targets{busy: map[string]bool{}}}
	x.dir = cmp.Or(os.Getenv("SVC_TORTURE_DIR"), filepath.Join(os.TempDir(), fmt.Sprintf("svc-torture-%d", time.Now().Unix())))
	if err := os.MkdirAll(x.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	var err error
	if x.program, err = steppedBinary(t); err != nil {
		t.Logf("clocks do not step: %v", err)
		x.program = binary(t)
	}
	x.steps = err == nil
	hospitals := everyPartition()
	x.hooks = receive(t, hospitals...)
	s := &system{t: t, kafka: &server{address: x.servers.plain}, redis: &server{}, prefix: fmt.Sprintf("t%d.", time.Now().Unix())}
	x.system = s
	s.env = append([]string{
		"SVC_KAFKA=" + x.servers.plain, "SVC_REDIS=" + x.servers.view(), "SVC_TOPIC_PREFIX=" + s.prefix, "SVC_PARTITIONS=" + strconv.Itoa(partitions),
		"SVC_COMMIT_EVERY=0", "SVC_PSEUDONYM_KEY=0123456789abcdef0123456789abcdef", "SVC_REPLICATION_FACTOR=3",
	}, x.hooks.env...)
	for _, b := range rights(s.prefix) {
		if err := x.servers.grant(b); err != nil {
			t.Fatal(err)
		}
	}
	for _, role := range []string{"ingest", "process", "read", "notify"} {
		for n := 1; n <= 2; n++ {
			m := x.newMember(role, n)
			x.members = append(x.members, m)
			m.supervise(t)
		}
	}
	s.base = x.reads[0]
	for _, m := range x.members {
		eventually(t, 3*time.Minute, func() error {
			return ready(m.private + "/readyz?exclude=view&exclude=forecast&exclude=lists&exclude=verdict&exclude=notify")
		})
	}
	for _, hospital := range hospitals {
		cli(t, s.env, "hospitals", "create", "--id", hospital, "--name", "Test "+hospital, "--timezone", "America/Chicago")
		key := cli(t, s.env, "keys", "mint", "--hospital", hospital, "--name", "test", "--scopes", "all", "--rate", "0")
		p := newPartner(s.base, hospital, key)
		s.partners = append(s.partners, p)
		for _, base := range append(x.ingest, x.reads...) {
			p.at(base).honored(t)
		}
		x.hooks.hook(t, s, hospital, "/"+hospital+"/a")
		x.hooks.hook(t, s, hospital, "/"+hospital+"/b")
		// An endpoint receives only changes after its creation, and a unit can be read only after its first input.
		p.accepted(t, "census", `{"totalRooms":9,"rooms":[{"roomId":1,"area":"L&D","status":"occupied","primaryFactor":"labor-standard"}]}`)
	}
	return x
}

// check reports a fault that could not be produced or ended, which fails the test.
func (x *torture) check(err error) {
	if err != nil {
		x.t.Errorf("a fault was not made or ended: %v", err)
	}
}

// chosenKinds returns the kinds with the given names, which are separated by commas, or all kinds if names is empty.
func (x *torture) chosenKinds(t *testing.T, names string) (kinds []*faultKind) {
	t.Helper()
	all := x.faultKinds()
	if names == "" {
		return all
	}
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(all, func(k *faultKind) bool { return k.name == name })
		if i < 0 {
			var known []string
			for _, k := range all {
				known = append(known, k.name)
			}
			t.Fatalf("SVC_TORTURE_FAULTS: there is no fault %q, only %s", name, strings.Join(known, ","))
		}
		kinds = append(kinds, all[i])
	}
	return kinds
}

// makeFaults produces faults for the given time. When it returns, all faults have ended.
func (x *torture) makeFaults(kinds []*faultKind, seed, round int, lasting time.Duration) {
	possible := slices.DeleteFunc(slices.Clone(kinds), func(k *faultKind) bool { return k.impossible != "" })
	end := time.Now().Add(lasting)
	var lanes sync.WaitGroup
	for lane := range tortureLanes {
		lanes.Go(func() {
			r := rand.New(rand.NewPCG(uint64(seed), uint64(round*tortureLanes+lane)))
			for time.Now().Before(end) {
				k := possible[r.IntN(len(possible))]
				what, hold, undone := k.begin(r)
				if undone == nil {
					<-time.After(100 * time.Millisecond)
					continue
				}
				begin := time.Now()
				<-time.After(min(hold, time.Until(end)))
				x.check(undone())
				x.mu.Lock()
				x.faults = append(x.faults, madeFault{k.name, what, begin, time.Now()})
				x.mu.Unlock()
				<-time.After(between(r, 0, 3*time.Second))
			}
		})
	}
	lanes.Wait()
}

// health returns what each instance reports about itself.
func (x *torture) health() string {
	var all strings.Builder
	for _, m := range x.members {
		fmt.Fprintf(&all, "%s: %v\n", m.name, ready(m.private+"/readyz"))
	}
	return all.String()
}

// report stops the load, checks its evidence, and prints the table. Each defect fails the test.
func (x *torture) report(load *crowd, watch *bystander, kinds []*faultKind, stuck []defect, lasted time.Duration) {
	t := x.t
	t.Helper()
	load.stop()
	load.done.Wait()
	var log *systemLog
	if len(stuck) == 0 {
		log = readSettled(t, x.partners, x.servers.plain, x.prefix)
		eventually(t, 10*time.Minute, func() error { return x.received(t, log) })
	} else {
		log = readLog(t, x.servers.plain, x.prefix)
	}
	e, faults := load.evidence(watch)
	e.log, e.endpoints = log, map[string][][]gotten{}
	for _, p := range x.partners {
		e.endpoints[p.hospital] = [][]gotten{x.hooks.at("/" + p.hospital + "/a"), x.hooks.at("/" + p.hospital + "/b")}
	}
	found := slices.Concat(e.defects(t), faults, stuck)
	for _, m := range x.members {
		m.mu.Lock()
		for _, at := range m.exits {
			if slices.Contains(x.during(at), "missing rights") {
				continue // a process that starts without a permission exits and names the permission
			}
			found = append(found, defect{wrong, "", at, m.name + " exited by itself"})
		}
		m.mu.Unlock()
	}
	for i, d := range found {
		if i < 100 {
			t.Errorf("%s %s: %s; faults: %v", d.at.Format("15:04:05.000"), d.hospital, d.what, x.during(d.at))
		}
	}
	for _, p := range x.partners {
		log.refold(t, p)
	}
	verify := exec.Command(binary(t), "verify", "--all")
	verify.Env = append(os.Environ(), x.env...)
	if out, err := verify.CombinedOutput(); err != nil {
		t.Errorf("svc verify: %v\n%s", err, out)
	}
	for _, k := range kinds {
		if k.impossible != "" {
			t.Logf("%s was not possible: %s", k.name, k.impossible)
		}
	}
	t.Logf("%d faults in %v, %d hospitals, answers other than 200: %v\n%s", len(x.faults), lasted.Round(time.Second), len(x.partners), load.refused, x.table(e, found))
}

// received returns an error until each endpoint has the last event of its hospital.
func (x *torture) received(t testing.TB, log *systemLog) error {
	t.Helper()
	for _, p := range x.partners {
		ids, _ := log.events(t, p.hospital)
		for _, path := range []string{"/a", "/b"} {
			list := x.hooks.at("/" + p.hospital + path)
			if len(ids) > 0 && !slices.ContainsFunc(list, func(g gotten) bool { return g.id == ids[len(ids)-1] }) {
				return fmt.Errorf("%s%s has no last event: %d of %d", p.hospital, path, len(list), len(ids))
			}
		}
	}
	return nil
}

// during returns the kinds of faults that may be the cause of a defect at the given instant.
func (x *torture) during(at time.Time) (kinds []string) {
	for _, f := range x.faults {
		if !at.Before(f.begin) && at.Before(f.end.Add(tortureAfter)) && !slices.Contains(kinds, f.kind) {
			kinds = append(kinds, f.kind)
		}
	}
	slices.Sort(kinds)
	return kinds
}

// row is a row of the table.
type row struct {
	faults, acknowledged int
	defects              [defectKinds]int
	refused              time.Duration // longest time from the first attempt of an input to its acknowledgment
	waited               time.Duration // longest time from the start of the acknowledged attempt to the verdict
}

// table counts what happened during the faults of each kind and in the 15 s after each fault. Faults overlap, so one
// input may count in several rows.
func (x *torture) table(e *evidence, found []defect) string {
	const all, none = "all", "none"
	rows := map[string]*row{all: {}, none: {}}
	at := func(instant time.Time) []*row {
		kinds := append(x.during(instant), all)
		if len(kinds) == 1 {
			kinds = []string{none, all}
		}
		var some []*row
		for _, k := range kinds {
			some = append(some, rows[k])
		}
		return some
	}
	for _, f := range x.faults {
		if rows[f.kind] == nil {
			rows[f.kind] = &row{}
		}
		rows[f.kind].faults++
		rows[all].faults++
	}
	applied := map[position]time.Time{}
	for hospital, changes := range e.log.changes {
		for i := range changes {
			c := &changes[i]
			if at := (position{c.partition, c.Offset}); applied[at].IsZero() {
				applied[at] = e.visibleAt(hospital, c)
			}
		}
	}
	for _, in := range e.inputs {
		for _, r := range at(in.answered) {
			r.acknowledged++
			r.refused = max(r.refused, in.answered.Sub(in.first))
		}
		for _, r := range at(in.sent) {
			r.waited = max(r.waited, applied[in.position].Sub(in.sent))
		}
	}
	for _, d := range found {
		for _, r := range at(d.at) {
			r.defects[d.kind]++
		}
	}
	var out strings.Builder
	fmt.Fprintf(&out, "| %-19s | faults | acknowledged | lost | twice | gaps | webhooks missing | wrong | longest until acknowledged | longest until verdict |\n", "fault")
	fmt.Fprintf(&out, "|%s|\n", strings.Repeat("---|", 9)+"---")
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(rows)), func(n string) bool { return n == all || n == none })
	for _, name := range append(names, none, all) {
		r := rows[name]
		fmt.Fprintf(&out, "| %-19s | %6d | %12d | %4d | %5d | %4d | %16d | %5d | %24.1f s | %19.1f s |\n", name, r.faults, r.acknowledged,
			r.defects[lost], r.defects[twice], r.defects[gap], r.defects[webhook], r.defects[wrong], r.refused.Seconds(), r.waited.Seconds())
	}
	return out.String()
}
