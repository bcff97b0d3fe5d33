package schemas

import "svc/acuity"

// Intake reads one input after the other into the same memory, for who is done
// with each before the next: a processor that catches up spends a fifth fewer
// bytes on a record.
type Intake struct {
	observation acuity.Observation
	room        acuity.RoomRef
	signals     []acuity.Signal
}

// keptSignals is how many signals there is memory for between two inputs: a
// request has one or a few, a bundle thousands.
const keptSignals = 16

// Read is [ReadInput]. The observation, its room and the list of its signals
// hold until the next call; all else that it points to stays.
func (in *Intake) Read(key, value []byte) (o *acuity.Observation, reason string, err error) {
	in.observation, in.room = acuity.Observation{}, acuity.RoomRef{}
	return readInput(key, value, &in.observation, in)
}

// list returns an empty list with the room that there is.
func (in *Intake) list() []acuity.Signal {
	if in == nil {
		return nil
	}
	clear(in.signals)
	return in.signals[:0]
}

// listed takes the list that was read, and returns it.
func (in *Intake) listed(list []acuity.Signal) []acuity.Signal {
	switch {
	case in == nil:
		return list
	case len(list) == 0:
		return nil
	case cap(list) <= keptSignals:
		in.signals = list
	}
	return list
}

// newRoom returns a reference with nothing in it.
func (r *reader) newRoom() *acuity.RoomRef {
	if r.again == nil {
		return new(acuity.RoomRef)
	}
	return &r.again.room
}
