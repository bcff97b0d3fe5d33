package ingest

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"svc/acuity"
	"svc/internal/httpapi"
	"svc/internal/httpapi/limit"
	"svc/internal/httpapi/problem"
)

// Maximum waits for a sender whose hospital exceeds its share of the CPUs. An HTTP response can ask the sender to
// retry later. MLLP has no such response, but its peers repeat messages that are not acknowledged.
const (
	enterPatience   = time.Second
	messagePatience = 5 * time.Second
)

type shareKey struct{} // key of the *limit.Share in the context of a request

// serveShared serves a request with a body. If the body is large, compressed or of unknown length, the request first
// waits for the hospital's bucket to fill, and for one of the hospital's slots for large bodies. If the wait would be
// too long, the response is 429, and none of the body is read.
func (s *server) serveShared(w http.ResponseWriter, r *http.Request, serve func(r *http.Request)) {
	if s.Share == nil {
		serve(r)
		return
	}
	if r.ContentLength < 0 || r.ContentLength > limit.LargeBytes || len(r.Header["Content-Encoding"]) > 0 {
		done, busy := s.Share.Open(r.Context(), httpapi.Caller(r.Context()).Hospital)
		if busy != nil {
			httpapi.Fail(w, r, *beyondShare(busy))
			return
		}
		defer done()
	}
	serve(r.WithContext(context.WithValue(r.Context(), shareKey{}, s.Share)))
}

// spendBytes charges the share of the hospital for reading a body. Bodies from administrators are not charged.
func spendBytes(r *http.Request, length int) *httpapi.Problem {
	share, ok := r.Context().Value(shareKey{}).(*limit.Share)
	if !ok {
		return nil
	}
	if busy := share.Spend(r.Context(), httpapi.Caller(r.Context()).Hospital, length, 0); busy != nil {
		return beyondShare(busy)
	}
	return nil
}

// Estimates of the processor's work, in units of the simplest fact.
const (
	eventFacts = 2 // an event opens or moves a visit
	rowFacts   = 4 // a census row reports a room, its visit and its factors
)

// factsOf returns the cost of an observation in units of the simplest fact.
func factsOf(o *acuity.Observation) int {
	n := eventFacts*len(o.Events) + len(o.Signals) + len(o.References) +
		len(o.Mappings) + len(o.Rules) + len(o.Locations) + len(o.Marks)
	n += len(o.PastStaffing)
	if o.Census != nil {
		n += rowFacts * len(o.Census.Rooms)
	}
	if o.Roster != nil {
		n += len(o.Roster.Nurses)
	}
	return n
}

// beyondShare returns the response to a sender whose hospital exceeds its share.
func beyondShare(b *limit.Busy) *httpapi.Problem {
	p := &httpapi.Problem{Kind: problem.RateLimited, RetryAfter: b.Retry}
	switch b.Reason {
	case limit.AtOnce:
		p.Message = "Other large bodies of the hospital are being read; retry after the time in Retry-After."
		p.Details = []httpapi.Detail{{Path: "", Rule: "largeBodiesAtOnce:" + strconv.Itoa(limit.LargeAtOnce)}}
	case limit.Large:
		p.Message = "The hospital exceeded its share of large bodies; retry after the time in Retry-After."
		p.Details = []httpapi.Detail{{Path: "", Rule: "factsPerSecond:" + strconv.Itoa(limit.FactsPerSecond)}}
	case limit.Unapplied:
		p.Message = "The hospital sends facts faster than they are applied; retry after the time in Retry-After."
		p.Details = []httpapi.Detail{{Path: "", Rule: "factsUnapplied:" + strconv.Itoa(limit.FactsUnapplied)}}
	}
	return p
}
