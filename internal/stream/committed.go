package stream

import (
	"context"
	"fmt"
)

// Committed returns how far a consumer group is in a partition: the offset that
// it reads next; 0 if it has said nothing yet.
func (c *Cluster) Committed(ctx context.Context, group, topic string, partition int32) (int64, error) {
	offsets, err := c.admin.FetchOffsets(ctx, group)
	if err == nil {
		err = offsets.Error()
	}
	if err != nil {
		return 0, fmt.Errorf("look how far %s is: %w", group, err)
	}
	at, ok := offsets.Lookup(topic, partition)
	if !ok {
		return 0, nil
	}
	return max(at.At, 0), nil
}
