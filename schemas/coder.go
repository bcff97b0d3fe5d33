package schemas

import (
	"sync"
	"time"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/codes"
)

// Coder goes through the fields of a record in the order of its schema: it appends them to a
// buffer, or takes them off one. So each record has one description for both ways.
type Coder struct {
	reading bool
	w       writer
	r       reader
}

// coders keeps coders for reuse: a new one for each record made the collector take a sixth of
// the time of a processor.
var coders = sync.Pool{New: func() any { return new(Coder) }}

func freeCoder() *Coder {
	return coders.Get().(*Coder) //nolint:errcheck,forcetypeassert // the pool has nothing else
}

// free gives a coder back, without what it has read or written.
func (c *Coder) free() {
	*c = Coder{}
	coders.Put(c)
}

// List goes through a list. An empty one is read as nil.
func List[T any](c *Coder, l *[]T, item func(*Coder, *T)) { listIn(c, l, nil, 0, item) }

// listIn is List, but reads into memory; nil: into new memory. Memory for more than atMost items
// is not kept for the next list.
func listIn[T any](c *Coder, l, memory *[]T, atMost int, item func(*Coder, *T)) {
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
func optional[T any](c *Coder, v **T, fields func(*Coder, *T)) { optionalIn(c, v, nil, fields) }

// optionalIn is optional, but reads into memory; nil: into new memory.
func optionalIn[T any](c *Coder, v **T, memory *T, fields func(*Coder, *T)) {
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

// Enum goes through the number of a symbol; last is the greatest valid number.
func Enum[T ~uint8](c *Coder, v *T, last uint8) {
	if c.reading {
		*v = T(c.r.enum(last))
		return
	}
	c.w.enum(uint8(*v), last)
}

// Word goes through a text that has its own type in Go.
func Word[T ~string](c *Coder, v *T) {
	if c.reading {
		*v = T(c.r.text())
		return
	}
	c.w.text(string(*v))
}

// Text goes through a text.
func (c *Coder) Text(v *string) {
	if c.reading {
		*v = c.r.text()
		return
	}
	c.w.text(*v)
}

// system goes through a code system; the common ones are read as constants.
func (c *Coder) system(v *codes.System) {
	if c.reading {
		*v = c.r.system()
		return
	}
	c.w.text(string(*v))
}

// channel goes through the channel of a feed; the known ones are read as constants.
func (c *Coder) channel(v *acuity.Channel) {
	if c.reading {
		*v = c.r.channel()
		return
	}
	c.w.text(string(*v))
}

// Bytes goes through bytes.
func (c *Coder) Bytes(v *[]byte) {
	if c.reading {
		*v = c.r.bytes()
		return
	}
	c.w.bytes(*v)
}

// Fixed goes through as many bytes as v has.
func (c *Coder) Fixed(v []byte) {
	if c.reading {
		c.r.fixed(v)
		return
	}
	c.w.fixed(v)
}

// Bool goes through a flag.
func (c *Coder) Bool(v *bool) {
	if c.reading {
		*v = c.r.bool()
		return
	}
	c.w.bool(*v)
}

// Int goes through 32 bits.
func (c *Coder) Int(v *int32) {
	if c.reading {
		*v = c.r.int()
		return
	}
	c.w.int(*v)
}

// Number goes through an int, which has 32 bits on the wire.
func (c *Coder) Number(v *int) {
	if c.reading {
		*v = int(c.r.int())
		return
	}
	c.w.number(*v)
}

// Long goes through 64 bits.
func (c *Coder) Long(v *int64) {
	if c.reading {
		*v = c.r.long()
		return
	}
	c.w.long(*v)
}

// milli goes through thousandths.
func (c *Coder) milli(v *codes.Milli) { c.Long((*int64)(v)) }

// Nanoseconds goes through a duration.
func (c *Coder) Nanoseconds(v *time.Duration) { c.Long((*int64)(v)) }

// hash goes through the bits of a hash.
func (c *Coder) hash(v *uint64) {
	if c.reading {
		*v = uint64(c.r.long()) //nolint:gosec // about the bits
		return
	}
	c.w.long(int64(*v)) //nolint:gosec // about the bits
}

func (c *Coder) octet(v *uint8) {
	if c.reading {
		*v = c.r.octet()
		return
	}
	c.w.octet(*v)
}

// skill goes through the skill of a nurse; see [acuity.RosterNurse].
func (c *Coder) skill(v *int8) {
	if c.reading {
		*v = c.r.skill()
		return
	}
	c.w.int(int32(*v))
}

// Double goes through a floating-point number.
func (c *Coder) Double(v *float64) {
	if c.reading {
		*v = c.r.double()
		return
	}
	c.w.double(*v)
}

func (c *Coder) at(v *acuity.Instant) {
	if c.reading {
		*v = c.r.at()
		return
	}
	c.w.at(*v)
}

// When goes through an instant, which is cut to the millisecond.
func (c *Coder) When(v *time.Time) {
	if c.reading {
		*v = c.r.at().Time()
		return
	}
	c.w.at(acuity.At(*v))
}

func (c *Coder) factor(v *catalogue.Factor) {
	if c.reading {
		*v = c.r.factor()
		return
	}
	c.w.factor(*v)
}

func (c *Coder) reasons(v *acuity.Reasons) {
	if c.reading {
		*v = c.r.reasons()
		return
	}
	c.w.reasons(*v)
}
