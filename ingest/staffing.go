package ingest

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"svc/acuity"
	"svc/internal/httpapi"
)

const planAhead = 24 * time.Hour // how far in the future a staffing plan may begin

type staffingAnswer struct {
	common
	NursesOnDuty       int32 `json:"nursesOnDuty"`
	CallStaffAvailable *bool `json:"callStaffAvailable"`
}

func (s *server) staffing(w http.ResponseWriter, r *http.Request) {
	got, ok := s.submitBody(w, r, acuity.ChannelStaffing, func(in *reader, body []byte, o *acuity.Observation) {
		o.Staffing = in.staffing(body)
	})
	if !ok {
		return
	}
	staffing := got.observation.Staffing
	answer := staffingAnswer{common: got.answer(), NursesOnDuty: staffing.Nurses}
	if staffing.Call != acuity.Unsaid {
		call := staffing.Call == acuity.Yes
		answer.CallStaffAvailable = &call
	}
	httpapi.OK(w, r, answer)
}

func (r *reader) staffing(body []byte) *acuity.Staffing {
	b, ok := r.open(body, "", shapeOf[staffingShape]())
	if !ok {
		return nil
	}
	defer b.close()
	nurses, _ := b.integer("nursesOnDuty")
	s := &acuity.Staffing{
		AsOf:   b.resolve(b.plan("asOf")),
		Nurses: int32(nurses), //nolint:gosec // within the bounds of the shape
		Call:   b.boolean("callStaffAvailable"),
	}
	if s.AsOf == 0 {
		s.AsOf = r.now
	}
	if s.AsOf.Sub(r.now) > planAhead {
		b.fault("asOf", "max:24h ahead")
	}
	return s
}

// pastStaffing reads the staffing of past hours. A coarse asOf, such as 07:00 without seconds, means the start of its
// interval, so that staffing as of 07:00 counts for the whole hour.
func (o object) pastStaffing() []acuity.Staffing {
	list, _ := o.list("staffing")
	all := make([]acuity.Staffing, 0, len(list))
	known := make(map[acuity.Instant]acuity.Staffing, len(list))
	for in := range o.each("staffing", list) {
		nurses, _ := in.integer("nursesOnDuty")
		s := acuity.Staffing{
			AsOf:   in.plan("asOf").From,
			Nurses: int32(nurses), //nolint:gosec // within the bounds of the shape
			Call:   in.boolean("callStaffAvailable"),
		}
		switch other, twice := known[s.AsOf]; {
		case s.AsOf == 0: // the fault is already reported
		case s.AsOf.Sub(o.now) > maxSkew:
			in.fault(in.at("asOf"), "max:now")
		case twice && other != s:
			in.fault(in.at("asOf"), "unique")
		case !twice:
			known[s.AsOf] = s
			all = append(all, s)
		}
	}
	return all
}

type rosterAnswer struct {
	common
	Nurses   int          `json:"nurses"`
	SkillMix skillMix     `json:"skillMix"`
	Tenure   tenure       `json:"tenure"`
	AsOf     httpapi.Time `json:"asOf"`
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
	got, ok := s.submitBody(w, r, acuity.ChannelRoster, func(in *reader, body []byte, o *acuity.Observation) { o.Roster = in.roster(body) })
	if !ok {
		return
	}
	roster := got.observation.Roster
	mix, years := makeupAnswer(roster.Makeup())
	httpapi.OK(w, r, rosterAnswer{
		common: got.answer(), Nurses: len(roster.Nurses), SkillMix: mix,
		Tenure: years, AsOf: httpapi.Time(roster.AsOf.Time()),
	})
}

func (r *reader) roster(body []byte) *acuity.Roster {
	b, ok := r.open(body, "", shapeOf[rosterShape]())
	if !ok {
		return nil
	}
	defer b.close()
	roster := &acuity.Roster{AsOf: b.asOf()}
	list, _ := b.list("nurses")
	listed := map[string]int{} // index of each nurse by external id
	for in := range b.each("nurses", list) {
		n := in.nurse()
		if i, again := listed[n.ExternalID]; again && n.ExternalID != "" {
			in.warn("nurse_twice", in.path)
			addEntry(&roster.Nurses[i], &n)
			continue
		}
		listed[n.ExternalID] = len(roster.Nurses)
		roster.Nurses = append(roster.Nurses, n)
	}
	return roster
}

