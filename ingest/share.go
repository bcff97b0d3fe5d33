package ingest

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"svc/acuity"
	"svc/internal/httpapi"
	"svc/internal/httpapi/limit"
)

// How long a sender waits for its turn when its hospital is beyond its share of the
// processors. An answer of HTTP can tell to come later; a peer of MLLP cannot be told,
// and sends again what was not acknowledged.
const (
	enterPatience   = time.Second
	messagePatience = 5 * time.Second
)

// shareOf is what a request knows of the share of its hospital.
type shareOf struct {
	server   *server
	hospital string
	done     func() // the body is read, and in the log; nil: it is not large
}

type shareKey struct{}

// shared serves a request with a body. A large one waits until the hospital may have one
// read, or is answered that it comes too early before any of it is read.
func shared(s *server, w http.ResponseWriter, r *http.Request, serve func(r *http.Request)) {
	if s.Share == nil {
		serve(r)
		return
	}
	of := &shareOf{server: s, hospital: httpapi.Caller(r.Context()).Hospital}
	if r.ContentLength < 0 || r.ContentLength > limit.LargeBytes || len(r.Header["Content-Encoding"]) > 0 {
		done, busy := s.Share.Open(r.Context(), of.hospital)
		if busy != nil {
			httpapi.Fail(w, r, *beyondShare(busy))
			return
		}
		defer done()
		of.done = done
	}
	serve(r.WithContext(context.WithValue(r.Context(), shareKey{}, of)))
}

// spendBytes takes what it costs to read a body out of the share of its hospital.
func spendBytes(r *http.Request, length int) *httpapi.Problem {
	of, ok := r.Context().Value(shareKey{}).(*shareOf)
	if !ok {
		return nil
	}
	if busy := of.server.Share.Spend(r.Context(), of.hospital, length, 0); busy != nil {
		return beyondShare(busy)
	}
	return nil
}

// entry is what was let into the log; nil: nobody counts.
type entry struct {
	*limit.Entry
	done func()
}

// Gone says that it is not in the log.
func (e *entry) Gone() {
	if e != nil {
		e.Entry.Gone()
	}
}

// Sent says where in the log it is.
func (e *entry) Sent(partition int32, offset int64) {
	if e == nil {
		return
	}
	e.Entry.Sent(partition, offset)
	if e.done != nil {
		e.done()
	}
}

// enter waits until an observation may go to the log. The error is a *[limit.Busy].
func enter(ctx context.Context, s *server, o *acuity.Observation, patience time.Duration) (*entry, error) {
	if s.Share == nil {
		return nil, nil //nolint:nilnil // nobody counts
	}
	in, busy := s.Share.Enter(ctx, o.Hospital, factsOf(o), patience)
	if busy != nil {
		return nil, busy
	}
	e := &entry{Entry: in}
	if of, ok := ctx.Value(shareKey{}).(*shareOf); ok {
		e.done = of.done
	}
	return e, nil
}

// spendFacts takes what it costs to apply an observation out of the share of its
// hospital. The error is a *[limit.Busy].
func spendFacts(ctx context.Context, s *server, o *acuity.Observation) error {
	if s.Share == nil {
		return nil
	}
	if busy := s.Share.Spend(ctx, o.Hospital, 0, factsOf(o)); busy != nil {
		return busy
	}
	return nil
}

// awaitShare is for a sender that cannot be told to come later: it waits until there is
// enough left of the share of its hospital. The error is a *[limit.Busy].
func awaitShare(ctx context.Context, s *server, hospital string, bytes, facts int) error {
	if s.Share == nil {
		return nil
	}
	if busy := s.Share.Await(ctx, hospital, bytes, facts, messagePatience); busy != nil {
		return busy
	}
	return nil
}

// What a processor has to do for a fact, in the simplest ones.
const (
	eventFacts = 2 // opens or moves a visit
	rowFacts   = 4 // of a census: says of a room, its visit and its factors what is so
)

// factsOf is how much an observation tells.
func factsOf(o *acuity.Observation) int {
	n := eventFacts*len(o.Events) + len(o.Signals) + len(o.Referents) +
		len(o.Mappings) + len(o.Rules) + len(o.Locations) + len(o.Marks)
	if o.Census != nil {
		n += rowFacts * len(o.Census.Rooms)
	}
	if o.Roster != nil {
		n += len(o.Roster.Nurses)
	}
	return n
}

// beyondShare is what the sender is told.
func beyondShare(b *limit.Busy) *httpapi.Problem {
	p := &httpapi.Problem{Kind: httpapi.RateLimited, RetryAfter: b.Retry}
	switch b.Reason {
	case limit.AtOnce:
		p.Message = "The hospital has other large bodies read at the moment; see the header Retry-After."
		p.Details = []httpapi.Detail{{Path: "", Rule: "largeBodiesAtOnce:2"}}
	case limit.Large:
		p.Message = "The hospital has sent more in large bodies than is its share; see the header Retry-After."
		p.Details = []httpapi.Detail{{Path: "", Rule: "factsPerSecond:" + strconv.Itoa(limit.FactsPerSecond)}}
	case limit.Unapplied:
		p.Message = "The hospital sends faster than it is applied; see the header Retry-After."
		p.Details = []httpapi.Detail{{Path: "", Rule: "factsUnapplied:" + strconv.Itoa(limit.FactsUnapplied)}}
	}
	return p
}
