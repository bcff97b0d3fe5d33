package view

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// Listed reports, of some partitions, whether the lists of deliveries have what
// the ledger knows: false once Redis has lost them.
func (b *View) Listed(ctx context.Context, partitions []int32) ([]bool, error) {
	pipe := b.redis.Pipeline()
	found := make([]*redis.StringCmd, len(partitions))
	for i, p := range partitions {
		found[i] = pipe.HGet(ctx, b.key(p, "listed"), fieldWhole)
	}
	if err := b.call(ctx, func() error { _, err := pipe.Exec(ctx); return err }); err != nil {
		return nil, err
	}
	all := make([]bool, len(partitions))
	for i, f := range found {
		all[i] = f.Val() == "1"
	}
	return all, nil
}

// SetListed says that they have.
func (b *View) SetListed(ctx context.Context, partition int32) error {
	return b.call(ctx, func() error { return b.redis.HSet(ctx, b.key(partition, "listed"), fieldWhole, "1").Err() })
}
