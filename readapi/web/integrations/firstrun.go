package integrations

import (
	"net/http"

	"svc/readapi/web/page"
)

// firstRunPage leads an empty hospital to its first picture. A step is done when its fact
// has arrived, never by a click.
type firstRunPage struct {
	adminPage
	Say   string
	Steps []runStep
}

type runStep struct {
	Name, Say, Link, LinkSays string
	Done, Next                bool
}

// pollEvery is after how many seconds a page looks again that shows what arrives by itself.
const pollEvery = 2

func showFirstRun(d *adminRequest) {
	received, rooms, staffed, err := d.readFacts()
	if err != nil {
		d.ShowUnavailable(d.w, d.r, d.session, "facts not read", err)
		return
	}
	counts := map[string]int{}
	if d.Administration.Counts != nil {
		counts = d.Administration.Counts(d.session.Hospital)
	}
	out := firstRunPage{adminPage: d.newPage("int.first")}
	out.Heading = d.T("run.heading")
	out.Poll, out.Refresh = pollEvery, page.RefreshSeconds
	done := 0
	for _, s := range []struct {
		name, link string
		done       bool
	}{
		{"key", out.Root + "/keys/new?preset=ehr", counts["keys"] > 0},
		{"feed", out.Root + "/keys/new?preset=ehr", received},
		{"room", d.session.Base, rooms},
		{"staffing", d.session.Base, staffed},
		{"tell", out.Root + "/webhooks/new", counts["webhooks"]+counts["alerts"] > 0},
		{"wall", out.Root + "/walls", counts["walls"] > 0},
	} {
		step := runStep{Name: d.T("run." + s.name), Say: d.T("run." + s.name + ".do"), Link: s.link, LinkSays: d.T("run." + s.name + ".link"), Done: s.done}
		if s.done {
			done++
		} else {
			step.Next = done == len(out.Steps)
		}
		out.Steps = append(out.Steps, step)
	}
	out.Say = d.T("run.say", "n", done, "all", len(out.Steps))
	d.show(http.StatusOK, "admin.first", &out)
}

// readFacts returns what a hospital has sent: anything, a room, nurses on duty.
func (d *adminRequest) readFacts() (received, rooms, staffed bool, err error) {
	v, err := d.Verdict(d.r.Context(), d.session.Hospital)
	switch {
	case err != nil:
		return false, false, false, err
	case v != nil:
		received, rooms, staffed = true, len(v.Rooms) > 0, v.OnDuty >= 0
	}
	if !received { // a refused message counts, too
		var status apiStatus
		received = d.fetch(statusAPI, &status) == nil && len(status.Feeds) > 0
	}
	return received, rooms, staffed, nil
}
