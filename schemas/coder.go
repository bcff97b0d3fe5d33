package schemas

import (
	"sync"
	"time"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/codes"
)

// coder goes through the fields of a record in the order of its schema: it appends them to a
// buffer, or takes them off one. So each record has one description for both ways.
type coder struct {
	reading bool
	w       writer
	r       reader
}

// coders keeps coders for reuse: a new one for each record made the collector take a sixth of
// the time of a processor.
var coders = sync.Pool{New: func() any { return new(coder) }}

func freeCoder() *coder {
	return coders.Get().(*coder) //nolint:errcheck,forcetypeassert // the pool has nothing else
}

// free gives a coder back, without what it has read or written.
func (c *coder) free() {
	*c = coder{}
	coders.Put(c)
}

// list goes through a list. An empty one is read as nil.
func list[T any](c *coder, l *[]T, item func(*coder, *T)) { listIn(c, l, nil, 0, item) }

// listIn is list, but reads into memory; nil: into new memory. Memory for more than atMost items
// is not kept for the next list.
func listIn[T any](c *coder, l, memory *[]T, atMost int, item func(*coder, *T)) {
	if !c.reading {
		c.w.items(len(*l))
		for i := range *l {
			item(c, &(*l)[i])
		}
		c.w.done()
		return
	}
	read := listAgain(memory)
	for i := c.r.items(); i.next(&c.r); {
		read = extend(read, i)
		item(c, &read[len(read)-1])
	}
	*l = listRead(memory, read, atMost)
}

// optional goes through an optional record: a union of null and the record.
func optional[T any](c *coder, v **T, fields func(*coder, *T)) { optionalIn(c, v, nil, fields) }

// optionalIn is optional, but reads into memory; nil: into new memory.
func optionalIn[T any](c *coder, v **T, memory *T, fields func(*coder, *T)) {
	if !c.reading {
		if c.w.some(*v != nil) {
			fields(c, *v)
		}
		return
	}
	*v = nil
	if c.r.some() {
		if *v = memory; memory == nil {
			*v = new(T)
		}
		fields(c, *v)
	}
}

// enum goes through the number of a symbol; last is the greatest valid number.
func enum[T ~uint8](c *coder, v *T, last uint8) {
	if c.reading {
		*v = T(c.r.enum(last))
		return
	}
	c.w.enum(uint8(*v), last)
}

// word goes through a text that has its own type in Go.
func word[T ~string](c *coder, v *T) {
	if c.reading {
		*v = T(c.r.text())
		return
	}
	c.w.text(string(*v))
}

func (c *coder) text(v *string) {
	if c.reading {
		*v = c.r.text()
		return
	}
	c.w.text(*v)
}

// system goes through a code system; the common ones are read as constants.
func (c *coder) system(v *codes.System) {
	if c.reading {
		*v = c.r.system()
		return
	}
	c.w.text(string(*v))
}

// channel goes through the channel of a feed; the known ones are read as constants.
func (c *coder) channel(v *acuity.Channel) {
	if c.reading {
		*v = c.r.channel()
		return
	}
	c.w.text(string(*v))
}

func (c *coder) bytes(v *[]byte) {
	if c.reading {
		*v = c.r.bytes()
		return
	}
	c.w.bytes(*v)
}

// fixed goes through as many bytes as v has.
func (c *coder) fixed(v []byte) {
	if c.reading {
		c.r.fixed(v)
		return
	}
	c.w.fixed(v)
}

func (c *coder) bool(v *bool) {
	if c.reading {
		*v = c.r.bool()
		return
	}
	c.w.bool(*v)
}

func (c *coder) int(v *int32) {
	if c.reading {
		*v = c.r.int()
		return
	}
	c.w.int(*v)
}

// number goes through an int, which has 32 bits on the wire.
func (c *coder) number(v *int) {
	if c.reading {
		*v = int(c.r.int())
		return
	}
	c.w.number(*v)
}

func (c *coder) long(v *int64) {
	if c.reading {
		*v = c.r.long()
		return
	}
	c.w.long(*v)
}

// milli goes through thousandths.
func (c *coder) milli(v *codes.Milli) { c.long((*int64)(v)) }

// nanoseconds goes through a duration.
func (c *coder) nanoseconds(v *time.Duration) { c.long((*int64)(v)) }

// hash goes through the bits of a hash.
func (c *coder) hash(v *uint64) {
	if c.reading {
		*v = uint64(c.r.long()) //nolint:gosec // about the bits
		return
	}
	c.w.long(int64(*v)) //nolint:gosec // about the bits
}

func (c *coder) octet(v *uint8) {
	if c.reading {
		*v = c.r.octet()
		return
	}
	c.w.octet(*v)
}

// skill goes through the skill of a nurse; see [acuity.RosterNurse].
func (c *coder) skill(v *int8) {
	if c.reading {
		*v = c.r.skill()
		return
	}
	c.w.int(int32(*v))
}

func (c *coder) double(v *float64) {
	if c.reading {
		*v = c.r.double()
		return
	}
	c.w.double(*v)
}

func (c *coder) at(v *acuity.Instant) {
	if c.reading {
		*v = c.r.at()
		return
	}
	c.w.at(*v)
}

// when goes through an instant, which is cut to the millisecond.
func (c *coder) when(v *time.Time) {
	if c.reading {
		*v = c.r.at().Time()
		return
	}
	c.w.at(acuity.At(*v))
}

func (c *coder) factor(v *catalogue.Factor) {
	if c.reading {
		*v = c.r.factor()
		return
	}
	c.w.factor(*v)
}

func (c *coder) reasons(v *acuity.Reasons) {
	if c.reading {
		*v = c.r.reasons()
		return
	}
	c.w.reasons(*v)
}
