package schemas

import (
	"svc/internal/admin/audit"
)

// EncodeAct appends the record of a to dst, which it returns. The instant is cut
// to the millisecond.
func EncodeAct(dst []byte, a *audit.Act) ([]byte, error) {
	return encode(dst, &auditV1, a, auditFields)
}

// DecodeAct reads a record of any released version. The errors are
// [ErrMalformed] and [UnknownSchemaError].
func DecodeAct(b []byte) (*audit.Act, error) {
	return decodeNew(b, &auditV1, auditFields)
}

func auditFields(c *coder, a *audit.Act) {
	c.text(&a.Hospital)
	c.when(&a.At)
	c.text(&a.By)
	c.text(&a.Action)
	c.text(&a.Subject)
	c.text(&a.Before)
	c.text(&a.After)
}
