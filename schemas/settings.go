package schemas

import (
	"svc/acuity"
	"svc/internal/httpapi/access"
)

// EncodeKey appends the record of k to dst, which it returns. Instants are cut
// to the millisecond.
func EncodeKey(dst []byte, k *access.Key) ([]byte, error) {
	w := begin(dst, &keyV2)
	w.text(k.ID)
	w.text(k.Hospital)
	w.text(k.Name)
	w.fixed(k.Hash[:])
	w.items(len(k.Scopes))
	for _, scope := range k.Scopes {
		w.text(string(scope))
	}
	w.done()
	w.at(acuity.At(k.CreatedAt))
	w.at(acuity.At(k.ExpiresAt))
	w.at(acuity.At(k.RevokedAt))
	w.double(k.Rate)
	w.long(int64(k.Burst))
	w.text(k.Source)
	return w.end(&keyV2)
}

// DecodeKey reads a record of any released version. The errors are
// [ErrMalformed] and [UnknownSchemaError].
func DecodeKey(b []byte) (*access.Key, error) {
	r, err := open(b, &keyV2)
	if err != nil {
		return nil, err
	}
	k := new(access.Key)
	k.ID = r.text()
	k.Hospital = r.text()
	k.Name = r.text()
	r.fixed(k.Hash[:])
	for l := r.items(); l.next(&r); {
		k.Scopes = append(k.Scopes, access.Scope(r.text()))
	}
	k.CreatedAt = r.at().Time()
	k.ExpiresAt = r.at().Time()
	k.RevokedAt = r.at().Time()
	k.Rate = r.double()
	k.Burst = int(r.int())
	k.Source = r.text()
	if err := r.close(&keyV2); err != nil {
		return nil, err
	}
	return k, nil
}

// EncodeHospital appends the record of h to dst, which it returns. Instants are
// cut to the millisecond.
func EncodeHospital(dst []byte, h *access.Hospital) ([]byte, error) {
	w := begin(dst, &hospitalV3)
	w.text(h.ID)
	w.text(h.Name)
	w.text(h.Zone)
	w.at(acuity.At(h.CreatedAt))
	w.items(len(h.Senders))
	for i := range h.Senders {
		w.text(h.Senders[i].Key)
		w.bool(h.Senders[i].OriginalMode)
		w.bool(h.Senders[i].ProductionOnly)
	}
	w.done()
	w.long(h.Version)
	return w.end(&hospitalV3)
}

// DecodeHospital reads a record of any released version. The errors are
// [ErrMalformed] and [UnknownSchemaError].
func DecodeHospital(b []byte) (*access.Hospital, error) {
	r, err := open(b, &hospitalV3)
	if err != nil {
		return nil, err
	}
	h := new(access.Hospital)
	h.ID = r.text()
	h.Name = r.text()
	h.Zone = r.text()
	h.CreatedAt = r.at().Time()
	for l := r.items(); l.next(&r); {
		h.Senders = append(h.Senders, access.Sender{Key: r.text(), OriginalMode: r.bool(), ProductionOnly: r.bool()})
	}
	h.Version = r.long()
	if err := r.close(&hospitalV3); err != nil {
		return nil, err
	}
	return h, nil
}
