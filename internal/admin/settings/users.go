package settings

import (
	"context"
	"maps"
	"slices"
	"time"

	"svc/internal/admin/audit"
	"svc/internal/admin/users"
	"svc/internal/stream"
	"svc/schemas/administration"
)

// PutUsers writes changes of users and links, all or none.
func (s *Store) PutUsers(ctx context.Context, seen int64, c users.Changes) error {
	var entries []stream.Entry
	hospitals := map[string]bool{}
	for _, u := range c.Users {
		entry, err := entryOf(u.Hospital, kindUser, u.ID, administration.UserCodec, u)
		if err != nil {
			return err
		}
		entries, hospitals[u.Hospital] = append(entries, entry), true
	}
	for _, l := range c.Links {
		entry, err := entryOf(l.Hospital, kindLink, l.ID(), administration.LinkCodec, l)
		if err != nil {
			return err
		}
		entries, hospitals[l.Hospital] = append(entries, entry), true
	}
	for _, u := range c.DropUsers {
		entries, hospitals[u.Hospital] = append(entries, removed(u.Hospital, kindUser, u.ID)), true
	}
	for _, l := range c.DropLinks {
		entries, hospitals[l.Hospital] = append(entries, removed(l.Hospital, kindLink, l.ID())), true
	}
	return s.WriteAll(ctx, slices.Sorted(maps.Keys(hospitals)), seen, entries...)
}

// Office returns the administration of users and links. Each change is recorded as an act.
func (s *Store) Office(record audit.Record, now func() time.Time) *users.Office {
	return &users.Office{Register: s.Users, Seen: s.Seen, Put: s.PutUsers, Audit: record, Now: now}
}
