package acuity

import "slices"

// Makeup is the composition of a roster by skill and by years since hire.
type Makeup struct {
	Novice, Experienced, Expert, Unrated int

	// The number of nurses by full years since hire, counted from anniversary to anniversary. A future hire date
	// counts as 0 years.
	Under1, From1to5, From5to10, Over10 int
	Unhired                             int   // nurses without a hire date
	Median                              int32 // median in tenths of a year, rounded half up; -1: no hire date is known
}

// Makeup counts the nurses by skill and experience at the time of the roster, so the result does not depend on when
// Makeup is called.
func (r *Roster) Makeup() Makeup {
	m := Makeup{Median: -1}
	year, month, date := r.AsOf.Time().Date()
	known := make([]int64, 0, len(r.Nurses)) // days since hire
	for i := range r.Nurses {
		n := &r.Nurses[i]
		switch n.Skill {
		case 0:
			m.Novice++
		case 1:
			m.Experienced++
		case 2:
			m.Expert++
		default:
			m.Unrated++
		}
		if n.HiredDays == 0 {
			m.Unhired++
			continue
		}
		hired := Instant(n.HiredDays) * calendarDay
		known = append(known, max(int64(r.AsOf-hired)/int64(calendarDay), 0))
		y, mo, d := hired.Time().Date()
		years := year - y
		if month < mo || month == mo && date < d {
			years--
		}
		switch {
		case years < 1:
			m.Under1++
		case years < 5:
			m.From1to5++
		case years < 10:
			m.From5to10++
		default:
			m.Over10++
		}
	}
	if len(known) > 0 {
		slices.Sort(known)
		twice := known[(len(known)-1)/2] + known[len(known)/2]
		m.Median = int32((twice*10*dayParts + yearDays) / (2 * yearDays)) //nolint:gosec // at most a few thousand
	}
	return m
}

// The number of days in a mean year of the Gregorian calendar, times 10,000, so that calculations use integers.
const (
	yearDays = 3_652_425
	dayParts = 10_000
)

// calendarDay is the length of a calendar day in UTC.
const calendarDay = Instant(24 * 60 * 60 * 1000)
