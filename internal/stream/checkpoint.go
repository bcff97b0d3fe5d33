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

const sliceBytes = 1 << 20 // of a checkpoint, in one transaction

// rewrite is a checkpoint under way: the live keys as they were when it began.
// A key that is written meanwhile needs no rewriting.
type rewrite struct {
	keys   []string
	values map[string][]byte
	from   int64 // offset of the first record written; 0: none yet
	live   int64 // bytes written

	fresh bool // the keys are not listed yet

	first, count int // what the transaction under way writes of it
}

func newRewrite(task Task) (*rewrite, error) {
	w := &rewrite{values: map[string][]byte{}}
	err := task.Live(func(key, value []byte) {
		k := string(key)
		w.keys = append(w.keys, k)
		w.values[k] = value
	})
	return w, err
}

// supersede forgets a key that was just written. A nil rewrite has none.
func (w *rewrite) supersede(key []byte) {
	if w == nil {
		return
	}
	if value, ok := w.values[string(key)]; ok {
		w.live += int64(len(key) + len(value)) // it lives on, elsewhere
		delete(w.values, string(key))
	}
}

// slice emits the next keys.
func (w *rewrite) slice(emit func(key, value []byte)) {
	for n := 0; n < sliceBytes && len(w.keys) > 0; w.keys = w.keys[1:] {
		key := w.keys[0]
		value, ok := w.values[key]
		if !ok {
			continue
		}
		delete(w.values, key)
		emit([]byte(key), value)
		n += len(key) + len(value)
		w.live += int64(len(key) + len(value))
	}
}

// written learns where the rewrite begins from the records of a transaction.
func (w *rewrite) written(records []kgo.Record) {
	if w != nil && w.from == 0 && w.count > 0 {
		w.from = records[w.first].Offset
	}
}

func (w *rewrite) done() bool { return w != nil && !w.fresh && len(w.keys) == 0 }

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
