// Package simulate generates the requests that the systems of a busy maternity unit would send to the ingest API.
//
// Women come to triage, and go home or are admitted in labor. They wait for a room, get epidurals and magnesium, give
// birth, recover and are discharged after the morning's rounds. Nurses change shifts. All people are fictitious:
// messages contain visit and patient numbers, but never a name or a birth date. The same [Options] produce the same
// bytes.
//
// The simulation is used to test the forecast, so it does not share the forecast's model. Its messages do not contain
// what causes the events, such as parity, busy days, storms and the change of regime.
package simulate

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"
)

// Options select the simulated unit and the length of the simulation.
type Options struct {
	Seed    uint64
	Profile string        // one of [Profiles]
	Start   time.Time     // first instant; its location is the time zone of the unit
	For     time.Duration // duration of the simulation
	Births  int           // births per year; 0: as in the profile
	// Steady omits late messages and outages.
	Steady bool
	// Clock maps each instant of the unit to the instant at which requests are dated and sent. If Clock is nil, both
	// instants are equal. Clock must never run backwards.
	Clock func(time.Time) time.Time
}

// Request is one request of the ingest API.
type Request struct {
	At   time.Time // when the request is sent
	Path string    // such as /api/ingest/adt
	Body []byte    // JSON
}

// profile is a kind of unit.
type profile struct {
	name       string
	births     int
	censusOnly bool // sends staffing and half-hourly censuses, but no ADT events or clinical signals
	chaos      bool // sends duplicates, cancellations, and messages out of order
}

// profiles contains the three sizes for which the forecast is designed (a community hospital, a regional hospital and
// a large hospital), and two variants of the medium size.
var profiles = []profile{
	{name: "small", births: 900},
	{name: "medium", births: 3000},
	{name: "large", births: 7000},
	{name: "census-only", births: 3000, censusOnly: true},
	{name: "chaos", births: 3000, chaos: true},
}

// Profiles returns the names of the profiles.
func Profiles() []string {
	var names []string
	for _, p := range profiles {
		names = append(names, p.name)
	}
	return names
}

// Limits of the options.
const (
	minBirths = 100
	maxBirths = 40_000
	maxFor    = 10 * 366 * 24 * time.Hour
)

// Requests returns the requests of a unit in the order in which they are sent. Each iteration starts from the
// beginning. The simulation stores only the current state of the unit, so simulating a year needs no more memory than
// simulating a day.
func Requests(o Options) (iter.Seq[Request], error) {
	at := slices.IndexFunc(profiles, func(p profile) bool { return p.name == o.Profile })
	var faults []error
	if at < 0 {
		faults = append(faults, fmt.Errorf("profile: must be one of %s", strings.Join(Profiles(), ", ")))
	}
	if o.Births != 0 && (o.Births < minBirths || o.Births > maxBirths) {
		faults = append(faults, fmt.Errorf("births: must be from %d to %d", minBirths, maxBirths))
	}
	if o.For <= 0 || o.For > maxFor {
		faults = append(faults, errors.New("for: must be longer than 0 and at most ten years"))
	}
	if o.Start.Year() < 1971 || o.Start.Year() > 2190 {
		faults = append(faults, errors.New("start: must be a year from 1971 to 2190"))
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	p := profiles[at]
	if o.Births != 0 {
		p.births = o.Births
	}
	return func(yield func(Request) bool) { newUnit(&o, p).run(yield) }, nil
}

// AppendLine appends a request to line as one line of NDJSON: an object with at, path and body.
func AppendLine(line []byte, r Request) []byte {
	line = append(line, `{"at":"`...)
	line = r.At.UTC().AppendFormat(line, "2006-01-02T15:04:05.999Z")
	line = append(line, `","path":"`...)
	line = append(line, r.Path...)
	line = append(line, `","body":`...)
	line = append(line, r.Body...)
	return append(line, '}', '\n')
}

// BatchEvents is the maximum number of events in one batch. The API does not accept more.
const BatchEvents = 500

const (
	batchFrame = 100                // bytes around the events of a batch
	batchBytes = 4<<20 - batchFrame // size limit of the events of a batch; the API accepts 8 MiB
)

// Batch joins ADT events into bodies of POST /api/ingest/batch. Past events are sent in batches, because only batches
// add to the forecast's history.
type Batch struct {
	body   []byte
	events int
}

// Add adds an event. If the event does not fit into the open batch, Add returns that batch and begins a new one.
func (b *Batch) Add(event []byte) (full []byte) {
	if b.events == BatchEvents || len(b.body)+len(event) > batchBytes {
		full = b.Flush()
	}
	if b.events == 0 {
		b.body = append(b.body, `{"events":[`...)
	} else {
		b.body = append(b.body, ',')
	}
	b.body = append(b.body, event...)
	b.events++
	return full
}

// Flush returns the open batch, or nil if it is empty, and begins a new one.
func (b *Batch) Flush() (body []byte) {
	if b.events == 0 {
		return nil
	}
	body = append(b.body, "]}"...)
	*b = Batch{}
	return body
}
