package schemas

import (
	"sync"
	"time"

	"svc/acuity"
	"svc/acuity/adt"
	"svc/acuity/catalogue"
	"svc/acuity/codes"
)

// Codec encodes and decodes one kind of record. It truncates every [time.Time] to the millisecond.
type Codec[T any] struct {
	schema *Schema // the newest version
	fields func(*Coder, *T)
}

// NewCodec returns the codec for the record with the given name in [Released]. The function fields must visit all
// fields of the record's newest version, in the order of the schema.
func NewCodec[T any](record string, fields func(*Coder, *T)) Codec[T] {
	return Codec[T]{newest(record), fields}
}

// Encode encodes v as a record, appends the record to dst and returns the extended slice.
func (k Codec[T]) Encode(dst []byte, v *T) ([]byte, error) {
	c := freeCoder()
	defer c.free()
	c.w = begin(dst, k.schema)
	k.fields(c, v)
	return c.w.end(k.schema)
}

// Decode decodes a record of any released version. The error is or wraps [ErrMalformed] or an [UnknownSchemaError].
func (k Codec[T]) Decode(b []byte) (*T, error) {
	v := new(T)
	if err := k.DecodeInto(b, v); err != nil {
		return nil, err
	}
	return v, nil
}

// DecodeInto is like [Codec.Decode], but decodes into v. It overwrites every field of v.
func (k Codec[T]) DecodeInto(b []byte, v *T) error {
	p, err := k.schema.payload(b)
	if err != nil {
		return err
	}
	return k.read(reader{buf: p, all: string(p)}, v)
}

// read decodes a record of the newest version.
func (k Codec[T]) read(r reader, v *T) error {
	c := freeCoder()
	defer c.free()
	c.reading, c.r = true, r
	k.fields(c, v)
	return c.r.close(k.schema)
}

// Coder visits the fields of a record in the order of the record's schema. It either appends the fields to a buffer
// or reads them from one, so that one function describes both the encoding and the decoding of a record.
type Coder struct {
	reading bool
	w       writer
	r       reader
}

// coders is a pool of coders. When each record allocated a new coder, garbage collection took a sixth of a
// processor's CPU time.
var coders = sync.Pool{New: func() any { return new(Coder) }}

func freeCoder() *Coder {
	return coders.Get().(*Coder) //nolint:errcheck,forcetypeassert // the pool contains nothing else
}

// free resets a coder and returns it to the pool.
func (c *Coder) free() {
	*c = Coder{}
	coders.Put(c)
}

// List encodes or decodes a list. An empty list decodes as nil.
func List[T any](c *Coder, l *[]T, item func(*Coder, *T)) { listIn(c, l, nil, 0, item) }

// listIn is like [List], but decodes into the given memory. If memory is nil, it allocates new memory. Memory for
// more than atMost items is not retained.
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

// optional encodes or decodes an optional record, which is a union of null and the record.
func optional[T any](c *Coder, v **T, fields func(*Coder, *T)) { optionalIn(c, v, nil, fields) }

// optionalIn is like optional, but decodes into the given memory. If memory is nil, it allocates new memory.
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

// value encodes a value with the function write or decodes a value with the function read.
func value[T any](c *Coder, v *T, read func(*reader) T, write func(*writer, T)) {
	if c.reading {
		*v = read(&c.r)
		return
	}
	write(&c.w, *v)
}

// whole encodes or decodes an integer. Decoding fails if the integer does not fit into its type.
func whole[T integer](c *Coder, v *T) {
	if c.reading {
		*v = number[T](&c.r)
		return
	}
	c.w.long(int64(*v))
}

// Enum encodes or decodes the number of an enum symbol. last is the greatest valid number.
func Enum[T ~uint8](c *Coder, v *T, last uint8) {
	if c.reading {
		*v = T(c.r.enum(last))
		return
	}
	c.w.enum(uint8(*v), last)
}

// Word encodes or decodes a string of a named string type.
func Word[T ~string](c *Coder, v *T) {
	if c.reading {
		*v = T(c.r.text())
		return
	}
	c.w.text(string(*v))
}

// Text encodes or decodes a string.
func (c *Coder) Text(v *string) { value(c, v, (*reader).text, (*writer).text) }

// constant encodes or decodes a string. A decoded string that is in list shares the memory of the string in list, so
// it needs no copy.
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

// constants returns the list of known strings for the function constant, keyed by their text.
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

// system encodes or decodes a code system.
func (c *Coder) system(v *codes.System) { constant(c, v, systems) }

// channel encodes or decodes the channel of a feed.
func (c *Coder) channel(v *acuity.Channel) { constant(c, v, channels) }

// Bytes encodes or decodes bytes.
func (c *Coder) Bytes(v *[]byte) { value(c, v, (*reader).bytes, (*writer).bytes) }

// Fixed encodes or decodes exactly len(v) bytes.
func (c *Coder) Fixed(v []byte) {
	if c.reading {
		c.r.fixed(v)
		return
	}
	c.w.fixed(v)
}

// Bool encodes or decodes a boolean.
func (c *Coder) Bool(v *bool) { value(c, v, (*reader).bool, (*writer).bool) }

// Int encodes or decodes a 32-bit integer.
func (c *Coder) Int(v *int32) { whole(c, v) }

// Number encodes or decodes an int. The int must fit into 32 bits.
func (c *Coder) Number(v *int) { value(c, v, (*reader).number, (*writer).number) }

// Long encodes or decodes a 64-bit integer.
func (c *Coder) Long(v *int64) { whole(c, v) }

// Nanoseconds encodes or decodes a duration, in nanoseconds.
func (c *Coder) Nanoseconds(v *time.Duration) { whole(c, v) }

func (c *Coder) at(v *acuity.Instant) { whole(c, v) }

// When encodes or decodes a time. It truncates the time to the millisecond.
func (c *Coder) When(v *time.Time) {
	at := acuity.At(*v)
	if c.at(&at); c.reading {
		*v = at.Time()
	}
}

// Double encodes or decodes a floating-point number.
func (c *Coder) Double(v *float64) { value(c, v, (*reader).double, (*writer).double) }

// factor encodes or decodes a factor by its id. The zero factor is encoded as the empty string.
func (c *Coder) factor(v *catalogue.Factor) { value(c, v, (*reader).factor, (*writer).factor) }

// reasons encodes or decodes a set of reasons. The reasons are encoded by their codes, because their bit numbers may
// change. A reason that this release does not know is dropped, because it could have no effect in this release.
func (c *Coder) reasons(v *acuity.Reasons) {
	var names []string
	if !c.reading {
		names = adt.ReasonCodes(*v)
	}
	if List(c, &names, (*Coder).Text); c.reading {
		*v = adt.ReasonsOf(names)
	}
}

// The greatest valid number of each enumeration. A test checks that the symbols in the schema have the same numbers
// as the domain's constants.
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
