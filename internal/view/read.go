package view

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Token identifies one state of one hospital in the view. Reads with equal tokens return the same bytes.
type Token struct {
	Generation string
	Version    int64
}

// Snapshot is the state of one hospital in the view.
type Snapshot struct {
	Token
	Position int64  // last input in the state
	Chart    string // encoded
	Rooms    []Room // ascending by ID
	// Partial means that the snapshot builds on an earlier state: Rooms contains only the rooms that have changed
	// since then, and Gone the rooms that were removed. All other rooms are unchanged.
	Partial bool
	Gone    []int32
}

// Room is one room of a hospital in the view.
type Room struct {
	ID    int32
	Chart string // encoded
}

// readConsistent reads a header and a hospital as of the same moment. If a pipeline finds no such hospital or an
// incomplete view, it may have read the two at different moments of a rewrite; a transaction then reads both again.
func readConsistent[T any](n *node, read func(redis.Pipeliner) (T, error)) (T, error) {
	found, err := read(n.redis.Pipeline())
	if errors.Is(err, ErrNoUnit) || errors.Is(err, ErrNotWhole) {
		return read(n.redis.TxPipeline())
	}
	return found, err
}

// Token returns the token of the current state of a hospital. Its errors and its round trips are those of [View.Read].
func (b *View) Token(ctx context.Context, hospital string) (Token, error) {
	n := b.nodeOfHospital(ctx, hospital)
	return readConsistent(n, func(pipe redis.Pipeliner) (Token, error) {
		token, _, err := b.token(ctx, n, pipe, hospital)
		return token, err
	})
}

// nodeOfHospital returns the node that stores the keys of a hospital and the header of its partition.
func (b *View) nodeOfHospital(ctx context.Context, hospital string) *node {
	return b.nodeOf(ctx, b.headerKey(b.partitionOf(hospital)))
}

// token adds its commands to a pipeline and runs the pipeline. It also returns the values of the hospital's fields
// whose names are in more, at the same version; a missing field is empty. token does not use a script, because an
// embedded Redis needs 250 µs for a script and 45 µs for these two calls.
func (b *View) token(ctx context.Context, n *node, pipe redis.Pipeliner, hospital string, more ...string) (Token, []string, error) {
	partition := b.partitionOf(hospital)
	question := b.askHeader(ctx, n, pipe, b.headerKey(partition))
	unit := pipe.HMGet(ctx, b.unitKey(partition, hospital), append([]string{fieldGeneration, fieldVersion}, more...)...)
	if err := b.exec(ctx, n, pipe); err != nil {
		return Token{}, nil, err
	}
	fields := make([]string, len(unit.Val()))
	for i, value := range unit.Val() {
		fields[i], _ = value.(string) //nolint:errcheck // a missing field is empty
	}
	head := question.header()
	if err := b.readable(&head); err != nil {
		return Token{}, nil, err
	}
	switch fields[0] {
	case head.generation:
	case "":
		return Token{}, nil, ErrNoUnit
	default:
		return Token{}, nil, ErrNotWhole
	}
	version, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return Token{}, nil, fmt.Errorf("read hospital in the view: %w", err)
	}
	return Token{fields[0], version}, fields[2:], nil
}

// Read returns the state of a hospital, in one round trip. The errors are [ErrAway], [ErrNotWhole], [ErrNoUnit] and
// [ErrBehind]. Before Read returns ErrNotWhole or ErrNoUnit, it makes a second round trip to confirm the error.
func (b *View) Read(ctx context.Context, hospital string) (Snapshot, error) {
	// In a transaction, an empty hash means that the hospital does not exist.
	n := b.nodeOfHospital(ctx, hospital)
	fields, err := readConsistent(n, func(pipe redis.Pipeliner) (map[string]string, error) { return b.read(ctx, n, pipe, hospital) })
	if err != nil {
		return Snapshot{}, err
	}
	return snapshot(fields)
}

