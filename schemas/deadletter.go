package schemas

import "svc/acuity"

// DeadLetter is a record that can never be applied: its place and the reason. It holds nothing
// of the content; whoever may read the topic reads the content there.
type DeadLetter struct {
	Topic     string // of the record
	Partition int32
	Offset    int64
	Reason    string // stable code
	// Fingerprint names the schema that the record was written with, in the bytes of the
	// record; zeros if the record has none.
	Fingerprint [8]byte
	Hospital    string
	Version     int64 // of the change that rejected the record; hospital and version together identify repeats
	At          acuity.Instant
}

// Retried is the reason of a later record of the same dead letter: its facts were applied
// after all, at the instant of that record.
const Retried = "retried"

// EncodeDeadLetter appends the record of d to dst, which it returns.
func EncodeDeadLetter(dst []byte, d *DeadLetter) ([]byte, error) {
	w := begin(dst, &deadLetterV1)
	w.text(d.Topic)
	w.int(d.Partition)
	w.long(d.Offset)
	w.text(d.Reason)
	w.fixed(d.Fingerprint[:])
	w.text(d.Hospital)
	w.long(d.Version)
	w.at(d.At)
	return w.end(&deadLetterV1)
}

// DecodeDeadLetter reads a record of any released version. The errors are
// [ErrMalformed] and [UnknownSchemaError].
func DecodeDeadLetter(b []byte) (*DeadLetter, error) {
	r, err := open(b, &deadLetterV1)
	if err != nil {
		return nil, err
	}
	d := new(DeadLetter)
	d.Topic = r.text()
	d.Partition = r.int()
	d.Offset = r.long()
	d.Reason = r.text()
	r.fixed(d.Fingerprint[:])
	d.Hospital = r.text()
	d.Version = r.long()
	d.At = r.at()
	if err := r.close(&deadLetterV1); err != nil {
		return nil, err
	}
	return d, nil
}
