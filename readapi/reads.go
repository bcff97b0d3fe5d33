package readapi

import (
	"context"
	"errors"
	"fmt"
	"time"

	"svc/acuity"
	"svc/acuity/forecast"
	"svc/acuity/help"
	"svc/acuity/score"
	"svc/internal/feeds"
)

// Reads gives other parts of this process the answers of the API, from the same cache.
type Reads struct {
	server *server
	dated  Charts // nil: none
}

// Verdict returns the verdict of a hospital now, and the name of its state. The caller must not
// change the verdict. The errors are or wrap [ErrNoUnit] and [ErrAway].
func (r *Reads) Verdict(ctx context.Context, hospital string) (v *score.Verdict, state string, err error) {
	j, err := r.server.current(ctx, hospital)
	if err != nil {
		return nil, "", err
	}
	return j.verdict, j.name(), nil
}

// name returns the name of the state of a judgment: its chart, and the instant since which it
// holds.
func (j *judgment) name() string {
	return fmt.Sprintf("%s.%d.%d", j.token.Generation, j.token.Version, j.from)
}

// oldest is the highest age of a verdict that Before returns. An older one is of no use.
const oldest = 24 * time.Hour

// Before returns the verdict of a hospital at the last instant at which its charts lacked no
// facts, with that instant. The caller shows the instant beside the verdict. behind is the error
// of an earlier read.
func (r *Reads) Before(ctx context.Context, hospital string, behind error) (v *score.Verdict, state string, at time.Time, err error) {
	known := (*BehindError)(nil)
	if r.dated == nil || !errors.As(behind, &known) || known.For <= 0 || known.For > oldest {
		return nil, "", time.Time{}, behind
	}
	at = r.server.shell.Now().Add(-known.For)
	read, err := r.dated.Read(ctx, hospital, Token{})
	if err != nil {
		return nil, "", time.Time{}, err //nolint:wrapcheck // the port's errors are ours
	}
	c, err := decode(r.dated, &read, nil)
	if err != nil {
		return nil, "", time.Time{}, err
	}
	j := judge(c, nil, acuity.At(at))
	return j.verdict, j.name(), at, nil
}

// Forecast returns the next eight hours of a hospital. It returns the errors of
// [Reads.Verdict], and [forecast.InsufficientError].
func (r *Reads) Forecast(ctx context.Context, hospital string) (*forecast.Forecast, error) {
	_, f, err := r.server.predictUnit(ctx, hospital)
	return f, err
}

// Help returns the steps that would help a unit now. It returns the errors of [Reads.Verdict].
func (r *Reads) Help(ctx context.Context, hospital string) ([]help.Step, error) {
	j, err := r.server.current(ctx, hospital)
	if err != nil {
		return nil, err
	}
	return help.Steps(j.whole(hospital), j.from), nil
}

// Trends returns the state of a unit at the full hours after since, up to until. It returns the
// errors of [Reads.Verdict], except [ErrNoUnit].
func (r *Reads) Trends(ctx context.Context, hospital string, since, until time.Time) (*Trends, error) {
	return r.server.trends(ctx, hospital, since, until)
}

// Plan returns the staffing that is planned for later instants, ascending. It returns the errors of
// [Reads.Verdict].
func (r *Reads) Plan(ctx context.Context, hospital string) ([]acuity.Staffing, error) {
	j, err := r.server.current(ctx, hospital)
	if err != nil {
		return nil, err
	}
	plan := j.head.Staffing
	for len(plan) > 0 && plan[0].AsOf <= j.from {
		plan = plan[1:]
	}
	return plan, nil
}

// RoomAhead is the verdict on a room now, and its changes by time alone.
type RoomAhead struct {
	Shares []float64 // points of severity of each factor now
	Steps  []RoomStep
}

// RoomStep is the verdict on a room from an instant on.
type RoomStep struct {
	From    acuity.Instant
	Verdict score.RoomVerdict
}

// mostSteps bounds the instants at which a room is judged ahead.
const mostSteps = 48

// Room returns a room now, and at each instant at which time alone changes it, up to within from
// now. It returns nil if there is no such room.
func (r *Reads) Room(ctx context.Context, hospital string, id int32, within time.Duration) (*RoomAhead, error) {
	j, err := r.server.current(ctx, hospital)
	if err != nil {
		return nil, err
	}
	for _, room := range j.judgedRooms {
		if room.id != id {
			continue
		}
		ahead := &RoomAhead{Shares: score.ShareSeverity(j.rules, &room.verdict)}
		step, end := RoomStep{j.from, room.verdict}, acuity.At(r.server.shell.Now().Add(within))
		for {
			ahead.Steps = append(ahead.Steps, step)
			next := step.Verdict.Until()
			if next <= step.From || next > end || len(ahead.Steps) == mostSteps {
				return ahead, nil
			}
			step = RoomStep{next, score.JudgeRoom(j.rules, &room.chart, next)}
		}
	}
	return nil, nil //nolint:nilnil // as documented
}

// Feeds returns the history of each feed of a hospital.
func (r *Reads) Feeds(ctx context.Context, hospital string) ([]feeds.History, error) {
	return r.server.health.Feeds(ctx, hospital) //nolint:wrapcheck // the port's errors are ours
}