// read adds its commands to a pipeline and runs the pipeline. It returns the hash of the hospital.
func (b *View) read(ctx context.Context, n *node, pipe redis.Pipeliner, hospital string) (map[string]string, error) {
	partition := b.partitionOf(hospital)
	question := b.askHeader(ctx, n, pipe, b.headerKey(partition))
	unit := pipe.HGetAll(ctx, b.unitKey(partition, hospital))
	if err := b.exec(ctx, n, pipe); err != nil {
		return nil, err
	}
	head, fields := question.header(), unit.Val()
	switch fault := b.readable(&head); {
	case fault != nil:
		return nil, fault
	case len(fields) == 0:
		return nil, ErrNoUnit
	case head.generation != fields[fieldGeneration]:
		return nil, ErrNotWhole
	}
	return fields, nil
}

func snapshot(fields map[string]string) (Snapshot, error) {
	version, err1 := strconv.ParseInt(fields[fieldVersion], 10, 64)
	position, err2 := strconv.ParseInt(fields[fieldPosition], 10, 64)
	if err := errors.Join(err1, err2); err != nil {
		return Snapshot{}, fmt.Errorf("read hospital in the view: %w", err)
	}
	s := Snapshot{
		Token:    Token{Generation: fields[fieldGeneration], Version: version},
		Position: position, Chart: fields[fieldChart],
		Rooms: make([]Room, 0, len(fields)),
	}
	for name, value := range fields {
		if id, is := roomID(name); is {
			s.Rooms = append(s.Rooms, Room{id, value})
		}
	}
	slices.SortFunc(s.Rooms, func(a, b Room) int { return cmp.Compare(a.ID, b.ID) })
	return s, nil
}

// roomID returns the id of the room that a field belongs to, and reports whether the field belongs to a room.
func roomID(field string) (int32, bool) {
	text, is := strings.CutPrefix(field, fieldRoom)
	id, err := strconv.ParseInt(text, 10, 32)
	return int32(id), is && err == nil
}

// CodePrefix is the prefix of the names of the records in the worklist of codes.
const CodePrefix = "code/"

// LocalSettings returns the encoded records that administrators of a hospital see in lists, by name, and their version.
// If codes is true, the worklist of codes is included. LocalSettings makes one round trip with one transaction. The
// errors are those of [View.Read].
func (b *View) LocalSettings(ctx context.Context, hospital string, codes bool) (map[string]string, Token, error) {
	partition := b.partitionOf(hospital)
	n := b.nodeOfHospital(ctx, hospital)
	pipe := n.redis.TxPipeline()
	settings := pipe.HGetAll(ctx, b.localSettingsKey(partition, hospital))
	listed := new(redis.MapStringStringCmd)
	if codes {
		listed = pipe.HGetAll(ctx, b.codesKey(partition, hospital))
	}
	token, _, err := b.token(ctx, n, pipe, hospital)
	if err != nil {
		return nil, Token{}, err
	}
	all := settings.Val()
	maps.Copy(all, listed.Val())
	return all, token, nil
}

// Whole is everything that the view stores about one hospital. svc verify compares it with the log.
type Whole struct {
	Snapshot
	LocalSettings map[string]string
	Foreign       []string // fields in the hash of the hospital that the projector never writes, ascending
}

// Whole returns everything about one hospital as of one moment, in one round trip. The errors are those of [View.Read].
func (b *View) Whole(ctx context.Context, hospital string) (*Whole, error) {
	partition := b.partitionOf(hospital)
	n := b.nodeOfHospital(ctx, hospital)
	pipe := n.redis.TxPipeline()
	settings := pipe.HGetAll(ctx, b.localSettingsKey(partition, hospital))
	codes := pipe.HGetAll(ctx, b.codesKey(partition, hospital))
	fields, err := b.read(ctx, n, pipe, hospital)
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

// Hospitals returns the hospitals that the view contains for a partition, ascending.
func (b *View) Hospitals(ctx context.Context, partition int32) ([]string, error) {
	var members []string
	n := b.nodeOf(ctx, b.membersKey(partition))
	err := b.call(ctx, n, func() (err error) {
		members, err = n.redis.SMembers(ctx, b.membersKey(partition)).Result()
		return err
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return nil, fmt.Errorf("list hospitals of the view: %w", err)
	}
	slices.Sort(members)
	return members, nil
}
