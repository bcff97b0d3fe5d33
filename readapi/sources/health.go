package sources

import (
	"context"
	"time"

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
	Topic       string // topic of the observations
	Partitions  int32  // number of partitions of the topic
	DeadLetters func(hospital string) int
	LogFull     func() error // nil: the disk is not checked
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
func (s Health) Notices(ctx context.Context, f feeds.Feed) (feeds.Notices, error) {
	return s.View.Feeds().Notices(ctx, f)
}

// behindWithin is the timeout for the request to Kafka.
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
