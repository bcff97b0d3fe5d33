package schemas

import "svc/internal/admin/layout"

// EncodeLayout appends the record of l to dst, which it returns.
func EncodeLayout(dst []byte, l *layout.Layout) ([]byte, error) {
	return encode(dst, &layoutV1, l, layoutFields)
}

// DecodeLayout reads a record of any released version. The errors are [ErrMalformed] and
// [UnknownSchemaError].
func DecodeLayout(b []byte) (*layout.Layout, error) { return decodeNew(b, &layoutV1, layoutFields) }

func layoutFields(c *coder, l *layout.Layout) {
	c.text(&l.Hospital)
	c.int(&l.Columns)
	c.int(&l.Rows)
	list(c, &l.Rooms, func(c *coder, p *layout.Place) {
		c.int(&p.Room)
		c.int(&p.X)
		c.int(&p.Y)
		c.int(&p.W)
		c.int(&p.H)
	})
	list(c, &l.Landmarks, func(c *coder, m *layout.Landmark) {
		c.text(&m.Label)
		c.int(&m.X)
		c.int(&m.Y)
		c.int(&m.W)
		c.int(&m.H)
	})
	c.long(&l.Version)
}
