package simulate

import "strconv"

// body writes the JSON of a request into the unit's out. Its texts are our own and need no
// escapes.
type body struct {
	u     *unit
	first bool // no field or element yet at this depth
}

// fields begins an object.
func (u *unit) fields() *body {
	u.out = append(u.out[:0], '{')
	return &body{u: u, first: true}
}

func (b *body) comma() {
	if !b.first {
		b.u.out = append(b.u.out, ',')
	}
	b.first = false
}

func (b *body) key(name string) {
	b.comma()
	b.u.out = append(b.u.out, '"')
	b.u.out = append(b.u.out, name...)
	b.u.out = append(b.u.out, '"', ':')
}

// text writes a field, unless it is empty.
func (b *body) text(name, value string) {
	if value == "" {
		return
	}
	b.key(name)
	b.quoted(value)
}

func (b *body) quoted(value string) {
	b.u.out = append(b.u.out, '"')
	b.u.out = append(b.u.out, value...)
	b.u.out = append(b.u.out, '"')
}

func (b *body) number(name string, n int) {
	b.key(name)
	b.u.out = strconv.AppendInt(b.u.out, int64(n), 10)
}

// tenths writes a number of tenths with one decimal.
func (b *body) tenths(name string, n int) {
	b.key(name)
	b.u.out = strconv.AppendInt(b.u.out, int64(n/10), 10)
	b.u.out = append(b.u.out, '.', byte('0'+n%10))
}

func (b *body) yes(name string, is bool) {
	b.key(name)
	b.u.out = strconv.AppendBool(b.u.out, is)
}

// time writes an instant as RFC 3339 in UTC: whole seconds, or milliseconds if the unit's time
// passes faster than real time.
func (b *body) time(name string, t clock) {
	b.key(name)
	form := `"2006-01-02T15:04:05Z"`
	if b.u.options.Clock != nil {
		form = `"2006-01-02T15:04:05.000Z"`
	}
	b.u.out = b.u.written(t).AppendFormat(b.u.out, form)
}

// place writes a room by its number and by its name in an ADT system.
func (b *body) place(id, location string, r *room) {
	b.number(id, r.id)
	b.key(location)
	b.u.out, b.first = append(b.u.out, '{'), true
	b.text("pointOfCare", r.area)
	b.text("room", r.label)
	b.close()
}

func (b *body) list(name string) {
	b.key(name)
	b.u.out, b.first = append(b.u.out, '['), true
}

// open begins an element that is an object.
func (b *body) open() {
	b.comma()
	b.u.out, b.first = append(b.u.out, '{'), true
}

func (b *body) close() { b.u.out, b.first = append(b.u.out, '}'), false }
func (b *body) end()   { b.u.out, b.first = append(b.u.out, ']'), false }
func (b *body) done()  { b.u.out = append(b.u.out, '}') }
