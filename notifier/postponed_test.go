package notifier_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"svc/internal/outbound"
	"svc/notifier"
)

// postponing implements [People]. It postpones every step until open is set, and then records the input of each step.
type postponing struct {
	notifier.People // Open and Test are not called

	mu       sync.Mutex
	open     bool
	versions []int64
	commands []string
}

func (p *postponing) Step(_ context.Context, now time.Time, h notifier.Happening) notifier.Step {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.open {
		return notifier.Step{Postponed: true, Next: now.Add(time.Second)}
	}
	s := notifier.Step{Memory: []byte("m")}
	for i := range h.Changes {
		p.versions = append(p.versions, h.Changes[i].Version)
	}
	for i := range h.Commands {
		p.commands = append(p.commands, h.Commands[i].ID)
		s.Answers = append(s.Answers, notifier.Answer{Command: h.Commands[i].ID})
	}
	return s
}

func (p *postponing) set(open bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open = open
}

// TestPostponedStep: a step that is postponed gets its whole input again, in order, even after a kill -9 or a
// graceful restart. Once a step is not postponed, its input is not repeated.
func TestPostponedStep(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		p := &postponing{}
		r.people = p
		r.start()
		change := func() {
			r.change("north")
			r.settle(3 * time.Second)
			r.commit()
		}
		change()
		change()
		r.kill()
		r.start()
		change()
		r.order(outbound.Command{Hospital: "north", ID: "cmd_1", Verb: outbound.VerbAck, By: "link", EventID: "evt_1"})
		r.settle(3 * time.Second)
		r.end()
		r.start()
		change()
		p.set(true)
		r.settle(3 * time.Second)
		if want := []int64{1, 2, 3, 4}; !slices.Equal(p.versions, want) || !slices.Equal(p.commands, []string{"cmd_1"}) {
			t.Fatalf("changes %v and commands %v, want %v and the one command", p.versions, p.commands, want)
		}
		r.commit()
		r.kill()
		r.start()
		change()
		if want := []int64{1, 2, 3, 4, 5}; !slices.Equal(p.versions, want) {
			t.Errorf("after a restart %v, want %v", p.versions, want)
		}
		r.end()
	})
}
