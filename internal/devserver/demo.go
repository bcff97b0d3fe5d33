package devserver

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

// The made-up unit of svc dev --demo.
const (
	demoSeed    = 1
	demoProfile = "medium"
	demoHistory = 28 * 24 * time.Hour      // what the forecast learns from before the demonstration begins
	demoFor     = 9 * 365 * 24 * time.Hour // how long the demonstration lasts
	demoSigns   = 4 * time.Hour            // older signals say nothing about the present patients,
	demoDrugs   = 36 * time.Hour           // except medications, which may still run
	demoSave    = time.Second              // how often the progress is saved
	demoAnswer  = 10 * time.Second         // how long the server may take for one request
	demoPatient = 250 * time.Millisecond   // pause before a request is tried again
	demoNote    = "Demo: %d requests of %s are in, after %.1f s; the unit goes on at speed %g.\n"
)

// demo keeps a made-up unit moving. It sends the past by /batch, and then each request when it is
// due. Its state is a file in the data folder, so it can continue after any end.
type demo struct {
	cli.Env
	file string // "": the state is not saved
	feed *cli.Feed

	state demoState
	saved time.Time
}

// demoState is the content of that file.
type demoState struct {
	Seed    uint64          `json:"seed"`
	Profile string          `json:"profile"`
	Start   time.Time       `json:"start"`
	Course  simulate.Course `json:"course"`
	Sent    int             `json:"sent"` // requests that were accepted; later ones may have been
	At      time.Time       `json:"at"`   // when the state was saved
}

// newDemo continues from the data folder, or begins a unit whose past ends now. While no process
// kept it moving, its time passed as real time does.
func newDemo(o *Options, w cli.Env) (*demo, error) {
	d := &demo{Env: w}
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
			return nil, fmt.Errorf("%s: %w; remove it to begin a new demonstration", d.file, cli.WithoutPath(err))
		}
	}
	d.state = demoState{
		Seed: demoSeed, Profile: demoProfile, Start: now.Add(-demoHistory), At: now,
		Course: simulate.Course{{Unit: now, Real: now, Speed: o.speed}},
	}
	d.save() // a crash from here on continues with the same unit
	return d, nil
}

// Demo returns the loop of --demo, which keeps a unit moving once its hospital exists. nil: there
// is no --demo.
func (s *Server) Demo() (func(context.Context) error, error) {
	if !s.options.demo {
		return nil, nil //nolint:nilnil // nothing runs
	}
	d, err := newDemo(s.options, s.env)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		select {
		case <-s.greeted:
		case <-ctx.Done():
			return nil
		}
		running, err := cli.ReadDevFile(s.options.data)
		if err != nil {
			return err
		}
		return d.run(ctx, running.BaseURL, running.APIKey)
	}, nil
}

// run sends requests until ctx ends.
func (d *demo) run(ctx context.Context, base, key string) error {
	d.feed = cli.NewFeed(base, key, demoAnswer)
	defer d.feed.Close()
	zone, err := time.LoadLocation(hospitalZone)
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
		if cli.Pause(ctx, r.At.Sub(d.Now())) != nil || d.post(ctx, path.Base(r.Path), r.Body) != nil {
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

// catchUp sends the past. sent is the number of requests that the past stands for.
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

// post sends one request until it is answered. The error is that of ctx. A refusal is printed,
// and the request is not sent again.
func (d *demo) post(ctx context.Context, to string, body []byte) error {
	for {
		refused, err := d.feed.Post(ctx, to, body)
		if err == nil {
			if refused != "" {
				fmt.Fprintf(d.Stderr, "demo: %s is refused: %s\n", to, refused)
			}
			return nil
		}
		if err = cli.Pause(ctx, demoPatient); err != nil {
			return err
		}
	}
}

// save saves the state. If it cannot, some requests are sent twice, which does no harm.
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
		fmt.Fprintf(d.Stderr, "demo: progress not saved: %v\n", cli.WithoutPath(err))
	}
}

// demoRequest is a request of the ingest API.
type demoRequest struct {
	path string
	body []byte
}

// demoPast collects the past: ADT events in batches, and the latest requests of the other feeds.
type demoPast struct {
	until   time.Time
	batches []demoRequest
	events  simulate.Batch
	signs   []demoRequest
	last    [3]demoRequest // staffing, roster, census
	before  demoRequest    // the staffing before the last, because the last may be a plan
}

var demoSnapshots = []string{"staffing", "roster", "census"}

func (p *demoPast) keep(r *simulate.Request) {
	feed := path.Base(r.Path)
	if feed == "adt" {
		p.addBatch(p.events.Add(r.Body))
		return
	}
	one := demoRequest{path: feed, body: r.Body}
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

// addBatch adds a batch of events, unless it is nil.
func (p *demoPast) addBatch(body []byte) {
	if body != nil {
		p.batches = append(p.batches, demoRequest{path: "batch", body: body})
	}
}
