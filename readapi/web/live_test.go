package web_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"svc/acuity"
	"svc/internal/admin/users"
	"svc/readapi"
)

// viewer is a browser that follows a stream.
type viewer struct {
	t      testing.TB
	lines  chan string
	status int
	cancel context.CancelFunc
}

// event is one event in a stream.
type event struct{ kind, id, data string }

// followStream opens a stream of the ward using the real clock.
func followStream(t testing.TB, server *httptest.Server, w *ward, path string, header ...string) *viewer {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Cookie", w.cookie)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	answer, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	v := &viewer{t, make(chan string, 1024), answer.StatusCode, cancel}
	go func() {
		defer answer.Body.Close()
		defer close(v.lines)
		scanner := bufio.NewScanner(answer.Body)
		scanner.Buffer(nil, 4<<20)
		for scanner.Scan() {
			v.lines <- scanner.Text()
		}
	}()
	t.Cleanup(cancel)
	return v
}

// next returns the next event of the given kind.
func (v *viewer) next(kind string) (e event) {
	v.t.Helper()
	limit, stop := context.WithTimeout(v.t.Context(), time.Minute)
	defer stop()
	for {
		select {
		case <-limit.Done():
			v.t.Fatalf("no event %q came", kind)
		case line, ok := <-v.lines:
			name, value, _ := strings.Cut(line, ": ")
			switch {
			case !ok:
				v.t.Fatalf("the stream ended before %q", kind)
			case name == "event":
				e = event{kind: value}
			case name == "id":
				e.id = value
			case name == "data":
				e.data = value
			case line == "" && e.kind == kind:
				return e
			}
		}
	}
}

type stateData struct {
	ID, From, Level, Held string
	Parts                 map[string]string
}

func (v *viewer) state() (s stateData) {
	v.t.Helper()
	if err := json.Unmarshal([]byte(v.next("state").data), &s); err != nil {
		v.t.Fatal(err)
	}
	return s
}

// serve starts a server for a ward.
func serve(t testing.TB, w *ward) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(w)
	t.Cleanup(server.Close)
	return server
}

// restless changes the unit: a room turns red, and turns green again with the next change.
func restless(c *acuity.Chart) {
	if c.Unit.Version%2 == 1 {
		c.Rooms[1] = bed(2, "T2", "Triage", "labor-standard@6h", "labor-fhr-cat-iii@5m")
		return
	}
	c.Rooms[1] = unit().Rooms[1]
}

// TestStreamSendsChanges: a browser without a state gets all parts. A browser with the previous state gets the parts
// that changed, and a browser with the current state gets none.
func TestStreamSendsChanges(t *testing.T) {
	t.Parallel()
	w := newWard(t, unit())
	w.live()
	server := serve(t, w)
	first := followStream(t, server, w, "/app/events")
	all := first.state()
	if all.From != "" || len(all.Parts) < 7 || !strings.Contains(all.Parts["rooms"], "L6") {
		t.Fatalf("first state: from %q, %d parts", all.From, len(all.Parts))
	}
	w.change("north", restless)
	changes := first.state()
	if changes.From != all.ID || changes.ID == all.ID || changes.Parts["rooms"] == "" || changes.Parts["quality"] != "" {
		t.Errorf("after a change: from %q, parts %d", changes.From, len(changes.Parts))
	}
	before := followStream(t, server, w, "/app/events", "Last-Event-ID", all.ID)
	if got := before.state(); got.From != all.ID || len(got.Parts) != len(changes.Parts) {
		t.Errorf("to one who has the state before: from %q, %d parts", got.From, len(got.Parts))
	}
	stranger := followStream(t, server, w, "/app/events?last=another")
	if got := stranger.state(); got.From != "" || len(got.Parts) != len(all.Parts) {
		t.Errorf("to one who has another state: from %q, %d parts", got.From, len(got.Parts))
	}
	up := followStream(t, server, w, "/app/events?last="+changes.ID)
	if got := up.next("feeds"); !strings.Contains(got.data, "clock") {
		t.Errorf("feeds: %s", got.data)
	}
	w.change("north", restless)
	if got := up.state(); got.From != changes.ID {
		t.Errorf("to one who had the state: from %q, want %q", got.From, changes.ID)
	}
}

