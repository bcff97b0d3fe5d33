package ingest

import (
	"net/http"
	"time"

	"svc/acuity"
	"svc/internal/api"
)

const (
	maxNurses = 1000
	planAhead = 24 * time.Hour // how far ahead a staffing plan may begin
)

type staffingAnswer struct {
	common
	NursesOnDuty       int32 `json:"nursesOnDuty"`
	CallStaffAvailable *bool `json:"callStaffAvailable"`
}

func (s *server) staffing(w http.ResponseWriter, r *http.Request) {
	body, ok := readJSON(w, r, maxBody)
	if !ok {
		return
	}
	o := s.observe(r, acuity.ChannelStaffing)
	in := s.reader(o)
	o.Staffing = in.staffing(body)
	if problem := in.problem(); problem != nil {
		api.Fail(w, r, *problem)
		return
	}
	got, ok := s.submit(w, r, o)
	if !ok {
		return
	}
	answer := staffingAnswer{common: in.answer(got), NursesOnDuty: o.Staffing.Nurses}
	if o.Staffing.Call != acuity.Unsaid {
		call := o.Staffing.Call == acuity.Yes
		answer.CallStaffAvailable = &call
	}
	api.OK(w, r, answer)
}

func (r *reader) staffing(body []byte) *acuity.Staffing {
	b, ok := r.open(body, "")
	if !ok {
		return nil
	}
	defer b.close()
	nurses, _ := b.integer("nursesOnDuty", required, maxNurses)
	s := &acuity.Staffing{
		AsOf:   b.plan("asOf", optional).at,
		Nurses: int32(nurses), //nolint:gosec // within the bounds
		Call:   b.yes("callStaffAvailable"),
	}
	if s.AsOf == 0 {
		s.AsOf = r.now
	}
	if s.AsOf.Sub(r.now) > planAhead {
		b.fault("asOf", "max:24h ahead")
	}
	return s
}
