package web

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/score"
	"svc/internal/admin/layout"
	"svc/readapi"
	"svc/readapi/web/text"
)

// floor is the floor plan of a unit.
type floor struct {
	Class string // style class of the grid
	Areas []area
	Marks []mark
	Key   *key // nil: no room has a sign that needs an explanation
}

// area contains the rooms of one part of the unit.
type area struct {
	Name  string
	Class string
	Rooms []tile
}

type mark struct{ Label, Place string }

// newFloor draws the floor plan according to the layout. Without a layout, it places the rooms in rows, area by area.
func (p *writer) newFloor(u *readapi.Unit, drawn *layout.Layout, wall bool) *floor {
	f := &floor{Areas: p.groupByArea(u, wall)}
	if drawn != nil {
		f.placeByLayout(drawn)
	} else {
		f.placeInRows(wall)
	}
	f.Key = newKey(p.Texts, f.Areas)
	return f
}

// key explains the signs that occur on a floor plan.
type key struct {
	Colors []keyColor
	Stale  bool // whether a room's data is stale
	Next   bool // whether a room shows when it next changes
}

type keyColor struct{ Class, Shape, Word string }

// newKey returns the key of a floor plan, or nil if no room has a color.
func newKey(t *text.Texts, areas []area) *key {
	var out key
	has := map[string]bool{} // by shape
	for i := range areas {
		rooms := areas[i].Rooms
		for j := range rooms {
			room := &rooms[j]
			has[room.Shape] = true
			out.Stale = out.Stale || room.Stale
			out.Next = out.Next || room.Next != ""
		}
	}
	for level := acuity.LevelGreen; level <= acuity.LevelRed; level++ {
		if shape := shapes[level]; has[shape] {
			out.Colors = append(out.Colors, keyColor{level.String(), shape, t.T("level." + level.String())})
		}
	}
	if out.Colors == nil {
		return nil
	}
	return &out
}

// groupByArea groups the rooms by area. It keeps the order of the areas and rooms in the unit.
func (p *writer) groupByArea(u *readapi.Unit, wall bool) []area {
	var all []area
	at := map[string]int{}
	for i := range u.Verdict.Rooms {
		r := &u.Verdict.Rooms[i]
		place, known := at[r.Area]
		if !known {
			place = len(all)
			at[r.Area] = place
			all = append(all, area{Name: cmp.Or(r.Area, p.T("area.none"))})
		}
		all[place].Rooms = append(all[place].Rooms, p.newTile(r, u.At, wall))
	}
	return all
}

// The limits on the columns and rows of a map without a layout. A page uses the fewest columns with which the map
// fits without scrolling.
const (
	leastColumns    = 6
	mostColumns     = 14
	mostWallColumns = 18
	glanceRows      = 5 // number of rows of rooms that fit without scrolling
	nearRows        = 4 // number of rows beyond which rooms are drawn smaller
	nearColumns     = 9
	tightColumns    = 11
)

// The dimensions of the map on a wall, in pixels. The screen of the wall has 1920 by 1080 pixels and shows the
// forecast below the map.
const (
	wallWidth  = 1240
	wallHeight = 640
	bandHeight = 34
	roomShape  = 1.3 // maximum useful ratio of width to height: a wider room is not more legible
)

// placeInRows places the areas in rows. Small areas share a row. A page uses the fewest columns with which the map
// fits without scrolling, and a wall uses the number of columns that makes the rooms largest.
func (f *floor) placeInRows(wall bool) {
	columns := leastColumns
	if !wall {
		for rows, _ := f.countRows(columns); rows > glanceRows && columns < mostColumns; rows, _ = f.countRows(columns) {
			columns++
		}
	} else {
		best := 0.0
		for n := leastColumns; n <= mostWallColumns; n++ {
			rows, bands := f.countRows(n)
			high := float64(wallHeight-bandHeight*bands) / float64(max(rows, 1))
			if size := min(float64(wallWidth)/float64(n), roomShape*high); size > best {
				columns, best = n, size
			}
		}
	}
	rows, bands := f.countRows(columns)
	f.setClasses("rows", columns, rows, bands)
	for i := range f.Areas {
		n := min(len(f.Areas[i].Rooms), columns)
		f.Areas[i].Class = " w" + strconv.Itoa(n) + " c" + strconv.Itoa(n)
	}
}

// countRows returns the number of rows of rooms that the map needs with the given number of columns. It also returns
// the number of bands, which are rows with the names of areas.
func (f *floor) countRows(columns int) (rows, bands int) {
	used := columns // columns used in the current row
	for i := range f.Areas {
		n := len(f.Areas[i].Rooms)
		if used+n > columns || n >= columns {
			rows += (n + columns - 1) / columns
			bands++
			used = min(n, columns)
			continue
		}
		used += n
	}
	return rows, bands
}

