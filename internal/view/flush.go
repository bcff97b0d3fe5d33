package view

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
)

// load is what one flush takes from a buffer.
type load struct {
	partition int32
	epoch     int
	seal      bool
	position  int64
	units     map[string]*change

	asOf, waits time.Time // as Freshness has them at the position
}

// flush writes all that is pending. What could not be written, or perhaps was,
// is put back under what came meanwhile: writing the same version twice is the
// same as writing it once. What Redis refuses of one partition holds up no other.
func (p *Projector) flush(ctx context.Context) (refused error) {
	loads := p.take()
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

func (p *Projector) take() []load {
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
		l.fresh.Reached(l.position) // true once it is written, and told with that
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

// writeLoad writes one partition's changes, in pipelines of bounded size; the
// last one ends with the mark. Behind: the view cannot be brought up to date by
// changes alone.
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
		p.view.claim(ctx, pipe, load.partition, p.generation)
	}
	for _, hospital := range slices.Sorted(maps.Keys(load.units)) {
		u := load.units[hospital]
		p.view.write(ctx, pipe, load.partition, p.generation, load.position, u)
		size += len(u.chart)
		for _, room := range u.rooms {
			size += len(room)
		}
		for _, record := range u.site {
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
	p.view.mark(ctx, pipe, p.generation, load)
	err = run()
	return behind, err
}
