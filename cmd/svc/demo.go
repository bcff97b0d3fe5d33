package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"svc/internal/analysis/simulate"
	"svc/internal/cli"
)

// The unit of svc dev --demo.
const (
	demoSeed    = 1
	demoProfile = "medium"
	demoHistory = 28 * 24 * time.Hour      // what the forecast learns from at once
	demoFor     = 9 * 365 * 24 * time.Hour // then it ends
	demoSigns   = 4 * time.Hour            // signals older than this tell nothing of who is here now,
	demoDrugs   = 36 * time.Hour           // unless of a drug, which may still run
	demoSave    = time.Second              // how often it is noted how far it is
	demoAnswer  = 10 * time.Second         // of the server to one request
	demoPatient = 250 * time.Millisecond   // until a request is tried again that could not be taken
	demoNote    = "Demo: %d requests of %s are in, after %.1f s; the unit goes on at speed %g.\n"
)

// demo keeps a made-up unit moving: its past by /batch, then each request when it is
// due. What it needs to go on after any end is in a file of the data folder.
type demo struct {
	env
	file string // "": kept nowhere
	feed *cli.Feed

	state demoState
	saved time.Time
}

// demoState is that file.
type demoState struct {
	Seed    uint64          `json:"seed"`
	Profile string          `json:"profile"`
	Start   time.Time       `json:"start"`
	Course  simulate.Course `json:"course"`
	Sent    int             `json:"sent"` // requests that are in; the next ones may be
	At      time.Time       `json:"at"`   // when that was noted
}

// newDemo takes up what was kept in the data folder, or begins a unit whose past
// ends now. While nobody kept it moving, its time passed as real time does.
func newDemo(o *devOptions, w env) (*demo, error) {
	d := &demo{env: w}
	now := w.Now().Truncate(time.Second)
	if !o.ephemeral {
		d.file = filepath.Join(o.data, "demo.json")
		content, err := os.ReadFile(d.file)
		if err == nil {
			err = json.Unmarshal(content, &d.state)
		}
		switch {
		case err == nil:
			d.state.Course = d.state.Course.Turned(d.state.At, 1).Turned(now, o.speed)
			return d, nil
		case !errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("%s: %w; remove it to begin a new demonstration", d.file, reason(err))
		}
	}
	d.state = demoState{
		Seed: demoSeed, Profile: demoProfile, Start: now.Add(-demoHistory), At: now,
		Course: simulate.Course{{Unit: now, Real: now, Speed: o.speed}},
	}
	d.save() // whatever happens next, it is the same unit
	return d, nil
}

// run goes on until ctx ends.
func (d *demo) run(ctx context.Context, base, key string) error {
	d.feed = cli.NewFeed(base, key, demoAnswer)
	defer d.feed.Close()
	zone, err := time.LoadLocation(devZone)
	if err != nil {
		return err
	}
	requests, err := simulate.Requests(simulate.Options{
		Seed: d.state.Seed, Profile: d.state.Profile, Start: d.state.Start.In(zone), For: demoFor, Steady: true, Clock: d.state.Course.Real,
	})
	if err != nil {
		return fmt.Errorf("%s: %w", d.file, err)
	}
	now := d.Now()
	past := &demoPast{until: now}
	n := 0
	for r := range requests {
		if n++; n <= d.state.Sent {
			continue
		}
		if !r.At.After(now) {
			past.keep(&r)
			continue
		}
		if past != nil {
			if err = d.catchUp(ctx, past, n-1); err != nil {
				return nil
			}
			past = nil
		}
		if pause(ctx, r.At.Sub(d.Now())) != nil || d.post(ctx, path.Base(r.Path), r.Body) != nil {
			break
		}
		d.state.Sent = n
		if d.Now().Sub(d.saved) >= demoSave {
			d.save()
		}
	}
	if past == nil {
		d.save()
	}
	return nil
}

// catchUp sends the past; sent is how many requests are then in.
func (d *demo) catchUp(ctx context.Context, past *demoPast, sent int) error {
	for _, p := range past.all() {
		if err := d.post(ctx, p.path, p.body); err != nil {
			return err
		}
	}
	count, span := sent-d.state.Sent, "28 days"
	if d.state.Sent > 0 {
		span = past.until.Sub(d.state.At).Round(time.Second).String()
	}
	d.state.Sent = sent
	d.save()
	course := d.state.Course
	fmt.Fprintf(d.Stdout, demoNote, count, span, d.Now().Sub(past.until).Seconds(), course[len(course)-1].Speed)
	return nil
}

// post sends one request until it is answered; the error is that of ctx. What is
// refused is said, and left.
func (d *demo) post(ctx context.Context, to string, body []byte) error {
	for {
		refused, err := d.feed.Post(ctx, to, body)
		if err == nil {
			if refused != "" {
				fmt.Fprintf(d.Stderr, "demo: %s is refused: %s\n", to, refused)
			}
			return nil
		}
		if err = pause(ctx, demoPatient); err != nil {
			return err
		}
	}
}

// save notes how far it is. A note that is lost costs requests that are sent twice,
// which does no harm.
func (d *demo) save() {
	d.saved = d.Now()
	d.state.At = d.saved
	if d.file == "" {
		return
	}
	content, err := json.MarshalIndent(d.state, "", "  ")
	if err == nil {
		err = os.WriteFile(d.file+".new", append(content, '\n'), 0o600)
	}
	if err == nil {
		err = os.Rename(d.file+".new", d.file)
	}
	if err != nil {
		fmt.Fprintf(d.Stderr, "demo: not noted: %v\n", reason(err))
	}
}

// demoRequest is a request of the ingest API.
type demoRequest struct {
	path string
	body []byte
}

// demoPast gathers what lies behind: ADT events in batches, of the rest what still
// tells something.
type demoPast struct {
	until   time.Time
	batches []demoRequest
	events  simulate.Batch
	signs   []demoRequest
	last    [3]demoRequest // staffing, roster, census
	before  demoRequest    // staffing before the last, which may be a plan
}

var demoSnapshots = []string{"staffing", "roster", "census"}

func (p *demoPast) keep(r *simulate.Request) {
	feed := path.Base(r.Path)
	if feed == "adt" {
		p.addBatch(p.events.Add(r.Body))
		return
	}
	one := demoRequest{path: feed, body: bytes.Clone(r.Body)}
	if i := slices.Index(demoSnapshots, feed); i >= 0 {
		if i == 0 {
			p.before = p.last[0]
		}
		p.last[i] = one
		return
	}
	since := demoSigns
	if bytes.Contains(r.Body, []byte(`"kind":"medication"`)) {
		since = demoDrugs
	}
	if p.until.Sub(r.At) < since {
		p.signs = append(p.signs, one)
	}
}

func (p *demoPast) all() []demoRequest {
	p.addBatch(p.events.Flush())
	all := append(p.batches, p.signs...)
	for _, one := range append([]demoRequest{p.before}, p.last[:]...) {
		if one.body != nil {
			all = append(all, one)
		}
	}
	return all
}

// addBatch keeps a batch of events, unless it is nil.
func (p *demoPast) addBatch(body []byte) {
	if body != nil {
		p.batches = append(p.batches, demoRequest{path: "batch", body: body})
	}
}
