package notifier_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"svc/acuity"
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

// levels implements [People]. It records which levels its steps know, and the levels of the changes that they get.
type levels struct {
	notifier.People // Open and Test are not called

	mu             sync.Mutex
	known, changes []acuity.Level
}

func (p *levels) Step(_ context.Context, _ time.Time, h notifier.Happening) notifier.Step {
	p.mu.Lock()
	defer p.mu.Unlock()
	if h.Known {
		p.known = append(p.known, h.Level)
	}
	for i := range h.Changes {
		p.changes = append(p.changes, h.Changes[i].Effect.Level)
	}
	return notifier.Step{Memory: []byte("m")}
}

// TestLevelComesWithItsChange: a step does not learn the level of a change before it gets the change itself, even if
// another reason causes a step while the ledger has not acknowledged the change. Otherwise, the alert would lack the
// cause of the level and could show older rooms.
func TestLevelComesWithItsChange(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		p := &levels{}
		r.people = p
		r.start()
		r.change("north")
		r.settle(time.Second)
		answer := r.ledger.delayAnswers()
		r.change("north")
		r.settle(time.Second)
		r.n.SettingsChanged("north")
		r.settle(time.Second)
		if want := []acuity.Level{acuity.LevelYellow}; slices.Contains(p.known, acuity.LevelOrange) || !slices.Equal(p.changes, want) {
			t.Errorf("levels %v are known with changes to %v", p.known, p.changes)
		}
		answer()
		r.settle(time.Second)
		if want := []acuity.Level{acuity.LevelYellow, acuity.LevelOrange}; p.known[len(p.known)-1] != acuity.LevelOrange || !slices.Equal(p.changes, want) {
			t.Errorf("then levels %v are known with changes to %v", p.known, p.changes)
		}
		r.end()
	})
}
