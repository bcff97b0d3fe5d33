package page

import (
	"strconv"
	"time"

	"svc/acuity"
	"svc/readapi/web/text"
)

// Hospitals says how hospitals are called and which time they have.
type Hospitals interface {
	Hospital(id string) (name string, zone *time.Location, ok bool)
}

// Writer writes the parts of a page in one language, in the time zone of one hospital.
type Writer struct {
	*text.Texts

	HospitalName string // "": the hospital is not known
	Zone         *time.Location
}

// NewWriter returns a writer for a hospital. It writes in UTC if the hospital is not known.
func NewWriter(t *text.Texts, hospitals Hospitals, hospital string) *Writer {
	p := &Writer{Texts: t, Zone: time.UTC}
	if name, zone, ok := hospitals.Hospital(hospital); ok {
		p.HospitalName, p.Zone = name, zone
	}
	return p
}

// FormatClock writes the hour and minute of an instant.
func (p *Writer) FormatClock(t time.Time) string { return t.In(p.Zone).Format("15:04") }

// FormatInstant writes the hour and minute of an instant; "" for none.
func (p *Writer) FormatInstant(i acuity.Instant) string {
	if i == 0 {
		return ""
	}
	return p.FormatClock(i.Time())
}

// FormatMoment writes an instant that may lie on another day than now; "" for none.
func (p *Writer) FormatMoment(i acuity.Instant, now time.Time) string {
	t, now := i.Time().In(p.Zone), now.In(p.Zone)
	switch {
	case i == 0:
		return ""
	case t.YearDay() == now.YearDay() && t.Year() == now.Year():
		return t.Format("15:04")
	case now.Sub(t).Abs() < 7*24*time.Hour:
		return p.FormatDate(t) + " " + t.Format("15:04")
	}
	return p.FormatDate(t)
}

// FormatDate writes the day of an instant.
func (p *Writer) FormatDate(t time.Time) string {
	t = t.In(p.Zone)
	return p.T("date", "day", t.Day(), "month", p.T("month."+strconv.Itoa(int(t.Month()))))
}
