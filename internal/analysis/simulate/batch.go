package simulate

// BatchEvents is how many events are in a batch at most, as the API takes them.
const BatchEvents = 500

const (
	batchFrame = 100                // bytes around the events of a batch
	batchBytes = 4<<20 - batchFrame // of the events of a batch; the API takes 8 MiB
)

// Batch puts ADT events together into bodies of POST /api/ingest/batch. Events of the
// past go in that way: only they fill the history of the forecast.
type Batch struct {
	body   []byte
	events int
}

// Add takes an event. It returns the batch before it if there is no room left in that.
func (b *Batch) Add(event []byte) (full []byte) {
	if b.events == BatchEvents || len(b.body)+len(event) > batchBytes {
		full = b.Take()
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

// Take returns the batch that is open, nil if there is none, and begins another.
func (b *Batch) Take() (body []byte) {
	if b.events == 0 {
		return nil
	}
	body = append(b.body, "]}"...)
	*b = Batch{}
	return body
}
