package board

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// Token names one state of one hospital in the view. Two equal tokens are the
// same bytes.
type Token struct {
	Generation string
	Version    int64
}

// Snapshot is one hospital as the view has it.
type Snapshot struct {
	Token
	Position int64    // of the last input in it
	Chart    []byte   // encoded; nil if the caller has this token already
	Rooms    [][]byte // encoded, ascending by room id
}

// Read returns the hospital, or only its token if that is the one the caller
// has. It costs one round trip if nothing changed since, and if the caller has
// nothing; two if the hospital has changed. The errors are those of the package.
func (b *Board) Read(ctx context.Context, hospital string, have Token) (Snapshot, error) {
	partition := b.cfg.Partition(hospital)
	if have.Generation != "" {
		same, err := b.same(ctx, partition, hospital, have)
		if err != nil {
			return Snapshot{}, err
		}
		if same {
			return Snapshot{Token: have}, nil
		}
	}
	return b.readAll(ctx, partition, hospital)
}

// same reports whether the hospital still is what the caller has. It is no
// script: an embedded Redis takes 250 µs to run one, 45 µs for these two calls.
func (b *Board) same(ctx context.Context, partition int32, hospital string, have Token) (bool, error) {
	pipe := b.redis.Pipeline()
	sentinel := pipe.HMGet(ctx, b.sentinelKey(partition), fieldGeneration, fieldWhole)
	unit := pipe.HMGet(ctx, b.unitKey(partition, hospital), fieldGeneration, fieldVersion)
	if err := b.call(ctx, func() error { _, err := pipe.Exec(ctx); return err }); err != nil {
		return false, err
	}
	whole, at := sentinel.Val(), unit.Val()
	if whole[0] != any(have.Generation) || at[0] != any(have.Generation) {
		return false, nil
	}
	if whole[1] != any("1") {
		return false, ErrNotWhole
	}
	version, ok := at[1].(string)
	return ok && version == strconv.FormatInt(have.Version, 10), nil
}

// readAll reads sentinel and hospital in one transaction: an empty hash beside
// a sentinel of the same moment is a hospital that does not exist.
func (b *Board) readAll(ctx context.Context, partition int32, hospital string) (Snapshot, error) {
	pipe := b.redis.TxPipeline()
	sentinel := pipe.HMGet(ctx, b.sentinelKey(partition), fieldGeneration, fieldWhole)
	unit := pipe.HGetAll(ctx, b.unitKey(partition, hospital))
	if err := b.call(ctx, func() error { _, err := pipe.Exec(ctx); return err }); err != nil {
		return Snapshot{}, err
	}
	whole, fields := sentinel.Val(), unit.Val()
	if whole[1] != any("1") {
		return Snapshot{}, ErrNotWhole
	}
	if len(fields) == 0 {
		return Snapshot{}, ErrNoUnit
	}
	if whole[0] != any(fields[fieldGeneration]) {
		return Snapshot{}, ErrNotWhole
	}
	return snapshot(fields)
}

func snapshot(fields map[string]string) (Snapshot, error) {
	version, err1 := strconv.ParseInt(fields[fieldVersion], 10, 64)
	position, err2 := strconv.ParseInt(fields[fieldPosition], 10, 64)
	if err := errors.Join(err1, err2); err != nil {
		return Snapshot{}, fmt.Errorf("read hospital in the view: %w", err)
	}
	s := Snapshot{
		Token:    Token{Generation: fields[fieldGeneration], Version: version},
		Position: position, Chart: []byte(fields[fieldChart]),
	}
	type room struct {
		id    int64
		chart string
	}
	rooms := make([]room, 0, len(fields))
	for name, value := range fields {
		if id, err := strconv.ParseInt(name[1:], 10, 32); err == nil && name[:1] == fieldRoom {
			rooms = append(rooms, room{id, value})
		}
	}
	slices.SortFunc(rooms, func(a, b room) int { return cmp.Compare(a.id, b.id) })
	s.Rooms = make([][]byte, len(rooms))
	for i := range rooms {
		s.Rooms[i] = []byte(rooms[i].chart)
	}
	return s, nil
}

// position returns how far the view of a partition is, if it is whole.
func (b *Board) position(ctx context.Context, partition int32) (generation string, position int64, err error) {
	s, err := b.sentinels(ctx, []int32{partition})
	if err != nil {
		return "", 0, err
	}
	if !s[0].whole {
		return "", 0, ErrNotWhole
	}
	return s[0].generation, s[0].position, nil
}

type sentinel struct {
	generation string
	whole      bool
	position   int64
}

// sentinels reads those of some partitions in one round trip.
func (b *Board) sentinels(ctx context.Context, partitions []int32) ([]sentinel, error) {
	pipe := b.redis.Pipeline()
	got := make([]*redis.SliceCmd, len(partitions))
	for i, partition := range partitions {
		got[i] = pipe.HMGet(ctx, b.sentinelKey(partition), fieldGeneration, fieldWhole, fieldPosition)
	}
	if err := b.call(ctx, func() error { _, err := pipe.Exec(ctx); return err }); err != nil {
		return nil, err
	}
	all := make([]sentinel, len(partitions))
	for i := range got {
		v := got[i].Val()
		generation, _ := v[0].(string) //nolint:errcheck // absent is empty
		position, _ := v[2].(string)   //nolint:errcheck // absent is empty
		all[i] = sentinel{generation: generation, whole: v[1] == any("1"), position: -1}
		if n, err := strconv.ParseInt(position, 10, 64); err == nil {
			all[i].position = n
		}
	}
	return all, nil
}
