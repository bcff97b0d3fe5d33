package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"svc/acuity/hospital"
	"svc/internal/feeds"
	"svc/processors/deadletter"
	"svc/readapi"
	"svc/schemas"
)

// pipeline implements [readapi.Health], for GET /api/ingest/status.
type pipeline struct {
	service *service
	letters *deadletter.Letters
}

// Feeds implements [readapi.Health].
func (s pipeline) Feeds(ctx context.Context, hospital string) ([]feeds.History, error) {
	return s.service.redis.Feeds(ctx, hospital)
}

// Source implements [readapi.Health].
func (s pipeline) Source(hospital, key string) (source, name string, ok bool) {
	return s.service.settings.Register.Source(hospital, key)
}

// Notices implements [readapi.Health].
func (s pipeline) Notices(ctx context.Context, f feeds.Feed) (refusals, warnings []feeds.Notice, err error) {
	return s.service.redis.Notices(ctx, f)
}

// behindWithin bounds the request to Kafka.
const behindWithin = time.Second

// Pipeline implements [readapi.Health].
func (s pipeline) Pipeline(ctx context.Context, hospital string) (p readapi.Pipeline, err error) {
	p.DeadLetters = s.letters.Open(hospital)
	p.LogFull = s.service.config.KafkaFull != nil && s.service.config.KafkaFull() != nil
	at, err := s.service.redis.Progress(ctx, hospital)
	p.Heartbeat = at.Pulse
	if err != nil {
		p.LogAway = !s.service.cluster.Away().IsZero()
		return p, err
	}
	within, cancel := context.WithTimeout(ctx, behindWithin)
	defer cancel()
	topic := schemas.Observations()
	lag, oldest, fault := s.service.cluster.Behind(within, s.service.config.Topic(topic), at.Partition, at.Position)
	if p.LogAway = fault != nil; !p.LogAway {
		p.Topics = []readapi.Topic{{Name: topic.Name, Partitions: s.service.partitions, Lag: lag, Oldest: oldest}}
	}
	return p, nil
}

// Worklist implements [readapi.Health].
func (s pipeline) Worklist(ctx context.Context, hospitalID string) (codes int, hits int64, err error) {
	site, _, err := s.service.redis.Site(ctx, hospitalID, true)
	if err != nil {
		if err = away(err); err == readapi.ErrNoUnit { //nolint:errorlint // the value itself
			err = nil
		}
		return 0, 0, err
	}
	mapped := map[string]bool{}
	var unmapped []*hospital.CodeState
	for name, value := range site {
		kind, _, _ := strings.Cut(name, "/")
		if kind != schemas.KindCode && kind != schemas.KindMapping {
			continue
		}
		state, err := schemas.DecodeState([]byte(value))
		if err != nil {
			return 0, 0, fmt.Errorf("read the worklist: %w", err)
		}
		switch state := state.(type) {
		case *hospital.MappingState:
			mapped[string(state.System)+"\x00"+state.Code] = true
		case *hospital.CodeState:
			unmapped = append(unmapped, state)
		}
	}
	day := int32(s.service.now().Add(-24*time.Hour).Unix() / 3600) //nolint:gosec // hours since 1970
	for _, c := range unmapped {
		if c.Ignored || mapped[string(c.System)+"\x00"+c.Code] {
			continue
		}
		codes++
		for _, h := range c.Hours {
			if h.Hour > day {
				hits += int64(h.Count)
			}
		}
	}
	return codes, hits, nil
}
