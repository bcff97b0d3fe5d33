// Package hours provides the hourly snapshots of a hospital for a backtest. It computes them from feeds or from the
// log of observations, with the functions of the live processor, or reads recorded snapshots unchanged.
package hours

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"path"
	"slices"
	"time"

	"svc/acuity"
	"svc/ingest"
	"svc/internal/analysis/inputlog"
	"svc/internal/analysis/replay"
	"svc/internal/analysis/simulate"
)

// hours is a sequence of snapshots that ends with its first error.
type hours = iter.Seq2[*acuity.Snapshot, error]

// maxLine is the maximum length of a line, in bytes. It equals the limit for a request body.
const maxLine = 8 << 20

// Lines reads requests of the ingest API from the output of svc simulate: each line is an
// object {at, path, body}.
func Lines(from io.Reader) iter.Seq2[simulate.Request, error] {
	return func(yield func(simulate.Request, error) bool) {
		lines := bufio.NewScanner(from)
		lines.Buffer(make([]byte, 0, 1<<16), maxLine)
		for n := 1; lines.Scan(); n++ {
			text := bytes.TrimSpace(lines.Bytes())
			if len(text) == 0 {
				continue
			}
			var line struct {
				At   time.Time
				Path string
				Body json.RawMessage
			}
			if err := json.Unmarshal(text, &line); err != nil || line.At.IsZero() || line.Path == "" {
				yield(simulate.Request{}, fmt.Errorf("line %d: not a request of the form {at, path, body}", n))
				return
			}
			if !yield(simulate.Request{At: line.At, Path: line.Path, Body: line.Body}, nil) {
				return
			}
		}
		if err := lines.Err(); err != nil {
			yield(simulate.Request{}, fmt.Errorf("read the requests: %w", err))
		}
	}
}

// feeds are the channels whose requests [FromRequests] accepts.
var feeds = []acuity.Channel{acuity.ChannelADT, acuity.ChannelCensus, acuity.ChannelClinical, acuity.ChannelRoster, acuity.ChannelStaffing}

// FromRequests computes the hours of a hospital from the requests of its feeds. A request that a server would reject
// causes an error.
func FromRequests(requests iter.Seq2[simulate.Request, error], hospital string, zone *time.Location) hours {
	pseudonyms := ingest.NewPseudonyms(bytes.Repeat([]byte("backtest"), 4)) // a fixed key: no pseudonym leaves the process
	return FromInputs(func(yield func(inputlog.Input, error) bool) {
		n := int64(0)
		for r, err := range requests {
			if err != nil {
				yield(inputlog.Input{}, err)
				return
			}
			n++
			o := &acuity.Observation{Hospital: hospital, ReceivedAt: acuity.At(r.At), Channel: acuity.Channel(path.Base(r.Path)), Source: "backtest"}
			if path.Dir(r.Path) != "/api/ingest" || !slices.Contains(feeds, o.Channel) {
				yield(inputlog.Input{}, fmt.Errorf("request %d: the path must be /api/ingest/ followed by one of %s", n, feeds))
				return
			}
			if _, err := ingest.Decode(o, r.Body, zone, pseudonyms); err != nil {
				yield(inputlog.Input{}, fmt.Errorf("request %d: %w", n, err))
				return
			}
			in := inputlog.Input{Hospital: hospital, At: o.ReceivedAt, Observation: o}
			in.Offset = n
			if !yield(in, nil) {
				return
			}
		}
	}, hospital)
}

// FromInputs computes the hours of a hospital from its inputs in the log.
func FromInputs(inputs iter.Seq2[inputlog.Input, error], hospital string) hours {
	return func(yield func(*acuity.Snapshot, error) bool) {
		refold, err := replay.NewRefold(hospital, nil)
		if err != nil {
			yield(nil, err)
			return
		}
		more := true
		for in, err := range inputs {
			if err != nil {
				yield(nil, err)
				return
			}
			refold.Apply(&in, func(c *acuity.Change) {
				if more && c.Snapshot != nil {
					more = yield(c.Snapshot, nil)
				}
			})
			if !more {
				return
			}
		}
	}
}

// ErrNone means that there are no recorded hours.
var ErrNone = errors.New("no full hour was recorded, so there is no forecast to measure")

// Ordered returns the hours in ascending order. If an hour was recorded several times, Ordered returns only the snapshot
// with the highest generation or, among those, the last one, as the forecast learns it.
func Ordered(list hours) ([]*acuity.Snapshot, error) {
	var all []*acuity.Snapshot
	for s, err := range list {
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	if len(all) == 0 {
		return nil, ErrNone
	}
	slices.Reverse(all)
	slices.SortStableFunc(all, func(a, b *acuity.Snapshot) int {
		return cmp.Or(cmp.Compare(a.Hour, b.Hour), cmp.Compare(b.Generation, a.Generation))
	})
	return slices.CompactFunc(all, func(a, b *acuity.Snapshot) bool { return a.Hour == b.Hour }), nil
}
