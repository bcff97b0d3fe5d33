package main

import (
	"svc/internal/stream"
	"svc/schemas"
)

// topics turns topics of schemas into those of internal/stream. Co-partitioned topics get the
// given number of partitions, the others one.
func topics(prefix string, partitions int32, wanted ...schemas.Topic) []stream.Topic {
	all := make([]stream.Topic, 0, len(wanted))
	for _, t := range wanted {
		topic := stream.Topic{
			Name: prefix + t.Name, Partitions: 1, Compact: t.Compacted, Retention: t.Retention,
			CompactionLag: t.CompactionLag, MaxMessageBytes: t.MaxRecord,
		}
		if t.Copartitioned {
			topic.Partitions = partitions
		}
		all = append(all, topic)
	}
	return all
}
