package simulate

import (
	"encoding/json"
	"strings"
	"testing"
)

// Every event is in exactly one batch, even at the size limits of a batch.
func TestEventBatchBounds(t *testing.T) {
	large := []byte(`"` + strings.Repeat("x", batchBytes/2) + `"`)
	for name, list := range map[string][][]byte{"many": make([][]byte, 2*BatchEvents+1), "large": {large, large, large}, "none": nil} {
		var b Batch
		var got int
		for _, event := range list {
			if event == nil {
				event = []byte(`{}`)
			}
			got += countEvents(t, b.Add(event))
		}
		if got += countEvents(t, b.Flush()); got != len(list) || b.Flush() != nil {
			t.Errorf("%s: %d events in batches, want %d", name, got, len(list))
		}
	}
}

func countEvents(t *testing.T, batch []byte) int {
	t.Helper()
	if batch == nil {
		return 0
	}
	var body struct{ Events []json.RawMessage }
	if err := json.Unmarshal(batch, &body); err != nil || len(batch) > 4<<20 || len(body.Events) > BatchEvents {
		t.Errorf("a batch of %d bytes, %d events: %v", len(batch), len(body.Events), err)
	}
	return len(body.Events)
}
