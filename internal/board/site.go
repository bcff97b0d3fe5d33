package board

import (
	"context"
	"maps"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// CodePrefix begins the names of the records of the worklist of codes.
const CodePrefix = "code/"

// Site returns what administrators of a hospital see in lists, encoded, by name,
// and the version of the hospital that it is of; with the codes of the worklist
// or without. It is one round trip, and one moment. The errors are those of the
// package.
func (b *Board) Site(ctx context.Context, hospital string, codes bool) (map[string]string, Token, error) {
	partition := b.cfg.Partition(hospital)
	pipe := b.redis.TxPipeline()
	sentinel := pipe.HMGet(ctx, b.sentinelKey(partition), fieldGeneration, fieldWhole)
	unit := pipe.HMGet(ctx, b.unitKey(partition, hospital), fieldGeneration, fieldVersion)
	hashes := []*redis.MapStringStringCmd{pipe.HGetAll(ctx, b.siteKey(partition, hospital))}
	if codes {
		hashes = append(hashes, pipe.HGetAll(ctx, b.codesKey(partition, hospital)))
	}
	if err := b.call(ctx, func() error { _, err := pipe.Exec(ctx); return err }); err != nil {
		return nil, Token{}, err
	}
	whole, at := sentinel.Val(), unit.Val()
	generation, known := at[0].(string)
	text, _ := at[1].(string) //nolint:errcheck // absent is no number
	version, fault := strconv.ParseInt(text, 10, 64)
	switch {
	case whole[1] != any("1"), known && whole[0] != any(generation), known && fault != nil:
		return nil, Token{}, ErrNotWhole
	case !known:
		return nil, Token{}, ErrNoUnit
	}
	all := hashes[0].Val()
	for _, more := range hashes[1:] {
		maps.Copy(all, more.Val())
	}
	return all, Token{generation, version}, nil
}
