package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"svc/acuity/hospital"
	"svc/internal/feeds"
	"svc/readapi"
	"svc/schemas"
)

// pipeline is what GET /api/ingest/status is answered from.
type pipeline struct {
	house   *service
	letters *deadLetters
}

// Feeds implements [readapi.Health].
func (s pipeline) Feeds(ctx context.Context, hospital string) ([]feeds.History, error) {
	return s.house.redis.Feeds(ctx, hospital)
}

// Source implements [readapi.Health].
func (s pipeline) Source(hospital, key string) (source, name string, ok bool) {
	return s.house.settings.register.Source(hospital, key)
}

// Notices implements [readapi.Health].
func (s pipeline) Notices(ctx context.Context, f feeds.Feed) (refusals, warnings []feeds.Notice, err error) {
	return s.house.redis.Notices(ctx, f)
}

// behindWithin bounds the question to Kafka.
const behindWithin = time.Second

// Pipeline implements [readapi.Health].
func (s pipeline) Pipeline(ctx context.Context, hospital string) (p readapi.Pipeline, err error) {
	p.DeadLetters = s.letters.open(hospital)
	p.LogFull = s.house.config.KafkaFull != nil && s.house.config.KafkaFull() != nil
	at, err := s.house.redis.Progress(ctx, hospital)
	p.Heartbeat = at.Pulse
	if err != nil {
		p.LogAway = !s.house.cluster.Away().IsZero()
		return p, err
	}
	within, cancel := context.WithTimeout(ctx, behindWithin)
	defer cancel()
	topic := schemas.Observations()
	lag, oldest, fault := s.house.cluster.Behind(within, s.house.topic(topic), at.Partition, at.Position)
	if p.LogAway = fault != nil; !p.LogAway {
		p.Topics = []readapi.Topic{{Name: topic.Name, Partitions: s.house.partitions, Lag: lag, Oldest: oldest}}
	}
	return p, nil
}

// Worklist implements [readapi.Health].
func (s pipeline) Worklist(ctx context.Context, hospitalID string) (codes int, hits int64, err error) {
	site, _, err := s.house.redis.Site(ctx, hospitalID, true)
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
	day := int32(s.house.now().Add(-24*time.Hour).Unix() / 3600) //nolint:gosec // hours since 1970
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