// TestWallStreamHasNoPatientData: the stream of the wall display contains no patient data, just like the display's
// page.
func TestWallStreamHasNoPatientData(t *testing.T) {
	t.Parallel()
	w := newWard(t, unit())
	w.live()
	v := followStream(t, serve(t, w), w, "/board/events")
	got := fmt.Sprint(v.state())
	for _, word := range []string{"Magnesium", "Couplet", "Bereavement", "canary", "href=\"/app", "high-mag"} {
		if strings.Contains(got, word) {
			t.Errorf("the stream of the wall tells %s", word)
		}
	}
}

// TestStreamReportsLostUnit: the stream reports when a unit can no longer be read, and sends the unit's state once
// the unit can be read again.
func TestStreamReportsLostUnit(t *testing.T) {
	t.Parallel()
	w := newWard(t, unit())
	w.live()
	v := followStream(t, serve(t, w), w, "/app/events")
	v.state()
	w.fail(readapi.ErrAway)
	w.change("north", func(*acuity.Chart) {})
	v.next("lost")
	w.fail(nil)
	w.change("north", func(*acuity.Chart) {})
	v.state() // sent even though the unit has not changed
}

// TestStreamEndsWithSession: once an administrator has ended a session, its streams send no more unit data.
func TestStreamEndsWithSession(t *testing.T) {
	t.Parallel()
	w := newWard(t, unit())
	w.live()
	v := followStream(t, serve(t, w), w, "/app/events")
	if got := v.next("beat"); !strings.Contains(got.data, `"left":`) {
		t.Errorf("beat: %s", got.data)
	}
	w.users.SetUser(users.User{ID: "usr_1", Hospital: "north", Role: users.Charge, Epoch: 7})
	w.skip(16 * time.Second)
	w.change("north", func(*acuity.Chart) {})
	v.next("gone")
}

// TestOneRenderForAll: a unit is read once per change, however many browsers show the same page.
func TestOneRenderForAll(t *testing.T) {
	t.Parallel()
	w := newWard(t, unit())
	w.live()
	server := serve(t, w)
	var all []*viewer
	for range 20 { // the maximum for one session
		all = append(all, followStream(t, server, w, "/app/events"))
	}
	for _, v := range all {
		v.state()
	}
	before := w.reads()
	w.change("north", restless)
	for _, v := range all {
		v.state()
	}
	if n := w.reads() - before; n > 3 { // one read for the change, plus periodic reads
		t.Errorf("20 browsers caused %d reads", n)
	}
}

// TestStreamsAreBounded: a session may have 20 streams at once. A further stream is refused until one of them has
// ended.
func TestStreamsAreBounded(t *testing.T) {
	t.Parallel()
	w := newWard(t, unit())
	w.live()
	server := serve(t, w)
	var all []*viewer
	for range 20 {
		all = append(all, followStream(t, server, w, "/board/events"))
	}
	if v := followStream(t, server, w, "/app/events"); v.status != http.StatusServiceUnavailable {
		t.Errorf("one stream more than a session may have: %d", v.status)
	}
	all[0].cancel()
	for range all[0].lines { // until the stream has ended
	}
	limit, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	for followStream(t, server, w, "/app/events").status != http.StatusOK {
		if limit.Err() != nil {
			t.Fatal("a place that is free is not given")
		}
	}
}

// TestUnitsStream: the stream of the list of units sends each changed row with its current position.
func TestUnitsStream(t *testing.T) {
	t.Parallel()
	w := newWard(t, unit())
	w.live()
	w.charts["south"] = unit()
	w.alsoIn(users.User{ID: "usr_1", Hospital: "south", Role: users.Viewer})
	v := followStream(t, serve(t, w), w, "/app/units/events")
	rows := func() (got struct{ Parts map[string]string }) {
		if err := json.Unmarshal([]byte(v.next("rows").data), &got); err != nil {
			t.Fatal(err)
		}
		return got
	}
	if got := rows(); len(got.Parts) != 2 {
		t.Fatalf("%d rows at first", len(got.Parts))
	}
	w.change("south", func(c *acuity.Chart) { c.Unit.Staffing = []acuity.Staffing{{AsOf: ago(time.Hour), Nurses: 3}} })
	got := rows()
	if row := got.Parts["u-south"]; len(got.Parts) != 1 || !strings.Contains(row, "Red") || !strings.Contains(row, `data-k="0`) {
		t.Errorf("after a change: %v", got.Parts)
	}
}
