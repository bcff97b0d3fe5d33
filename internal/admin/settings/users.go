package settings

import (
	"context"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"time"

	"svc/internal/admin/audit"
	"svc/internal/admin/users"
	"svc/internal/stream"
	"svc/schemas"
	"svc/schemas/administration"
)

// applyUser applies one record to the register of users.
func (s *Store) applyUser(hospital, kind, id string, value []byte) error {
	switch {
	case kind == kindUser && value == nil:
		s.Users.DropUser(hospital, id)
	case kind == kindUser:
		u, err := administration.UserCodec.Decode(value)
		if err != nil {
			return fmt.Errorf("decode user: %w", err)
		}
		s.Users.SetUser(*u)
	case value == nil:
		var hash [32]byte
		if n, err := hex.Decode(hash[:], []byte(id)); err != nil || n != len(hash) {
			return fmt.Errorf("the name of a link: %w", schemas.ErrKey)
		}
		s.Users.DropLink(hash)
	default:
		l, err := administration.LinkCodec.Decode(value)
		if err != nil {
			return fmt.Errorf("decode link: %w", err)
		}
		s.Users.SetLink(*l)
	}
	return nil
}

// PutUsers writes changes of users and links, all or none.
func (s *Store) PutUsers(ctx context.Context, seen int64, c users.Changes) error {
	var entries []stream.Entry
	hospitals := map[string]bool{}
	add := func(hospital, kind, id string, value []byte) {
		hospitals[hospital] = true
		entries = append(entries, stream.Entry{Key: schemas.Key{Hospital: hospital, Kind: kind, ID: id}.String(), Value: value})
	}
	for _, u := range c.Users {
		value, err := administration.UserCodec.Encode(nil, u)
		if err != nil {
			return fmt.Errorf("encode user: %w", err)
		}
		add(u.Hospital, kindUser, u.ID, value)
	}
	for _, l := range c.Links {
		value, err := administration.LinkCodec.Encode(nil, l)
		if err != nil {
			return fmt.Errorf("encode link: %w", err)
		}
		add(l.Hospital, kindLink, l.ID(), value)
	}
	for _, u := range c.DropUsers {
		add(u.Hospital, kindUser, u.ID, nil)
	}
	for _, l := range c.DropLinks {
		add(l.Hospital, kindLink, l.ID(), nil)
	}
	return s.WriteAll(ctx, slices.Sorted(maps.Keys(hospitals)), seen, entries...)
}

// Office returns the administration of users and links. Each change is recorded as an act.
func (s *Store) Office(record audit.Record, now func() time.Time) *users.Office {
	return &users.Office{Register: s.Users, Seen: s.Seen, Put: s.PutUsers, Audit: record, Now: now}
}
