// Package layout administers where the rooms of a unit are drawn on its pages.
package layout

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	"svc/internal/admin/audit"
	"svc/internal/httpapi"
)

// Layout contains the positions of a unit's rooms, in cells of a grid that starts with column 1 and row 1.
type Layout struct {
	Hospital  string
	Columns   int32
	Rows      int32
	Rooms     []Place
	Landmarks []Landmark
	Version   int64
}

// Place is the position and size of a room.
type Place struct{ Room, X, Y, W, H int32 }

// Landmark is an object other than a room, such as a nurses' station or an entrance.
type Landmark struct {
	Label      string
	X, Y, W, H int32
}

// sameAs reports whether a layout has the same positions as another version.
func (l *Layout) sameAs(o *Layout) bool {
	return l.Columns == o.Columns && l.Rows == o.Rows && slices.Equal(l.Rooms, o.Rooms) && slices.Equal(l.Landmarks, o.Landmarks)
}

// cells is a rectangle of the grid.
type cells struct{ x, y, w, h int32 }

// Limits of a layout. They match the limits of the pages.
const (
	MostCells     = 24
	MostRooms     = 400
	MostLandmarks = 50
	maxLabel      = 40 // characters
)

// Check returns the rules that the layout breaks.
func (l *Layout) Check() (broken []httpapi.Detail) {
	unless := func(ok bool, path, rule string) {
		if !ok {
			broken = append(broken, httpapi.Detail{Path: path, Rule: rule})
		}
	}
	unless(l.Columns >= 1 && l.Columns <= MostCells, "columns", "range:1-24")
	unless(l.Rows >= 1 && l.Rows <= MostCells, "rows", "range:1-24")
	unless(len(l.Rooms) >= 1 && len(l.Rooms) <= MostRooms, "rooms", "items:1-400")
	unless(len(l.Landmarks) <= MostLandmarks, "landmarks", "maxItems:50")
	if len(broken) > 0 {
		return broken
	}
	rooms, taken := map[int32]bool{}, map[[2]int32]bool{}
	for i, p := range l.Rooms {
		path := "rooms[" + strconv.Itoa(i) + "]"
		unless(!rooms[p.Room], path+".roomId", "unique")
		rooms[p.Room] = true
		if inside := l.inside(cells{p.X, p.Y, p.W, p.H}); !inside {
			unless(false, path, "insideGrid")
		} else {
			unless(claimCells(taken, cells{p.X, p.Y, p.W, p.H}), path, "overlap")
		}
	}
	for i, m := range l.Landmarks {
		path := "landmarks[" + strconv.Itoa(i) + "]"
		if rule := httpapi.LineRule(m.Label, "1", strconv.Itoa(maxLabel)); rule != "" {
			unless(false, path+".label", rule)
		}
		if inside := l.inside(cells{m.X, m.Y, m.W, m.H}); !inside {
			unless(false, path, "insideGrid")
		} else {
			unless(claimCells(taken, cells{m.X, m.Y, m.W, m.H}), path, "overlap")
		}
	}
	return broken
}

func (l *Layout) inside(c cells) bool {
	return c.x >= 1 && c.y >= 1 && c.w >= 1 && c.h >= 1 &&
		int64(c.x)+int64(c.w) <= int64(l.Columns)+1 && int64(c.y)+int64(c.h) <= int64(l.Rows)+1
}

// claimCells marks the cells of a rectangle as occupied. It reports whether all of them were free.
func claimCells(taken map[[2]int32]bool, c cells) bool {
	free := true
	for x := range c.w {
		for y := range c.h {
			cell := [2]int32{c.x + x, c.y + y}
			free = free && !taken[cell]
			taken[cell] = true
		}
	}
	return free
}

// Register holds the layouts of all hospitals. The reader of the settings topic updates it. A Register is safe for
// concurrent use.
type Register struct {
	mu  sync.RWMutex
	all map[string]*Layout
}

// NewRegister returns an empty register.
func NewRegister() *Register { return &Register{all: map[string]*Layout{}} }

// Set stores the layout of a hospital.
func (r *Register) Set(l *Layout) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all[l.Hospital] = l
}

// Drop removes the layout of a hospital.
func (r *Register) Drop(hospital string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.all, hospital)
}

// Layout returns the layout of a hospital, or nil if the hospital has none. The caller must not change it.
func (r *Register) Layout(hospital string) *Layout {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.all[hospital]
}

// ActSet is the action in the audit log when a layout is set.
const ActSet = "layout.set"

// Office administers the layouts of all hospitals.
type Office struct {
	Register *Register
	// Seen returns the position up to which the register has read the settings. The caller must call it before it
	// reads the state to change.
	Seen func() int64
	// Put stores a layout. It fails with [access.ErrOvertaken] if the settings of the hospital were changed after the
	// position that the caller got from Seen.
	Put   func(ctx context.Context, seen int64, l *Layout) error
	Audit audit.Record
	Now   func() time.Time
}

// set stores a layout with version before+1. If before is 0, the hospital had no layout.
func (o *Office) set(ctx context.Context, by string, seen, before int64, l *Layout) error {
	l.Version = before + 1
	act := audit.Act{
		Hospital: l.Hospital, At: o.Now(), By: by, Action: ActSet, Subject: "layout",
		Before: versionText(before), After: versionText(l.Version),
	}
	return o.Audit.Do(ctx, func() error { return o.Put(ctx, seen, l) }, act)
}

// versionText returns a version in the form of the audit log and the entity tag; "" means that there is no layout.
func versionText(version int64) string {
	if version == 0 {
		return ""
	}
	return strconv.FormatInt(version, 10)
}
