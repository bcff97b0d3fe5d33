package schemas

import (
	"time"

	"svc/acuity"
)

// InstalledKey says which key all processes of an installation have.
type InstalledKey struct {
	ID          string
	Fingerprint []byte
	Sealed      []byte
	Version     int64
	ChangedAt   time.Time
}

// InstalledKeys begins the names of these settings. No hospital can be called so.
const InstalledKeys = "*/installed-key/"

// EncodeInstalledKey appends the record of k to dst, which it returns.
func EncodeInstalledKey(dst []byte, k *InstalledKey) ([]byte, error) {
	w := begin(dst, &installedKeyV1)
	w.text(k.ID)
	w.bytes(k.Fingerprint)
	w.bytes(k.Sealed)
	w.long(k.Version)
	w.at(acuity.At(k.ChangedAt))
	return w.end(&installedKeyV1)
}

// DecodeInstalledKey reads a record of any released version. The errors are
// [ErrMalformed] and [UnknownSchemaError].
func DecodeInstalledKey(b []byte) (*InstalledKey, error) {
	r, err := open(b, &installedKeyV1)
	if err != nil {
		return nil, err
	}
	k := new(InstalledKey)
	k.ID = r.text()
	k.Fingerprint = r.bytes()
	k.Sealed = r.bytes()
	k.Version = r.long()
	k.ChangedAt = r.at().Time()
	if err := r.close(&installedKeyV1); err != nil {
		return nil, err
	}
	return k, nil
}
