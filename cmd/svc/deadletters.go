package main

import (
	"context"
	"errors"

	"svc/acuity"
	"svc/ingest"
	"svc/internal/stream"
	"svc/processors/deadletter"
	"svc/readapi"
)

// deadLetters returns the dead letters. All roles of the process share them.
func (h *service) deadLetters() *deadletter.Letters {
	if h.letters == nil {
		h.letters = deadletter.Follow(h.cluster, h.config.TopicPrefix, h.partitions, h.now, h.log)
		h.Run("dead letters", h.letters.Run)
		h.Ready = append(h.Ready, h.letters.Ready())
	}
	return h.letters
}

// listed returns the function that lists the dead letters of a hospital.
func listed(letters *deadletter.Letters) func(hospital string) []readapi.DeadLetter {
	return func(hospital string) []readapi.DeadLetter {
		all := letters.OfHospital(hospital)
		shown := make([]readapi.DeadLetter, len(all))
		for i := range all {
			l := &all[i]
			shown[i] = readapi.DeadLetter{
				ID: l.ID(), Topic: l.Topic, Partition: l.Partition, Offset: l.Offset,
				Reason: l.Reason, SchemaID: int32(l.Schema), Version: l.Version, At: l.At.Time(), RetriedAt: l.RetriedAt.Time(),
			}
		}
		return shown
	}
}

// readAgain returns the [ingest.DeadLetter].
func readAgain(letters *deadletter.Letters) func(ctx context.Context, hospital, id string) (*acuity.Observation, error) {
	return func(ctx context.Context, hospital, id string) (*acuity.Observation, error) {
		o, err := letters.Observation(ctx, hospital, id)
		if errors.Is(err, deadletter.ErrNone) {
			return nil, ingest.ErrNoDeadLetter
		}
		if poison := (*stream.PoisonError)(nil); errors.As(err, &poison) {
			return nil, &ingest.UnreadableError{Reason: poison.Reason}
		}
		return o, err
	}
}
