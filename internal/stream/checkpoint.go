package stream

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// mark is the last checkpoint of a changelog partition: what a restore may
// begin with. It travels as the metadata of each offset commit, so that it is
// true exactly when the records it speaks of are.
type mark struct {
	from int64  // first record of the rewrite; 0: no checkpoint yet
	live int64  // bytes of the rewrite
	log  string // topic id: a mark of another changelog says nothing
}

func (m mark) encode() *string {
	s := ""
	if m.from > 0 {
		s = fmt.Sprintf("checkpoint %d %d %s", m.from, m.live, m.log)
	}
	return &s
}

// decodeMark reads a commit's metadata; anything but a mark of that log is none.
func decodeMark(s, log string) mark {
	var m mark
	if n, err := fmt.Sscanf(s, "checkpoint %d %d %s", &m.from, &m.live, &m.log); err != nil || n != 3 || m.log != log || m.from < 0 {
		return mark{}
	}
	return m
}

// sliceBytes of a checkpoint go with one transaction: some 5 ms of work.
const sliceBytes = 256 << 10

// rewrite is a checkpoint under way. It walks through the live state piece by
// piece while that goes on: what was written since it began stands behind its
// first record anyhow, so each piece may be as new as the transaction it is in.
type rewrite struct {
	next func(emit func(key, value []byte)) (more bool, err error)
	over bool  // there is no more
	from int64 // offset of the first record written; 0: none yet
	live int64 // bytes written

	first *kgo.Record // of what the transaction under way writes of it; nil: none yet
}

// slice emits the next pieces; emit says where it put the record.
func (w *rewrite) slice(task Task, emit func(key, value []byte) *kgo.Record) error {
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

// written learns where the rewrite begins, once what a transaction writes is stored.
func (w *rewrite) written() {
	if w == nil || w.first == nil {
		return
	}
	if w.from == 0 {
		w.from = w.first.Offset
	}
	w.first = nil // its memory is of the transaction
}

func (w *rewrite) done() bool { return w != nil && w.over }

// nextMark is the mark that the transaction under way makes true.
func (p *part) nextMark() mark {
	if !p.rewrite.done() || p.rewrite.from == 0 {
		return p.mark
	}
	return mark{from: p.rewrite.from, live: p.rewrite.live, log: p.mark.log}
}

// trim deletes what nobody needs any more from a log that is never compacted.
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
		l.log.WarnContext(ctx, "trim changelog", "partition", partition, "error", err)
	}
}

// copied marks the records of a checkpoint, so that who reads a changelog as history
// may pass over them.
var copied = []kgo.RecordHeader{{Key: "copy"}}

func isCopy(r *kgo.Record) bool { return len(r.Headers) == 1 && r.Headers[0].Key == copied[0].Key }
