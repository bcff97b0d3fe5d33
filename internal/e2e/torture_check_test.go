package e2e

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sort"
	"testing"
	"time"

	"svc/acuity"
	"svc/acuity/hospital/hospitaltest"
	"svc/internal/testkit/loadgen"
	"svc/notifier/event"
)

// evidence is everything that a run of TestTorture recorded: what its senders, readers and receivers saw, and what the
// log contains at the end.
type evidence struct {
	log       *systemLog
	inputs    []sentInput
	reads     []seenRead
	endpoints map[string][][]gotten  // by hospital, one list for each endpoint
	visible   map[string][]time.Time // by hospital; element i is when the change with version i+1 was first visible
}

// sentInput is an acknowledged input. All times are by the sender's clock.
type sentInput struct {
	hospital, feed string
	position       position
	first          time.Time // start of the first attempt
	sent           time.Time // start of the acknowledged attempt
	answered       time.Time
	applied        bool // whether the answer included the effect
}

// seenRead is a read that was answered with 200.
type seenRead struct {
	hospital string
	began    time.Time
	version  int64
}

// defectKind is a kind of defect, and a column of the table that TestTorture prints.
type defectKind int

const (
	lost    defectKind = iota // an acknowledged input is not in the log, or an input in the log is in no change
	twice                     // an input or a request was applied twice
	gap                       // a version is missing
	webhook                   // an endpoint missed an event, received one out of order, or received one that no change explains
	wrong                     // anything else: a read that returned an older state, a wrong status, a process that exits, a stuck partition
	defectKinds
)

type defect struct {
	kind     defectKind
	hospital string
	at       time.Time // when the defect became visible
	what     string
}

// defects checks the evidence of a run.
func (e *evidence) defects(t testing.TB) (found []defect) {
	t.Helper()
	versions := map[position]int64{} // version of the change that each input caused
	for _, hospital := range slices.Sorted(maps.Keys(e.log.changes)) {
		found = append(found, e.checkChanges(hospital, versions)...)
	}
	for at, o := range e.log.observations {
		if versions[at] == 0 {
			found = append(found, defect{lost, o.Hospital, o.ReceivedAt.Time(), fmt.Sprintf("input %v (%s) is in no change", at, o.Channel)})
		}
	}
	for _, in := range e.inputs {
		if o := e.log.observations[in.position]; o == nil || o.Hospital != in.hospital {
			found = append(found, defect{lost, in.hospital, in.answered, fmt.Sprintf("acknowledged input %v (%s) is not in the log", in.position, in.feed)})
		}
	}
	found = append(found, e.checkReads(versions)...)
	for hospital, lists := range e.endpoints {
		ids, bodies := e.log.events(t, hospital)
		for n, list := range lists {
			found = append(found, e.checkDeliveries(fmt.Sprintf("endpoint %d", n+1), hospital, list, ids, bodies)...)
		}
	}
	return found
}

// events returns the events of the changes in the log, in order. Unlike [systemLog.expected], it does not derive the
// changes again, so that one missing change counts as one defect.
func (l *systemLog) events(t testing.TB, hospital string) (ids []string, bodies map[string]string) {
	t.Helper()
	bodies = map[string]string{}
	for i := range l.changes[hospital] {
		c := l.changes[hospital][i].Change
		c.Hospital = hospital
		events, err := event.FromChange(&c, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			if _, known := bodies[e.ID]; !known {
				ids = append(ids, e.ID)
			}
			bodies[e.ID] = string(e.Body)
		}
	}
	return ids, bodies
}

// checkChanges checks that the versions of a hospital have no gap, and that each input and each request has at most
// one effect. It adds the version of each input to versions.
func (e *evidence) checkChanges(hospital string, versions map[position]int64) (found []defect) {
	add := func(kind defectKind, c *placed, format string, args ...any) {
		found = append(found, defect{kind, hospital, e.visibleAt(hospital, c), fmt.Sprintf(format, args...)})
	}
	effects := map[string]int64{} // version of the change that a request made
	var last int64
	for i := range e.log.changes[hospital] {
		c := &e.log.changes[hospital][i]
		switch {
		case c.Version > last+1:
			add(gap, c, "version %d follows %d", c.Version, last)
		case c.Version <= last:
			add(twice, c, "version %d follows %d", c.Version, last)
		}
		last = max(last, c.Version)
		if c.Cause == acuity.CauseTime {
			continue
		}
		at := position{c.partition, c.Offset}
		if before := versions[at]; before != 0 {
			add(twice, c, "input %v is in versions %d and %d", at, before, c.Version)
		} else {
			versions[at] = c.Version
		}
		o := e.log.observations[at]
		if o == nil || o.Hospital != hospital {
			add(wrong, c, "version %d is of input %v, which is not of this hospital", c.Version, at)
			continue
		}
		if o.Request == nil || c.Repeats != 0 || c.Outcome == acuity.Rejected {
			continue
		}
		if before := effects[o.Request.Key]; before != 0 {
			add(twice, c, "one request (%s) has an effect in versions %d and %d", o.Channel, before, c.Version)
		}
		effects[o.Request.Key] = c.Version
	}
	return found
}

