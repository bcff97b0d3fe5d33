package stream

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// FullestDisk finds the cluster's disk with the smallest free fraction, and returns its broker and that fraction,
// from 0 to 1. It returns an error if no broker reports the size of its disks. The embedded broker and brokers before
// version 3.3 never report it, and other brokers require the permission Describe on the cluster.
func FullestDisk(ctx context.Context, c *Cluster) (broker int32, free float64, err error) {
	free = 2 // larger than any fraction
	request := kmsg.NewPtrDescribeLogDirsRequest()
	request.Topics = []kmsg.DescribeLogDirsRequestTopic{} // no topics: only the disks matter
	for _, shard := range c.client.RequestSharded(ctx, request) {
		answer, ok := shard.Resp.(*kmsg.DescribeLogDirsResponse)
		if shard.Err != nil || !ok {
			err = errors.Join(err, shard.Err)
			continue
		}
		for i := range answer.Dirs {
			usable, total := answer.Dirs[i].UsableBytes, answer.Dirs[i].TotalBytes
			if part := float64(usable) / float64(total); total > 0 && usable >= 0 && part < free {
				broker, free = shard.Meta.NodeID, part
			}
		}
	}
	switch {
	case free <= 1:
		return broker, free, nil
	case err == nil:
		err = errors.New("no broker reports the size of its disks")
	}
	return 0, 0, fmt.Errorf("describe disks: %w", err)
}
