package web

import (
	"cmp"
	"slices"
	"strconv"

	"svc/acuity/score"
	"svc/readapi/web/page"
)

// Layout is the map of a unit, as its administrator has drawn it. Places are cells of a grid
// that begins with column 1 and row 1.
type Layout struct {
	Columns, Rows int
	Rooms         []Place
	Landmarks     []Landmark
}

// Place is the place of a room.
type Place struct {
	Room       int32
	X, Y, W, H int
}

// Landmark is a place without a room: a nurses' station, an entrance, the name of an area.
type Landmark struct {
	Label      string
	X, Y, W, H int
}

// isUsable reports whether the style sheet can show the layout.
func (l *Layout) isUsable() bool {
	return l != nil && len(l.Rooms) > 0 && l.Columns >= 1 && l.Columns <= page.MostCells && l.Rows >= 1 && l.Rows <= page.MostCells
}

// floor is the map of a unit.
type floor struct {
	Class string // of the grid
	Areas []area
	Marks []mark
}

// area is the rooms of one part of the unit.
type area struct {
	Name  string
	Class string
	Rooms []tile
}

type mark struct{ Label, Place string }

// newFloor draws the map by the layout. Without a layout, each area has rows of its own.
func (p *writer) newFloor(v *score.Verdict, layout *Layout, wall bool) *floor {
	f := &floor{Areas: p.groupByArea(v, wall)}
	if layout.isUsable() {
		f.placeByLayout(layout)
		return f
	}
	f.placeInRows()
	return f
}

// groupByArea groups the rooms by area. Areas and rooms keep the order of the unit.
func (p *writer) groupByArea(v *score.Verdict, wall bool) []area {
	var all []area
	at := map[string]int{}
	for i := range v.Rooms {
		r := &v.Rooms[i]
		place, known := at[r.Area]
		if !known {
			place = len(all)
			at[r.Area] = place
			all = append(all, area{Name: cmp.Or(r.Area, p.T("area.none"))})
		}
		all[place].Rooms = append(all[place].Rooms, p.newTile(r, wall))
	}
	return all
}

// A map without a layout has as few columns as show the unit without scrolling.
const (
	leastColumns = 6
	mostColumns  = 14
	glanceRows   = 5 // rows of rooms that fit without scrolling
	nearRows     = 4 // with more rows, or more columns, rooms are drawn smaller
	nearColumns  = 9
	tightColumns = 11
)

// placeInRows gives each area rows of its own. Small areas share one.
func (f *floor) placeInRows() {
	columns := leastColumns
	var rows, bands int // a band is a row with the names of areas
	for ; ; columns++ {
		rows, bands = 0, 0
		used := columns // of the row that is filled now
		for i := range f.Areas {
			n := len(f.Areas[i].Rooms)
			if used+n > columns || n >= columns {
				rows += (n + columns - 1) / columns
				bands++
				used = min(n, columns)
				if n > columns {
					used = columns
				}
				continue
			}
			used += n
		}
		if rows <= glanceRows || columns == mostColumns {
			break
		}
	}
	f.setClasses("rows", columns, rows, bands)
	for i := range f.Areas {
		n := min(len(f.Areas[i].Rooms), columns)
		f.Areas[i].Class = " w" + strconv.Itoa(n) + " c" + strconv.Itoa(n)
	}
}

// placeByLayout puts rooms and landmarks where the layout says. Rooms that the layout does
// not know follow in rows below.
func (f *floor) placeByLayout(l *Layout) {
	taken := map[[2]int]bool{}
	cover := func(x, y, w, h int) {
		for i := range max(w, 1) {
			for j := range max(h, 1) {
				taken[[2]int{x + i, y + j}] = true
			}
		}
	}
	rows := map[int]bool{} // that have rooms
	for _, room := range l.Rooms {
		cover(room.X, room.Y, room.W, room.H)
		rows[room.Y] = true
	}
	next, below := 1, l.Rows+1
	for i := range f.Areas {
		for j := range f.Areas[i].Rooms {
			t := &f.Areas[i].Rooms[j]
			at := slices.IndexFunc(l.Rooms, func(place Place) bool { return place.Room == t.ID })
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
			t.Door = place.Y+max(place.H, 1) <= l.Rows && !taken[[2]int{place.X, place.Y + max(place.H, 1)}]
		}
	}
	for _, m := range l.Landmarks {
		f.Marks = append(f.Marks, mark{m.Label, placeClasses(m.X, m.Y, m.W, m.H)})
	}
	f.setClasses("drawn", l.Columns, len(rows), max(below, l.Rows)-len(rows))
}

// setClasses sets the classes of the map. They say how it is drawn, its columns, its rows with
// rooms, its other rows, and how near the rooms are to one another.
func (f *floor) setClasses(how string, columns, rows, bands int) {
	name := func(letter string, n int) string { return " " + letter + strconv.Itoa(max(min(n, page.MostCells), 1)) }
	f.Class = how + name("c", columns) + name("n", rows) + name("k", bands)
	if columns > nearColumns || rows > nearRows {
		f.Class += " dense"
	}
	if columns > tightColumns {
		f.Class += " tight"
	}
}

// placeClasses returns the classes of a place.
func placeClasses(x, y, w, h int) string {
	all := "x" + strconv.Itoa(x) + " y" + strconv.Itoa(y)
	if w > 1 {
		all += " w" + strconv.Itoa(w)
	}
	if h > 1 {
		all += " h" + strconv.Itoa(h)
	}
	return all
}
