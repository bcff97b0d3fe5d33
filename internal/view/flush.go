package view

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
)

// load has the pending changes of a partition, for one flush.
type load struct {
	partition int32
	epoch     int
	seal      bool
	position  int64
	units     map[string]*change

	asOf, waits time.Time // of Freshness, at the position
}

// flush writes everything pending. Changes that failed are put back below newer ones: writing a
// version twice is harmless. If Redis refuses the changes of one partition, the others are written
// all the same.
func (p *Projector) flush(ctx context.Context) (refused error) {
	loads := p.takeLoads()
	for i := range loads {
		behind, err := p.writeLoad(ctx, &loads[i])
		if answer := redis.Error(nil); errors.As(err, &answer) {
			p.putBack(loads[i : i+1])
			refused = err
			continue
		}
		if err != nil {
			p.putBack(loads[i:])
			return err
		}
		if behind {
			p.requestWhole(loads[i].partition, loads[i].epoch)
			continue
		}
		p.mu.Lock()
		if l := p.partitions[loads[i].partition]; l != nil && l.epoch == loads[i].epoch {
			l.written = max(l.written, loads[i].position)
		}
		p.mu.Unlock()
	}
	return refused
}

func (p *Projector) takeLoads() []load {
	p.mu.Lock()
	defer p.mu.Unlock()
	var loads []load
	for partition, l := range p.partitions {
		if !l.dirty && !l.pulse || l.asked || l.last == nil {
			continue
		}
		for hospital, u := range l.pending {
			u.recent = l.last[hospital].encode()
		}
		l.fresh.Reached(l.position) // true once this load is written
		loads = append(loads, load{partition, l.epoch, l.seal, l.position, l.pending, l.fresh.AsOf(), l.fresh.Waits()})
		l.pending, l.dirty, l.seal, l.pulse = map[string]*change{}, false, false, false
	}
	return loads
}

func (p *Projector) putBack(loads []load) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, load := range loads {
		l := p.partitions[load.partition]
		if l == nil || l.epoch != load.epoch {
			continue // released, or replaced by a newer whole
		}
		for hospital, newer := range l.pending {
			load.units[hospital] = load.units[hospital].then(newer)
		}
		l.pending, l.seal, l.dirty = load.units, load.seal, true
	}
}

// writeLoad writes the changes of a partition in pipelines of bounded size. The last one ends with
// the mark. It returns behind if changes alone cannot bring the view up to date.
func (p *Projector) writeLoad(ctx context.Context, load *load) (behind bool, err error) {
	pipe := p.view.redis.Pipeline()
	size := 0
	run := func() error {
		limited, cancel := context.WithTimeout(ctx, flushTime)
		defer cancel()
		var commands []redis.Cmder
		failed := p.view.call(limited, func() (err error) { commands, err = pipe.Exec(limited); return err })
		size = 0
		for _, command := range commands {
			if answer, ok := command.(*redis.Cmd); ok && answer.Err() == nil {
				n, unread := answer.Int()
				behind = behind || unread == nil && (n == answerBehind || n == answerOther)
			}
		}
		return failed
	}
	if load.seal {
		p.claim(ctx, pipe, load.partition)
	}
	for _, hospital := range slices.Sorted(maps.Keys(load.units)) {
		u := load.units[hospital]
		p.write(ctx, pipe, load.partition, load.position, u)
		size += len(u.chart)
		for _, room := range u.rooms {
			size += len(room)
		}
		for _, record := range u.localSettings {
			size += len(record)
		}
		if pipe.Len() >= pipeCount || size >= pipeBytes {
			if err = run(); err != nil {
				return behind, err
			}
		}
	}
	if behind {
		return true, nil
	}
	p.mark(ctx, pipe, load)
	err = run()
	return behind, err
}
