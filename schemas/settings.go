package schemas

import (
	"svc/internal/httpapi/access"
)

// EncodeKey appends the record of k to dst, which it returns. Instants are cut
// to the millisecond.
func EncodeKey(dst []byte, k *access.Key) ([]byte, error) {
	return encode(dst, &keyV2, k, keyFields)
}

// DecodeKey reads a record of any released version. The errors are
// [ErrMalformed] and [UnknownSchemaError].
func DecodeKey(b []byte) (*access.Key, error) {
	return decodeNew(b, &keyV2, keyFields)
}

func keyFields(c *coder, k *access.Key) {
	c.text(&k.ID)
	c.text(&k.Hospital)
	c.text(&k.Name)
	c.fixed(k.Hash[:])
	list(c, &k.Scopes, word[access.Scope])
	c.when(&k.CreatedAt)
	c.when(&k.ExpiresAt)
	c.when(&k.RevokedAt)
	c.double(&k.Rate)
	c.number(&k.Burst)
	c.text(&k.Source)
	c.text(&k.Prefix)
}

// EncodeHospital appends the record of h to dst, which it returns. Instants are
// cut to the millisecond.
func EncodeHospital(dst []byte, h *access.Hospital) ([]byte, error) {
	return encode(dst, &hospitalV1, h, hospitalFields)
}

// DecodeHospital reads a record of any released version. The errors are
// [ErrMalformed] and [UnknownSchemaError].
func DecodeHospital(b []byte) (*access.Hospital, error) {
	return decodeNew(b, &hospitalV1, hospitalFields)
}

func hospitalFields(c *coder, h *access.Hospital) {
	c.text(&h.ID)
	c.text(&h.Name)
	c.text(&h.Zone)
	c.when(&h.CreatedAt)
	list(c, &h.Senders, senderFields)
	c.long(&h.Version)
}

func senderFields(c *coder, s *access.Sender) {
	c.text(&s.Key)
	c.bool(&s.OriginalMode)
	c.bool(&s.ProductionOnly)
}
