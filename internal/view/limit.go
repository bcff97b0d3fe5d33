package view

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"svc/internal/httpapi/limit"
)

//go:embed limit.lua
var limitSource string

var limitScript = redis.NewScript(limitSource)

// TakeTokens implements [limit.Source]. The buckets are in Redis. If Redis loses its data, all buckets are full
// again.
func (b *View) TakeTokens(ctx context.Context, caller string, r limit.Rate, want float64) (taken bool, left float64, err error) {
	answer, err := b.runScript(ctx, limitScript, []string{b.prefix + "limit:" + caller}, r.PerSecond, r.Burst, want)
	if err != nil {
		return false, 0, err
	}
	reply, err := answer.StringSlice()
	if err != nil {
		return false, 0, fmt.Errorf("spend from a rate limit bucket: %w", err)
	}
	if len(reply) != 2 {
		return false, 0, errors.New("spend from a rate limit bucket: unexpected reply")
	}
	left, err = strconv.ParseFloat(reply[1], 64)
	if err != nil {
		return false, 0, fmt.Errorf("spend from a rate limit bucket: %w", err)
	}
	return reply[0] == "1", left, nil
}

// StoreUses stores when API keys were last used.
func (b *View) StoreUses(ctx context.Context, keys map[string]time.Time) error {
	args := make([]any, 0, 2*len(keys))
	for id, at := range keys {
		args = append(args, id, at.UnixMilli())
	}
	if len(args) == 0 {
		return nil
	}
	n := b.nodeOf(ctx, b.usedKey())
	return b.call(ctx, n, func() error { return n.redis.HSet(ctx, b.usedKey(), args...).Err() })
}

// Used returns when API keys were last used. A key without a known use is absent: either it was never used, or Redis
// has lost its data since then.
func (b *View) Used(ctx context.Context, ids []string) (map[string]time.Time, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	var values []any
	n := b.nodeOf(ctx, b.usedKey())
	if err := b.call(ctx, n, func() (err error) {
		values, err = n.redis.HMGet(ctx, b.usedKey(), ids...).Result()
		return err
	}); err != nil {
		return nil, err
	}
	used := make(map[string]time.Time, len(ids))
	for i, id := range ids {
		if text, ok := values[i].(string); ok {
			if ms, err := strconv.ParseInt(text, 10, 64); err == nil {
				used[id] = time.UnixMilli(ms).UTC()
			}
		}
	}
	return used, nil
}
