package schemas

import "svc/internal/admin/walls"

// EncodeWall appends the record of w to dst, which it returns. Instants are cut to the
// millisecond.
func EncodeWall(dst []byte, w *walls.Wall) ([]byte, error) {
	return encode(dst, &wallV1, w, wallFields)
}

// DecodeWall reads a record of any released version. The errors are [ErrMalformed] and
// [UnknownSchemaError].
func DecodeWall(b []byte) (*walls.Wall, error) { return decodeNew(b, &wallV1, wallFields) }

func wallFields(c *coder, w *walls.Wall) {
	c.text(&w.ID)
	c.text(&w.Hospital)
	c.text(&w.Label)
	c.fixed(w.Hash[:])
	c.when(&w.CreatedAt)
}