// visibleAt returns when a change was first visible. If the bystander did not see the change, visibleAt returns the
// time at which the processor applied it.
func (e *evidence) visibleAt(hospital string, c *placed) time.Time {
	if all := e.visible[hospital]; c.Version <= int64(len(all)) && !all[c.Version-1].IsZero() {
		return all[c.Version-1]
	}
	return c.AppliedAt.Time()
}

// checkReads expects each read to return at least the newest version that an earlier response of the same hospital
// included. An earlier response is an acknowledgment that included an effect, or an earlier read.
func (e *evidence) checkReads(versions map[position]int64) (found []defect) {
	known := map[string][]seenRead{} // by hospital; a read that starts later must return at least this version
	for _, in := range e.inputs {
		if in.applied {
			known[in.hospital] = append(known[in.hospital], seenRead{in.hospital, in.answered, versions[in.position]})
		}
	}
	reads := map[string][]seenRead{}
	for _, r := range e.reads {
		reads[r.hospital] = append(reads[r.hospital], r)
	}
	for hospital, list := range reads {
		facts := known[hospital]
		slices.SortFunc(facts, func(a, b seenRead) int { return a.began.Compare(b.began) })
		for i := range facts { // an earlier response may have a higher version
			if i > 0 {
				facts[i].version = max(facts[i].version, facts[i-1].version)
			}
		}
		for _, r := range list {
			n := sort.Search(len(facts), func(i int) bool { return !facts[i].began.Before(r.began) })
			if n > 0 && r.version < facts[n-1].version {
				found = append(found, defect{wrong, hospital, r.began, fmt.Sprintf("a read has version %d after the answer with %d", r.version, facts[n-1].version)})
			}
		}
	}
	return found
}

// checkDeliveries expects that an endpoint received every event of the changes in the log, in order and with the
// right body, and no other event. Repetitions are allowed.
func (e *evidence) checkDeliveries(endpoint, hospital string, list []gotten, ids []string, bodies map[string]string) (found []defect) {
	add := func(at time.Time, format string, args ...any) {
		found = append(found, defect{webhook, hospital, at, endpoint + ": " + fmt.Sprintf(format, args...)})
	}
	place := make(map[string]int, len(ids))
	for i, id := range ids {
		place[id] = i
	}
	received := make([]time.Time, len(ids))
	newest := -1
	for _, one := range list {
		at, known := place[one.id]
		switch {
		case !known:
			add(one.at, "event %s is of no change", one.id)
			continue
		case bodies[one.id] != one.body:
			add(one.at, "event %d has another body", at)
		case received[at].IsZero() && at < newest:
			add(one.at, "event %d comes first after event %d", at, newest)
		}
		newest = max(newest, at)
		if received[at].IsZero() {
			received[at] = one.at
		}
	}
	for i, at := range received {
		if !at.IsZero() {
			continue
		}
		when := time.Now() // applies if no later event was received
		for _, later := range received[i:] {
			if !later.IsZero() {
				when = later
				break
			}
		}
		add(when, "event %d of %d is missing", i, len(ids))
	}
	return found
}

// soundEvidence returns the evidence of a run without a defect.
func soundEvidence(t testing.TB) *evidence {
	t.Helper()
	began := time.Date(2026, 3, 4, 8, 50, 0, 0, time.UTC) // the inputs span an hour mark, at which a timer causes a change
	feeds := loadgen.New(2, 6, acuity.At(began), 20*time.Second)
	e := &evidence{
		log:       &systemLog{observations: map[position]*acuity.Observation{}, changes: map[string][]placed{}},
		endpoints: map[string][][]gotten{}, visible: map[string][]time.Time{},
	}
	inputs := map[string][]acuity.Observation{}
	at := map[string][]position{}
	for n := range 80 {
		o := feeds.Next()
		o.AppliedAt = o.ReceivedAt
		o.Request = &acuity.Request{Key: fmt.Sprint("k", n), Digest: fmt.Sprint("d", n)}
		p := position{0, int64(n)}
		e.log.observations[p] = o
		inputs[o.Hospital] = append(inputs[o.Hospital], *o)
		at[o.Hospital] = append(at[o.Hospital], p)
		when := o.ReceivedAt.Time()
		e.inputs = append(e.inputs, sentInput{o.Hospital, string(o.Channel), p, when, when, when, true})
	}
	for hospital, list := range inputs {
		e.log.changes[hospital] = placeChanges(list, at[hospital])
		for _, c := range e.log.changes[hospital] {
			e.visible[hospital] = append(e.visible[hospital], c.AppliedAt.Time())
		}
		ids, bodies := e.log.events(t, hospital)
		var got []gotten
		for i, id := range ids {
			got = append(got, gotten{id, bodies[id], began.Add(time.Duration(i) * time.Second)})
		}
		got = append(got, got[len(got)-1]) // repeating the last event is not a defect
		e.endpoints[hospital] = [][]gotten{got}
		last := e.log.changes[hospital][len(e.log.changes[hospital])-1]
		e.reads = append(e.reads, seenRead{hospital, time.Now(), last.Version})
	}
	return e
}

