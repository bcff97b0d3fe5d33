package web_test

import (
	"strings"
	"time"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/codes"
	"svc/acuity/forecast"
	"svc/acuity/help"
	"svc/internal/admin/layout"
	"svc/readapi"
)

// bed returns an occupied room with the given factors. An id may be followed by "@" and the age of the factor. With
// "empty" or "blocked" instead of a factor, bed returns a room in that state.
func bed(id int32, label, area string, factors ...string) acuity.RoomChart {
	r := acuity.RoomChart{ID: id, Label: label, Area: area, Status: acuity.RoomOccupied, Listed: true}
	p := acuity.PatientChart{Visit: "canary-visit", Mother: true, Arrived: ago(6 * time.Hour)}
	for _, text := range factors {
		switch text {
		case "empty":
			r.Status = acuity.RoomEmpty
			return r
		case "blocked":
			r.Status = acuity.RoomBlocked
			return r
		}
		name, since, _ := strings.Cut(text, "@")
		for d := (50 * time.Minute); ; {
			if since != "" {
				var err error
				if d, err = time.ParseDuration(since); err != nil {
					panic(err)
				}
			}
			f, known := catalogue.FactorByID(name)
			if !known {
				panic(name)
			}
			e := acuity.Evidence{Factor: f, Kind: acuity.BySignal, Start: ago(d), Last: ago(d), Source: acuity.Source{Feed: acuity.ChannelClinical, System: codes.RxNorm, Code: "6585"}}
			if f.IsPrimary() {
				e.Kind, e.AssignedBy, e.Source = acuity.ByADT, "census", acuity.Source{Feed: acuity.ChannelADT}
			}
			p.Evidence = append(p.Evidence, e)
			break
		}
	}
	r.Patients = []acuity.PatientChart{p}
	return r
}

// unit returns the sample unit: 24 rooms in four areas.
func unit() *acuity.Chart {
	c := &acuity.Chart{Hospital: "north", Unit: acuity.UnitChart{
		Run:     acuity.LevelRun{Since: ago(24 * time.Minute), Prior: acuity.LevelYellow, HasPrior: true},
		Version: 48213, Since: ago(5 * time.Minute), Clock: ago(5 * time.Minute), ObservedAt: ago(time.Minute),
		Staffing:  []acuity.Staffing{{AsOf: ago(3 * time.Hour), Nurses: 15, Call: acuity.Yes}, {AsOf: acuity.At(half.Add(268 * time.Minute)), Nurses: 14, Call: acuity.Yes}},
		HasCensus: true, CensusAt: ago(4 * time.Minute), TotalRooms: 23, Unplaced: 1,
	}}
	c.Rooms = []acuity.RoomChart{
		bed(1, "T1", "Triage", "triage-initial@12m"), bed(2, "T2", "Triage", "triage-rom@2h"), bed(3, "T3", "Triage", "triage-medical-eval@1h"), bed(4, "T4", "Triage", "empty"),
		bed(5, "L1", "Labor", "labor-standard@3h"), bed(6, "L2", "Labor", "labor-epidural@2h"), bed(7, "L3", "Labor", "labor-induction@5h", "high-mag@3h", "high-preeclampsia@5h"),
		bed(8, "L4", "Labor", "labor-standard@4h", "labor-fhr-cat-ii@20m"), bed(9, "L5", "Labor", "labor-active-lt4@2h"), bed(10, "L6", "Labor", "labor-standard@6h", "labor-fhr-cat-iii@5m"),
		bed(11, "L7", "Labor", "labor-vaginal-birth@27m"), bed(12, "L8", "Labor", "empty"), bed(13, "L9", "Labor", "ap-stable@6h", "high-mag@40m", "high-preeclampsia@6h", "high-gbs-positive@8h"), bed(14, "L10", "Labor", "blocked"),
		bed(15, "OR1", "Operating rooms", "csection-intraop@30m"), bed(16, "OR2", "Operating rooms", "empty"),
		bed(17, "P11", "Postpartum", "pp-csection@82m"), bed(18, "P12", "Postpartum", "pp-couplet@9h"), bed(19, "P13", "Postpartum", "pp-couplet@7h", "pp-csection-day@7h"), bed(20, "P14", "Postpartum", "pp-couplet@20h"),
		bed(21, "P15", "Postpartum", "pp-immediate-recovery-vag@87m"), bed(22, "P16", "Postpartum", "pp-couplet@80h"), bed(23, "P17", "Postpartum", "pp-couplet@11h", "high-bereavement@11h"), bed(24, "P18", "Postpartum", "empty"),
	}
	return c
}

