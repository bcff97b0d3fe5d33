package web

import (
	"fmt"
	"testing"

	"svc/readapi/web/auth"
)

// TestShares adds streams up to their limits. A session, a wall or a hospital at its limit must not
// affect others, and a stream that ends must release its slot.
func TestShares(t *testing.T) {
	h := newHub(&Config{})
	open := func(session *auth.Session) (n int) {
		for n < 2*mostStreams && h.addStream(streamShares(session)) {
			n++
		}
		return n
	}
	for _, step := range []struct {
		name    string
		session auth.Session
		want    int
	}{
		{"a session", auth.Session{User: "usr_1", Hospital: "north", ID: fmt.Sprint("usr_1", 1)}, mostOfSession},
		{"the next session of the same person", auth.Session{User: "usr_1", Hospital: "north", ID: fmt.Sprint("usr_1", 2)}, mostOfSession},
		{"a wall", auth.Session{Wall: "wall_1", Hospital: "north"}, mostOfWall},
		{"another hospital", auth.Session{User: "usr_9", Hospital: "south", ID: fmt.Sprint("usr_9", 1)}, mostOfSession},
	} {
		if got := open(&step.session); got != step.want {
			t.Errorf("%s opens %d streams, want %d", step.name, got, step.want)
		}
	}
	for i := range int64(100) {
		open(&auth.Session{User: "usr_2", Hospital: "north", ID: fmt.Sprint("usr_2", i)})
	}
	if got := h.shares["hospital north"]; got != mostOfHospital {
		t.Errorf("a hospital has %d streams, want %d", got, mostOfHospital)
	}
	if got := open(&auth.Session{User: "usr_8", Hospital: "south", ID: fmt.Sprint("usr_8", 5)}); got != mostOfSession {
		t.Errorf("beside a full hospital another opens %d streams", got)
	}
	wall := streamShares(&auth.Session{Wall: "wall_1", Hospital: "north"})
	h.removeStream(wall)
	if !h.addStream(wall) {
		t.Error("a place that is free is not given")
	}
}
