package schemas

import (
	"errors"

	"svc/acuity"
)

// The reasons for which an input can never be applied.
const (
	reasonSchema   = "unknown_schema"   // written by a newer release, or by another program
	reasonRecord   = "malformed_record" // the bytes do not fit their schema
	reasonHospital = "wrong_hospital"   // key and record name different hospitals
)

// UnknownHospital counts the inputs whose key names no hospital. No hospital can be created
// under this id.
const UnknownHospital = "unknown"

// InputHospital returns the hospital under which an input is counted. It depends on the key alone.
func InputHospital(key []byte) string {
	parsed, err := ParseKey(key)
	if err != nil {
		return UnknownHospital
	}
	return parsed.Hospital
}

// ReadInput reads an observation from its record in the log. An error comes with the stable
// reason why this release can never apply the input.
func ReadInput(key, value []byte) (o *acuity.Observation, reason string, err error) {
	return readInput(key, value, new(acuity.Observation), memory{})
}

func readInput(key, value []byte, o *acuity.Observation, reuse memory) (_ *acuity.Observation, reason string, err error) {
	switch err := decodeObservation(value, o, reuse); {
	case err != nil:
		return nil, ReasonOf(err), err
	case string(HospitalOf(key)) != o.Hospital:
		return nil, reasonHospital, errors.New("key and record differ")
	}
	return o, "", nil
}

// ReasonOf returns the stable reason for which a record could not be decoded.
func ReasonOf(err error) string {
	if unknown := (*UnknownSchemaError)(nil); errors.As(err, &unknown) {
		return reasonSchema
	}
	return reasonRecord
}

// Intake reads inputs, one after the other, into the same memory. Its caller must be done with an
// input before it reads the next. A processor that catches up allocates a fifth fewer bytes a
// record with it.
type Intake struct {
	observation acuity.Observation
	room        acuity.RoomRef
	signals     []acuity.Signal
	events      []acuity.Event
}

// Signals and events are large. Memory for this many is kept between two inputs: a request has
// one or a few, a bundle thousands.
const (
	keptSignals = 16
	keptEvents  = 4
)

// Read is [ReadInput]. The observation, its room and the lists of its signals and events are
// valid until the next call; everything else that they point to stays valid.
func (in *Intake) Read(key, value []byte) (o *acuity.Observation, reason string, err error) {
	in.observation, in.room = acuity.Observation{}, acuity.RoomRef{}
	return readInput(key, value, &in.observation, memory{&in.events, &in.signals, &in.room})
}

// memory is what parts of an observation are read into; nil: into new memory.
type memory struct {
	events  *[]acuity.Event
	signals *[]acuity.Signal
	room    *acuity.RoomRef
}

// DeadLetterCodec is of the records that can never be applied.
var DeadLetterCodec = NewCodec("dead-letter", deadLetterFields)

// DeadLetter is the place of a record that can never be applied, with the reason. It holds no
// content. A reader with access to the topic finds the content at that place.
type DeadLetter struct {
	Topic     string // of the record
	Partition int32
	Offset    int64
	Reason    string   // stable code
	Schema    SchemaID // in the record; 0: it names none
	Hospital  string
	Version   int64 // of the change that rejected the record; hospital and version together identify repeats
	At        acuity.Instant
}

// Retried is the reason of a later record of the same dead letter: its facts were applied
// after all, at the instant of that record.
const Retried = "retried"

func deadLetterFields(c *Coder, d *DeadLetter) {
	c.Text(&d.Topic)
	c.Int(&d.Partition)
	c.Long(&d.Offset)
	c.Text(&d.Reason)
	c.Int((*int32)(&d.Schema))
	c.Text(&d.Hospital)
	c.Long(&d.Version)
	c.at(&d.At)
}
