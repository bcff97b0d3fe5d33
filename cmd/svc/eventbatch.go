package main

// Bounds of one batch of a made-up unit.
const (
	batchEvents = 500                // as POST /api/ingest/batch takes them
	batchFrame  = 100                // bytes around the events of a batch
	batchBytes  = 4<<20 - batchFrame // of the events of a batch; the API takes 8 MiB
)

// eventBatch puts ADT events together into bodies of POST /api/ingest/batch: the way in for events of the past,
// since only they fill the history of the forecast.
type eventBatch struct {
	body   []byte
	events int
}

// add takes an event. It returns the batch before it if there is no room left in that.
func (b *eventBatch) add(event []byte) (full []byte) {
	if b.events == batchEvents || len(b.body)+len(event) > batchBytes {
		full = b.take()
	}
	if b.events == 0 {
		b.body = append(b.body, `{"events":[`...)
	} else {
		b.body = append(b.body, ',')
	}
	b.body = append(b.body, event...)
	b.events++
	return full
}

// take returns the batch that is open, nil if there is none, and begins another.
func (b *eventBatch) take() (body []byte) {
	if b.events == 0 {
		return nil
	}
	body = append(b.body, "]}"...)
	*b = eventBatch{}
	return body
}
