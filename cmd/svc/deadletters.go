package main

import (
	"log/slog"
	"slices"
	"sync"

	"svc/internal/stream"
	"svc/schemas"
)

// deadLetters are the records that can never be applied, followed: where each lies
// and why, never what it says.
type deadLetters struct {
	table *stream.Table

	mu  sync.RWMutex
	all map[string][]schemas.DeadLetter // by hospital, oldest first
}

// deadLettersAtMost bounds what is listed of a hospital: the newest.
const deadLettersAtMost = 1000

func followDeadLetters(cluster *stream.Cluster, topic string, log *slog.Logger) *deadLetters {
	d := &deadLetters{
		table: cluster.Table(topic, func(string) int32 { return 0 }), // nothing is put there
		all:   map[string][]schemas.DeadLetter{},
	}
	d.table.OnChange(func(_ string, value []byte) {
		if value == nil {
			return
		}
		letter, err := schemas.DecodeDeadLetter(value)
		if err != nil {
			log.Error("dead letter not understood", "error", err)
			return
		}
		d.add(letter)
	})
	return d
}

// add takes a letter; (hospital, version) tells repeats.
func (d *deadLetters) add(letter *schemas.DeadLetter) {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := d.all[letter.Hospital]
	at, had := slices.BinarySearchFunc(all, letter.Version, func(l schemas.DeadLetter, version int64) int {
		return int(max(-1, min(1, l.Version-version)))
	})
	if had {
		return
	}
	all = slices.Insert(all, at, *letter)
	if len(all) > deadLettersAtMost {
		all = slices.Delete(all, 0, len(all)-deadLettersAtMost)
	}
	d.all[letter.Hospital] = all
}

// of returns those of a hospital, oldest first.
func (d *deadLetters) of(hospital string) []schemas.DeadLetter {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return slices.Clone(d.all[hospital])
}
