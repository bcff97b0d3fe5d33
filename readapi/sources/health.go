package sources

import (
	"context"
	"fmt"
	"strings"
	"time"

	"svc/acuity/hospital"
	"svc/internal/feeds"
	"svc/internal/httpapi/access"
	"svc/internal/stream"
	"svc/internal/view"
	"svc/readapi"
	"svc/schemas"
)

// Health implements [readapi.Health], for GET /api/ingest/status.
type Health struct {
	View        *view.View
	Register    *access.Register
	Cluster     *stream.Cluster
	Topic       string // of the observations
	Partitions  int32  // of that topic
	DeadLetters func(hospital string) int
	LogFull     func() error // nil: not checked
	Now         func() time.Time
}

// Feeds implements [readapi.Health].
func (s Health) Feeds(ctx context.Context, hospital string) ([]feeds.History, error) {
	return s.View.Feeds().List(ctx, hospital)
}

// Source implements [readapi.Health].
func (s Health) Source(hospital, key string) (source, name string, ok bool) {
	return s.Register.Source(hospital, key)
}

// Notices implements [readapi.Health].
func (s Health) Notices(ctx context.Context, f feeds.Feed) (refusals, warnings []feeds.Notice, err error) {
	return s.View.Feeds().Notices(ctx, f)
}

// behindWithin bounds the request to Kafka.
const behindWithin = time.Second

// Pipeline implements [readapi.Health].
func (s Health) Pipeline(ctx context.Context, hospital string) (p readapi.Pipeline, err error) {
	p.DeadLetters = s.DeadLetters(hospital)
	p.LogFull = s.LogFull != nil && s.LogFull() != nil
	at, err := s.View.Progress(ctx, hospital)
	p.Heartbeat = at.Pulse
	if err != nil {
		p.LogAway = !s.Cluster.Away().IsZero()
		return p, err
	}
	within, cancel := context.WithTimeout(ctx, behindWithin)
	defer cancel()
	lag, oldest, fault := s.Cluster.Behind(within, s.Topic, at.Partition, at.Position)
	if p.LogAway = fault != nil; !p.LogAway {
		p.Topics = []readapi.Topic{{Name: schemas.Observations().Name, Partitions: s.Partitions, Lag: lag, Oldest: oldest}}
	}
	return p, nil
}

// Worklist implements [readapi.Health].
func (s Health) Worklist(ctx context.Context, hospitalID string) (codes int, hits int64, err error) {
	site, _, err := s.View.Site(ctx, hospitalID, true)
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
	day := int32(s.Now().Add(-24*time.Hour).Unix() / 3600) //nolint:gosec // hours since 1970
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
