package view

import (
	"context"
	_ "embed"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// The scripts. Each must run as one step; its head says why.
var (
	//go:embed claim.lua
	claimSource string
	//go:embed write.lua
	writeSource string
	//go:embed mark.lua
	markSource string

	claimScript = redis.NewScript(claimSource)
	writeScript = redis.NewScript(writeSource)
	markScript  = redis.NewScript(markSource)
)

// The answers of the scripts.
const (
	answerOlder  = 0  // what is stored is newer: nothing was done
	answerDone   = 1  //
	answerBehind = -1 // what is stored is older than what the write starts from
	answerOther  = -2 // the partition is not claimed by this generation, or not whole
)

// loadScripts loads the scripts into Redis, which loses them when it restarts.
func (b *View) loadScripts(ctx context.Context) error {
	for _, script := range []*redis.Script{claimScript, writeScript, markScript} {
		if err := b.call(ctx, func() error { return script.Load(ctx, b.redis).Err() }); err != nil {
			return fmt.Errorf("load scripts: %w", err)
		}
	}
	return nil
}

// claim gives the view of a partition to a generation. The view stays whole only if it
// belonged to that generation before.
func (p *Projector) claim(ctx context.Context, pipe redis.Pipeliner, partition int32) {
	claimScript.EvalSha(ctx, pipe, []string{p.view.headerKey(partition)}, p.generation)
}

// write changes one hospital from version base, or replaces it if base is
// negative.
func (p *Projector) write(ctx context.Context, pipe redis.Pipeliner, partition int32, position int64, u *change) {
	b := p.view
	args := make([]any, 0, 11+2*len(u.rooms)+2*len(u.localSettings))
	args = append(args, p.generation, u.hospital, u.base, u.version, position, u.chart, u.recent, b.changed(u.hospital), 0, 0, 0)
	const rooms, gone, settings = 8, 9, 10 // positions of the counts in args
	for id, room := range u.rooms {
		if room != nil {
			args = append(args, fieldRoom+strconv.Itoa(int(id)), room)
		}
	}
	from := settings + 1
	args[rooms] = (len(args) - from) / 2
	from = len(args)
	for id, room := range u.rooms {
		if room == nil {
			args = append(args, fieldRoom+strconv.Itoa(int(id)))
		}
	}
	args[gone] = len(args) - from
	from = len(args)
	for name, record := range u.localSettings {
		if record != nil {
			args = append(args, name, record)
		}
	}
	args[settings] = (len(args) - from) / 2
	for name, record := range u.localSettings {
		if record == nil {
			args = append(args, name)
		}
	}
	keys := []string{
		b.headerKey(partition), b.unitKey(partition, u.hospital), b.membersKey(partition),
		b.localSettingsKey(partition, u.hospital), b.codesKey(partition, u.hospital),
	}
	writeScript.EvalSha(ctx, pipe, keys, args...)
}

// mark sets the position of a load, with the signs, and announces it. With seal it also makes the
// partition whole and removes what other generations left.
func (p *Projector) mark(ctx context.Context, pipe redis.Pipeliner, load *load) {
	b := p.view
	seal, asOf, waiting := 0, "", time.Duration(0)
	if load.seal {
		seal = 1
	}
	now := b.now()
	if !load.asOf.IsZero() { // by the clock of Redis, so that a delay on the way does not matter
		asOf = strconv.FormatInt(b.redisNow().Add(load.asOf.Sub(now)).UnixMilli(), 10)
	}
	if !load.waits.IsZero() {
		waiting = max(now.Sub(load.waits), 0)
	}
	partition := load.partition
	markScript.EvalSha(ctx, pipe, []string{b.headerKey(partition), b.membersKey(partition)},
		p.generation, load.position, seal, b.channel(), partition, b.unitKey(partition, ""), b.localSettingsKey(partition, ""), b.codesKey(partition, ""),
		asOf, waiting.Milliseconds())
}
