package stream

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Disk is the fullest disk of a cluster.
type Disk struct {
	Broker      int32
	Free, Total int64 // bytes
}

// FullestDisk returns the disk of the cluster with the smallest free part. It returns an error if no
// broker says how large its disks are: the embedded Kafka, brokers before 3.3, or without the right
// Describe on the cluster.
func FullestDisk(ctx context.Context, c *Cluster) (fullest Disk, err error) {
	request := kmsg.NewPtrDescribeLogDirsRequest()
	request.Topics = []kmsg.DescribeLogDirsRequestTopic{} // none: only the disks count
	for _, shard := range c.client.RequestSharded(ctx, request) {
		answer, ok := shard.Resp.(*kmsg.DescribeLogDirsResponse)
		if shard.Err != nil || !ok {
			err = errors.Join(err, shard.Err)
			continue
		}
		for i := range answer.Dirs {
			free, total := answer.Dirs[i].UsableBytes, answer.Dirs[i].TotalBytes
			if total > 0 && free >= 0 && (fullest.Total == 0 || float64(free)*float64(fullest.Total) < float64(fullest.Free)*float64(total)) {
				fullest = Disk{shard.Meta.NodeID, free, total}
			}
		}
	}
	switch {
	case fullest.Total > 0:
		return fullest, nil
	case err == nil:
		err = errors.New("no broker reports the size of its disks")
	}
	return fullest, fmt.Errorf("describe disks: %w", err)
}
