package schemas

import "svc/internal/admin/users"

// EncodeUser appends the record of u to dst, which it returns. Instants are cut to the
// millisecond.
func EncodeUser(dst []byte, u *users.User) ([]byte, error) {
	return encode(dst, &userV1, u, userFields)
}

// DecodeUser reads a record of any released version. The errors are [ErrMalformed] and
// [UnknownSchemaError].
func DecodeUser(b []byte) (*users.User, error) { return decodeNew(b, &userV1, userFields) }

func userFields(c *coder, u *users.User) {
	c.text(&u.ID)
	c.text(&u.Hospital)
	c.text(&u.Label)
	word(c, &u.Role)
	c.bytes(&u.Subject)
	c.long(&u.Epoch)
	c.bool(&u.Disabled)
	c.when(&u.CreatedAt)
	c.when(&u.Until)
	c.when(&u.SignedInAt)
	c.long(&u.Version)
}

// EncodeLink appends the record of l to dst, which it returns. Instants are cut to the
// millisecond.
func EncodeLink(dst []byte, l *users.Link) ([]byte, error) {
	return encode(dst, &linkV1, l, linkFields)
}

// DecodeLink reads a record of any released version. The errors are [ErrMalformed] and
// [UnknownSchemaError].
func DecodeLink(b []byte) (*users.Link, error) { return decodeNew(b, &linkV1, linkFields) }

func linkFields(c *coder, l *users.Link) {
	c.fixed(l.Hash[:])
	c.text(&l.Hospital)
	c.text(&l.User)
	c.text(&l.Label)
	word(c, &l.Role)
	c.when(&l.CreatedAt)
	c.when(&l.ExpiresAt)
	c.when(&l.UsedAt)
}
