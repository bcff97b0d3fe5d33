package schemas

import (
	"time"
)

// InstalledKey is the record of a key that all processes of an installation have.
type InstalledKey struct {
	ID          string
	Fingerprint []byte
	Sealed      []byte
	Version     int64
	ChangedAt   time.Time
}

// InstalledKeys begins the keys of these records. No hospital can have this name.
const InstalledKeys = "*/installed-key/"

// EncodeInstalledKey appends the record of k to dst, which it returns.
func EncodeInstalledKey(dst []byte, k *InstalledKey) ([]byte, error) {
	return encode(dst, &installedKeyV1, k, installedKeyFields)
}

// DecodeInstalledKey reads a record of any released version. The errors are
// [ErrMalformed] and [UnknownSchemaError].
func DecodeInstalledKey(b []byte) (*InstalledKey, error) {
	return decodeNew(b, &installedKeyV1, installedKeyFields)
}

func installedKeyFields(c *coder, k *InstalledKey) {
	c.text(&k.ID)
	c.bytes(&k.Fingerprint)
	c.bytes(&k.Sealed)
	c.long(&k.Version)
	c.when(&k.ChangedAt)
}
