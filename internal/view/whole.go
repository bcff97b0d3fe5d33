package view

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/redis/go-redis/v9"
)

// Whole is everything that the view has of one hospital. Checks read it.
type Whole struct {
	Snapshot
	LocalSettings map[string]string
	Foreign       []string // fields of the hash of the hospital that the projector never writes, ascending
}

// Whole returns everything of one hospital at one moment, in one round trip. The errors are as in
// Read.
func (b *View) Whole(ctx context.Context, hospital string) (*Whole, error) {
	partition := b.partitionOf(hospital)
	pipe := b.redis.TxPipeline()
	settings := pipe.HGetAll(ctx, b.localSettingsKey(partition, hospital))
	codes := pipe.HGetAll(ctx, b.codesKey(partition, hospital))
	fields, err := b.read(ctx, pipe, hospital)
	if err != nil {
		return nil, err
	}
	w := &Whole{LocalSettings: settings.Val()}
	if w.Snapshot, err = snapshot(fields); err != nil {
		return nil, err
	}
	maps.Copy(w.LocalSettings, codes.Val())
	for name := range fields {
		_, room := roomID(name)
		if !room && !slices.Contains([]string{fieldGeneration, fieldVersion, fieldPosition, fieldChart, fieldRecent}, name) {
			w.Foreign = append(w.Foreign, name)
		}
	}
	slices.Sort(w.Foreign)
	return w, nil
}

// Hospitals returns the hospitals that the view has of a partition, ascending.
func (b *View) Hospitals(ctx context.Context, partition int32) ([]string, error) {
	var members []string
	err := b.call(ctx, func() (err error) {
		members, err = b.redis.SMembers(ctx, b.membersKey(partition)).Result()
		return err
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return nil, fmt.Errorf("list hospitals of the view: %w", err)
	}
	slices.Sort(members)
	return members, nil
}
