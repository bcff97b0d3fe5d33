package view

import (
	"context"
	"maps"

	"github.com/redis/go-redis/v9"
)

// CodePrefix begins the names of the records of the worklist of codes.
const CodePrefix = "code/"

// LocalSettings returns the encoded records that administrators of a hospital see in lists, by name, and
// their version. With codes it adds the worklist of codes. It is one transaction in one round
// trip. The errors are as in Read.
func (b *View) LocalSettings(ctx context.Context, hospital string, codes bool) (map[string]string, Token, error) {
	partition := b.partitionOf(hospital)
	pipe := b.redis.TxPipeline()
	question := b.askHeader(ctx, pipe, b.headerKey(partition))
	unit := pipe.HMGet(ctx, b.unitKey(partition, hospital), fieldGeneration, fieldVersion)
	hashes := []*redis.MapStringStringCmd{pipe.HGetAll(ctx, b.localSettingsKey(partition, hospital))}
	if codes {
		hashes = append(hashes, pipe.HGetAll(ctx, b.codesKey(partition, hospital)))
	}
	if err := b.exec(ctx, pipe); err != nil {
		return nil, Token{}, err
	}
	head := question.header()
	token, err := b.tokenOf(&head, unit.Val())
	if err != nil {
		return nil, Token{}, err
	}
	all := hashes[0].Val()
	for _, more := range hashes[1:] {
		maps.Copy(all, more.Val())
	}
	return all, token, nil
}