// addEntry adds a further entry of the same nurse, such as that for another assignment. Counted as two nurses, they
// could hide that a nurse is missing.
func addEntry(n, further *acuity.RosterNurse) {
	for _, room := range further.Rooms {
		if !slices.Contains(n.Rooms, room) {
			n.Rooms = append(n.Rooms, room)
		}
	}
	n.JobCode = cmp.Or(n.JobCode, further.JobCode)
	n.HiredDays = cmp.Or(n.HiredDays, further.HiredDays)
	if n.Skill < 0 {
		n.Skill = further.Skill
	}
}

// asOf returns the time of a snapshot or, if that time is missing or in the future, the time of receipt. The result
// then refines the coarse times in the snapshot.
func (o object) asOf() acuity.Instant {
	at := o.time("asOf")
	if at == 0 || at > o.now {
		at = o.now
	}
	o.beside = acuity.Moment{From: at}
	return at
}

func (o object) nurse() acuity.RosterNurse {
	n := acuity.RosterNurse{
		ExternalID: o.text("externalId"),
		JobCode:    o.text("jobCode"),
		Skill:      -1,
	}
	o.unread("name") // accepted, never stored
	if skill, ok := o.integer("skillLevel"); ok {
		n.Skill = int8(skill) //nolint:gosec // within the bounds
	}
	n.HiredDays = o.days("hireDate")
	if today := daysOf(o.now); n.HiredDays > today+1 { // it may already be tomorrow in the sender's time zone
		o.warn("time_in_future", o.at("hireDate"))
		n.HiredDays = today
	}
	for _, id := range o.integers("assignedRoomIds") {
		n.Rooms = append(n.Rooms, int32(id)) //nolint:gosec // within the bounds
	}
	return n
}

// days parses a date, or the date in a date-time, as days since the Unix epoch.
func (o object) days(name string) int32 {
	text := o.text(name)
	if text == "" {
		return 0
	}
	m, ok := parseTime([]byte(text[:min(len(text), len("2006-01-02"))]), time.UTC)
	if _, whole := parseTime([]byte(text), time.UTC); !ok || !whole {
		o.fault(o.at(name), "date")
		return 0
	}
	return daysOf(m.From)
}

func daysOf(at acuity.Instant) int32 {
	return int32(at.Time().Unix() / (24 * 60 * 60)) //nolint:gosec // years 1900 to 2199
}

// makeupAnswer converts the makeup to its form in the response.
func makeupAnswer(m acuity.Makeup) (mix skillMix, years tenure) {
	mix = skillMix{m.Novice, m.Experienced, m.Expert, m.Unrated}
	years = tenure{m.Under1, m.From1to5, m.From5to10, m.Over10, m.Unhired, nil}
	if m.Median >= 0 {
		median := float64(m.Median) / 10
		years.MedianYears = &median
	}
	return mix, years
}

type rosterShape struct {
	AsOf   string       `json:"asOf,omitempty" pattern:"time"`
	Nurses []nurseShape `json:"nurses" maxItems:"500"`
}

type nurseShape struct {
	ExternalID      string  `json:"externalId,omitempty" maxLength:"200"`
	Name            string  `json:"name,omitempty" doc:"Accepted but never stored."`
	JobCode         string  `json:"jobCode,omitempty" maxLength:"64"`
	SkillLevel      int     `json:"skillLevel,omitempty" minimum:"0" maximum:"2" doc:"0 novice, 1 experienced, 2 expert or charge."`
	HireDate        string  `json:"hireDate,omitempty" pattern:"day"`
	AssignedRoomIDs []int32 `json:"assignedRoomIds,omitempty" maxItems:"50" minimum:"0" maximum:"2147483647"`
}

type pastStaffingShape struct {
	AsOf               string `json:"asOf" pattern:"time" doc:"Start of the entry; must not be in the future. Entries that start more than 28 days ago are ignored with a warning."`
	NursesOnDuty       int32  `json:"nursesOnDuty" minimum:"0" maximum:"1000"`
	CallStaffAvailable bool   `json:"callStaffAvailable,omitempty" doc:"Default: as in the previous entry."`
}

type staffingShape struct {
	NursesOnDuty       int32  `json:"nursesOnDuty" minimum:"0" maximum:"1000"`
	CallStaffAvailable bool   `json:"callStaffAvailable,omitempty" doc:"Default: unchanged."`
	AsOf               string `json:"asOf,omitempty" pattern:"time"`
}
