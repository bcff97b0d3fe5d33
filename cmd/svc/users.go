package main

import (
	"context"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"time"

	"svc/internal/admin/users"
	"svc/internal/httpapi/access"
	"svc/internal/stream"
	"svc/readapi/web"
	"svc/schemas"
)

// takeUser applies one record to the register of users.
func (s *settings) takeUser(hospital, kind, id string, value []byte) error {
	switch {
	case kind == kindUser && value == nil:
		s.users.DropUser(hospital, id)
	case kind == kindUser:
		u, err := schemas.DecodeUser(value)
		if err != nil {
			return fmt.Errorf("decode user: %w", err)
		}
		s.users.SetUser(*u)
	case value == nil:
		var hash [32]byte
		if n, err := hex.Decode(hash[:], []byte(id)); err != nil || n != len(hash) {
			return fmt.Errorf("the name of a link: %w", schemas.ErrKey)
		}
		s.users.DropLink(hash)
	default:
		l, err := schemas.DecodeLink(value)
		if err != nil {
			return fmt.Errorf("decode link: %w", err)
		}
		s.users.SetLink(*l)
	}
	return nil
}

// putUsers writes changes of users and links, all or none.
func (s *settings) putUsers(ctx context.Context, seen int64, c users.Changes) error {
	var entries []stream.Entry
	hospitals := map[string]bool{}
	add := func(hospital, kind, id string, value []byte) {
		hospitals[hospital] = true
		entries = append(entries, stream.Entry{Key: schemas.Key{Hospital: hospital, Kind: kind, ID: id}.String(), Value: value})
	}
	for _, u := range c.Users {
		value, err := schemas.EncodeUser(nil, u)
		if err != nil {
			return fmt.Errorf("encode user: %w", err)
		}
		add(u.Hospital, kindUser, u.ID, value)
	}
	for _, l := range c.Links {
		value, err := schemas.EncodeLink(nil, l)
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
	return s.writeAll(ctx, slices.Sorted(maps.Keys(hospitals)), seen, entries...)
}

// office returns the administration of users and links. Each change is recorded as an act.
func (h *service) office() *users.Office { return h.settings.office(h.audit, h.now) }

// office is [service.office] without a service.
func (s *settings) office(log *auditLog, now func() time.Time) *users.Office {
	return &users.Office{Register: s.users, Seen: s.Seen, Put: s.putUsers, Audit: log.record, Now: now}
}

// usersConfig returns the configuration of the routes that administer users.
func usersConfig(h *service) users.Config {
	return users.Config{Shell: h.shell, Office: h.office(), URL: func(token string) string { return h.config.PublicURL + web.LinkPath + token }}
}

// directory stores the users that an identity provider signs in.
type directory struct {
	*users.Office
	register *access.Register
}

// Hospitals implements [web.Directory].
func (d directory) Hospitals() (ids []string) {
	for _, h := range d.register.Hospitals() {
		ids = append(ids, h.ID)
	}
	return ids
}
