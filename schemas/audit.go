package schemas

import (
	"svc/acuity"
	"svc/internal/admin/audit"
)

// EncodeAct appends the record of a to dst, which it returns. The instant is cut
// to the millisecond.
func EncodeAct(dst []byte, a *audit.Act) ([]byte, error) {
	w := begin(dst, &auditV1)
	w.text(a.Hospital)
	w.at(acuity.At(a.At))
	w.text(a.By)
	w.text(a.Action)
	w.text(a.Subject)
	w.text(a.Before)
	w.text(a.After)
	return w.end(&auditV1)
}

// DecodeAct reads a record of any released version. The errors are
// [ErrMalformed] and [UnknownSchemaError].
func DecodeAct(b []byte) (*audit.Act, error) {
	r, err := open(b, &auditV1)
	if err != nil {
		return nil, err
	}
	a := new(audit.Act)
	a.Hospital = r.text()
	a.At = r.at().Time()
	a.By = r.text()
	a.Action = r.text()
	a.Subject = r.text()
	a.Before = r.text()
	a.After = r.text()
	if err := r.close(&auditV1); err != nil {
		return nil, err
	}
	return a, nil
}
