package schemas

import "svc/acuity"

// EncodeObservation appends the record of o to dst, which it returns.
func EncodeObservation(dst []byte, o *acuity.Observation) ([]byte, error) {
	return encode(dst, &observationV1, o, observationFields)
}

// DecodeObservation reads a record of any released version. The errors are
// [ErrMalformed] and [UnknownSchemaError].
func DecodeObservation(b []byte) (*acuity.Observation, error) {
	return decodeObservation(b, new(acuity.Observation), memory{})
}

func decodeObservation(b []byte, o *acuity.Observation, again memory) (*acuity.Observation, error) {
	p, err := observationV1.payload(b)
	if err != nil {
		return nil, err
	}
	c := freeCoder()
	defer c.free()
	c.reading, c.r = true, reader{buf: p, again: again}
	if len(p) <= shared {
		c.r.all = string(p)
	}
	observationFields(c, o)
	if err := c.r.close(&observationV1); err != nil {
		return nil, err
	}
	return o, nil
}

func observationFields(c *Coder, o *acuity.Observation) {
	c.Text(&o.Hospital)
	c.at(&o.ReceivedAt)
	c.at(&o.AppliedAt)
	c.channel(&o.Channel)
	c.Text(&o.Source)
	listIn(c, &o.Events, c.r.again.events, keptEvents, eventFields)
	listIn(c, &o.Signals, c.r.again.signals, keptSignals, signalFields)
	optionalIn(c, &o.Room, c.r.again.room, roomRefFields)
	optional(c, &o.Census, censusFields)
	optional(c, &o.Staffing, staffingFields)
	optional(c, &o.Roster, rosterFields)
	List(c, &o.Mappings, mappingFields)
	List(c, &o.Rules, ruleFields)
	List(c, &o.Locations, placeFields)
	optional(c, &o.Switches, switchesFields)
	List(c, &o.Marks, codeMarkFields)
	optional(c, &o.Act, actFields)
	optional(c, &o.Request, requestFields)
	List(c, &o.References, referenceFields)
}

func roomRefFields(c *Coder, ref *acuity.RoomRef) {
	c.Int(&ref.ID)
	c.Text(&ref.Label)
}

func requestFields(c *Coder, q *acuity.Request) {
	c.Text(&q.Key)
	c.Text(&q.Digest)
}
