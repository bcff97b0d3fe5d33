package simulate

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// staff manages the nurses of the unit.
type staff struct {
	chance
	grid   float64 // planned nurses per shift
	nurses []nurse
	first  int // index in nurses of the first nurse on duty; onDuty+1 nurses are on duty, including the charge nurse
	onDuty int
	call   bool
}

// nurse is a nurse without a name.
type nurse struct {
	skill int
	hired clock
}

// Local hours of the shift changes, and of the charge nurse's recounts of the staff.
var (
	shiftHours   = []float64{7, 19}
	recountHours = []float64{11, 15, 23, 3}
)

// These constants define a staffing plan by births per year. The plan is assumed. It exceeds the needs of the
// simulated unit, which are about 4.6 nurses per 1,000 births a year.
const (
	gridForBirths = .0049
	gridLeast     = 0.6
	shifts        = 4.4 // nurses employed per nurse on duty
	assigned      = .7  // fraction of a nurse that a roster assigns to rooms; the rest is for new arrivals
)

func newStaff(u *unit) staff {
	s := staff{chance: newChance(u.options.Seed, purposeStaff), grid: gridLeast + gridForBirths*float64(u.births), call: true}
	for range int(math.Ceil((s.grid + 2) * shifts)) {
		n := nurse{skill: 1, hired: u.from - clock(s.ExpFloat64()*6*float64(365*day))}
		switch p := s.Float64(); {
		case p < .12:
			n.skill, n.hired = 0, u.from-s.between(30*day, 500*day)
		case p > .7:
			n.skill, n.hired = 2, n.hired-5*365*day
		}
		n.hired = max(n.hired, u.from-38*365*day)
		s.nurses = append(s.nurses, n)
	}
	return s
}

// begin reports the staff on duty and schedules the changes of shift.
func (s *staff) begin(u *unit) {
	s.changeShift(u)
	s.nextDay(u)
}

// nextDay schedules a day's changes of shift.
func (s *staff) nextDay(u *unit) {
	put := func(hours []float64, do func(*unit)) {
		for _, h := range hours {
			if t := u.hourOf(u.now, h); t > u.now {
				u.schedule(t, func() { do(u) })
			}
		}
	}
	put(shiftHours, s.changeShift)
	put(recountHours, s.recount)
	put([]float64{15.5}, s.sendPlan)
	u.schedule(u.hourOf(u.now, 24), func() { s.nextDay(u) })
}

// need returns the charge nurse's estimate of the nurses that the current patients need.
func (u *unit) need() float64 {
	sum := 0.
	for _, v := range u.open {
		if v.room != nil {
			sum += v.need()
		}
	}
	return sum
}

// need returns the charge nurse's estimate of the nurses that one woman needs.
func (v *visit) need() float64 {
	need := 1. / 3
	switch p := v.room.pool; {
	case p == &v.theatre, v.primary == "labor-vaginal-birth":
		need = 2
	case p == &v.labor && (v.primary == "labor-active-lt4" || v.primary == "labor-epidural" || v.primary == "labor-ripening"), p == &v.triage:
		need = .5
	case p == &v.labor, p == &v.recovery, strings.HasSuffix(v.primary, "-unstable"):
		need = 1
	case v.born != 0 && v.now-v.born < 6*hour, slices.Contains(v.marks, "pp-csection-day"), v.has("O72.1"), v.ill:
		need = .5
	}
	if v.runs(magnesium) {
		need = max(need, .6)
	}
	return need
}

// wanted returns the number of nurses that a shift should have: a weighted mean of the unit's plan and the current
// need, plus 10% and 1.2 nurses in reserve.
func (s *staff) wanted(u *unit) float64 { return 1.1*(.55*s.grid+.45*u.need()) + 1.2 }

// changeShift begins a shift with as many nurses as the plan and the current patients require.
func (s *staff) changeShift(u *unit) {
	s.onDuty = max(2, int(math.Round(s.wanted(u)+.8*s.NormFloat64())))
	s.call = s.is(.72)
	s.first = (s.first + s.onDuty + 1) % len(s.nurses)
	s.sendStaffing(u, 0)
	s.sendRoster(u)
}

// recount may call in a nurse if too few are on duty and one is on call, and sends one home if too many are on duty.
// It then reports the staff and the assignments.
func (s *staff) recount(u *unit) {
	short := u.need() - float64(s.onDuty)
	switch {
	case short > .5 && s.call && s.is(.6):
		s.onDuty++
		s.call = s.is(.5)
	case short < -2.5 && s.onDuty > 2:
		s.onDuty--
		s.call = true
	}
	s.sendStaffing(u, 0)
	s.sendRoster(u)
}

// sendPlan sends the planned number of nurses for the night, on about half of the afternoons.
func (s *staff) sendPlan(u *unit) {
	if s.is(.5) {
		s.sendStaffing(u, 210*minute)
	}
}

// sendStaffing sends the number of nurses on duty. If ahead is positive, sendStaffing instead sends a planned number,
// which applies after that delay.
func (s *staff) sendStaffing(u *unit, ahead clock) {
	n := s.onDuty
	if ahead > 0 {
		n = max(2, int(math.Round(s.wanted(u))))
	}
	u.faults.sendSnapshot(u, pathStaffing, &staffingBody{u.text(u.now + ahead), n, s.call})
}

// sendRoster sends the nurses on duty with their rooms. The charge nurse has no rooms.
func (s *staff) sendRoster(u *unit) {
	count := min(s.onDuty+1, len(s.nurses))
	charge := 0
	for i := range count {
		if s.nurses[(s.first+i)%len(s.nurses)].skill == 2 {
			charge = i
			break
		}
	}
	rooms := u.assign(count, charge)
	b := &rosterBody{AsOf: u.text(u.now)}
	for i := range count {
		who := (s.first + i) % len(s.nurses)
		n := &s.nurses[who]
		b.Nurses = append(b.Nurses, nurseBody{
			"N" + strconv.Itoa(1000+who), map[bool]string{true: "RN-CHARGE", false: "RN-OB"}[i == charge],
			n.skill, n.hired.time().Format(time.DateOnly), append([]int{}, rooms[i]...),
		})
	}
	u.faults.sendSnapshot(u, pathRoster, b)
}

// assign returns the rooms of each nurse, usually two. It assigns the rooms of couplets and antepartum patients to
// all nurses except the charge nurse. Rosters do not list labor rooms, because the nurse of a laboring woman may
// change within the hour.
func (u *unit) assign(count, charge int) [][]int {
	rooms := make([][]int, count)
	who, load := -1, 0.
	for _, r := range u.rooms {
		if r.visit == nil || r.pool != &u.postpartum && r.pool != &u.antepartum {
			continue
		}
		need := r.visit.need()
		if load += need; who < 0 || load > assigned {
			if who++; who == charge {
				who++
			}
			if load = need; who >= count {
				break // all nurses have rooms; the charge nurse cares for the remaining patients
			}
		}
		rooms[who] = append(rooms[who], r.id)
	}
	return rooms
}
