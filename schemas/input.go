package schemas

import (
	"errors"

	"svc/acuity"
)

// The reasons why an input can never be applied.
const (
	reasonSchema   = "unknown_schema"   // the record was written by a newer release or by another program
	reasonRecord   = "malformed_record" // the bytes do not match their schema
	reasonHospital = "wrong_hospital"   // the key and the record name different hospitals
)

// UnknownHospital is the hospital id under which metrics count an input whose key has no valid hospital. No hospital
// can have this id.
const UnknownHospital = "unknown"

// InputHospital returns the hospital id under which metrics count an input. The id depends only on the key.
func InputHospital(key []byte) string {
	parsed, err := ParseKey(key)
	if err != nil {
		return UnknownHospital
	}
	return parsed.Hospital
}

// ReadInput decodes an observation from its Kafka record. If err is not nil, reason is a stable code that says why
// this release can never apply the input.
func ReadInput(key, value []byte) (o *acuity.Observation, reason string, err error) {
	return readInput(key, value, new(acuity.Observation), memory{})
}

func readInput(key, value []byte, o *acuity.Observation, reuse memory) (_ *acuity.Observation, reason string, err error) {
	switch err := decodeObservation(value, o, reuse); {
	case err != nil:
		return nil, ReasonOf(err), err
	case string(HospitalOf(key)) != o.Hospital:
		return nil, reasonHospital, errors.New("the key does not match the record")
	}
	return o, "", nil
}

// ReasonOf returns the stable code for the reason why a record could not be decoded.
func ReasonOf(err error) string {
	if unknown := (*UnknownSchemaError)(nil); errors.As(err, &unknown) {
		return reasonSchema
	}
	return reasonRecord
}

// Intake decodes one input after another into the same memory, which reduces the bytes that a processor allocates for
// each record by a fifth. An input is valid only until the next one is decoded. An Intake is not safe for concurrent
// use.
type Intake struct {
	observation acuity.Observation
	room        acuity.RoomRef
	signals     []acuity.Signal
	events      []acuity.Event
}

// The maximum numbers of signals and events for which memory is retained between inputs. Signals and events are
// large. Most requests have at most a handful of them, but a bundle may have thousands.
const (
	keptSignals = 16
	keptEvents  = 4
)

// Read is like [ReadInput], but uses the memory of the Intake. The observation, its room and its lists of signals and
// events are valid until the next call. The memory to which the elements of these lists point is not reused.
func (in *Intake) Read(key, value []byte) (o *acuity.Observation, reason string, err error) {
	in.observation, in.room = acuity.Observation{}, acuity.RoomRef{}
	return readInput(key, value, &in.observation, memory{&in.events, &in.signals, &in.room})
}

// memory is reusable memory for parts of an observation. If a field is nil, new memory is allocated for that part.
type memory struct {
	events  *[]acuity.Event
	signals *[]acuity.Signal
	room    *acuity.RoomRef
}

// DeadLetterCodec encodes and decodes dead letters.
var DeadLetterCodec = NewCodec("dead-letter", deadLetterFields)

// DeadLetter is the position of a record that can never be applied, and the reason. It does not contain the record
// itself, but readers with access to the topic can read the record at that position.
type DeadLetter struct {
	Topic     string // topic of the record
	Partition int32
	Offset    int64
	Reason    string   // stable code
	Schema    SchemaID // schema id in the header of the record; 0: the record has no header
	Hospital  string
	Version   int64 // version of the change that rejected the record; repeated dead letters have the same hospital and version
	At        acuity.Instant
}

// Retried is the reason in the second record of a dead letter. That record means that the dead letter's observation
// has been ingested again, at the time in the record.
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