// placeByLayout places rooms and landmarks according to the layout. Rooms that are not in the layout are placed in
// additional rows below it.
func (f *floor) placeByLayout(l *layout.Layout) {
	taken := map[[2]int32]bool{} // occupied cells, by column and row
	rows := map[int32]bool{}     // rows with rooms
	for _, room := range l.Rooms {
		for i := range max(room.W, 1) {
			for j := range max(room.H, 1) {
				taken[[2]int32{room.X + i, room.Y + j}] = true
			}
		}
		rows[room.Y] = true
	}
	next, below := int32(1), l.Rows+1
	for i := range f.Areas {
		for j := range f.Areas[i].Rooms {
			t := &f.Areas[i].Rooms[j]
			at := slices.IndexFunc(l.Rooms, func(place layout.Place) bool { return place.Room == t.ID })
			if at < 0 {
				t.Place = placeClasses(next, below, 1, 1)
				rows[below] = true
				if next++; next > l.Columns {
					next, below = 1, below+1
				}
				continue
			}
			place := l.Rooms[at]
			t.Place = placeClasses(place.X, place.Y, place.W, place.H)
			t.Door = place.Y+max(place.H, 1) <= l.Rows && !taken[[2]int32{place.X, place.Y + max(place.H, 1)}]
		}
	}
	for _, m := range l.Landmarks {
		f.Marks = append(f.Marks, mark{m.Label, placeClasses(m.X, m.Y, m.W, m.H)})
	}
	f.setClasses("drawn", int(l.Columns), len(rows), int(max(below, l.Rows))-len(rows))
}

// setClasses sets the style classes of the map. The parameter how is the class for the map's style. Each of the three
// counts adds one class. A map with many columns or rows also gets the class "dense", and a map with very many
// columns the class "tight" as well.
func (f *floor) setClasses(how string, columns, rows, bands int) {
	name := func(letter string, n int) string {
		return " " + letter + strconv.Itoa(max(min(n, layout.MostCells), 1))
	}
	f.Class = how + name("c", columns) + name("n", rows) + name("k", bands)
	if columns > nearColumns || rows > nearRows {
		f.Class += " dense"
	}
	if columns > tightColumns {
		f.Class += " tight"
	}
}

// placeClasses returns the style classes for a cell or a rectangle of cells on the map.
func placeClasses(x, y, w, h int32) string {
	all := fmt.Sprintf("x%d y%d", x, y)
	if w > 1 {
		all += fmt.Sprintf(" w%d", w)
	}
	if h > 1 {
		all += fmt.Sprintf(" h%d", h)
	}
	return all
}

// tile is a room as drawn on the map.
type tile struct {
	ID      int32
	Label   string
	Class   string // color of the room, "empty" or "blocked"; followed by "stale" if the room's data is stale
	Shape   string // shape of the level; "": none
	Color   string // name of the color, for a screen reader
	Factors string // names of the first factors, and how many more there are; "" on the wall
	Ratio   string // ratio such as "1:2", or the state of the room
	Next    string // when a timer next changes the room
	Score   int32
	Stale   bool   // whether the room's data is stale
	Place   string // style classes for the room's place on the map
	Door    bool   // whether to draw a door at the lower edge of the room
}

// shownFactors is the maximum number of factors that the map names for a room.
const shownFactors = 3

func (p *writer) newTile(r *score.RoomVerdict, now time.Time, wall bool) tile {
	t := tile{ID: r.ID, Label: cmp.Or(r.Label, strconv.Itoa(int(r.ID))), Score: r.Score}
	switch {
	case r.Status == acuity.RoomEmpty:
		t.Class, t.Ratio = "empty", p.T("room.empty")
		return t
	case r.Status == acuity.RoomBlocked:
		t.Class, t.Ratio = "blocked", p.T("room.blocked")
		return t
	case r.Color == acuity.ColorGray:
		t.Class, t.Ratio = "empty", p.T("room.unknown")
		return t
	}
	t.Class, t.Shape = r.Color.String(), shapes[r.Color-acuity.ColorGreen]
	t.Color = p.T("color." + t.Class)
	t.Ratio = formatRatio(p.Texts, r.Demand)
	if r.Stale {
		t.Stale = true
		t.Class += " stale"
		t.Color += ", " + p.T("room.stale")
	}
	if wall {
		return t
	}
	t.Next = p.FormatAhead(r.Next, now)
	names := nameFactors(p.Texts, r)
	if more := len(names) - shownFactors; more > 0 {
		names = append(names[:shownFactors], p.T("room.more", "n", more))
	}
	t.Factors = strings.Join(names, ", ")
	return t
}

// nameFactors returns the names of a room's active factors, the most severe first.
func nameFactors(t *text.Texts, r *score.RoomVerdict) (names []string) {
	for i := range r.Factors {
		if f := &r.Factors[i]; !f.Past {
			names = append(names, t.FactorName(f.Factor))
		}
	}
	return names
}

// formatRatio formats a demand as a ratio of nurses to rooms, such as "1:2".
func formatRatio(t *text.Texts, d catalogue.Demand) string {
	if d <= 0 {
		return t.T("room.noneneeded")
	}
	return d.Nursing()
}

// findLayout returns the layout of a hospital, or nil if there is none.
func (c *Config) findLayout(hospital string) *layout.Layout {
	if c.Layouts == nil {
		return nil
	}
	return c.Layouts.Layout(hospital)
}
