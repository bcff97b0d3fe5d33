package schemas

import (
	"sync"
	"time"

	"svc/acuity"
	"svc/acuity/adt"
	"svc/acuity/catalogue"
	"svc/acuity/codes"
)

// Codec writes and reads the records of one kind. It cuts a [time.Time] to the millisecond.
type Codec[T any] struct {
	schema *Schema // the newest version
	fields func(*Coder, *T)
}

// NewCodec returns the codec of a record by its name in [Released]: fields goes through all
// fields of the newest version in their order.
func NewCodec[T any](record string, fields func(*Coder, *T)) Codec[T] {
	return Codec[T]{newest(record), fields}
}

// Encode appends the record of v to dst, which it returns.
func (k Codec[T]) Encode(dst []byte, v *T) ([]byte, error) {
	c := freeCoder()
	defer c.free()
	c.w = begin(dst, k.schema)
	k.fields(c, v)
	return c.w.end(k.schema)
}

// Decode reads a record of any released version. The errors are [ErrMalformed] and
// [UnknownSchemaError].
func (k Codec[T]) Decode(b []byte) (*T, error) {
	v := new(T)
	if err := k.DecodeInto(b, v); err != nil {
		return nil, err
	}
	return v, nil
}

// DecodeInto is Decode into v. Every field of v is overwritten.
func (k Codec[T]) DecodeInto(b []byte, v *T) error {
	p, err := k.schema.payload(b)
	if err != nil {
		return err
	}
	return k.read(reader{buf: p, all: string(p)}, v)
}

// read reads a record of the newest version.
func (k Codec[T]) read(r reader, v *T) error {
	c := freeCoder()
	defer c.free()
	c.reading, c.r = true, r
	k.fields(c, v)
	return c.r.close(k.schema)
}

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
	var read []T
	if memory != nil {
		clear(*memory)
		read = (*memory)[:0]
	}
	for i := c.r.items(); i.next(&c.r); {
		read = extend(read, i)
		item(c, &read[len(read)-1])
	}
	if *l = read; len(read) == 0 {
		*l = nil
	} else if memory != nil && cap(read) <= atMost {
		*memory = read
	}
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

// value goes through a value that one function reads and another one writes.
func value[T any](c *Coder, v *T, read func(*reader) T, write func(*writer, T)) {
	if c.reading {
		*v = read(&c.r)
		return
	}
	write(&c.w, *v)
}

// whole goes through a whole number that has the bits of its type on the wire.
func whole[T integer](c *Coder, v *T) {
	if c.reading {
		*v = number[T](&c.r)
		return
	}
	c.w.long(int64(*v))
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
func (c *Coder) Text(v *string) { value(c, v, (*reader).text, (*writer).text) }

// constant goes through a text of a list. What is in the list is read without a copy.
func constant[T ~string](c *Coder, v *T, list map[string]T) {
	if !c.reading {
		c.w.text(string(*v))
		return
	}
	from, to := c.r.span()
	b := c.r.buf[from:to]
	known, ok := list[string(b)]
	if *v = known; !ok {
		*v = T(b)
	}
}

// constants returns the list of some texts.
func constants[T ~string](texts ...T) map[string]T {
	list := map[string]T{"": ""}
	for _, text := range texts {
		list[string(text)] = text
	}
	return list
}

var (
	systems  = constants(codes.ICD10CM, codes.SNOMED, codes.LOINC, codes.RxNorm, codes.SystemLocal)
	channels = constants(acuity.ChannelADT, acuity.ChannelBatch, acuity.ChannelCensus, acuity.ChannelClinical,
		acuity.ChannelFHIR, acuity.ChannelHL7, acuity.ChannelRoster, acuity.ChannelStaffing,
		acuity.ChannelTerminology, acuity.ChannelRules, acuity.ChannelLocations, acuity.ChannelSettings)
)

// system goes through a code system.
func (c *Coder) system(v *codes.System) { constant(c, v, systems) }

// channel goes through the channel of a feed.
func (c *Coder) channel(v *acuity.Channel) { constant(c, v, channels) }

// Bytes goes through bytes.
func (c *Coder) Bytes(v *[]byte) { value(c, v, (*reader).bytes, (*writer).bytes) }

// Fixed goes through as many bytes as v has.
func (c *Coder) Fixed(v []byte) {
	if c.reading {
		c.r.fixed(v)
		return
	}
	c.w.fixed(v)
}

// Bool goes through a flag.
func (c *Coder) Bool(v *bool) { value(c, v, (*reader).bool, (*writer).bool) }

// Int goes through 32 bits.
func (c *Coder) Int(v *int32) { whole(c, v) }

// Number goes through an int, which has 32 bits on the wire.
func (c *Coder) Number(v *int) { value(c, v, (*reader).number, (*writer).number) }

// Long goes through 64 bits.
func (c *Coder) Long(v *int64) { whole(c, v) }

// Nanoseconds goes through a duration.
func (c *Coder) Nanoseconds(v *time.Duration) { whole(c, v) }

func (c *Coder) at(v *acuity.Instant) { whole(c, v) }

// When goes through an instant, which is cut to the millisecond.
func (c *Coder) When(v *time.Time) {
	at := acuity.At(*v)
	if c.at(&at); c.reading {
		*v = at.Time()
	}
}

// Double goes through a floating-point number.
func (c *Coder) Double(v *float64) { value(c, v, (*reader).double, (*writer).double) }

// factor goes through the id of a factor; no factor is the empty text.
func (c *Coder) factor(v *catalogue.Factor) { value(c, v, (*reader).factor, (*writer).factor) }

// reasons goes through a set of reasons by their codes, since the numbers of the bits may
// change. A reason that this build does not know is dropped: it could have no effect here.
func (c *Coder) reasons(v *acuity.Reasons) {
	var names []string
	if !c.reading {
		names = adt.ReasonCodes(*v)
	}
	if List(c, &names, (*Coder).Text); c.reading {
		*v = adt.ReasonsOf(names)
	}
}

// The greatest number of each enumeration. The symbols in the schema have the numbers of the
// domain's constants; a test counts them.
const (
	lastEventType     = uint8(acuity.A13)
	lastPrecision     = uint8(acuity.Year)
	lastDiagnosisMode = uint8(acuity.DiagnosisClear)
	lastSignalKind    = uint8(catalogue.KindCondition)
	lastSignalStatus  = uint8(acuity.SignalRetracted)
	lastValueKind     = uint8(codes.ValueUnreadable)
	lastComparator    = uint8(codes.GreaterOrEqual)
	lastRoomStatus    = uint8(acuity.RoomBlocked)
	lastTristate      = uint8(acuity.Yes)
	lastCause         = uint8(acuity.CauseTime)
	lastOutcome       = uint8(acuity.Time)
	lastEffectKind    = uint8(acuity.RoomRescored)
	lastLevel         = uint8(acuity.LevelRed)
	lastColor         = uint8(acuity.ColorRed)
	lastAxis          = uint8(acuity.AxisSkill)
	lastEvidenceKind  = uint8(acuity.ByCensus)
	lastStageClass    = uint8(acuity.StageCoupletCesarean)
	lastArrivalKind   = uint8(acuity.ArrivesOther)
)
