package stream

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// storeNotes reads the notes from the metadata of the committed offsets, and keeps them for Assign.
func (m *member) storeNotes(_ context.Context, _ *kgo.Client, resp *kmsg.OffsetFetchResponse) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.eachNote(resp, func(n int32, note string) { m.notes[n] = note })
	return nil
}

// addAssigned calls Assign for newly assigned partitions, in parallel, before their first record is fetched. An error
// rejects the assignment, and the member rejoins the group.
func (m *member) addAssigned(ctx context.Context, all offsets) (offsets, error) {
	type taken struct {
		partition  int32
		next, side int64
	}
	var want []taken
	for n := range all[m.topic] {
		want = append(want, taken{partition: n})
	}
	err := Parallel(len(want), func(i int) (err error) {
		w := &want[i]
		m.mu.Lock()
		note := m.notes[w.partition]
		m.mu.Unlock()
		w.next, w.side, err = m.sharer.Assign(ctx, w.partition, all[m.topic][w.partition].EpochOffset().Offset, note)
		return err
	})
	var ends map[int32]int64
	if err == nil { // the ends are read after Assign, when no other member can still commit a position of these partitions
		ends, err = m.cluster.ends(ctx, m.topic)
	}
	if err != nil {
		var partitions []int32
		for _, w := range want {
			partitions = append(partitions, w.partition)
		}
		m.sharer.Lost(partitions)
		m.log.WarnContext(ctx, "partitions not acquired yet", "error", advised(err))
		return nil, fmt.Errorf("acquire: %w", err)
	}
	side := map[int32]kgo.Offset{}
	m.mu.Lock()
	for _, w := range want {
		all[m.topic][w.partition] = kgo.NewOffset().At(w.next)
		side[w.partition] = kgo.NewOffset().At(w.side)
		m.ours[w.partition] = true
		if w.next >= ends[w.partition] {
			m.read[w.partition] = w.next
		}
		delete(m.committed, w.partition)
	}
	m.mu.Unlock()
	m.side.AddConsumePartitions(map[string]map[int32]kgo.Offset{m.sideTopic: side})
	return all, nil
}

func (m *member) owns(partition int32) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ours[partition]
}

// assignedAtEnd returns, once, the partitions that had no records to read when they were assigned, with their
// positions.
func (m *member) assignedAtEnd() map[int32]int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := m.read
	m.read = map[int32]int64{}
	return all
}

func (m *member) list() (partitions []int32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for n := range m.ours {
		partitions = append(partitions, n)
	}
	return partitions
}

// revoke revokes partitions and commits their positions.
func (m *member) revoke(ctx context.Context, gone []int32) {
	if gone = m.only(gone); len(gone) == 0 {
		return
	}
	m.sharer.Revoke(ctx, gone)
	if err := m.commit(ctx); err != nil {
		m.log.WarnContext(ctx, "last positions not committed", "error", err)
	}
	m.drop(gone)
	m.sharer.Lost(gone)
}

func (m *member) lose(gone []int32) {
	if gone = m.only(gone); len(gone) > 0 {
		m.log.Warn("partitions lost to another process", "topic", m.topic, "partitions", gone)
		m.sharer.Lost(gone)
		m.drop(gone)
	}
}

// only returns the partitions that this member owns.
func (m *member) only(partitions []int32) (ours []int32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, n := range partitions {
		if m.ours[n] {
			ours = append(ours, n)
		}
	}
	return ours
}

func (m *member) drop(gone []int32) {
	m.mu.Lock()
	for _, n := range gone {
		delete(m.ours, n)
		delete(m.read, n)
		delete(m.committed, n)
	}
	m.mu.Unlock()
	m.side.RemoveConsumePartitions(map[string][]int32{m.sideTopic: gone})
}

// commit commits the positions that have changed.
func (m *member) commit(ctx context.Context) error {
	marks := m.sharer.Positions()
	m.mu.Lock()
	for n, mark := range marks {
		if !m.ours[n] || m.committed[n] == mark {
			delete(marks, n)
		}
	}
	m.mu.Unlock()
	if len(marks) == 0 {
		return nil
	}
	at := map[int32]kgo.EpochOffset{}
	for n, mark := range marks {
		at[n] = kgo.EpochOffset{Epoch: -1, Offset: mark.Offset}
	}
	within, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	within = kgo.PreCommitFnContext(within, func(req *kmsg.OffsetCommitRequest) error {
		for i := range req.Topics {
			for j := range req.Topics[i].Partitions {
				p := &req.Topics[i].Partitions[j]
				note := marks[p.Partition].Note
				p.Metadata = &note
			}
		}
		return nil
	})
	var fault error
	stored := func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse, err error) {
		fault = err
		if err != nil {
			return
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		for _, t := range resp.Topics {
			for _, p := range t.Partitions {
				if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
					fault = err
				} else {
					m.committed[p.Partition] = marks[p.Partition]
				}
			}
		}
	}
	m.client.CommitOffsetsSync(within, map[string]map[int32]kgo.EpochOffset{m.topic: at}, stored)
	if fault != nil {
		return fmt.Errorf("commit: %w", fault)
	}
	return nil
}
