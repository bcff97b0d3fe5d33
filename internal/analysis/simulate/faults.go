package simulate

import "slices"

// faults delays, loses and repeats messages between the unit and the service.
type faults struct {
	chance
	steady  bool
	outages [][2]clock
	signals []signal // signals in the open clinical request
	last    clock    // arrival time of the latest message, before delays are added
}

// Faults of the interface. The values are assumed.
const (
	outagesYear              = 4
	outageLeast, outageMost  = 5 * hour, 28 * hour
	chanceLate               = .025 // probability that a message arrives late
	lateMedian, lateSpread   = 40 * minute, .8
	chanceTwice              = .06 // probability of a second copy; this and the next three apply only to the chaos profile
	chanceWrong              = .05
	chanceDisorder           = .25
	disorderMost             = 45 * minute
	flushed                  = 600 // factor by which messages arrive faster after an outage than they were sent
	transitLeast, transitMax = 2 * second, 15 * second
)

func newFaults(u *unit) faults {
	f := faults{chance: newChance(u.options.Seed, purposeFaults), steady: u.options.Steady}
	if f.steady {
		return f
	}
	outages := newChance(u.options.Seed, purposeOutages)
	for year := u.from; year < u.to; year += 52 * week {
		for i := range clock(outagesYear) { // one outage in each quarter
			begin := year + outages.between(i*13*week, (i+1)*13*week-outageMost)
			f.outages = append(f.outages, [2]clock{begin, begin + outages.between(outageLeast, outageMost)})
		}
	}
	return f
}

// begin schedules a census and a staffing message for the time one minute after the end of each outage.
func (f *faults) begin(u *unit) {
	for _, o := range f.outages {
		u.schedule(o[1]+minute, func() {
			u.sendCensus()
			u.staff.sendStaffing(u, 0)
		})
	}
}

// outage returns the outage at an instant, if there is one.
func (f *faults) outage(t clock) (o [2]clock, away bool) {
	i := slices.IndexFunc(f.outages, func(o [2]clock) bool { return o[0] <= t && t < o[1] })
	if i < 0 {
		return o, false
	}
	return f.outages[i], true
}

// arrives returns the arrival time of a message that is sent now. Each message takes a few seconds. A message may
// also be late, unless the simulation is steady, and the chaos profile delays some messages so that their order
// changes. If a message would arrive during an outage, it arrives shortly after the outage.
func (f *faults) arrives(u *unit) clock {
	f.last = max(f.last, u.now+f.between(transitLeast, transitMax))
	t := f.last
	late := f.is(chanceLate)
	span := f.span(lateMedian, lateSpread)
	if late && !f.steady {
		t += span
	}
	if u.chaos && f.is(chanceDisorder) {
		t += f.between(0, disorderMost)
	}
	if o, away := f.outage(t); away { // messages are queued, and sent in their original order
		t = o[1] + (t-o[0])/flushed
	}
	return t
}

// forward sends a body as a message, with the delays of arrives. In the chaos profile, some messages arrive twice.
func (f *faults) forward(u *unit, path string, body any) {
	if u.muted {
		return
	}
	t, content := f.arrives(u), encoded(body)
	u.post(t, path, content)
	if u.chaos && f.is(chanceTwice) {
		u.post(t+f.between(second, 20*minute), path, content)
	}
}

// sendSnapshot sends a body now. During an outage, the body is dropped, because the next snapshot repeats its
// content.
func (f *faults) sendSnapshot(u *unit, path string, body any) {
	if _, away := f.outage(u.now); away || u.muted {
		return
	}
	u.post(u.now+second, path, encoded(body))
}

// deliver sends an ADT event. In the chaos profile, some events are preceded by a wrong event and its cancellation.
func (f *faults) deliver(u *unit, e *event) {
	if u.chaos && f.is(chanceWrong) {
		f.sendMistake(u, e)
	}
	f.forward(u, pathADT, u.bodyOf(e, f.number(u)))
}

func (f *faults) number(u *unit) string {
	u.events++
	return u.numbered('E', u.events)
}

// sendMistake sends a wrong event and the cancellation of that event, before the caller sends the correct event. It
// sends nothing if the event has no cancellation, happened earlier, or concerns a newborn.
func (f *faults) sendMistake(u *unit, e *event) {
	cancel := map[string]string{"A01": "A11", "A02": "A12", "A03": "A13"}[e.kind]
	if cancel == "" || e.at != u.now || e.mother != "" {
		return
	}
	wrong := *e
	wrong.at = e.at - 3*minute
	if e.kind == "A02" {
		wrong.room = u.rooms[f.IntN(len(u.rooms))]
	}
	f.forward(u, pathADT, u.bodyOf(&wrong, f.number(u)))
	back := wrong
	back.kind, back.at, back.cancels, back.diagnoses = cancel, e.at-minute, wrong.at, nil
	if e.kind == "A02" {
		back.room, back.prior = e.prior, wrong.room
	}
	f.forward(u, pathADT, u.bodyOf(&back, f.number(u)))
}
