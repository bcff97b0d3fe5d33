package stream

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// mark is the last checkpoint of a changelog partition; a restore may begin there. The mark is the metadata of each
// offset commit, so it is committed together with the records of the checkpoint.
type mark struct {
	from int64  // offset of the checkpoint's first record; 0: no checkpoint yet
	live int64  // size of the checkpoint in bytes
	log  string // topic id of the changelog; a mark of another changelog is ignored
}

func (m mark) encode() *string {
	s := ""
	if m.from > 0 {
		s = fmt.Sprintf("checkpoint %d %d %s", m.from, m.live, m.log)
	}
	return &s
}

// decodeMark decodes the metadata of a commit. It returns the zero mark for anything other than a mark of this log.
func decodeMark(s, log string) mark {
	var m mark
	if n, err := fmt.Sscanf(s, "checkpoint %d %d %s", &m.from, &m.live, &m.log); err != nil || n != 3 || m.log != log || m.from < 0 {
		return mark{}
	}
	return m
}

// checkpointBytes is the minimum growth of a changelog partition between two checkpoints.
const checkpointBytes = 64 << 20

// sliceBytes is how much of a checkpoint one transaction writes: about 5 ms of work.
const sliceBytes = 256 << 10

// rewrite is a checkpoint in progress. It writes the live state in slices, between other changes. A restore reads
// from the first record of the checkpoint on, so it also reads every change that was made after the checkpoint began.
// A slice may therefore contain state that is newer than the beginning of the checkpoint.
type rewrite struct {
	next func(emit func(key, value []byte)) (more bool, err error)
	over bool  // whether the iteration is complete
	from int64 // offset of the first record written; 0: none yet
	live int64 // bytes written

	first *kgo.Record // first record of the rewrite in the current transaction; nil: none yet
}

// emitSlice emits the next slice of the live state. emit returns the record that it creates.
func (w *rewrite) emitSlice(task Task, emit func(key, value []byte) *kgo.Record) error {
	if w.next == nil {
		w.next = task.Live()
	}
	n := 0
	for n < sliceBytes && !w.over {
		more, err := w.next(func(key, value []byte) {
			n += len(key) + len(value)
			if r := emit(key, value); w.first == nil {
				w.first = r
			}
		})
		if err != nil {
			return err
		}
		w.over = !more
	}
	w.live += int64(n)
	return nil
}

// storeStart stores the offset of the first record of the rewrite. It must be called when the records of the current
// transaction have their offsets.
func (w *rewrite) storeStart() {
	if w == nil || w.first == nil {
		return
	}
	if w.from == 0 {
		w.from = w.first.Offset
	}
	w.first = nil
}

func (w *rewrite) done() bool { return w != nil && w.over }

// nextMark returns the mark that the current transaction commits.
func (p *part) nextMark() mark {
	if !p.rewrite.done() || p.rewrite.from == 0 {
		return p.mark
	}
	return mark{from: p.rewrite.from, live: p.rewrite.live, log: p.mark.log}
}

// trim deletes the records of a changelog partition before an offset, except those that another reader still needs
// according to Keep. Without Keep, trim does nothing, because the broker compacts the changelog.
func (l *loop) trim(ctx context.Context, partition int32, before int64) {
	if l.cfg.Keep == nil {
		return
	}
	needed, err := l.cfg.Keep(ctx, partition)
	if err == nil {
		offsets := kadm.Offsets{}
		offsets.Add(kadm.Offset{Topic: l.cfg.Changelog, Partition: partition, At: min(before, needed)})
		_, err = l.cluster.admin.DeleteRecords(ctx, offsets)
	}
	if err != nil {
		l.log.WarnContext(ctx, "changelog not trimmed", "partition", partition, "error", err)
	}
}

// copied is the header that marks the records of a checkpoint. Readers that use a changelog as history skip these
// records.
var copied = []kgo.RecordHeader{{Key: "copy"}}

func isCopy(r *kgo.Record) bool { return len(r.Headers) == 1 && r.Headers[0].Key == copied[0].Key }
