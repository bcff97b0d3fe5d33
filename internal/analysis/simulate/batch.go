package simulate

// BatchEvents is the largest number of events in a batch that the API takes.
const BatchEvents = 500

const (
	batchFrame = 100                // bytes around the events of a batch
	batchBytes = 4<<20 - batchFrame // limit of the events of a batch; the API takes 8 MiB
)

// Batch joins ADT events into bodies of POST /api/ingest/batch. Events of the past are sent in
// batches, because only batches fill the history of the forecast.
type Batch struct {
	body   []byte
	events int
}

// Add adds an event. If the open batch has no room for it, Add returns that batch and begins
// another.
func (b *Batch) Add(event []byte) (full []byte) {
	if b.events == BatchEvents || len(b.body)+len(event) > batchBytes {
		full = b.Flush()
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

// Flush returns the open batch, or nil if it is empty, and begins another.
func (b *Batch) Flush() (body []byte) {
	if b.events == 0 {
		return nil
	}
	body = append(b.body, "]}"...)
	*b = Batch{}
	return body
}