// drawn returns a layout for the 24 rooms that unit returns.
func drawn() *layout.Layout {
	l := &layout.Layout{Columns: 9, Rows: 5}
	at := func(id, x, y int32) { l.Rooms = append(l.Rooms, layout.Place{Room: id, X: x, Y: y, W: 1, H: 1}) }
	for i, p := range [][2]int32{{1, 1}, {2, 1}, {1, 3}, {2, 3}, {3, 1}, {4, 1}, {5, 1}, {6, 1}, {7, 1}, {8, 1}, {9, 1}, {7, 3}, {8, 3}, {9, 3}, {5, 3}, {6, 3}, {1, 5}, {2, 5}, {3, 5}, {4, 5}, {5, 5}, {6, 5}, {7, 5}, {8, 5}} {
		at(int32(i+1), p[0], p[1])
	}
	l.Landmarks = []layout.Landmark{
		{Label: "Triage", X: 1, Y: 2, W: 2, H: 1},
		{Label: "Labor", X: 3, Y: 2, W: 7, H: 1},
		{Label: "Operating rooms", X: 5, Y: 4, W: 2, H: 1},
		{Label: "Postpartum", X: 1, Y: 4, W: 4, H: 1},
		{Label: "Nurses’ station", X: 3, Y: 3, W: 2, H: 1},
		{Label: "Nursery", X: 9, Y: 5, W: 1, H: 1},
	}
	return l
}

// usual sets the data that a unit usually has in addition to its chart: a forecast, a plan, feeds and help.
func usual(u *readapi.Unit) {
	u.Forecast = outlook(float64(u.Verdict.Required)/60, u.Verdict.OnDuty)
	if u.Verdict.OnDuty >= 0 {
		u.Plan = []acuity.Staffing{{AsOf: acuity.At(half.Add(268 * time.Minute)), Nurses: 14}}
	}
	u.Feeds = []readapi.Feed{
		{Channel: "adt", LastReceived: u.At.Add(-12 * time.Second)},
		{Channel: "census", LastReceived: u.At.Add(-4 * time.Minute)},
		{Channel: "clinical", LastReceived: u.At.Add(-31 * time.Second)},
		{Channel: "roster", LastReceived: u.At.Add(-13 * time.Hour), Stale: true},
		{Channel: "staffing", LastReceived: u.At.Add(-22 * time.Minute), Late: true},
	}
	u.Help = []help.Step{
		{Kind: help.Nurse, At: acuity.At(half), Level: acuity.LevelYellow, Shortfall: 1},
		{Kind: help.Nurses, At: acuity.At(half), Level: acuity.LevelYellow},
		{Kind: help.Call, At: acuity.At(half), Level: acuity.LevelOrange, Shortfall: 2},
		{Kind: help.Clock, At: acuity.At(half.Add(20 * time.Minute)), Level: acuity.LevelYellow, Shortfall: 1},
	}
}

func outlook(now float64, onDuty int32) *forecast.Forecast {
	f := &forecast.Forecast{Past: measured(), At: acuity.At(half), Method: forecast.Method, HistoryHours: 600, Calibration: forecast.Calibration{Status: forecast.Calibrated, Coverage80: .81, WindowDays: 28}}
	for i := range f.Hours {
		h := &f.Hours[i]
		h.Start, h.End = acuity.At(half.Add(time.Duration(i)*time.Hour)), acuity.At(half.Add(time.Duration(i+1)*time.Hour))
		likely := now - []float64{.9, 1.2, .9, .4, 1, 1.6, 2, 2.5}[i]
		for q, by := range [...]float64{-2.2, -1.6, -.7, 0, .9, 2.2, 3} {
			h.Nurses[q] = max(likely+by*(1+float64(i)/8), 0)
		}
		h.ShortfallP50, h.ShortfallP90 = -1, -1
		if onDuty >= 0 {
			h.ShortfallP50, h.ShortfallP90 = max(int32(h.Nurses[forecast.P50])+1-onDuty, 0), max(int32(h.Nurses[forecast.P90])+1-onDuty, 0)
		}
		if h.Nurses[forecast.P90] > f.Peak.P90 {
			f.Peak = forecast.Peak{At: h.End, P90: h.Nurses[forecast.P90]}
		}
	}
	for i := range f.Points {
		p := &f.Points[i]
		p.At = acuity.At(half.Add(time.Duration(forecast.PointMinutes[i]) * time.Minute))
		p.Level, p.P = acuity.LevelYellow, [4]int32{20, 560, 400, 20}
		if i >= 5 && i < 8 {
			p.Level, p.P = acuity.LevelOrange, [4]int32{60, 220, 500, 220}
		}
	}
	return f
}

// measured returns measured values for the last four whole hours before the time half.
func measured() (list []forecast.Measured) {
	for i, n := range []catalogue.Demand{13, 14, 15, 17} {
		nurses := int32(15)
		if i < 2 {
			nurses = 16
		}
		list = append(list, forecast.Measured{Hour: acuity.At(half).Hour() - 3 + int32(i), Required: n * catalogue.Nurse, Nurses: nurses})
	}
	return list
}

// rooms returns a unit with n rooms.
func rooms(n int) *acuity.Chart {
	c := unit()
	for i := len(c.Rooms); i < n; i++ {
		r := c.Rooms[i%23]
		r.ID = int32(i + 1)
		r.Label = r.Label[:1] + string(rune('0'+(i/10)%10)) + string(rune('0'+i%10))
		c.Rooms = append(c.Rooms, r)
	}
	c.Unit.TotalRooms = int32(n)
	c.Unit.Staffing[0].Nurses = int32(n) * 3 / 5
	return c
}