// placeChanges returns the changes that the reference derives from inputs, as the log contains them.
func placeChanges(inputs []acuity.Observation, at []position) (changes []placed) {
	applied := 0
	for _, c := range hospitaltest.Fold(inputs, inputs[len(inputs)-1].AppliedAt).Changes {
		if c.Cause == acuity.CauseIngest {
			c.Offset = at[applied].offset
			applied++
		}
		changes = append(changes, placed{c, 0})
	}
	return changes
}

// TestTortureChecker plants one defect of each kind in sound evidence, and expects the checker of TestTorture to report
// that defect and nothing else.
func TestTortureChecker(t *testing.T) {
	if found := soundEvidence(t).defects(t); len(found) > 0 {
		t.Fatalf("sound evidence has defects: %v", found)
	}
	someHospital := func(e *evidence) string { return slices.Min(slices.Collect(maps.Keys(e.log.changes))) }
	dropInput := func(e *evidence, h string) (c placed) { // removes an input's change, and the version of that change
		changes := e.log.changes[h]
		i := slices.IndexFunc(changes, func(c placed) bool { return c.Version > 5 && c.Cause == acuity.CauseIngest && len(c.Effects) == 0 })
		c = changes[i]
		e.log.changes[h] = slices.Delete(changes, i, i+1)
		return c
	}
	for name, row := range map[string]struct {
		spoil func(e *evidence, h string)
		want  []defectKind
	}{
		"acknowledged, not in the log": {func(e *evidence, h string) {
			e.inputs = append(e.inputs, sentInput{hospital: h, feed: "adt", position: position{0, 1 << 40}})
		}, []defectKind{lost}},
		"acknowledged, in the log of another hospital": {func(e *evidence, h string) {
			i := slices.IndexFunc(e.inputs, func(in sentInput) bool { return in.hospital != h })
			e.inputs[i].hospital, e.inputs[i].applied = h, false
		}, []defectKind{lost}},
		"a change is missing": {func(e *evidence, h string) { dropInput(e, h) }, []defectKind{lost, gap}},
		"an input without a change": {func(e *evidence, h string) {
			e.log.observations[position{0, 1 << 41}] = &acuity.Observation{Hospital: h, Channel: acuity.ChannelStaffing}
		}, []defectKind{lost}},
		"a change is in the log twice": {func(e *evidence, h string) {
			i := slices.IndexFunc(e.log.changes[h], func(c placed) bool { return c.Cause == acuity.CauseTime })
			e.log.changes[h] = slices.Insert(e.log.changes[h], i, e.log.changes[h][i])
		}, []defectKind{twice}},
		"an input is applied twice": {func(e *evidence, h string) {
			c := e.log.changes[h][len(e.log.changes[h])-1]
			c.Version++
			c.Cause, c.Repeats = acuity.CauseIngest, 1
			c.Offset = e.inputs[slices.IndexFunc(e.inputs, func(in sentInput) bool { return in.hospital == h })].position.offset
			c.Effects = nil
			e.log.changes[h] = append(e.log.changes[h], c)
		}, []defectKind{twice}},
		"a request has two effects": {func(e *evidence, h string) {
			var first *acuity.Observation
			for i := range e.log.changes[h] {
				c := &e.log.changes[h][i]
				o := e.log.observations[position{c.partition, c.Offset}]
				switch {
				case c.Cause != acuity.CauseIngest:
				case first == nil:
					first = o
				default:
					o.Request = first.Request
					return
				}
			}
		}, []defectKind{twice}},
		"a read of the past": {func(e *evidence, h string) {
			e.reads = append(e.reads, seenRead{h, time.Now(), 3})
		}, []defectKind{wrong}},
		"an event is missing": {func(e *evidence, h string) {
			e.endpoints[h][0] = slices.Delete(e.endpoints[h][0], 3, 4)
		}, []defectKind{webhook}},
		"the last event is missing": {func(e *evidence, h string) {
			e.endpoints[h][0] = e.endpoints[h][0][:len(e.endpoints[h][0])-2]
		}, []defectKind{webhook}},
		"events in another order": {func(e *evidence, h string) {
			e.endpoints[h][0][3], e.endpoints[h][0][4] = e.endpoints[h][0][4], e.endpoints[h][0][3]
		}, []defectKind{webhook}},
		"an event with other bytes": {func(e *evidence, h string) { e.endpoints[h][0][3].body += " " }, []defectKind{webhook}},
		"an event of no change":     {func(e *evidence, h string) { e.endpoints[h][0][3].id += "x" }, []defectKind{webhook, webhook}},
	} {
		t.Run(name, func(t *testing.T) {
			e := soundEvidence(t)
			row.spoil(e, someHospital(e))
			var got []defectKind
			for _, d := range e.defects(t) {
				got = append(got, d.kind)
			}
			slices.SortFunc(got, cmp.Compare[defectKind])
			if !slices.Equal(got, row.want) {
				t.Errorf("defects %v, want %v", got, row.want)
			}
		})
	}
}
