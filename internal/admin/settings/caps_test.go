package settings

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"svc/internal/admin/audit"
	"svc/internal/admin/keys"
	"svc/internal/admin/users"
	"svc/internal/admin/walls"
	"svc/internal/httpapi/access"
	"svc/internal/stream"
	"svc/schemas/administration"
)

var noon = time.Date(2031, 4, 5, 12, 0, 0, 0, time.UTC)

// follow returns a separate store on a broker's log, as another process would have.
func follow(t *testing.T, broker *stream.Broker) *Store {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	cluster, err := stream.Dial(t.Context(), stream.Options{Brokers: []string{broker.Addr()}, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	if err := cluster.Ensure(t.Context(), stream.Topic{Name: "settings", Partitions: 1, Compact: true}); err != nil {
		t.Fatal(err)
	}
	s := Follow(cluster, "settings", nil, func() time.Time { return noon }, log)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		cluster.Close()
	})
	<-s.Ready()
	return s
}

// TestCapsHoldUnderRaces: many callers concurrently create keys, wall displays or invitations for one hospital,
// through one or two instances on one log. The hospital gets exactly the maximum number, and every other caller gets
// an error. Other hospitals are not affected.
func TestCapsHoldUnderRaces(t *testing.T) {
	t.Parallel()
	const room, callers = 4, 16 // free slots for the race, and callers that compete for them
	clock := func() time.Time { return noon }
	var record audit.Record = func(context.Context, audit.Act) error { return nil }
	for name, tt := range map[string]struct {
		most    int
		tooMany error
		entry   func(n int) (stream.Entry, error) // returns an entry to store before the race
		creator func(s *Store) func(ctx context.Context, hospital string) error
		count   func(s *Store) int
	}{
		"keys": {
			most: keys.Most, tooMany: keys.ErrTooMany,
			entry: func(int) (stream.Entry, error) {
				key, _ := access.Mint(access.Key{Hospital: "north", Scopes: access.Scopes()}, noon)
				return KeyEntry(&key)
			},
			creator: func(s *Store) func(context.Context, string) error {
				ring := s.Ring(record, clock)
				return func(ctx context.Context, hospital string) error {
					_, _, err := ring.Mint(ctx, "key_1", access.Key{Hospital: hospital, Scopes: access.Scopes()})
					return err
				}
			},
			count: func(s *Store) int { return len(s.Register.Keys("north")) },
		},
		"walls": {
			most: walls.Most, tooMany: walls.ErrTooMany,
			entry: func(n int) (stream.Entry, error) {
				w := walls.Wall{ID: fmt.Sprintf("wall_%d", n), Hospital: "north", Hash: [32]byte{byte(n)}, CreatedAt: noon}
				return entryOf("north", kindWall, w.ID, administration.WallCodec, &w)
			},
			creator: func(s *Store) func(context.Context, string) error {
				office := &walls.Office{Register: s.Walls, Seen: s.Seen, Put: s.PutWall, Audit: record, Now: clock}
				return func(ctx context.Context, hospital string) error {
					_, _, err := office.Make(ctx, "key_1", hospital, "desk")
					return err
				}
			},
			count: func(s *Store) int { return len(s.Walls.Walls("north")) },
		},
		"invitations": {
			most: users.MostLinks, tooMany: users.ErrTooMany,
			entry: func(n int) (stream.Entry, error) {
				l := users.Link{
					Hash: users.Hash(fmt.Sprint(n)), Hospital: "north", User: fmt.Sprintf("usr_%d", n), Role: users.Viewer,
					CreatedAt: noon, ExpiresAt: noon.Add(time.Hour),
				}
				return entryOf("north", kindLink, l.ID(), administration.LinkCodec, &l)
			},
			creator: func(s *Store) func(context.Context, string) error {
				office := s.Office(record, clock)
				return func(ctx context.Context, hospital string) error {
					_, _, err := office.Invite(ctx, "key_1", hospital, "x", users.Viewer, time.Hour)
					return err
				}
			},
			count: func(s *Store) int { return len(s.Users.Links("north")) },
		},
	} {
		for _, instances := range []int{1, 2} {
			t.Run(fmt.Sprintf("%s, %d instances", name, instances), func(t *testing.T) {
				t.Parallel()
				broker, err := stream.Embed(stream.BrokerOptions{})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(broker.Close)
				var stores []*Store
				var create []func(context.Context, string) error
				for range instances {
					s := follow(t, broker)
					stores, create = append(stores, s), append(create, tt.creator(s))
				}
				entries := make([]stream.Entry, tt.most-room)
				for n := range entries {
					if entries[n], err = tt.entry(n); err != nil {
						t.Fatal(err)
					}
				}
				if err := stores[0].write(t.Context(), "north", stores[0].Seen(), entries...); err != nil {
					t.Fatal(err)
				}
				seen := stores[0].Seen()
				for _, s := range stores {
					s.Await(t.Context(), seen)
				}
				var made, refused atomic.Int32
				var all sync.WaitGroup
				for n := range callers {
					all.Go(func() {
						switch err := create[n%instances](t.Context(), "north"); {
						case err == nil:
							made.Add(1)
						case errors.Is(err, tt.tooMany):
							refused.Add(1)
						default:
							t.Error(err)
						}
					})
				}
				all.Wait()
				if made.Load() != room || refused.Load() != callers-room {
					t.Errorf("%d made and %d refused, want %d and %d", made.Load(), refused.Load(), room, callers-room)
				}
				seen = stores[0].Seen()
				for i, s := range stores {
					s.Await(t.Context(), seen)
					if n := tt.count(s); n != tt.most {
						t.Errorf("instance %d counts %d of %d", i, n, tt.most)
					}
				}
				if err := create[0](t.Context(), "south"); err != nil {
					t.Errorf("another hospital: %v", err)
				}
			})
		}
	}
}
