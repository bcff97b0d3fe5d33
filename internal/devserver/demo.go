package devserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"time"

	"svc/internal/analysis/simulate"
	"svc/internal/cli"
)

// The fictitious unit of svc dev --demo.
const (
	demoSeed    = 1
	demoProfile = "medium"
	demoHistory = 28 * 24 * time.Hour      // history before the demo, from which the forecast learns
	demoFor     = 9 * 365 * 24 * time.Hour // duration of the demo
	demoSave    = time.Second              // interval between saves of the progress
	demoAnswer  = 10 * time.Second         // timeout of one request
	demoPatient = 250 * time.Millisecond   // pause before a retry
	demoNote    = "Demo: %d requests covering %s were applied; the unit now continues in real time.\n"
)

// DemoSource is the source of a demo's past observations. It replaces the id of an API key, because no key exists yet
// when these observations are appended.
const DemoSource = "demo"

// Append appends the body of one request of a feed to the log of a hospital, as if it had been received at the given
// instant. The instants of successive calls never decrease.
type Append func(feed, hospital string, zone *time.Location, at time.Time, body []byte) error

// Demo keeps a simulated unit running. [Demo.Seed] appends the unit's history to the log before any role reads the
// log. The roles therefore process the history as of the times in it, with the nurses on duty and the levels at those
// times. [Demo.Run] sends each later request when it is due. The state is in a file in the data folder, so the demo
// continues after a restart.
type Demo struct {
	cli.Env
	server *Server
	file   string // "": the state is not saved
	feed   *cli.Feed
	seeded string // what Seed has appended, as text for the greeting
	alerts chan struct{}

	state demoState
	saved time.Time
}

// demoState is the content of the demo's state file.
type demoState struct {
	Seed    uint64          `json:"seed"`
	Profile string          `json:"profile"`
	Start   time.Time       `json:"start"`
	Course  simulate.Course `json:"course"`
	Sent    int             `json:"sent"`   // number of requests known to be accepted; the last save may have been lost, so it can be too low
	Alerts  bool            `json:"alerts"` // whether the recipients of alerts were created
	At      time.Time       `json:"at"`     // when the state was saved
}

// Demo returns the demo that is saved in the data folder, or a new one whose history ends now. The time of a saved
// unit continues even while no process runs the demo. Demo returns nil if --demo is not set.
func (s *Server) Demo() (*Demo, error) {
	if !s.options.demo {
		return nil, nil //nolint:nilnil // --demo is not set
	}
	o, w := s.options, s.env
	d := &Demo{Env: w, server: s, alerts: make(chan struct{})}
	now := w.Now().Truncate(time.Second)
	if !o.ephemeral {
		d.file = filepath.Join(o.data, "demo.json")
		content, err := os.ReadFile(d.file)
		if err == nil {
			err = json.Unmarshal(content, &d.state)
		}
		switch {
		case err == nil:
			d.state.Course = d.state.Course.Turned(d.state.At, 1) // an earlier release may have set another speed
			return d, nil
		case !errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("%s: %w; remove it to start a new demo", d.file, cli.WithoutPath(err))
		}
	}
	d.state = demoState{
		Seed: demoSeed, Profile: demoProfile, Start: now.Add(-demoHistory), At: now,
		Course: simulate.Course{{Unit: now, Real: now, Speed: 1}},
	}
	d.save() // so that the demo continues with the same unit after a crash
	return d, nil
}

// requests returns all requests of the unit, from the beginning of its history.
func (d *Demo) requests() (iter.Seq[simulate.Request], *time.Location, error) {
	zone, err := time.LoadLocation(hospitalZone)
	if err != nil {
		return nil, nil, fmt.Errorf("load the demo's time zone: %w", err)
	}
	requests, err := simulate.Requests(simulate.Options{
		Seed: d.state.Seed, Profile: d.state.Profile, Start: d.state.Start.In(zone), For: demoFor, Steady: true, Clock: d.state.Course.Real,
	})
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", d.file, err)
	}
	return requests, zone, nil
}

// Seed appends the requests that are already due and not in the log yet. No role may read the log before Seed has
// returned and the appended records are durable. The caller must then call [Demo.MarkSeeded].
func (d *Demo) Seed(add Append) error {
	requests, zone, err := d.requests()
	if err != nil {
		return err
	}
	now, n := d.Now(), 0
	for r := range requests {
		if r.At.After(now) {
			break
		}
		if n++; n <= d.state.Sent {
			continue
		}
		if err := add(path.Base(r.Path), hospitalID, zone, r.At, r.Body); err != nil {
			return fmt.Errorf("demo: request %d: %w", n, err)
		}
	}
	span := "28 days"
	if d.state.Sent > 0 {
		span = now.Sub(d.state.At).Round(time.Second).String()
	}
	d.seeded = fmt.Sprintf(demoNote, max(n-d.state.Sent, 0), span)
	d.state.Sent = max(n, d.state.Sent)
	return nil
}

// MarkSeeded records, in the state file, that the requests appended by Seed are in the log.
func (d *Demo) MarkSeeded() { d.save() }

// AlertsReady returns a channel that is closed once the recipients of alerts exist and the notifier has read the
// demo's history.
func (d *Demo) AlertsReady() <-chan struct{} { return d.alerts }

// Hospital returns the id of the demo's hospital.
func (d *Demo) Hospital() string { return hospitalID }

// Run waits until Greet has printed, creates the recipients of alerts, and sends requests until ctx ends. notified
// must wait until the notifier has read the demo's history.
func (d *Demo) Run(ctx context.Context, notified func(context.Context) error) error {
	select {
	case <-d.server.greeted:
	case <-ctx.Done():
		return nil
	}
	fmt.Fprint(d.Stdout, d.seeded)
	running, err := cli.ReadDevFile(d.server.options.data)
	if err != nil {
		return err
	}
	d.addRecipients(ctx, running)
	if notified(ctx) != nil {
		return nil // ctx has ended
	}
	close(d.alerts)
	requests, _, err := d.requests()
	if err != nil {
		return err
	}
	d.feed = cli.NewFeed(running.BaseURL, running.APIKey, demoAnswer)
	defer d.feed.Close()
	n := 0
	for r := range requests {
		if n++; n <= d.state.Sent {
			continue
		}
		if cli.Pause(ctx, r.At.Sub(d.Now())) != nil || d.post(ctx, path.Base(r.Path), r.Body) != nil {
			break
		}
		d.state.Sent = n
		if d.Now().Sub(d.saved) >= demoSave {
			d.save()
		}
	}
	d.save()
	return nil
}

// post sends one request, and retries until the server responds. If the server refuses the request, post prints the
// reason and returns nil. The only error is that of ctx.
func (d *Demo) post(ctx context.Context, to string, body []byte) error {
	for {
		refused, err := d.feed.Post(ctx, to, body)
		if err == nil {
			if refused != "" {
				fmt.Fprintf(d.Stderr, "demo: %s was refused: %s\n", to, refused)
			}
			return nil
		}
		if err = cli.Pause(ctx, demoPatient); err != nil {
			return err
		}
	}
}

// save saves the state. If that fails, some requests may be sent again after a restart, which is harmless.
func (d *Demo) save() {
	d.saved = d.Now()
	d.state.At = d.saved
	if d.file == "" {
		return
	}
	content, err := json.MarshalIndent(d.state, "", "  ")
	if err == nil {
		err = cli.WriteFile(d.file, append(content, '\n'))
	}
	if err != nil {
		fmt.Fprintf(d.Stderr, "demo: progress not saved: %v\n", cli.WithoutPath(err))
	}
}
