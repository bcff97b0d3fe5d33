package ingest

import (
	"net/http"
	"slices"
	"time"

	"svc/acuity"
	"svc/internal/api"
)

const (
	maxRosterNurses  = 500
	maxAssignedRooms = 50
)

type rosterAnswer struct {
	common
	Nurses   int      `json:"nurses"`
	SkillMix skillMix `json:"skillMix"`
	Tenure   tenure   `json:"tenure"`
	AsOf     api.Time `json:"asOf"`
}

type skillMix struct {
	Novice      int `json:"novice"`
	Experienced int `json:"experienced"`
	Expert      int `json:"expert"`
	Unknown     int `json:"unknown"`
}

type tenure struct {
	Under1      int      `json:"under1y"`
	From1to5    int      `json:"y1to5"`
	From5to10   int      `json:"y5to10"`
	Over10      int      `json:"over10y"`
	Unknown     int      `json:"unknown"`
	MedianYears *float64 `json:"medianYears"` // null if no hire date is known
}

func (s *server) roster(w http.ResponseWriter, r *http.Request) {
	body, ok := readJSON(w, r, maxBody)
	if !ok {
		return
	}
	o := s.observe(r, acuity.ChannelRoster)
	in := s.reader(o)
	o.Roster = in.roster(body)
	if problem := in.problem(); problem != nil {
		api.Fail(w, r, *problem)
		return
	}
	got, ok := s.submit(w, r, o)
	if !ok {
		return
	}
	api.OK(w, r, rosterAnswer{
		common: in.answer(got), Nurses: len(o.Roster.Nurses), SkillMix: skillMixOf(o.Roster.Nurses),
		Tenure: tenureOf(o.Roster.Nurses, o.ReceivedAt), AsOf: api.Time(o.Roster.AsOf.Time()),
	})
}

func (r *reader) roster(body []byte) *acuity.Roster {
	b, ok := r.open(body, "")
	if !ok {
		return nil
	}
	defer b.close()
	roster := &acuity.Roster{AsOf: b.asOf()}
	list, _ := b.list("nurses", required, maxRosterNurses)
	for i, raw := range list {
		if in, ok := b.open(raw, item("nurses", i)); ok {
			roster.Nurses = append(roster.Nurses, in.nurse())
		}
	}
	return roster
}

// asOf reads the time of a snapshot: now if it is missing or lies ahead.
func (o object) asOf() acuity.Instant {
	at := o.time("asOf", optional).at
	if at == 0 || at > o.now {
		return o.now
	}
	return at
}

func (o object) nurse() acuity.RosterNurse {
	defer o.close()
	n := acuity.RosterNurse{
		ExternalID: o.text("externalId", optional, maxID),
		JobCode:    o.text("jobCode", optional, maxName),
		Skill:      -1,
	}
	o.unread("name") // known, and never taken in
	if skill, ok := o.integer("skillLevel", optional, 2); ok {
		n.Skill = int8(skill) //nolint:gosec // within the bounds
	}
	n.HiredDays = o.days("hireDate")
	rooms, _ := o.list("assignedRoomIds", optional, maxAssignedRooms)
	for i, raw := range rooms {
		if id, ok := o.whole(raw, item(o.at("assignedRoomIds"), i), maxRoomID); ok {
			n.Rooms = append(n.Rooms, int32(id)) //nolint:gosec // within the bounds
		}
	}
	return n
}

// days reads a date, or the date of a date-time, as days since the epoch.
func (o object) days(name string) int32 {
	text := o.text(name, optional, maxName)
	if text == "" {
		return 0
	}
	m, ok := parseTime(text[:min(len(text), len("2006-01-02"))], time.UTC)
	if _, whole := parseTime(text, time.UTC); !ok || !whole {
		o.fault(o.at(name), "date")
		return 0
	}
	return int32(m.at.Time().Unix() / (24 * 60 * 60)) //nolint:gosec // years 1900 to 2199
}

func skillMixOf(nurses []acuity.RosterNurse) (mix skillMix) {
	for _, n := range nurses {
		switch n.Skill {
		case 0:
			mix.Novice++
		case 1:
			mix.Experienced++
		case 2:
			mix.Expert++
		default:
			mix.Unknown++
		}
	}
	return mix
}

// yearDays is the mean length of a year in the Gregorian calendar.
const yearDays = 365.2425

func tenureOf(nurses []acuity.RosterNurse, now acuity.Instant) (t tenure) {
	today := now.Time()
	var known []float64
	for _, n := range nurses {
		if n.HiredDays == 0 {
			t.Unknown++
			continue
		}
		hired := time.Unix(int64(n.HiredDays)*24*60*60, 0).UTC()
		known = append(known, max(today.Sub(hired).Hours(), 0)/24/yearDays)
		switch { // by anniversary, as people count
		case hired.AddDate(1, 0, 0).After(today):
			t.Under1++
		case hired.AddDate(5, 0, 0).After(today):
			t.From1to5++
		case hired.AddDate(10, 0, 0).After(today):
			t.From5to10++
		default:
			t.Over10++
		}
	}
	if len(known) > 0 {
		slices.Sort(known)
		middle := (known[(len(known)-1)/2] + known[len(known)/2]) / 2
		rounded := float64(int(middle*10+0.5)) / 10
		t.MedianYears = &rounded
	}
	return t
}
