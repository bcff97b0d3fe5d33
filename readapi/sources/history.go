package sources

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"svc/acuity/forecast"
	"svc/acuity/score"
	"svc/internal/stream"
	"svc/internal/view"
	"svc/readapi"
	"svc/schemas"
)

// RecordedHours returns a function that reads a hospital's recorded hours from the snapshots topic.
func RecordedHours(cluster *stream.Cluster, topic string, partitions int32) readapi.Hours {
	return func(ctx context.Context, hospital string, since, until time.Time) (list []readapi.Hour, err error) {
		spans, err := cluster.Spans(ctx, topic, writtenSince(since), time.Time{})
		if err != nil {
			return nil, fmt.Errorf("%w: %w", readapi.ErrAway, err)
		}
		partition := schemas.Partition([]byte(hospital), partitions)
		of := slices.IndexFunc(spans, func(s stream.Span) bool { return s.Partition == partition })
		if of < 0 {
			return nil, fmt.Errorf("read %s: it has no partition %d", topic, partition)
		}
		err = cluster.Range(ctx, topic, spans[of], func(r stream.Record) error {
			if key, fault := schemas.ParseKey(r.Key); fault != nil || key.Hospital != hospital || r.Value == nil {
				return nil //nolint:nilerr // the record is of a different kind
			}
			recorded, fault := schemas.SnapshotCodec.Decode(r.Value)
			if fault != nil {
				return fmt.Errorf("decode snapshot: %w", fault)
			}
			if hour := hourOf(recorded); hour.At.After(since) && !hour.At.After(until) {
				list = append(list, hour)
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("%w: %w", readapi.ErrAway, err)
		}
		return list, nil
	}
}

// writtenSince returns a timestamp that precedes all records of the hours after an instant. A record is never written
// before its hour, and the clocks of instances differ by less than an hour. The zero time means the beginning of the
// topic.
func writtenSince(since time.Time) time.Time {
	from := since.Add(-time.Hour)
	if from.UnixMilli() <= 0 { // negative timestamps have special meanings in Kafka
		return time.Time{}
	}
	return from
}

// hourOf converts a recorded hour to the type that package readapi uses.
func hourOf(recorded *schemas.Snapshot) readapi.Hour {
	s := &recorded.Snapshot
	numbers := score.SumSnapshot(s)
	return readapi.Hour{
		At: time.Unix(int64(s.Hour)*3600, 0).UTC(), Generation: s.Generation, Observed: s.Observed, Level: s.Level,
		Required: numbers.Required, OnDuty: s.Nurses, LevelSeconds: recorded.LevelSeconds,
	}
}

// Forecasts implements [readapi.Forecasts] with the view of models.
type Forecasts struct {
	View  *view.View // view of the models
	Zones func(hospital string) *time.Location
}

// Model implements [readapi.Forecasts]. A hospital for which nothing has been learned has an empty model. Model
// returns an error if this release cannot read the model.
func (f Forecasts) Model(ctx context.Context, hospital string) (*forecast.Model, error) {
	s, err := f.View.Read(ctx, hospital)
	if errors.Is(err, view.ErrNoUnit) {
		return forecast.NewModel(hospital), nil
	}
	if err != nil {
		return nil, convertViewError(err)
	}
	return decodeModel([]byte(s.Chart))
}

// decodeModel decodes a model from the view.
func decodeModel(value []byte) (*forecast.Model, error) {
	m, err := schemas.ModelCodec.Decode(value)
	if err != nil {
		return nil, fmt.Errorf("decode model: %w", err)
	}
	model, same := m.Forecast()
	if !same { // a model of another release: the history processor of this release rebuilds it
		return nil, fmt.Errorf("%w: the model is from a different release", readapi.ErrIncomplete)
	}
	return model, nil
}

// Zone implements [readapi.Forecasts].
func (f Forecasts) Zone(hospital string) *time.Location { return f.Zones(hospital) }
