package ingest

import (
	"net/http"
	"time"

	"svc/acuity"
	"svc/internal/httpapi"
)

const planAhead = 24 * time.Hour // how far ahead a staffing plan may begin

type staffingAnswer struct {
	common
	NursesOnDuty       int32 `json:"nursesOnDuty"`
	CallStaffAvailable *bool `json:"callStaffAvailable"`
}

func (s *server) staffing(w http.ResponseWriter, r *http.Request) {
	got, ok := s.submitBody(w, r, acuity.ChannelStaffing, func(in *reader, body []byte, o *acuity.Observation) { o.Staffing = in.staffing(body) })
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
		AsOf:   b.plan("asOf").at,
		Nurses: int32(nurses), //nolint:gosec // within the bounds
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
