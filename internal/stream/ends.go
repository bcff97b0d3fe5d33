package stream

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Ends asks where partitions of a topic end: the offset behind the last record that
// is acknowledged. A leader that does not answer before ctx ends holds up no other:
// its partitions are missing, and the error says why.
func (c *Cluster) Ends(ctx context.Context, topic string, partitions []int32) (map[int32]int64, error) {
	if !c.Away().IsZero() {
		return nil, ErrAway
	}
	t := kmsg.NewListOffsetsRequestTopic()
	t.Topic = topic
	for _, n := range partitions {
		p := kmsg.NewListOffsetsRequestTopicPartition()
		p.Partition, p.Timestamp, p.CurrentLeaderEpoch = n, -1, -1
		t.Partitions = append(t.Partitions, p)
	}
	request := kmsg.NewPtrListOffsetsRequest()
	request.ReplicaID = -1
	request.Topics = append(request.Topics, t)
	ends := make(map[int32]int64, len(partitions))
	var fault error
	for _, shard := range c.client.RequestSharded(ctx, request) {
		answer, ok := shard.Resp.(*kmsg.ListOffsetsResponse)
		if shard.Err != nil || !ok {
			fault = errors.Join(fault, shard.Err)
			continue
		}
		for i := range answer.Topics {
			for _, p := range answer.Topics[i].Partitions {
				if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
					fault = errors.Join(fault, fmt.Errorf("partition %d: %w", p.Partition, err))
					continue
				}
				ends[p.Partition] = p.Offset
			}
		}
	}
	if fault != nil {
		return ends, fmt.Errorf("list ends of %s: %w", topic, fault)
	}
	return ends, nil
}
