package ingest

import (
	"net/http"
	"strings"

	"svc/acuity"
	"svc/acuity/hospital"
	"svc/internal/httpapi"
)

type batchAnswer struct {
	common
	Counts  batchCounts   `json:"counts"`
	Results []batchResult `json:"results"` // one per event, in the order of the request
}

type batchCounts struct {
	Received   int `json:"received"`
	Applied    int `json:"applied"`
	Duplicates int `json:"duplicates"`
	Ignored    int `json:"ignored"`
	Rejected   int `json:"rejected"`
}

type batchResult struct {
	Index  int         `json:"index"`
	Status string      `json:"status"` // applied duplicate ignored rejected pending
	Error  *batchError `json:"error,omitempty"`
}

type batchError struct {
	Code    string           `json:"code"`
	Message string           `json:"message"`
	Details []httpapi.Detail `json:"details,omitempty"`
}

func (s *server) batch(w http.ResponseWriter, r *http.Request) {
	body, ok := readJSON(w, r, maxBatchBody)
	if !ok {
		return
	}
	o := s.observe(r, acuity.ChannelBatch)
	in := s.reader(o)
	results := in.batch(body, o)
	if problem := in.problem(); problem != nil {
		httpapi.Fail(w, r, *problem)
		return
	}
	got := nothingAppended
	if len(o.Events) > 0 {
		if got, ok = s.submit(w, r, in, o); !ok {
			return
		}
	} else {
		s.reportRefused(o, requestID(r), 1, in.drainNotices()...)
	}
	answer := batchAnswer{common: in.answer(got), Results: results}
	answer.setStatuses(got)
	httpapi.OK(w, r, answer)
}

// batch reads the events of a body. Good ones go into the observation, bad ones into the
// results. The reader collects faults of the body as a whole.
func (r *reader) batch(body []byte, o *acuity.Observation) []batchResult {
	b, ok := r.open(body, "", shapeOf[batchShape]())
	if !ok {
		return nil
	}
	defer b.close()
	list, _ := b.list("events")
	results := make([]batchResult, len(list))
	o.Events = make([]acuity.Event, 0, len(list))
	for i, raw := range list {
		results[i].Index = i
		one := *r
		one.faults, one.misfits, one.warnings = nil, nil, nil
		event := one.event(raw, item("events", i))
		r.space = one.space[:len(r.space)] // the event is read, so its fields are no longer needed
		for _, w := range one.warnings {
			r.warn(w.Code, w.Path)
		}
		if p := one.problem(); p != nil {
			results[i].Status = outcomes[acuity.Rejected]
			for _, d := range p.Details {
				r.addNotice(Notice{Refused: true, Code: d.Rule, Path: d.Path})
			}
			results[i].Error = &batchError{Code: p.Kind.Code(), Message: p.Message, Details: p.Details}
			continue
		}
		o.Events = append(o.Events, r.prepareEvent(event, "events", i))
	}
	return results
}

// prepareEvent makes an event ready for the observation. Its warnings count the events
// of the body. prepareEvent rewrites their paths to count the events of the
// observation, as warnings of the processor do.
func (r *reader) prepareEvent(e acuity.Event, list string, i int) acuity.Event {
	there, here := item(list, i), item("events", len(r.places.origins))
	for n, w := range e.Warnings {
		e.Warnings[n].Path = here + strings.TrimPrefix(w.Path, there)
	}
	r.places.list = list
	r.places.origins = append(r.places.origins, i)
	return e
}

// setStatuses sets the status of each good event from the change, and the counts.
func (a *batchAnswer) setStatuses(got receipt) {
	a.Counts.Received = len(a.Results)
	items := got.change.Items
	for i := range a.Results {
		result := &a.Results[i]
		switch {
		case result.Error != nil:
			a.Counts.Rejected++
			continue
		case len(items) == 0:
			result.Status = "pending"
			continue
		}
		it := items[0]
		items = items[1:]
		result.Status = outcomes[it.Outcome]
		switch it.Outcome {
		case acuity.Duplicate:
			a.Counts.Duplicates++
		case acuity.Ignored:
			a.Counts.Ignored++
		case acuity.Rejected:
			a.Counts.Rejected++
			result.Error = &batchError{Code: httpapi.Unprocessable.Code(), Message: "The event was refused: " + it.Reason + "."}
			if rule, over := hospital.Exceeded(it.Reason); over {
				result.Error.Details = []httpapi.Detail{{Path: strings.TrimPrefix(fieldOfReason[it.Reason], "."), Rule: rule}}
			}
		case acuity.Applied, acuity.Time:
			a.Counts.Applied++
		}
	}
}
