package hours_test

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"svc/acuity"
	"svc/internal/analysis/backtest/hours"
	"svc/internal/analysis/backtest/hours/hourstest"
	"svc/internal/analysis/simulate"
)

func made(t *testing.T, days int) simulate.Options {
	t.Helper()
	return simulate.Options{Seed: 3, Profile: "small", Start: time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC), For: time.Duration(days) * 24 * time.Hour}
}

// TestFileIsTheFeed: the hours that are computed from a file equal those that are computed directly from the requests
// in that file.
func TestFileIsTheFeed(t *testing.T) {
	requests, err := simulate.Requests(made(t, 4))
	if err != nil {
		t.Fatal(err)
	}
	var lines []byte
	for r := range requests {
		lines = simulate.AppendLine(lines, r)
	}
	direct := hourstest.Cut(t, requests, time.UTC)
	read, err := hours.Ordered(hours.FromRequests(hours.Lines(bytes.NewReader(lines)), "h", time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	if len(direct) < 90 || !reflect.DeepEqual(direct, read) {
		t.Errorf("%d hours from the feed, %d from its lines", len(direct), len(read))
	}
	for i, s := range direct {
		if i > 0 && s.Hour != direct[i-1].Hour+1 {
			t.Errorf("hour %d follows %d", s.Hour, direct[i-1].Hour)
		}
	}
}

func TestLinesThatAreNone(t *testing.T) {
	for name, tt := range map[string]struct{ text, want string }{
		"no JSON":      {"\n{", "line 2: not a request"},
		"no path":      {`{"at":"2026-01-05T00:00:00Z","body":{}}`, "line 1: not a request"},
		"refused":      {`{"at":"2026-01-05T00:00:00Z","path":"/api/ingest/census","body":{"rooms":[{}]}}`, "request 1: "},
		"unknown path": {`{"at":"2026-01-05T00:00:00Z","path":"/api/ingest/tea","body":{}}`, "request 1: "},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := hours.Ordered(hours.FromRequests(hours.Lines(strings.NewReader(tt.text)), "h", time.UTC))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
	if _, err := hours.Ordered(hours.FromRequests(hours.Lines(strings.NewReader("")), "h", time.UTC)); !errors.Is(err, hours.ErrNone) {
		t.Errorf("error %v of an empty file", err)
	}
}

// TestOrdered: the hours are sorted, and a backfilled snapshot replaces every live snapshot of the same hour, even
// one that was recorded after it.
func TestOrdered(t *testing.T) {
	list, err := hours.Ordered(func(yield func(*acuity.Snapshot, error) bool) {
		for _, s := range []*acuity.Snapshot{
			{Hour: 5, Moves: 5},
			{Hour: 6, Moves: 6},
			{Hour: 3, Generation: 1, Moves: 3},
			{Hour: 5, Generation: 1, Moves: 50},
			{Hour: 5, Generation: 1, Moves: 51},
			{Hour: 5, Moves: 59},
		} {
			if !yield(s, nil) {
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	var moves []int32
	for _, s := range list {
		moves = append(moves, s.Moves)
	}
	if !reflect.DeepEqual(moves, []int32{3, 51, 6}) {
		t.Errorf("moves %v", moves)
	}
}
