package schemas

import "svc/acuity"

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
